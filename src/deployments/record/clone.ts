// A new record that is what another one is now: the revision that serves, the Secrets of its values, and its data by a backup.
// Imports no zod at run time, because kubectl-davit bundles it.

import type { AppDeployment, AppDeploymentSpec } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { conditionOf } from '../../schema/conditions.ts';
import type { DatabaseRestore } from '../../schema/database.ts';
import { API_VERSION, EXTERNAL_VARIABLES, FINALIZER } from '../../schema/meta.ts';
import type { Condition } from '../../schema/primitives.ts';
import type { Source } from '../../schema/source-rules.ts';
import { commitOf } from './build-source.ts';
import { runsHere } from './listener-assignment.ts';
import { names } from './names.ts';
import { rollingBack } from './revision-request.ts';
import { activeRevision, revisionsOf } from './revisions.ts';
import { referencesOf } from './secret-references.ts';

export interface CloneRequest extends Omit<DatabaseRestore, 'from'> {
  /** The new record's. */
  readonly name: string;
}

export type Clone =
  /** `notes`: what people should know of it, a sentence each. */
  { readonly record: AppDeployment; readonly notes: readonly string[] } | { readonly refused: string };

/** Their image is made of what is in the repository of the record itself, which no other record may use. */
const OWN_IMAGES: Partial<Readonly<Record<Source, string>>> = {
  internal_docker: 'Create one that begins with the backup (source_config.database.restore), and push the image to it.',
  internal_source:
    'Deploy its folder under another name, with the backup in davit.yaml (database: {restore: {from: NAME}}): kubectl davit deploy FOLDER.',
};

/** `all`: revisions of the origin, in any order. */
export function cloneOf(origin: AppDeployment, all: readonly AppRevision[], request: CloneRequest): Clone {
  const { name, namespace } = origin.metadata;
  const { source } = origin.spec;
  const way = OWN_IMAGES[source];
  if (way !== undefined)
    return {
      refused: `The image of "${name}" is its own (source ${source}), and no other deployment may use it. ${way}`,
    };
  const revisions = revisionsOf(origin, all);
  const active = activeRevision(revisions);
  // What was asked for later does not serve, and may never.
  const serving = active === undefined || active === revisions[0] ? origin.spec : rollingBack(origin.spec, active.spec);
  const data = dataOf({ ...origin, spec: serving }, request);
  if ('refused' in data) return data;
  const commit = source === 'codehost' && active !== undefined ? commitOf(active) : undefined;
  const spec = specOf(serving, data.restore, commit);
  const finalizers = runsHere({ spec }) ? [FINALIZER] : [];
  const metadata = { name: request.name, namespace, finalizers };
  return {
    record: { apiVersion: API_VERSION, kind: 'AppDeployment', metadata, spec } as AppDeployment,
    notes: notesOf(spec, origin, commit),
  };
}

/** What the new database begins with; nothing where there is none. */
function dataOf(
  { metadata: { name }, spec, status }: AppDeployment,
  { at, backup }: CloneRequest,
): { readonly restore: DatabaseRestore | undefined } | { readonly refused: string } {
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
    return { refused: `There is no data to begin with. ${whyNoBackup(name, ready)}` };
  return { restore: { from: name, ...(at !== undefined && { at }), ...(backup !== undefined && { backup }) } };
}

/** `ready`: BackupReady, which is there where backups are asked for. */
function whyNoBackup(name: string, ready: Condition | undefined): string {
  if (ready?.status === 'False') return ready.message;
  if (ready !== undefined) {
    const { backup } = names(name);
    return `The first backup of "${name}" has not been made yet. To make it now: kubectl create job --from=cronjob/${backup} ${backup}-now`;
  }
  return `No backups of "${name}" are asked for: set source_config.database.backup, and wait for the first.`;
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
  commit: string | undefined,
): AppDeploymentSpec {
  const { customUrl: _url, buildOnPush: _push, database, ...config } = sourceConfig;
  const { restore: _restore, ...asked } = database ?? {};
  const begun = { ...asked, ...(restore && { restore }) };
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
