import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Found,
  nextForGone,
  nextForThere,
  type ServerFacts,
  type Step,
  sharedDatabaseName,
  sharedMark,
  type WantedThere,
} from './shared-database.ts';

const UID = '0B1C2D3E-0000-4000-8000-00000000000a';
const NAME = sharedDatabaseName('davit', UID);
const MARK = sharedMark(UID);
const FACTS: ServerFacts = { version: 150_004, isReadOnly: false, mayManage: true, connections: 97, given: 0 };
const WANTED: WantedThere = { name: NAME, mark: MARK, connections: 10, reserved: 7, hasPassword: true };
const ROLE = { mark: MARK, canLogin: true, connections: 10, elevated: [] };
const DATABASE = { owner: NAME, publicConnects: false, isOpen: true };

/** What a step leaves, as the server would show it. */
function after(found: Found, step: Step): Found {
  const { role = ROLE, database = DATABASE } = found;
  switch (step.do) {
    case 'create role':
      return { ...found, role: { mark: step.mark, canLogin: true, connections: step.connections, elevated: [] } };
    case 'create database':
      return { ...found, database: { owner: step.name, publicConnects: true, isOpen: false } };
    case 'restrict role':
      return { ...found, role: { ...role, elevated: [] } };
    case 'close to others':
      return { ...found, database: { ...database, publicConnects: false } };
    case 'open':
      return { ...found, database: { ...database, isOpen: true } };
    case 'limit':
      return { ...found, role: { ...role, connections: step.connections } };
    case 'lock role':
      return { ...found, role: { ...role, canLogin: false } };
    case 'drop database':
      return { role };
    case 'drop role':
      return database === DATABASE && found.database === undefined ? {} : { database };
  }
}

describe('names', () => {
  it('follow from the uid, are identifiers of PostgreSQL, and differ by installation', () => {
    expect(NAME).toBe('davit_0b1c2d3e00004000800000000000000a');
    expect(sharedDatabaseName('x'.repeat(16), UID).length).toBeLessThanOrEqual(63);
    expect(sharedDatabaseName('other', UID)).not.toBe(NAME);
  });
});

describe('a database that should be there', () => {
  it('is made in steps, of which each may be the last before a crash', () => {
    let found: Found = {};
    const done: string[] = [];
    for (;;) {
      const next = nextForThere({ facts: FACTS, found }, WANTED);
      if (next.is !== 'step') {
        expect(next).toEqual({ is: 'done' });
        break;
      }
      done.push(next.step.do);
      found = after(found, next.step);
    }
    expect(done).toEqual(['create role', 'create database', 'close to others', 'open']);
  });

  it.each<[string, Found, Partial<WantedThere>, Partial<ServerFacts>, unknown]>([
    ['nothing there, no Secret', {}, { hasPassword: false }, {}, { is: 'needs password' }],
    ['role without database, no Secret', { role: ROLE }, { hasPassword: false }, {}, { is: 'needs password' }],
    ['data, no Secret', { role: ROLE, database: DATABASE }, { hasPassword: false }, {}, { is: 'password lost' }],
    [
      'open to others',
      { role: ROLE, database: { ...DATABASE, publicConnects: true } },
      {},
      {},
      { is: 'step', step: { do: 'close to others', name: NAME } },
    ],
    [
      'closed and open to others',
      { role: ROLE, database: { ...DATABASE, publicConnects: true, isOpen: false } },
      {},
      {},
      { is: 'step', step: { do: 'close to others', name: NAME } },
    ],
    [
      'a superuser',
      { role: { ...ROLE, elevated: ['SUPERUSER'] }, database: DATABASE },
      {},
      {},
      { is: 'step', step: { do: 'restrict role', name: NAME, attributes: ['SUPERUSER'] } },
    ],
    [
      'another limit',
      { role: ROLE, database: DATABASE },
      { connections: 20 },
      { given: 10 },
      { is: 'step', step: { do: 'limit', name: NAME, connections: 20 } },
    ],
    [
      'no limit',
      { role: { ...ROLE, connections: -1 }, database: DATABASE },
      {},
      { given: 90 },
      { is: 'step', step: { do: 'limit', name: NAME, connections: 10 } },
    ],
    [
      'a lower limit on a full server',
      { role: { ...ROLE, connections: 50 }, database: DATABASE },
      {},
      { given: 200 },
      { is: 'step', step: { do: 'limit', name: NAME, connections: 10 } },
    ],
    [
      'its own share again',
      { role: { ...ROLE, connections: 5 }, database: DATABASE },
      {},
      { given: 85 },
      { is: 'step', step: { do: 'limit', name: NAME, connections: 10 } },
    ],
  ])('%s', (_case, found, wanted, facts, next) => {
    expect(nextForThere({ facts: { ...FACTS, ...facts }, found }, { ...WANTED, ...wanted })).toEqual(next);
  });

  it.each<[string, Found, Partial<WantedThere>, Partial<ServerFacts>, string, RegExp]>([
    ['a foreign role', { role: { ...ROLE, mark: undefined } }, {}, {}, 'NameConflict', /role davit_/],
    [
      'a role of another record',
      { role: { ...ROLE, mark: sharedMark('other') }, database: DATABASE },
      {},
      {},
      'NameConflict',
      /role/,
    ],
    [
      'a foreign database',
      { role: ROLE, database: { ...DATABASE, owner: 'postgres' } },
      {},
      {},
      'NameConflict',
      /database davit_/,
    ],
    ['a database without its role', { database: DATABASE }, {}, {}, 'NameConflict', /database davit_/],
    ['a full server', {}, {}, { given: 85 }, 'SharedServerFull', /no room for 10 connections: 5 of 90 are left/],
    ['a server smaller than what is reserved', {}, {}, { connections: 3 }, 'SharedServerFull', /0 of 0 are left/],
    ['a standby', {}, {}, { isReadOnly: true }, 'SharedServerUnusable', /standby/],
    ['an old server', {}, {}, { version: 120_019 }, 'SharedServerUnusable', /PostgreSQL 12/],
    ['no rights', {}, {}, { mayManage: false }, 'SharedServerUnusable', /CREATEROLE and CREATEDB/],
    [
      'a locked role',
      { role: { ...ROLE, canLogin: false }, database: DATABASE },
      {},
      {},
      'SharedServerUnusable',
      /ALTER ROLE davit_\w+ LOGIN/,
    ],
  ])('%s is refused', (_case, found, wanted, facts, reason, message) => {
    const next = nextForThere({ facts: { ...FACTS, ...facts }, found }, { ...WANTED, ...wanted });
    expect(next).toMatchObject({ is: 'refused', trouble: { reason } });
    expect(next.is === 'refused' && next.trouble.message).toMatch(message);
  });

  it('keeps its limit where the server has no room for a higher one', () => {
    const next = nextForThere(
      { facts: { ...FACTS, given: 90 }, found: { role: ROLE, database: DATABASE } },
      { ...WANTED, connections: 20 },
    );
    expect(next).toMatchObject({ is: 'kept', connections: 10, trouble: { reason: 'SharedServerFull' } });
  });
});

describe('a database that should be gone', () => {
  it('is dropped in steps, after its role cannot log in any more', () => {
    let found: Found = { role: ROLE, database: DATABASE };
    const done: string[] = [];
    for (;;) {
      const next = nextForGone({ facts: FACTS, found }, WANTED);
      if (next.is !== 'step') {
        expect(next).toEqual({ is: 'done' });
        break;
      }
      done.push(next.step.do);
      found = after(found, next.step);
    }
    expect(done).toEqual(['lock role', 'drop database', 'drop role']);
  });

  it.each<[string, Found]>([
    ['nothing there', {}],
    ['a foreign role', { role: { ...ROLE, mark: undefined }, database: DATABASE }],
    ['a role of another record', { role: { ...ROLE, mark: sharedMark('other') }, database: DATABASE }],
    ['a database whose role is gone', { database: DATABASE }],
  ])('%s: nothing is dropped', (_case, found) => {
    expect(nextForGone({ facts: FACTS, found }, WANTED)).toEqual({ is: 'done' });
  });

  it('leaves a database that somebody else owns by now', () => {
    const found = { role: { ...ROLE, canLogin: false }, database: { ...DATABASE, owner: 'postgres' } };
    expect(nextForGone({ facts: FACTS, found }, WANTED)).toEqual({ is: 'step', step: { do: 'drop role', name: NAME } });
  });
});

const role = fc.option(
  fc.record({
    mark: fc.constantFrom(undefined, MARK, sharedMark('other')),
    canLogin: fc.boolean(),
    connections: fc.integer({ min: -1, max: 100 }),
    elevated: fc.subarray(['SUPERUSER', 'CREATEROLE']),
  }),
  { nil: undefined },
);
const database = fc.option(
  fc.record({ owner: fc.constantFrom(NAME, 'postgres'), publicConnects: fc.boolean(), isOpen: fc.boolean() }),
  { nil: undefined },
);

it('no step is taken on what was not made for the record, and every sequence of steps ends', () => {
  const cases = fc.tuple(role, database, fc.boolean(), fc.integer({ min: 0, max: 100 }), fc.boolean());
  fc.assert(
    fc.property(cases, ([aRole, aDatabase, hasPassword, given, isGone]) => {
      let found: Found = { ...(aRole && { role: aRole }), ...(aDatabase && { database: aDatabase }) };
      const wanted = { ...WANTED, hasPassword };
      for (let steps = 0; ; steps++) {
        expect(steps).toBeLessThan(9);
        const view = { facts: { ...FACTS, given }, found };
        const next = isGone ? nextForGone(view, wanted) : nextForThere(view, wanted);
        if (next.is !== 'step') return;
        const { step } = next;
        if (step.do !== 'create role') expect(found.role?.mark).toBe(MARK);
        if (step.do === 'drop database') expect(found.database?.owner).toBe(NAME);
        if (step.do === 'open') expect(found.database?.publicConnects).toBe(false);
        found = after(found, step);
      }
    }),
  );
});
