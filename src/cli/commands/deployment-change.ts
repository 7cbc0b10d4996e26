// Changes a deployment over the HTTP API from what it has now, and says which revision takes the change.

import type { Deployment } from '../../deploy/http/payloads.ts';
import type { Change } from '../line/interruption.ts';
import { PROGRAM } from '../line/program.ts';
import { type HttpApi, Refused } from '../transport/http-api.ts';
import { needDeployment, readRevision } from './build-log.ts';

/** An answer to a change: with what is worth a warning. */
export interface Warned extends Deployment {
  readonly warnings?: readonly { readonly msg: string }[];
}

export interface Changed {
  readonly before: Deployment;
  readonly after: Deployment;
  /** Name of the revision that takes the change; null where no revision is made. */
  readonly revision: string | null;
}

/** What an interruption of a change says. */
export const CHANGES: Change = {
  nothing: 'Nothing was changed.',
  sent: ([name = '']) => `The change was made. To follow it: ${PROGRAM} wait ${name}`,
};

/** Attempts after changes by other people. */
const ATTEMPTS = 5;

/**
 * Sends what `patchOf` makes of the deployment as it is, again after somebody else's change. Undefined: nothing changes. Throws Failure,
 * also for a name that does not exist.
 */
export async function changeDeployment(
  api: HttpApi,
  name: string,
  patchOf: (now: Deployment) => object | undefined,
): Promise<Changed> {
  const { id } = await needDeployment(api, name);
  const path = `/v2/deployments/${id}?secrets=names`;
  return afterOthers(async () => {
    const { body: before, etag } = await api.tagged<Deployment>(path);
    const patch = patchOf(before);
    if (patch === undefined) return { before, after: before, revision: null };
    const after = await api.call<Deployment>('PATCH', path, patch, etag);
    return { before, after, revision: await newRevision(api, before, after) };
  });
}

/** Calls `write` again while somebody else has changed the deployment since `write` read it. */
export async function afterOthers<T>(write: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await write();
    } catch (error) {
      if (attempts === ATTEMPTS || !(error instanceof Refused) || error.status !== 412) throw error;
    }
  }
}

/** Name of the revision that the change from `before` to `after` makes; null if it makes none. */
export async function newRevision(api: HttpApi, before: Deployment, after: Deployment): Promise<string | null> {
  const { latest_revision_id: latest } = after;
  return latest === null || latest === before.latest_revision_id ? null : nameOfNewest(api, after, latest);
}

/** Name of the newest revision. */
export async function nameOfNewest(api: HttpApi, { id }: Deployment, newest: string): Promise<string> {
  return (await readRevision(api, id, newest)).name;
}
