// Whether any node is large enough for the changed pod of a running PostgreSQL or Redis. A StatefulSet stops the running pod
// before it starts the next, and so does CloudNativePG with the primary at last: a size that no node has would end a working database.

import type { KubeObject } from '../../lib/kube/client.ts';
import { quantity } from '../../schema/quantity.ts';
import {
  type ActionFailure,
  childOf,
  isOurs,
  type ObservedChildren,
  type PostgresClusterSeen,
  refText,
  refTo,
  type Workload,
} from '../assess/observed.ts';
import { hasDrifted } from './drift.ts';
import type { Action } from './plan.ts';

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}
interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** The used part of core/v1 Node. */
export interface ClusterNode extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
}

interface Resources {
  readonly requests?: Readonly<Record<string, string>>;
}
interface Placement {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
}
interface PodSpec extends Placement {
  readonly containers?: readonly { readonly resources?: Resources }[];
}
/** The used part of apps/v1 StatefulSet, and of postgresql.cnpg.io/v1 Cluster, whose instances all have its resources. */
interface Rendered extends KubeObject {
  readonly spec?: {
    readonly template?: { readonly spec?: PodSpec };
    readonly resources?: Resources;
    readonly affinity?: Placement;
  };
}

const RESOURCES = ['cpu', 'memory'] as const;

/** StatefulSets and Clusters that would replace a Ready pod by one with other resource requests. */
export function roomToCheck(actions: readonly Action[], observed: ObservedChildren): readonly KubeObject[] {
  return actions.flatMap(({ do: does, object }) => {
    if (does !== 'apply' || (object.kind !== 'StatefulSet' && object.kind !== 'Cluster')) return [];
    const store = childOf(observed, object.kind, object.metadata.name) as (Running & Rendered) | undefined;
    const { readyReplicas, readyInstances = readyReplicas } = store?.status ?? {};
    const isRunning = store !== undefined && isOurs(store, observed) && (readyInstances ?? 0) > 0;
    return isRunning && hasDrifted(roomOf(object), roomOf(store)) ? [object] : [];
  });
}

interface Running extends KubeObject {
  readonly status?: Workload['status'] & PostgresClusterSeen['status'];
}

/** A failure for each of `sets` whose pod exceeds the capacity of every node. */
export function withoutRoom(sets: readonly KubeObject[], nodes: readonly ClusterNode[]): ActionFailure[] {
  return sets.flatMap((set) => {
    const { requests, nodeSelector, tolerations } = roomOf(set);
    const open = nodes.filter((node) => isOpen(node, nodeSelector, tolerations));
    const fits = open.some((node) => RESOURCES.every((resource) => allocatable(node, resource) >= requests[resource]));
    if (fits) return [];
    const asked = `${requests.cpu} CPU and ${Math.round(requests.memory / 2 ** 20)} MiB`;
    const most = RESOURCES.map((resource) => Math.max(0, ...open.map((node) => allocatable(node, resource))));
    const there =
      open.length === 0
        ? 'no schedulable node matches its node selector and tolerations'
        : `the largest matching nodes have ${most[0]} CPU and ${Math.floor((most[1] ?? 0) / 2 ** 20)} MiB`;
    const ref = refTo(set);
    return [
      {
        reason: 'NoNodeFits',
        ref,
        message: `No node has room for the pod of ${refText(ref)}: it requests ${asked}, and ${there}. The running pod is not changed. Lower the request, or add a larger node. The deployment then continues automatically.`,
      },
    ];
  });
}

interface Room {
  readonly requests: Readonly<Record<(typeof RESOURCES)[number], number>>;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
}

function roomOf({ kind, spec = {} }: Rendered): Room {
  const ofCluster: PodSpec = {
    ...spec.affinity,
    ...(spec.resources && { containers: [{ resources: spec.resources }] }),
  };
  const {
    containers = [],
    nodeSelector = {},
    tolerations = [],
  } = (kind === 'Cluster' ? ofCluster : spec.template?.spec) ?? {};
  const sum = (resource: string): number =>
    containers.reduce((all, { resources }) => all + Number(quantity(resources?.requests?.[resource] ?? '0')), 0);
  return { requests: { cpu: sum('cpu'), memory: sum('memory') }, nodeSelector, tolerations };
}

function isOpen(
  { metadata, spec = {} }: ClusterNode,
  nodeSelector: Room['nodeSelector'],
  tolerations: Room['tolerations'],
): boolean {
  if (spec.unschedulable === true) return false;
  if (!Object.entries(nodeSelector).every(([label, value]) => metadata.labels?.[label] === value)) return false;
  return (spec.taints ?? []).every(
    (taint) =>
      taint.effect === 'PreferNoSchedule' ||
      // Taints for pressure or an outage are temporary.
      taint.key.startsWith('node.kubernetes.io/') ||
      tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false;
  if (key === undefined || key === '') return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}

function allocatable({ status }: ClusterNode, resource: string): number {
  return Number(quantity(status?.allocatable?.[resource] ?? '0'));
}
