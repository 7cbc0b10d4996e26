import { describe, expect, it } from 'vitest';
import { anOAuthProvider } from '../../../test/support/builders.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { type KeyRing, newestKey, parseKeyRing, ROTATED_AFTER_MS, rotatedKeyRing } from './key-ring.ts';
import { agentSlot, idOf, ownerLabel, type Subject } from './names.ts';
import { boundTo, open, seal } from './sealing.ts';

let drawn = 0;
const random = (bytes: number): Buffer => Buffer.alloc(bytes, (drawn += 1));
const START = new Date('2026-01-01T00:00:00Z');
const later = (ms: number): Date => new Date(START.getTime() + ms);
const ring = rotatedKeyRing(undefined, START, random);
const NONCE = Buffer.alloc(12, 7);

const SUBJECT: Subject = { tenant: 'team', tenantId: 'uid-1', provider: 'tracker', user: 'ada', slot: '' };
const PROVIDER = anOAuthProvider(
  { tokenEndpointAuthMethod: 'client_secret_post' },
  { name: 'tracker', uid: 'provider-1' },
);
const withSpec = (spec: Partial<OAuthProvider['spec']>): OAuthProvider => ({
  ...PROVIDER,
  spec: { ...PROVIDER.spec, ...spec },
});
const BOUND = boundTo('token', 'id', SUBJECT, PROVIDER);

describe('a sealed value', () => {
  it('opens with the same binding, also after its key was replaced', () => {
    const sealed = seal(ring, NONCE, 'wörter', BOUND);
    expect(sealed).not.toContain('wörter');
    expect(open(ring, sealed, BOUND)).toEqual({ text: 'wörter', isNewest: true });
    const rotated = rotatedKeyRing(ring, later(ROTATED_AFTER_MS), random);
    expect(open(rotated, sealed, BOUND)).toEqual({ text: 'wörter', isNewest: false });
    expect(open(ring, seal(rotated, NONCE, 'x', BOUND), BOUND)).toBe('unknown key');
  });

  it.each<[string, string]>([
    ['another kind', boundTo('flow', 'id', SUBJECT, PROVIDER)],
    ['another id', boundTo('token', 'other', SUBJECT, PROVIDER)],
    ...(['tenant', 'tenantId', 'provider', 'user', 'slot'] as const).map((field): [string, string] => [
      `another ${field}`,
      boundTo('token', 'id', { ...SUBJECT, [field]: 'x' }, PROVIDER),
    ]),
    ...(['clientId', 'authUrl', 'tokenUrl', 'issuer', 'revocationUrl', 'mcpServerUrl'] as const).map(
      (field): [string, string] => [
        `another ${field}`,
        boundTo('token', 'id', SUBJECT, withSpec({ [field]: 'https://evil.example' })),
      ],
    ),
    [
      'a provider that was made again',
      boundTo('token', 'id', SUBJECT, { ...PROVIDER, metadata: { name: 'tracker', uid: 'provider-2' } }),
    ],
  ])('stays closed for %s', (_name, bound) => {
    expect(open(ring, seal(ring, NONCE, 'text', BOUND), bound)).toBe('mismatch');
  });

  it('stays open while only the name of the provider and its way to prove itself change', () => {
    const renamed = withSpec({ name: 'B', usesPkce: false, tokenEndpointAuthMethod: 'client_secret_basic' });
    expect(boundTo('token', 'id', SUBJECT, renamed)).toBe(BOUND);
  });

  it('stays closed if it was altered', () => {
    const parts = seal(ring, NONCE, 'text', BOUND).split('.');
    const altered = [0, 2, 3, 4].map((at) =>
      parts.map((part, n) => (n === at ? `A${part.slice(1)}x` : part)).join('.'),
    );
    for (const sealed of [...altered, '', 'v1', `${parts.join('.')}.more`])
      expect(open(ring, sealed, BOUND)).toBe('mismatch');
  });

  it('is never made with a short nonce', () => {
    expect(() => seal(ring, Buffer.alloc(11), 'text', BOUND)).toThrow('12 bytes');
  });
});

describe('the key ring', () => {
  it('keeps every key and the key of names, and has a new one after 90 days', () => {
    expect(rotatedKeyRing(ring, later(ROTATED_AFTER_MS - 1), random)).toBe(ring);
    const rotated = rotatedKeyRing(ring, later(ROTATED_AFTER_MS), random);
    expect(rotated.keys.slice(0, -1)).toEqual(ring.keys);
    expect(rotated.names).toBe(ring.names);
    expect(newestKey(rotated).id).not.toBe(newestKey(ring).id);
    expect(parseKeyRing(JSON.stringify(rotated))).toEqual(rotated);
  });

  it.each([
    ['no JSON', '{"canary'],
    ['no keys', JSON.stringify({ ...ring, keys: [] })],
    ['a short key', JSON.stringify({ ...ring, names: 'canary' })],
  ])('with %s is refused without a word of its keys', (_name, text) => {
    expect(() => parseKeyRing(text)).toThrow(/^read the keys of OAuth tokens/);
    expect(() => parseKeyRing(text)).not.toThrow(/canary/);
  });
});

describe('a name', () => {
  const other: KeyRing = rotatedKeyRing(undefined, START, random);

  it('is a UUID that differs for every part and key, and says nothing of them', () => {
    const subjects = [
      SUBJECT,
      ...(['tenant', 'tenantId', 'provider', 'user', 'slot'] as const).map((field) => ({ ...SUBJECT, [field]: 'x' })),
      // Parts that are joined otherwise.
      { ...SUBJECT, user: 'adax', slot: '' },
      { ...SUBJECT, user: 'ada', slot: 'x' },
      { ...SUBJECT, slot: agentSlot({ username: 'a' }, 'b') },
      { ...SUBJECT, slot: agentSlot({ username: 'a"' }, 'b') },
      { ...SUBJECT, slot: agentSlot({ username: 'a', deployment: { name: 'a', uid: 'a' } }, 'b') },
      { ...SUBJECT, slot: agentSlot({ username: 'a', deployment: { name: 'a', uid: 'c' } }, 'b') },
    ];
    const names = new Set([
      ...subjects.map((subject) => idOf(ring, 'token', subject)),
      idOf(ring, 'connection', SUBJECT),
      idOf(ring, 'flow', SUBJECT, ['a']),
      idOf(ring, 'flow', SUBJECT, ['a', 'b']),
      idOf(other, 'token', SUBJECT),
    ]);
    // One of the subjects is there twice: with slot x.
    expect(names.size).toBe(subjects.length + 3);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(idOf(ring, 'token', SUBJECT)).toBe(idOf(ring, 'token', { ...SUBJECT }));
  });

  it('an owner has a label of his own in each tenant', () => {
    expect(ownerLabel(ring, SUBJECT)).toMatch(/^[0-9a-f]{40}$/);
    expect(ownerLabel(ring, { ...SUBJECT, tenantId: 'uid-2' })).not.toBe(ownerLabel(ring, SUBJECT));
  });
});
