// What kubelets and the built-in controllers do, on the in-memory API server.

import { isDeepStrictEqual } from 'node:util';
import type { ContainerStatus, ObservedCondition, Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  RESTORE,
  RESTORE_CONTAINER,
  REVISION_LABEL,
} from '../../../src/kinds/meta.ts';
import { DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

/** The new pod of a part of the record `shop`, of this revision, whose container has this status. */
export function putPod(
  kube: FakeKube,
  role: string,
  revision: string,
  status: Partial<ContainerStatus>,
  isReady = false,
): void {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `shop-${role}-new`,
      namespace: 'team',
      labels: { [DEPLOYMENT_LABEL]: 'shop', [COMPONENT_LABEL]: role, [REVISION_LABEL]: revision },
      ownerReferences: [CONTROLLER],
    },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
      containerStatuses: [{ name: role, ...status }],
    },
  };
  removePod(kube, role);
  kube.seed(PODS, pod);
}

/** What the controller of a workload of `shop` reports: by default a new pod that is not ready beside the old one. */
export async function reportRolling(
  kube: FakeKube,
  name = 'shop',
  more: object = {},
  resource = DEPLOYMENTS,
): Promise<void> {
  const found = kube.objects<Workload>(resource).find(({ metadata }) => metadata.name === name);
  const status = {
    observedGeneration: found?.metadata.generation,
    replicas: 2,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    conditions: [{ type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated' }],
    ...more,
  };
  const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
  await kube.mergePatch(resource, { namespace: 'team', name }, { status }, writing);
}

/** Removes the pod that `putPod` made, if it is there. */
export function removePod(kube: FakeKube, role: string): void {
  const name = `shop-${role}-new`;
  if (kube.objects(PODS).some(({ metadata }) => metadata.name === name)) kube.erase(PODS, { namespace: 'team', name });
}

/** The status of a container that exits again and again. `startedAt`: when the run began that ended last. */
export const crashing = (restartCount: number, message?: string, startedAt?: string): Partial<ContainerStatus> => ({
  restartCount,
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: {
    terminated: {
      exitCode: 1,
      reason: 'Error',
      ...(message !== undefined && { message }),
      ...(startedAt !== undefined && { startedAt }),
    },
  },
});

/** Does what kubelet and the built-in controllers would: every workload becomes ready at its generation, every Job succeeds. */
export async function makeReady(kube: FakeKube): Promise<void> {
  loadBackups(kube);
  await endJobs(kube, { type: 'Complete', status: 'True' });
  await makeWorkloadsReady(kube);
}

/** The same, but for the Jobs. */
export async function makeWorkloadsReady(kube: FakeKube, kinds = [DEPLOYMENTS, STATEFUL_SETS]): Promise<void> {
  for (const resource of kinds) {
    for (const object of kube.objects<KubeObject & { spec?: { replicas?: number }; status?: object }>(resource)) {
      const replicas = object.spec?.replicas ?? 1;
      const status = {
        observedGeneration: object.metadata.generation ?? 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      };
      if (isDeepStrictEqual(object.status, status)) continue;
      const { namespace = '', name } = object.metadata;
      const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
      await kube.mergePatch(resource, { namespace, name }, { status }, writing);
    }
  }
}

/** The pods of Jobs with which databases begin have loaded a backup, and say so. */
function loadBackups(kube: FakeKube): void {
  for (const job of kube.objects<RestoreJob>(JOBS)) {
    const { name, namespace = '', uid = '', labels } = job.metadata;
    if (labels?.[COMPONENT_LABEL] !== RESTORE || job.status?.conditions !== undefined) continue;
    putRestorePod(kube, { name, namespace, uid, labels }, { exitCode: 0, message: loadedFrom(job) });
  }
}

interface RestoreJob extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly initContainers?: readonly { readonly args?: readonly string[] }[] };
    };
  };
  readonly status?: { readonly conditions?: readonly unknown[] };
}

function loadedFrom({ spec }: RestoreJob): string {
  const args = spec?.template?.spec?.initContainers?.flatMap((container) => container.args ?? []) ?? [];
  const from = args.find((arg) => arg.startsWith('--deployment='))?.slice('--deployment='.length);
  const takenAt = '2026-02-01T02:00:00Z';
  return JSON.stringify({ from, name: '20260201T020000Z-0000000a', takenAt, sizeBytes: 5_000_000 });
}

/** The pod of a restore, whose last container ended so; without `ended` it runs. */
export function putRestorePod(
  kube: FakeKube,
  { name, namespace = 'team', uid = '', labels }: KubeObject['metadata'],
  ended?: { readonly exitCode: number; readonly message: string },
): void {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-pod`,
      namespace,
      ...(labels && { labels }),
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
    },
    status: {
      phase: ended === undefined ? 'Running' : ended.exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        {
          name: RESTORE_CONTAINER,
          state: ended === undefined ? { running: {} } : { terminated: { reason: 'Error', ...ended } },
        },
      ],
    },
  };
  const place = { namespace, name: pod.metadata.name };
  if (kube.objects(PODS).some(({ metadata }) => metadata.name === place.name)) kube.erase(PODS, place);
  kube.seed(PODS, pod);
}

/** Every Job that has not ended yet ends with this condition. */
export async function endJobs(kube: FakeKube, condition: ObservedCondition): Promise<void> {
  for (const job of kube.objects<KubeObject & { status?: { conditions?: readonly unknown[] } }>(JOBS)) {
    if (job.status?.conditions !== undefined) continue;
    const { namespace = '', name } = job.metadata;
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    await kube.mergePatch(JOBS, { namespace, name }, { status: { conditions: [condition] } }, writing);
  }
}
