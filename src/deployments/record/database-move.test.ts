// What the annotation of a move may say, when it holds, and with what a database begins.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import type { Database } from '../../schema/database.ts';
import { MOVE_DATABASE_ANNOTATION, MOVE_DATABASE_BY_ANNOTATION } from '../../schema/meta.ts';
import { databaseOf, moveAsked, moveIn, moveNamed, moveText, restoreIdOf, restoreOf } from './database-move.ts';
import { databaseNumberIn, names, restoreNumberIn } from './names.ts';

const BACKUP = '20260201T020000Z-0000000a';

function revised(resolved: object): AppRevision {
  const revision = aRevision(aRecord());
  return { ...revision, spec: { ...revision.spec, resolved: { ...revision.spec.resolved, ...resolved } } };
}

function asking(move: string, database: Database): AppDeployment {
  const record = aRecord({ sourceConfig: { database } });
  const { uid, generation } = record.metadata;
  const by = { [MOVE_DATABASE_BY_ANNOTATION]: `${uid} ${generation} anna` };
  return { ...record, metadata: { ...record.metadata, annotations: { [MOVE_DATABASE_ANNOTATION]: move, ...by } } };
}

const MOVED = { number: 2, backup: BACKUP };
const without = { postgres: undefined };

describe('the annotation of a move', () => {
  it.each([
    `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
    `cloudnative-pg/12 to pod/9999 with ${BACKUP}`,
    'cloudnative-pg/1 to pod/0',
  ])('is read as it is written: %s', (text) => {
    const move = moveIn(text);
    expect(move && moveText(move)).toBe(text);
  });

  it.each([
    '',
    'pod to cloudnative-pg',
    'pod/0 to cloudnative-pg/10000',
    'pod/00 to cloudnative-pg/1',
    'pod/0 to mysql/1',
    'pod/0 to cloudnative-pg/1 with',
    'pod/0 to cloudnative-pg/1 with newest',
    ` pod/0 to cloudnative-pg/1 with ${BACKUP}`,
    `pod/0 to cloudnative-pg/1 with ${BACKUP}\n`,
  ])('is no move: %j', (text) => {
    expect(moveIn(text)).toBeUndefined();
  });

  it('holds for the database and the driver that it names, and for no other', () => {
    const move = `pod/0 to cloudnative-pg/1 with ${BACKUP}`;
    const now = revised({});
    expect(databaseOf(now)).toEqual({ driver: 'pod', number: 0 });
    expect(moveAsked(asking(move, { driver: 'cloudnative-pg' }), [now])).toEqual(moveIn(move));
    expect(moveAsked(asking(move, { driver: 'pod' }), [now])).toBeUndefined();
    expect(moveAsked(asking(move, {}), [now])).toBeUndefined();
    expect(moveAsked(asking(move, { driver: 'cloudnative-pg' }), [])).toBeUndefined();
    // An external database, and another one of the record.
    expect(moveAsked(asking(move, { driver: 'cloudnative-pg' }), [revised(without)])).toBeUndefined();
    expect(moveAsked(asking(move, { driver: 'cloudnative-pg' }), [revised({ movedDatabase: MOVED })])).toBeUndefined();
    // Without who asks, and after another's change.
    const record = asking(move, { driver: 'cloudnative-pg' });
    const { annotations: { [MOVE_DATABASE_ANNOTATION]: text = '' } = {}, generation = 0 } = record.metadata;
    for (const metadata of [
      { ...record.metadata, annotations: { [MOVE_DATABASE_ANNOTATION]: text } },
      { ...record.metadata, generation: generation + 1 },
    ]) {
      expect(moveAsked({ ...record, metadata }, [now])).toBeUndefined();
      expect(moveNamed({ ...record, metadata }, [now])).toEqual(moveIn(move));
    }
    // To itself.
    expect(moveAsked(asking('pod/0 to pod/0', { driver: 'pod' }), [now])).toBeUndefined();
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
