// Against a server of our own, for what a real API server does only on bad days.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { Gone, Unauthorized, Unavailable } from '../errors.ts';
import { CONFIG_MAPS, NAMESPACES, PODS, SECRETS } from './api-resources.ts';
import type { WatchEvent } from './client.ts';
import { type ClusterAccess, inClusterAccess, loadKubeConfigFile } from './config.ts';
import { type HttpKubeClient, makeKubeClient } from './http-client.ts';
import type { RequestReport } from './requests.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Answer = (response: ServerResponse, seen: Seen, request: IncomingMessage) => void;

async function listen(server: Server, answer: Answer): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      seen.push(one);
      answer(response, one, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

function accessTo(server: string, token = 'ours'): ClusterAccess {
  return {
    server,
    credentials: async () => ({ headers: { authorization: `Bearer ${token}` }, tls: {} }),
    refresh() {},
  };
}

function aClient(access: ClusterAccess, requestTimeoutMs = 2000): { client: HttpKubeClient; reports: RequestReport[] } {
  const reports: RequestReport[] = [];
  const onRequest = (report: RequestReport): void => void reports.push(report);
  const client = makeKubeClient({ access, userAgent: 'davit/test', requestTimeoutMs, onRequest });
  cleanups.push(() => client.close());
  return { client, reports };
}

async function against(answer: Answer, requestTimeoutMs?: number) {
  const { port, seen } = await listen(createServer(), answer);
  return { seen, ...aClient(accessTo(`http://127.0.0.1:${port}/prefix`), requestTimeoutMs) };
}

function json(response: ServerResponse, code: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 't1', name: 'x' }, data: { a: '1' } };
const busy = { kind: 'Status', code: 429, message: 'busy' };

describe('requests', () => {
  it.each([
    {
      name: 'get',
      send: (client: HttpKubeClient) => client.get(CONFIG_MAPS, { namespace: 't1', name: 'x' }),
      want: ['GET', '/prefix/api/v1/namespaces/t1/configmaps/x', undefined, ''],
    },
    {
      name: 'create',
      send: (client: HttpKubeClient) =>
        client.create(CONFIG_MAPS, configMap, { fieldManager: 'm', dryRun: true, strict: true }),
      want: [
        'POST',
        '/prefix/api/v1/namespaces/t1/configmaps?fieldManager=m&dryRun=All&fieldValidation=Strict',
        'application/json',
        JSON.stringify(configMap),
      ],
    },
    {
      name: 'apply',
      send: (client: HttpKubeClient) =>
        client.apply(CONFIG_MAPS, configMap, { fieldManager: 'm', force: true, subresource: 'status' }),
      want: [
        'PATCH',
        '/prefix/api/v1/namespaces/t1/configmaps/x/status?fieldManager=m&force=true',
        'application/apply-patch+yaml',
        JSON.stringify(configMap),
      ],
    },
    {
      name: 'merge patch',
      send: (client: HttpKubeClient) => client.mergePatch(NAMESPACES, { name: 't1' }, { a: 1 }),
      want: ['PATCH', '/prefix/api/v1/namespaces/t1', 'application/merge-patch+json', '{"a":1}'],
    },
    {
      name: 'json patch',
      send: (client: HttpKubeClient) => client.jsonPatch(NAMESPACES, { name: 't1' }, []),
      want: ['PATCH', '/prefix/api/v1/namespaces/t1', 'application/json-patch+json', '[]'],
    },
    {
      name: 'remove',
      send: (client: HttpKubeClient) => client.remove(PODS, { namespace: 't1', name: 'p' }, { uid: 'u' }),
      want: [
        'DELETE',
        '/prefix/api/v1/namespaces/t1/pods/p',
        'application/json',
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}}',
      ],
    },
    {
      name: 'remove, as a dry run',
      send: (client: HttpKubeClient) => client.remove(PODS, { namespace: 't1', name: 'p' }, { uid: 'u', dryRun: true }),
      want: [
        'DELETE',
        '/prefix/api/v1/namespaces/t1/pods/p',
        'application/json',
        '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"dryRun":["All"]}',
      ],
    },
  ])('$name', async ({ send, want }) => {
    const { client, seen } = await against((response) => json(response, 200, configMap));
    await send(client);
    expect(seen.map(({ method, url, headers, body }) => [method, url, headers['content-type'], body])).toEqual([want]);
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer ours', 'user-agent': 'davit/test' });
  });

  it.each(['', '.', '..', 'a/b', 'a%2fb'])('never sends %j as a name', async (name) => {
    const { client, seen } = await against((response) => json(response, 200, configMap));
    await expect(client.get(CONFIG_MAPS, { namespace: 't1', name })).rejects.toThrow('is not a valid name');
    await expect(client.get(CONFIG_MAPS, { namespace: name, name: 'x' })).rejects.toThrow('is not a valid name');
    await expect(client.get(CONFIG_MAPS, { name: 'x' })).rejects.toThrow('no namespace');
    expect(seen).toEqual([]);
  });

  it('follows the pages of a list and names the kind of every item', async () => {
    const { client, seen } = await against((response, { url }) =>
      json(response, 200, {
        metadata: { resourceVersion: '7', ...(url.includes('continue') ? {} : { continue: 'next+/=' }) },
        items: [{ metadata: { name: url.includes('continue') ? 'b' : 'a' } }],
      }),
    );
    const list = await client.listAll(SECRETS, { limit: 1, metadataOnly: true, labelSelector: 'a=b' });
    expect(list.items.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name])).toEqual([
      ['v1', 'Secret', 'a'],
      ['v1', 'Secret', 'b'],
    ]);
    expect(seen.map(({ url }) => url)).toEqual([
      '/prefix/api/v1/secrets?labelSelector=a%3Db&limit=1',
      '/prefix/api/v1/secrets?labelSelector=a%3Db&limit=1&continue=next%2B%2F%3D',
    ]);
    expect(seen[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io');
  });
});

describe('retries', () => {
  it.each([
    { name: 'get', code: 429, tries: 3 },
    { name: 'get', code: 503, tries: 3 },
    { name: 'apply', code: 429, tries: 3 },
    { name: 'create', code: 429, tries: 1 },
    { name: 'replace', code: 503, tries: 1 },
    { name: 'get', code: 500, tries: 1 },
    { name: 'get', code: 404, tries: 1 },
  ])('$name after $code: $tries', async ({ name, code, tries }) => {
    let count = 0;
    const { client, reports } = await against((response) => {
      count += 1;
      if (count < 3) json(response, code, { ...busy, code }, { 'retry-after': '0' });
      else json(response, 200, configMap);
    });
    const sent = {
      get: () => client.get(CONFIG_MAPS, configMap.metadata),
      apply: () => client.apply(CONFIG_MAPS, configMap, { fieldManager: 'm' }),
      create: () => client.create(CONFIG_MAPS, configMap),
      replace: () => client.replace(CONFIG_MAPS, configMap),
    }[name as 'get'];
    if (tries === 1) await expect(sent()).rejects.toThrow('busy');
    else await expect(sent()).resolves.toMatchObject({ kind: 'ConfigMap' });
    expect(count).toBe(tries);
    expect(reports).toHaveLength(1);
  });

  it('takes the first of several Retry-After, as a proxy may add its own', async () => {
    const { client, seen } = await against((response) => {
      if (seen.length === 1) response.setHeader('retry-after', ['0', '60']).writeHead(429).end();
      else json(response, 200, configMap);
    });
    await client.get(CONFIG_MAPS, configMap.metadata);
    expect(seen).toHaveLength(2);
  });

  it('does not wait longer than a caller would like', async () => {
    const { client, seen } = await against((response) => json(response, 429, busy, { 'retry-after': '60' }));
    const error = await client.get(CONFIG_MAPS, configMap.metadata).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'Unavailable', retryAfterMs: 60_000, serverMessage: 'busy' });
    expect(seen).toHaveLength(1);
  });

  it.each([
    { name: 'sends a read again over a new connection', verb: 'get', tries: 2 },
    { name: 'does not send a create again', verb: 'create', tries: 1 },
  ])('$name', async ({ verb, tries }) => {
    const { client, seen } = await against((response, _seen, request) => {
      if (seen.length === 1) request.socket.destroy();
      else json(response, 200, configMap);
    });
    const sent = verb === 'get' ? client.get(CONFIG_MAPS, configMap.metadata) : client.create(CONFIG_MAPS, configMap);
    if (tries === 1) await expect(sent).rejects.toBeInstanceOf(Unavailable);
    else await sent;
    expect(seen).toHaveLength(tries);
  });

  it('gives up after its timeout', async () => {
    const { client, seen } = await against(() => {}, 200);
    await expect(client.get(CONFIG_MAPS, configMap.metadata)).rejects.toThrow('no answer in 200 ms');
    expect(seen).toHaveLength(1);
  });

  it('gives up when its caller does, with the reason of the caller', async () => {
    const { client } = await against(() => {});
    const signal = AbortSignal.timeout(50);
    const error = await client.get(CONFIG_MAPS, configMap.metadata, { signal }).catch((e: unknown) => e);
    expect(error).toBe(signal.reason);
  });

  it.each([
    { name: 'half an answer', body: '{"kind":"Conf' },
    { name: 'no JSON', body: '<html>' },
    { name: 'no object', body: 'null' },
  ])('finds $name Unavailable', async ({ body }) => {
    const { client } = await against((response) => response.writeHead(200).end(body));
    await expect(client.get(CONFIG_MAPS, configMap.metadata)).rejects.toBeInstanceOf(Unavailable);
  });
});

describe('watch', () => {
  async function collect(
    write: (response: ServerResponse) => void,
    options: { idleMs?: number; signal?: AbortSignal; onEvent?: () => void } = {},
  ): Promise<{ events: WatchEvent[]; error: unknown; seen: Seen[] }> {
    const { client, seen } = await against(write);
    const events: WatchEvent[] = [];
    const signal = options.signal ?? new AbortController().signal;
    try {
      const watch = client.watch(PODS, {
        resourceVersion: '5',
        timeoutSeconds: 300,
        idleMs: options.idleMs ?? 2000,
        signal,
      });
      for await (const event of watch) {
        events.push(event);
        options.onEvent?.();
      }
      return { events, error: undefined, seen };
    } catch (error) {
      return { events, error, seen };
    }
  }
  const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'ü', resourceVersion: '6' } };

  it('yields whole lines, however the bytes are cut', async () => {
    const bytes = Buffer.from(line('ADDED', pod) + line('BOOKMARK', pod) + line('DELETED', pod));
    const { events, error, seen } = await collect(async (response) => {
      response.writeHead(200);
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    expect(error).toBeUndefined();
    expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'ü'],
      ['BOOKMARK', 'ü'],
      ['DELETED', 'ü'],
    ]);
    expect(seen[0]?.url).toBe(
      '/prefix/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300',
    );
  });

  it.each([
    { name: 'a broken line', bytes: '{"type":"ADD\n', want: 'Unavailable' },
    { name: 'a line without its end', bytes: line('ADDED', pod).trimEnd(), want: 'Unavailable' },
    { name: 'an unknown type', bytes: line('WHAT', pod), want: 'Unavailable' },
    { name: 'an expired version', bytes: line('ERROR', { code: 410, reason: 'Expired' }), want: 'Gone' },
    { name: 'another error', bytes: line('ERROR', { code: 500 }), want: 'Unavailable' },
  ])('throws for $name after what was whole', async ({ bytes, want }) => {
    const { events, error } = await collect((response) => response.writeHead(200).end(line('ADDED', pod) + bytes));
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({ name: want });
  });

  it('throws for a refusal', async () => {
    const { error } = await collect((response) => json(response, 410, { kind: 'Status', reason: 'Expired' }));
    expect(error).toBeInstanceOf(Gone);
  });

  it('throws for a connection that breaks', async () => {
    const { error, events } = await collect((response) => {
      response.writeHead(200);
      response.write(line('ADDED', pod), () => response.destroy());
    });
    expect(error).toBeInstanceOf(Unavailable);
    expect(events.length).toBeLessThanOrEqual(1);
  });

  it('throws for silence', async () => {
    const { events, error } = await collect(
      (response) => {
        response.writeHead(200);
        let count = 0;
        const timer = setInterval(
          () => (count++ < 4 ? response.write(line('BOOKMARK', pod)) : clearInterval(timer)),
          60,
        );
      },
      { idleMs: 1500 },
    );
    expect(events).toHaveLength(4);
    expect(error).toMatchObject({ name: 'Silent', message: 'watch pods: no data for 1500 ms' });
  });

  it('ends quietly when its signal aborts', async () => {
    const abort = new AbortController();
    const { error, events } = await collect(
      (response) => {
        response.writeHead(200);
        response.write(line('ADDED', pod));
      },
      // Later than the event, while the watch waits for the next one.
      { signal: abort.signal, onEvent: () => setTimeout(() => abort.abort(), 30) },
    );
    expect(error).toBeUndefined();
    expect(events).toHaveLength(1);
  });
});

describe('credentials', () => {
  it('reads a rotated token when the old one is refused', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'davit-'));
    for (const [file, text] of Object.entries({ token: 'old\n', 'ca.crt': 'ca', namespace: 'davit-system\n' })) {
      writeFileSync(join(directory, file), text);
    }
    const { port, seen } = await listen(createServer(), (response, { headers }) => {
      if (headers.authorization === 'Bearer new') json(response, 200, configMap);
      else json(response, 401, { kind: 'Status', reason: 'Unauthorized' });
    });
    const access = await inClusterAccess({ host: '127.0.0.1', port, directory });
    expect(access).toMatchObject({ server: `https://127.0.0.1:${port}`, namespace: 'davit-system' });
    const { client } = aClient({ ...access, server: `http://127.0.0.1:${port}` });
    await expect(client.get(CONFIG_MAPS, configMap.metadata)).rejects.toBeInstanceOf(Unauthorized);
    writeFileSync(join(directory, 'token'), 'new\n');
    await client.create(CONFIG_MAPS, configMap);
    expect(seen.at(-1)?.headers.authorization).toBe('Bearer new');
    await expect(client.withToken('theirs').get(CONFIG_MAPS, configMap.metadata)).rejects.toBeInstanceOf(Unauthorized);
    expect(seen.at(-1)?.headers.authorization).toBe('Bearer theirs');
  });

  it('reports a certificate that cannot be parsed as a server that cannot be reached', async () => {
    const access = accessTo('https://127.0.0.1:1');
    const credentials: ClusterAccess['credentials'] = async () => ({
      headers: {},
      tls: { ca: 'half', cert: 'half', key: 'half' },
    });
    const { client } = aClient({ ...access, credentials });
    await expect(client.get(CONFIG_MAPS, configMap.metadata)).rejects.toBeInstanceOf(Unavailable);
  });

  it("never shows the client certificate with somebody else's token", async () => {
    const directory = mkdtempSync(join(tmpdir(), 'davit-tls-'));
    const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
    const selfSigned = (name: string): void =>
      void openssl(
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.crt`,
        '-subj',
        `/CN=${name}`,
        '-addext',
        'subjectAltName=IP:127.0.0.1',
      );
    selfSigned('server');
    selfSigned('client');
    selfSigned('rotated');
    const read = (file: string): string => readFileSync(join(directory, file), 'utf8');
    const peers: string[] = [];
    const server = createTlsServer({
      key: read('server.key'),
      cert: read('server.crt'),
      ca: [read('client.crt'), read('rotated.crt')],
      requestCert: true,
      rejectUnauthorized: false,
    });
    const { port, seen } = await listen(server, (response, { headers }, request) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      peers.push(`${headers.authorization ?? '-'} ${[peer?.subject?.CN ?? '-'].flat().join()}`);
      response.end(`${JSON.stringify({ ...configMap, type: 'ADDED', object: configMap })}\n`);
    });
    const user = (name: string): object => ({
      name: 'u',
      user: { 'client-certificate': `${name}.crt`, 'client-key': `${name}.key` },
    });
    writeFileSync(
      join(directory, 'kubeconfig'),
      JSON.stringify({
        clusters: [
          { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': 'server.crt' } },
        ],
        users: [user('client')],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'mine' } }],
        'current-context': 'x',
      }),
    );
    const access = await loadKubeConfigFile({ path: join(directory, 'kubeconfig'), context: 'x' });
    expect(access.namespace).toBe('mine');
    const { client } = aClient(access);
    const get = (one: Pick<HttpKubeClient, 'get'>): Promise<unknown> => one.get(CONFIG_MAPS, configMap.metadata);
    await get(client);
    await get(client.withToken('t'));
    await get(client);
    for await (const _ of client.withToken('t').watch(PODS, {
      resourceVersion: '1',
      timeoutSeconds: 1,
      idleMs: 1000,
      signal: AbortSignal.timeout(1000),
    })) {
      break;
    }
    expect(peers).toEqual(['- client', 'Bearer t -', '- client', 'Bearer t -']);
    expect(seen).toHaveLength(4);
    // Rotation: the same files with other contents.
    for (const part of ['crt', 'key']) writeFileSync(join(directory, `client.${part}`), read(`rotated.${part}`));
    access.refresh();
    await get(client);
    expect(peers.at(-1)).toBe('- rotated');
  });

  it('keeps its connections for the next request', async () => {
    const server = createServer();
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const { port } = await listen(server, (response) => json(response, 200, configMap));
    const { client } = aClient(accessTo(`http://127.0.0.1:${port}`));
    for (let i = 0; i < 20; i++) await client.withToken(`t${i}`).get(CONFIG_MAPS, configMap.metadata);
    // The second is opened when a request comes before the first one's socket is free again.
    expect(connections).toBeLessThanOrEqual(2);
  });
});
