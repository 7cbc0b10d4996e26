// A hub and a listener's cluster as two parts of one in-memory API server: each controller, and the agent, sees only the namespaces
// of its own cluster. What is of neither part is the agent's and the link's: marks in the Listener's namespace.

import { type AgentCaches, makeAgentCaches } from '../../../src/clusters/agent/caches.ts';
import { holdHubLease } from '../../../src/clusters/agent/hub-lease.ts';
import { makeAgentReconciler } from '../../../src/clusters/agent/works.ts';
import type { Lease } from '../../../src/clusters/hub/contact.ts';
import type { Hearing } from '../../../src/clusters/hub/hearing.ts';
import { makeListenerReconciler } from '../../../src/clusters/hub/listeners.ts';
import { makeRecordReconciler } from '../../../src/clusters/hub/records.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { hubNamespace, LISTENER_AGENT } from '../../../src/kinds/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../../src/kinds/listener-work.ts';
import {
  CLUSTER_ID_ANNOTATION,
  DEPLOYMENT_LABEL,
  LISTENER_COPY_LABEL,
  LISTENER_LABEL,
  ORIGIN_ID_ANNOTATION,
  TENANT_LABEL,
} from '../../../src/kinds/meta.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { wrapClient } from '../../../src/runtime/controller/clients/wrap-client.ts';
import type { Clock } from '../../../src/runtime/controller/clock.ts';
import type { Reconcile } from '../../../src/runtime/controller/controller.ts';
import type { Reflector } from '../../../src/runtime/controller/reflector.ts';
import { Unauthorized, Unavailable } from '../../../src/runtime/errors.ts';
import { LEASES, NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../../src/runtime/kube/client.ts';
import { aSpec } from '../../support/builders.ts';
import { lazily, METRICS, SILENT } from './caches.ts';
import type { Controllers } from './pass-seen.ts';
import { clockOf, EVENTS, openHome, recordsOf } from './passes.ts';
import { NOW, type Scene, timeOf } from './scene.ts';

/** Namespace of the tenant on the hub, that of the Listener there, and that of the other cluster. */
export const TEAM = 'team';
export const SHOPS = 'shops';
export const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
export const HUB = hubNamespace(LISTENER);
export const NAME = 'shop';
export const CLUSTER = 'cluster-1';

export const ON_HUB = Settings.parse({ keda: { enabled: false }, listeners: { enabled: true } });
export const IN_CLUSTER = Settings.parse({ keda: { enabled: false } });

/** The marks of the Listener's namespace. */
export type LinkMark =
  /** `cut`, or `revoked` with the agent's token. */
  | 'link'
  /** leaseTransitions of the agent that leads; absent while it starts. */
  | 'epoch'
  /** What the agent saw of the hub's works before the link was cut. */
  | 'works'
  /** What the hub's controller has heard: `recently`, `not yet` since it started, or `nothing` for longer than the setting allows. */
  | 'heard';
export const link = (scene: Scene, mark: LinkMark): string | undefined => scene.mark(HUB, mark);
export const setLink = (scene: Scene, mark: LinkMark, value: string | undefined): void =>
  scene.setMark(HUB, mark, value);

/** Whether requests of the agent arrive. */
export const reachesHub = (scene: Scene): boolean => link(scene, 'link') === undefined;
export const leaseOf = (scene: Scene): Lease | undefined => scene.get<Lease>(LEASES, HUB, LISTENER_AGENT);
export const listenerOf = (scene: Scene): Listener | undefined => scene.get<Listener>(LISTENERS, TEAM, 'edge');
export const recordOf = (scene: Scene): AppDeployment | undefined =>
  scene.get<AppDeployment>(APP_DEPLOYMENTS, TEAM, NAME);
export const thereOf = (scene: Scene): AppDeployment | undefined =>
  scene.get<AppDeployment>(APP_DEPLOYMENTS, SHOPS, NAME);
export const originOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[ORIGIN_ID_ANNOTATION];
export const ofCopy = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[LISTENER_COPY_LABEL];
export const worksOf = (scene: Scene): readonly ListenerWork[] => scene.all<ListenerWork>(LISTENER_WORKS, HUB);
/** As the agent sees them. */
const worksSeen = (scene: Scene): readonly ListenerWork[] => {
  const frozen = link(scene, 'works');
  return frozen === undefined ? worksOf(scene) : (JSON.parse(frozen) as ListenerWork[]);
};
/** Whether the agent that leads holds the Lease. */
export const holdsLease = (scene: Scene): boolean =>
  link(scene, 'epoch') !== undefined && Number(link(scene, 'epoch')) === leaseOf(scene)?.spec?.leaseTransitions;
/** Whether the agent can renew its Lease. */
export const canRenew = (scene: Scene): boolean => reachesHub(scene) && holdsLease(scene);
export const isConsenting = (scene: Scene): boolean => {
  const labels = scene.get(NAMESPACES, '', SHOPS)?.metadata.labels;
  return labels?.[TENANT_LABEL] === 'true' && labels[LISTENER_LABEL] === LISTENER;
};

export function aRecordOfListener(): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: NAME, namespace: TEAM, generation: 1 },
    spec: aSpec({
      sourceConfig: {
        listenerId: LISTENER,
        listenerConfig: { k8sNamespace: SHOPS },
        resourceSpec: { minScale: 1, maxScale: 1 },
      },
      secrets: [{ name: 'KEY', secretName: 'values', secretKey: 'KEY' }],
      secretReferences: [{ name: 'OTHER', secretName: 'theirs', secretKey: 'a' }],
    }),
  };
}

export function putValues(scene: Scene, namespace: string, name: string, data: Readonly<Record<string, string>>): void {
  scene.put(
    SECRETS,
    { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, type: 'Opaque', data } as KubeObject,
    'person',
  );
}

/** A hub with a Listener and a record, and a cluster that accepts it. */
export function beginListener(scene: Scene): void {
  const namespace = (name: string, labels: Readonly<Record<string, string>>, uid?: string): void =>
    scene.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, ...(uid && { uid }) } });
  namespace('kube-system', {}, 'hub-1');
  namespace(TEAM, { [TENANT_LABEL]: 'true' });
  namespace(SHOPS, { [TENANT_LABEL]: 'true', [LISTENER_LABEL]: LISTENER });
  scene.put(LISTENERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: TEAM, uid: LISTENER },
    spec: { namespaces: [SHOPS] },
  } as KubeObject);
  putValues(scene, TEAM, 'values', { KEY: 'b25l' });
  // Neither of these crosses: one is the cluster's own, the other only has its name.
  putValues(scene, SHOPS, 'theirs', { a: 'dGhlaXJz' });
  putValues(scene, TEAM, 'theirs', { a: 'b3Vycw==' });
  scene.put(APP_DEPLOYMENTS, aRecordOfListener(), 'person');
  setLink(scene, 'heard', 'not yet');
}

const SILENT_AFTER_MS = ON_HUB.listeners.silentAfterSeconds * 1000;
/** What hearing.ts says. It remembers between passes, so that a mark stands for it. */
function hearingIn(scene: Scene): Hearing {
  const heard = link(scene, 'heard');
  return {
    of: () => ({
      renewedMsAgo: heard === 'recently' ? 0 : undefined,
      watchedForMs: heard === 'nothing' ? SILENT_AFTER_MS : 0,
      takenInTurns: false,
    }),
    close: () => undefined,
  };
}

/** The client with which the agent reaches the hub. */
export function hubClient(scene: Scene): KubeClient {
  return wrapClient(scene.kube, (_request, send) => {
    const why = link(scene, 'link');
    if (why === undefined) return send();
    return Promise.reject(why === 'cut' ? new Unavailable('The hub does not answer.') : new Unauthorized('No token.'));
  });
}

function agentCaches(scene: Scene): AgentCaches {
  const served = [SHOPS];
  const caches = makeAgentCaches({
    hub: scene.kube,
    local: scene.kube,
    namespace: HUB,
    served,
    listenerId: LISTENER,
    log: SILENT,
    metrics: METRICS,
  });
  const labelled = <Cache>(cache: Cache, label: string, value?: string): Cache =>
    lazily(cache as Reflector, served, (namespace) =>
      scene.all((cache as Reflector).resource, namespace).filter(({ metadata }) => {
        const is = metadata.labels?.[label];
        return value === undefined ? is !== undefined : is === value;
      }),
    ) as Cache;
  return {
    works: lazily(caches.works as unknown as Reflector, [HUB], () => worksSeen(scene)) as never,
    copies: labelled(caches.copies, LISTENER_LABEL, LISTENER),
    revisions: labelled(caches.revisions, DEPLOYMENT_LABEL),
    secrets: labelled(caches.secrets, LISTENER_COPY_LABEL),
    namespaces: lazily(caches.namespaces, [''], () => scene.all(NAMESPACES, '')),
    all: [],
  };
}

const NEVER: Clock = { now: () => NOW, elapsed: () => NOW, schedule: () => () => undefined };

/** One attempt to take the Lease. Undefined if it failed. */
export async function takeLease(hub: KubeClient, clusterId: string): Promise<number | undefined> {
  const stopping = new AbortController();
  const log = { ...SILENT, warn: () => stopping.abort() } as typeof SILENT;
  const { signal } = stopping;
  const taking = { hub, namespace: HUB, clusterId, version: '1.2.3', identity: clusterId, clock: NEVER, log, signal };
  try {
    const held = await holdHubLease(taking);
    stopping.abort();
    return held.epoch();
  } catch {
    return undefined;
  }
}

/** What the cluster says that holds the Lease. */
export const clusterIn = (scene: Scene): string | undefined =>
  leaseOf(scene)?.metadata.annotations?.[CLUSTER_ID_ANNOTATION];

function makeAgent(scene: Scene): Reconcile {
  const reconcile = makeAgentReconciler({
    hub: hubClient(scene),
    local: scene.kube,
    caches: agentCaches(scene),
    namespace: HUB,
    served: [SHOPS],
    clusterId: CLUSTER,
    listenerId: LISTENER,
    epoch: () => Number(link(scene, 'epoch')),
  });
  return (key, ...rest) => reconcile(key.split('/')[1] ?? '', ...rest);
}

function makeHub(scene: Scene, controller: Controllers): Reconcile {
  const home = openHome(scene, ON_HUB, [TEAM, HUB]);
  const { listening } = home.caches;
  if (listening === undefined) throw new Error('the hub has no listeners');
  if (controller === 'records')
    return makeRecordReconciler({
      home,
      listening,
      settings: ON_HUB,
      events: EVENTS,
      now: clockOf(scene),
      local: recordsOf(scene, home, ON_HUB),
    });
  return makeListenerReconciler({
    home,
    listening,
    settings: ON_HUB,
    hearing: hearingIn(scene),
    account: { name: 'davit-controller', namespace: 'davit-system' },
    now: clockOf(scene),
    elapsed: () => timeOf(scene),
  });
}

export function makeListenerPass(scene: Scene, controller: Controllers): Reconcile {
  if (controller === 'works') return makeAgent(scene);
  if (controller === 'lease')
    return async () => {
      const epoch = await takeLease(hubClient(scene), CLUSTER);
      if (epoch !== undefined) {
        setLink(scene, 'epoch', String(epoch));
        setLink(scene, 'heard', 'recently');
      }
      return {};
    };
  const hub = makeHub(scene, controller);
  if (controller !== 'records') return hub;
  // Which cluster a record is in is said by its namespace.
  return (key, ...rest) =>
    key.startsWith(`${SHOPS}/`)
      ? recordsOf(scene, openHome(scene, IN_CLUSTER, [SHOPS]), IN_CLUSTER)(key, ...rest)
      : hub(key, ...rest);
}

/** `whole`: whether the cluster's own Davit is the real one. Otherwise events stand for it. */
export function keysOfListener(
  scene: Scene,
  namespace: string,
  whole: boolean,
): readonly (readonly [controller: Controllers, subject: string])[] {
  const records = (): [Controllers, string][] =>
    scene.all(APP_DEPLOYMENTS, namespace).map(({ metadata }) => ['records', metadata.name]);
  if (namespace === TEAM) return [...records(), ...(listenerOf(scene) ? [['listeners', 'edge'] as const] : [])];
  if (namespace === SHOPS) return whole ? records() : [];
  const leads = link(scene, 'epoch') !== undefined;
  // A copy wakes its work, whether the hub has that or not.
  const ids = new Set([
    ...worksSeen(scene).map(({ metadata }) => metadata.name),
    ...scene.all(APP_DEPLOYMENTS, SHOPS).flatMap((copy) => originOf(copy) ?? []),
  ]);
  return [
    ...(leaseOf(scene) && !holdsLease(scene) && reachesHub(scene) ? [['lease', LISTENER_AGENT] as const] : []),
    ...(leads ? [...ids].map((id) => ['works', id] as const) : []),
  ];
}
