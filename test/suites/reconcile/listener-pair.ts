// A hub and a listener's cluster, each with an in-memory API server and its own controller, and the agent between them.

import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type AgentCaches, makeAgentCaches } from '../../../src/clusters/agent/caches.ts';
import { type HubLease, holdHubLease } from '../../../src/clusters/agent/hub-lease.ts';
import { makeAgentReconciler } from '../../../src/clusters/agent/works.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../../src/kinds/listener-work.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { type Clock, systemClock } from '../../../src/runtime/controller/clock.ts';
import { makeMetrics } from '../../../src/runtime/controller/metrics.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import { caughtUp } from '../../support/fake-kube/caught-up.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';

export const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
/** Namespace of the Listener on the hub, and the Listener. */
export const HUB = 'davit-lsn-4f1c1a52';
export const EDGE = 'team/edge';
/** The copy of the record `shop`. */
export const THERE = { namespace: 'shops', name: 'shop' };
export const ENABLED = Settings.parse({ listeners: { enabled: true } });
/** What the record asks for. */
export const SPEC = {
  sourceConfig: { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'shops' } },
  secrets: [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }],
  secretReferences: [{ name: 'OTHER', secretName: 'theirs', secretKey: 'a' }],
  revisionSerial: 1,
};

export interface Agent {
  /** Reconciles all works, until their caches have seen everything. */
  reconcile(): Promise<void>;
  /** Until its caches have seen everything. */
  settle(): Promise<void>;
  readonly caches: AgentCaches;
  readonly lease: HubLease;
  stop(): void;
}

export interface AgentIdentity {
  readonly clusterId?: string;
  readonly identity?: string;
  readonly clock?: Clock;
}

/** What the agent does in the process of the other cluster. */
export async function anAgent(
  hub: FakeKube,
  remote: FakeKube,
  { clusterId = 'cluster-1', identity = 'agent', clock = systemClock }: AgentIdentity = {},
): Promise<Agent> {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const log = pino({ level: 'silent' });
  const lease = await holdHubLease({
    hub,
    namespace: HUB,
    clusterId,
    version: '1.2.3',
    identity,
    clock,
    log,
    signal: stopping.signal,
  });
  void lease.renew(stopping.signal);
  const { listenerId, epoch } = lease;
  const served = ['shops', 'tools'];
  const caches = makeAgentCaches({
    hub,
    local: remote,
    namespace: HUB,
    served,
    listenerId,
    log,
    metrics: makeMetrics(),
  });
  for (const cache of caches.all) void cache.run(stopping.signal);
  await Promise.all(caches.all.map((cache) => cache.waitForSync()));
  const reconcile = makeAgentReconciler({
    hub,
    local: remote,
    caches,
    namespace: HUB,
    served,
    clusterId,
    listenerId,
    epoch,
  });
  async function settle(): Promise<void> {
    const ofHub = caches.all.filter((cache) => cache.resource === LISTENER_WORKS);
    await caughtUp(hub, ofHub);
    await caughtUp(
      remote,
      caches.all.filter((cache) => !ofHub.includes(cache)),
    );
  }
  return {
    lease,
    caches,
    settle,
    stop: () => stopping.abort(),
    async reconcile() {
      await settle();
      for (const { metadata } of caches.works.list()) await reconcile(metadata.name, stopping.signal, log);
      await settle();
    },
  };
}

export interface Pair {
  hub: FakeKube;
  remote: FakeKube;
  hubController: MemoryController;
  remoteController: MemoryController;
  agent: Agent;
  /** The record on the hub, its copy in the cluster, and its work. */
  onHub(): AppDeployment | undefined;
  copy(): AppDeployment | undefined;
  work(): ListenerWork | undefined;
  /** State of the record on the hub, and reason of its condition. */
  told(type?: string): string;
  /** Labels the namespace of the cluster. */
  consent(labels?: Readonly<Record<string, string>>): void;
  /** The cluster's own controller, once. */
  remotePass(): Promise<void>;
  /** Hub, agent and remote, one after the other, until nothing changes. */
  run(): Promise<void>;
}

/** An enrolled cluster, and a record `shop` that nobody has reconciled. */
export async function aPair(): Promise<Pair> {
  const hub = aServer();
  hub.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'hub-1' } });
  hub.seed<Listener>(LISTENERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: 'team', uid: LISTENER },
    spec: { namespaces: ['shops', 'tools'] },
  });
  hub.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop--vars-1', namespace: 'team' },
    type: 'Opaque',
    immutable: true,
    data: { KEY: 'dmFsdWU=' },
  } as KubeObject);
  const remote = makeFakeKube();
  remote.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'theirs', namespace: 'shops' },
    data: { a: 'YQ==' },
  } as KubeObject);
  const pair: Pair = {
    hub,
    remote,
    hubController: await aController(hub, ENABLED),
    remoteController: await aController(remote),
    agent: undefined as unknown as Agent,
    onHub: () => pair.hub.objects<AppDeployment>(APP_DEPLOYMENTS)[0],
    copy: () => remote.objects<AppDeployment>(APP_DEPLOYMENTS)[0],
    work: () => pair.hub.objects<ListenerWork>(LISTENER_WORKS)[0],
    told(type = 'Ready') {
      const { status } = pair.onHub() ?? {};
      return `${status?.state} ${conditionOf(status?.conditions, type)?.reason}`;
    },
    consent(labels = { 'davit.dev/tenant': 'true', 'davit.dev/listener': LISTENER }) {
      remote.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shops', labels } });
    },
    async remotePass() {
      for (const { metadata } of remote.objects(APP_DEPLOYMENTS))
        await pair.remoteController.reconcile(`${metadata.namespace}/${metadata.name}`);
      await makeReady(remote);
    },
    async run() {
      let before = '';
      for (let pass = 0; pass < 30; pass += 1) {
        for (const { metadata } of pair.hub.objects(APP_DEPLOYMENTS))
          await pair.hubController.reconcile(`${metadata.namespace}/${metadata.name}`);
        await pair.agent.reconcile();
        await pair.remotePass();
        const now = `${pair.hub.resourceVersion()} ${remote.resourceVersion()}`;
        if (now === before) return;
        before = now;
      }
      throw new Error('It does not come to rest');
    },
  };
  pair.consent();
  await pair.hubController.reconcile(EDGE, 'listeners');
  pair.agent = await anAgent(hub, remote);
  await pair.hubController.reconcile(EDGE, 'listeners');
  putRecord(hub, SPEC);
  return pair;
}
