import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { OAuthProvider } from './oauth-provider.ts';
import { PROVIDER_NAME_PATTERN, ProviderId } from './oauth-provider.ts';
import { isNamedForId, providerById, providerIdOf, providerNameFor } from './provider-id.ts';

const id = fc.stringMatching(/^[A-Za-z0-9._-]{1,63}$/).filter((one) => ProviderId.safeParse(one).success);

function provider(name: string, providerId?: string): OAuthProvider {
  const spec = { ...(providerId !== undefined && { providerId }) };
  return { metadata: { name }, spec } as unknown as OAuthProvider;
}

it.each([
  ['issue-tracker', 'issue-tracker'],
  ['google_workspace', 'google-workspace-cf112e7e'],
  ['Google.Workspace', 'google-workspace-cf01f141'],
  ['a--b', 'a-b-90827a2e'],
  ['_x', 'x-a01e47cb'],
  ['A'.repeat(63), `${'a'.repeat(54)}-1b58d00f`],
])('%s is kept in the object %s', (given, want) => {
  expect(providerNameFor(given)).toBe(want);
});

it('every id has a name that an object may have, and no other id has it', () => {
  fc.assert(
    fc.property(id, id, (one, other) => {
      const name = providerNameFor(one);
      expect(name).toMatch(new RegExp(PROVIDER_NAME_PATTERN));
      expect([name.length <= 63, name.includes('--')]).toEqual([true, false]);
      expect(providerNameFor(other) === name).toBe(other === one);
    }),
  );
});

it.each(['', '.', '..', '--', 'a b', 'a/b', 'ä', 'a'.repeat(64)])('"%s" is no id', (given) => {
  expect(ProviderId.safeParse(given).success).toBe(false);
});

it('an object is found by its id alone, and only under the name of that id', () => {
  const name = providerNameFor('google_workspace');
  const google = provider(name, 'google_workspace');
  const named = (objects: readonly OAuthProvider[]) => (wanted: string) =>
    objects.find(({ metadata }) => metadata.name === wanted);
  expect(providerById('google_workspace', named([google]))).toBe(google);
  expect(providerById(name, named([google]))).toBeUndefined();
  expect(providerById('google_workspace', named([provider(name)]))).toBeUndefined();
  expect(providerById('google_workspace', named([provider('mine', 'google_workspace')]))).toBeUndefined();
  expect([google, provider('mine', 'google_workspace'), provider('mine')].map(isNamedForId)).toEqual([
    true,
    false,
    true,
  ]);
  expect(providerIdOf(provider('mine'))).toBe('mine');
});
