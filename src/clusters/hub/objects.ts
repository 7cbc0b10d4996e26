// What a Listener gets on the hub: a namespace without pods, the agent's account and its rights in there, its Lease, and a work
// for each deployment.

import { uidOf } from '../../deploy/record/metadata.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { Listener } from '../../kinds/listener.ts';
import { copyName, hubNamespace, LISTENER_AGENT } from '../../kinds/listener-names.ts';
import type { ListenerWork } from '../../kinds/listener-work.ts';
import { API_VERSION, LISTENER_COPY_LABEL, LISTENER_LABEL, REMOTE_FINALIZER } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

const MANAGED = { 'app.kubernetes.io/part-of': 'davit', 'app.kubernetes.io/managed-by': 'davit' } as const;

/** The account of the controller, whose right to Secrets in the namespace is a binding in there. */
export interface ControllerAccount {
  readonly name: string;
  readonly namespace: string;
}

/** `owner`: uid of the Listener. */
export function makeHubNamespace(owner: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: hubNamespace(owner), labels: { ...MANAGED, [LISTENER_LABEL]: owner } },
  };
}

/** The objects in the namespace that exist before any work, in the order in which they are created. */
export function makeHubObjects(listener: Listener, controller: ControllerAccount): KubeObject[] {
  const { uid = '' } = listener.metadata;
  const namespace = hubNamespace(uid);
  const meta = (name: string): KubeObject['metadata'] => ({
    name,
    namespace,
    labels: { ...MANAGED, [LISTENER_LABEL]: uid },
  });
  const binding = (name: string, role: string, subject: object): KubeObject =>
    ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: meta(name),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', ...subject }],
    }) as KubeObject;
  return [
    binding('davit-controller', 'davit-listener-hub', controller),
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: meta(LISTENER_AGENT),
      automountServiceAccountToken: false,
    } as KubeObject,
    binding(LISTENER_AGENT, 'davit-listener-agent', { name: LISTENER_AGENT, namespace }),
  ];
}

/** Only created: the agent writes the rest. `epoch`: the lowest that its next holder may have. */
export function makeLease(owner: string, epoch: number): KubeObject {
  const namespace = hubNamespace(owner);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: LISTENER_AGENT, namespace, labels: { ...MANAGED, [LISTENER_LABEL]: owner } },
    spec: { leaseTransitions: epoch },
  } as KubeObject;
}

export interface WorkInputs {
  readonly listener: Listener;
  /** uid of the namespace kube-system of the listener's cluster. */
  readonly clusterId: string;
  /** uid of the namespace kube-system of the hub. */
  readonly hubId: string;
  /** uid of the record's namespace. */
  readonly tenantId: string;
  /** uid and resourceVersion of each Secret with values, by name. Missing Secrets are absent. */
  readonly versions: ReadonlyMap<string, string>;
}

/** Names of the Secrets of which copies cross, sorted: those of `secrets`. A SecretReference names a Secret of the cluster. */
export function crossingSecrets({ spec }: AppDeployment): string[] {
  return [...new Set(spec.secrets.map(({ secretName }) => secretName))].toSorted();
}

export function makeWork(record: AppDeployment, inputs: WorkInputs): ListenerWork {
  const { listener, clusterId, hubId, tenantId, versions } = inputs;
  const uid = uidOf(record);
  const { listenerId: _id, listenerConfig, ...sourceConfig } = record.spec.sourceConfig;
  const secrets = crossingSecrets(record).flatMap((name) => {
    const version = versions.get(name);
    return version === undefined ? [] : [{ name, copy: copyName(uid, name), version }];
  });
  return workWith(hubNamespace(listener.metadata.uid ?? ''), uid, {
    clusterId,
    hubId,
    tenantId,
    name: record.metadata.name,
    namespace: listenerConfig?.k8sNamespace ?? '',
    generation: record.metadata.generation ?? 0,
    deployment: { ...record.spec, sourceConfig },
    ...(secrets.length > 0 && { secrets }),
  });
}

/** The work of a paused record: what the cluster was given last, and the pause. */
export function pausedWork({ metadata: { namespace = '', name }, spec }: ListenerWork): ListenerWork {
  return workWith(namespace, name, { ...spec, paused: true });
}

function workWith(namespace: string, name: string, spec: ListenerWork['spec']): ListenerWork {
  const metadata = { name, namespace, labels: MANAGED, finalizers: [REMOTE_FINALIZER] };
  return { apiVersion: API_VERSION, kind: 'ListenerWork', metadata, spec };
}

/** The copy of a Secret of this record; immutable if the original is. `data`: its values, base64. */
export function makeCopy(
  record: AppDeployment,
  listener: Listener,
  secretName: string,
  { data = {}, immutable }: { readonly data?: Readonly<Record<string, string>>; readonly immutable?: boolean },
): KubeObject {
  const uid = uidOf(record);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: copyName(uid, secretName),
      namespace: hubNamespace(listener.metadata.uid ?? ''),
      labels: { ...MANAGED, [LISTENER_COPY_LABEL]: uid },
    },
    type: 'Opaque',
    ...(immutable === true && { immutable }),
    data,
  } as KubeObject;
}
