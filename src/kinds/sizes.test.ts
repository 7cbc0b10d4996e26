import { expect, it } from 'vitest';
import { z } from 'zod';
import { DEPLOYMENT_TYPES } from './app-deployment.ts';
import { defaultSettings, Settings } from './settings.ts';

const DEFAULTS = defaultSettings().sizes;

it('has a preset for records without a deployment type, and one for each type', () => {
  expect(Object.keys(DEFAULTS)).toEqual(['plain', ...DEPLOYMENT_TYPES]);
});

it('merges what is given over the defaults, field by field', () => {
  const { sizes } = Settings.parse({
    sizes: { plain: { server: { cpu: 0.5 } }, prod: { redis: { memoryMb: 1024, memoryLimitMb: 1024 }, postgres: {} } },
  });
  expect(sizes).toEqual({
    ...DEFAULTS,
    plain: { ...DEFAULTS.plain, server: { ...DEFAULTS.plain.server, cpu: 0.5 } },
    prod: { ...DEFAULTS.prod, redis: { ...DEFAULTS.prod.redis, memoryMb: 1024, memoryLimitMb: 1024 } },
  });
});

it.each([
  {
    sizes: { dev: { server: { cpu: 2 } } },
    says: 'must not be below cpu, which is 2\n  → at sizes.dev.server.cpuLimit',
  },
  {
    sizes: { plain: { redis: { memoryLimitMb: 100 } } },
    says: 'must not be below memoryMb, which is 128\n  → at sizes.plain.redis.memoryLimitMb',
  },
  {
    sizes: { prod: { server: { minScale: 11 } } },
    says: 'must not be below minScale, which is 11\n  → at sizes.prod.server.maxScale',
  },
  { sizes: { plain: { server: { cpu: 0.005 } } }, says: 'expected number to be >=0.01' },
  { sizes: { plain: { redis: { storageGi: 1 } } }, says: 'Unrecognized key: "storageGi"' },
  { sizes: { tiny: {} }, says: 'Unrecognized key: "tiny"' },
])('refuses $sizes', ({ sizes, says }) => {
  const { error } = Settings.safeParse({ sizes });
  expect(error && z.prettifyError(error)).toContain(says);
});
