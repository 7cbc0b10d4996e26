// Changes a record under a precondition, with the caller's token. New values need a dry run and their Secret before the record is
// written. After a conflict the change is recomputed from the current record, so no concurrent change is lost.

import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../api/authorization.ts';
import { changeObject } from '../../api/change-object.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { refusal } from '../../api/errors.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { FACADE_FIELD_MANAGER } from '../../kinds/meta.ts';
import { Conflict, Unavailable } from '../../runtime/errors.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import { patchTo } from '../../runtime/http/merge-patch.ts';
import { type Precondition, preconditionFailed } from '../../runtime/http/preconditions.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { names } from '../record/names.ts';
import { claimOfChange } from '../record/requester.ts';
import type { Change } from './patch.ts';
import { notFound } from './reading.ts';
import { createValuesSecret, removeVariables } from './secret-values.ts';

export interface ChangeOptions extends Pick<FacadeContext, 'remember' | 'forget' | 'randomSuffix' | 'log'> {
  readonly precondition?: Precondition | undefined;
  /** Nothing is kept: the result is the record as it would be. */
  readonly isDryRun?: boolean;
}

/** Computes a change of the current record. Called again after a conflict. */
export type Decide = (record: AppDeployment, secretName: string) => Promise<Change> | Change;

export interface Changed {
  readonly record: AppDeployment;
  /** The values of the change by name. */
  readonly values: ReadonlyMap<string, string>;
  readonly warnings: readonly FieldError[];
}

interface Kept {
  readonly secret: KubeObject;
  readonly values: ReadonlyMap<string, string>;
}

/** `cached` may be outdated: the API server confirms each result, also that nothing changes. */
export async function changeRecord(
  caller: Caller,
  cached: AppDeployment,
  decide: Decide,
  options: ChangeOptions,
): Promise<Changed> {
  const { remember, randomSuffix, log, precondition, isDryRun } = options;
  const { namespace = '', name } = cached.metadata;
  const newName = (): string => names(name).variables(randomSuffix());
  let secretName = newName();
  let kept: Kept | undefined;

  async function takeBack(): Promise<void> {
    if (kept === undefined) return;
    await removeVariables(caller, kept.secret, log);
    kept = undefined;
    secretName = newName();
  }

  async function attempt(record: AppDeployment): Promise<Changed> {
    if (precondition !== undefined) needUnchanged(record, cached, precondition);
    refuseChange(record);
    let change = await decide(record, secretName);
    if (kept !== undefined && !isDeepStrictEqual(kept.values, change.values)) {
      await takeBack();
      change = await decide(record, secretName);
    }
    const { spec, values, labels, annotations, warnings = [], findings = [] } = change;
    const { metadata, ...changed } = patchTo(record, spec);
    const claim =
      'spec' in changed && caller.username !== undefined ? claimOfChange(record, caller.username) : undefined;
    const marks = annotations || claim ? { annotations: { ...annotations, ...claim } } : {};
    const patch = { metadata: { ...metadata, ...marks, ...(labels && { labels }) }, ...changed };
    const changes = 'spec' in patch || labels !== undefined || annotations !== undefined;
    const write = (dryRun: boolean): Promise<AppDeployment> =>
      caller.kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
        fieldManager: FACADE_FIELD_MANAGER,
        ...(dryRun && { dryRun }),
      });
    if (findings.length > 0) throw await refusal(findings, () => write(true));
    if (isDryRun) return { record: await write(true), values, warnings };
    const lacksSecret = values.size > 0 && kept === undefined;
    // A rejected change must leave no Secret behind. If nothing changes, the dry run confirms that the record is current and
    // that the caller may change it.
    if (lacksSecret || !changes) await write(true);
    if (!changes) return { record, values, warnings };
    if (lacksSecret)
      kept = { secret: await createValuesSecret(caller, { namespace, name: secretName }, name, values), values };
    const written = await write(false);
    kept = undefined;
    remember(written);
    return { record: written, values, warnings };
  }

  try {
    const concerning = { ...options, missing: () => notFound(cached.metadata.uid ?? '') };
    return await changeObject(caller, [APP_DEPLOYMENTS, `Deployment "${name}"`], cached, attempt, concerning);
  } catch (error) {
    // Without an answer the record may have been written, and then needs its Secret.
    if (!(error instanceof Unavailable)) await takeBack();
    throw error;
  }
}

/** Throws HttpError 412 if the caller has read another version. For the cached record it throws Conflict, so that it is read again. */
export function needUnchanged(record: AppDeployment, cached: AppDeployment, precondition: Precondition): void {
  if (precondition(record)) return;
  const what = `Deployment "${record.metadata.name}"`;
  if (record === cached) throw new Conflict(`${what}: the cache has another version than If-Match`);
  throw preconditionFailed(what, record);
}

/** Throws HttpError 409 for one that is being deleted. */
export function refuseChange({ metadata }: AppDeployment): void {
  if (metadata.deletionTimestamp === undefined) return;
  throw new HttpError(409, `Deployment "${metadata.name}" is being deleted and can no longer be changed.`);
}
