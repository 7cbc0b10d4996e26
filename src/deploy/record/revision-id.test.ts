import fc from 'fast-check';
import { expect, it } from 'vitest';
import { generationRevisionId, revisionId, serialRevisionId } from './revision-id.ts';

const uid = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

// Values from Python's uuid.uuid5, an implementation of its own.
it.each([
  { name: 's1', want: '9b9fd2e0-50ef-5070-a285-1a667dd7dfcc' },
  { name: 's42', want: 'd5b2f9d2-97cf-5998-b35a-a5f5fa619007' },
  { name: 'g1', want: '67073eed-f57d-56d9-8782-704cd33325ea' },
] as const)('agrees with RFC 9562 for $name', ({ name, want }) => {
  expect(revisionId(uid, name)).toBe(want);
});

it('is the same for an upper-case uid', () => {
  expect(serialRevisionId(uid.toUpperCase(), 1)).toBe(serialRevisionId(uid, 1));
});

it('tells serials, generations and records apart', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), fc.nat(), fc.nat(), (a, b, m, n) => {
      fc.pre(a !== b && m !== n);
      const ids = [serialRevisionId(a, m), serialRevisionId(a, n), generationRevisionId(a, m), serialRevisionId(b, m)];
      expect(new Set(ids).size).toBe(4);
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }),
  );
});

it.each(['', 'not-a-uuid', `${uid}00`])('refuses %j as a uid', (bad) => {
  expect(() => serialRevisionId(bad, 1)).toThrow(TypeError);
});
