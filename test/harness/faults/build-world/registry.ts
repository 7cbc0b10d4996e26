// The registry, which looks at the credential of every push and pull, and the images that it is given.

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { registryGrant } from '../../../../src/build/registry/registry-grant.ts';
import type { Ailments } from './ailments.ts';

/** An image that was pushed, and what it was made from. */
export interface MadeImage {
  readonly revision: string;
  /** Without the registry's host. */
  readonly repository: string;
  readonly source: string;
  readonly digest: string;
}

export const REGISTRY_HOST = 'builds.example';

/** The digest of what is built for a deployment from a commit or an upload: the same whoever builds it, and whenever. */
export function digestOf(deployment: string, source: string): string {
  return `sha256:${createHash('sha256').update(`${deployment} ${source}`).digest('hex')}`;
}

/** `key` signs credentials. Those that are not as they should be are put into `wrong`. */
export function imageRegistry(
  ailments: Ailments,
  key: () => Promise<Buffer>,
  wrong: string[],
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const body = await text(request);
    if (await ailments.meet(ailments.ails.registry, request, response)) return;
    const [, repository = ''] = /^\/v2\/(.+)\/manifests\//.exec(request.url ?? '') ?? [];
    const action = request.method === 'PUT' ? 'push' : 'pull';
    const problem = misgranted(await key(), repository, action, request.headers.authorization ?? '');
    if (problem !== undefined) {
      wrong.push(problem);
      return void response.writeHead(403).end();
    }
    response.writeHead(action === 'push' ? 201 : 200).end(body);
  };
}

/** A credential is for one repository, for one thing, and for not much longer than the build may take. */
function misgranted(key: Buffer, repository: string, action: string, authorization: string): string | undefined {
  const [, ...password] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
  // By no clock: the controller's may be an hour off.
  const grant = registryGrant(key, password.join(':'), new Date(0));
  if (!grant) return `${action} of ${repository} with no credential of the registry`;
  if (grant.repository !== repository) return `${action} of ${repository} with a credential for ${grant.repository}`;
  if (action === 'pull' && grant.actions.includes('push')) return `the source of ${repository} could be pushed`;
  const hours = (grant.expires * 1000 - Date.now()) / 3_600_000;
  return hours > 3 ? `a credential of ${repository} is good for ${Math.round(hours)} hours` : undefined;
}
