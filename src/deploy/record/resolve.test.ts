import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aSpec, SETTINGS } from '../../../test/support/builders.ts';
import { DEPLOYMENT_TYPE_INPUTS, type DeploymentTypeInput } from '../../kinds/app-deployment.ts';
import { Resolved } from '../../kinds/app-revision.ts';
import { ORDERED_PAIRS, type ResourceSpec } from '../../kinds/resource-spec.ts';
import { defaultSettings, Settings } from '../../kinds/settings.ts';
import { limitViolations } from './limits.ts';
import { effectiveNumbers, resolve } from './resolve.ts';

function numbers(resourceSpec: ResourceSpec, deploymentType?: DeploymentTypeInput): Record<string, number> {
  return effectiveNumbers(
    resolve(aSpec({ sourceConfig: { resourceSpec, ...(deploymentType && { deploymentType }) } }), SETTINGS),
  );
}

const server = { minScale: 1, maxScale: 1, cpu: 0.25, cpuLimit: 1, memoryMb: 512, memoryLimitMb: 1024 };
const redis = { redisCpu: 0.05, redisCpuLimit: 0.5, redisMemoryMb: 128, redisMemoryLimitMb: 128 };
const db = {
  dbCpu: 0.1,
  dbCpuLimit: 1,
  dbMemoryMb: 256,
  dbMemoryLimitMb: 1024,
  dbStorageGi: 10,
  dbMaxConnections: 100,
};
const plain = { ...server, ...redis, ...db };
const prod = {
  minScale: 1,
  maxScale: 10,
  cpu: 1,
  cpuLimit: 2,
  memoryMb: 2048,
  memoryLimitMb: 4096,
  redisCpu: 0.5,
  redisCpuLimit: 1,
  redisMemoryMb: 512,
  redisMemoryLimitMb: 512,
  dbCpu: 1,
  dbCpuLimit: 2,
  dbMemoryMb: 2048,
  dbMemoryLimitMb: 4096,
  dbStorageGi: 10,
  dbMaxConnections: 100,
};

it('resolves a plain record', () => {
  expect(resolve(aSpec(), SETTINGS)).toEqual({
    contract: 3,
    image: 'registry.example/shop:1',
    pullPolicy: 'IfNotPresent',
    port: 8000,
    healthPath: '/ok',
    progressDeadlineSeconds: 600,
    server,
    postgres: {
      cpu: 0.1,
      cpuLimit: 1,
      memoryMb: 256,
      memoryLimitMb: 1024,
      image: 'docker.io/pgvector/pgvector:0.8.6-pg17-trixie',
      user: 'app',
      storageGi: 10,
      maxConnections: 100,
    },
    redis: {
      cpu: 0.05,
      cpuLimit: 0.5,
      memoryMb: 128,
      memoryLimitMb: 128,
      image: 'docker.io/valkey/valkey:8.1.10-trixie',
    },
    autoscaling: { cpuPercent: 75, memoryPercent: 75, scaleDownWindowSeconds: 1800 },
    waitImages: {
      postgres: 'docker.io/pgvector/pgvector:0.8.6-pg17-trixie',
      redis: 'docker.io/valkey/valkey:8.1.10-trixie',
    },
  });
});

const orchestrator = {
  orchestratorMinScale: 1,
  orchestratorMaxScale: 1,
  orchestratorCpu: 0.25,
  orchestratorCpuLimit: 1,
  orchestratorMemoryMb: 512,
  orchestratorMemoryLimitMb: 1024,
};
const queue = {
  queueMinScale: 1,
  queueMaxScale: 1,
  queueCpu: 0.25,
  queueCpuLimit: 1,
  queueMemoryMb: 512,
  queueMemoryLimitMb: 1024,
};

it.each<{ name: string; given: ResourceSpec; type?: DeploymentTypeInput; want: Record<string, number> }>([
  { name: 'nothing given', given: {}, want: plain },
  {
    name: 'a small request keeps the default limit',
    given: { cpu: 0.3, memoryMb: 100 },
    want: { ...plain, cpu: 0.3, cpuLimit: 1, memoryMb: 100, memoryLimitMb: 1024 },
  },
  {
    name: 'a large request has twice as much as its limit',
    given: { cpu: 0.75, memoryMb: 600 },
    want: { ...plain, cpu: 0.75, cpuLimit: 1.5, memoryMb: 600, memoryLimitMb: 1200 },
  },
  {
    name: 'a low limit lowers the default request',
    given: { cpuLimit: 0.2, memoryLimitMb: 300 },
    want: { ...plain, cpu: 0.2, cpuLimit: 0.2, memoryMb: 300, memoryLimitMb: 300 },
  },
  { name: 'a high limit leaves the default request', given: { cpuLimit: 8 }, want: { ...plain, cpuLimit: 8 } },
  {
    name: 'an explicit pair stands',
    given: { cpu: 0.5, cpuLimit: 0.5, memoryMb: 2048, memoryLimitMb: 2048 },
    want: { ...plain, cpu: 0.5, cpuLimit: 0.5, memoryMb: 2048, memoryLimitMb: 2048 },
  },
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
  { name: 'dev', given: {}, type: 'dev', want: plain },
  { name: 'dev_free', given: {}, type: 'dev_free', want: plain },
  { name: 'dev_zero is dev', given: {}, type: 'dev_zero', want: plain },
  { name: 'prod', given: {}, type: 'prod', want: prod },
  {
    name: 'an explicit value beats the preset',
    given: { maxScale: 2, cpu: 2 },
    type: 'prod',
    want: { ...prod, maxScale: 2, cpu: 2, cpuLimit: 4 },
  },
  {
    name: 'queue fields default to the main ones',
    given: { maxScale: 4, cpu: 2, cpuLimit: 3, memoryMb: 700, queueMinScale: 2 },
    want: {
      ...plain,
      maxScale: 4,
      cpu: 2,
      cpuLimit: 3,
      memoryMb: 700,
      memoryLimitMb: 1400,
      queueMinScale: 2,
      queueMaxScale: 4,
      queueCpu: 2,
      queueCpuLimit: 3,
      queueMemoryMb: 700,
      queueMemoryLimitMb: 1400,
    },
  },
  {
    name: 'a request of the queue has a limit of its own where the main one is too low',
    given: { cpuLimit: 2, queueCpu: 3 },
    want: { ...plain, cpuLimit: 2, ...queue, queueCpu: 3, queueCpuLimit: 6 },
  },
  {
    name: 'a small request of the queue keeps the main limit',
    given: { cpuLimit: 2, queueCpu: 0.5 },
    want: { ...plain, cpuLimit: 2, ...queue, queueCpu: 0.5, queueCpuLimit: 2 },
  },
  {
    name: 'a limit of the queue lowers its request',
    given: { queueMemoryLimitMb: 256 },
    want: { ...plain, ...queue, queueMemoryMb: 256, queueMemoryLimitMb: 256 },
  },
  { name: 'queueMaxScale 0: the main service works the queue', given: { queueMaxScale: 0, queueCpu: 3 }, want: plain },
  {
    name: 'an orchestrator',
    given: { orchestratorCpu: 1 },
    want: { ...plain, ...orchestrator, orchestratorCpu: 1, orchestratorCpuLimit: 2 },
  },
  {
    name: 'an executor',
    given: { executorMemoryMb: 512 },
    want: { ...plain, executorCpu: 0.25, executorCpuLimit: 1, executorMemoryMb: 512, executorMemoryLimitMb: 1024 },
  },
  {
    name: "Redis' memory limit is its request, above the default and below it",
    given: { redisMemoryMb: 300, redisCpu: 0.4 },
    want: { ...plain, redisMemoryMb: 300, redisMemoryLimitMb: 300, redisCpu: 0.4, redisCpuLimit: 0.8 },
  },
  {
    name: "a small request of Redis' memory lowers its limit",
    given: { redisMemoryMb: 64 },
    want: { ...plain, redisMemoryMb: 64, redisMemoryLimitMb: 64 },
  },
  {
    name: "a limit bends Redis' request",
    given: { redisMemoryLimitMb: 100 },
    want: { ...plain, redisMemoryMb: 100, redisMemoryLimitMb: 100 },
  },
  {
    name: 'the database',
    given: { dbStorageGi: 50, dbMaxConnections: 500, dbMemoryMb: 4096 },
    want: { ...plain, dbStorageGi: 50, dbMaxConnections: 500, dbMemoryMb: 4096, dbMemoryLimitMb: 8192 },
  },
])('$name', ({ given, type, want }) => {
  expect(numbers(given, type)).toEqual(want);
});

it('takes the presets from the settings, whole or in part', () => {
  const settings = Settings.parse({
    deploymentType: 'dev',
    sizes: { dev: { server: { cpu: 0.5, maxScale: 3 }, redis: { memoryMb: 64 } }, prod: { postgres: { cpu: 2 } } },
  });
  const of = (type?: DeploymentTypeInput): Record<string, number> =>
    effectiveNumbers(resolve(aSpec({ sourceConfig: type ? { deploymentType: type } : {} }), settings));
  expect(of()).toEqual({ ...plain, cpu: 0.5, maxScale: 3, redisMemoryMb: 64 });
  expect(of('dev_zero')).toEqual(of());
  expect(of('dev_free')).toEqual(plain);
  expect(of('prod')).toEqual({ ...prod, dbCpu: 2 });
});

it('a worker has the size of the server, as far as it has none of its own', () => {
  const sourceConfig = {
    resourceSpec: { cpu: 0.5, memoryMb: 640, memoryLimitMb: 1500, maxScale: 4 },
    runtime: { workers: { jobs: {}, mailer: { cpu: 2 } } },
  };
  const { server: main, workers } = resolve(aSpec({ sourceConfig }), SETTINGS);
  expect(main).toMatchObject({ cpu: 0.5, memoryMb: 640, memoryLimitMb: 1500, maxScale: 4 });
  expect(workers).toEqual({
    jobs: { ...main, minScale: 1, maxScale: 1 },
    mailer: { ...main, cpu: 2, cpuLimit: 4, minScale: 1, maxScale: 1 },
  });
});

it.each([
  { name: 'POSTGRES_URI_CUSTOM', want: { ...server, ...redis } },
  { name: 'REDIS_URI_CUSTOM', want: { ...server, ...db } },
])('makes none where $name is given, and ignores its sizes', ({ name, want }) => {
  const reference = { name, secretName: 'outside', secretKey: 'uri' };
  const sizes = name.startsWith('REDIS') ? { redisCpu: 4 } : { dbCpu: 4, dbStorageGi: 99 };
  const sourceConfig = { resourceSpec: sizes };
  expect(effectiveNumbers(resolve(aSpec({ sourceConfig, secrets: [reference] }), SETTINGS))).toEqual(want);
  expect(effectiveNumbers(resolve(aSpec({ sourceConfig, secretReferences: [reference] }), SETTINGS))).toEqual(want);
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
  // Presets are any that the settings accept, and the limits of the platform any.
  const part = (defaults: Readonly<Record<string, number>>): fc.Arbitrary<Record<string, number>> =>
    fc.record(Object.fromEntries(Object.keys(defaults).map((field) => [field, of(field)]))).map((values) => {
      const merged = Object.fromEntries(
        Object.entries(defaults).map(([field, value]) => [field, values[field] ?? value]),
      );
      for (const [low, high] of [
        ['cpu', 'cpuLimit'],
        ['memoryMb', 'memoryLimitMb'],
        ['minScale', 'maxScale'],
      ] as const) {
        const [a = 0, b = 0] = [merged[low], merged[high]];
        if (a > b) Object.assign(merged, { [low]: b, [high]: a });
      }
      return merged;
    });
  const { server: main, redis: cache } = defaultSettings().sizes.plain;
  const settings = fc
    .record({
      server: part(main),
      redis: part(cache),
      limits: fc.record(
        {
          cpu: fc.integer({ min: 1, max: 8 }),
          memoryMb: fc.integer({ min: 64, max: 4096 }),
          scale: fc.integer({ min: 1, max: 9 }),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ limits, ...sizes }) =>
      Settings.parse({ limits, sizes: { plain: sizes, dev_free: sizes, dev: sizes, prod: sizes } }),
    );
  fc.assert(
    fc.property(spec, fc.constantFrom(undefined, ...DEPLOYMENT_TYPE_INPUTS), settings, (given, type, platform) => {
      const resolved = resolve(
        aSpec({ sourceConfig: { resourceSpec: given, ...(type && { deploymentType: type }) } }),
        platform,
      );
      expect(Resolved.parse(resolved)).toEqual(resolved);
      const values = effectiveNumbers(resolved);
      for (const [low, high] of ORDERED_PAIRS) {
        if (values[low] !== undefined) expect(values[low]).toBeLessThanOrEqual(values[high] ?? NaN);
      }
      // What is explicit is in force, for the parts that there are.
      for (const [field, value] of Object.entries(given)) {
        if (values[field] !== undefined) expect(values[field]).toBe(value);
      }
      // Nothing given: nothing above the platform's limits.
      const defaults = effectiveNumbers(resolve(aSpec(type && { sourceConfig: { deploymentType: type } }), platform));
      expect(limitViolations({ resourceSpec: defaults }, platform.limits)).toEqual([]);
    }),
  );
});

it.each<[string, Parameters<typeof aSpec>[0], boolean]>([
  ['its image', { sourceRevisionConfig: { imageUri: 'r.example/base/python:3.11' } }, true],
  [
    'the image of a sidecar',
    { sourceConfig: { resourceSpec: { sidecars: [{ name: 'a', image: 'r.example/base/a:1' }] } } },
    true,
  ],
  ['no image of it', { sourceRevisionConfig: { imageUri: 'xr.example/base/python:3.11' } }, false],
])("gives a record the pull Secret of the platform's registry: %s", (_what, spec, isGiven) => {
  const registry = { host: 'r.example', tokens: true };
  const settings = Settings.parse({ ...SETTINGS, builds: { ...SETTINGS.builds, registry } });
  expect(resolve(aSpec(spec), settings).pullSecrets).toEqual(isGiven ? ['davit-registry-pull'] : undefined);
  expect(resolve(aSpec(spec), SETTINGS).pullSecrets).toBeUndefined();
});
