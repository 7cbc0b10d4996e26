// How long the event loop stands still while the facade reads what a tenant wrote: kept logs, logs of pods, archives, manifests,
// webhooks, Secrets, records in lists, bodies. While it does, nobody gets an answer, and the kubelet's probe fails.

import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import type { FakeRegistry } from '../../support/fake-registry.ts';
import { aBody, anIntegration, type Facade, listen, ORGANIZATION, SOMEBODY, TENANT } from './facade.ts';
import { costOf, serveLogs } from './log-source.ts';

/** Milliseconds of processor time. Ten times what the longest of these takes; the kubelet's probe waits a second. */
const LONGEST_MS = 400;
const MEBIBYTE = 1024 * 1024;
const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const repository = `${TENANT.namespace}-aaaaaaaa/shop`;

let setup: FacadeWithRegistry;
let facade: Facade;
let registry: FakeRegistry;
let origin: string;
beforeEach(async () => {
  // The readers share the event loop: on a busy machine they have read little when the next of their answers is due.
  const unreadLimits = { ofCaller: 1024 * MEBIBYTE, inAll: 1024 * MEBIBYTE };
  setup = await makeFacadeWithRegistry(
    { http: { ...defaultSettings().http, requestsPerMinute: 0 } },
    {},
    { unreadLimits },
  );
  ({ facade, registry } = setup);
  anIntegration(facade, INTEGRATION);
  origin = await listen(facade);
});
afterEach(() => setup.close());

/** Every route that may have a body, also those that no document lists, with an id for each parameter. */
function routesWithBody(): { readonly method: string; readonly path: string }[] {
  const above: string[] = [];
  return facade.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.*)\)$/u.exec(line) ?? [];
      const depth = indent.length / 4;
      above.splice(depth, above.length, part);
      const path = above.join('').replaceAll(/:\w+/g, INTEGRATION);
      return methods
        .split(', ')
        .filter((method) => ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method))
        .map((method) => ({ method, path }));
    });
}

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly body?: object | Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isStranger?: boolean;
  /** Whether the client goes away after LONG_ENOUGH_MS, because reading is paced. */
  readonly isLeft?: boolean;
}

/** What a reader can do in that time shows what it can do at once. */
const LONG_ENOUGH_MS = 500;

/** The status of the answer; 0 if it has not begun in time. The client drops what it gets: it shares the event loop. */
function ask({
  method = 'POST',
  path,
  body,
  headers = {},
  isStranger = false,
  isLeft = false,
}: Asked): Promise<number> {
  const payload = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${origin}${path}`, {
      method,
      headers: {
        ...(!isStranger && SOMEBODY),
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(payload)),
        }),
        ...headers,
      },
    });
    let status = 0;
    const leave = (): void => {
      resolve(status);
      sent.destroy();
    };
    if (isLeft) setTimeout(leave, LONG_ENOUGH_MS);
    sent.on('error', reject);
    sent.on('response', (answer) => {
      status = answer.statusCode ?? 0;
      const over = (): void => resolve(status);
      answer.on('error', over).on('end', over).resume();
    });
    sent.end(payload);
  });
}

/** What `work` answers, after a check of how long the loop stood still. */
async function brief<T>(work: () => Promise<T>): Promise<T> {
  let result: T | undefined;
  const { busyMs } = await costOf(async () => (result = await work()));
  expect(busyMs).toBeLessThan(LONGEST_MS);
  return result as T;
}

describe('a kept log of a build', () => {
  let logs: (body?: object) => Promise<number>;
  beforeEach(async () => {
    const { body } = await facade.call('POST', '/v2/deployments', {
      ...aBody(),
      source: 'github',
      source_config: { integration_id: INTEGRATION, repo_url: 'https://host.example/team/shop', build_on_push: true },
      source_revision_config: { repo_ref: 'main', langgraph_config_path: 'langgraph.json' },
    });
    const settings = { ...defaultSettings(), hosting: 'both' as const };
    const { spec } = facade.snapshot({ state: 'BUILD_FAILED', message: '', build: { phase: 'Failed' } }, settings);
    const path = `/v1/projects/${body.id}/revisions/${spec.id}/build_logs`;
    logs = (query = {}) => ask({ path, body: query, isLeft: true });
  });

  function keep(packed: Buffer, manifest: object = {}): void {
    const digest = `sha256:${'1'.repeat(64)}`;
    registry.blobs.set(`${repository}@${digest}`, packed);
    const layer = { mediaType: 'application/vnd.davit.log.v1+gzip', digest, size: packed.length };
    const whole = { schemaVersion: 2, artifactType: 'application/vnd.davit.log.v1', layers: [layer], ...manifest };
    registry.put(repository, `log-${facade.revisions.list()[0]?.spec.id}`, whole);
  }
  const T = '2026-01-01T00:00:00Z';
  const line = (value: object): string => `${JSON.stringify(value)}\n`;

  it.each<[string, () => Buffer]>([
    ['32 KiB of empty lines', () => gzipSync(Buffer.alloc(32 * MEBIBYTE, '\n'))],
    [
      'lines of a writer each',
      () => gzipSync(Array.from({ length: 60_000 }, (_, n) => line({ t: T, c: `writer-${n}`, m: '' })).join('')),
    ],
    ['short lines', () => gzipSync(line({ t: T }).repeat(500_000))],
    ['lines that are no JSON', () => gzipSync('x\n'.repeat(8_000_000))],
    ['lines within a time', () => gzipSync(line({ t: `${T}\n`.repeat(5000) }).repeat(100))],
    ['lines within a message', () => gzipSync(line({ t: T, c: 'build', m: '\n'.repeat(60_000) }).repeat(100))],
    [
      'nested lines',
      () =>
        gzipSync(
          line({ t: T, m: '{"a":[', x: 0 })
            .replace('0}', `${'['.repeat(60_000)}${']'.repeat(60_000)}}`)
            .repeat(200),
        ),
    ],
    ['one line without an end', () => gzipSync(Buffer.alloc(128 * MEBIBYTE))],
  ])('of %s', async (_name, packed) => {
    keep(packed());
    const names = Array.from({ length: 600 }, (_, n) => `${String(n).padStart(8, 'A')}.1.0.`);
    const position = ['v1', ...names].join('~');
    expect(await brief(() => logs({ order: 'asc', limit: 1000, level: 'ERROR' }))).toBeOneOf([0, 200]);
    expect(await brief(() => logs({ limit: 1000, position }))).toBeOneOf([0, 200]);
  });

  it.each<[string, object]>([
    ['layers that are none', { layers: Array(700_000).fill({ a: 0 }) }],
    ['many fields', Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`field-${n}`, 0]))],
    ['another type', { artifactType: 'application/vnd.example' }],
  ])('whose manifest has %s', async (_name, manifest) => {
    keep(gzipSync('x'), manifest);
    await brief(() => logs());
  });
});

describe('logs of pods', () => {
  it.each<[string, (bytes: number) => Buffer]>([
    ['short lines', (bytes) => Buffer.from('2026-01-01T00:00:00.000000000Z \n'.repeat(bytes / 32))],
    ['empty lines', (bytes) => Buffer.alloc(bytes, '\n')],
    ['one line', (bytes) => Buffer.alloc(bytes, 'x')],
    [
      'nested lines',
      (bytes) => Buffer.from(`2026-01-01T00:00:00Z {"a":${'['.repeat(60_000)}\n`.repeat(bytes / 60_030)),
    ],
    [
      'lines that nearly match',
      (bytes) => Buffer.from(`2026-01-01T00:00:00Z ${'a'.repeat(60_000)}\n`.repeat(bytes / 60_030)),
    ],
  ])('of %s', async (_name, log) => {
    const { body } = await facade.call('POST', '/v2/deployments', aBody());
    const path = `/v1/projects/${body.id}/deploy_logs`;
    serveLogs(facade, body.id, 20, 10, log(4 * MEBIBYTE));
    const ask1 = (query: object): Promise<number> => brief(() => ask({ path, body: query, isLeft: true }));
    expect(await ask1({ order: 'asc', limit: 1000 })).toBeOneOf([0, 200]);
    expect(await ask1({ level: 'DEBUG', query: `b${'a'.repeat(900)}` })).toBeOneOf([0, 200]);
    expect(await ask1({ position: 'v1', limit: 1000 })).toBeOneOf([0, 200]);
  });
});

it('an archive', async () => {
  const body = aBody({ source: 'internal_source', source_revision_config: {} });
  const { id } = (await facade.call('POST', '/v2/deployments', body)).body;
  const { upload_url: url } = (await facade.call('POST', `/v2/deployments/${id}/upload-url`)).body;
  registry.fault = (request, response) => {
    if (request.method !== 'PATCH') return false;
    request.resume().once('end', () => response.writeHead(500).end());
    return true;
  };
  const archive = Buffer.alloc(64 * MEBIBYTE);
  gzipSync('x').copy(archive);
  const { pathname, search } = new URL(url);
  const headers = { 'content-type': 'application/gzip' };
  expect(await brief(() => ask({ method: 'PUT', path: `${pathname}${search}`, body: archive, headers }))).toBe(502);
});

describe('a webhook', () => {
  const SECRET = 'secret';
  it.each<[string, string]>([
    ['lists in lists', '['],
    ['empty objects', '[{},'],
    ['numbers', '[0,'],
    ['fields', '{"'],
    ['text', '"'],
  ])('of 10 MiB of %s', async (_name, kind) => {
    const data = { 'webhook-secret': Buffer.from(SECRET).toString('base64') };
    const metadata = { name: 'git', namespace: ORGANIZATION.namespace };
    facade.kube.seed<KubeObject & { data: object }>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data });
    const bytes = 10 * MEBIBYTE - 1000;
    const inner = {
      '[': () => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
      '[{},': () => `[${'{},'.repeat(bytes / 3 - 2)}0]`,
      '[0,': () => `[${'0,'.repeat(bytes / 2 - 2)}0]`,
      '{"': () => `{${Array.from({ length: bytes / 14 }, (_, n) => `"k${n}":0`).join(',')}}`,
      '"': () => JSON.stringify('\n'.repeat(bytes / 2 - 2)),
    }[kind];
    const body = `{"commits":${inner?.()},"repository":{"full_name":"team/shop"}}`;
    const signature = createHmac('sha256', SECRET).update(body).digest('hex');
    const path = `/v1/integrations/forge/codehost/${INTEGRATION}/webhook`;
    const headers = { 'x-gitea-event': 'push', 'x-gitea-signature': signature };
    expect(await brief(() => ask({ path, body: Buffer.from(body), headers }))).toBe(204);
  });
});

describe('a Secret', () => {
  it.each<[string, string]>([
    ['NUL characters', '\0'],
    ['quotes', '"'],
    ['what is not UTF-8', '\xff'],
  ])('of a megabyte of %s that a hundred variables name', async (_name, character) => {
    const data = { k: Buffer.alloc(MEBIBYTE, character, 'latin1').toString('base64') };
    const metadata = { name: 'shop--vars-1', namespace: TENANT.namespace };
    facade.kube.seed<KubeObject & { data: object }>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data });
    const secrets = Array.from({ length: 100 }, (_, n) => ({
      name: `V${n}`,
      secretName: metadata.name,
      secretKey: 'k',
    }));
    const record = facade.seed({ metadata: { name: 'shop' }, spec: { secrets } as never });
    const path = `/v2/deployments/${record.metadata.uid}`;
    expect(await brief(() => ask({ method: 'GET', path }))).toBe(200);
  });
});

describe('records in lists', () => {
  it('of a megabyte each, also where many ask for what is new', async () => {
    const labels = { large: '\n'.repeat(MEBIBYTE / 2) };
    for (let n = 0; n < 100; n += 1)
      facade.seed({ metadata: { name: `shop-${n}` }, spec: { sourceConfig: { resourceSpec: { labels } } } as never });
    const path = '/v2/deployments?limit=100';
    expect(await brief(() => ask({ method: 'GET', path }))).toBe(200);
    const { headers } = await facade.call('GET', path);
    const known = { 'if-none-match': headers['etag'] as string };
    const poll = (): Promise<number> => ask({ method: 'GET', path, headers: known });
    const statuses = await brief(() => Promise.all(Array.from({ length: 30 }, poll)));
    expect(new Set(statuses)).toEqual(new Set([304]));
  });
});

describe('a body of a megabyte', () => {
  it.each<[string, () => string]>([
    ['lists', () => `[${'[],'.repeat(9_000)}0]`],
    ['secrets that are none', () => JSON.stringify(aBody({ secrets: Array(9_999).fill({ a: 1 }) }))],
    [
      'fields',
      () => JSON.stringify(Object.fromEntries(Array.from({ length: 19_999 }, (_, n) => [`source_confi${n}`, n]))),
    ],
    ['nulls', () => `{"secrets":[${'null,'.repeat(9_998)}null]}`],
    ['text', () => JSON.stringify(aBody({ name: '\\"'.repeat(250_000) }))],
  ])('of %s', async (_name, body) => {
    const path = '/v2/deployments?fieldValidation=Strict';
    expect(await brief(() => ask({ path, body: body() }))).toBeLessThan(500);
  });
});

describe('a body that is no JSON', () => {
  const text = 'a'.repeat(1_000_000);
  const bodies: readonly string[] = [
    `{"name":"${text}`,
    `{"name":"${text}\u0001"}`,
    `{"name":"${text}\\x"}`,
    `{"name":"${'\\n'.repeat(10_000)}`,
    `{"name":"${'-----BEGIN KEY-----\n'.repeat(1000)}`,
    '"a",'.repeat(10_000),
  ];

  /** The statuses for all bodies, one after another. */
  async function statuses(asked: Omit<Asked, 'body'>): Promise<number[]> {
    const found: number[] = [];
    for (const body of bodies) found.push(await ask({ ...asked, body }));
    return found;
  }

  it('is not parsed for a stranger, on any route', async () => {
    const routes = routesWithBody();
    expect(routes.length).toBeGreaterThan(25);
    for (const route of routes) {
      const found = await brief(() => statuses({ ...route, isStranger: true }));
      for (const status of found) expect([route, status]).toEqual([route, expect.toBeOneOf([401, 403, 415])]);
    }
  });

  it('is refused at once, on every route', async () => {
    for (const route of routesWithBody()) {
      const found = await brief(() => statuses(route));
      for (const status of found) expect([route, status]).toEqual([route, expect.toBeOneOf([400, 401, 403, 404, 415])]);
    }
  });

  it('is no form either, and a form is short', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = (body: string): Promise<number> =>
      brief(() => ask({ path: '/v2/auth/callback/idp', body, headers, isStranger: true }));
    expect(await form(bodies[0] ?? '')).toBe(413);
    // No address is set for the pages: what has passed is the size.
    expect(await form(`state=${'&a=%41'.repeat(10_000)}`)).toBe(424);
  });
});
