// What `kubectl davit database` decides of a record: whether its database can be moved, and how far a move is that was begun. Pure, and
// imports no zod at run time.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { conditionOf } from '../../schema/conditions.ts';
import type { DatabaseDriver } from '../../schema/database.ts';
import { isPaused, MOVE_DATABASE_ANNOTATION, MOVING_ANNOTATION, MOVING_BY_ANNOTATION } from '../../schema/meta.ts';
import { quoted } from '../../schema/text.ts';
import {
  asksFor,
  type DatabaseMove,
  databaseNumberOf,
  databaseOf,
  databaseText,
  isWayUp,
  moveAsked,
  moveIn,
  moveNamed,
  moveText,
  neverLoadedWords,
  ONLY_UP,
  postgresVersionOf,
  takeBackCommand,
  wasNeverLoaded,
} from './database-move.ts';
import { whyNotOffered } from './database-offers.ts';
import { runsHere } from './listener-assignment.ts';
import { moveBegunAt, moverOf } from './requester.ts';

/** Value of the annotation, as JSON: what the record had, and is to have again. */
export interface Moving {
  /** Without its backup. */
  readonly move: string;
  /** To a database that was kept, with the data that it has. */
  readonly isBack?: true;
  readonly driver?: DatabaseDriver;
  readonly instances?: number;
  readonly minScale?: number;
  readonly maxScale?: number;
  /** RFC 3339: when nothing was to run any more. */
  readonly stoppedAt: string;
}

export interface BegunMove {
  readonly moving: Moving;
  readonly move: DatabaseMove;
}

/** Undefined where no move was begun, or somebody has written something else. */
export function begunIn({ metadata }: AppDeployment): BegunMove | undefined {
  try {
    const moving = JSON.parse(metadata.annotations?.[MOVING_ANNOTATION] ?? '') as Partial<Moving> | null;
    const move = moveIn(moving?.move ?? '');
    if (!move || Number.isNaN(Date.parse(moving?.stoppedAt ?? ''))) return undefined;
    return { moving: moving as Moving, move };
  } catch {
    return undefined;
  }
}

/**
 * Why nothing is decided of a record of which a move was begun: what that was is gone, or cannot be read, so how the record was before is not
 * known. Undefined where it is known, and where none was begun. `own`: the record's revisions, newest first.
 */
export function lostTrack(record: AppDeployment, own: readonly AppRevision[]): string | undefined {
  const { name, namespace, annotations } = record.metadata;
  const said = annotations?.[MOVING_ANNOTATION];
  const at = moveBegunAt(record);
  if (begunIn(record) || (said === undefined && at === undefined)) return undefined;
  const mover = at === undefined ? undefined : moverOf(record, at);
  const what =
    said === undefined
      ? `${mover ?? 'Somebody'} has begun to move the database of ${name} on ${quoted(at)}, and annotation ${MOVING_ANNOTATION}, which says where to, is gone.`
      : `Annotation ${MOVING_ANNOTATION} of ${name} says nothing that a move was begun with: ${quoted(said, 200)}.`;
  const { has, takeBack } = stateWords(record, own);
  return `${what} Nothing was changed. ${has}.${takeBack} Remove what is left of that move: kubectl annotate appdeployment ${name} -n ${namespace} ${MOVING_ANNOTATION}- ${MOVING_BY_ANNOTATION}-. Then set the scale that it should have (kubectl davit scale ${name} --replicas N).`;
}

/**
 * What a record has of which it is not known how it was, for people: `has` without a full stop, `takeBack` a sentence after a space, empty where
 * no move is asked for. `own`: its revisions, newest first.
 */
export function stateWords(
  record: AppDeployment,
  own: readonly AppRevision[],
): Readonly<Record<'has' | 'takeBack', string>> {
  const now = own[0] && databaseOf(own[0]);
  const asked = moveNamed(record, own);
  return {
    has: `${record.metadata.name} has database ${now ? databaseText(now) : 'none of its own'}, and a scale of ${scaleWords(record.spec.sourceConfig.resourceSpec)}`,
    takeBack: asked ? ` Take back what is asked for: ${takeBackCommand(record, asked)}` : '',
  };
}

/** For people: 1 to 3. */
export function scaleWords({
  minScale,
  maxScale,
}: Partial<Record<'minScale' | 'maxScale', number | undefined>> = {}): string {
  return `${minScale ?? 'the default'} to ${maxScale ?? 'the default'}`;
}

/** As a record is whose database is being moved. */
export function isScaledToZero({ spec }: AppDeployment): boolean {
  const { minScale, maxScale } = spec.sourceConfig.resourceSpec ?? {};
  return minScale === 0 && maxScale === 0;
}

/** A move that was begun, where nothing of the record runs for it. */
export function stoppedForMove(record: AppDeployment): BegunMove | undefined {
  return isScaledToZero(record) ? begunIn(record) : undefined;
}

/** For people: a scale of zero that nobody wants to stay. Undefined where no move was begun. */
export function stoppedForMoveWords(record: AppDeployment): string | undefined {
  const begun = stoppedForMove(record);
  if (begun === undefined) return undefined;
  const { stoppedAt } = begun.moving;
  // It may have more in it than a time, and it is shown.
  const since = new Date(stoppedAt).toISOString();
  return `Scaled to zero for a move of its database (${moveText(begun.move)}), which was begun at ${since} and is not finished. If nobody carries it on, this ends it: kubectl davit database back ${record.metadata.name}`;
}

interface Beginning {
  readonly isBack: boolean;
  readonly now: Date;
  /** An earlier move of the record, which is stopped for it already. */
  readonly begun?: Moving | undefined;
}

/** What is written down of a record before it is stopped. */
export function beginning({ spec }: AppDeployment, move: DatabaseMove, { isBack, now, begun }: Beginning): Moving {
  const { database: { driver, instances } = {}, resourceSpec = {} } = spec.sourceConfig;
  const { minScale, maxScale } = begun ?? resourceSpec;
  return {
    move: moveText({ from: move.from, to: move.to }),
    ...(isBack && { isBack }),
    ...(driver !== undefined && { driver }),
    ...(instances !== undefined && { instances }),
    ...(minScale !== undefined && { minScale }),
    ...(maxScale !== undefined && { maxScale }),
    stoppedAt: begun?.stoppedAt ?? now.toISOString(),
  };
}

/**
 * `stop`: pods may still run. `load`: what the move asks for is written, and Davit makes the next database. `there`: a revision has it.
 */
export type Stage = 'stop' | 'load' | 'there';

/** How far the move is that was begun. `own`: the record's revisions, newest first. */
export function stageOf(record: AppDeployment, own: readonly AppRevision[], { to }: DatabaseMove): Stage {
  const now = own[0] && databaseOf(own[0]);
  if (now && databaseText(now) === databaseText(to)) return 'there';
  const asked = moveIn(record.metadata.annotations?.[MOVE_DATABASE_ANNOTATION] ?? '');
  const isAsked = asked && databaseText(asked.to) === databaseText(to);
  return isAsked && asksFor(record, to) ? 'load' : 'stop';
}

/**
 * Whether Davit will not make the move any more: the request was taken away, or somebody has changed the record after it. `own`: the record's
 * revisions, newest first, read after it.
 */
export function isForsaken(record: AppDeployment, own: readonly AppRevision[], { from }: DatabaseMove): boolean {
  const now = own[0] && databaseOf(own[0]);
  return now !== undefined && databaseText(now) === databaseText(from) && moveAsked(record, own) === undefined;
}

export interface MoveRequest {
  readonly driver: DatabaseDriver;
  /** Numbers of the databases whose objects are there. */
  readonly used: readonly number[];
}

type Decided = { readonly move: DatabaseMove } | { readonly refused: string };

/** The move to another driver, of a record that goes on without trouble. `own`: its revisions, newest first. */
export function moveTo(record: AppDeployment, own: readonly AppRevision[], { driver, used }: MoveRequest): Decided {
  const { name } = record.metadata;
  const trouble = whyNotNow(record, own);
  if (trouble !== undefined) return { refused: trouble };
  const from = own[0] && databaseOf(own[0]);
  if (!from)
    return {
      refused: `${name} has no PostgreSQL that Davit made. An external database is moved with the programs of PostgreSQL.`,
    };
  if (from.driver === driver) return { refused: `The database of ${name} has driver ${driver} already.` };
  if (!isWayUp({ from, to: { driver, number: from.number + 1 } })) return { refused: ONLY_UP };
  const { databaseVolumeUid, databaseDrivers } = record.status ?? {};
  // A Davit that does not say it refuses it later.
  const why = databaseDrivers && whyNotOffered(databaseDrivers, driver, postgresVersionOf(own[0]));
  if (why !== undefined) return { refused: `The database of ${name} cannot be moved. ${why}` };
  if (databaseVolumeUid === undefined)
    return { refused: `The database of ${name} has no data yet. Set source_config.database.driver to ${driver}.` };
  const unready = archiveTrouble(record, `Driver ${driver}`) ?? backupTrouble(record);
  if (unready !== undefined) return { refused: unready };
  return { move: { from, to: { driver, number: nextNumber(own, used) } } };
}

function nextNumber(own: readonly AppRevision[], used: readonly number[]): number {
  return Math.max(...used, ...own.map(databaseNumberOf)) + 1;
}

type Upgrade =
  | { readonly move: DatabaseMove; readonly versions: Readonly<Record<'from' | 'to', number>> }
  | { readonly refused: string };

const IMAGE_SETTING = { pod: 'settings.images.postgres', 'cloudnative-pg': 'settings.images.cloudNativePg' } as const;

/** The move to the next number of the same driver, with the newer PostgreSQL that the platform has. `own`: revisions, newest first. */
export function upgradeTo(
  record: AppDeployment,
  own: readonly AppRevision[],
  { used }: Pick<MoveRequest, 'used'>,
): Upgrade {
  const { name } = record.metadata;
  const trouble = whyNotNow(record, own);
  if (trouble !== undefined) return { refused: trouble };
  const from = own[0] && databaseOf(own[0]);
  if (!from)
    return { refused: `${name} has no PostgreSQL that Davit made. An external database is upgraded where it runs.` };
  const { driver } = from;
  const { databaseVolumeUid, databaseDrivers } = record.status ?? {};
  if (databaseVolumeUid === undefined) return { refused: `The database of ${name} has no data yet.` };
  const offer = databaseDrivers?.find((one) => one.driver === driver);
  if (!databaseDrivers)
    return {
      refused:
        'The Davit of this cluster does not say which PostgreSQL it has (status.databaseDrivers): it is older than this command.',
    };
  const [has, next] = [postgresVersionOf(own[0]), offer?.postgresVersion];
  const setting = IMAGE_SETTING[driver];
  if (offer && (has === undefined || next === undefined))
    return {
      refused: `It is not known which PostgreSQL is newer: the tag of ${has === undefined ? `image ${own[0]?.spec.resolved.postgres?.image}` : setting} does not begin with the major version. The platform team sets one that does, such as postgres:17; a digest may follow the tag.`,
    };
  const why = whyNotOffered(databaseDrivers, driver, has);
  if (why !== undefined || has === undefined || next === undefined)
    return { refused: `The database of ${name} cannot be upgraded. ${why}` };
  if (has === next)
    return { refused: `The database of ${name} is PostgreSQL ${has} already, as this platform has it (${setting}).` };
  const backups = backupTrouble(record);
  if (backups !== undefined) return { refused: backups };
  return { move: { from, to: { driver, number: nextNumber(own, used) } }, versions: { from: has, to: next } };
}

/** Back to the database of before the last move, with the data that it had then. */
export function moveBack(record: AppDeployment, own: readonly AppRevision[]): Decided {
  const { name, annotations, deletionTimestamp } = record.metadata;
  if (deletionTimestamp !== undefined) return { refused: `${name} is being deleted.` };
  const last = moveIn(annotations?.[MOVE_DATABASE_ANNOTATION] ?? '');
  const now = own[0] && databaseOf(own[0]);
  if (!last || !now || databaseText(last.to) !== databaseText(now))
    return { refused: `The database of ${name} was not moved, so there is none to go back to.` };
  if (wasNeverLoaded(own, last.from.number)) return { refused: neverLoadedWords(name, last.from) };
  return { move: { from: now, to: last.from } };
}

/** Why nothing of this record is changed now. */
function whyNotNow(record: AppDeployment, [newest]: readonly AppRevision[]): string | undefined {
  const { name, deletionTimestamp, generation = 0, annotations } = record.metadata;
  const { status } = record;
  if (deletionTimestamp !== undefined) return `${name} is being deleted.`;
  if (isPaused(annotations))
    return `${name} is paused, so Davit changes nothing of it. Take the annotation away first.`;
  if (!runsHere(record)) return `${name} runs in the cluster of a listener, where a database cannot be moved.`;
  if ((status?.observedGeneration ?? 0) < generation)
    return `Davit has not observed the latest change of ${name} yet. Run the command again.`;
  const asked = moveNamed(record, newest ? [newest] : []);
  if (asked)
    return `A move of ${name} is asked for by hand (${MOVE_DATABASE_ANNOTATION}: ${moveText(asked)}). Take it back first: ${takeBackCommand(record, asked)}`;
  if (!newest || status?.activeRevisionId !== newest.spec.id)
    return `The newest revision of ${name} is not deployed. Wait for it, or roll back, before its database is moved.`;
  const restored = conditionOf(status.conditions, 'DatabaseRestored');
  return restored === undefined || restored.status === 'True'
    ? undefined
    : `The database of ${name} is still being loaded: ${restored.message}`;
}

/** `next`: what has none, as the beginning of a sentence. */
function archiveTrouble({ metadata: { name }, spec }: AppDeployment, next: string): string | undefined {
  const { archive } = spec.sourceConfig.database ?? {};
  return archive === undefined || archive.enabled === false
    ? undefined
    : `${next} has no archive, and one is asked for. Remove source_config.database.archive of ${name} first; what is archived stays in the store.`;
}

function backupTrouble({ metadata: { name }, spec, status }: AppDeployment): string | undefined {
  const { backup } = spec.sourceConfig.database ?? {};
  if (backup === undefined || backup.enabled === false)
    return `A database is moved by a backup, and none are asked for. Set source_config.database.backup of ${name} to {}, and wait for the first one.`;
  const ready = conditionOf(status?.conditions, 'BackupReady');
  return ready?.status === 'True'
    ? undefined
    : `A database is moved by a backup, and ${name} has no good one: ${ready?.message ?? 'nothing is known of them.'} The first one shows that the store works: kubectl davit backup ${name}`;
}

/** Compressed bytes in a second, on two busy cores: a dump, and its load (docs/database-backups.md). */
const DUMPED = 14 * 2 ** 20;
const LOADED = 25 * 2 ** 20;
/** Seconds in which pods end, the next database starts, and pods start. */
const OTHERWISE = {
  pod: 60,
  'cloudnative-pg': 100,
} as const satisfies Record<DatabaseDriver, number>;

/** Seconds for which nothing will serve. `sizeBytes`: of the last backup. */
export function downtimeOf({ to }: DatabaseMove, sizeBytes: number): number {
  return Math.ceil(OTHERWISE[to.driver] + sizeBytes / DUMPED + sizeBytes / LOADED);
}
