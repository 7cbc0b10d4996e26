// What a page of logs may cost the process, the API server's connections and everybody else, whatever the pods have written.

import { request as httpRequest } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeployLogs } from '../../../src/logs/payloads.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { linesOf } from '../../support/log-lines.ts';
import { type Answer, aBody, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';
import { costOf, serveLogs } from './log-source.ts';

const MEBIBYTE = 1024 * 1024;
const LOG = linesOf(4 * MEBIBYTE);

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
});
const call = (body: object = {}): Promise<Answer> => facade.call('POST', `/v1/projects/${id}/deploy_logs`, body);
const ticks = (ms = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await ticks(2);
}

describe('20 pods of 10 containers that wrote 4 MiB each', () => {
  it.each<[string, object, number, boolean]>([
    ['the newest lines', {}, 50, false],
    ['the oldest lines', { order: 'asc' }, 50, false],
    ['lines of a level that none has', { level: 'CRITICAL' }, 0, true],
    ['a text that none has', { query: 'nowhere' }, 0, true],
  ])('%s', async (_name, body, lines, truncated) => {
    const { seen } = serveLogs(facade, id, 20, 10, LOG);
    let answer: Answer | undefined;
    const { mebibytes, lagMs } = await costOf(async () => (answer = await call(body)));
    expect(answer?.status).toBe(200);
    expect(DeployLogs.parse(answer?.body)).toEqual(answer?.body);
    expect([answer?.body.logs.length, answer?.body.truncated]).toEqual([lines, truncated]);
    // One piece of each stream may be under way when the budget ends.
    expect(seen.bytes).toBeLessThanOrEqual(16 * MEBIBYTE + 4 * 64 * 1024);
    expect(seen.mostOpen).toBeLessThanOrEqual(4);
    expect(seen.open).toBe(0);
    expect(mebibytes).toBeLessThan(64);
    // The machine may be busy; to sort all of it takes seconds.
    expect(lagMs).toBeLessThan(500);
  });
});

it('many requests share a few streams between tenants, and excess requests get 429', async () => {
  const source = serveLogs(facade, id, 4, 4, linesOf(MEBIBYTE));
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  source.hold = () => held;
  const answers = Array.from({ length: 20 }, () => call());
  await until(() => source.seen.open === 6);
  await ticks();
  expect(source.seen.mostOpen).toBe(6);
  release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  // Two are under way and eight wait.
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 429).length,
  ]).toEqual([10, 10]);
  expect(source.seen.open).toBe(0);
});

it('a closed connection ends its streams', async () => {
  const source = serveLogs(facade, id, 4, 4, LOG);
  source.hold = () => ticks(5);
  await facade.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = facade.app.server.address() as { port: number };
  const sent = httpRequest({
    port,
    method: 'POST',
    path: `/v1/projects/${id}/deploy_logs`,
    headers: { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id },
  });
  sent.on('error', () => undefined);
  sent.end();
  await until(() => source.seen.open > 0);
  sent.destroy();
  await until(() => source.seen.open === 0);
  const { begun } = source.seen;
  await ticks(50);
  expect([source.seen.begun, begun < 16]).toEqual([begun, true]);
  // The slots are free again.
  source.hold = undefined;
  expect((await call()).status).toBe(200);
  await facade.app.close();
});

it('is truncated if a container wrote more than its limit, or there are more pods', async () => {
  serveLogs(facade, id, 1, 1, linesOf(MEBIBYTE));
  expect((await call({ order: 'asc' })).body.truncated).toBe(false);
  serveLogs(facade, id, 21, 1, linesOf(MEBIBYTE / 16));
  expect((await call()).body.truncated).toBe(true);
});

it('a node that does not answer does not affect the lines of others, and is an error if no node answers', async () => {
  serveLogs(facade, id, 2, 1, linesOf(MEBIBYTE / 16));
  const { withToken } = facade.kube;
  const broken = (fails: (path: string) => boolean): void => {
    facade.kube.withToken = (token) => {
      const client = withToken(token);
      return {
        ...client,
        async *stream(path, options) {
          if (fails(path)) throw new Unavailable('read: no route to host');
          yield* client.stream(path, options);
        },
      };
    };
  };
  broken((path) => path.includes('shop-0'));
  const { status, body } = await call();
  expect([status, body.truncated, body.logs.length]).toEqual([200, true, 16]);
  broken(() => true);
  expect((await call()).status).toBe(503);
});
