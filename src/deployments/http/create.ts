// Creates a record with the caller's token, and the Secret of its values before it; also one that is what another one is.

import { AlreadyExists, Unavailable } from '../../lib/errors.ts';
import { HttpError } from '../../lib/http/http-error.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import type { RequestContext } from '../../organization/facade/auth.ts';
import type { Caller } from '../../organization/facade/authorization.ts';
import { synced } from '../../organization/facade/caches.ts';
import type { FacadeContext } from '../../organization/facade/collection.ts';
import { undefinedIfHidden } from '../../organization/facade/undefined-if-hidden.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../schema/app-deployment.ts';
import { FACADE_FIELD_MANAGER } from '../../schema/meta.ts';
import { type CloneRequest, cloneOf } from '../record/clone.ts';
import { names } from '../record/names.ts';
import { claimOfCreation } from '../record/requester.ts';
import { needListener } from './listener-rules.ts';
import type { CreateDeployment } from './payloads.ts';
import { type Checking, findingsOfNew } from './platform-checks.ts';
import { cachedRevisions, findRecord, type Reading } from './reading.ts';
import { isMadeBy, type RequestMark } from './repeated-create.ts';
import { toResource } from './resource.ts';
import { createValuesSecret, removeVariables } from './secret-values.ts';

export type Creating = Checking & Reading & Pick<FacadeContext, 'randomSuffix' | 'gate' | 'log'>;

export interface Created {
  readonly record: AppDeployment;
  readonly isNew: boolean;
}

interface New {
  readonly record: AppDeployment;
  /** Made before it. Absent where it names only what is there. */
  readonly secret?: { readonly name: string; readonly values: ReadonlyMap<string, string> };
}

/** `mark` is set on the record. If a record with it exists, that record is the result, and `isNew` is false. */
export function createRecord(
  creating: Creating,
  admitted: RequestContext,
  payload: CreateDeployment,
  mark?: RequestMark,
): Promise<Created> {
  const secretName = names(payload.name).variables(creating.randomSuffix());
  return unlessMade(creating, admitted, mark, () => ({
    record: toResource(payload, admitted.tenant.namespace, secretName),
    ...(payload.secrets.length > 0 && {
      secret: { name: secretName, values: new Map(payload.secrets.map(({ name, value }) => [name, value])) },
    }),
  }));
}

/**
 * The same for one that is what the record of `id` is. It names the same Secrets of values, which nobody changes; the API server asks
 * whether the caller may read them. Throws HttpError 409 where it cannot be.
 */
export async function cloneRecord(
  creating: Creating,
  admitted: RequestContext,
  id: string,
  request: CloneRequest,
  mark?: RequestMark,
): Promise<Created & { readonly notes: readonly string[] }> {
  const origin = await findRecord(creating, admitted, id);
  const clone = cloneOf(origin, cachedRevisions(creating, origin), request, new Date());
  const created = await unlessMade(creating, admitted, mark, () => {
    if ('refused' in clone) throw new HttpError(409, clone.refused);
    return { record: clone.record };
  });
  return { ...created, notes: 'notes' in clone ? clone.notes : [] };
}

async function unlessMade(
  creating: Creating,
  { caller, tenant }: RequestContext,
  mark: RequestMark | undefined,
  make: () => New,
): Promise<Created> {
  const { caches, settings, gate } = creating;
  const { namespace } = tenant;
  const isRepeated = (record: AppDeployment): boolean => mark !== undefined && isMadeBy(record, mark);
  const earlier = mark && synced(caches.records, 'deployments').list(namespace).find(isRepeated);
  if (earlier !== undefined) return { record: earlier, isNew: false };
  const { record: wanted, ...more } = make();
  const { name } = wanted.metadata;
  needListener(wanted.spec, settings.hosting);
  const claim = caller.username === undefined ? undefined : claimOfCreation(caller.username);
  const annotations = { ...mark, ...claim };
  const record = mark || claim ? { ...wanted, metadata: { ...wanted.metadata, annotations } } : wanted;
  const findings = await findingsOfNew(creating, record, tenant.id);
  if (findings.length > 0) throw new HttpError(422, findings);
  try {
    const made = await gate.run(namespace, () => writeNew(creating, caller, { record, ...more }));
    return { record: made, isNew: true };
  } catch (error) {
    // The cache may not contain yet what a concurrent request, or another replica, has created.
    if (mark === undefined || !(error instanceof HttpError) || error.status !== 409) throw error;
    const taken = await undefinedIfHidden(() => caller.kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }));
    if (taken === undefined || !isRepeated(taken)) throw error;
    creating.remember(taken);
    return { record: taken, isNew: false };
  }
}

async function writeNew({ remember, log }: Creating, caller: Caller, { record, secret }: New): Promise<AppDeployment> {
  const { name, namespace = '' } = record.metadata;
  const write = async (dryRun: boolean): Promise<AppDeployment> => {
    try {
      const writing = { fieldManager: FACADE_FIELD_MANAGER, ...(dryRun && { dryRun }) };
      return await caller.kube.create(APP_DEPLOYMENTS, record, writing);
    } catch (error) {
      throw await explained(error, caller, record);
    }
  };
  let kept: KubeObject | undefined;
  if (secret !== undefined) {
    // A rejected record must leave no Secret behind. Without a Secret the creation itself needs no dry run.
    await write(true);
    kept = await createValuesSecret(caller, { namespace, name: secret.name }, name, secret.values);
  }
  try {
    const made = await write(false);
    remember(made);
    return made;
  } catch (error) {
    // Without an answer the record may have been created, and then needs its Secret.
    if (kept !== undefined && !(error instanceof Unavailable)) await removeVariables(caller, kept, log);
    throw error;
  }
}

/** Replaces the API server's message for a taken name. Returns other errors unchanged. */
async function explained(error: unknown, caller: Caller, { metadata }: AppDeployment): Promise<unknown> {
  if (!(error instanceof AlreadyExists)) return error;
  const { namespace = '', name } = metadata;
  const taken = await undefinedIfHidden(() =>
    caller.kube.get(APP_DEPLOYMENTS, { namespace, name }, { metadataOnly: true }),
  ).catch(() => undefined);
  const leaving =
    taken?.metadata.deletionTimestamp === undefined
      ? ''
      : ' It is being deleted, and its name is free again when it is gone.';
  return new HttpError(409, `A deployment named "${name}" already exists.${leaving}`);
}
