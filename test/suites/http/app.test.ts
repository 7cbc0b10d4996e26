// What is around the endpoints: the document, the page, probes, headers, the base path, listening and closing.

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { CreateDeploymentBody, PatchDeploymentBody } from '../../../src/deploy/http/payloads.ts';
import { MOST_WAITING } from '../../../src/deploy/http/waiting.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { aBody, type Facade, makeFacade, TOKEN } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ http: { ...defaultSettings().http, basePath: '/api-host' } });
});

const Document = z.object({
  openapi: z.literal('3.1.0'),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        requestBody: z.object({ required: z.boolean() }).optional(),
        responses: z.record(z.string(), z.unknown()),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.looseObject({})),
    securitySchemes: z.record(z.string(), z.unknown()),
  }),
});

it('serves the JSON Schema of davit.yaml without a token', async () => {
  const answer = await facade.app.inject('/davit.schema.json');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/schema+json']);
  expect(answer.json()).toMatchObject({ title: 'davit.yaml', additionalProperties: false });
});

it('the OpenAPI 3.1 document is valid: every reference resolves, and no name is used twice', async () => {
  const answer = await facade.app.inject('/openapi.json');
  const { servers, paths, components } = Document.parse(answer.json());
  expect(servers).toEqual([{ url: '/api-host' }]);
  expect(
    Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`)),
  ).toEqual([
    'get /v2/deployments',
    'post /v2/deployments',
    'get /v2/deployments/{deployment_id}',
    'patch /v2/deployments/{deployment_id}',
    'delete /v2/deployments/{deployment_id}',
    'get /v2/deployments/{deployment_id}/file',
    'post /v2/deployments/file',
    'post /v2/deployments/{deployment_id}/clone',
    'post /v2/deployments/{deployment_id}/restart',
    'put /v2/deployments/{deployment_id}/secrets/{secret_name}',
    'delete /v2/deployments/{deployment_id}/secrets/{secret_name}',
    'get /v2/deployments/{deployment_id}/revisions',
    'post /v2/deployments/{deployment_id}/revisions',
    'get /v2/deployments/{deployment_id}/revisions/{revision_id}',
    'get /v2/deployments/{deployment_id}/revisions/{revision_id}/diff',
    'get /v2/deployments/{deployment_id}/rollback',
    'post /v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy',
    'post /v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt',
    'get /v2/deployments/{deployment_id}/events',
    'get /v2/deployments/{deployment_id}/usage',
    'get /v2/deployments/{deployment_id}/tasks',
    'post /v2/deployments/{deployment_id}/tasks/{task_name}/runs',
    'post /v2/deployments/{deployment_id}/runs',
    'get /v2/deployments/{deployment_id}/runs/{run_name}',
    'post /v2/deployments/{deployment_id}/operations',
    'get /v2/deployments/{deployment_id}/operations',
    'get /v2/deployments/{deployment_id}/operations/{operation_name}',
    'delete /v2/deployments/{deployment_id}/operations/{operation_name}',
    'get /v2/retained-databases',
    'post /v2/retained-databases/{database_id}/adopt',
    'delete /v2/retained-databases/{database_id}',
    'get /v2/listeners',
    'post /v2/listeners',
    'get /v2/listeners/{listener_id}',
    'patch /v2/listeners/{listener_id}',
    'delete /v2/listeners/{listener_id}',
    'post /v1/projects/{project_id}/deploy_logs',
    'post /v1/projects/{project_id}/revisions/{revision_id}/deploy_logs',
    'post /v1/projects/{project_id}/revisions/{revision_id}/build_logs',
    'get /v2/deployments/{deployment_id}/revisions/{revision_id}/logs',
    'get /v2/deployment-logs',
    'get /v1/integrations/forge/codehost/install',
    'get /v1/integrations/forge/codehost/{integration_id}/repos',
    'post /v2/deployments/{deployment_id}/push-token',
    'post /v2/deployments/{deployment_id}/upload-url',
    'get /v2/auth/providers',
    'post /v2/auth/providers',
    'get /v2/auth/providers/{provider_id}',
    'patch /v2/auth/providers/{provider_id}',
    'delete /v2/auth/providers/{provider_id}',
    'post /v2/auth/authenticate',
    'get /v2/auth/wait/{auth_id}',
    'post /v2/auth/confirm',
    'get /v2/auth/tokens',
    'delete /v2/auth/tokens',
    'get /v2/auth/tokens/exists',
    'get /v2/auth/token-events',
    'patch /v2/auth/tokens/{token_id}/metadata',
    'delete /v2/auth/tokens/{token_id}',
    'get /v2/auth/agents/{agent_id}/connections',
    'post /v2/auth/agents/{agent_id}/connections',
    'delete /v2/auth/agents/{agent_id}/connections/{connection_id}',
    'post /v2/auth/providers/mcp-discover',
    'get /v2/platform',
  ]);
  expect(Object.keys(paths['/v2/deployments']?.['post']?.responses ?? {})).toEqual([
    '201',
    '400',
    '401',
    '403',
    '409',
    '413',
    '415',
    '422',
    '429',
    '500',
    '503',
  ]);
  const revisions = paths['/v2/deployments/{deployment_id}/revisions']?.['post'];
  expect(revisions?.requestBody?.required).toBe(false);
  expect(paths['/v2/deployments']?.['post']?.requestBody?.required).toBe(true);
  const references = [...answer.body.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name ?? '',
  );
  expect([...new Set(references)].toSorted()).toEqual(Object.keys(components.schemas).toSorted());
  expect(answer.body).not.toMatch(/x-kubernetes|\$defs|"\$schema"|"additionalProperties":false/);
  expect(components.schemas['CreateDeployment']).toMatchObject({
    required: ['name', 'source', 'source_config', 'source_revision_config', 'secrets'],
    examples: [{ name: 'shop' }],
  });
});

it("the document's examples of requests match their schemas", () => {
  const shapes = [CreateDeploymentBody, PatchDeploymentBody];
  for (const shape of shapes) {
    const examples = (shape.meta()?.['examples'] ?? []) as readonly unknown[];
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(shape.parse(example)).toEqual(example);
  }
});

it.each(['', '/api-host'])('%s/ lists the documents and endpoints', async (prefix) => {
  const answer = await facade.app.inject(`${prefix}/`);
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    expect.objectContaining({ openapi: `${prefix}/openapi.json` }),
  ]);
  expect((await facade.app.inject(answer.json<{ openapi: string }>().openapi)).statusCode).toBe(200);
});

it("the page's example deployment needs no other object", async () => {
  const { examples } = CreateDeploymentBody.meta() ?? {};
  const [example] = examples as readonly [{ readonly source_revision_config: object }];
  const { status, body } = await facade.call('POST', '/v2/deployments?fieldValidation=Strict', example);
  expect([status, body.secret_references]).toEqual([201, null]);
  // The image of docs/start.md, which anybody can pull.
  const page = readFileSync(join(import.meta.dirname, '../../../docs/start.md'), 'utf8');
  expect(page).toContain(`\`${body.source_revision_config.image_uri}\``);
});

it.each(['/v2/deployments', '/v2/deployments/', '/api-host/v2/deployments', '/api-host/v2/deployments?limit=1'])(
  'answers at %s',
  async (url) => {
    expect((await facade.call('GET', url)).status).toBe(200);
  },
);

describe('headers', () => {
  it.each([
    ['a sane id', 'abc-123.x_Y', 'abc-123.x_Y'],
    ['one that would forge a log line', 'a b\tc', undefined],
    ['a very long one', 'a'.repeat(65), undefined],
  ])('x-request-id: %s', async (_name, given, want) => {
    for (const url of ['/v2/deployments', '/nowhere']) {
      const { headers } = await facade.call('GET', url, undefined, { 'x-request-id': given });
      if (want === undefined) expect(headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      else expect(headers['x-request-id']).toBe(want);
    }
  });

  it('forbid caching, framing and content sniffing', async () => {
    const { headers } = await facade.call('GET', '/v2/deployments');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-type': 'application/json; charset=utf-8',
    });
  });
});

describe('the access log', () => {
  function lines(): Record<string, unknown>[] {
    const all = facade.log().split('\n').filter(Boolean);
    return all.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === 'Request');
  }

  it('has one line for a request with its tenant and status, without query, header or body', async () => {
    await facade.call('GET', '/api-host/v2/deployments?name=canary', undefined, { 'x-request-id': 'mine' });
    await facade.call('GET', '/no%0Awhere');
    expect(lines()).toMatchObject([
      {
        requestId: 'mine',
        method: 'GET',
        path: '/api-host/v2/deployments',
        route: '/api-host/v2/deployments',
        status: 200,
        tenant: 'team-a',
        durationMs: expect.any(Number) as number,
      },
      { path: '/no%0Awhere', status: 404 },
    ]);
    expect(facade.log()).not.toContain('canary');
  });

  it("contains the user and the deployment's name, also for a create, a delete and a rejection", async () => {
    const { body } = await facade.call('POST', '/v2/deployments', aBody());
    const { id } = body as { id: string };
    await facade.call('GET', `/v2/deployments/${id}`);
    await facade.call('DELETE', `/v2/deployments/${id}`);
    await facade.call('POST', '/v2/deployments', { ...aBody(), source: 'nothing' });
    await facade.call('GET', '/v2/deployments', undefined, { 'x-tenant-id': 'nowhere' });
    await facade.call('GET', '/v2/deployments', undefined, { 'x-api-key': '' });
    const told = lines().map(({ method, status, user, tenant, deployment }) =>
      ([method, status, user, tenant, deployment] as (string | number | undefined)[])
        .map((one) => one ?? '-')
        .join(' '),
    );
    expect(told).toEqual([
      'POST 201 somebody team-a shop',
      'GET 200 somebody team-a shop',
      'DELETE 204 somebody team-a shop',
      'POST 422 somebody team-a -',
      'GET 403 somebody - -',
      'GET 401 - - -',
    ]);
    expect(facade.log()).not.toContain(TOKEN);
  });

  it('each request is counted once, by route pattern and status', async () => {
    await facade.call('GET', '/api-host/v2/deployments?name=canary');
    await facade.call('GET', '/v2/deployments/99999999-0000-4000-8000-000000000009');
    await facade.call('GET', '/no/where');
    expect(facade.answers).toEqual([
      { method: 'GET', route: '/v2/deployments', code: 200, seconds: expect.any(Number) as number },
      { method: 'GET', route: '/v2/deployments/:deployment_id', code: 404, seconds: expect.any(Number) as number },
      { method: 'GET', route: 'none', code: 404, seconds: expect.any(Number) as number },
    ]);
  });

  it('does not contain probes', async () => {
    await facade.call('GET', '/livez');
    expect(lines().map(({ level }) => level)).toEqual([20]);
  });
});

describe('probes', () => {
  it('ready when the caches are filled and the API server answers', async () => {
    expect(await facade.call('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    facade.revisions.synced = false;
    expect(await facade.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { detail: 'Not ready: not listed yet: revisions.' },
    });
    facade.revisions.synced = true;
    facade.kube.failOn(() => new Unavailable('get /readyz: connect ECONNREFUSED'));
    facade.clock.ms += 1000;
    expect(await facade.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { detail: 'Not ready: the Kubernetes API server does not answer.' },
    });
    expect((await facade.call('GET', '/livez')).status).toBe(200);
  });

  it('that anybody sends by the thousand cost one request to the API server a second', async () => {
    let asked = 0;
    facade.kube.failOn(() => void (asked += 1));
    const probe = async (): Promise<number> => (await facade.call('GET', '/readyz')).status;
    const many = async (): Promise<Set<number>> => new Set(await Promise.all(Array.from({ length: 1000 }, probe)));
    expect([await many(), await many(), asked]).toEqual([new Set([200]), new Set([200]), 1]);
    facade.clock.ms += 1000;
    // An outage is not multiplied either.
    facade.kube.failOn(() => {
      asked += 1;
      return new Unavailable('get /readyz: connect ECONNREFUSED');
    });
    expect([await many(), await many(), asked]).toEqual([new Set([503]), new Set([503]), 2]);
    facade.clock.ms += 1000;
    facade.kube.failOn(() => undefined);
    expect(await probe()).toBe(200);
  });
});

describe('serving', () => {
  let serving: Serving | undefined;
  afterEach(async () => {
    await serving?.close();
    serving = undefined;
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('refuses plain HTTP on %s', async (host) => {
    await expect(serve(facade.app, { host, port: 0 })).rejects.toThrow(/cluster tokens/);
  });

  it('allows plain HTTP if a proxy terminates TLS', async () => {
    serving = await serve(facade.app, { host: '0.0.0.0', port: 0, insecure: true });
    expect((await fetch(`http://127.0.0.1:${serving.port}/livez`)).status).toBe(200);
  });

  it('answers a POST after the time limit if the API server does not', async () => {
    const { app, kube } = await makeFacade({}, { timeLimitMs: 200 });
    kube.failOn(({ verb, kind }) =>
      verb === 'create' && kind === 'AppDeployment' ? new Promise(() => undefined) : undefined,
    );
    serving = await serve(app, { host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${serving.url}/v2/deployments`, {
      method: 'POST',
      headers: { 'x-api-key': 'x', 'x-tenant-id': 'team-a', 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'shop',
        source: 'external_docker',
        source_config: {},
        source_revision_config: { image_uri: 'registry.example/shop:1' },
        secrets: [],
      }),
    });
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        detail:
          'The request did not finish within 0.2 s and may still take effect. Check the resource before retrying.',
      },
    ]);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('finishes current requests at shutdown, and accepts no more', async () => {
    let answerReview: () => void = () => undefined;
    const held = new Promise<undefined>((resolve) => (answerReview = () => resolve(undefined)));
    let arrived: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (arrived = resolve));
    facade.kube.failOn(() => (arrived(), held));
    const { url, close } = await serve(facade.app, { host: '127.0.0.1', port: 0 });
    const underWay = fetch(`${url}/v2/deployments`, { headers: { 'x-api-key': 'x', 'x-tenant-id': 'team-a' } });
    await reached;
    const closed = close();
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
    answerReview();
    expect((await underWay).status).toBe(200);
    await closed;
  });

  it.each([
    { part: 'headers', sent: 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ' },
    {
      part: 'body',
      sent: 'POST /v2/deployments HTTP/1.1\r\nHost: x\r\nX-Api-Key: x\r\nX-Tenant-Id: team-a\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"name": ',
    },
    {
      part: 'chunked body',
      sent: 'POST /v2/deployments HTTP/1.1\r\nHost: x\r\nX-Api-Key: x\r\nX-Tenant-Id: team-a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"name": \r\n',
    },
    // Only a signed address has the time of an upload.
    ...[
      '/',
      '/nowhere',
      '/v2/deployments',
      `/v1/uploads/99999999-0000-4000-8000-000000000009/0f1e2d3c4b5a69788796a5b4c3d2e1f0`,
    ].map((path) => ({
      part: `body of PUT ${path}`,
      sent: `PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\nContent-Length: 900\r\n\r\nx`,
    })),
  ])('cuts off a sender that never ends its $part', async ({ sent }) => {
    const limits = { requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 };
    serving = await serve(facade.app, { host: '127.0.0.1', port: 0, limits });
    const socket = connect(serving.port, '127.0.0.1');
    socket.write(sent);
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toMatch(/HTTP\/1\.1 408 .*x-request-id: .*\{"detail":"The request took too long to arrive\."\}$/is);
  });

  describe('unread answers', () => {
    const mebibyte = 1024 * 1024;
    const asUser = (token: string, url = '/v2/deployments'): string =>
      `GET ${url} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${token}\r\nX-Tenant-Id: team-a\r\n\r\n`;
    async function list(token: string): Promise<readonly [status: number, body: string]> {
      const answer = await fetch(`${serving?.url}/v2/deployments`, {
        headers: { 'x-api-key': token, 'x-tenant-id': 'team-a' },
      });
      return [answer.status, await answer.text()];
    }
    const status = async (token: string): Promise<number> => (await list(token))[0];

    /** A page is some megabytes. */
    async function serveLargePages(inAll: number): Promise<Facade> {
      const made = await makeFacade({}, { unreadLimits: { ofCaller: 20 * mebibyte, inAll } });
      made.kube.know((token) => token);
      const sourceRevisionConfig = { imageUri: 'registry.example/app:1' };
      const labels = { large: 'x'.repeat(mebibyte) };
      for (let n = 0; n < 4; n += 1) {
        const sourceConfig = { resourceSpec: { labels } };
        made.seed({ metadata: { name: `large-${n}` }, spec: { sourceConfig, sourceRevisionConfig } as never });
      }
      // On a busy machine, connections that nobody reads must not be closed before all requests are answered.
      serving = await serve(made.app, { host: '127.0.0.1', port: 0, limits: { idleTimeout: 240_000 } });
      for (const token of ['reader', 'idle']) expect(await status(token)).toBe(200);
      return made;
    }
    /** Asks and never reads. */
    function ask(requests: string): Socket {
      const socket = connect(serving?.port ?? 0, '127.0.0.1').pause();
      socket.on('error', () => undefined).write(requests);
      return socket;
    }

    it('are limited for each caller: further requests get 429 until the connection is closed', async () => {
      await serveLargePages(1000 * mebibyte);
      const idle: Socket[] = [];
      await vi.waitFor(async () => {
        idle.push(ask(asUser('idle').repeat(8)));
        expect(await status('idle')).toBe(429);
      }, 60_000);
      expect((await list('idle'))[1]).toBe(
        '{"detail":"More than 20 MiB of your answers are unread. Read them or close their connections, then try again."}',
      );
      expect(await status('reader')).toBe(200);
      expect((await fetch(`${serving?.url}/livez`)).status).toBe(200);
      for (const socket of idle) socket.destroy();
      await vi.waitFor(async () => expect(await status('idle')).toBe(200), 60_000);
    });

    it('do not count once their caller has left, whenever that was', async () => {
      const { records, answers } = await serveLargePages(1000 * mebibyte);
      const waiting = `/v2/deployments/${records.list()[0]?.metadata.uid}?wait=READY`;
      const waits = async (): Promise<number> =>
        (
          await fetch(`${serving?.url}${waiting}&timeout=1`, {
            headers: { 'x-api-key': 'reader', 'x-tenant-id': 'team-a' },
          })
        ).status;
      const before = Array.from({ length: MOST_WAITING + 1 }, () => ask(asUser('idle', `${waiting}&timeout=60`)));
      await vi.waitFor(() => expect(answers.at(-1)?.code).toBe(429), 60_000);
      for (const socket of before) socket.destroy();
      await vi.waitFor(async () => expect(await waits()).toBe(200), 60_000);
      expect(await status('idle')).toBe(200);

      const behind = ask(asUser('idle', `${waiting}&timeout=60`) + asUser('idle').repeat(8));
      await vi.waitFor(async () => expect(await status('idle')).toBe(429), 60_000);
      behind.destroy();
      await vi.waitFor(async () => expect(await status('idle')).toBe(200), 60_000);
    });

    it('are limited in total: the caller with the most loses its connection', async () => {
      const { log } = await serveLargePages(40 * mebibyte);
      const idle = ['idle-1', 'idle-2', 'idle-3'].map((user) => ask(asUser(user).repeat(10)));
      await vi.waitFor(() => expect(log()).toMatch(/"caller":"user idle-\d"/), 60_000);
      expect(await status('reader')).toBe(200);
      for (const socket of idle) socket.destroy();
    });

    it('are limited also where all requests arrived before the first answer', async () => {
      const { answers } = await serveLargePages(1000 * mebibyte);
      const before = answers.length;
      // Three connections, so that more than one answer is made at a time.
      const idle = [1, 2, 3].map(() => ask(asUser('idle').repeat(20)));
      const rejected = (): number => answers.slice(before).filter(({ code }) => code === 429).length;
      // An answer counts as 8 MiB; what the buffers of the connections take does not count.
      await vi.waitFor(() => expect(rejected()).toBeGreaterThan(30), 200_000);
      for (const socket of idle) socket.destroy();
    }, 240_000);
  });

  it.each([
    { reader: 'never reads', reads: false, want: 'closed' },
    { reader: 'reads', reads: true, want: 'open' },
  ])('a connection whose reader $reader is $want after a while', async ({ reads, want }) => {
    serving = await serve(facade.app, { host: '127.0.0.1', port: 0, limits: { idleTimeout: reads ? 3000 : 1000 } });
    const socket = connect(serving.port, '127.0.0.1');
    if (reads) socket.resume();
    else socket.pause();
    const ended = new Promise((resolve) =>
      socket.once('error', () => resolve('closed')).once('end', () => resolve('closed')),
    );
    // More than the buffers of both ends hold.
    socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(300));
    let state = 'open';
    void ended.then(() => (state = 'closed'));
    // What is refused where nobody is left to take it tells, and only that does. A busy machine takes its time.
    for (let waits = 0; state === 'open' && waits < (reads ? 4 : 80); waits += 1) {
      await sleep(200);
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    }
    expect(state).toBe(want);
    socket.destroy();
  });

  it('answers input that is not HTTP in the same form', async () => {
    serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${serving.url}/livez`, { headers: { 'x-long': 'a'.repeat(20_000) } });
    expect([answer.status, await answer.json()]).toEqual([431, { detail: 'The headers are larger than 16 KiB.' }]);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const { port } = serving;
    const said = async (headers: string, host = 'Host: x\r\n'): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      socket.end(`POST /v2/deployments HTTP/1.1\r\n${host}${headers}\r\n\r\n`);
      return await text(socket);
    };
    expect(await said('Content-Length: 1\r\nContent-Length: 2')).toMatch(/^HTTP\/1\.1 400 .*Send one Content-Length/s);
    expect(await said('Content-Length: one')).toMatch(/^HTTP\/1\.1 400 .*Send one Content-Length/s);
    expect(await said('no header')).toMatch(/^HTTP\/1\.1 400 .*not an HTTP\/1\.1 request/s);
    expect(await said('Accept: */*', '')).toMatch(/^HTTP\/1\.1 400 .*x-request-id: .*\{"detail":"[^"]*Host/is);
    expect(await said('Expect: x')).toMatch(/^HTTP\/1\.1 417 .*x-request-id: .*\{"detail":"[^"]*100-continue/is);
  });
});
