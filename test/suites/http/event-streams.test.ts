// Accept: text/event-stream on a deployment, its revisions and the list: how it stands, at once and after each change.

import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serve } from '../../../src/app/server.ts';
import { Unavailable } from '../../../src/lib/errors.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/schema/app-revision.ts';
import { type EventReader, openStream, type ReadEvent } from '../../support/event-reader.ts';
import { aBody, type Facade, listen, makeFacade, OTHER_TENANT, SOMEBODY, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let origin: string;
let path: string;
let id: string;
const readers: EventReader[] = [];
let stopping: AbortController;

type Limits = NonNullable<Parameters<typeof makeFacade>[1]>['streamLimits'];
async function start(streamLimits: NonNullable<Limits> = {}): Promise<void> {
  stopping = new AbortController();
  facade = await makeFacade({}, { streamLimits, signal: stopping.signal });
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  path = `/v2/deployments/${id}`;
  origin = await listen(facade);
}
/** The machine may be busy. */
function poll<T>(read: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(read, { timeout: 60_000 });
}
beforeEach(() => start());
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await close();
});
async function close(): Promise<void> {
  const closed = facade.app.close();
  facade.app.server.closeAllConnections();
  await closed;
}

async function open(to = path, { headers = {} }: { headers?: Record<string, string> } = {}): Promise<EventReader> {
  const reader = await openStream(origin, to, { headers: { ...SOMEBODY, ...headers } });
  readers.push(reader);
  return reader;
}
function stored(): AppDeployment {
  const record = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS).find(({ metadata }) => metadata.uid === id);
  if (record === undefined) throw new Error('no record');
  return record;
}
function report(state: 'READY' | 'UNKNOWN' | 'AWAITING_DATABASE', record = stored()): void {
  const observedGeneration = record.metadata.generation ?? 1;
  facade.records.put(facade.kube.seed(APP_DEPLOYMENTS, { ...record, status: { state, observedGeneration } }));
}
function erase(): void {
  facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
  facade.records.drop(id);
}
async function eventOf(reader: EventReader): Promise<ReadEvent> {
  const event = await reader.next();
  if (typeof event === 'string') throw new Error(`no event: ${event}; ${reader.text()}`);
  return event;
}
const reviews = (): number => facade.kube.writes.filter(({ kind }) => kind.endsWith('Review')).length;
/** Lets what the facade believes of rights grow old. */
const later = (): number => (facade.clock.ms += 60_000);

describe('of a deployment', () => {
  it('has the whole answer of a GET at once, and again after each change', async () => {
    report('UNKNOWN');
    const reader = await open();
    expect([reader.status, reader.headers.get('content-type'), reader.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream',
      'no-store',
    ]);
    expect([reader.headers.get('x-accel-buffering'), reader.headers.get('x-request-id')]).toEqual([
      'no',
      expect.any(String),
    ]);
    const first = await eventOf(reader);
    expect([first.event, first.data]).toEqual(['deployment', (await facade.call('GET', path)).body]);
    expect(reader.text()).toMatch(/^retry: [2-4]\d{3}\n\n/);
    report('READY');
    const second = await eventOf(reader);
    expect([second.data.status, second.id === first.id]).toEqual(['READY', false]);
    expect(await reader.next(50)).toBe('nothing');
  });

  it('tells of its revisions, which are in the answer', async () => {
    const reader = await open();
    const { data } = await eventOf(reader);
    const revision = facade.snapshot({ state: 'DEPLOYED' });
    expect(data.latest_revision_id).toBe(revision.spec.id);
    const record = stored();
    facade.records.put(
      facade.kube.seed(APP_DEPLOYMENTS, {
        ...record,
        status: { state: 'READY', activeRevisionId: revision.spec.id, latestRevisionId: revision.spec.id },
      } as AppDeployment),
    );
    expect((await eventOf(reader)).data.active_revision_id).toBe(revision.spec.id);
  });

  it('says nothing of a change that the answer does not show, nor of other deployments', async () => {
    const reader = await open();
    await eventOf(reader);
    const record = stored();
    facade.records.put(
      facade.kube.seed(APP_DEPLOYMENTS, {
        ...record,
        metadata: { ...record.metadata, annotations: { ...record.metadata.annotations, note: 'x' } },
      }),
    );
    facade.seed({ metadata: { name: 'other' } });
    expect(await reader.next(400)).toBe('nothing');
  });

  it('never has values of secrets, and asks for none', async () => {
    await facade.call('PATCH', path, { secrets: [{ name: 'KEY', value: 'canary-of-a-value' }] });
    facade.kube.failOn(({ verb }) => (verb === 'get' ? new Error('it was asked') : undefined));
    const reader = await open();
    expect((await eventOf(reader)).data.secrets).toEqual([{ name: 'KEY', value: '' }]);
    expect(reader.text()).not.toContain('canary');
  });

  it('is resumed: nothing until it is something else than what the client has seen', async () => {
    const first = await eventOf(await open());
    const same = await open(path, { headers: { 'last-event-id': first.id ?? '' } });
    expect(await same.next(100)).toBe('nothing');
    expect(same.status).toBe(200);
    report('READY');
    expect((await eventOf(same)).data.status).toBe('READY');
    const missed = await open(path, { headers: { 'last-event-id': first.id ?? '' } });
    expect((await eventOf(missed)).data.status).toBe('READY');
    const madeUp = await open(path, { headers: { 'last-event-id': 'x'.repeat(5000) } });
    expect((await eventOf(madeUp)).data.status).toBe('READY');
  });

  it('ends with gone when it is deleted, as a GET is 404 then', async () => {
    const reader = await open();
    await eventOf(reader);
    const record = stored();
    facade.records.put({
      ...record,
      metadata: { ...record.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    expect((await eventOf(reader)).data.status).toBe('AWAITING_DELETE');
    erase();
    const gone = await eventOf(reader);
    expect([gone.event, gone.data]).toEqual(['gone', { detail: `Deployment ID ${id} not found.` }]);
    expect(await reader.next()).toBe('end');
    expect(await facade.call('GET', path)).toMatchObject({ status: 404, body: gone.data });
  });

  it('ends with gone where another one takes its name', async () => {
    const reader = await open();
    await eventOf(reader);
    erase();
    facade.seed({ metadata: { name: 'shop' } });
    expect((await eventOf(reader)).event).toBe('gone');
  });

  it.each([
    ['wait=READY', 'cannot be combined'],
    ['wait=READY&timeout=5', 'cannot be combined'],
    ['wait=ready', 'must be one of'],
  ])('%s is 422', async (query, words) => {
    const { status, body } = await facade.call('GET', `${path}?${query}`, undefined, { accept: 'text/event-stream' });
    expect([status, body.detail]).toEqual([
      422,
      [{ loc: ['query', 'wait'], msg: expect.stringContaining(words), type: expect.any(String) }],
    ]);
  });

  it.each(['*/*', 'application/json', 'text/event-stream;q=0', 'application/json, text/event-stream', ''])(
    'is JSON for Accept: %s',
    async (accept) => {
      const { status, headers } = await facade.call('GET', path, undefined, { accept });
      expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    },
  );

  it('has its headers alone for HEAD, and leaves no stream open', async () => {
    const { statusCode, headers, body } = await facade.app.inject({
      method: 'HEAD',
      url: path,
      headers: { accept: 'text/event-stream', 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id },
    });
    expect([statusCode, headers['content-type'], body]).toEqual([200, 'text/event-stream', '']);
    expect(headers['content-length']).toBeUndefined();
    expect(facade.streams).toEqual({});
  });

  it('is there for HTTP/1.0, whose clients know no chunks', async () => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    let text = '';
    socket.on('data', (piece) => (text += piece.toString()));
    socket.write(
      `GET ${path} HTTP/1.0\r\nAccept: text/event-stream\r\nX-Api-Key: ${TOKEN}\r\nX-Tenant-Id: ${TENANT.id}\r\n\r\n`,
    );
    await poll(() => text).toMatch(/\r\n\r\nretry: \d+\n\nid: \S+\nevent: deployment\ndata: {.*}\n\n$/);
    expect(text.toLowerCase()).not.toContain('chunked');
    erase();
    await poll(() => socket.readyState).not.toBe('open');
    expect(text).toMatch(/event: gone\ndata: {.*}\n\n$/);
  });
});

it.each(['', '/revisions', 'list'])('of caches that are not filled yet is 503, as a GET is: %s', async (rest) => {
  facade.records.synced = false;
  const reader = await open(rest === 'list' ? '/v2/deployments' : `${path}${rest}`);
  expect([reader.status, reader.headers.get('retry-after')]).toEqual([503, '1']);
});

it('of a client that has gone before it began leaves nothing behind', async () => {
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const { withToken } = facade.kube;
  facade.kube.withToken = (token) => ({
    ...withToken(token),
    async listAll(resource, options) {
      await held;
      return withToken(token).listAll(resource, options);
    },
  });
  const record = stored();
  facade.records.drop(id);
  const leave = await deafReader(Number(new URL(origin).port), path);
  leave();
  await sleep(50);
  facade.records.put(record);
  goOn();
  await sleep(100);
  expect(facade.streams).toEqual({});
});

describe('of revisions', () => {
  it('has what the same list answers, with its filters', async () => {
    const query = `${path}/revisions?status=DEPLOYED&limit=5`;
    const reader = await open(query);
    const first = await eventOf(reader);
    expect([first.event, first.data]).toEqual(['revisions', { resources: [], offset: 0 }]);
    const revision = facade.snapshot({ state: 'DEPLOYING' });
    expect(await reader.next(400)).toBe('nothing');
    facade.revisions.put(facade.kube.seed(APP_REVISIONS, { ...revision, status: { state: 'DEPLOYED' } }));
    const second = await eventOf(reader);
    expect(second.data).toEqual((await facade.call('GET', query)).body);
    expect(second.data.resources).toHaveLength(1);
    erase();
    expect((await eventOf(reader)).event).toBe('gone');
  });
});

describe('of the list', () => {
  it('has the page that the query asks for', async () => {
    const query = '/v2/deployments?name_contains=sh&limit=2';
    const reader = await open(query);
    const first = await eventOf(reader);
    expect([first.event, first.data]).toEqual(['deployments', (await facade.call('GET', query)).body]);
    facade.seed({ metadata: { name: 'else' } });
    expect(await reader.next(1200)).toBe('nothing');
    facade.seed({ metadata: { name: 'shoe', creationTimestamp: '2027-01-01T00:00:00Z' } });
    const second = await eventOf(reader);
    expect(second.data.resources.map(({ name }: { name: string }) => name)).toEqual(['shoe', 'shop']);
    facade.seed({ metadata: { name: 'shoe', namespace: OTHER_TENANT.namespace } });
    erase();
    const third = await eventOf(reader);
    expect(third.data.resources.map(({ name }: { name: string }) => name)).toEqual(['shoe']);
  });

  it('tells of many changes at most once a second, as they stand then', async () => {
    const reader = await open('/v2/deployments');
    await eventOf(reader);
    for (let n = 0; n < 50; n += 1) facade.seed({ metadata: { name: `a${n}` } });
    const { data } = await eventOf(reader);
    expect(data.resources).toHaveLength(20);
    expect(await reader.next(500)).toBe('nothing');
  });
});

describe('rights', () => {
  const paths = (): string[] => [path, `${path}/revisions`, '/v2/deployments'];

  it("another tenant gets what a GET gets, and nothing of another's", async () => {
    const headers = { 'x-tenant-id': OTHER_TENANT.id };
    for (const to of [path, `${path}/revisions`]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const [stream, get] = [await open(to, { headers }), await facade.call('GET', to, undefined, headers)];
      expect([stream.status, stream.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
      expect(get.status).toBe(404);
    }
    const list = await open('/v2/deployments', { headers });
    expect((await eventOf(list)).data.resources).toEqual([]);
    report('READY');
    expect(await list.next(300)).toBe('nothing');
    const nobody = await open(path, { headers: { 'x-api-key': '' } });
    expect(nobody.status).toBe(401);
  });

  it.each([
    ['the right', () => facade.kube.allow(() => false), 403],
    [
      'the token',
      () => {
        facade.kube.know(() => undefined);
        facade.kube.allow(() => false);
        facade.clock.ms += 3_600_000;
      },
      401,
    ],
    ['the tenant', () => facade.tenants.drop(TENANT.id), 403],
  ])('that end end the stream before another event: %s', async (_what, withdraw, status) => {
    const open3 = await Promise.all(paths().map((to) => open(to)));
    await Promise.all(open3.map(eventOf));
    withdraw();
    later();
    report('READY');
    for (const reader of open3) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { event, data } = await eventOf(reader);
      expect([event, data]).toEqual(['end', { reason: 'refused', status, detail: expect.any(String) }]);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await reader.next()).toBe('end');
      expect(reader.text()).not.toContain('READY');
    }
  });

  it('that end end a stream that has nothing to tell, too', async () => {
    await close();
    await start({ reviewMs: 50 });
    const reader = await open();
    await eventOf(reader);
    later();
    facade.kube.allow(() => false);
    expect(await eventOf(reader)).toMatchObject({ event: 'end', data: { reason: 'refused' } });
  });

  it('that nobody can ask about now: nothing is shown until they are known', async () => {
    await close();
    await start({ reviewMs: 50 });
    const reader = await open();
    await eventOf(reader);
    later();
    facade.kube.failOn(({ verb }) => (verb === 'create' ? new Unavailable('no answer') : undefined));
    report('READY');
    expect(await reader.next(300)).toBe('nothing');
    facade.kube.failOn(undefined);
    expect((await eventOf(reader)).data.status).toBe('READY');
  });

  it('to another tenant by now, of one who names none, end the stream', async () => {
    facade.kube.allow(({ namespace }) => namespace === TENANT.namespace);
    const reader = await open('/v2/deployments', { headers: { 'x-tenant-id': '' } });
    await eventOf(reader);
    facade.kube.allow(({ namespace }) => namespace === OTHER_TENANT.namespace);
    later();
    facade.seed({ metadata: { name: 'theirs', namespace: OTHER_TENANT.namespace } });
    report('READY');
    expect(await eventOf(reader)).toMatchObject({ event: 'end', data: { reason: 'refused', status: 403 } });
    expect(reader.text()).not.toContain('theirs');
  });

  it('cost the API server one review for all streams of a caller, and nothing else', async () => {
    await Promise.all(
      paths()
        .flatMap((to) => [open(to), open(to), open(to)])
        .map(async (one) => eventOf(await one)),
    );
    const before = reviews();
    const calls: string[] = [];
    facade.kube.failOn(({ verb }) => void calls.push(verb));
    later();
    for (let n = 0; n < 3; n += 1) {
      report(n % 2 ? 'UNKNOWN' : 'READY');
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await sleep(300);
    }
    // One for get, one for list.
    await poll(() => reviews() - before).toBe(2);
    await sleep(300);
    expect(reviews() - before).toBe(2);
    expect(new Set(calls)).toEqual(new Set(['create']));
  });
});

describe('ends', () => {
  it('when the service stops, at once, for readers and for those who do not read', async () => {
    const server = await serve(facade.app, { host: '127.0.0.1', port: 0 });
    const reader = await openStream(server.url, path, { headers: SOMEBODY });
    await eventOf(reader);
    const waits = fetch(`${server.url}${path}?wait=GONE`, {
      headers: { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id },
    });
    const deaf = await deafReader(Number(new URL(server.url).port), '/v2/deployments');
    await sleep(50);
    const start_ = performance.now();
    stopping.abort();
    const closed = server.close();
    expect(await eventOf(reader)).toEqual({
      event: 'end',
      data: { reason: 'stopping', detail: 'The service is stopping. Connect again.' },
    });
    expect((await waits).status).toBe(200);
    await closed;
    expect(performance.now() - start_).toBeLessThan(5000);
    expect(facade.streams).toEqual({ deployment: 0, deployments: 0 });
    deaf();
    await expect(fetch(`${origin}${path}`)).rejects.toThrow('fetch failed');
  });

  it('after its longest life', async () => {
    await close();
    await start({ lifeMs: 200 });
    const reader = await open();
    await eventOf(reader);
    expect(await eventOf(reader)).toMatchObject({ event: 'end', data: { reason: 'lifetime' } });
    expect(await reader.next()).toBe('end');
  });

  it('when its reader goes away, with one line in the log', async () => {
    const reader = await open();
    await eventOf(reader);
    expect(facade.streams).toEqual({ deployment: 1 });
    reader.close();
    await poll(() => facade.streams['deployment']).toBe(0);
    await poll(() => facade.log()).toMatch(
      /"route":"\/v2\/deployments\/:deployment_id","status":200,.*"streamEnd":"left","events":1/,
    );
  });

  it('with a line in the log that says why, and a duration that is none of an answer', async () => {
    const reader = await open();
    await eventOf(reader);
    await sleep(1500);
    erase();
    await eventOf(reader);
    await poll(() => facade.log()).toMatch(/"deployment":"shop","streamEnd":"gone","events":1/);
    expect(facade.answers.at(-1)).toMatchObject({ route: '/v2/deployments/:deployment_id', code: 200 });
    expect(facade.answers.at(-1)?.seconds).toBeLessThan(1);
  });
});

it('writes a comment now and then, so that nobody takes the connection for dead', async () => {
  await close();
  await start({ heartbeatMs: 40 });
  const reader = await open();
  await eventOf(reader);
  await poll(() => reader.text()).toMatch(/\n\n:\n\n:\n\n/);
});

it('has no time limit of a request', async () => {
  await close();
  stopping = new AbortController();
  facade = await makeFacade({}, { timeLimitMs: 50 });
  id = facade.seed({ metadata: { name: 'shop' } }).metadata.uid ?? '';
  origin = await listen(facade);
  const reader = await open('/v2/deployments');
  await eventOf(reader);
  await sleep(300);
  report('READY');
  expect((await eventOf(reader)).data.resources[0].status).toBe('READY');
});

it('is in the document, of the routes that have one', async () => {
  const { paths } = (await facade.app.inject('/openapi.json')).json();
  const streams = Object.entries<Record<string, { responses: Record<string, { content?: object }> }>>(paths).flatMap(
    ([route, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => 'text/event-stream' in (responses['200']?.content ?? {}))
        .map(([method]) => `${method} ${route}`),
  );
  expect(streams).toEqual([
    'get /v2/deployments',
    'get /v2/deployments/{deployment_id}',
    'get /v2/deployments/{deployment_id}/revisions',
    'post /v1/projects/{project_id}/deploy_logs',
    'post /v1/projects/{project_id}/revisions/{revision_id}/deploy_logs',
    'post /v1/projects/{project_id}/revisions/{revision_id}/build_logs',
  ]);
});

describe('limits', () => {
  it.each([
    ['ofUser', 'of yours', 'user'],
    ['ofTenant', 'of this tenant', 'tenant'],
    ['inAll', 'are open already', 'process'],
  ])('%s: 429 with what to do, and room again when one has ended', async (limit, words, counted) => {
    await close();
    await start({ [limit]: 2 });
    const first = await open();
    await open();
    const third = await open();
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '10']);
    await poll(() => third.text()).toContain(words);
    expect(facade.refusedStreams).toEqual([counted]);
    first.close();
    await poll(() => facade.streams['deployment']).toBe(1);
    expect((await open()).status).toBe(200);
  });

  it('of a user are not those of another, nor those of a tenant', async () => {
    await close();
    await start({ ofUser: 1 });
    facade.kube.know((token) => token);
    expect((await open(path, { headers: { 'x-api-key': 'one' } })).status).toBe(200);
    expect((await open(path, { headers: { 'x-api-key': 'one' } })).status).toBe(429);
    expect((await open(path, { headers: { 'x-api-key': 'two' } })).status).toBe(200);
  });
});

it('takes little for each stream that is open', async () => {
  await close();
  await start({ ofUser: 1000, ofTenant: 1000 });
  const port = Number(new URL(origin).port);
  const before = heapUsed();
  const leave = await Promise.all(Array.from({ length: 200 }, () => deafReader(port, path)));
  await poll(() => facade.streams['deployment']).toBe(200);
  // The clients are of this process, too: of both sides about 30 KiB a stream.
  expect((heapUsed() - before) / 200 / 1024).toBeLessThan(100);
  const reviewed = reviews();
  for (const end of leave) end();
  await poll(() => facade.streams['deployment']).toBe(0);
  expect(reviews()).toBe(reviewed);
});

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;
function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Asks for a stream and reads nothing; resolves to what ends it. */
async function deafReader(port: number, to: string): Promise<() => void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `GET ${to} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nX-Api-Key: ${TOKEN}\r\nX-Tenant-Id: ${TENANT.id}\r\n\r\n`,
  );
  await sleep(20);
  return () => socket.destroy();
}

describe('who does not read', () => {
  it('holds at most one event, and loses the connection', async () => {
    await close();
    await start({ unreadMs: 2500, heartbeatMs: 50 });
    // A page of megabytes, so that the buffers of the kernel are full soon.
    for (let n = 0; n < 90; n += 1)
      facade.seed({
        metadata: { name: `a${n}` },
        spec: { sourceConfig: { buildCommand: 'x'.repeat(100_000) } },
      } as never);
    const leave = await deafReader(Number(new URL(origin).port), '/v2/deployments?limit=100');
    await poll(() => facade.streams['deployments']).toBe(1);
    for (let n = 0; n < 1000 && facade.streams['deployments'] === 1; n += 1) {
      report(n % 2 ? 'UNKNOWN' : 'READY');
      // oxlint-disable-next-line no-await-in-loop -- a change at a time
      await sleep(20);
    }
    expect(facade.streams['deployments']).toBe(0);
    await poll(() => facade.log()).toContain('"streamEnd":"unread","events":1');
    leave();
  });
});
