// Changes a record under a precondition, with the caller's token: where there are new values a dry run and their Secret,
// then the record. When somebody else was faster the change is made anew of what is there now, so that of two at once neither is lost.

import { isDeepStrictEqual } from 'node:util';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../api/app-deployment.ts';
import { FACADE_FIELD_MANAGER } from '../../api/meta.ts';
import { Conflict, Forbidden, NotFound, Unavailable } from '../../errors.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { Logger } from '../../logger.ts';
import { names } from '../../record/names.ts';
import type { Caller } from '../core/authorization.ts';
import { HttpError } from '../core/http-error.ts';
import type { Change } from './patch.ts';
import { createValuesSecret, removeVariables } from './secret-values.ts';

export interface ChangeOptions {
  readonly remember: (object: KubeObject) => void;
  readonly forget: (uid: string) => void;
  readonly randomSuffix: () => string;
  readonly log: Logger;
}

/** What a change makes of a record as it now stands. Asked again for what a conflict brought to light. */
export type Decide = (record: AppDeployment, secretName: string) => Promise<Change> | Change;

export interface Changed {
  readonly record: AppDeployment;
  /** The values that the change brought, by name. */
  readonly values: ReadonlyMap<string, string>;
}

/** Enough that of two dozen at once each has its turn. */
const ATTEMPTS = 24;

interface Kept {
  readonly secret: KubeObject;
  readonly values: ReadonlyMap<string, string>;
}

/** `cached` may be old: nothing is taken for unchanged that the API server has not confirmed. */
export async function changeRecord(
  caller: Caller,
  cached: AppDeployment,
  decide: Decide,
  options: ChangeOptions,
): Promise<Changed> {
  const { remember, randomSuffix, log } = options;
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
    let change = await decide(record, secretName);
    if (kept !== undefined && !isDeepStrictEqual(kept.values, change.values)) {
      await takeBack();
      change = await decide(record, secretName);
    }
    const { spec, values } = change;
    const patch = patchTo(record, spec);
    const write = (dryRun: boolean): Promise<AppDeployment> =>
      caller.kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
        fieldManager: FACADE_FIELD_MANAGER,
        ...(dryRun && { dryRun }),
      });
    const lacksSecret = values.size > 0 && kept === undefined;
    // Of what is refused no Secret may be left behind. And of no change at all it says whether the record is still as it
    // was, and whether the caller may change it.
    if (lacksSecret || !('spec' in patch)) await write(true);
    if (!('spec' in patch)) return { record, values };
    if (lacksSecret)
      kept = { secret: await createValuesSecret(caller, { namespace, name: secretName }, name, values), values };
    const written = await write(false);
    kept = undefined;
    remember(written);
    return { record: written, values };
  }

  let record = cached;
  try {
    for (let attempts = 1; ; attempts += 1) {
      refuseLeaving(record);
      try {
        // oxlint-disable-next-line no-await-in-loop -- each attempt begins with what the one before found
        return await attempt(record);
      } catch (error) {
        if (!(error instanceof Conflict) || attempts === ATTEMPTS) throw error;
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      record = await reread(caller, record, remember);
    }
  } catch (error) {
    // Without an answer the record may name its Secret, or will.
    if (!(error instanceof Unavailable)) await takeBack();
    if (error instanceof NotFound) {
      options.forget(cached.metadata.uid ?? '');
      throw new HttpError(404, `Deployment ID ${cached.metadata.uid} not found.`);
    }
    if (error instanceof Conflict) throw meanwhile(name);
    throw error;
  }
}

function refuseLeaving({ metadata }: AppDeployment): void {
  if (metadata.deletionTimestamp === undefined) return;
  throw new HttpError(409, `Deployment "${metadata.name}" is being deleted and can no longer be changed.`);
}

function meanwhile(name: string): HttpError {
  return new HttpError(409, `Deployment "${name}" was changed by somebody else meanwhile. Read it and try again.`);
}

async function reread(
  caller: Caller,
  { metadata }: AppDeployment,
  remember: ChangeOptions['remember'],
): Promise<AppDeployment> {
  const { namespace = '', name, uid } = metadata;
  try {
    const record = await caller.kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name });
    if (record.metadata.uid !== uid) throw new NotFound(`get ${name}: another one has taken its place`);
    remember(record);
    return record;
  } catch (error) {
    // One who may write and not read cannot be told what has changed.
    if (error instanceof Forbidden) throw meanwhile(name);
    throw error;
  }
}

interface RecordPatch {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string };
  readonly spec?: unknown;
}

/** The JSON Merge Patch from `record` to one with this spec, refused if the record is not what it was. */
function patchTo({ metadata, spec: before }: AppDeployment, after: AppDeployment['spec']): RecordPatch {
  const { uid, resourceVersion } = metadata;
  const spec = mergePatchBetween(before, after);
  return {
    metadata: { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
    ...(spec !== undefined && { spec }),
  };
}

/** RFC 7386: objects by field, null for what is gone, everything else whole; undefined where nothing differs. */
export function mergePatchBetween(before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (!isObject(before) || !isObject(after)) return after;
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => [field, after[field] === undefined ? null : mergePatchBetween(before[field], after[field])]),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
