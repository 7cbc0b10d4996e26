// What is read of Secrets that a record names, for an answer.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { Caller } from '../../api/authorization.ts';
import { readSecretValues, shownSecretValues } from './secret-values.ts';

const DATA = Object.fromEntries(Array.from({ length: 55_000 }, (_, n) => [`key-${n}`, 'dg==']));
const secrets = Array.from({ length: 100 }, (_, n) => ({ name: `V${n}`, secretName: `s${n}`, secretKey: 'key-1' }));
const plain = aRecord();
const record = { ...plain, spec: { ...plain.spec, secrets } };

function aCaller(): { readonly caller: Caller; readonly seen: { reads: number; open: number; mostOpen: number } } {
  const seen = { reads: 0, open: 0, mostOpen: 0 };
  const get = async (): Promise<object> => {
    seen.reads += 1;
    seen.open += 1;
    seen.mostOpen = Math.max(seen.mostOpen, seen.open);
    await new Promise((resolve) => setImmediate(resolve));
    seen.open -= 1;
    return { data: DATA };
  };
  return { caller: { kube: { get } } as unknown as Caller, seen };
}

it('of a hundred Secrets with 55,000 keys each the first are read, one after another; the other values are empty', async () => {
  const { caller, seen } = aCaller();
  const values = await shownSecretValues(caller, record);
  expect([values.size, values.get('V0'), values.get('V99')]).toEqual([100, 'v', '']);
  expect(seen.mostOpen).toBe(1);
  expect(seen.reads).toBeLessThan(20);
});

it('a change is compared with all of them', async () => {
  const { caller, seen } = aCaller();
  const values = await readSecretValues(caller, record);
  expect([values.get('V99'), seen.reads, seen.mostOpen]).toEqual(['v', 100, 1]);
});
