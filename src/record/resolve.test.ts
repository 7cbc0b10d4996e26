import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aSpec, SETTINGS } from '../../test/builders.ts';
import type { DeploymentType } from '../api/app-deployment.ts';
import { Resolved } from '../api/app-revision.ts';
import { ORDERED_PAIRS, type ResourceSpec } from '../api/resource-spec.ts';
import { inForce, resolve } from './resolve.ts';

function numbers(resourceSpec: ResourceSpec, deploymentType?: DeploymentType): Record<string, number> {
  return inForce(
    resolve(aSpec({ sourceConfig: { resourceSpec, ...(deploymentType && { deploymentType }) } }), SETTINGS),
  );
}

const server = { minScale: 1, maxScale: 1, cpu: 1, cpuLimit: 2, memoryMb: 2048, memoryLimitMb: 4096 };
const redis = { redisCpu: 1, redisCpuLimit: 2, redisMemoryMb: 2048, redisMemoryLimitMb: 2048 };
const db = { dbCpu: 1, dbCpuLimit: 2, dbMemoryMb: 2048, dbMemoryLimitMb: 4096, dbStorageGi: 10, dbMaxConnections: 100 };
const plain = { ...server, ...redis, ...db };

it('resolves a plain record', () => {
  expect(resolve(aSpec(), SETTINGS)).toEqual({
    contract: 1,
    image: 'registry.example/shop:1',
    pullPolicy: 'IfNotPresent',
    port: 8000,
    healthPath: '/ok',
    progressDeadlineSeconds: 600,
    server,
    postgres: {
      cpu: 1,
      cpuLimit: 2,
      memoryMb: 2048,
      memoryLimitMb: 4096,
      image: 'docker.io/library/postgres:17',
      storageGi: 10,
      maxConnections: 100,
    },
    redis: { cpu: 1, cpuLimit: 2, memoryMb: 2048, memoryLimitMb: 2048, image: 'docker.io/valkey/valkey:8' },
    autoscaling: { cpuPercent: 75, memoryPercent: 75, scaleDownWindowSeconds: 1800 },
    waitImages: { postgres: 'docker.io/library/postgres:17', redis: 'docker.io/valkey/valkey:8' },
  });
});

const orchestrator = {
  orchestratorMinScale: 1,
  orchestratorMaxScale: 1,
  orchestratorCpu: 1,
  orchestratorCpuLimit: 2,
  orchestratorMemoryMb: 2048,
  orchestratorMemoryLimitMb: 4096,
};
const queue = {
  queueMinScale: 1,
  queueMaxScale: 1,
  queueCpu: 1,
  queueCpuLimit: 2,
  queueMemoryMb: 2048,
  queueMemoryLimitMb: 4096,
};

it.each<{ name: string; given: ResourceSpec; type?: DeploymentType; want: Record<string, number> }>([
  { name: 'nothing given', given: {}, want: plain },
  {
    name: 'a limit is twice its request',
    given: { cpu: 0.5, memoryMb: 100 },
    want: { ...plain, cpu: 0.5, cpuLimit: 1, memoryMb: 100, memoryLimitMb: 200 },
  },
  {
    name: 'a low limit lowers the default request',
    given: { cpuLimit: 0.3, memoryLimitMb: 512 },
    want: { ...plain, cpu: 0.3, cpuLimit: 0.3, memoryMb: 512, memoryLimitMb: 512 },
  },
  { name: 'a high limit leaves the default request', given: { cpuLimit: 8 }, want: { ...plain, cpuLimit: 8 } },
  {
    name: 'a minimum raises the default maximum',
    given: { minScale: 3 },
    want: { ...plain, minScale: 3, maxScale: 3 },
  },
  {
    name: 'a maximum of zero lowers the default minimum',
    given: { maxScale: 0 },
    want: { ...plain, minScale: 0, maxScale: 0 },
  },
  { name: 'dev', given: {}, type: 'dev', want: { ...plain, memoryMb: 1024, memoryLimitMb: 2048 } },
  { name: 'dev_free', given: {}, type: 'dev_free', want: { ...plain, memoryMb: 1024, memoryLimitMb: 2048 } },
  { name: 'prod', given: {}, type: 'prod', want: { ...plain, maxScale: 10, cpu: 2, cpuLimit: 4 } },
  {
    name: 'an explicit value beats the preset',
    given: { maxScale: 2, cpu: 1 },
    type: 'prod',
    want: { ...plain, maxScale: 2 },
  },
  {
    name: 'queue fields default to the main ones',
    given: { maxScale: 4, cpu: 2, cpuLimit: 3, memoryMb: 512, queueMinScale: 2 },
    want: {
      ...plain,
      maxScale: 4,
      cpu: 2,
      cpuLimit: 3,
      memoryMb: 512,
      memoryLimitMb: 1024,
      queueMinScale: 2,
      queueMaxScale: 4,
      queueCpu: 2,
      queueCpuLimit: 3,
      queueMemoryMb: 512,
      queueMemoryLimitMb: 1024,
    },
  },
  {
    name: 'a request of the queue has its own limit',
    given: { cpuLimit: 2, queueCpu: 3 },
    want: { ...plain, ...queue, queueCpu: 3, queueCpuLimit: 6 },
  },
  {
    name: 'a limit of the queue lowers its request',
    given: { queueMemoryLimitMb: 256 },
    want: { ...plain, ...queue, queueMemoryMb: 256, queueMemoryLimitMb: 256 },
  },
  { name: 'queueMaxScale 0: the main service works the queue', given: { queueMaxScale: 0, queueCpu: 3 }, want: plain },
  { name: 'an orchestrator', given: { orchestratorCpu: 1 }, want: { ...plain, ...orchestrator } },
  {
    name: 'an executor',
    given: { executorMemoryMb: 512 },
    want: { ...plain, executorCpu: 1, executorCpuLimit: 2, executorMemoryMb: 512, executorMemoryLimitMb: 1024 },
  },
  {
    name: "Redis' memory limit is its request",
    given: { redisMemoryMb: 300, redisCpu: 0.2 },
    want: { ...plain, redisMemoryMb: 300, redisMemoryLimitMb: 300, redisCpu: 0.2, redisCpuLimit: 0.4 },
  },
  {
    name: "a limit bends Redis' request",
    given: { redisMemoryLimitMb: 300 },
    want: { ...plain, redisMemoryMb: 300, redisMemoryLimitMb: 300 },
  },
  {
    name: 'the database',
    given: { dbStorageGi: 50, dbMaxConnections: 500, dbMemoryMb: 4096 },
    want: { ...plain, dbStorageGi: 50, dbMaxConnections: 500, dbMemoryMb: 4096, dbMemoryLimitMb: 8192 },
  },
])('$name', ({ given, type, want }) => {
  expect(numbers(given, type)).toEqual(want);
});

it.each([
  { name: 'POSTGRES_URI_CUSTOM', want: { ...server, ...redis } },
  { name: 'REDIS_URI_CUSTOM', want: { ...server, ...db } },
])('makes none where $name is given, and ignores its sizes', ({ name, want }) => {
  const reference = { name, secretName: 'outside', secretKey: 'uri' };
  const sizes = name.startsWith('REDIS') ? { redisCpu: 4 } : { dbCpu: 4, dbStorageGi: 99 };
  const sourceConfig = { resourceSpec: sizes };
  expect(inForce(resolve(aSpec({ sourceConfig, secrets: [reference] }), SETTINGS))).toEqual(want);
  expect(inForce(resolve(aSpec({ sourceConfig, secretReferences: [reference] }), SETTINGS))).toEqual(want);
});

it('is without image while one is to be built', () => {
  expect(
    resolve(aSpec({ source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } }), SETTINGS),
  ).not.toHaveProperty('image');
});

it('never turns a pair upside down, and always fits the schema', () => {
  const cpu = fc.option(fc.double({ min: 0.1, max: 64, noNaN: true }), { nil: undefined });
  const memory = fc.option(fc.integer({ min: 64, max: 4_194_304 }), { nil: undefined });
  const scale = fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined });
  const of = (field: string): fc.Arbitrary<number | undefined> =>
    /cpu/i.test(field) ? cpu : /memory/i.test(field) ? memory : scale;
  const spec = fc
    .record(Object.fromEntries(ORDERED_PAIRS.flat().map((field) => [field, of(field)])))
    .map(
      (values) =>
        Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<string, number>,
    )
    .map((values) => {
      // Explicit pairs upside down are refused by the CRD.
      for (const [low, high] of ORDERED_PAIRS) {
        const [a, b] = [values[low], values[high]];
        if (a !== undefined && b !== undefined && a > b) Object.assign(values, { [low]: b, [high]: a });
      }
      return values;
    });
  fc.assert(
    fc.property(
      spec,
      fc.constantFrom<DeploymentType | undefined>(undefined, 'dev', 'dev_free', 'prod'),
      (given, type) => {
        const resolved = resolve(
          aSpec({ sourceConfig: { resourceSpec: given, ...(type && { deploymentType: type }) } }),
          SETTINGS,
        );
        expect(Resolved.parse(resolved)).toEqual(resolved);
        const values = inForce(resolved);
        for (const [low, high] of ORDERED_PAIRS) {
          if (values[low] !== undefined) expect(values[low]).toBeLessThanOrEqual(values[high] ?? NaN);
        }
        // What is explicit is in force, for the parts that there are.
        for (const [field, value] of Object.entries(given)) {
          if (values[field] !== undefined) expect(values[field]).toBe(value);
        }
      },
    ),
  );
});
