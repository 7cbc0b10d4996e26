// Accept: text/event-stream on logs: the last lines, then each line when it is written.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serialRevisionId } from '../../../src/deployments/record/revision-id.ts';
import { APP_DEPLOYMENTS } from '../../../src/schema/app-deployment.ts';
import { type EventReader, openStream } from '../../support/event-reader.ts';
import { aBody, type Facade, listen, makeFacade, OTHER_TENANT, SOMEBODY, TENANT, TOKEN } from './facade.ts';
import { type GrowingLogs, growLogs } from './growing-logs.ts';

let facade: Facade;
let origin: string;
let id: string;
let logs: GrowingLogs;
const readers: EventReader[] = [];

async function start(streamLimits: object = {}): Promise<void> {
  facade = await makeFacade({}, { streamLimits });
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  logs = growLogs(facade);
  origin = await listen(facade);
}
/** The machine may be busy. */
function poll<T>(read: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(read, { timeout: 60_000 });
}
beforeEach(() => start());
afterEach(close);
async function close(): Promise<void> {
  for (const reader of readers.splice(0)) reader.close();
  const closed = facade.app.close();
  facade.app.server.closeAllConnections();
  await closed;
}

async function open(body: object = {}, headers: Record<string, string> = {}, rest = ''): Promise<EventReader> {
  const to = `/v1/projects/${id}${rest}/deploy_logs`;
  const reader = await openStream(origin, to, { method: 'POST', body, headers: { ...SOMEBODY, ...headers } });
  readers.push(reader);
  return reader;
}
/** So many lines, each as its message; or what came instead. */
async function messages(reader: EventReader, count: number): Promise<string> {
  const seen: string[] = [];
  for (let n = 0; n < count; n += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const event = await reader.next();
    seen.push(typeof event === 'string' ? event : event.event === 'log' ? event.data.message : event.event);
    if (typeof event !== 'string' && event.id !== undefined) lastId = event.id;
  }
  return seen.join(' ');
}
let lastId = '';

it('has the last lines of all pods, oldest first, then each line when it is written', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  a.write(1, 'one');
  b.write(2, 'two');
  a.write(3, 'three ERROR', '.5');
  const reader = await open({ limit: 2 });
  expect([reader.status, reader.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect(await reader.next()).toMatchObject({
    event: 'log',
    data: { message: 'two', pod: 'shop-b', container: 'server' },
  });
  expect(await reader.next()).toMatchObject({
    data: { message: 'three ERROR', level: 'ERROR', timestamp: '2026-01-01T00:00:03.500000000Z' },
  });
  expect(await reader.next(200)).toBe('nothing');
  b.write(5, 'five');
  a.write(4, 'four');
  // They come together, and are put in order.
  expect(await messages(reader, 2)).toBe('four five');
  // A connection for each container, with the caller's own token, and no others once it goes on.
  expect(logs.open).toBe(2);
  expect(new Set(logs.reads.map(({ token }) => token))).toEqual(new Set([TOKEN]));
  const { length } = logs.reads;
  a.write(6, 'six');
  expect(await messages(reader, 1)).toBe('six');
  expect(logs.reads).toHaveLength(length);
});

/** Containers are read side by side. */
async function anyOrder(reader: Awaited<ReturnType<typeof open>>, count: number): Promise<string[]> {
  const read: string[] = [];
  // oxlint-disable-next-line no-await-in-loop -- one stream
  while (read.length < count) read.push(await messages(reader, 1));
  return read.toSorted();
}

it('says nothing twice and leaves nothing out when it is resumed', async () => {
  const [a, b] = [logs.start(id, 'shop-a'), logs.start(id, 'shop-b')];
  a.write(1, 'a1');
  a.write(1, 'a1 again');
  b.write(1, 'b1');
  const first = await open();
  expect(await anyOrder(first, 3)).toEqual(['a1', 'a1 again', 'b1']);
  a.write(2, 'a2');
  expect(await messages(first, 1)).toBe('a2');
  first.close();
  // Older than what was told of the other: by time alone it would be lost.
  b.write(1, 'b late', '.7');
  a.write(2, 'a2 again');
  const c = logs.start(id, 'shop-c');
  c.write(2, 'c new', '.1');
  const again = await open({}, { 'last-event-id': lastId });
  expect(await anyOrder(again, 3)).toEqual(['a2 again', 'b late', 'c new']);
  expect(await again.next(300)).toBe('nothing');
});

it('is resumed in the middle of what came together', async () => {
  const a = logs.start(id, 'shop-a');
  for (let n = 0; n < 20; n += 1) a.write(n, `line-${n}`);
  const reader = await open();
  expect(await messages(reader, 7)).toMatch(/line-6$/);
  reader.close();
  const again = await open({}, { 'last-event-id': lastId });
  expect(await messages(again, 13)).toMatch(/^line-7 .* line-19$/);
});

it.each(['made up', 'v1~', 'v2~~', '~'.repeat(3000)])('begins as ever with an id that is none: %s', async (made) => {
  logs.start(id, 'shop-a').write(1, 'one');
  expect(await messages(await open({}, { 'last-event-id': made }), 1)).toBe('one');
});

it('joins pods that come, leaves those that go, and reads a container again that was restarted', async () => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  const reader = await open();
  expect(await messages(reader, 1)).toBe('one');
  const b = logs.start(id, 'shop-b');
  b.write(2, 'two');
  // A rollout changes the record or a revision, which tells that pods have come.
  const revision = facade.snapshot({ state: 'DEPLOYING' });
  expect(await messages(reader, 1)).toBe('two');
  a.write(3, 'last words');
  a.end();
  expect(await messages(reader, 1)).toBe('last words');
  a.write(4, 'unseen');
  a.restart();
  a.write(5, 'again');
  facade.revisions.put(revision);
  expect(await messages(reader, 2)).toBe('unseen again');
  b.remove();
  await poll(() => logs.open).toBe(1);
  expect(await reader.next(1500)).toBe('nothing');
  expect(logs.open).toBe(1);
});

it('reads on where a connection broke', async () => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  const reader = await open();
  expect(await messages(reader, 1)).toBe('one');
  a.cut();
  a.write(1, 'one more');
  expect(await messages(reader, 1)).toBe('one more');
  expect(await reader.next(300)).toBe('nothing');
});

it.each<[string, object, string]>([
  ['of a level', { level: 'ERROR' }, 'an ERROR an ERROR later'],
  ['with a text', { query: 'LATER' }, 'an ERROR later later'],
])('only lines %s', async (_name, query, wanted) => {
  const a = logs.start(id, 'shop-a');
  a.write(1, 'one');
  a.write(2, 'an ERROR');
  const reader = await open(query);
  a.write(3, 'an ERROR later');
  a.write(4, 'later');
  expect(await messages(reader, 2)).toBe(wanted);
  expect(await reader.next(300)).toBe('nothing');
});

it('from a time on', async () => {
  const a = logs.start(id, 'shop-a');
  for (let n = 0; n < 200; n += 1) a.write(n, `line-${n}`);
  expect(await messages(await open({ start_time: '2026-01-01T01:01:40+01:00' }), 100)).toMatch(
    /^line-100 .* line-199$/,
  );
});

it('of one revision', async () => {
  facade.snapshot();
  const revision = serialRevisionId(id, 1);
  const labels = {
    'davit.dev/deployment': 'shop',
    'davit.dev/deployment-uid': id,
    'davit.dev/component': 'server',
    'davit.dev/revision': revision,
  };
  logs.start(id, 'shop-old').write(1, 'old');
  logs.start(id, 'shop-a', { labels }).write(2, 'of the revision');
  expect(await messages(await open({}, {}, `/revisions/${revision.toUpperCase()}`), 1)).toBe('of the revision');
  expect((await open({}, {}, `/revisions/${id}`)).status).toBe(404);
});

it.each<[object, string]>([
  [{ order: 'desc' }, 'order'],
  [{ offset: 'MjAyNi0' }, 'offset'],
  [{ end_time: '2026-01-01T00:00:00Z' }, 'end_time'],
])('%j is of pages: 422', async (body, field) => {
  const reader = await open(body);
  expect(reader.status).toBe(422);
  await poll(() => reader.text()).toContain(`["body","${field}"]`);
  expect((await open({ ...body, fieldValidation: 'x' })).status).toBe(422);
});

it('names unknown fields of the body first', async () => {
  logs.start(id, 'shop-a').write(1, 'one');
  const reader = await open({ limt: 5 });
  expect(await reader.next()).toMatchObject({
    event: 'warnings',
    data: [{ loc: ['body', 'limt'], msg: 'is not a known field: did you mean limit?' }],
  });
  expect(await messages(reader, 1)).toBe('one');
});

describe('rights', () => {
  it('are those to the logs, told before the stream begins', async () => {
    facade.kube.allow(({ subresource }) => subresource !== 'log');
    const reader = await open();
    expect([reader.status, reader.headers.get('content-type')]).toEqual([403, 'application/json; charset=utf-8']);
    const foreign = await open({}, { 'x-tenant-id': OTHER_TENANT.id });
    expect(foreign.status).toBe(404);
    expect(logs.reads).toEqual([]);
  });

  it('that end end the stream before another line, and all that is read for it', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    const reader = await open();
    expect(await messages(reader, 1)).toBe('one');
    facade.kube.allow(({ subresource }) => subresource !== 'log');
    facade.clock.ms += 60_000;
    a.write(2, 'secret');
    expect(await reader.next()).toMatchObject({ event: 'end', data: { reason: 'refused', status: 403 } });
    expect(reader.text()).not.toContain('secret');
    await poll(() => logs.open).toBe(0);
  });
});

describe('ends', () => {
  it('with gone when the deployment is', async () => {
    const a = logs.start(id, 'shop-a');
    const reader = await open();
    a.write(1, 'last words');
    expect(await messages(reader, 1)).toBe('last words');
    facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
    facade.records.drop(id);
    expect(await reader.next()).toMatchObject({ event: 'gone' });
    await poll(() => logs.open).toBe(0);
  });

  it('with everything that was read for it when its reader goes away, and has ended long before when it never reads', async () => {
    const a = logs.start(id, 'shop-a');
    a.write(1, 'one');
    const reader = await open();
    expect(await messages(reader, 1)).toBe('one');
    await poll(() => logs.open).toBe(1);
    reader.close();
    await poll(() => logs.open).toBe(0);
    await poll(() => facade.log()).toMatch(/deploy_logs","status":200,.*"streamEnd":"left","events":1/);
    expect(facade.streams).toEqual({ deploy_logs: 0 });
  });
});

it('follows so many containers and no more, and says so', async () => {
  for (let n = 0; n < 18; n += 1) logs.start(id, `shop-${n}`).write(n, `line-${n}`);
  const reader = await open({ start_time: '2026-01-01T00:00:00Z' });
  const seen = new Set<string>();
  for (let n = 0; n < 17; n += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const event = await reader.next();
    seen.add(typeof event === 'string' ? event : event.event === 'log' ? event.data.message : event.event);
  }
  expect([seen.size, seen.has('truncated'), logs.open]).toEqual([17, true, 16]);
  expect(await reader.next(1500)).toBe('nothing');
});

it('reads what has ended beside as much as it follows, and once', async () => {
  for (let n = 0; n < 16; n += 1) logs.start(id, `shop-${n}`);
  for (let n = 0; n < 4; n += 1) {
    const one = logs.start(id, `shop-ended-${n}`);
    one.write(n, `ended-${n}`);
    one.end();
  }
  const reader = await open({ start_time: '2026-01-01T00:00:01Z' });
  // Lines of several pods come in the order in which their logs are read.
  expect((await messages(reader, 3)).split(' ').toSorted()).toEqual(['ended-1', 'ended-2', 'ended-3']);
  const { length } = logs.reads;
  const revision = facade.snapshot({ state: 'DEPLOYING' });
  expect(await reader.next(1500)).toBe('nothing');
  facade.revisions.put(revision);
  expect([await reader.next(1500), logs.open, logs.reads.length]).toEqual(['nothing', 16, length]);
});

it('holds little for a reader that does not read, however much is written', async () => {
  await close();
  await start({ unreadMs: 1000, heartbeatMs: 100 });
  const a = logs.start(id, 'shop-a');
  const answer = await fetch(`${origin}/v1/projects/${id}/deploy_logs`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id },
  });
  expect(answer.status).toBe(200);
  await sleep(100);
  // What is read and not sent is bounded, and so is what is sent and not read: most of what is written is not read at all.
  let written = 0;
  for (let n = 0; n < 400 && facade.streams['deploy_logs'] === 1; n += 1) {
    for (let line = 0; line < 20; line += 1) a.write(n, 'x'.repeat(10_000));
    written += 20;
    // oxlint-disable-next-line no-await-in-loop -- it goes on writing
    await sleep(10);
  }
  await poll(() => facade.streams['deploy_logs']).toBe(0);
  await poll(() => facade.log()).toContain('"streamEnd":"unread"');
  await poll(() => logs.open).toBe(0);
  const told = Number(/"streamEnd":"unread","events":(\d+)/.exec(facade.log())?.[1]);
  expect([told > 0, written > 1000]).toEqual([true, true]);
});
