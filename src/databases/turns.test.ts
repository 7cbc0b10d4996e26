// How many operations stop something at once, and in which order the others follow.

import { expect, it } from 'vitest';
import type { DatastoreOperation, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { isItsTurn, nextInTurn } from './turns.ts';

const NONE: ReadonlySet<string> = new Set();
const WORKS: DatastoreOperationStatus = { phase: 'Running', patch: { datastore: 'postgres', from: 'a:1', to: 'a:2' } };
const WAITS = pending('AtOnce');

function pending(reason: string): DatastoreOperationStatus {
  const lastTransitionTime = '2026-02-02T00:00:00Z';
  return {
    phase: 'Pending',
    conditions: [{ type: 'Complete', status: 'False', reason, message: '', lastTransitionTime }],
  };
}

/** The `at`th one of the platform, each of another deployment. */
function operation(at: number, status?: DatastoreOperationStatus): DatastoreOperation {
  const uid = String(at).padStart(5, '0');
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: `op-${uid}`, namespace: 'team', uid, creationTimestamp: '2026-02-02T00:00:00Z' },
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
  expect(isItsTurn(own, [own, ...others], NONE, 2)).toBe(turn);
});

it('counts what this process has begun before its cache says so', () => {
  expect(isItsTurn(own, [own, operation(6)], new Set(['00006']), 1)).toBe(false);
});

it('wakes the one that has waited longest', () => {
  const all = [operation(1, WORKS), operation(4, WAITS), operation(2, WAITS), operation(3, pending('Paused'))];
  expect(nextInTurn(all)?.metadata.name).toBe('op-00002');
  expect(nextInTurn([own])).toBeUndefined();
});

it('lets a thousand through, never more than seven at once, the oldest first', () => {
  let all = Array.from({ length: 1000 }, (_one, at) => operation(at));
  const ended: string[] = [];
  let most = 0;
  for (let round = 0; ended.length < 1000; round += 1) {
    if (round > 1000) throw new Error('They do not come to an end.');
    all = all.filter(({ metadata, status }) => {
      if (status?.phase === 'Running') ended.push(metadata.name);
      return status?.phase !== 'Running';
    });
    for (const one of round === 0 ? all.toReversed() : all) {
      const status = isItsTurn(one, all, NONE, 7) ? WORKS : WAITS;
      if (status !== one.status) all = all.map((other) => (other === one ? { ...one, status } : other));
    }
    most = Math.max(most, all.filter(({ status }) => status?.phase === 'Running').length);
  }
  expect(most).toBe(7);
  // The first round begins before all of them have said that they wait.
  expect(ended.slice(7)).toEqual(ended.slice(7).toSorted());
}, 60_000);
