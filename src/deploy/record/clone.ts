// A new record that is what another one is now: the revision that serves, the Secrets of its values, and its data by a backup.

import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { DatabaseDriver, DatabaseRestore } from '../../kinds/database.ts';
import { API_VERSION, EXTERNAL_VARIABLES, FINALIZER } from '../../kinds/meta.ts';
import type { Condition } from '../../kinds/primitives.ts';
import { SOURCE_RULES, type SourceUse, uses } from '../../kinds/source-rules.ts';
import { commitOf } from './build-source.ts';
import { offeredVersion } from './database-offers.ts';
import { runsHere } from './listener-assignment.ts';
import { rollingBack } from './revision-request.ts';
import { activeRevision, revisionsOf } from './revisions.ts';
import { referencesOf } from './secret-references.ts';
import { listedBackup } from './stored-backups.ts';

export interface CloneRequest extends Omit<DatabaseRestore, 'from' | 'archive'> {
  /** The new record's. */
  readonly name: string;
}

export type Clone =
  /** `notes`: what people should know of it, a sentence each. */
  { readonly record: AppDeployment; readonly notes: readonly string[] } | { readonly refused: string };

/** What to do instead, where no other record may use the image. */
const INSTEAD: Partial<Readonly<Record<SourceUse, string>>> = {
  push: 'Create one that begins with the backup (source_config.database.restore), and push the image to it.',
  upload:
    'Deploy its folder under another name (kubectl davit deploy FOLDER --name OTHER); to begin with a backup, davit.yaml has database: {restore: {from: NAME}}.',
};

/** `all`: revisions of the origin, in any order. */
export function cloneOf(origin: AppDeployment, all: readonly AppRevision[], request: CloneRequest, now: Date): Clone {
  const { source } = origin.spec;
  // Its values may be gone already.
  if (origin.metadata.deletionTimestamp !== undefined)
    return { refused: `"${origin.metadata.name}" cannot be cloned: it is being deleted.` };
  const [way] = SOURCE_RULES[source].uses.flatMap((what) => INSTEAD[what] ?? []);
  if (way !== undefined)
    return {
      refused: `"${origin.metadata.name}" cannot be cloned: its image (source ${source}) cannot be shared. ${way}`,
    };
  const { spec: serving, active } = servingSpec(origin, all);
  const asServing = { ...origin, spec: serving };
  const data = archiveOf(asServing, request, now) ?? dataOf(asServing, request);
  if ('refused' in data) return data;
  const commit = uses(source, 'integration') && active !== undefined ? commitOf(active) : undefined;
  const spec = specOf(serving, data.restore, { commit, driver: origin.status?.databaseDriver });
  return { record: recordOfClone(request.name, origin.metadata.namespace, spec), notes: notesOf(spec, origin, commit) };
}

/** What was asked for later does not serve, and may never. */
function servingSpec(
  origin: AppDeployment,
  all: readonly AppRevision[],
): { readonly spec: AppDeploymentSpec; readonly active: AppRevision | undefined } {
  const revisions = revisionsOf(origin, all);
  const active = activeRevision(revisions);
  const isNewest = active === undefined || active === revisions[0];
  return { spec: isNewest ? origin.spec : rollingBack(origin.spec, active.spec), active };
}

function recordOfClone(name: string, namespace: string | undefined, spec: AppDeploymentSpec): AppDeployment {
  const finalizers = runsHere({ spec }) ? [FINALIZER] : [];
  const metadata = { name, namespace, finalizers };
  return { apiVersion: API_VERSION, kind: 'AppDeployment', metadata, spec } as AppDeployment;
}

/**
 * The archive of the origin, for a point in time that it has; without one, where there is no backup. Undefined where a backup is to be
 * taken.
 */
function archiveOf(
  { metadata: { name }, spec, status = {} }: AppDeployment,
  { at, backup }: CloneRequest,
  now: Date,
): { readonly restore: DatabaseRestore } | undefined {
  const { databaseArchive, databaseDriver, databaseBackup, conditions } = status;
  const first = Date.parse(databaseArchive?.firstRecoverableAt ?? '');
  const isReady = conditionOf(conditions, 'ArchiveReady')?.status === 'True';
  const hasCluster = databaseDriver === 'cloudnative-pg' && spec.sourceConfig.runtime?.database !== 'none';
  if (!hasCluster || !isReady || Number.isNaN(first) || backup !== undefined) return undefined;
  if (at === undefined)
    return databaseBackup?.name === undefined ? { restore: { from: name, archive: true } } : undefined;
  const wanted = Date.parse(at);
  return wanted >= first && wanted <= now.getTime() ? { restore: { from: name, at, archive: true } } : undefined;
}

/** What the new database begins with; nothing where there is none. */
function dataOf(
  origin: AppDeployment,
  { at, backup }: CloneRequest,
): { readonly restore: DatabaseRestore | undefined } | { readonly refused: string } {
  const {
    metadata: { name },
    spec,
    status,
  } = origin;
  const isExternal = referencesOf(spec).some((reference) => reference.name === EXTERNAL_VARIABLES.postgres);
  if (isExternal)
    return {
      refused: `"${name}" uses an external database, which the new deployment would write to as well. Copy that database, and create a deployment with the URI of the copy.`,
    };
  const isNamed = at !== undefined || backup !== undefined;
  if (spec.sourceConfig.runtime?.database === 'none')
    return isNamed ? { refused: `"${name}" has no database. Leave out at and backup.` } : { restore: undefined };
  const ready = conditionOf(status?.conditions, 'BackupReady');
  const isUnreachable = ready?.reason === 'BackupStoreMissing' || ready?.reason === 'BackupCredentialsMissing';
  if ((!isNamed && status?.databaseBackup?.name === undefined) || isUnreachable)
    return { refused: `A clone of "${name}" needs a backup. ${whyNoBackup(name, ready)}` };
  const driver = status?.databaseDriver ?? 'pod';
  const postgresVersion = offeredVersion(origin, driver);
  const chosen = listedBackup(status?.databaseBackups, { from: name, at, backup, postgresVersion, ofAllLives: true });
  if ('refused' in chosen) return chosen;
  // The backup that was judged is the one that is loaded. Without a choice it is the newest at that time.
  const found = isNamed ? (chosen.backup?.name ?? backup) : undefined;
  if (found !== undefined) return { restore: { from: name, backup: found } };
  return { restore: { from: name, ...(at !== undefined && { at }) } };
}

/** `ready`: BackupReady. */
function whyNoBackup(name: string, ready: Condition | undefined): string {
  if (ready?.status === 'False') return ready.message;
  if (ready !== undefined)
    return `The first backup of "${name}" has not been made yet. To make it now: kubectl davit backup ${name}`;
  return `"${name}" has no backups. If the platform has a backup store (kubectl davit platform), set source_config.database.backup, and wait for the first backup.`;
}

function specOf(
  {
    rollbackTo: _rollback,
    rebuildSerial: _rebuild,
    sourceConfig,
    sourceRevisionConfig,
    ...spec
  }: Readonly<AppDeploymentSpec>,
  restore: DatabaseRestore | undefined,
  { commit, driver }: { readonly commit: string | undefined; readonly driver: DatabaseDriver | undefined },
): AppDeploymentSpec {
  const { customUrl: _url, buildOnPush: _push, database, ...config } = sourceConfig;
  const { restore: _restore, instances, ...asked } = database ?? {};
  const begun = {
    ...asked,
    // A backup is loaded only into a database of its driver, which may have been moved since the record named one.
    ...(restore && driver && { driver }),
    ...(instances !== undefined && (!restore || driver !== 'pod') && { instances }),
    ...(restore && { restore }),
  };
  return {
    ...spec,
    sourceConfig: { ...config, ...(Object.keys(begun).length > 0 && { database: begun }) },
    sourceRevisionConfig: { ...sourceRevisionConfig, ...(commit !== undefined && { repoRef: commit }) },
    revisionSerial: 1,
  };
}

function notesOf(spec: AppDeploymentSpec, origin: AppDeployment, commit: string | undefined): string[] {
  const { name } = origin.metadata;
  const { tasks = [], resourceSpec } = spec.sourceConfig;
  const scheduled = tasks.filter(({ schedule }) => schedule !== undefined).map((task) => task.name);
  const claims = (resourceSpec?.volumes ?? []).flatMap(
    ({ persistentVolumeClaim: claim }) => (claim as { readonly claimName?: string } | undefined)?.claimName ?? [],
  );
  return [
    ...(origin.spec.sourceConfig.customUrl === undefined ? [] : [`It does not have the address of "${name}".`]),
    ...(commit === undefined ? [] : [`It stays at commit ${commit}: pushes do not change it.`]),
    ...(scheduled.length === 0
      ? []
      : [`Its tasks run on their schedules, as those of "${name}" do: ${scheduled.join(', ')}.`]),
    ...(claims.length === 0 ? [] : [`It mounts the same PersistentVolumeClaims as "${name}": ${claims.join(', ')}.`]),
  ];
}
