import { describe, expect, it } from 'vitest';
import { aRecord, uid } from '../../../test/support/cli-world.ts';
import { MOVE, MOVING, revision } from '../../../test/support/database-world.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import {
  askingChange,
  claimsOfMover,
  endingChange,
  finishingChange,
  isChangedBy,
  nextDatabaseOf,
  stoppingChange,
} from './move-steps.ts';

const STOPPED_AT = '2026-02-01T00:00:00Z';
const toCluster = {
  move: { from: { driver: 'pod', number: 0 }, to: { driver: 'cloudnative-pg', number: 1 } },
  moving: { move: 'pod/0 to cloudnative-pg/1', driver: 'pod', instances: 2, maxScale: 3, stoppedAt: STOPPED_AT },
} as const;

describe('what a move writes', () => {
  it('is at first a scale of zero, with its mark and its author', () => {
    const { annotations, spec } = stoppingChange(aRecord(), toCluster.moving, 'anna');
    expect(spec).toEqual({ sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } });
    expect(JSON.parse(annotations[MOVING] ?? '')).toEqual(toCluster.moving);
    expect(annotations[`${MOVING}-by`]).toBe(`${uid} ${STOPPED_AT} anna`);
    // An author of before is none of this move.
    expect(stoppingChange(aRecord(), toCluster.moving, undefined).annotations[`${MOVING}-by`]).toBeNull();
  });

  it('asks for another driver, without the instances of the one before if that has none', () => {
    const claims = { claim: 'x' };
    expect(askingChange(toCluster, { backup: 'b', claims })).toEqual({
      annotations: { [MOVE]: 'pod/0 to cloudnative-pg/1 with b', claim: 'x' },
      spec: { sourceConfig: { resourceSpec: { minScale: null }, database: { driver: 'cloudnative-pg' } } },
    });
    const back = { ...toCluster, move: { from: toCluster.move.to, to: toCluster.move.from } };
    expect(askingChange(back, { backup: undefined, claims })).toEqual({
      annotations: { [MOVE]: 'cloudnative-pg/1 to pod/0', claim: 'x' },
      spec: { sourceConfig: { resourceSpec: { minScale: null }, database: { driver: 'pod', instances: null } } },
    });
  });

  it('has at its end the scale of before', () => {
    expect(finishingChange(toCluster.moving)).toEqual({
      annotations: { [MOVING]: null, [`${MOVING}-by`]: null },
      spec: { sourceConfig: { resourceSpec: { minScale: null, maxScale: 3 } } },
    });
  });

  it('is taken back with all that it has written', () => {
    expect(endingChange(toCluster)).toEqual({
      annotations: { [MOVING]: null, [`${MOVING}-by`]: null, [MOVE]: null, [`${MOVE}-by`]: null },
      spec: {
        sourceConfig: {
          resourceSpec: { minScale: null, maxScale: 3 },
          database: { driver: 'pod', instances: 2 },
        },
      },
    });
  });

  it.each([
    ['nobody', undefined, 'no username'],
    ['a name with a line break', 'a\nb', 'a username that cannot be shown'],
  ])('is asked for by %s in vain', (_what, username, words) => {
    expect(claimsOfMover(aRecord(), username)).toEqual({ refused: expect.stringContaining(words) });
  });

  it.each([
    [{ a: 1 }, { a: 1 }, false],
    [{ a: 1 }, { a: 2 }, true],
    [{}, { a: null }, false],
    [{ a: { b: 1 } }, { a: { b: null } }, true],
    [{ a: [1] }, { a: [1] }, false],
    [{ a: [1] }, { a: [] }, true],
    [undefined, { a: {} }, false],
  ])('%j is changed by %j: %j', (object, patch, expected) => {
    expect(isChangedBy(object, patch)).toBe(expected);
  });
});

describe('nextDatabaseOf', () => {
  const POD = { server: {}, postgres: { image: 'postgres:17' } };
  const CLUSTER = {
    server: {},
    postgres: { image: 'postgres:17', driver: 'cloudnative-pg' },
    movedDatabase: { number: 1 },
  };
  const own = (resolved: object): AppRevision[] => [revision('r', resolved) as unknown as AppRevision];
  const asked = { [MOVE]: 'pod/0 to cloudnative-pg/1', [`${MOVE}-by`]: `${uid} 2 anna` };
  const driver = { sourceConfig: { database: { driver: 'cloudnative-pg' } } };
  const restored = { databaseNumber: 1, databaseRestore: { name: 'b', restoredAt: STOPPED_AT } };

  it.each([
    ['is awaited until Davit has seen the request', {}, POD, asked, toCluster, 'awaited'],
    ['is awaited until a revision has it', { observedGeneration: 2 }, POD, asked, toCluster, 'awaited'],
    ['is forsaken where the request is gone', { observedGeneration: 2 }, POD, {}, toCluster, 'forsaken'],
    ['is empty without its data', { observedGeneration: 2, databaseNumber: 1 }, CLUSTER, asked, toCluster, 'empty'],
    ['is loaded with it', { observedGeneration: 2, ...restored }, CLUSTER, asked, toCluster, 'loaded'],
    [
      'has what another number was loaded with',
      { observedGeneration: 2, ...restored, databaseNumber: 2 },
      CLUSTER,
      asked,
      toCluster,
      'empty',
    ],
    [
      'has its data already, on the way back',
      { observedGeneration: 2, databaseNumber: 1 },
      CLUSTER,
      asked,
      { ...toCluster, moving: { ...toCluster.moving, isBack: true as const } },
      'loaded',
    ],
  ])('%s', (_what, status, resolved, annotations: Record<string, string>, begun, expected) => {
    const record = aRecord(driver, status, { annotations, generation: 2 });
    expect(nextDatabaseOf(record, own(resolved), begun)).toBe(expected);
  });
});
