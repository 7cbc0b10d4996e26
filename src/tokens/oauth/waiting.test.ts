import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import type { FlowAbout } from './flow.ts';
import type { Entry, Vault } from './vault.ts';
import { makeWaiting, type Waiting } from './waiting.ts';

const MOST = 2000;
let waiting: Waiting;
afterEach(() => waiting.endAll());

function flowOf(tenant: string, n: number): Entry<FlowAbout> {
  const subject = { tenant, tenantId: tenant, provider: 'idp', user: 'ada', slot: '' };
  const version = { uid: `${tenant}-${n}`, resourceVersion: '1' };
  return { kind: 'flow', id: `${tenant}-${n}`, subject, about: { expiresAt: '2030-01-01T00:00:00Z' }, version };
}

it('a tenant with many waiters leaves room for others, and not more than a share', async () => {
  // No flow ends, and none is listed before the test does.
  waiting = makeWaiting({ list: () => new Promise(() => undefined) } as unknown as Vault, pino({ level: 'silent' }));
  const ended: string[] = [];
  const wait = async (tenant: string, n: number): Promise<void> => {
    const flow = flowOf(tenant, n);
    await waiting.untilEnded(flow, 600_000, new AbortController().signal);
    ended.push(flow.id);
  };
  for (let n = 0; n < MOST; n += 1) void wait('greedy', n);
  void wait('greedy', MOST);
  await Promise.resolve();
  void wait('modest', 0);
  await new Promise(setImmediate);
  // The one for which there was no room, and the longest wait.
  expect(ended).toEqual([`greedy-${MOST}`, 'greedy-0']);
  for (let n = 1; n < MOST; n += 1) void wait('modest', n);
  await new Promise(setImmediate);
  expect(Object.groupBy(ended, (id) => id.split('-')[0] ?? '')).toMatchObject({
    greedy: { length: 1 + MOST / 2 },
    modest: { length: MOST / 2 },
  });
});
