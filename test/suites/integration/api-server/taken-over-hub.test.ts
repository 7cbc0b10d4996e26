// What a hub that is taken over can have done in a listener's cluster, and what others there can do with the annotations of its
// copies: by attempts, on two API servers, with the agent as a process under the rights and policies of the chart. The hub writes
// any work that it likes. What the agent refuses by its own rules is also in test/suites/reconcile/listener-taken-hub.test.ts.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { join } from '../../../../src/cli/commands/listener.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { aManifest } from '../../../support/builders.ts';
import { type Supervised, startAgent } from '../../../support/platform.ts';
import { eventually } from '../../../support/running-davit.ts';
import { type Door, openDoor } from './door.ts';

const AGENT = 'system:serviceaccount:davit-system:davit-listener';
const EDITOR = 'system:serviceaccount:shops:team';
const ADMINISTRATOR = 'boss';
const RECORDS = '/apis/davit.dev/v1alpha1/namespaces/shops/appdeployments';

let hubCluster: Cluster;
/** The listener's cluster. */
let cluster: Cluster;
let hubDavit: Davit;
let davit: Davit;
let agent: Supervised;
let hubDoor: Door;
let door: Door;
/** The namespace of the Listener on the hub. */
let hub: string;
let clusterId: string;

const createOn = (at: Cluster, ...objects: object[]): Promise<string> =>
  at.kubectl(['create', '-f', '-'], { input: objects.map((object) => JSON.stringify(object)).join('\n') });
const create = (...objects: object[]): Promise<string> => createOn(cluster, ...objects);
const namespace = (name: string, labels: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

beforeAll(async () => {
  const tenants = (...names: string[]): object[] =>
    names.map((name) => namespace(name, { 'davit.dev/tenant': 'true' }));
  [hubDavit, davit] = await Promise.all([
    startDavit('apiserver', { parts: ['controller'], values: { 'settings.listeners.enabled': true } }),
    startDavit('apiserver', {
      parts: ['controller'],
      values: {
        'listener.enabled': true,
        'listener.namespaces': ['shops', 'tools'],
        'settings.limits': { cpu: 4 },
      },
      // The agent may use shops and tools, and only one of them accepts this hub.
      prepare: (at) => createOn(at, ...tenants('vault', 'tools', 'shops')),
    }),
  ]);
  ({ cluster: hubCluster } = hubDavit);
  ({ cluster } = davit);
  hubDoor = openDoor(hubCluster);
  door = openDoor(cluster);
  await createOn(hubCluster, ...tenants('team'));
  await davit.makeTenant('shops');
  await createOn(hubCluster, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: 'team' },
    spec: { namespaces: ['shops'] },
  });
  await create(
    ...['davit-admin', 'davit-editor'].map((name) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: `${ADMINISTRATOR}-${name}`, namespace: 'shops' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: ADMINISTRATOR }],
    })),
  );
  const uid = 'jsonpath={.metadata.uid}';
  const id = await hubCluster.kubectl(['get', 'lsn', 'edge', '-n', 'team', '-o', uid]);
  clusterId = await cluster.kubectl(['get', 'namespace', 'kube-system', '-o', uid]);
  await cluster.kubectl(['label', 'namespace', 'shops', `davit.dev/listener=${id}`]);
  const atHub = (args: readonly string[], input?: string): Promise<string> =>
    hubCluster.kubectl(['-n', 'team', ...args], input === undefined ? {} : { input });
  const { manifest } = await eventually(() => join(atHub, 'edge', undefined, () => Promise.resolve()), 60_000);
  await cluster.kubectl(['apply', '-f', '-'], { input: manifest });
  hub = `davit-lsn-${id.slice(0, 8)}`;
  agent = await startAgent(cluster, ['shops', 'tools']);
  // What is there, and not of the hub.
  await create(
    aManifest({ name: 'local', namespace: 'shops' }),
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'theirs', namespace: 'shops' }, stringData: { key: 'own' } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gold', namespace: 'vault' }, stringData: { key: 'gold' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', namespace: 'shops' }, data: { key: 'own' } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'powerful', namespace: 'shops' } },
  );
  await createOn(hubCluster, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bait', namespace: hub } });
  await cluster.kubectl(['wait', '--for=condition=Ready', 'appd/local', '-n', 'shops', '--timeout=180s']);
}, 300_000);
afterAll(async () => {
  await agent?.stop();
  await Promise.all([hubDoor?.close(), door?.close()]);
  await Promise.all([hubDavit?.stop(), davit?.stop()]);
}, 60_000);

interface Forged {
  readonly name?: string;
  readonly namespace?: string;
  readonly secrets?: readonly object[];
  readonly deployment?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Writes a work as the hub's administrator. Returns its name. */
async function forge({ deployment = {}, annotations, ...spec }: Forged, id: string = randomUUID()): Promise<string> {
  await createOn(hubCluster, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'ListenerWork',
    metadata: { name: id, namespace: hub, ...(annotations && { annotations }) },
    spec: {
      clusterId,
      hubId: 'hub',
      tenantId: 'tenant',
      name: `forged-${id.slice(0, 8)}`,
      namespace: 'shops',
      generation: 1,
      deployment: { ...aManifest({ name: 'x' }).spec, secrets: [], revisionSerial: 1, ...deployment },
      ...spec,
    },
  });
  return id;
}
async function reportOf(id: string): Promise<{ rejection?: { reason: string; message: string } }> {
  const { body } = await hubDoor.call('GET', `/apis/davit.dev/v1alpha1/namespaces/${hub}/listenerworks/${id}`);
  return (body['status'] ?? {}) as Awaited<ReturnType<typeof reportOf>>;
}
/** Everything that is not the hub's, without what Davit itself writes. */
async function foreign(): Promise<unknown> {
  const paths = [
    `${RECORDS}/local`,
    '/api/v1/namespaces/shops/secrets/theirs',
    '/api/v1/namespaces/shops/secrets/local--postgres',
    '/api/v1/namespaces/vault/secrets/gold',
  ];
  return Promise.all(
    paths.map(async (path) => {
      const { metadata, spec, data } = (await door.call('GET', path)).body as {
        metadata: { uid: string; annotations?: object; deletionTimestamp?: string };
        spec?: object;
        data?: object;
      };
      return [path, metadata.uid, metadata.annotations, metadata.deletionTimestamp, spec, data];
    }),
  );
}
const objectsIn = (where: string): Promise<string> =>
  cluster.kubectl(['get', 'appd,deployments,statefulsets,pods', '-n', where, '-o', 'name']);

describe('a hub that is taken over', () => {
  const container = (part: object): object => ({ sourceConfig: { resourceSpec: part } });
  const ATTEMPTS: readonly (readonly [string, Forged, string, RegExp])[] = [
    ['a namespace in which the agent has no rights', { namespace: 'vault' }, 'NamespaceNotAllowed', /vault/],
    ["Davit's own namespace", { namespace: 'davit-system' }, 'NamespaceNotAllowed', /davit-system/],
    ['a namespace that does not accept this hub', { namespace: 'tools' }, 'NamespaceNotAllowed', /tools/],
    ['a deployment of somebody else', { name: 'local' }, 'NameConflict', /AppDeployment local/],
    ['another kind of object, by its name', { name: '../secrets/theirs' }, 'ApplyRefused', /not a valid name/],
    [
      'a Secret of somebody else',
      { secrets: [{ name: 'theirs', copy: 'bait', version: '1' }] },
      'NameConflict',
      /Secret theirs/,
    ],
    [
      'the password of a database',
      { secrets: [{ name: 'local--postgres', copy: 'bait', version: '1' }] },
      'NameConflict',
      /Secret local--postgres/,
    ],
    [
      'a ConfigMap',
      { deployment: container({ volumes: [{ name: 'v', configMap: { name: 'theirs' } }] }) },
      'ApplyRefused',
      /may not get ConfigMap theirs/,
    ],
    [
      'a volume',
      {
        deployment: container({
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'local--postgres' } }],
        }),
      },
      'ApplyRefused',
      /may not get PersistentVolumeClaim local--postgres/,
    ],
    [
      'a service account',
      { deployment: container({ serviceAccountName: 'powerful' }) },
      'ApplyRefused',
      /neither use nor impersonate service account powerful/,
    ],
    [
      'the token of the account that its pods run as',
      {
        deployment: container({
          volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
        }),
      },
      'ApplyRefused',
      /neither use nor impersonate service account default/,
    ],
    [
      'a folder of the node',
      { deployment: container({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }) },
      'ListenerTooOld',
      /hostPath/,
    ],
    [
      'a privileged container',
      {
        deployment: container({ sidecars: [{ name: 's', image: 'i:1', securityContext: { privileged: true } }] }),
      },
      'ApplyRefused',
      /privileged is refused by the pod policy/,
    ],
    [
      "a label that others' Services select",
      { deployment: container({ labels: { app: 'bank' } }) },
      'ApplyRefused',
      /labels app: these labels have an effect beyond this deployment/,
    ],
    ['more than the limits of the cluster', { deployment: container({ cpu: 8 }) }, 'ApplyRefused', /at most 4/],
    ['a name with --, as children of others have', { name: 'local--queue' }, 'ApplyRefused', /--/],
    [
      "a name of others' values, for a Secret that may change",
      { secrets: [{ name: 'local--vars-1', copy: 'bait', version: '1' }] },
      'ApplyRefused',
      /local--vars-1 must be immutable/,
    ],
    ['a build', { deployment: { source: 'codehost' } }, 'ApplyRefused', /runs only external_docker/],
    [
      'a third cluster',
      {
        deployment: {
          sourceConfig: { listenerId: randomUUID(), listenerConfig: { k8sNamespace: 'shops' } },
        },
      },
      'ApplyRefused',
      /names a listener/,
    ],
    ['a field of a later version', { deployment: { tomorrow: true } }, 'ListenerTooOld', /tomorrow/],
  ];

  it.each(ATTEMPTS)('cannot use %s', async (_name, spec, reason, message) => {
    const before = await foreign();
    const id = await forge(spec);
    const rejection = await eventually(async () => {
      const found = (await reportOf(id)).rejection;
      expect(found).toBeDefined();
      return found;
    });
    expect([rejection?.reason, rejection?.message]).toEqual([reason, expect.stringMatching(message)]);
    expect(await foreign()).toEqual(before);
    for (const where of ['vault', 'tools', 'davit-system'])
      expect([where, await objectsIn(where)]).toEqual([where, '']);
    expect(await cluster.kubectl(['get', 'appd', '-n', 'shops', '-o', 'name'])).not.toContain('forged');
  });

  it('cannot delete a deployment of somebody else, by its name and its id', async () => {
    const before = await foreign();
    const uid = await cluster.kubectl(['get', 'appd', 'local', '-n', 'shops', '-o', 'jsonpath={.metadata.uid}']);
    const id = await forge({ name: 'local' }, uid);
    const path = `/apis/davit.dev/v1alpha1/namespaces/${hub}/listenerworks/${id}`;
    await hubDoor.call('PATCH', path, { metadata: { finalizers: ['davit.dev/remote-teardown'] } });
    expect((await hubDoor.call('DELETE', path)).status).toBe(200);
    // The hub lets go of a work when the agent has reported that nothing is left of it: what is absent has been reported.
    await eventually(async () => expect((await hubDoor.call('GET', path)).status).toBe(404));
    expect(await foreign()).toEqual(before);
  });

  it('can run what it likes in a namespace that accepts it, also with the Secrets of that namespace, and delete it', async () => {
    const secretReferences = [{ name: 'A', secretName: 'theirs', secretKey: 'key' }];
    // An annotation that would adopt the database of an earlier deployment stays on the hub.
    const annotations = { 'davit.dev/adopt-database': randomUUID() };
    const id = await forge({ name: 'own', deployment: { secretReferences }, annotations });
    const copy = await eventually(async () => {
      const { body } = await door.call('GET', `${RECORDS}/own`);
      expect(body).toMatchObject({
        metadata: { annotations: { 'davit.dev/origin-id': id } },
        status: { state: 'READY' },
      });
      return body as { metadata: { annotations: object } };
    }, 60_000);
    expect(Object.keys(copy.metadata.annotations)).not.toContain('davit.dev/adopt-database');
    expect((await reportOf(id)).rejection).toBeUndefined();
  });

  it('cannot have logs read but those of its own deployments', async () => {
    const uid = await cluster.kubectl(['get', 'appd', 'local', '-n', 'shops', '-o', 'jsonpath={.metadata.uid}']);
    const path = `/apis/davit.dev/v1alpha1/namespaces/${hub}/listenerlogs`;
    await hubDoor.call('POST', path, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'ListenerLog',
      metadata: { name: 'forged' },
      spec: { clusterId, deployment: uid, query: {} },
    });
    await eventually(async () =>
      expect((await hubDoor.call('GET', `${path}/forged`)).body).toMatchObject({
        status: { error: 'The cluster does not run this deployment.' },
      }),
    );
  });
});

describe("the agent's account in its cluster", () => {
  it.each([
    ['GET', '/api/v1/namespaces/vault/secrets/gold'],
    ['GET', '/api/v1/namespaces/davit-system/secrets/davit-hmac'],
    ['GET', '/api/v1/secrets'],
    ['POST', '/apis/davit.dev/v1alpha1/namespaces/vault/appdeployments'],
    ['PATCH', '/api/v1/namespaces/tools'],
    ['POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shops/rolebindings'],
    ['POST', '/api/v1/namespaces/shops/pods'],
    ['POST', '/api/v1/namespaces/shops/serviceaccounts/powerful/token'],
    ['PATCH', '/apis/davit.dev/v1alpha1/namespaces/shops/apprevisions/x'],
  ])('may not %s %s', async (method, path) => {
    const body = method === 'GET' ? undefined : { metadata: { name: 'forged' } };
    expect((await door.call(method, path, body, AGENT)).status).toBe(403);
  });
});

describe('annotations of origin', () => {
  const reserved = /reserved for the agent of a listener/;
  const annotate = (name: string, annotation: string, value: string | null, as?: string): Promise<string> =>
    door
      .call('PATCH', `${RECORDS}/${name}?dryRun=All`, { metadata: { annotations: { [annotation]: value } } }, as)
      .then(({ status, message }) => `${status} ${message}`);

  it.each([
    ['origin-id', 'x'],
    ['origin-id', null],
    ['origin-tenant', 'x'],
    ['origin-tenant', null],
    ['origin-hub', 'x'],
    ['origin-hub', null],
    ['origin-generation', '9'],
    ['origin-generation', null],
  ] as const)('%s: nobody with the rights of an editor sets it to %s on a copy', async (name, value) => {
    expect(await annotate('own', `davit.dev/${name}`, value, EDITOR)).toMatch(reserved);
  });

  it('nobody takes the identity of a deployment of the hub for his own, also not as an administrator of the cluster', async () => {
    for (const as of [EDITOR, ADMINISTRATOR, undefined]) {
      for (const name of ['origin-id', 'origin-tenant'])
        expect(await annotate('local', `davit.dev/${name}`, randomUUID(), as)).toMatch(reserved);
      const forged = {
        ...aManifest({ name: 'twin', namespace: 'shops', annotations: { 'davit.dev/origin-id': randomUUID() } }),
      };
      expect((await door.call('POST', `${RECORDS}?dryRun=All`, forged, as)).message).toMatch(reserved);
    }
  });

  it('who may update listeners accepts another hub, or its earlier state', async () => {
    expect(await annotate('own', 'davit.dev/origin-hub', 'another', ADMINISTRATOR)).toMatch(/^200/);
    expect(await annotate('own', 'davit.dev/origin-generation', '0', ADMINISTRATOR)).toMatch(/^200/);
    expect(await annotate('own', 'davit.dev/origin-hub', 'another')).toMatch(/^200/);
  });

  it('an editor of the namespace changes nothing else for it: other annotations, and deletion', async () => {
    expect(await annotate('own', 'example.com/note', 'x', EDITOR)).toMatch(/^200/);
    expect((await door.call('DELETE', `${RECORDS}/own?dryRun=All`, undefined, EDITOR)).status).toBe(200);
  });
});
