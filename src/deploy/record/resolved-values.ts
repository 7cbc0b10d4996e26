// The resolved values of a new revision: defaults of the settings or values of an earlier revision, with the database and Redis that exist.

import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision, Requested, Resolved } from '../../kinds/app-revision.ts';
import type { DatabaseDriver } from '../../kinds/database.ts';
import { MOST_NEVER_LOADED } from '../../kinds/database-names.ts';
import type { Settings } from '../../kinds/settings.ts';
import { present } from '../../runtime/json-value.ts';
import { specWith } from './code-file.ts';
import { driverOfRevisions } from './database-driver.ts';
import { databaseNumberOf, type MoveRequest } from './database-move.ts';
import { isOlderImage, isSameLine } from './image.ts';
import { platformImages, resolve } from './resolve.ts';
import { scaledBy } from './scaled.ts';

/** Known facts about the data of a PostgreSQL: the image that last ran on it, its size in gibibytes, and what runs it. */
export interface DataThere {
  readonly image?: string;
  readonly storageGi?: number;
  /** The uid of PostgreSQL, which a Cluster keeps. */
  readonly userId?: number;
  /** What stays as the database was made. Absent where it is not made yet. */
  readonly made?: Pick<NonNullable<Resolved['postgres']>, 'user' | 'extensions'>;
  readonly driver?: DatabaseDriver;
  /** Its number among the databases of the record. */
  readonly number?: number;
  /** Number of the database that the record has, if the backup with which it is to begin is not loaded. */
  readonly unloaded?: number;
}

interface ToResolve {
  /** What record and file request together. */
  readonly whole: Requested;
  /** The revision whose values a rollback restores. */
  readonly old: AppRevision | undefined;
  readonly settings: Settings;
  readonly data: DataThere;
  readonly contract: number;
  readonly move: MoveRequest | undefined;
}

/**
 * Resolves the values of a new revision from record and settings, or takes them from the revision that a rollback restores. Keeps the
 * existing database and Redis. `own`: the record's revisions, newest first.
 */
export function resolvedFor(
  record: AppDeployment,
  own: readonly AppRevision[],
  { whole, old, settings, data, contract, move }: ToResolve,
): Resolved {
  const [newest] = own;
  const before = newest?.spec.resolved.movedDatabase;
  const moved = move ? movedTo(move, before, data) : (before ?? numbered(data));
  const spec = onDriver(specWith(record.spec, whole), driverInForce(own, move));
  const today = (): Resolved => resolve(spec, withDriverOf(own, data, settings), contract);
  const chosen = old ? withDatabase(moved, old, record, settings, today) : today();
  const smallestGi = old ? (data.storageGi ?? 0) : smallestSize(whole, newest, data);
  const there = { ...data, ...madeOfDatabase(own, moved) };
  const resolved = keepDatabase(keepRedis(withMoved(chosen, moved), newest), there, smallestGi);
  const { podsOf: _shared, podsOfParts: _ofParts, podsOfWorkers: _ofWorkers, ...values } = resolved;
  return values;
}

/**
 * A record keeps its major version of PostgreSQL: an image of another or unknown major version could not read the data. It
 * also keeps its base: another C library sorts text differently, which corrupts indexes. It keeps its minor version if that is newer,
 * the role of the application, and the uid of PostgreSQL. Otherwise the setting's image is used. A volume cannot shrink below `smallestGi`.
 */
function keepDatabase(resolved: Resolved, { image, userId, made }: DataThere, smallestGi: number): Resolved {
  const { postgres } = resolved;
  if (postgres === undefined) return resolved;
  const { user: _user, extensions: _extensions, ...values } = postgres;
  const storageGi = Math.max(postgres.storageGi, smallestGi);
  const kept = { ...(made ? { ...values, ...made } : postgres), ...(postgres.driver && present({ userId })) };
  return { ...resolved, postgres: { ...kept, image: imageFor(postgres.image, image), storageGi } };
}

/** The image in force stays if the settings have an older minor version. */
function keepRedis(resolved: Resolved, newest: AppRevision | undefined): Resolved {
  const { redis } = resolved;
  const before = newest?.spec.resolved.redis?.image;
  if (redis === undefined || before === undefined) return resolved;
  const isOlder = isSameLine(before, redis.image) && isOlderImage(redis.image, before);
  return isOlder ? { ...resolved, redis: { ...redis, image: before } } : resolved;
}

/**
 * A newly requested size is kept, so that the record reports that a volume cannot shrink. A size that an earlier revision
 * requested already is raised to what that revision got: a rollback across a grown volume leaves such a size behind.
 */
function smallestSize(requested: Requested, newest: AppRevision | undefined, { storageGi = 0 }: DataThere): number {
  const asked = requested.resourceSpec?.dbStorageGi;
  if (asked === undefined) return storageGi;
  const isOld = newest?.spec.requested.resourceSpec?.dbStorageGi === asked;
  return isOld ? (newest.spec.resolved.postgres?.storageGi ?? 0) : 0;
}

type Moved = Resolved['movedDatabase'];

function movedTo(
  { to: { number }, backup, backupOf, backupNamespace }: MoveRequest,
  before: Moved,
  { unloaded }: DataThere,
): Moved {
  const all = new Set([...(before?.neverLoaded ?? []), ...(unloaded === undefined ? [] : [unloaded])]);
  const neverLoaded = [...all].filter((one) => one !== number).slice(-MOST_NEVER_LOADED);
  const highest = Math.max(before?.highest ?? 0, before?.number ?? 0);
  return {
    number,
    ...present({ backup, backupOf, backupNamespace }),
    ...(highest > number && { highest }),
    ...(neverLoaded.length > 0 && { neverLoaded }),
  };
}

/** For the first revision: the number of the database that an earlier deployment of this name left. */
function numbered({ number = 0 }: DataThere): Moved {
  return number === 0 ? undefined : { number };
}

/** Every revision names the database in use, even one with an external database. */
function withMoved({ movedDatabase: _before, ...resolved }: Resolved, moved: Moved): Resolved {
  return moved === undefined ? resolved : { ...resolved, movedDatabase: moved };
}

/**
 * The values of `old`, except its database if the deployment has moved to another one since. The images of the containers that wait
 * are the platform's. `today`: the values of the record and the settings.
 */
function withDatabase(
  moved: Moved,
  old: AppRevision,
  { spec }: AppDeployment,
  settings: Settings,
  today: () => Resolved,
): Resolved {
  const resolved = { ...scaledBy(spec, old, settings).spec.resolved, waitImages: platformImages(settings) };
  const { postgres: before, ...others } = resolved;
  const isOther = databaseNumberOf(old) !== (moved?.number ?? 0);
  if (!isOther || before === undefined) return resolved;
  const { postgres } = today();
  return { ...others, ...(postgres && { postgres }) };
}

/** Driver of the database that an operation created or is about to create. Overrides the record. `own`: newest first. */
function driverInForce(own: readonly AppRevision[], move: MoveRequest | undefined): DatabaseDriver | undefined {
  if (move) return move.to.driver;
  return own[0] !== undefined && databaseNumberOf(own[0]) > 0 ? driverOfRevisions(own) : undefined;
}

/** The spec with `driver`, if that is in force. */
function onDriver(spec: AppDeploymentSpec, driver: DatabaseDriver | undefined): AppDeploymentSpec {
  const { database } = spec.sourceConfig;
  if (driver === undefined || database?.driver === driver) return spec;
  return { ...spec, sourceConfig: { ...spec.sourceConfig, database: { ...database, driver } } };
}

/** The settings, whose default driver gives way to the driver of the existing or former database. `own`: newest first. */
function withDriverOf(own: readonly AppRevision[], data: DataThere, settings: Settings): Settings {
  const driver = data.driver ?? driverOfRevisions(own);
  return driver === undefined ? settings : { ...settings, database: { ...settings.database, driver } };
}

function imageFor(set: string, recorded: string | undefined): string {
  if (recorded === undefined) return set;
  return isSameLine(recorded, set) && !isOlderImage(set, recorded) ? set : recorded;
}

/** Image, role and extensions of the database in use. Empty for a new one. */
function madeOfDatabase(own: readonly AppRevision[], moved: Moved): DataThere {
  const number = moved?.number ?? 0;
  const known = own.find((one) => one.spec.resolved.postgres !== undefined && databaseNumberOf(one) === number);
  const { image, user, extensions } = known?.spec.resolved.postgres ?? {};
  return image === undefined ? {} : { image, made: { ...(user && { user }), ...(extensions && { extensions }) } };
}
