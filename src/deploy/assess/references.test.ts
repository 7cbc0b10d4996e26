import { expect, it } from 'vitest';
import { anObserved, aRecord } from '../../../test/support/builders.ts';
import type { Observed } from './observed.ts';
import { checkReferences } from './references.ts';

const record = aRecord({
  secretReferences: [
    { name: 'A', secretName: 'mine', secretKey: 'a' },
    { name: 'B', secretName: 'mine', secretKey: 'b' },
    { name: 'C', secretName: 'other', secretKey: 'c' },
  ],
});
const unread = {
  reason: 'RequestFailed',
  ref: { kind: 'Secret', name: 'other' },
  message: 'The request to read Secret other failed.',
} as const;

it.each<{ name: string; seen: Partial<Observed>; want: string; says: string }>([
  {
    name: 'all there',
    seen: { secretKeys: { mine: ['a', 'b'], other: ['c'] } },
    want: 'pass AllResolved',
    says: 'Every Secret',
  },
  {
    name: 'a key is missing',
    seen: { secretKeys: { mine: ['a'], other: ['c'] } },
    want: 'stalled SecretKeyMissing',
    says: 'Missing: key b in Secret mine.',
  },
  {
    name: 'a Secret is missing, and named once',
    seen: { secretKeys: { mine: null, other: ['c'] } },
    want: 'stalled SecretMissing',
    says: 'Missing: Secret mine.',
  },
  {
    name: 'a Secret and a key',
    seen: { secretKeys: { mine: ['b'] } },
    want: 'stalled SecretMissing',
    says: 'Missing: Secret other, key a in Secret mine.',
  },
  {
    name: 'a Secret of the name of a method of every object',
    seen: { secretKeys: Object.create({ mine: ['a', 'b'], other: ['c'] }) as Observed['secretKeys'] },
    want: 'stalled SecretMissing',
    says: 'Secret mine',
  },
  {
    name: 'one that cannot be read is not missing',
    seen: { secretKeys: { mine: ['a', 'b'], other: null }, unread: [unread] },
    want: 'fail RequestFailed',
    says: unread.message,
  },
  {
    name: 'what is missing comes before what cannot be read',
    seen: { secretKeys: { mine: ['a'], other: null }, unread: [unread] },
    want: 'stalled SecretKeyMissing',
    says: 'Missing: key b in Secret mine.',
  },
  {
    name: 'values that anybody may fill come first',
    seen: { secretKeys: {}, unfixedSecrets: ['shop--vars-x'] },
    want: 'stalled SecretNotFixed',
    says: 'kubectl patch secret shop--vars-x -n team',
  },
  {
    name: 'a Secret with more keys than a container can use',
    seen: { secretKeys: { mine: ['a', 'b'], other: ['c'] }, tooLargeSecrets: ['large'] },
    want: 'stalled SecretTooLarge',
    says: 'Secret large has more than 1,000 keys',
  },
])('$name: $want', ({ seen, want, says }) => {
  const { is, reason, message } = checkReferences({ ...anObserved(record), ...seen });
  expect(`${is} ${reason}`).toBe(want);
  expect(message).toContain(says);
});

it('a Secret that Davit made of values is made again by setting them', () => {
  const own = aRecord({
    secretReferences: [
      { name: 'B', secretName: 'shop--vars-1a', secretKey: 'b' },
      { name: 'A', secretName: 'shop--vars-1a', secretKey: 'a' },
    ],
  });
  const { message } = checkReferences(anObserved(own, { secretKeys: { 'shop--vars-1a': null } }));
  expect(message).toContain('kubectl davit secrets shop set A -n team');
  expect(message).not.toContain('Create it');
});

const sidecar = aRecord({
  sourceConfig: {
    resourceSpec: {
      sidecars: [
        {
          name: 'proxy',
          image: 'registry.example/proxy:1',
          env: [
            { name: 'CERT', valueFrom: { secretKeyRef: { name: 'tls', key: 'crt' } } },
            { name: 'MORE', valueFrom: { secretKeyRef: { name: 'more', key: 'a', optional: true } } },
          ],
          envFrom: [{ secretRef: { name: 'whole' } }],
        },
      ],
    },
  },
});

it.each<{ name: string; secretKeys: Observed['secretKeys']; want: string; says: string }>([
  { name: 'all there', secretKeys: { tls: ['crt'], whole: [], more: null }, want: 'AllResolved', says: 'Every' },
  { name: 'a whole one', secretKeys: { tls: ['crt'], whole: null }, want: 'SecretMissing', says: 'Secret whole.' },
  { name: 'a key', secretKeys: { tls: ['key'], whole: [] }, want: 'SecretKeyMissing', says: 'key crt in Secret tls.' },
])('what only a sidecar takes from a Secret: $name', ({ secretKeys, want, says }) => {
  const { reason, message } = checkReferences(anObserved(sidecar, { secretKeys }));
  expect([reason, message]).toEqual([want, expect.stringContaining(says)]);
});
