// Autoscalers on a real API server. There is no metrics-server, so the autoscaler's own controller changes nothing
// within the range; its part is played at the Deployment's scale. Every version of the Deployment is watched.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
const watches: ChildProcess[] = [];
beforeAll(async () => {
  tenant = await davit.tenant('scaling');
});
afterAll(() => {
  for (const watch of watches) watch.kill();
});

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl([...args, '-n', tenant.namespace]);
}

function apply(name: string, resourceSpec: object, image = 'registry.example/app:1.0'): Promise<string> {
  return davit.kubectl(
    ['apply', '-f', '-'],
    aManifest(
      { name, namespace: tenant.namespace },
      { sourceRevisionConfig: { imageUri: image }, sourceConfig: { resourceSpec } },
    ),
  );
}

interface Deployment {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields: readonly {
      readonly manager: string;
      readonly fieldsV1?: { readonly 'f:spec'?: Readonly<Record<string, unknown>> };
    }[];
  };
  readonly spec: { readonly replicas: number };
}

/** The number, and who has written it. */
async function scaleOf(name: string): Promise<{ replicas: number; writers: string[] }> {
  const { spec, metadata } = await davit.kubectlJson<Deployment>([
    'get',
    'deployment',
    name,
    '-n',
    tenant.namespace,
    '--show-managed-fields',
  ]);
  const writers = metadata.managedFields.filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:replicas'] !== undefined);
  return { replicas: spec.replicas, writers: writers.map(({ manager }) => manager).toSorted() };
}

/** The number of each version from now on. */
async function numbersOf(name: string): Promise<number[]> {
  const seen: number[] = [];
  const watch = spawn(
    davit.kubectlPath,
    ['get', 'deployment', name, '-n', tenant.namespace, '--watch', '-o', 'jsonpath={.spec.replicas}{"\\n"}'],
    { env: { ...process.env, KUBECONFIG: davit.kubeconfig }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  watches.push(watch);
  createInterface({ input: watch.stdout }).on('line', (line) => seen.push(Number(line)));
  await eventually(() => {
    expect(seen.length).toBeGreaterThan(0);
    return Promise.resolve();
  });
  return seen;
}

async function untilReady(name: string): Promise<void> {
  const { generation } = (
    await davit.kubectlJson<{ metadata: { generation: number } }>(['get', 'appd', name, '-n', tenant.namespace])
  ).metadata;
  await eventually(async () => {
    const { status } = await davit.kubectlJson<{ status?: Status }>(['get', 'appd', name, '-n', tenant.namespace]);
    expect(status?.observedGeneration).toBe(generation);
    expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
  });
}

interface Status {
  readonly state?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

async function statusOf(name: string): Promise<Status> {
  return (await davit.kubectlJson<{ status: Status }>(['get', 'appd', name, '-n', tenant.namespace])).status;
}

async function reasonOf(name: string, type: string): Promise<string | undefined> {
  return (await statusOf(name)).conditions?.find((condition) => condition.type === type)?.reason;
}

async function autoscalers(name: string): Promise<string> {
  return (await inTenant('get', 'hpa', '-o', 'name', '-l', `davit.dev/deployment=${name}`)).trim();
}

describe('between a fixed number and an autoscaler', () => {
  it('in both directions, during a rollout: never fewer pods than before', async () => {
    await apply('swing', { minScale: 3, maxScale: 3 });
    await untilReady('swing');
    const seen = await numbersOf('swing');

    await apply('swing', { minScale: 2, maxScale: 6 });
    await eventually(async () => expect(await scaleOf('swing')).toEqual({ replicas: 3, writers: ['davit-hand-over'] }));
    await untilReady('swing');
    await inTenant('scale', 'deployment', 'swing', '--replicas=5');
    await eventually(async () => expect(await scaleOf('swing')).toMatchObject({ replicas: 5, writers: ['kubectl'] }));
    await apply('swing', { minScale: 2, maxScale: 6 }, 'registry.example/app:1.1');
    await untilReady('swing');
    expect(await inTenant('get', 'appd', 'swing')).toMatch(/ 5\/5 /);
    expect(Math.min(...seen)).toBe(3);

    const before = seen.length;
    await apply('swing', { minScale: 4, maxScale: 4 });
    await eventually(async () =>
      expect([await autoscalers('swing'), (await scaleOf('swing')).replicas]).toEqual(['', 4]),
    );
    await untilReady('swing');
    await apply('swing', { minScale: 4, maxScale: 6 });
    await eventually(async () => expect((await scaleOf('swing')).writers).not.toContain('davit-controller'));
    await untilReady('swing');
    expect([Math.min(...seen.slice(before)), (await scaleOf('swing')).replicas]).toEqual([4, 4]);
  });

  it('a new workload starts with its minimum, and its pods can be evicted one at a time', async () => {
    await apply('fresh', {
      minScale: 2,
      maxScale: 4,
      queueMinScale: 1,
      queueMaxScale: 3,
      orchestratorMaxScale: 2,
      executorCpu: 0.1,
    });
    await untilReady('fresh');
    await eventually(async () => {
      for (const [name, replicas] of [
        ['fresh', 2],
        ['fresh--queue', 1],
        ['fresh--orchestrator', 1],
      ] as const)
        expect([name, await scaleOf(name)]).toEqual([name, { replicas, writers: ['davit-hand-over'] }]);
    });
    expect(await scaleOf('fresh--executor')).toEqual({ replicas: 1, writers: ['davit-controller'] });
    expect((await autoscalers('fresh')).split('\n').map((line) => line.split('/')[1])).toEqual([
      'fresh',
      'fresh--orchestrator',
      'fresh--queue',
    ]);
    await eventually(async () => {
      const allowed = await inTenant('get', 'pdb', 'fresh', '-o', 'jsonpath={.status.disruptionsAllowed}');
      expect(allowed).toBe('1');
    });
  });

  it("steady state: the autoscaler's status causes no write", async () => {
    const kinds = 'appd,appr,trp,deployments,statefulsets,services,secrets,pvc,networkpolicies,pdb';
    const versions = async (): Promise<string> =>
      inTenant(
        'get',
        kinds,
        '-l',
        'davit.dev/deployment=fresh',
        '-o',
        'jsonpath={range .items[*]}{.metadata.uid}={.metadata.resourceVersion} {end}',
      );
    await eventually(async () => expect(await reasonOf('fresh', 'AutoscalingReady')).toBe('MetricsMissing'), 60_000);
    const written = await inTenant('get', 'appd', 'fresh', '-o', 'jsonpath={.metadata.resourceVersion}');
    const before = await versions();
    for (const round of [1, 2, 3]) {
      await inTenant(
        'patch',
        'hpa',
        'fresh',
        '--subresource=status',
        '--type=merge',
        '-p',
        JSON.stringify({ status: { currentReplicas: round + 4 } }),
      );
      await sleep(1000);
    }
    expect(await versions()).toBe(before);
    expect(await inTenant('get', 'appd', 'fresh', '-o', 'jsonpath={.metadata.resourceVersion}')).toBe(written);
    expect(await reasonOf('fresh', 'Ready')).toBe('Serving');
  });

  it('to zero and back', async () => {
    await apply('fresh', { minScale: 0, maxScale: 0, queueMaxScale: 3 });
    await untilReady('fresh');
    expect([(await statusOf('fresh')).state, await autoscalers('fresh'), (await scaleOf('fresh')).replicas]).toEqual([
      'UNUSED',
      '',
      0,
    ]);
    expect(await reasonOf('fresh', 'Ready')).toBe('ScaledToZero');
    await apply('fresh', { minScale: 0, maxScale: 3 });
    await eventually(async () => expect((await statusOf('fresh')).state).toBe('READY'));
    expect(await reasonOf('fresh', 'ResourceSpecHonored')).toBe('MinimumIsOne');
    expect(await inTenant('get', 'hpa', 'fresh', '-o', 'jsonpath={.spec.minReplicas}-{.spec.maxReplicas}')).toBe('1-3');
    expect((await scaleOf('fresh')).replicas).toBe(1);
  });
});
