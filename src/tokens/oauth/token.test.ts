import { expect, it } from 'vitest';
import { grantedScopes, type Standing, standingOf, type TokenAbout, type TokenValues } from './token.ts';

const RFC = { hosts: [] };
const NOW = new Date('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
const ABOUT: TokenAbout = {
  scopes: ['a', 'b'],
  createdAt: at(-1000),
  updatedAt: at(-1000),
  isDefault: true,
  metadata: {},
};
const claim = (seconds: number): Pick<TokenAbout, 'claim'> => ({ claim: { holder: 'h', until: at(seconds) } });

it.each<[string, Partial<TokenAbout>, Partial<TokenValues>, Standing]>([
  ['that never expires', {}, {}, 'use'],
  ['that is valid for long', { expiresAt: at(61) }, { refreshToken: 'r' }, 'use'],
  ['that expires soon', { expiresAt: at(60) }, { refreshToken: 'r' }, 'refresh'],
  ['that lives for half a minute', { updatedAt: at(0), expiresAt: at(30) }, { refreshToken: 'r' }, 'use'],
  ['that has lived for half of it', { updatedAt: at(-15), expiresAt: at(15) }, { refreshToken: 'r' }, 'refresh'],
  ['that expires soon and cannot be refreshed', { expiresAt: at(60) }, {}, 'use'],
  ['that has expired and cannot be refreshed', { expiresAt: at(0) }, {}, 'expired'],
  ['that has expired', { expiresAt: at(-1000) }, { refreshToken: 'r' }, 'refresh'],
  ['that another process refreshes', { expiresAt: at(0), ...claim(1) }, { refreshToken: 'r' }, 'wait'],
  ['whose refresh was lost', { expiresAt: at(0), ...claim(0) }, { refreshToken: 'r' }, 'expired'],
  ['whose claim was left, and is still valid', { expiresAt: at(61), ...claim(-1) }, { refreshToken: 'r' }, 'use'],
  ['that the provider does not refresh any more', { expiresAt: at(50) }, { accessToken: '' }, 'expired'],
])('a token %s', (_name, about, values, standing) => {
  expect(standingOf({ ...ABOUT, ...about }, { accessToken: 't', ...values }, ['b'], NOW, RFC)).toBe(standing);
  expect(standingOf({ ...ABOUT, ...about }, { accessToken: 't', ...values }, ['b', 'c'], NOW, RFC)).toBe('narrow');
});

it('a scope for a refresh token is granted with the refresh token, whatever the answer names', () => {
  const wanted = ['a', 'offline_access'];
  expect(standingOf(ABOUT, { accessToken: 't', refreshToken: 'r' }, wanted, NOW, RFC)).toBe('use');
  expect(standingOf(ABOUT, { accessToken: 't' }, wanted, NOW, RFC)).toBe('narrow');
});

it.each([
  [undefined, ['x']],
  ['', ['x']],
  ['a b', ['a', 'b']],
  ['a,b', ['a', 'b']],
])('the scopes of %j', (scope, granted) => {
  expect(grantedScopes(scope, ['x'])).toEqual(granted);
});
