// A code host of ours: a real HTTPS server that speaks as much of GitHub's and Gitea's published APIs as is used, with
// their paging, headers and limits, and with whatever goes wrong on the way.

import { createVerify, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeAuthority } from '../../cluster/certificates.ts';
import { close } from '../../support/http-servers.ts';

export const TOKEN = 'token-canary-1f2e';
export const APP = { id: 7, installationId: 70 } as const;
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const PRIVATE_KEY = keys.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();

export interface HostedRepository {
  readonly id: number;
  readonly name: string;
  readonly owner: { readonly login: string };
  readonly html_url: string;
  readonly default_branch: string;
  readonly archived: boolean;
  readonly disabled?: boolean;
  readonly empty?: boolean;
}

/** Takes over one request; false leaves it to the host. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | undefined;

export interface Host {
  readonly name: string;
  readonly port: number;
  readonly ca: string;
  readonly github: string;
  readonly gitea: string;
  repositories: HostedRepository[];
  /** Gitea's MAX_RESPONSE_ITEMS. */
  most: number;
  /** Gitea's X-Total-Count; some proxies take it away. */
  total: boolean;
  /** Asked first, for each request. */
  fault: Fault | undefined;
  /** `GET /user/repos?page=1`, in order. */
  readonly seen: string[];
  /** The Authorization header of each. */
  readonly authorizations: (string | undefined)[];
  mostAtOnce: number;
  close(): Promise<void>;
}

export function aRepository(id: number, more: Partial<HostedRepository> = {}): HostedRepository {
  const name = more.name ?? `repo-${String(id).padStart(4, '0')}`;
  const owner = more.owner ?? { login: 'team' };
  return {
    id,
    name,
    owner,
    html_url: `https://code.example/${owner.login}/${name}`,
    default_branch: 'main',
    archived: false,
    disabled: false,
    ...more,
  };
}

export async function startHost(name = 'code.example'): Promise<Host> {
  const authority = makeAuthority('code host');
  const { certificate, key } = authority.serving(name, [name, 'localhost', '127.0.0.1']);
  let atOnce = 0;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    host.seen.push(`${request.method} ${request.url}`);
    host.authorizations.push(request.headers.authorization);
    atOnce += 1;
    host.mostAtOnce = Math.max(host.mostAtOnce, atOnce);
    response.on('close', () => (atOnce -= 1));
    if (host.fault?.(request, response) === true) return;
    // So that requests that are sent together are also there together.
    setTimeout(() => answer(host, request, response), 2);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const host: Host = {
    name,
    port,
    ca: authority.certificate,
    github: `https://${name}:${port}/api/v3`,
    gitea: `https://${name}:${port}/api/v1`,
    repositories: [],
    most: 50,
    total: true,
    fault: undefined,
    seen: [],
    authorizations: [],
    mostAtOnce: 0,
    close: () => close(server),
  };
  return host;
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
  return true;
}

function answer(host: Host, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', `https://${host.name}:${host.port}`);
  if (url.pathname.startsWith('/api/v3/')) gitHub(host, request, response, url);
  else if (url.pathname.startsWith('/api/v1/')) gitea(host, request, response, url);
  else json(response, 404, { message: 'Not Found' });
}

function gitHub(host: Host, request: IncomingMessage, response: ServerResponse, url: URL): true {
  const limits = { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4990', 'x-ratelimit-reset': '1767225600' };
  const path = url.pathname.slice('/api/v3'.length);
  const sent = request.headers.authorization ?? '';
  if (request.method === 'POST' && path === `/app/installations/${APP.installationId}/access_tokens`) {
    if (!isJwtOfApp(sent)) return json(response, 401, { message: 'A JSON web token could not be decoded' }, limits);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    return json(
      response,
      201,
      { token: `ghs_${TOKEN}`, expires_at, permissions: {}, repository_selection: 'all' },
      limits,
    );
  }
  const listings: Readonly<Record<string, string>> = {
    '/user/repos': `token ${TOKEN}`,
    '/installation/repositories': `token ghs_${TOKEN}`,
  };
  const wanted = listings[path];
  if (wanted === undefined) return json(response, 404, { message: 'Not Found' }, limits);
  if (sent !== wanted) return json(response, 401, { message: 'Bad credentials' }, limits);
  const page = Number(url.searchParams.get('page') ?? 1);
  const size = Number(url.searchParams.get('per_page') ?? 30);
  const some = host.repositories.slice((page - 1) * size, page * size);
  const links = linkTo(url, page, Math.ceil(host.repositories.length / size));
  const headers = { ...limits, etag: `W/"${page}-${host.repositories.length}"`, ...(links && { link: links }) };
  if (path === '/user/repos') return json(response, 200, some, headers);
  return json(
    response,
    200,
    { total_count: host.repositories.length, repository_selection: 'all', repositories: some },
    headers,
  );
}

function gitea(host: Host, request: IncomingMessage, response: ServerResponse, url: URL): true {
  if (request.headers.authorization !== `token ${TOKEN}`)
    return json(response, 401, { message: 'user does not exist [uid: 0, name: ]', url: '/api/swagger' });
  if (url.pathname !== '/api/v1/user/repos') return json(response, 404, { message: 'not found' });
  const page = Number(url.searchParams.get('page') ?? 1);
  const size = Math.min(Number(url.searchParams.get('limit') ?? 30), host.most);
  const some = host.repositories.slice((page - 1) * size, page * size).map(({ disabled: _never, ...rest }) => rest);
  const links = linkTo(url, page, Math.ceil(host.repositories.length / size));
  return json(response, 200, some, {
    ...(host.total && { 'x-total-count': String(host.repositories.length) }),
    ...(links && { link: links }),
  });
}

/** RFC 8288, as both hosts write it. */
function linkTo(url: URL, page: number, last: number): string {
  const to = (number: number): string => {
    const target = new URL(url);
    target.searchParams.set('page', String(number));
    return target.href;
  };
  return [
    ...(page > 1 ? [`<${to(page - 1)}>; rel="prev"`] : []),
    ...(page < last ? [`<${to(page + 1)}>; rel="next"`, `<${to(last)}>; rel="last"`] : []),
  ].join(', ');
}

/** RS256, signed by the App's key, of the App, not over yet. */
function isJwtOfApp(authorization: string): boolean {
  const [header = '', claims = '', signature = ''] = authorization.replace(/^bearer /i, '').split('.');
  const verify = createVerify('RSA-SHA256').update(`${header}.${claims}`);
  if (!verify.verify(keys.publicKey, signature, 'base64url')) return false;
  const { iss, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iss: number | string; exp: number };
  return Number(iss) === APP.id && exp * 1000 > Date.now();
}
