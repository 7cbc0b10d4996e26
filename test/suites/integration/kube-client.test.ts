// The client and the reflector on a real API server.
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runLeaderElection } from '../../../src/runtime/controller/leader-election.ts';
import { makeReflector } from '../../../src/runtime/controller/reflector.ts';
import { Conflict, Forbidden, Gone, Unauthorized } from '../../../src/runtime/errors.ts';
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  INGRESSES,
  NAMESPACES,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  SECRETS,
  SELF_SUBJECT_REVIEWS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { loadKubeConfigFile } from '../../../src/runtime/kube/config.ts';
import { type HttpKubeClient, makeKubeClient } from '../../../src/runtime/kube/http-client.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { describeClientBehaviour } from '../../support/fake-kube/client-behaviour.ts';

let cluster: Cluster;
let client: HttpKubeClient;
const namespace = 'kube-client';
const log = pino({ level: 'silent' });
const WIDGETS = { group: 'test.davit.dev', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };

async function start(): Promise<void> {
  cluster = await startCluster({ pods: 'off' });
  const access = await loadKubeConfigFile({ path: cluster.kubeconfig });
  client = makeKubeClient({ access, userAgent: 'davit/test' });
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
}

beforeAll(start, 900_000);
afterAll(async () => {
  await client?.close();
  await cluster?.stop();
}, 60_000);

function aMap(name: string): KubeObject & { data: object } {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data: { a: '1' } };
}

describeClientBehaviour('a real API server', async () => ({ client, namespace, close: async () => {} }));

describe('a real API server', () => {
  it('keeps every field of every kind, as plain JSON', async () => {
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace, name: 'np' },
      spec: { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { a: 'b' } } }] }] },
    };
    const resource = {
      group: 'networking.k8s.io',
      version: 'v1',
      kind: 'NetworkPolicy',
      plural: 'networkpolicies',
      namespaced: true,
    };
    await client.apply(resource, policy, { fieldManager: 'm' });
    expect(await client.get(resource, policy.metadata)).toMatchObject({ spec: policy.spec });
  });

  it('reports the causes of an invalid object', async () => {
    const metadata = { namespace, name: 'Not A Name' };
    const error = await client.create(CONFIG_MAPS, { ...aMap('x'), metadata }).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'Invalid', causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] });
  });

  it('is Gone if the server has no history', async () => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const widgets = WIDGETS;
    await client.create<KubeObject & { spec: object }>(CUSTOM_RESOURCE_DEFINITIONS, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.test.davit.dev' },
      spec: {
        group: widgets.group,
        scope: 'Namespaced',
        names: { kind: widgets.kind, plural: widgets.plural },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await expect
      .poll(() =>
        client.list(widgets).then(
          () => 'served',
          () => 'not yet',
        ),
      )
      .toBe('served');
    const watchFrom = async (resourceVersion: string): Promise<string> => {
      const signal = AbortSignal.timeout(60_000);
      const watch = client.watch(widgets, { namespace, resourceVersion, timeoutSeconds: 1, idleMs: 60_000, signal });
      try {
        for await (const event of watch) return event.type;
        return 'nothing';
      } catch (error) {
        return error instanceof Gone ? 'Gone' : String(error);
      }
    };
    const { resourceVersion } = await client.list(widgets);
    expect(await watchFrom('1')).toBe('Gone');
    expect(['nothing', 'BOOKMARK']).toContain(await watchFrom(resourceVersion));
  });

  it("creates only missing objects, of every kind of a record's children", async () => {
    const metadata = { namespace, name: 'only-once' };
    const matchLabels = { app: 'only-once' };
    const containers = [{ name: 'c', image: 'i' }];
    const workload = {
      replicas: 0,
      selector: { matchLabels },
      template: { metadata: { labels: matchLabels }, spec: { containers } },
    };
    const http = {
      paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
    };
    const specs: [Resource, object][] = [
      [DEPLOYMENTS, workload],
      [STATEFUL_SETS, { ...workload, serviceName: 's' }],
      [SERVICES, { ports: [{ port: 80 }] }],
      [PERSISTENT_VOLUME_CLAIMS, { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }],
      [NETWORK_POLICIES, { podSelector: {} }],
      [POD_DISRUPTION_BUDGETS, { selector: { matchLabels }, minAvailable: 1 }],
      [
        HORIZONTAL_POD_AUTOSCALERS,
        { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
      ],
      [INGRESSES, { rules: [{ host: 'a.example', http }] }],
      [WIDGETS, {}],
    ];
    for (const [resource, spec] of specs) {
      const apiVersion = [resource.group, resource.version].filter((part) => part !== '').join('/');
      const object = { apiVersion, kind: resource.kind, metadata, spec };
      const once = { fieldManager: 'm', force: true, onlyCreate: true };
      const made = await client.apply<KubeObject>(resource, object, once);
      expect(made.metadata.managedFields?.map(({ operation }) => operation)).toEqual(['Apply']);
      const labelled = { ...object, metadata: { ...metadata, labels: { stolen: 'yes' } } };
      await expect(client.apply(resource, labelled, once), resource.kind).rejects.toBeInstanceOf(Conflict);
      expect((await client.get(resource, metadata)).metadata.labels ?? {}).not.toHaveProperty('stolen');
    }
  });

  it('acts with another token as its user only', async () => {
    await client.create(SERVICE_ACCOUNTS, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace, name: 'guest' },
    });
    const guest = client.withToken(await cluster.tokenFor(namespace, 'guest'));
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: { name: '' } };
    expect(await guest.create(SELF_SUBJECT_REVIEWS, review)).toMatchObject({
      status: { userInfo: { username: `system:serviceaccount:${namespace}:guest` } },
    });
    await expect(guest.get(CONFIG_MAPS, { namespace, name: 'x' })).rejects.toBeInstanceOf(Forbidden);
    await expect(client.withToken('nonsense').get(CONFIG_MAPS, { namespace, name: 'x' })).rejects.toBeInstanceOf(
      Unauthorized,
    );
    const watch = client.withToken('nonsense').watch(SECRETS, {
      resourceVersion: '0',
      timeoutSeconds: 60,
      idleMs: 60_000,
      signal: AbortSignal.timeout(60_000),
    });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(Unauthorized);
  });

  it('is followed by a reflector: pages, deletions, recreated names, immediate writes', async () => {
    const stop = new AbortController();
    for (let i = 0; i < 7; i++) await client.create(CONFIG_MAPS, aMap(`r${i}`));
    const reflector = makeReflector<KubeObject>({
      client,
      resource: CONFIG_MAPS,
      namespace,
      log,
      pageSize: 3,
    });
    const running = reflector.run(stop.signal);
    expect(await reflector.waitForSync(AbortSignal.timeout(60_000))).toBe(true);
    expect(reflector.list().filter(({ metadata }) => /^r\d$/.test(metadata.name))).toHaveLength(7);
    expect(reflector.list()[0]?.metadata.managedFields).toBeUndefined();

    const told: string[] = [];
    reflector.onChange(({ type, object }) => told.push(`${type} ${object.metadata.name}`));
    const r0 = reflector.get({ namespace, name: 'r0' });
    await client.remove(CONFIG_MAPS, { namespace, name: 'r0' }, { uid: String(r0?.metadata.uid) });
    const recreated = await client.create(CONFIG_MAPS, aMap('r0'));
    reflector.overlay(recreated);
    expect(reflector.byUid(String(recreated.metadata.uid))).toBeDefined();
    await client.mergePatch(CONFIG_MAPS, recreated.metadata, { data: { a: '2' } });
    await expect.poll(() => told.at(-1)).toBe('modified r0');
    expect(told).toEqual(['deleted r0', 'added r0', 'modified r0']);
    expect(reflector.isAtLeast(recreated.metadata, String(recreated.metadata.resourceVersion))).toBe(true);
    stop.abort();
    await running;
  });

  it('has one leader', async () => {
    const started: string[] = [];
    const ask = ['a', 'b'].map(() => new AbortController());
    const elections = ask.map(({ signal }, index) =>
      runLeaderElection({
        client,
        namespace,
        name: 'lease',
        identity: 'ab'[index] ?? '',
        log,
        metrics: { leading: () => undefined },
        signal,
        // A leader whose requests take longer than its deadline gives up: a busy machine makes them take a second.
        leaseDurationMs: 8000,
        renewDeadlineMs: 7000,
        retryPeriodMs: 100,
        onStarted: () => void started.push('ab'[index] ?? ''),
        onStopped: () => {},
      }),
    );
    await expect.poll(() => started.length).toBe(1);
    // Longer than the lease lasts without its leader.
    await new Promise((resolve) => setTimeout(resolve, 9000));
    expect(started).toHaveLength(1);
    const first = started[0] === 'a' ? 0 : 1;
    ask[first]?.abort();
    expect(await elections[first]).toBe('released');
    await expect.poll(() => started.length).toBe(2);
    ask[1 - first]?.abort();
    expect(await elections[1 - first]).toBe('released');
  });
});
