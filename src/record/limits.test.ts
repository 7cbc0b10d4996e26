import { describe, expect, it } from 'vitest';
import { aSpec } from '../../test/support/builders.ts';
import type { ResourceSpec } from '../api/resource-spec.ts';
import { Settings } from '../api/settings.ts';
import { limitViolations, missingExternal } from './limits.ts';
import { resolve } from './resolve.ts';

const LIMITS = { cpu: 2, memoryMb: 1024, scale: 4, storageGi: 5 };

describe('limitViolations', () => {
  it.each<{ reason: string; spec: ResourceSpec; want: string[] }>([
    { reason: 'nothing asked for', spec: {}, want: [] },
    { reason: 'at the limit', spec: { cpu: 2, memoryMb: 1024, maxScale: 4, dbStorageGi: 5 }, want: [] },
    {
      reason: 'above it, in every part',
      spec: { cpuLimit: 2.1, queueMemoryMb: 1025, redisMemoryLimitMb: 2000, orchestratorMaxScale: 5, dbStorageGi: 6 },
      want: ['cpuLimit 2', 'queueMemoryMb 1024', 'redisMemoryLimitMb 1024', 'orchestratorMaxScale 4', 'dbStorageGi 5'],
    },
    { reason: 'what has no limit', spec: { dbMaxConnections: 9000 }, want: [] },
  ])('$reason', ({ spec, want }) => {
    expect(limitViolations(spec, LIMITS).map(({ field, most }) => `${field} ${most}`)).toEqual(want);
    expect(limitViolations(spec, {})).toEqual([]);
  });
});

it('defaults stay within the limits, and what is asked for stands', () => {
  const settings = Settings.parse({ limits: LIMITS, deploymentType: 'prod' });
  const { server, queue, redis, postgres } = resolve(
    aSpec({ sourceConfig: { resourceSpec: { memoryMb: 1500, queueMinScale: 5 } } }),
    settings,
  );
  expect(server).toEqual({ cpu: 1, cpuLimit: 2, memoryMb: 1500, memoryLimitMb: 1500, minScale: 1, maxScale: 4 });
  expect([queue?.minScale, queue?.maxScale]).toEqual([5, 5]);
  expect([redis?.memoryMb, redis?.memoryLimitMb]).toEqual([512, 512]);
  expect([postgres?.memoryMb, postgres?.memoryLimitMb, postgres?.storageGi]).toEqual([1024, 1024, 5]);
});

it('names the variables that are missing where the platform makes no databases', () => {
  expect(missingExternal(['A', 'REDIS_URI_CUSTOM'])).toEqual(['POSTGRES_URI_CUSTOM']);
  expect(missingExternal(['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'])).toEqual([]);
});
