// The hub's side of listeners on a real API server: the controller under the chart's rights and policies makes the namespace of a
// Listener, and the agent's account may do there what it needs and nothing else. The test stands in for the agent.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../../cluster/cluster.ts';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { aManifest } from '../../../support/builders.ts';
import type { Tenant } from '../../../support/platform.ts';
import { eventually } from '../../../support/running-davit.ts';
import { type Answer, type Door, openDoor } from './door.ts';

const CONTROLLER = 'system:serviceaccount:davit-system:davit-controller';
const CLUSTER_ID = 'cluster-1';

let davit: Davit;
let cluster: Cluster;
let door: Door;
let tenant: Tenant;
let id: string;
/** The hub's namespace of the Listener, and the agent in it. */
let namespace: string;
let agent: string;

type Json = Readonly<Record<string, unknown>>;

beforeAll(async () => {
  davit = await startDavit('apiserver', {
    values: { 'settings.listeners.enabled': true, 'settings.listeners.silentAfterSeconds': 15 },
  });
  ({ cluster } = davit);
  door = openDoor(cluster);
  tenant = await davit.makeTenant('hub-team');
  const { body } = await door.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/listeners`, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge' },
    spec: { namespaces: ['shops'] },
  });
  id = (body['metadata'] as { uid: string }).uid;
  namespace = `davit-lsn-${id.slice(0, 8)}`;
  agent = `system:serviceaccount:${namespace}:davit-listener`;
}, 300_000);
afterAll(async () => {
  await door?.close();
  await davit?.stop();
});

const leasePath = (): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/davit-listener`;
const worksPath = (): string => `/apis/davit.dev/v1alpha1/namespaces/${namespace}/listenerworks`;
const token = (spec: object, as?: string): Promise<Answer> =>
  door.call(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/davit-listener/token`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [], ...spec } },
    as,
  );
const BOUND = { kind: 'Secret', apiVersion: 'v1', name: 'davit-listener-token' };

async function renew(): Promise<void> {
  const { status, message } = await door.call(
    'PATCH',
    leasePath(),
    {
      metadata: { annotations: { 'davit.dev/cluster-id': CLUSTER_ID, 'davit.dev/agent-version': '1.2.3' } },
      spec: { holderIdentity: 'agent', renewTime: new Date().toISOString().replace('Z', '000Z'), leaseTransitions: 1 },
    },
    agent,
  );
  expect([status, message]).toEqual([200, '']);
}

async function connectedReason(): Promise<string | undefined> {
  const { body } = await door.call('GET', `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/listeners/edge`);
  const status = body['status'] as { conditions?: readonly { reason: string }[] } | undefined;
  return status?.conditions?.[0]?.reason;
}

interface Shown {
  readonly metadata: {
    readonly uid: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly status?: { readonly state: string; readonly conditions: readonly { type: string; reason: string }[] };
}
async function record(): Promise<Shown | undefined> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/appdeployments/shop`;
  const { status, body } = await door.call('GET', path);
  return status === 404 ? undefined : (body as unknown as Shown);
}

async function report(name: string, status: Json): Promise<void> {
  const path = `${worksPath()}/${name}/status`;
  const body = { status: { clusterId: CLUSTER_ID, epoch: 1, ...status } };
  const answer = await door.call('PATCH', path, body, agent);
  expect([answer.status, answer.message]).toEqual([200, '']);
}

describe('a Listener', () => {
  it('gets its namespace with the rights that the chart grants', async () => {
    await eventually(async () => expect(await connectedReason()).toBe('NeverConnected'));
    expect((await door.call('GET', leasePath(), undefined, agent)).status).toBe(200);
  });

  it('is connected when the agent renews the Lease', async () => {
    await eventually(async () => {
      await renew();
      expect(await connectedReason()).toBe('Reporting');
    });
  });
});

describe("the agent's account", () => {
  it('reads works of its namespace and the Secrets that they name, and of no other', async () => {
    expect((await door.call('GET', worksPath(), undefined, agent)).status).toBe(200);
    expect((await door.call('GET', `/api/v1/namespaces/${namespace}/secrets/x`, undefined, agent)).status).toBe(404);
    for (const path of [
      `/api/v1/namespaces/${namespace}/secrets`,
      `/api/v1/namespaces/${namespace}/serviceaccounts`,
      `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/listeners`,
      '/apis/davit.dev/v1alpha1/listenerworks',
      '/api/v1/secrets',
      `/api/v1/namespaces/${tenant.namespace}/secrets`,
      `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/appdeployments`,
      '/api/v1/namespaces',
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/another`,
    ])
      expect([path, (await door.call('GET', path, undefined, agent)).status]).toEqual([path, 403]);
  });

  it('writes neither works nor Secrets, no other Lease, and no token of another account', async () => {
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const secrets = `/api/v1/namespaces/${namespace}/secrets`;
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    for (const [method, path] of [
      ['POST', worksPath()],
      ['PATCH', `${worksPath()}/x`],
      ['DELETE', `${worksPath()}/x`],
      ['POST', secrets],
      ['PATCH', `${secrets}/davit-listener-token`],
      ['DELETE', `${secrets}/davit-listener-token`],
      ['POST', lease],
      ['PATCH', `${lease}/another`],
      ['DELETE', `${lease}/davit-listener`],
      ['POST', `${accounts}/default/token`],
      ['PATCH', `${accounts}/davit-listener`],
      ['POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`],
      ['PATCH', `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/listeners/edge`],
      ['POST', `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/appdeployments`],
    ] as const) {
      const body = method === 'DELETE' ? undefined : { metadata: { name: 'forged' } };
      expect([method, path, (await door.call(method, path, body, agent)).status]).toEqual([method, path, 403]);
    }
  });
});

it("a token of a Listener's namespace is valid for a day at most and bound to its Secret, whoever creates it", async () => {
  const created = await door.call('POST', `/api/v1/namespaces/${namespace}/secrets`, {
    metadata: { name: BOUND.name },
  });
  expect(created.status).toBe(201);
  for (const as of [undefined, agent]) {
    expect(await token({ expirationSeconds: 315_360_000 }, as)).toMatchObject({
      status: 403,
      message: expect.stringContaining('at most a day'),
    });
    expect((await token({ expirationSeconds: 3600 }, as)).message).toContain('bound to Secret davit-listener-token');
    expect((await token({ expirationSeconds: 86_401, boundObjectRef: BOUND }, as)).status).toBe(403);
    expect((await token({ expirationSeconds: 86_400, boundObjectRef: BOUND }, as)).status).toBe(201);
  }
});

it('the controller writes namespaces, accounts and bindings of Listeners alone', async () => {
  const labels = { 'davit.dev/listener': id };
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await door.call('POST', `${path}?dryRun=All`, body, CONTROLLER);
    return `${answer.status} ${answer.message}`;
  };
  expect(await create('/api/v1/namespaces', { metadata: { name: 'anything', labels } })).toContain('davit-lsn-');
  expect(await create('/api/v1/namespaces', { metadata: { name: 'davit-lsn-00000000' } })).toContain('with the label');
  expect(await create('/api/v1/namespaces', { metadata: { name: 'davit-lsn-00000000', labels } })).toMatch(/^201/);
  for (const more of [{ 'davit.dev/tenant': 'true' }, { 'pod-security.kubernetes.io/enforce': 'privileged' }]) {
    const marked = { metadata: { name: 'davit-lsn-00000000', labels: { ...labels, ...more } } };
    expect(await create('/api/v1/namespaces', marked)).toContain('only its own labels');
    const path = `/api/v1/namespaces/${namespace}?dryRun=All`;
    const changed = await door.call('PATCH', path, { metadata: { labels: more } }, CONTROLLER);
    expect([changed.status, changed.message]).toEqual([403, expect.stringContaining('only its own labels')]);
  }
  // Those that an administrator has set stay, and stand in nobody's way.
  await cluster.kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
  const relabel = async (labelled: object): Promise<number> =>
    (
      await door.call(
        'PATCH',
        `/api/v1/namespaces/${namespace}?dryRun=All`,
        { metadata: { labels: labelled } },
        CONTROLLER,
      )
    ).status;
  expect(await relabel({ 'app.kubernetes.io/part-of': 'davit' })).toBe(200);
  expect(await relabel({ 'pod-security.kubernetes.io/enforce': null })).toBe(403);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'davit-listener-agent' };
  const bindings = (where: string): string => `/apis/rbac.authorization.k8s.io/v1/namespaces/${where}/rolebindings`;
  expect(await create(bindings(tenant.namespace), { metadata: { name: 'x' }, roleRef })).toContain('davit-lsn-');
  expect(await create(bindings(namespace), { metadata: { name: 'x' }, roleRef })).toMatch(/^201/);
  const admin = { ...roleRef, name: 'cluster-admin' };
  expect(await create(bindings(namespace), { metadata: { name: 'x' }, roleRef: admin })).toMatch(/^403/);
  expect(
    (await door.call('DELETE', `/api/v1/namespaces/${tenant.namespace}?dryRun=All`, undefined, CONTROLLER)).status,
  ).toBe(403);
});

describe('a deployment', () => {
  const secret = (): string => `/api/v1/namespaces/${tenant.namespace}/secrets`;
  let uid: string;

  it('is handed over with its values', async () => {
    await renew();
    await door.call('POST', secret(), {
      metadata: { name: 'shop--vars-1' },
      type: 'Opaque',
      immutable: true,
      data: { KEY: 'dmFsdWU=' },
    });
    await cluster.kubectl(['create', '-f', '-'], {
      input: JSON.stringify(
        aManifest(
          { name: 'shop', namespace: tenant.namespace },
          {
            sourceConfig: { listenerId: id, listenerConfig: { k8sNamespace: 'shops' } },
            secrets: [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }],
          },
        ),
      ),
    });
    const work = await eventually(async () => {
      uid = (await record())?.metadata.uid ?? '';
      const answer = await door.call('GET', `${worksPath()}/${uid}`, undefined, agent);
      expect(answer.status).toBe(200);
      return answer.body;
    });
    expect(work).toMatchObject({
      spec: {
        name: 'shop',
        namespace: 'shops',
        clusterId: CLUSTER_ID,
        deployment: { sourceRevisionConfig: expect.anything() },
      },
    });
    const copy = `/api/v1/namespaces/${namespace}/secrets/${uid}.shop--vars-1`;
    expect((await door.call('GET', copy, undefined, agent)).body).toMatchObject({
      data: { KEY: 'dmFsdWU=' },
      immutable: true,
    });
  });

  it('has the status that the cluster reports, and nothing is written while nothing changes', async () => {
    const conditions = ['Ready', 'Available', 'DatabaseReady'].map((type) => ({
      type,
      status: 'True',
      reason: 'Serving',
      message: 'serves',
      lastTransitionTime: '2031-01-01T00:00:00Z',
    }));
    await report(uid, { generation: 1, deployment: { state: 'READY', conditions } });
    await eventually(async () => {
      await renew();
      expect((await record())?.status?.state).toBe('READY');
    });
    const version = async (): Promise<unknown> => {
      const works = await door.call('GET', `${worksPath()}/${uid}`);
      return [JSON.stringify(await record()), JSON.stringify(works.body)];
    };
    const before = await version();
    await renew();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await version()).toEqual(before);
  });

  it('is UNKNOWN when the cluster is silent, with the conditions that it reported last, and back when it reports', async () => {
    await eventually(async () => expect((await record())?.status?.state).toBe('UNKNOWN'));
    const reasons = new Map((await record())?.status?.conditions.map(({ type, reason }) => [type, reason]));
    expect([reasons.get('Ready'), reasons.get('DatabaseReady')]).toEqual(['ListenerSilent', 'Serving']);
    await eventually(async () => {
      await renew();
      expect((await record())?.status?.state).toBe('READY');
    });
  });

  it('waits, deleted, until the cluster has reported that nothing is left', async () => {
    await cluster.kubectl(['delete', 'appd', 'shop', '-n', tenant.namespace, '--wait=false']);
    await eventually(async () => {
      const { body } = await door.call('GET', `${worksPath()}/${uid}`);
      expect((body['metadata'] as { deletionTimestamp?: string }).deletionTimestamp).toBeDefined();
    });
    expect((await record())?.metadata.finalizers).toEqual(['davit.dev/remote-teardown']);
    await report(uid, { generation: 1, gone: true });
    await eventually(async () => {
      expect(await record()).toBeUndefined();
      expect((await door.call('GET', `${worksPath()}/${uid}`)).status).toBe(404);
      expect((await door.call('GET', `/api/v1/namespaces/${namespace}/secrets/${uid}.shop--vars-1`)).status).toBe(404);
    });
  });
});

it('a deleted Listener takes its namespace with it', async () => {
  await cluster.kubectl(['delete', 'lsn', 'edge', '-n', tenant.namespace, '--wait=false']);
  await eventually(async () => {
    expect((await door.call('GET', `/api/v1/namespaces/${namespace}`)).status).toBe(404);
  });
});
