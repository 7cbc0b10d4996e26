import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson, isObject } from '../json-value.ts';
import { patchTo } from './merge-patch.ts';

const SHOP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shop', uid: 'u', resourceVersion: '7' } };

it('names the version that it is for, and nothing else where nothing differs', () => {
  expect(patchTo({ ...SHOP, spec: { a: 1 } }, { a: 1 })).toEqual({ metadata: { uid: 'u', resourceVersion: '7' } });
});

it.each<{ name: string; before: object; after: object; patch: object }>([
  { name: 'a field that changes', before: { a: 1, b: 2 }, after: { a: 1, b: 3 }, patch: { b: 3 } },
  { name: 'a field that goes', before: { a: { b: 1, c: 2 } }, after: { a: { c: 2 } }, patch: { a: { b: null } } },
  { name: 'a list, as a whole', before: { a: [1, 2] }, after: { a: [1] }, patch: { a: [1] } },
  {
    name: 'a key that every object inherits, and that goes',
    before: { labels: { constructor: 'x', toString: 'y' } },
    after: { labels: { toString: 'y' } },
    patch: { labels: { constructor: null } },
  },
])('$name', ({ before, after, patch }) => {
  expect(patchTo({ ...SHOP, spec: before }, after).spec).toEqual(patch);
});

/** Keys as people choose them, among them those that every object inherits. */
const key = fc.constantFrom('a', 'b', 'constructor', 'toString', 'hasOwnProperty', '__proto__');
/** As merge patches can express them: no null. */
const { json } = fc.letrec<{ json: unknown; object: object }>((tie) => ({
  json: fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.array(fc.integer()), tie('object')),
  object: fc
    .array(fc.tuple(key, tie('json')), { maxLength: 4 })
    .map((entries): object => Object.fromEntries(entries) as object),
}));

/** Applies a merge patch as RFC 7386 says. */
function applied(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) merged.delete(field);
    else merged.set(field, applied(merged.get(field), value));
  }
  return Object.fromEntries(merged);
}

it('leads from any spec to any other', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      // As it is sent.
      const { spec } = JSON.parse(JSON.stringify(patchTo({ ...SHOP, spec: before }, after))) as { spec?: unknown };
      const result = spec === undefined ? before : applied(before, spec);
      expect(canonicalJson(result)).toBe(canonicalJson(after));
    }),
  );
});
