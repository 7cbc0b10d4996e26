// How a write requests a revision: it raises the serial by exactly one, and for a rollback restores the values of an old
// revision. Imports no zod at run time, because kubectl-davit bundles it.

import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionSpec, Requested } from '../../kinds/app-revision.ts';
import type { Database } from '../../kinds/database.ts';
import { present } from '../../runtime/json-value.ts';
import { ownRequested } from './file-values.ts';
import { withScaleOf } from './requested-scale.ts';

/** Whether the controller has made no revision yet of what the spec asks for. `own`: the record's revisions. */
export function isUnseen({ revisionSerial }: Readonly<AppDeploymentSpec>, own: readonly AppRevision[]): boolean {
  return !own.some(({ spec }) => spec.revisionSerial === revisionSerial);
}

/**
 * Whether somebody has asked for a rebuild, and the controller has made no revision since. `own`: the record's revisions.
 */
export function asksToRebuild({ rebuildSerial }: Readonly<AppDeploymentSpec>, own: readonly AppRevision[]): boolean {
  return rebuildSerial !== undefined && !own.some(({ spec }) => (spec.revisionSerial ?? -1) >= rebuildSerial);
}

/**
 * `after` with a serial that requests a new revision. Removes `rollbackTo` of an earlier rollback, unless `isPending`: no revision
 * has been made for it, so that this change follows a rollback that the controller has not seen.
 */
export function askingForRevision(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
  isPending = false,
): AppDeploymentSpec {
  const { rollbackTo, ...spec } = after;
  const revisionSerial = (before.revisionSerial ?? 0) + 1;
  return { ...spec, ...(isPending && rollbackTo !== undefined && { rollbackTo }), revisionSerial };
}

/**
 * The same, for a revision that changes nothing: of the newest commit, with its migration, also if other changes follow before the
 * controller has seen it.
 */
export function askingToRebuild(
  before: Readonly<AppDeploymentSpec>,
  after: Readonly<AppDeploymentSpec>,
  isPending = false,
): AppDeploymentSpec {
  const spec = askingForRevision(before, after, isPending);
  return { ...spec, ...(spec.revisionSerial !== undefined && { rebuildSerial: spec.revisionSerial }) };
}

/** `before` with the values of `old` and a request for a new revision. Fields that need no revision, and the scale, are unchanged. */
export function rollingBack(
  before: Readonly<AppDeploymentSpec>,
  revision: Readonly<AppRevisionSpec>,
): AppDeploymentSpec {
  const requested = ownRequested(revision);
  const {
    resourceSpec: _spec,
    runtime: _runtime,
    env: _env,
    tasks: _tasks,
    database: _database,
    installCommand: _install,
    buildCommand: _build,
    deploymentType: _type,
    ...kept
  } = before.sourceConfig;
  const { env, tasks, installCommand, buildCommand, deploymentType } = requested;
  const { resourceSpec, runtime } = withScaleOf(requested, before.sourceConfig);
  const database = databaseAfter(before.sourceConfig.database, requested.database);
  const { secretReferences: _references, rebuildSerial: _rebuild, ...rest } = before;
  return {
    ...askingForRevision(before, {
      ...rest,
      sourceConfig: {
        ...kept,
        ...present({ resourceSpec, runtime, env, tasks, database, installCommand, buildCommand, deploymentType }),
      },
      sourceRevisionConfig: requested.sourceRevisionConfig,
      secrets: requested.secrets,
      ...(requested.secretReferences.length > 0 && { secretReferences: requested.secretReferences }),
    }),
    rollbackTo: revision.id,
  };
}

/** Backups are no matter of revisions, and a driver never changes back: only the number of instances does. */
function databaseAfter(before: Database | undefined, old: Requested['database']): Database | undefined {
  const { instances: _instances, ...kept } = before ?? {};
  const after = { ...kept, ...(old?.instances !== undefined && { instances: old.instances }) };
  return Object.keys(after).length > 0 ? after : undefined;
}
