// Where published clients of this kind of control plane look for the same routes.

import type { FastifyRequest } from 'fastify';
import { OWN_CLIENT_HEADER } from '../kinds/meta.ts';

/** Answers under it have the words that a deployment was created with (deploy/http/aliases.ts). */
const PREFIX = '/api-host';
const CODE_HOSTS = '/v1/integrations/forge/codehost/';
const ALIASES = ['/v1/integrations/github/', '/v1/integrations/forge/github/'];

/** The URL of the route that `url` means. */
export function routedUrl(url: string, basePath: string): string {
  const base = url.startsWith(`${basePath}/`) ? basePath : '';
  const below = url.slice(base.length);
  const path = below.startsWith(`${PREFIX}/`) ? below.slice(PREFIX.length) : below;
  const alias = ALIASES.find((one) => path.startsWith(one));
  return base + (alias === undefined ? path : CODE_HOSTS + path.slice(alias.length));
}

export function isOfPublishedClient({ originalUrl, headers }: FastifyRequest): boolean {
  return originalUrl.split('?')[0]?.includes(`${PREFIX}/`) === true && headers[OWN_CLIENT_HEADER] === undefined;
}
