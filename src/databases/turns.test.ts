// How many operations stop something at once, and in which order the others follow.

import { describe, expect, it } from 'vitest';
import type { DatastoreOperation, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { isItsTurn, nextInTurn } from './turns.ts';

const NOW = new Date('2026-02-02T00:10:00Z');
const places = (atOnce: number, begun: readonly string[] = []): Parameters<typeof isItsTurn>[2] => ({
  begun: new Set(begun),
  atOnce,
  now: NOW,
});
const WORKS: DatastoreOperationStatus = {
  phase: 'Running',
  startedAt: '2026-02-02T00:00:00Z',
  patch: { datastore: 'postgres', from: 'a:1', to: 'a:2' },
};
const WAITS = pending('AtOnce');

function pending(reason: string): DatastoreOperationStatus {
  const lastTransitionTime = '2026-02-02T00:00:00Z';
  return {
    phase: 'Pending',
    conditions: [{ type: 'Complete', status: 'False', reason, message: '', lastTransitionTime }],
  };
}

/** The `at`th one of the platform, each of another deployment. */
function operation(at: number, status?: DatastoreOperationStatus, namespace = 'team'): DatastoreOperation {
  const uid = String(at).padStart(5, '0');
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: `op-${uid}`, namespace, uid, creationTimestamp: '2026-02-02T00:00:00Z' },
    spec: { deployment: `shop-${at}`, action: 'Patch', patch: { datastore: 'postgres' } },
    ...(status && { status }),
  };
}

const own = operation(5);
it.each<[what: string, others: DatastoreOperation[], turn: boolean]>([
  ['nothing else is there', [], true],
  ['one works', [operation(1, WORKS)], true],
  ['as many work as may', [operation(1, WORKS), operation(2, WORKS)], false],
  [
    'the others have ended',
    [operation(1, { ...WORKS, phase: 'Succeeded' }), operation(2, { ...WORKS, phase: 'Failed' })],
    true,
  ],
  ['an older one waits for the last place', [operation(1, WORKS), operation(2, WAITS)], false],
  ['a younger one waits', [operation(1, WORKS), operation(9, WAITS)], true],
  ['an older one waits for something else', [operation(1, WORKS), operation(2, pending('Paused'))], true],
  ['backups are made', [operation(1, { phase: 'Running' }), operation(2, { phase: 'Running' })], true],
])('of two places it has one where %s', (_what, others, turn) => {
  expect(isItsTurn(own, [own, ...others], places(2))).toBe(turn);
});

it('counts what this process has begun before its cache says so', () => {
  expect(isItsTurn(own, [own, operation(6)], places(1, ['00006']))).toBe(false);
});

describe('a tenant whose operations do not end', () => {
  const held = { ...WORKS, startedAt: '2026-02-01T23:54:59Z' };

  it('holds the turns of others for a quarter of an hour', () => {
    expect(isItsTurn(own, [own, operation(1, { ...held, startedAt: '2026-02-01T23:55:00Z' })], places(1))).toBe(false);
    expect(isItsTurn(own, [own, operation(1, held)], places(1))).toBe(true);
  });

  it('comes after those that have fewer', () => {
    const waiting = operation(2, WAITS);
    const others = operation(9, WAITS, 'other');
    const all = [operation(1, held), waiting, others];
    expect(nextInTurn(all)).toBe(others);
    expect([isItsTurn(others, all, places(1)), isItsTurn(waiting, all, places(1))]).toEqual([true, false]);
  });
});

it('wakes the one that has waited longest', () => {
  const all = [operation(1, WORKS), operation(4, WAITS), operation(2, WAITS), operation(3, pending('Paused'))];
  expect(nextInTurn(all)?.metadata.name).toBe('op-00002');
  expect(nextInTurn([own])).toBeUndefined();
});

it('lets two hundred through, never more than seven at once, the oldest first', () => {
  let all = Array.from({ length: 200 }, (_one, at) => operation(at));
  const ended: string[] = [];
  let most = 0;
  for (let round = 0; ended.length < 200; round += 1) {
    if (round > 200) throw new Error('They do not come to an end.');
    all = all.filter(({ metadata, status }) => {
      if (status?.phase === 'Running') ended.push(metadata.name);
      return status?.phase !== 'Running';
    });
    for (const one of round === 0 ? all.toReversed() : all) {
      const status = isItsTurn(one, all, places(7)) ? WORKS : WAITS;
      if (status !== one.status) all = all.map((other) => (other === one ? { ...one, status } : other));
    }
    most = Math.max(most, all.filter(({ status }) => status?.phase === 'Running').length);
  }
  expect(most).toBe(7);
  // The first round begins before all of them have said that they wait.
  expect(ended.slice(7)).toEqual(ended.slice(7).toSorted());
});
