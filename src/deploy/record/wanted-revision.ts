// Which revision a record wants: the newest existing one, or a new snapshot. Only the controller creates AppRevisions; the
// facade only computes the id of the next one.

import { type AppDeployment, type AppDeploymentSpec, deploymentTypeMeant } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec, Requested, Resolved } from '../../kinds/app-revision.ts';
import type { DatabaseDriver } from '../../kinds/database.ts';
import { MOST_NEVER_LOADED } from '../../kinds/database-names.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import type { Settings } from '../../kinds/settings.ts';
import { SOURCE_RULES } from '../../kinds/source-rules.ts';
import { ownValue, present } from '../../runtime/json-value.ts';
import { type Commit, commitOf, commitWordsOf, sameBuildRequested } from './build-source.ts';
import { canonical } from './canonical.ts';
import { type CodeFile, type FileNeed, fileBreaches, fileIn, revisionFileOf, specWith } from './code-file.ts';
import { asksOfDatabase, driverOfRevisions } from './database-driver.ts';
import { databaseNumberOf, type MoveRequest } from './database-move.ts';
import { ownRequested, withFile } from './file-values.ts';
import { isOlderImage, isSameLine } from './image.ts';
import { idOf, originGenerationOf, uidOf } from './metadata.ts';
import { withoutScale } from './requested-scale.ts';
import { revisionRequesterOf } from './requester.ts';
import { POD_CONTRACT, platformImages, resolve } from './resolve.ts';
import {
  copyRevisionId,
  generationRevisionId,
  operationRevisionId,
  pushRevisionId,
  serialRevisionId,
} from './revision-id.ts';
import { imageOf } from './revision-image.ts';
import { asksToRebuild } from './revision-request.ts';
import { revisionsOf } from './revisions.ts';
import { scaledBy } from './scaled.ts';

export type WantedRevision =
  /** `ignoredRollback`: why a requested rollback is not possible, and what happens instead. */
  | { readonly create: AppRevisionSpec; readonly ignoredRollback?: string }
  | { readonly current: AppRevision }
  | { readonly none: 'WaitingForImage' }
  /** A revision that needs a file of the repository. */
  | { readonly needs: FileNeed };

/** What a revision follows besides the record. */
export interface FoundElsewhere {
  /** What the operation that works now asks for. */
  readonly move?: MoveRequest | undefined;
  /** The commit that the record's branch has now, if the record asks for pushes. */
  readonly pushed?: Commit | undefined;
  /** The file that an earlier answer needed. */
  readonly file?: CodeFile | undefined;
}

/**
 * What a revision of `spec` stores of it, in canonical form (canonical.ts). All of it needs a new revision when it changes, except for
 * the scale.
 */
export function requestedOf(spec: Readonly<AppDeploymentSpec>): Requested {
  const { resourceSpec, runtime, env, tasks, database, installCommand, buildCommand } = spec.sourceConfig;
  const requestedDatabase = asksOfDatabase(database);
  const deploymentType = deploymentTypeMeant(spec.sourceConfig.deploymentType);
  return canonical({
    sourceRevisionConfig: spec.sourceRevisionConfig,
    ...present({ resourceSpec, runtime, env, tasks, database: requestedDatabase }),
    secrets: spec.secrets,
    secretReferences: spec.secretReferences ?? [],
    ...present({ installCommand, buildCommand, deploymentType }),
  });
}

/** Whether both have the same meaning, regardless of their form: an older Davit may have stored the snapshot. */
export function sameRequested(a: Readonly<Requested>, b: Readonly<Requested>): boolean {
  return sameJson(a, b) || sameJson(canonical(a), canonical(b));
}

/** Whether one revision can have both sets of values. Ignores the scale. */
export function sameRevision(a: Readonly<Requested>, b: Readonly<Requested>): boolean {
  return sameRequested(a, b) || sameJson(withoutScale(canonical(a)), withoutScale(canonical(b)));
}

/** Whether no image or source has been pushed yet, so that there is nothing to deploy. */
export function awaitsSource(spec: Readonly<AppDeploymentSpec>): boolean {
  const { repoUrl } = spec.sourceConfig;
  const values = { ...spec.sourceRevisionConfig, repoUrl };
  return SOURCE_RULES[spec.source].content.every((field) => values[field] === undefined);
}

/**
 * Id of the revision that the record wants, and whether it is already `made`. Undefined if no image or source has been pushed
 * and there is no revision. `revisions` may be in any order. A record that lost its image keeps its revision.
 */
export function wantedRevisionId(
  record: AppDeployment,
  revisions: readonly AppRevision[],
): { readonly id: string; readonly made: boolean } | undefined {
  const own = revisionsOf(record, revisions);
  const newest = own[0];
  const { revisionSerial: serial } = record.spec;
  if (awaitsSource(record.spec)) return newest && { id: newest.spec.id, made: true };
  if (serial !== undefined && !own.some((revision) => revision.spec.revisionSerial === serial)) {
    return { id: serialRevisionId(idOf(record), serial), made: false };
  }
  if (newest !== undefined && sameRevision(requestedOf(record.spec), ownRequested(newest.spec))) {
    return { id: newest.spec.id, made: true };
  }
  const id = generationRevisionId(idOf(record), originGenerationOf(record));
  const { generation = 0 } = record.metadata;
  // A restored hub counts its generations again. The cluster's own generation of the copy only grows.
  const isTaken = generation > (newest?.spec.deploymentGeneration ?? 0) && own.some(({ spec }) => spec.id === id);
  return { id: isTaken ? copyRevisionId(idOf(record), originGenerationOf(record), generation) : id, made: false };
}

/**
 * The revision that the record wants: the newest one, or the spec of one to create, or none before an image or source has been
 * pushed. `revisions` may be in any order and contain those of other records. Throws if the record has no uid (it was not
 * read from an API server). `data`: known facts about the PostgreSQL volume that the record has or may adopt. `contract`: the
 * pod contract version of a new revision.
 */
export function wantedRevision(
  record: AppDeployment,
  revisions: readonly AppRevision[],
  settings: Settings,
  data: DataThere = {},
  contract = POD_CONTRACT,
  { pushed, file, move }: FoundElsewhere = {},
): WantedRevision {
  const wanted = wantedRevisionId(record, revisions);
  if (wanted === undefined) return { none: 'WaitingForImage' };
  const own = revisionsOf(record, revisions);
  const newest = own[0];
  // A push waits for the operation.
  const push = move ? undefined : pushAfter(record, own, pushed);
  if (wanted.made && newest !== undefined && push === undefined && move === undefined) return { current: newest };

  const requested = requestedOf(record.spec);
  const { revisionSerial, rollbackTo } = record.spec;
  const generation = record.metadata.generation ?? 0;
  const isPush = wanted.made && push !== undefined;
  const rollback = isPush ? NO_ROLLBACK : rollbackOf(record, own, contract);
  const deploys = isPush
    ? { commit: push }
    : deployed(requested, own, rollback, { rebuilds: asksToRebuild(record.spec, own), moves: move !== undefined });
  const isTaken = rollback.is === 'taken';
  // No change of the record asks for it.
  const serial = wanted.made ? nextSerial(own, generation) : undefined;
  const id = serial === undefined ? wanted.id : furtherId(record, serial, move);
  const used = isTaken ? storedFile(rollback.of) : fileFor(record, own, { id, requested, deploys, file, settings });
  if (used !== undefined && 'needs' in used) return { needs: used.needs };
  const { requested: whole, fields } = withFile(requested, used?.values ?? {});
  const { image: named, ...values } = resolvedFor(record, own, { whole, rollback, settings, data, contract, move });
  const commit = deploys.commit ?? used?.commit;
  // Nothing is deployed of a file that is wrong.
  const runs = used?.failure ? undefined : (named ?? deploys.image);
  const requestedBy = serial === undefined ? revisionRequesterOf(record, own) : move?.requestedBy;
  // Also where it is not built yet: the branch may have a newer commit than what a rollback names.
  const isEarlier = !isPush && (runs !== undefined || deploys.commit !== undefined);
  const branchCommit = isEarlier && commit !== undefined ? branchCommitOf(own) : undefined;
  return {
    create: {
      id,
      deploymentName: record.metadata.name,
      deploymentUid: uidOf(record),
      deploymentGeneration: generation,
      ...present({ revisionSerial, rollbackTo, pushSerial: serial }),
      ...commit,
      ...present({ branchCommit, requestedBy }),
      source: record.spec.source,
      ...(used && { file: revisionFileOf(used, fields) }),
      requested: whole,
      resolved: {
        ...values,
        ...(runs !== undefined && { image: runs }),
        ...(deploys.migrated === true && { migrated: true }),
      },
    },
    ...(rollback.is === 'ignored' && { ignoredRollback: rollback.why }),
  };
}

interface ToResolve {
  /** What the revision asks for, that of its file included. */
  readonly whole: Requested;
  readonly rollback: Rollback;
  readonly settings: Settings;
  readonly data: DataThere;
  readonly contract: number;
  readonly move: MoveRequest | undefined;
}

/** The values of a new revision: those of today or of the one that it goes back to, on the datastores that there are. */
function resolvedFor(
  record: AppDeployment,
  own: readonly AppRevision[],
  { whole, rollback, settings, data, contract, move }: ToResolve,
): Resolved {
  const [newest] = own;
  const before = newest?.spec.resolved.movedDatabase;
  const moved = move ? movedTo(move, before, data) : (before ?? numbered(data));
  const spec = onDriver(specWith(record.spec, whole), driverInForce(own, move));
  const today = (): Resolved => resolve(spec, withDriverOf(own, data, settings), contract);
  const old = rollback.is === 'taken' ? rollback.of : undefined;
  const chosen = old ? withDatabase(moved, old, record, settings, today) : today();
  const smallestGi = old ? (data.storageGi ?? 0) : smallestSize(whole, newest, data);
  const there = { ...data, ...madeOfDatabase(own, moved) };
  const resolved = keepDatabase(keepRedis(withMoved(chosen, moved), newest), there, smallestGi);
  const { podsOf: _shared, podsOfParts: _ofParts, podsOfWorkers: _ofWorkers, ...values } = resolved;
  return values;
}

/** What a revision deploys, as far as that does not follow from its values. */
interface Deployed {
  /** Built earlier; absent where it is to be built, or the values name it. */
  readonly image?: string | undefined;
  /** Absent where the build takes the newest one of the branch. */
  readonly commit?: Commit | undefined;
  /** An older migration must not run after a newer one. */
  readonly migrated?: boolean;
}

/**
 * What a new revision that no push asks for deploys. `own`: newest first. `rebuilds`: somebody has asked for the newest commit, whatever
 * else has changed since. `moves`: the database alone may be what changes.
 */
function deployed(
  requested: Requested,
  own: readonly AppRevision[],
  rollback: Rollback,
  { rebuilds, moves }: Readonly<Record<'rebuilds' | 'moves', boolean>>,
): Deployed {
  const from = rollback.of ?? own[0];
  if (from === undefined) return {};
  const image = imageOf(from);
  const migrated = hasMigrated(from);
  if (rollback.is === 'taken') return { image, commit: knownCommitOf(from), migrated };
  if (rebuilds) return { migrated: false };
  const isKept = migrated && changesSizesAlone(requested, ownRequested(from.spec));
  if (!keepsBuild(requested, from, moves)) return { migrated: isKept };
  // A correction of a file that was wrong is in a newer commit.
  if (from.spec.file?.failure) return { migrated: isKept };
  const commit = knownCommitOf(image === undefined && rollback.of === undefined ? { spec: from.spec } : from);
  return { image, commit, migrated: isKept || (migrated && from !== own[0]) };
}

interface FileWanted extends Pick<FoundElsewhere, 'file'> {
  readonly id: string;
  /** What the record itself asks for. */
  readonly requested: Requested;
  readonly deploys: Deployed;
  readonly settings: Settings;
}

/** The file of a new revision, if the record names one: as an earlier revision of the commit has it, or as it was read. */
function fileFor(
  { spec }: AppDeployment,
  own: readonly AppRevision[],
  { id, requested, deploys: { commit }, file, settings }: FileWanted,
): CodeFile | { readonly needs: FileNeed } | undefined {
  const path = spec.sourceRevisionConfig.davitFile;
  if (path === undefined) return undefined;
  const earlier = own.find((one) => commit && commitOf(one) === commit.commit && one.spec.file?.path === path);
  const known = fileIn(earlier?.spec.file);
  // Where it does not fit the record any more, the text says in which line.
  if (known && fileBreaches(spec, requested, known, settings).length === 0) return known;
  const isOfCommit = commit === undefined || file?.commit === undefined || file.commit.commit === commit.commit;
  if (file?.path === path && isOfCommit) return file;
  return { needs: { id, path, ...(commit && { commit: commit.commit }) } };
}

/** The file that a revision was made with. */
function storedFile({ spec }: AppRevision): CodeFile | undefined {
  const { file } = spec;
  return fileIn(file) ?? (file?.failure && { path: file.path, failure: file.failure });
}

/** The commit of a revision with what it says of itself. Without the status, that for which it was made: a build may have found one since. */
function knownCommitOf(revision: Pick<AppRevision, 'spec' | 'status'>): Commit | undefined {
  const commit = commitOf(revision);
  return commit === undefined ? undefined : { commit, ...commitWordsOf(revision) };
}

/** Whether a migration that has run for one of them has nothing to do for the other, which has other sizes or tasks. Somebody who changes nothing asks for it again. */
function changesSizesAlone(requested: Requested, before: Requested): boolean {
  const valuesOf = ({ resourceSpec = {}, deploymentType: _preset, tasks: _tasks, ...rest }: Requested): unknown => {
    const others = Object.entries(resourceSpec).filter(([, value]) => typeof value !== 'number');
    const { parts: _parts, runtime, ...values } = withoutScale({ ...rest, resourceSpec: Object.fromEntries(others) });
    return { ...values, runtime: withoutWorkerSizes(runtime) };
  };
  return !sameRequested(requested, before) && sameJson(valuesOf(canonical(requested)), valuesOf(canonical(before)));
}

function withoutWorkerSizes({ workers = {}, ...runtime }: Readonly<Runtime> = {}): Runtime {
  const unsized = Object.entries(workers).map(
    ([name, { cpu: _cpu, cpuLimit: _cpuLimit, memoryMb: _memory, memoryLimitMb: _memoryLimit, ...worker }]) =>
      [name, worker] as const,
  );
  return { ...runtime, workers: Object.fromEntries(unsized) };
}

/**
 * `pushed` if it is news, and nobody has asked for it yet. After a rollback, and wherever else an image was taken over, the branch has a newer commit than what
 * runs; that is no push.
 */
function pushAfter(record: AppDeployment, own: readonly AppRevision[], pushed: Commit | undefined): Commit | undefined {
  const newest = own[0];
  if (pushed === undefined || newest === undefined || record.spec.sourceConfig.buildOnPush !== true) return undefined;
  const commit = commitOf(newest);
  // Not known yet: the build asks for it when it begins. A failed build does not ask again.
  if (commit === undefined && newest.status?.build?.phase !== 'Failed') return undefined;
  if (commit === pushed.commit || branchCommitOf(own) === pushed.commit) return undefined;
  return pushed;
}

/** Id of a revision that a push or an operation asks for. */
function furtherId(record: AppDeployment, serial: number, move: MoveRequest | undefined): string {
  const { generation = 0 } = record.metadata;
  return move
    ? operationRevisionId(idOf(record), move.operation, move.to.number)
    : pushRevisionId(idOf(record), generation, serial);
}

/** Number of a further revision of this generation. `own`: the record's revisions, of which there is one. */
function nextSerial(own: readonly AppRevision[], generation: number): number {
  const serials = own.map(({ spec }) => (spec.deploymentGeneration === generation ? (spec.pushSerial ?? 0) : 0));
  return Math.max(...serials) + 1;
}

/**
 * The newest commit of the branch that a revision was made of, also if its revision is deleted since. `own`: newest first.
 */
function branchCommitOf(own: readonly AppRevision[]): string | undefined {
  const known = own.find((revision) => commitOf(revision) !== undefined);
  return known && (known.spec.branchCommit ?? commitOf(known));
}

/**
 * Whether a change deploys what `from` deploys, and builds nothing new: a change of sizes or secrets alone does. What a push asked for
 * and is not built yet stays too. Somebody who asks for a new revision and changes nothing wants the newest commit, unless he `moves` the
 * database.
 */
function keepsBuild(requested: Requested, from: AppRevision, moves = false): boolean {
  const before = ownRequested(from.spec);
  const isSame = requested.sourceRevisionConfig.imageUri === undefined && sameBuildRequested(requested, before);
  return isSame && (moves || !sameRequested(requested, before));
}

/** Known facts about the data of a PostgreSQL: the image that last ran on it, its size in gibibytes, and what runs it. */
export interface DataThere {
  readonly image?: string;
  readonly storageGi?: number;
  /** What stays as the database was made. Absent where it is not made yet. */
  readonly made?: Pick<NonNullable<Resolved['postgres']>, 'user' | 'extensions'>;
  readonly driver?: DatabaseDriver;
  /** Its number among the databases of the record. */
  readonly number?: number;
  /** Number of the database that the record has, if the backup with which it is to begin is not loaded. */
  readonly unloaded?: number;
}

type Rollback =
  | { readonly is: 'none'; readonly of?: undefined }
  /** The old resolved values are used, with the image that was built of them and the scale of the record. */
  | { readonly is: 'taken'; readonly of: AppRevision }
  /**
   * The requested rollback is not possible; `why` says what happens instead. `of`: the revision that it names, if what was built for
   * that one is deployed with the values of the record.
   */
  | { readonly is: 'ignored'; readonly why: string; readonly of?: AppRevision };

const NO_ROLLBACK: Rollback = { is: 'none' };

/**
 * Whether the revision that the record wants is a rollback. `own`: the record's revisions before it is created. `contract`: the newest
 * known version of the pod contract.
 */
function rollbackOf(record: AppDeployment, own: readonly AppRevision[], contract: number): Rollback {
  const { rollbackTo, revisionSerial } = record.spec;
  // Without a new serial, rollbackTo remains from an earlier rollback.
  if (rollbackTo === undefined || revisionSerial === undefined) return NO_ROLLBACK;
  if (own.some((revision) => revision.spec.revisionSerial === revisionSerial)) return NO_ROLLBACK;
  const old = own.find((revision) => revision.spec.id.toLowerCase() === rollbackTo.toLowerCase());
  const instead = 'The new revision has the values of the record and the current defaults.';
  if (old === undefined) return { is: 'ignored', why: `Revision ${rollbackTo} does not exist. ${instead}` };
  const requested = requestedOf(record.spec);
  if (!sameRevision(ownRequested(old.spec), requested)) {
    const differs = `rollbackTo names revision ${rollbackTo}, but the record has other values than that revision.`;
    // A change of sizes or secrets that follows the rollback, before the controller has seen it.
    return isUnseenRequest(record, own[0]) && keepsBuild(requested, old)
      ? {
          is: 'ignored',
          of: old,
          why: `${differs} The image built for that revision is deployed with the values of the record.`,
        }
      : { is: 'ignored', why: `${differs} Restore them too. ${instead}` };
  }
  if (old.spec.resolved.contract > contract)
    return { is: 'ignored', why: `A newer version of Davit created revision ${rollbackTo}. ${instead}` };
  return { is: 'taken', of: old };
}

/**
 * Whether somebody has set rollbackTo since the newest revision was made. Where it is the same as then, a person who writes the
 * record without the API may have left it there. The API leaves it only in a second write that asks for a revision.
 */
function isUnseenRequest(
  { spec: { rollbackTo, revisionSerial = 0 } }: AppDeployment,
  newest: AppRevision | undefined,
): boolean {
  return newest?.spec.rollbackTo !== rollbackTo || revisionSerial > (newest?.spec.revisionSerial ?? 0) + 1;
}

/** Whether the migration that a revision asks for has succeeded. */
export function hasMigrated({ spec, status }: AppRevision): boolean {
  if (!spec.requested.runtime?.migrate) return false;
  // A hub knows no more of the revisions of a listener's cluster than their state.
  return spec.resolved.migrated === true || status?.migration?.phase === 'Succeeded' || status?.state === 'DEPLOYED';
}

/**
 * A record keeps its major version of PostgreSQL: an image of another or unknown major version could not read the data. It
 * also keeps its base: another C library sorts text differently, which corrupts indexes. It keeps its minor version if that is newer, and
 * the role of the application. Otherwise the setting's image is used. A volume cannot shrink below `smallestGi`.
 */
function keepDatabase(resolved: Resolved, { image, made }: DataThere, smallestGi: number): Resolved {
  const { postgres } = resolved;
  if (postgres === undefined) return resolved;
  const { user: _user, extensions: _extensions, ...values } = postgres;
  const storageGi = Math.max(postgres.storageGi, smallestGi);
  const kept = made ? { ...values, ...made } : postgres;
  return { ...resolved, postgres: { ...kept, image: imageFor(postgres.image, image), storageGi } };
}

/** An older minor version in the settings does not take the place of the image in force. */
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
  return {
    number,
    ...present({ backup, backupOf, backupNamespace }),
    ...(neverLoaded.length > 0 && { neverLoaded }),
  };
}

/** The first revision has that of what an earlier deployment of the name has left. */
function numbered({ number = 0 }: DataThere): Moved {
  return number === 0 ? undefined : { number };
}

/** Which database is in use stands in each revision, also in one that uses an external one. */
function withMoved({ movedDatabase: _before, ...resolved }: Resolved, moved: Moved): Resolved {
  return moved === undefined ? resolved : { ...resolved, movedDatabase: moved };
}

/**
 * A rollback does not change the database: a revision of before a move has another one. The containers that wait follow the platform.
 * `today`: by the values of today.
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

/** The driver of a database that an operation made, or is to make, whatever the record asks for. `own`: newest first. */
function driverInForce(own: readonly AppRevision[], move: MoveRequest | undefined): DatabaseDriver | undefined {
  if (move) return move.to.driver;
  return own[0] !== undefined && databaseNumberOf(own[0]) > 0 ? driverOfRevisions(own) : undefined;
}

/** `instances` is of driver cloudnative-pg alone. */
function onDriver(spec: AppDeploymentSpec, driver: DatabaseDriver | undefined): AppDeploymentSpec {
  const { database } = spec.sourceConfig;
  if (driver === undefined || database?.driver === driver) return spec;
  return { ...spec, sourceConfig: { ...spec.sourceConfig, database: { ...database, driver } } };
}

/** A platform's new default leaves the driver of a database that there is, or was. `own`: newest first. */
function withDriverOf(own: readonly AppRevision[], data: DataThere, settings: Settings): Settings {
  const driver = data.driver ?? driverOfRevisions(own);
  return driver === undefined ? settings : { ...settings, database: { ...settings.database, driver } };
}

function imageFor(set: string, recorded: string | undefined): string {
  if (recorded === undefined) return set;
  return isSameLine(recorded, set) && !isOlderImage(set, recorded) ? set : recorded;
}

/** A database that is new has no image yet. */
function madeOfDatabase(own: readonly AppRevision[], moved: Moved): DataThere {
  const number = moved?.number ?? 0;
  const known = own.find((one) => one.spec.resolved.postgres !== undefined && databaseNumberOf(one) === number);
  const { image, user, extensions } = known?.spec.resolved.postgres ?? {};
  return image === undefined ? {} : { image, made: { ...(user && { user }), ...(extensions && { extensions }) } };
}

/** Equality as in JSON: the order of keys has no meaning, and an undefined field is absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (Array.isArray(b)) return false;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key of Object.keys(one)) if (!sameJson(one[key], ownValue(other, key))) return false;
  return Object.keys(other).every((key) => ownValue(one, key) !== undefined || other[key] === undefined);
}
