// Whether an operation can give a deployment another database, and which. The facade asks before the operation is created, and the
// controller before it begins.

import { furtherWords } from '../deploy/archive/further-databases.ts';
import { otherDriver, type Sourced } from '../deploy/record/backup-consent.ts';
import { isBackedUp } from '../deploy/record/backup-request.ts';
import {
  type DatabaseMove,
  databaseNumberOf,
  databaseOf,
  databaseText,
  neverLoadedWords,
  ONLY_UP,
  postgresVersionOf,
  wasNeverLoaded,
} from '../deploy/record/database-move.ts';
import { offeredVersion, whyNotOffered } from '../deploy/record/database-offers.ts';
import { imageBase } from '../deploy/record/image.ts';
import { runsHere } from '../deploy/record/listener-assignment.ts';
import { listedBackup } from '../deploy/record/stored-backups.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { DatabaseDriver } from '../kinds/database.ts';
import type { DatastoreOperationSpec } from '../kinds/datastore-operation.ts';
import type { OperationAction } from '../kinds/operation-phases.ts';
import type { Settings } from '../kinds/settings.ts';
import { present } from '../runtime/json-value.ts';

export type MoveAction = Exclude<OperationAction, 'Backup' | 'DeletePrevious' | 'Patch'>;

export type Decided = { readonly move: DatabaseMove } | Refused;

interface Refused {
  /** Why it cannot be done, and what to do, for people. */
  readonly refused: string;
}

/** What is known of the deployment. */
export interface Known {
  readonly record: AppDeployment;
  /** Its revisions, newest first. */
  readonly own: readonly AppRevision[];
  /** Numbers of the databases whose objects are there. For a new database: also of those that earlier deployments of the name have left. */
  readonly used: readonly number[];
  /** Images of new databases. Absent: a database of the same version is not refused. */
  readonly images?: Pick<Settings['images'], 'postgres' | 'cloudNativePg'>;
  /** Whose backup it may restore. Absent in the facade, where the controller decides later. */
  readonly restoreSource?: Sourced | undefined;
  /** The deployment that `restore.from` names. Undefined where it names none, or there is none of that name. */
  readonly origin?: AppDeployment | undefined;
}

type Now = NonNullable<ReturnType<typeof databaseOf>>;

const DECISIONS: Readonly<Record<MoveAction, (known: Known, now: Now, spec: DatastoreOperationSpec) => Decided>> = {
  Restore: restored,
  Move: movedUp,
  Upgrade: upgraded,
  Return: returned,
};

export function isMove(action: OperationAction): action is MoveAction {
  return action in DECISIONS;
}

export function decideMove(known: Known, spec: DatastoreOperationSpec & { readonly action: MoveAction }): Decided {
  const { record, own } = known;
  const { name } = record.metadata;
  const refused = whyNoDatabase(record);
  if (refused !== undefined) return { refused };
  const now = own[0] && databaseOf(own[0]);
  if (!now)
    return {
      refused: `${name} has no PostgreSQL of Davit. Restore, move or upgrade an external database where it runs.`,
    };
  return DECISIONS[spec.action](known, now, spec);
}

/** Why action DeletePrevious is not possible. Undefined if it is. `number`: of the database to delete. */
export function whyNotDeleted({ record, own, used }: Known, number: number): string | undefined {
  const { name } = record.metadata;
  const refused = whyNoDatabase(record);
  if (refused !== undefined) return refused;
  const [newest] = own;
  if (newest && databaseNumberOf(newest) === number) return `${name} is using database ${number}. Nothing was deleted.`;
  if (!used.includes(number)) return `${name} has no database ${number}. ${keptWords(record)}`;
  const ready = conditionOf(record.status?.conditions, 'Ready');
  return ready?.status === 'True' && ready.reason !== 'ScaledToZero'
    ? undefined
    : `${name} is not serving on its current database, so nothing was deleted. See: kubectl davit status ${name}`;
}

function keptWords({ status }: AppDeployment): string {
  const kept = status?.databasesKept ?? [];
  return kept.length === 0 ? 'No earlier database is kept.' : `It keeps: ${kept.map(databaseText).join(', ')}.`;
}

/** Why no operation of this cluster can change its datastores. Undefined if one can. */
export function whyNoDatabase(record: AppDeployment): string | undefined {
  const { name, deletionTimestamp } = record.metadata;
  if (deletionTimestamp !== undefined) return `${name} is being deleted.`;
  return runsHere(record)
    ? undefined
    : `${name} runs in the cluster of a listener, and so does its database. Create the operation with the kubeconfig of that cluster.`;
}

function restored(known: Known, from: Now, { restore }: DatastoreOperationSpec): Decided {
  const { record, origin, restoreSource } = known;
  if (restoreSource && 'refused' in restoreSource) return restoreSource;
  const trouble = storeTrouble(record, 'A backup can only be restored from a store');
  if (trouble !== undefined) return { refused: trouble };
  const to = { driver: from.driver, number: nextNumber(known) };
  const { backup, from: backupOf, namespace } = restore ?? {};
  const other = otherDriver(backupOf ?? '', restoreSource?.driver ?? origin?.status?.databaseDriver, from.driver);
  if (other !== undefined) return { refused: other };
  const isForeign = namespace !== undefined && namespace !== record.metadata.namespace;
  const chosen = listedBackup((backupOf === undefined ? record : origin)?.status?.databaseBackups, {
    from: backupOf ?? record.metadata.name,
    backup,
    ofAllLives: backupOf !== undefined && !isForeign,
    isForeign,
    postgresVersion: offeredVersion(record, to.driver),
  });
  if ('refused' in chosen) return chosen;
  return { move: { from, to, backup, ...present({ backupOf, backupNamespace: namespace }) } };
}

function movedUp(known: Known, from: Now): Decided {
  const { record, own } = known;
  const { name } = record.metadata;
  const driver = 'cloudnative-pg';
  if (from.driver === driver) return { refused: `The database of ${name} already has driver ${driver}. ${ONLY_UP}` };
  const trouble =
    dataTrouble(known) ??
    offerTrouble(record, driver, postgresVersionOf(own[0])) ??
    backupTrouble(record) ??
    furtherTrouble(known, from);
  if (trouble !== undefined) return { refused: trouble };
  return { move: { from, to: { driver, number: nextNumber(known) } } };
}

/** By the newest backup of the database. One that does not say it is judged when it is loaded, and the deployment returns then. */
function furtherTrouble({ record }: Known, { number }: Now): string | undefined {
  const { name } = record.metadata;
  const newest = record.status?.databaseBackups?.newest.find(
    ({ number: of, earlier }) => of === number && earlier !== true,
  );
  const words = newest && furtherWords(newest);
  return words === undefined ? undefined : `The database of ${name} stays as it is: its server has ${words}`;
}

const IMAGE_OF = { pod: 'postgres', 'cloudnative-pg': 'cloudNativePg' } as const satisfies Record<
  DatabaseDriver,
  string
>;

function upgraded(known: Known, from: Now): Decided {
  const { record, own } = known;
  const { name } = record.metadata;
  const { driver } = from;
  const offer = record.status?.databaseDrivers?.find((one) => one.driver === driver);
  const [has, next] = [postgresVersionOf(own[0]), offer?.postgresVersion];
  const setting = `settings.images.${IMAGE_OF[driver]}`;
  if (offer && (has === undefined || next === undefined))
    return {
      refused: `Davit cannot tell which PostgreSQL is newer: the tag of ${has === undefined ? `image ${own[0]?.spec.resolved.postgres?.image}` : setting} does not begin with the major version. Ask the platform team for a tag that does, such as postgres:17. A digest may follow the tag.`,
    };
  const trouble = dataTrouble(known) ?? offerTrouble(record, driver, has);
  if (trouble !== undefined) return { refused: trouble };
  if (has === next && known.images !== undefined && !isOutdated(own[0], known.images[IMAGE_OF[driver]]))
    return {
      refused: `The database of ${name} already is PostgreSQL ${has}, the version of this platform (${setting}).`,
    };
  const backups = backupTrouble(record);
  if (backups !== undefined) return { refused: backups };
  return { move: { from, to: { driver, number: nextNumber(known) } } };
}

/** Whether a new database of the same version would differ: by the base of its image, or by who owns it. */
function isOutdated(newest: AppRevision | undefined, next: string): boolean {
  const { image, driver, user } = newest?.spec.resolved.postgres ?? {};
  const isOtherBase = image !== undefined && imageBase(image) !== imageBase(next);
  return isOtherBase || (driver === undefined && user === undefined);
}

/** The database that the deployment used before this one, with its data of then. */
function returned(known: Known, from: Now): Decided {
  const { record, own } = known;
  const { name } = record.metadata;
  const kept = record.status?.databasesKept?.filter(({ number }) => number !== from.number) ?? [];
  const before = own.map(databaseNumberOf).find((number) => kept.some((one) => one.number === number));
  const to = before === undefined ? kept.at(-1) : kept.find(({ number }) => number === before);
  if (!to) return { refused: `${name} has no previous database to return to.` };
  return wasNeverLoaded(own, to.number) ? { refused: neverLoadedWords(name, to) } : { move: { from, to } };
}

/** One that no database of the deployment has had. */
function nextNumber({ own, used }: Known): number {
  const { neverLoaded = [], highest = 0 } = own[0]?.spec.resolved.movedDatabase ?? {};
  return Math.max(highest, ...used, ...own.map(databaseNumberOf), ...neverLoaded) + 1;
}

function dataTrouble({ record, own }: Known): string | undefined {
  const { name } = record.metadata;
  const { status } = record;
  if (status?.databaseVolumeUid === undefined) return `The database of ${name} has no data yet.`;
  if (status.activeRevisionId !== own[0]?.spec.id)
    return `The newest revision of ${name} is not deployed. Before you move the database, wait for the revision, or roll back.`;
  const loaded = conditionOf(status.conditions, 'DatabaseRestored');
  return loaded === undefined || loaded.status === 'True'
    ? undefined
    : `The database of ${name} is still being loaded: ${loaded.message}`;
}

function offerTrouble(
  { metadata: { name }, status }: AppDeployment,
  to: DatabaseDriver,
  from: number | undefined,
): string | undefined {
  const why = whyNotOffered(status?.databaseDrivers ?? [], to, from);
  return why === undefined ? undefined : `The database of ${name} stays as it is. ${why}`;
}

/** What keeps a backup from being made and loaded. */
function backupTrouble(record: AppDeployment): string | undefined {
  const { name } = record.metadata;
  const trouble = storeTrouble(record, 'The next database begins with a backup of the current one');
  if (trouble !== undefined) return trouble;
  const ready = conditionOf(record.status?.conditions, 'BackupReady');
  return ready?.status === 'True'
    ? undefined
    : `The next database begins with a backup of the current one, but ${name} has no usable backup: ${ready?.message ?? 'none was made yet.'} To make the first one, which shows that the store works: kubectl davit backup ${name}`;
}

/** Reasons of BackupReady without which there is no backup; their messages say what to do. */
const NO_STORE: readonly (string | undefined)[] = ['NotConfigured', 'BackupStoreMissing', 'BackupCredentialsMissing'];

/** `needs`: what for, as the beginning of a sentence. */
export function storeTrouble(record: AppDeployment, needs: string): string | undefined {
  const { metadata, status } = record;
  const ready = conditionOf(status?.conditions, 'BackupReady');
  if (NO_STORE.includes(ready?.reason)) return `${needs}. ${ready?.message}`;
  return isBackedUp(record) ? undefined : `${needs}, but backups of ${metadata.name} are off.`;
}
