import { expect, it } from 'vitest';
import { coversRepository, registryGrant } from '../build/registry/registry-grant.ts';
import { basePassword } from './registry-password.ts';

const key = Buffer.alloc(32, 1);
const now = new Date('2026-01-01T00:00:00Z');
const keys = { passwordKey: () => Promise.resolve(key) };

it('is for base images alone, and ends', async () => {
  const password = await basePassword(keys, '2', now);
  const grant = registryGrant(key, password, new Date('2026-01-01T01:59:00Z'));
  expect(grant?.actions).toEqual(['pull', 'push']);
  const covers = (repository: string): boolean => grant !== undefined && coversRepository(grant, repository);
  expect(['base/python', 'base/node/22', 'base', 'team-11111111/shop'].map(covers)).toEqual([true, true, false, false]);
  expect(registryGrant(key, password, new Date('2026-01-01T02:00:00Z'))).toBeUndefined();
});

it.each(['0', '25', '1.5', '-1', 'x', ''])('is not made for %j hours', async (hours) => {
  await expect(basePassword(keys, hours, now)).rejects.toThrow('from 1 to 24');
});
