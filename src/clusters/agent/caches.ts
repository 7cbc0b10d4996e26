// The watch caches of the agent: works of the hub, and what it made of them in its own cluster.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../kinds/app-revision.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import { DEPLOYMENT_LABEL, LISTENER_COPY_LABEL, LISTENER_LABEL } from '../../kinds/meta.ts';
import { cacheMaker } from '../../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../../runtime/controller/reflector.ts';
import { NAMESPACES, SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../runtime/kube/client.ts';

export interface AgentCaches {
  /** The works in the hub's namespace of the Listener. */
  readonly works: Reflector<ListenerWork>;
  /** The AppDeployments of this cluster with the Listener's label, in the namespaces that the agent serves. */
  readonly copies: Reflector<AppDeployment>;
  readonly revisions: Reflector<AppRevision>;
  /** Metadata of the Secrets that were copied. */
  readonly secrets: Reflector<KubeObject>;
  readonly namespaces: Reflector<KubeObject>;
  readonly all: readonly Reflector<KubeObject>[];
}

export interface AgentCacheOptions extends Omit<Watching, 'client'> {
  readonly hub: KubeClient;
  readonly local: KubeClient;
  /** The hub's namespace of the Listener. */
  readonly namespace: string;
  /** Namespaces of this cluster that the agent serves; at least one. */
  readonly served: readonly string[];
  /** uid of the Listener. */
  readonly listenerId: string;
}

/** On the way to the hub a connection may be lost without notice: changes of the hub then arrive after at most this time. */
export const HUB_IDLE_MS = 30_000;

export function makeAgentCaches(options: AgentCacheOptions): AgentCaches {
  const { hub, local, namespace, served, listenerId, ...rest } = options;
  const here = cacheMaker({ ...rest, client: local }, served);
  const works = cacheMaker({ ...rest, client: hub })<ListenerWork>(LISTENER_WORKS, { namespace, idleMs: HUB_IDLE_MS });
  const copies = here<AppDeployment>(APP_DEPLOYMENTS, { labelSelector: `${LISTENER_LABEL}=${listenerId}` });
  const revisions = here<AppRevision>(APP_REVISIONS, { indexedLabels: [DEPLOYMENT_LABEL] });
  const secrets = here(SECRETS, {
    metadataOnly: true,
    labelSelector: LISTENER_COPY_LABEL,
    indexedLabels: [LISTENER_COPY_LABEL],
  });
  const namespaces = here(NAMESPACES, { metadataOnly: true });
  const all = [works, copies, revisions, secrets, namespaces] as unknown as Reflector<KubeObject>[];
  return { works, copies, revisions, secrets, namespaces, all };
}
