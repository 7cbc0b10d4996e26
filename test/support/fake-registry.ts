// A registry over HTTP, as much of it as Davit uses (OCI Distribution Specification 1.1), in the memory of a test. It verifies
// tokens by public keys, as CNCF Distribution does, and fails as it is told.

import { createHash, createPublicKey, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Takes over one request; false leaves it to the registry. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean | undefined;

export interface FakeRegistry {
  /** 127.0.0.1:PORT. */
  readonly host: string;
  readonly origin: string;
  /** By `REPOSITORY@DIGEST`. */
  readonly blobs: Map<string, Buffer>;
  /** By `REPOSITORY:TAG` and `REPOSITORY@DIGEST`. */
  readonly manifests: Map<string, { readonly type: string; readonly body: Buffer }>;
  /** `METHOD /path` of each request. */
  readonly seen: string[];
  /** Uploads that have begun and have not ended. */
  readonly open: Set<string>;
  /** JSON Web Key Set that tokens are verified by; undefined: everybody may do everything. */
  keys: (() => Promise<string>) | undefined;
  /** A user and password that Basic is asked for. */
  basic: string | undefined;
  fault: Fault | undefined;
  /** Puts a manifest there; answers with its digest. */
  put(repository: string, tag: string, manifest?: object): string;
  close(): Promise<void>;
}

export async function startFakeRegistry(): Promise<FakeRegistry> {
  let uploads = 0;
  const parts = new Map<string, Buffer>();

  async function isAllowed(authorization: string | undefined, resource: string, action: string): Promise<boolean> {
    if (registry.basic !== undefined)
      return authorization === `Basic ${Buffer.from(registry.basic).toString('base64')}`;
    if (registry.keys === undefined) return true;
    const [header = '', claims = '', signature = ''] = (authorization ?? '').replace(/^Bearer /, '').split('.');
    const decoded = (part: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(part, 'base64url').toString() || '{}') as Record<string, unknown>;
    const { keys } = JSON.parse(await registry.keys()) as { keys: { kid: string }[] };
    const jwk = keys.find(({ kid }) => kid === decoded(header)['kid']);
    if (jwk === undefined) return false;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const bytes = Buffer.from(signature, 'base64url');
    if (!verify('sha256', Buffer.from(`${header}.${claims}`), { key, dsaEncoding: 'ieee-p1363' }, bytes)) return false;
    const access = decoded(claims)['access'] as { type: string; name: string; actions: string[] }[];
    return access.some(
      ({ type, name, actions }) =>
        `${type}:${name}` === resource && (actions.includes(action) || actions.includes('*')),
    );
  }

  const digestOf = (body: Buffer): string => `sha256:${createHash('sha256').update(body).digest('hex')}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { method = 'GET' } = request;
    const url = new URL(request.url ?? '/', registry.origin);
    registry.seen.push(`${method} ${url.pathname}`);
    if (registry.fault?.(request, response) === true) return undefined;
    const [, repository = '', kind, reference = ''] =
      /^\/v2\/(.+?)\/(blobs\/uploads|blobs|manifests|tags)\/(.*)$/.exec(url.pathname) ?? [];
    const action =
      { GET: 'pull', HEAD: 'pull', DELETE: kind === 'blobs/uploads' ? 'push' : 'delete' }[method] ?? 'push';
    const isCatalog = url.pathname === '/v2/_catalog';
    const resource = isCatalog ? 'registry:catalog' : `repository:${repository}`;
    if (!(await isAllowed(request.headers.authorization, resource, isCatalog ? '*' : action))) {
      const how = registry.basic === undefined ? 'Bearer realm="https://nowhere.example/token"' : 'Basic realm="x"';
      response.setHeader('www-authenticate', how);
      return response.writeHead(401).end('{"errors":[]}');
    }
    if (isCatalog) {
      const names = [...registry.manifests.keys()].map((name) => name.replace(/[:@].*$/, ''));
      return response.writeHead(200).end(JSON.stringify({ repositories: [...new Set(names)] }));
    }
    if (kind === 'blobs/uploads') return upload(request, response, url, repository, reference);
    if (kind === 'manifests') return manifest(request, response, repository, reference);
    if (kind === 'tags') {
      const tags = [...registry.manifests.keys()].flatMap((name) =>
        name.startsWith(`${repository}:`) ? [name.slice(repository.length + 1)] : [],
      );
      // As Distribution does: by name, at most a thousand at once.
      const most = Math.min(Number(url.searchParams.get('n') ?? 1000), 1000);
      const rest = tags.toSorted().filter((tag) => tag > (url.searchParams.get('last') ?? ''));
      const page = rest.slice(0, most);
      if (page.length === most)
        response.setHeader('link', `<${url.pathname}?n=${most}&last=${page.at(-1) ?? ''}>; rel="next"`);
      return response.writeHead(200).end(JSON.stringify({ name: repository, tags: page }));
    }
    const blob = registry.blobs.get(`${repository}@${reference}`);
    if (blob === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-length': blob.length }).end(blob);
  }

  async function upload(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    repository: string,
    id: string,
  ): Promise<unknown> {
    const { method } = request;
    const location = (of: string): string => `/v2/${repository}/blobs/uploads/${of}?state=${of}`;
    if (method === 'POST') {
      uploads += 1;
      const begun = `upload-${uploads}`;
      registry.open.add(begun);
      return response.writeHead(202, { location: location(begun) }).end();
    }
    if (!registry.open.has(id)) return response.writeHead(404).end();
    if (method === 'PATCH') {
      parts.set(id, Buffer.concat([parts.get(id) ?? Buffer.alloc(0), await buffer(request)]));
      return response.writeHead(202, { location: location(id) }).end();
    }
    const body = parts.get(id) ?? Buffer.alloc(0);
    parts.delete(id);
    registry.open.delete(id);
    if (method === 'DELETE') return response.writeHead(204).end();
    const digest = url.searchParams.get('digest') ?? '';
    if (digest !== digestOf(body)) return response.writeHead(400).end('{"errors":[{"code":"DIGEST_INVALID"}]}');
    registry.blobs.set(`${repository}@${digest}`, body);
    return response.writeHead(201).end();
  }

  async function manifest(
    request: IncomingMessage,
    response: ServerResponse,
    repository: string,
    reference: string,
  ): Promise<unknown> {
    const name = `${repository}${reference.startsWith('sha256:') ? '@' : ':'}${reference}`;
    if (request.method === 'PUT') {
      const body = await buffer(request);
      const { config, layers } = JSON.parse(body.toString()) as { config?: Layer; layers: Layer[] };
      for (const { digest } of [...(config ? [config] : []), ...layers])
        if (!registry.blobs.has(`${repository}@${digest}`)) return response.writeHead(404).end('{"errors":[]}');
      const stored = { type: request.headers['content-type'] ?? '', body };
      registry.manifests.set(name, stored);
      registry.manifests.set(`${repository}@${digestOf(body)}`, stored);
      return response.writeHead(201, { 'docker-content-digest': digestOf(body) }).end();
    }
    const found = registry.manifests.get(name);
    if (found === undefined) return response.writeHead(404).end();
    if (request.method === 'DELETE') {
      registry.manifests.delete(name);
      return response.writeHead(202).end();
    }
    const headers = { 'content-type': found.type, 'docker-content-digest': digestOf(found.body) };
    return response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : found.body);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const registry: FakeRegistry = {
    host: `127.0.0.1:${port}`,
    origin: `http://127.0.0.1:${port}`,
    blobs: new Map(),
    manifests: new Map(),
    seen: [],
    open: new Set(),
    keys: undefined,
    basic: undefined,
    fault: undefined,
    put(repository, tag, content = { schemaVersion: 2, layers: [] }) {
      const body = Buffer.from(JSON.stringify(content));
      const stored = { type: 'application/vnd.oci.image.manifest.v1+json', body };
      registry.manifests.set(`${repository}:${tag}`, stored);
      registry.manifests.set(`${repository}@${digestOf(body)}`, stored);
      return digestOf(body);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return registry;
}

interface Layer {
  readonly digest: string;
}
