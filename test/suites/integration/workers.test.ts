// Named workers on a real API server: what it stores, scales and refuses, and the controllers that make their pods.

import { beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('workers');
  await davit.kubectl(
    ['apply', '-f', '-'],
    aManifest(
      { name: 'shop', namespace: tenant.namespace },
      {
        sourceRevisionConfig: { imageUri: 'registry.example/app:1.0' },
        sourceConfig: {
          runtime: {
            database: 'none',
            redis: 'none',
            workers: { constructor: { command: ['mail'] }, scheduler: { command: ['tick'], singleton: true } },
          },
        },
      },
    ),
  );
  await settled();
});

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl([...args, '-n', tenant.namespace]);
}

interface Record {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly latestRevisionId?: string;
    readonly activeRevisionId?: string;
    readonly workers?: object;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The record when it is Ready at its generation. */
function settled(): Promise<NonNullable<Record['status']>> {
  return eventually(async () => {
    const { metadata, status } = await davit.kubectlJson<Record>(['get', 'appd', 'shop', '-n', tenant.namespace]);
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    expect([ready, status?.observedGeneration]).toEqual(['True', metadata.generation]);
    return status as NonNullable<Record['status']>;
  }, 60_000);
}

function patch(workers: object, ...more: readonly string[]): Promise<string> {
  const body = JSON.stringify({ spec: { sourceConfig: { runtime: { workers } } } });
  return inTenant('patch', 'appd', 'shop', '--type=merge', '-p', body, ...more);
}

interface Pods {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
}
async function podsOf(component: string): Promise<Pods['items']> {
  const selector = ['-l', `davit.dev/deployment=shop,davit.dev/component=${component}`];
  return (await davit.kubectlJson<Pods>(['get', 'pods', '-n', tenant.namespace, ...selector])).items;
}

it('each has its pods, and a singleton that of a StatefulSet', async () => {
  expect((await settled()).workers).toEqual({
    constructor: { minScale: 1, maxScale: 1, replicas: '1/1' },
    scheduler: { minScale: 1, maxScale: 1, replicas: '1/1' },
  });
  expect((await podsOf('scheduler')).map(({ metadata }) => metadata.name)).toEqual(['shop--scheduler-0']);
  expect(await podsOf('constructor')).toHaveLength(1);
});

it('another scale takes effect without a revision and without replacing a pod', async () => {
  const before = await settled();
  const [pod] = await podsOf('constructor');
  await patch({ constructor: { minScale: 2, maxScale: 2 } });
  const after = await settled();
  expect(after.latestRevisionId).toBe(before.latestRevisionId);
  expect(after.workers).toMatchObject({ constructor: { replicas: '2/2' } });
  expect((await podsOf('constructor')).map(({ metadata }) => metadata.uid)).toContain(pod?.metadata.uid);
});

it('a changed worker is rolled alone', async () => {
  const [server, scheduler] = [await podsOf('server'), await podsOf('scheduler')];
  const before = await podsOf('constructor');
  await patch({ constructor: { command: ['mail', '--fast'] } });
  const { latestRevisionId, activeRevisionId } = await settled();
  expect(activeRevisionId).toBe(latestRevisionId);
  const uids = (pods: Pods['items']): string[] => pods.map(({ metadata }) => metadata.uid).toSorted();
  expect([uids(await podsOf('server')), uids(await podsOf('scheduler'))]).toEqual([uids(server), uids(scheduler)]);
  const old = new Set(uids(before));
  await eventually(async () => {
    const now = uids(await podsOf('constructor'));
    expect([now.length, now.some((uid) => old.has(uid))]).toEqual([2, false]);
  });
});

it('one that becomes a singleton has one pod, of its StatefulSet', async () => {
  await patch({ constructor: { singleton: true, minScale: null, maxScale: null } });
  await settled();
  await eventually(async () => {
    expect((await podsOf('constructor')).map(({ metadata }) => metadata.name)).toEqual(['shop--constructor-0']);
  });
  expect(await inTenant('get', 'deployment', 'shop--constructor', '--ignore-not-found')).toBe('');
});

it('one that is removed goes, with its workload and its place in the status', async () => {
  await patch({ constructor: null });
  const { workers } = await settled();
  expect(Object.keys(workers ?? {})).toEqual(['scheduler']);
  await eventually(async () => {
    expect(await inTenant('get', 'statefulset', 'shop--constructor', '--ignore-not-found')).toBe('');
  });
});
