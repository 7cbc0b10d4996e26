import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../test/support/builders.ts';
import type { SourceConfig } from '../../kinds/app-deployment.ts';
import type { Container, ResourceSpec } from '../../kinds/resource-spec.ts';
import { Settings } from '../../kinds/settings.ts';
import { type Excess, limitViolations, missingExternal, placementBreaches } from './limits.ts';
import { resolve } from './resolve.ts';

const LIMITS = { cpu: 2, memoryMb: 1024, scale: 4, storageGi: 5 };
const CPU_REQUESTS = "sidecars: cpu requests of a pod's containers together 2";
const CPU_LIMITS = "sidecars: cpu limits of a pod's containers together 2";

type Amounts = Readonly<Record<string, number | string>>;
function aContainer(limits: Amounts, requests: Amounts = {}, restartPolicy?: 'Always'): Container {
  return { name: 'a', image: 'a', resources: { limits, requests }, ...(restartPolicy && { restartPolicy }) };
}
function said({ field, of, most }: Excess): string {
  return `${field}${of === undefined ? '' : `: ${of}`} ${most}`;
}

describe('limitViolations', () => {
  it.each<{ reason: string; spec: ResourceSpec; want: string[]; named?: string[] }>([
    { reason: 'nothing asked for', spec: {}, want: [] },
    { reason: 'at the limit', spec: { cpu: 2, memoryMb: 1024, maxScale: 4, dbStorageGi: 5 }, want: [] },
    {
      reason: 'above it, in every part',
      spec: { cpuLimit: 2.1, queueMemoryMb: 1025, redisMemoryLimitMb: 2000, orchestratorMaxScale: 5, dbStorageGi: 6 },
      want: ['cpuLimit 2', 'queueMemoryMb 1024', 'orchestratorMaxScale 4', 'redisMemoryLimitMb 1024', 'dbStorageGi 5'],
    },
    { reason: 'what has no limit', spec: { dbMaxConnections: 9000 }, want: [] },
    {
      reason: 'sidecars within it',
      spec: { cpu: 1, cpuLimit: 1, sidecars: [aContainer({ cpu: '500m', memory: '1Gi' }, { cpu: 1 })] },
      want: [],
    },
    {
      reason: 'a sidecar of 500 cores',
      spec: { sidecars: [aContainer({ cpu: '500' })] },
      want: ["sidecars: cpu requests of a pod's containers together 2", CPU_LIMITS],
    },
    { reason: 'only its request', spec: { sidecars: [aContainer({}, { cpu: 3 })] }, want: [CPU_REQUESTS] },
    {
      reason: 'several that share the pod',
      spec: { sidecars: [aContainer({ cpu: 1 }), aContainer({ cpu: '1001m' })] },
      want: [CPU_REQUESTS, CPU_LIMITS],
    },
    {
      reason: 'init containers run one after the other',
      spec: { initContainers: [aContainer({ cpu: 2 }), aContainer({ cpu: 2 })] },
      want: [],
    },
    {
      reason: 'beside the sidecars',
      spec: { sidecars: [aContainer({ memory: '1023Mi' })], initContainers: [aContainer({ memory: '2Mi' })] },
      want: [
        "sidecars: memory requests of a pod's containers together 1024Mi",
        "sidecars: memory limits of a pod's containers together 1024Mi",
      ],
    },
    {
      reason: 'an init container that stays is a sidecar',
      spec: { initContainers: [aContainer({ cpu: '1.5' }, {}, 'Always'), aContainer({ cpu: 1 })] },
      want: [
        "initContainers: cpu requests of a pod's containers together 2",
        "initContainers: cpu limits of a pod's containers together 2",
      ],
    },
    {
      reason: 'a part with its sidecars',
      spec: { cpu: 1, cpuLimit: 2, queueMemoryMb: 512, sidecars: [aContainer({ cpu: '0.5', memory: '513Mi' })] },
      want: ['cpuLimit: its sum with the sidecars 2', 'queueMemoryMb: its sum with the sidecars 1024'],
    },
    { reason: 'amounts that are none', spec: { sidecars: [aContainer({ cpu: 'lots' })] }, want: [] },
    {
      reason: 'another resource',
      spec: { sidecars: [aContainer({ 'nvidia.com/gpu': 8 })] },
      want: [],
      named: ["sidecars: nvidia.com/gpu of a pod's containers together 1"],
    },
    { reason: 'as much as there may be', spec: { sidecars: [aContainer({ 'nvidia.com/gpu': '1' })] }, want: [] },
    {
      reason: 'one that no limit names',
      spec: { initContainers: [aContainer({}, { 'ephemeral-storage': '1Gi' })] },
      want: [],
      named: ["initContainers: ephemeral-storage of a pod's containers together 0"],
    },
  ])('$reason', ({ spec, want, named = want }) => {
    const asked = { resourceSpec: spec };
    expect(limitViolations(asked, LIMITS).map(said)).toEqual(want);
    expect(limitViolations(asked, { ...LIMITS, resources: { 'nvidia.com/gpu': 1 } }).map(said)).toEqual(named);
    expect(limitViolations(asked, {})).toEqual([]);
    // What is there already is not judged again.
    expect(limitViolations(asked, { ...LIMITS, resources: {} }, asked)).toEqual([]);
  });

  it('judges what a change makes larger', () => {
    const before = { cpu: 2, sidecars: [aContainer({ cpu: 3 })] };
    const after = (change: object): Excess[] =>
      limitViolations({ resourceSpec: { ...before, ...change } }, LIMITS, { resourceSpec: before });
    expect(after({ cpu: 1 })).toEqual([]);
    expect(after({ sidecars: [aContainer({ cpu: 4 })] }).map(said)).toEqual([CPU_REQUESTS, CPU_LIMITS]);
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
  expect(missingExternal(['A', 'REDIS_URI_CUSTOM'], undefined)).toEqual(['postgres']);
  expect(missingExternal(['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'], undefined)).toEqual([]);
  expect(missingExternal([], { database: 'none' })).toEqual(['redis']);
  expect(missingExternal(['REDIS_URI_CUSTOM'], { database: 'none' })).toEqual([]);
});

describe('named workers', () => {
  const limits = Settings.parse({ limits: { cpu: 2, memoryMb: 1024, scale: 4 } }).limits;
  const sidecars = [{ name: 'a', resources: { requests: { cpu: '1.5' } } }];
  it.each<{ name: string; worker: object; before?: object; spec?: object; want: string[] }>([
    { name: 'at the limit', worker: { cpu: 2, memoryMb: 1024, maxScale: 4 }, want: [] },
    { name: 'above it', worker: { cpu: 2.5, maxScale: 5 }, want: ['mailer.maxScale 4', 'mailer.cpu 2'] },
    { name: 'above it, and so before', worker: { maxScale: 9 }, before: { maxScale: 9 }, want: [] },
    { name: 'another value above it', worker: { maxScale: 8 }, before: { maxScale: 9 }, want: ['mailer.maxScale 4'] },
    { name: 'with the sidecars', worker: { cpu: 1 }, spec: { sidecars }, want: ['mailer.cpu 2'] },
    { name: 'less than they have', worker: { cpu: 0.5 }, spec: { sidecars }, want: [] },
  ])('$name', ({ worker, before, spec = {}, want }) => {
    const of = (mailer: object): Parameters<typeof limitViolations>[0] => ({
      runtime: { workers: { mailer } },
      resourceSpec: spec,
    });
    const found = limitViolations(of(worker), limits, before && of(before));
    expect(found.map(({ worker: name, field, most }) => `${name}.${field} ${most}`)).toEqual(want);
  });
});

it('a list of placement that was narrowed leaves alone what a record has, and counts what its sidecars ask for', () => {
  const placement = { nodeSelector: { pool: 'gpu' }, tolerations: [{ key: 'dedicated' }], runtimeClassName: 'gvisor' };
  const had = { runtime: { server: { placement } } };
  const settings = Settings.parse({ limits: { resources: { 'nvidia.com/gpu': 1 } } });
  const asked = (more: object): SourceConfig => ({ runtime: { server: { placement: { ...placement, ...more } } } });
  const fields = (config: SourceConfig): string[] =>
    Array.from(placementBreaches(config, settings, had), ({ at }) => at.slice(4).join('.'));
  expect(fields(had)).toEqual([]);
  expect(fields(asked({ nodeSelector: { pool: 'big' } }))).toEqual(['nodeSelector.pool']);
  const gpu = { resources: { 'nvidia.com/gpu': 1 } };
  expect(fields(asked(gpu))).toEqual([]);
  const sidecars = [{ name: 'eye', image: 'eye:1', resources: { limits: { 'nvidia.com/gpu': 1 } } }];
  expect(fields({ ...asked(gpu), resourceSpec: { sidecars } })).toEqual(['resources.nvidia.com/gpu']);
});
