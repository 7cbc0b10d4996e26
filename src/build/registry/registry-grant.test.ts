import { describe, expect, it } from 'vitest';
import { coversRepository, type RegistryGrant, registryGrant, registryPassword } from './registry-grant.ts';

const key = Buffer.alloc(32, 7);
const grant: RegistryGrant = { repository: 'davit/team-1f2e3d4c/shop', actions: ['pull', 'push'], expires: 2000 };
const before = new Date(1_999_000);

describe('a registry password', () => {
  it('says what it grants until it expires', () => {
    const password = registryPassword(key, grant);
    expect(registryGrant(key, password, before)).toEqual(grant);
    expect(registryGrant(key, password, new Date(2_000_000))).toBeUndefined();
    expect(password).toMatch(/^[A-Za-z0-9._-]+$/);
  });

  it.each([
    ['of another key', (): string => registryPassword(Buffer.alloc(32, 8), grant)],
    ['for more than was signed', (password: string): string => forged(password, { r: 'other', a: ['push'], e: 9000 })],
    ['without a signature', (password: string): string => password.slice(0, password.lastIndexOf('.'))],
    ['with an empty signature', (password: string): string => password.slice(0, password.lastIndexOf('.') + 1)],
    ['with something behind it', (password: string): string => `${password}.x`],
    ['that is nothing', (): string => ''],
  ])('is refused: one %s', (_what, change) => {
    expect(registryGrant(key, change(registryPassword(key, grant)), before)).toBeUndefined();
  });

  it.each([
    ['team/shop', 'team/shop', true],
    ['team/shop', 'team/shop2', false],
    ['team/shop', 'team/shop/x', false],
    ['team/*', 'team/shop', true],
    ['team/*', 'team/', false],
    ['team/*', 'team2/shop', false],
    ['team/*', 'team', false],
  ])('for %s covers %s: %s', (repository, asked, covers) => {
    expect(coversRepository({ repository }, asked)).toBe(covers);
  });
});

function forged(password: string, payload: object): string {
  const [prefix, , signature] = password.split('.');
  return [prefix, Buffer.from(JSON.stringify(payload)).toString('base64url'), signature].join('.');
}
