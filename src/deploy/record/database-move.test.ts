// When an operation asks for another database, and with what a database begins.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import type { OperationPhase } from '../../kinds/operation-phases.ts';
import { moveOf, restoreIdOf, restoreOf } from './database-move.ts';
import { databaseNumberIn, names, restoreNumberIn } from './names.ts';

const BACKUP = '20260201T020000Z-0000000a';

function revised(resolved: object): AppRevision {
  const revision = aRevision(aRecord());
  return { ...revision, spec: { ...revision.spec, resolved: { ...revision.spec.resolved, ...resolved } } };
}

const MOVED = { number: 2, backup: BACKUP };
const without = { postgres: undefined };

describe('the move that an operation asks for', () => {
  const [from, to] = [
    { driver: 'pod', number: 0 },
    { driver: 'cloudnative-pg', number: 2 },
  ] as const;
  const operation = (phase: OperationPhase): DatastoreOperation => ({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: 'up', namespace: 'team', uid: 'operation' },
    spec: { deployment: 'shop', action: 'Move', requestedBy: 'anna' },
    status: { phase, move: { from, to, backup: BACKUP } },
  });
  const [first, second] = [revised({}), revised({ movedDatabase: MOVED })];

  it('is of its phase, and spent when the newest revision has the database', () => {
    const asked = { from, to, backup: BACKUP, operation: 'operation', requestedBy: 'anna', hasData: true };
    expect(moveOf(operation('Loading'), [first])).toEqual(asked);
    expect(moveOf(operation('Loading'), [second, first])).toBeUndefined();
    expect(moveOf(operation('Loading'), [revised(without)])).toBeUndefined();
    expect(moveOf(operation('Loading'), [])).toBeUndefined();
    for (const phase of ['Stopping', 'Running', 'Starting', 'Succeeded', 'Failed'] as const)
      expect(moveOf(operation(phase), [first])).toBeUndefined();
  });

  it('leads back without a backup', () => {
    expect(moveOf(operation('Returning'), [second, first])).toEqual({
      from: to,
      to: from,
      operation: 'operation',
      requestedBy: 'anna',
      hasData: true,
    });
    expect(moveOf(operation('Returning'), [revised(without)])).toBeUndefined();
    expect(moveOf(operation('Returning'), [first])).toBeUndefined();
  });
});

describe('what a database begins with', () => {
  const record = aRecord({ sourceConfig: { database: { restore: { from: 'old' } } } });

  it('is what the record says for the first one, and the backup of the move for another', () => {
    expect(restoreOf(record, [])).toEqual({ from: 'old' });
    expect(restoreOf(record, [revised({})])).toEqual({ from: 'old' });
    expect(restoreOf(record, [revised({ movedDatabase: { number: 0 } })])).toEqual({ from: 'old' });
    expect(restoreOf(record, [revised({ movedDatabase: MOVED })])).toEqual({
      from: record.metadata.name,
      backup: BACKUP,
    });
    expect(restoreOf(record, [revised({ movedDatabase: { ...MOVED, backupOf: 'older' } })])).toEqual({
      from: 'older',
      backup: BACKUP,
    });
    expect(restoreOf(record, [revised({ movedDatabase: { number: 1 } })])).toBeUndefined();
    expect(restoreOf(record, [revised({ ...without, movedDatabase: MOVED })])).toBeUndefined();
  });

  it('leaves another mark in each', () => {
    const marks = [{}, { movedDatabase: MOVED }, { movedDatabase: { ...MOVED, number: 3 } }].map((resolved) =>
      restoreIdOf(record, revised(resolved)),
    );
    expect(new Set(marks).size).toBe(3);
    expect(marks[0]).toBe(record.metadata.uid);
  });
});

it('the objects of each database have names of their own, which CloudNativePG takes', () => {
  const longest = 'a'.repeat(40);
  for (const record of ['shop', longest]) {
    const all = [0, 1, 9999].map((number) => names(record, number));
    for (const [at, one] of all.entries()) {
      expect(one.postgres.length).toBeLessThanOrEqual(50);
      expect(databaseNumberIn(record, one.postgresClaim)).toBe([0, 1, 9999][at]);
      expect(restoreNumberIn(record, one.restore)).toBe([0, 1, 9999][at]);
    }
    expect(new Set(all.flatMap(({ postgres, restore }) => [postgres, restore])).size).toBe(6);
  }
  for (const other of [
    'shop--redis',
    'shop---pg0',
    'shop---pg01',
    'shop---pg1-1',
    'shop-2---pg1',
    'shop---pg10000',
    'x',
  ])
    expect(databaseNumberIn('shop', other)).toBeUndefined();
  // By hand, by the API server's name, of another record.
  for (const other of [
    'shop---restore-x7k2p',
    'shop---pg1-restore-x',
    'shop-2---restore',
    'shop---pg0-restore',
    'shop',
  ])
    expect(restoreNumberIn('shop', other)).toBeUndefined();
});
