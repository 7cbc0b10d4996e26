// CloudNativePG, as far as Davit sees it: pods and volumes of a Cluster, and their end.

import { isDeepStrictEqual } from 'node:util';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { PERSISTENT_VOLUME_CLAIMS, PODS, POSTGRES_CLUSTERS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import type { MemoryController } from './controller.ts';
import { makeReady } from './workloads.ts';

interface Cluster extends KubeObject {
  readonly spec?: {
    readonly instances?: number;
    readonly plugins?: readonly unknown[];
    readonly storage?: { readonly size?: string };
    readonly inheritedMetadata?: { readonly labels?: Readonly<Record<string, string>> };
  };
}

/** One look of the operator. `ready`: how many instances are, all of them by default. */
export async function operate(kube: FakeKube, ready = Infinity): Promise<void> {
  const clusters = kube.objects<Cluster>(POSTGRES_CLUSTERS);
  for (const pod of kube.objects(PODS)) {
    const name = pod.metadata.labels?.['cnpg.io/cluster'];
    const cluster = clusters.find(({ metadata }) => metadata.name === name);
    const isAsleep = cluster?.metadata.annotations?.['cnpg.io/hibernation'] === 'on';
    if (name !== undefined && (!cluster || isAsleep)) kube.erase(PODS, placeOf(pod));
  }
  for (const cluster of clusters) {
    if (cluster.metadata.annotations?.['cnpg.io/hibernation'] === 'on') continue;
    await startInstances(kube, cluster, ready);
  }
}

async function startInstances(kube: FakeKube, cluster: Cluster, ready: number): Promise<void> {
  const { instances = 1, plugins = [], storage, inheritedMetadata } = cluster.spec ?? {};
  const { name, namespace = '', uid = '' } = cluster.metadata;
  const ownerReferences = [{ apiVersion: cluster.apiVersion, kind: cluster.kind, name, uid, controller: true }];
  for (let serial = 1; serial <= instances; serial += 1) {
    const role = serial === 1 ? 'primary' : 'replica';
    const labels = { ...inheritedMetadata?.labels, 'cnpg.io/cluster': name };
    const metadata = { name: `${name}-${serial}`, namespace, ownerReferences };
    const isReady = serial <= ready;
    put(kube, PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...metadata, labels },
      spec: { resources: { requests: { storage: storage?.size } } },
      status: { capacity: { storage: storage?.size } },
    } as KubeObject);
    put(kube, PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, labels: { ...labels, 'cnpg.io/instanceRole': role } },
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
        ...(plugins.length > 0 && { initContainerStatuses: [{ name: 'plugin-barman-cloud', ready: isReady }] }),
      },
    } as KubeObject);
  }
  const phase = ready >= instances ? 'Cluster in healthy state' : 'Waiting for the instances to become active';
  const status = { phase, instances, readyInstances: Math.min(ready, instances), currentPrimary: `${name}-1` };
  if (isDeepStrictEqual((cluster as { status?: object }).status, status)) return;
  const writing = { fieldManager: 'cloudnative-pg', subresource: 'status' } as const;
  await kube.mergePatch(POSTGRES_CLUSTERS, placeOf(cluster), { status }, writing);
}

/** Writes nothing where it is there already. */
function put(kube: FakeKube, resource: Resource, object: KubeObject & { readonly status?: object }): void {
  const there = kube
    .objects<KubeObject & { status?: object }>(resource)
    .find(({ metadata }) => metadata.name === object.metadata.name && metadata.namespace === object.metadata.namespace);
  if (there && isDeepStrictEqual(there.status, object.status)) return;
  if (there) kube.erase(resource, placeOf(there));
  kube.seed(resource, object);
}

function placeOf({ metadata: { namespace = '', name } }: KubeObject): { namespace: string; name: string } {
  return { namespace, name };
}

interface Between {
  /** How many instances are ready, all of them by default. */
  readonly ready?: number | undefined;
  /** What happens after each look of the operator. */
  readonly after?: (() => Promise<void>) | undefined;
}

/** Passes, with the operator and kubelets in between, until nothing is written. */
export async function restWithOperator(controller: MemoryController, { ready, after }: Between = {}): Promise<void> {
  let last: string[] = [];
  for (let pass = 0; pass < 30; pass += 1) {
    await controller.reconcile();
    last = controller.writes().filter((write) => !write.startsWith('try '));
    await operate(controller.kube, ready);
    await after?.();
    await makeReady(controller.kube);
    controller.kube.collectGarbage();
    controller.writes();
    if (last.length === 0 && pass > 1) return;
  }
  throw new Error(`It does not come to rest: ${last.join(', ')}`);
}

/** The teardown of the record, with the operator in between. */
export async function tornDown(controller: MemoryController): Promise<void> {
  for (let pass = 0; pass < 20 && controller.kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
    await controller.reconcile();
    await operate(controller.kube);
    controller.kube.collectGarbage();
  }
}
