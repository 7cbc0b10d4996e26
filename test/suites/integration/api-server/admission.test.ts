// The chart's admission policies and roles on a real API server, with people who have different rights. Whatever door a
// record comes through, the API server is the one that says no.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../../cluster/cluster.ts';
import { refusedHere } from '../../../support/bad-records.ts';
import { eventually } from '../../../support/running-davit.ts';
import { type Answer, aRevision, type Door, openDoor, releaseChart } from './door.ts';
import { describeForeignImages } from './foreign-images.ts';

const NAMESPACE = 'team';
const DAVIT = '/apis/davit.dev/v1alpha1/namespaces/team';
const CONTROLLER = 'system:serviceaccount:davit-system:davit-controller';
const API = 'system:serviceaccount:davit-system:davit-api';
/** davit-editor and nothing else; the others have more, as their names say. */
const EDITOR = 'editor';
const READS_SECRETS = 'reads-secrets';
const RESTORES = 'restores';
const RESTORES_ALL = 'restores-all';
const READS_SOME = 'reads-some';
const USES_ACCOUNT = 'uses-account';
const IMPERSONATES_ACCOUNT = 'impersonates-account';
const VIEWER = 'viewer';
const KUBERNETES_EDITOR = 'kubernetes-editor';
const ADMINISTRATOR = 'administrator';
/** A uid that no API server gives. */

let cluster: Cluster;
let door: Door;

type Rule = Readonly<Record<string, readonly string[]>>;

async function grant(user: string, rules: readonly Rule[]): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
  await door.call('POST', `${rbac}/roles`, { metadata: { name: user }, rules });
  await bind(user, 'Role', user);
}

async function bind(user: string, kind: 'Role' | 'ClusterRole', role: string): Promise<void> {
  const { status, message } = await door.call(
    'POST',
    `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
    {
      metadata: { name: `${user}-${role}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    },
  );
  if (status !== 201) throw new Error(message);
}

function release(...settings: string[]): Promise<void> {
  return releaseChart(cluster, { settings });
}

beforeAll(async () => {
  cluster = await startCluster({ pods: 'off' });
  door = openDoor(cluster);
  await releaseChart(cluster, { isFirst: true });
  await door.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  for (const user of [EDITOR, READS_SECRETS, READS_SOME, USES_ACCOUNT, IMPERSONATES_ACCOUNT, RESTORES, RESTORES_ALL]) {
    await bind(user, 'ClusterRole', 'davit-editor');
  }
  await bind(RESTORES, 'ClusterRole', 'davit-admin');
  await bind(RESTORES_ALL, 'ClusterRole', 'davit-admin');
  await bind(VIEWER, 'ClusterRole', 'view');
  await bind(KUBERNETES_EDITOR, 'ClusterRole', 'edit');
  const [secrets, claims, accounts, configMaps] = [
    'secrets',
    'persistentvolumeclaims',
    'serviceaccounts',
    'configmaps',
  ].map((resource) => ({ apiGroups: [''], resources: [resource] })) as [object, object, object, object];
  await grant(READS_SECRETS, [
    { ...secrets, verbs: ['get'] },
    { ...configMaps, verbs: ['get'] },
    { ...claims, verbs: ['get'] },
  ]);
  await grant(RESTORES_ALL, [{ ...claims, verbs: ['get'] }]);
  await grant(READS_SOME, [
    { ...secrets, verbs: ['get'], resourceNames: secretNames(100) },
    { ...claims, verbs: ['get'], resourceNames: ['mine'] },
    { ...configMaps, verbs: ['get'], resourceNames: ['c'] },
  ]);
  await grant(USES_ACCOUNT, [{ ...accounts, verbs: ['use'], resourceNames: ['runner'] }]);
  await grant(IMPERSONATES_ACCOUNT, [{ ...accounts, verbs: ['impersonate'], resourceNames: ['runner', 'default'] }]);
  // Policies and roles work a moment after they are written.
  await eventually(async () => {
    expect((await create(EDITOR, { source: 'internal_docker' })).message).toContain('hosting mode');
    expect((await create(EDITOR, references(['s0']))).message).toContain('you may not get');
    expect((await create(EDITOR, withPod({ serviceAccountName: 'runner' }))).message).toContain('service account');
    expect((await create(EDITOR, claim('mine'))).message).toContain('PersistentVolumeClaim mine');
    expect((await create(READS_SOME, references(['s0']))).status).toBe(201);
    expect((await create(IMPERSONATES_ACCOUNT, docker())).status).toBe(201);
    expect((await door.call('GET', `${DAVIT}/appdeployments`, undefined, VIEWER)).status).toBe(200);
    expect((await door.call('GET', `${DAVIT}/appdeployments`, undefined, KUBERNETES_EDITOR)).status).toBe(200);
  });
}, 900_000);
afterAll(async () => {
  await door?.close();
  await cluster?.stop();
}, 60_000);

type Spec = Readonly<Record<string, unknown>>;

function docker(more: Spec = {}): Spec {
  return { source: 'external_docker', sourceRevisionConfig: { imageUri: 'registry.example/shop:1' }, ...more };
}
function withPod(resourceSpec: Spec): Spec {
  return docker({ sourceConfig: { resourceSpec } });
}
function claim(claimName: string): Spec {
  return withPod({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] });
}
function secretNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `s${i}`);
}
function references(names: readonly string[]): Spec {
  return docker({ secretReferences: names.map((secretName, i) => ({ name: `V${i}`, secretName, secretKey: 'key' })) });
}
function aRecord(spec: Spec, name: string): object {
  return { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', metadata: { name }, spec };
}
/** A dry run: the verdict alone. */
function create(as: string | undefined, spec: Spec, name = 'shop'): Promise<Answer> {
  return door.call('POST', `${DAVIT}/appdeployments?dryRun=All`, aRecord(spec, name), as);
}
async function make(spec: Spec, name: string): Promise<void> {
  const { status, message } = await door.call('POST', `${DAVIT}/appdeployments`, aRecord(spec, name));
  if (status !== 201) throw new Error(message);
}
function patch(as: string | undefined, name: string, body: object, query = '?dryRun=All'): Promise<Answer> {
  return door.call('PATCH', `${DAVIT}/appdeployments/${name}${query}`, body, as);
}

describe('secrets that a record refers to', () => {
  it.each([1, 3, 20])('%i by name, each of which the author may get', async (count) => {
    expect(await create(READS_SOME, references(secretNames(count)))).toMatchObject({ message: '', status: 201 });
  });
  it.each([1, 3, 20])('%i by name, the last of which the author may not get', async (count) => {
    const { status, message } = await create(READS_SOME, references([...secretNames(count - 1), 'others']));
    expect(status).toBe(403);
    expect(message).toMatch(/you may not get Secret others yourself/);
  });
  it('more than 20 at once need the right to all', async () => {
    expect((await create(READS_SOME, references(secretNames(21)))).message).toContain(
      'you may add at most 20 references to Secrets at once',
    );
    expect(await create(READS_SECRETS, references(secretNames(100)))).toMatchObject({ message: '', status: 201 });
  });
  it('many keys of one Secret count once', async () => {
    expect(await create(READS_SOME, references(Array.from({ length: 100 }, () => 's1')))).toMatchObject({
      message: '',
      status: 201,
    });
  });
  it("the largest record is within CEL's cost limit", async () => {
    const many = (prefix: string): object[] =>
      Array.from({ length: 100 }, (_, i) => ({ name: `${prefix}${i}`, secretName: `s${i % 20}`, secretKey: 'key' }));
    const env = Array.from({ length: 50 }, (_, i) => ({
      name: `E${i}`,
      valueFrom: { secretKeyRef: { name: `s${i % 20}`, key: 'key' } },
    }));
    const spec = docker({
      secrets: many('A'),
      secretReferences: many('B'),
      sourceConfig: {
        resourceSpec: { sidecars: Array.from({ length: 4 }, (_, i) => ({ name: `c${i}`, image: 'c:1', env })) },
      },
    });
    expect(await create(READS_SOME, spec)).toMatchObject({ message: '', status: 201 });
    expect((await create(EDITOR, spec)).message).toContain('you may not get Secret');
  });
  it('2,000 references need the right to all Secrets', async () => {
    const env = Array.from({ length: 100 }, (_, i) => ({
      name: `E${i}`,
      valueFrom: { secretKeyRef: { name: `s${i}`, key: 'key' } },
    }));
    const spec = withPod({ sidecars: Array.from({ length: 20 }, (_, i) => ({ name: `c${i}`, image: 'c:1', env })) });
    expect(await create(READS_SECRETS, spec)).toMatchObject({ message: '', status: 201 });
    expect((await create(READS_SOME, spec)).status).not.toBe(201);
  });
  it("the record's own values are exempt, those of another record are not", async () => {
    const own = docker({ secrets: [{ name: 'A', secretName: 'shop--vars-abc', secretKey: 'A' }] });
    expect(await create(EDITOR, own)).toMatchObject({ message: '', status: 201 });
    expect((await create(EDITOR, own, 'shop-2')).message).toContain('shop--vars-abc');
  });

  const places: readonly { readonly place: string; readonly spec: Spec }[] = [
    { place: 'secrets', spec: docker({ secrets: [{ name: 'A', secretName: 'others', secretKey: 'a' }] }) },
    { place: 'secretReferences', spec: references(['others']) },
    { place: 'imagePullSecrets', spec: withPod({ imagePullSecrets: [{ name: 'others' }] }) },
    { place: 'a secret volume', spec: withPod({ volumes: [{ name: 'v', secret: { secretName: 'others' } }] }) },
    {
      place: 'a projected volume',
      spec: withPod({
        volumes: [
          { name: 'v', projected: { sources: [{ configMap: { name: 'c' } }, { secret: { name: 'others' } }] } },
        ],
      }),
    },
    {
      place: 'nodePublishSecretRef',
      spec: withPod({ volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 'others' } } }] }),
    },
    {
      place: 'env of a sidecar',
      spec: withPod({
        sidecars: [
          {
            name: 'c',
            image: 'c',
            env: [
              { name: 'A', value: 'a' },
              { name: 'B', valueFrom: { secretKeyRef: { name: 'others', key: 'a' } } },
            ],
          },
        ],
      }),
    },
    {
      place: 'envFrom of a sidecar',
      spec: withPod({
        sidecars: [
          { name: 'c', image: 'c', envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name: 'others' } }] },
        ],
      }),
    },
    {
      place: 'env of an init container',
      spec: withPod({
        initContainers: [
          { name: 'c', image: 'c', env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 'others', key: 'a' } } }] },
        ],
      }),
    },
    {
      place: 'envFrom of an init container',
      spec: withPod({ initContainers: [{ name: 'c', image: 'c', envFrom: [{ secretRef: { name: 'others' } }] }] }),
    },
  ];
  it.each(places)('in $place', async ({ spec }) => {
    const { status, message } = await create(READS_SOME, spec);
    expect(status).toBe(403);
    expect(message).toMatch(/Secret others yourself/);
    expect(await create(READS_SECRETS, spec)).toMatchObject({ message: '', status: 201 });
  });

  it('only added references are checked', async () => {
    await make(references(['others', 's0']), 'added');
    const replicas = { spec: { sourceConfig: { resourceSpec: { maxScale: 2 } } } };
    expect(await patch(EDITOR, 'added', replicas)).toMatchObject({ message: '', status: 200 });
    expect(
      await patch(EDITOR, 'added', {
        spec: { secretReferences: [{ name: 'X', secretName: 'others', secretKey: 'key' }] },
      }),
    ).toMatchObject({ message: '', status: 200 });
    expect(
      (
        await patch(EDITOR, 'added', {
          spec: { secretReferences: [{ name: 'X', secretName: 's1', secretKey: 'key' }] },
        })
      ).message,
    ).toMatch(/Secret s1 yourself/);
  });
  it('an invalid name is rejected', async () => {
    expect(
      (await create(READS_SOME, withPod({ volumes: [{ name: 'v', secret: { secretName: 5 } }] }))).status,
    ).not.toBe(201);
    expect(
      (await create(READS_SOME, withPod({ volumes: [{ name: 'v', csi: { nodePublishSecretRef: ['others'] } }] })))
        .status,
    ).not.toBe(201);
  });
});

describe('Secrets whose name gives a right', () => {
  const secrets = '/api/v1/namespaces/team/secrets';
  const tokenOf = (account: string): object => ({
    type: 'kubernetes.io/service-account-token',
    metadata: { annotations: { 'kubernetes.io/service-account.name': account } },
  });
  const opaque = { type: 'Opaque', immutable: true, data: { TOKEN: 'YQ==' } };
  const make = (name: string, secret: object, as: string | undefined = EDITOR, query = ''): Promise<Answer> =>
    door.call(
      'POST',
      `${secrets}${query}`,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        ...secret,
        metadata: { name, ...(secret as { metadata?: object }).metadata },
      },
      as,
    );

  beforeAll(async () => {
    await door.call('POST', '/api/v1/namespaces/team/serviceaccounts', { metadata: { name: 'privileged' } });
  });

  it("an editor cannot have a record of his read any service account's token", async () => {
    const evil = docker({ secrets: [{ name: 'TOKEN', secretName: 'evil--vars-x', secretKey: 'token' }] });
    // The record may name it: so there must be no such Secret.
    expect(await create(EDITOR, evil, 'evil')).toMatchObject({ message: '', status: 201 });
    for (const query of ['', '?dryRun=All']) {
      const { status, message } = await make('evil--vars-x', tokenOf('privileged'), EDITOR, query);
      expect(status).toBe(403);
      expect(message).toContain('Secret evil--vars-x must be of type Opaque');
    }
    // Nor by a name that the API server makes up, nor as one whom everything else is allowed to.
    const generated = await door.call(
      'POST',
      secrets,
      {
        type: 'kubernetes.io/service-account-token',
        metadata: { ...(tokenOf('privileged') as { metadata: object }).metadata, generateName: 'evil--vars-' },
      },
      EDITOR,
    );
    expect(generated.message).toContain('must be of type Opaque');
    expect((await make('evil--vars-y', tokenOf('privileged'), undefined)).message).toContain('must be of type Opaque');
    expect((await make('git--client-y', tokenOf('privileged'), undefined)).message).toContain('must be of type Opaque');
  });
  it('is Opaque and immutable from the start, so that nobody but its author fills it', async () => {
    expect((await make('evil--vars-z', { ...opaque, immutable: false })).message).toContain('must be immutable');
    expect((await make('evil--client-z', { type: 'Opaque' })).message).toContain('must be immutable');
    expect(await make('evil--vars-z', opaque)).toMatchObject({ message: '', status: 201 });
    expect((await door.call('PATCH', `${secrets}/evil--vars-z`, { immutable: false })).status).toBe(422);
    expect(await door.call('PATCH', `${secrets}/evil--vars-z`, { metadata: { labels: { a: 'b' } } })).toMatchObject({
      status: 200,
    });
  });
  it('other Secrets are not checked', async () => {
    expect(await make('evil-vars-z', tokenOf('privileged'))).toMatchObject({ message: '', status: 201 });
    expect(await make('evil--vars', { type: 'Opaque' })).toMatchObject({ message: '', status: 201 });
  });
  it('only single keys of them may be referenced', async () => {
    const of = 'shop--vars-x';
    expect(await create(EDITOR, docker({ secrets: [{ name: 'A', secretName: of, secretKey: 'a' }] }))).toMatchObject({
      message: '',
      status: 201,
    });
    for (const parts of [
      { imagePullSecrets: [{ name: of }] },
      { volumes: [{ name: 'v', secret: { secretName: of } }] },
      { sidecars: [{ name: 'c', image: 'c', envFrom: [{ secretRef: { name: of } }] }] },
    ]) {
      expect((await create(EDITOR, withPod(parts))).message).toContain(`Secret ${of} yourself`);
    }
  });
  it('the label by which Davit knows its passwords and volumes is set by it, or by who may get them', async () => {
    const marked = (name: string): object => ({
      metadata: { name, labels: { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'u' } },
    });
    const password = { type: 'Opaque', ...marked('shop--postgres') };
    expect((await make('shop--postgres', password)).message).toContain(
      'you need the right to get Secret shop--postgres',
    );
    expect(await make('shop--postgres', password, CONTROLLER, '?dryRun=All')).toMatchObject({ status: 403 });
    await door.call('PATCH', '/api/v1/namespaces/team', { metadata: { labels: { 'davit.dev/tenant': 'true' } } });
    await eventually(async () =>
      expect(await make('shop--postgres', password, CONTROLLER, '?dryRun=All')).toMatchObject({
        message: '',
        status: 201,
      }),
    );
    await grant('restores', [{ apiGroups: [''], resources: ['secrets'], verbs: ['create', 'get', 'patch'] }]);
    await eventually(async () =>
      expect(await make('shop--postgres', password, 'restores', '?dryRun=All')).toMatchObject({
        message: '',
        status: 201,
      }),
    );
    expect(await make('shop--postgres', { type: 'Opaque' })).toMatchObject({ message: '', status: 201 });
    await grant('labels', [{ apiGroups: [''], resources: ['secrets'], verbs: ['patch'] }]);
    await eventually(async () =>
      expect(
        await door.call('PATCH', `${secrets}/shop--postgres`, { metadata: { labels: { a: 'b' } } }, 'labels'),
      ).toMatchObject({ status: 200 }),
    );
    expect(
      (await door.call('PATCH', `${secrets}/shop--postgres`, marked('shop--postgres'), 'labels')).message,
    ).toContain('you need the right to get Secret shop--postgres');
    // What the controller would collect, or delete with a deployment, is labelled by whoever may delete it.
    for (const label of ['davit.dev/variables', 'davit.dev/oauth-provider', 'davit.dev/deployment-uid']) {
      const body = { metadata: { labels: { [label]: '' } } };
      const { message } = await door.call('PATCH', `${secrets}/shop--postgres`, body, 'restores');
      expect(message).toContain('you need the right to delete Secret shop--postgres');
    }
  });
});

describe('another use of a name that is referenced already', () => {
  const named = references(['others']);
  const use = (secretKey: string): object => ({
    spec: { secretReferences: [{ name: 'X', secretName: 'others', secretKey }] },
  });
  const pod = (resourceSpec: Spec): object => ({ spec: { sourceConfig: { resourceSpec } } });
  beforeAll(() =>
    make(
      {
        ...named,
        sourceConfig: {
          resourceSpec: {
            volumes: [
              { name: 'some', secret: { secretName: 'some', items: [{ key: 'a', path: 'a' }] } },
              { name: 'config', configMap: { name: 'settings', items: [{ key: 'a', path: 'a' }] } },
            ],
          },
        },
      },
      'another',
    ),
  );
  it('is checked: another key, the whole Secret, all keys instead of one', async () => {
    expect(await patch(EDITOR, 'another', use('key'))).toMatchObject({ message: '', status: 200 });
    expect((await patch(EDITOR, 'another', use('other'))).message).toContain('Secret others yourself');
    const wholes: readonly (readonly [string, Spec])[] = [
      ['Secret others', { volumes: [{ name: 'v', secret: { secretName: 'others' } }] }],
      ['Secret others', { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'others' } }] } }] }],
      ['Secret others', { sidecars: [{ name: 'c', image: 'c', envFrom: [{ secretRef: { name: 'others' } }] }] }],
      ['Secret some', { volumes: [{ name: 'some', secret: { secretName: 'some' } }] }],
      [
        'Secret some',
        { volumes: [{ name: 'some', secret: { secretName: 'some', items: [{ key: 'b', path: 'a' }] } }] },
      ],
      ['ConfigMap settings', { volumes: [{ name: 'config', configMap: { name: 'settings' } }] }],
    ];
    for (const [what, parts] of wholes) {
      expect((await patch(EDITOR, 'another', pod(parts))).message).toContain(`${what} yourself`);
    }
    expect(
      await patch(
        EDITOR,
        'another',
        pod({ volumes: [{ name: 'renamed', secret: { secretName: 'some', items: [{ key: 'a', path: 'b' }] } }] }),
      ),
    ).toMatchObject({ message: '', status: 200 });
  });
  it("is checked if no container could read it before: a pull secret, a CSI driver's Secret, an audience, a claim", async () => {
    const parts: Spec = {
      imagePullSecrets: [{ name: 'pulled' }],
      volumes: [
        { name: 'a', csi: { driver: 'secrets-store.csi.k8s.io', nodePublishSecretRef: { name: 'published' } } },
        { name: 'b', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] } },
        { name: 'c', persistentVolumeClaim: { claimName: 'shared', readOnly: true } },
      ],
    };
    await make(withPod(parts), 'reach');
    const wider: readonly (readonly [string, Spec])[] = [
      [
        'Secret pulled yourself',
        { sidecars: [{ name: 's', image: 's', envFrom: [{ secretRef: { name: 'pulled' } }] }] },
      ],
      ['Secret published yourself', { volumes: [{ name: 'v', secret: { secretName: 'published' } }] }],
      ['service account default', { serviceAccountName: 'default' }],
      [
        'service account default',
        {
          volumes: [{ name: 'b', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'other' } }] } }],
        },
      ],
      [
        'PersistentVolumeClaim shared yourself',
        { volumes: [{ name: 'c', persistentVolumeClaim: { claimName: 'shared' } }] },
      ],
    ];
    for (const [what, more] of wider) {
      expect((await patch(EDITOR, 'reach', pod({ ...parts, ...more }))).message).toContain(what);
    }
    expect(await patch(EDITOR, 'reach', pod({ ...parts, cpu: 1 }))).toMatchObject({ message: '', status: 200 });
  });
});

describe('config maps that a record refers to', () => {
  const container = (parts: Spec): Spec => withPod({ sidecars: [{ name: 'c', image: 'c', ...parts }] });
  const places: readonly { readonly place: string; readonly spec: Spec }[] = [
    { place: 'a volume', spec: withPod({ volumes: [{ name: 'v', configMap: { name: 'others' } }] }) },
    {
      place: 'a projected volume',
      spec: withPod({ volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'others' } }] } }] }),
    },
    {
      place: 'env',
      spec: container({ env: [{ name: 'B', valueFrom: { configMapKeyRef: { name: 'others', key: 'a' } } }] }),
    },
    { place: 'envFrom', spec: container({ envFrom: [{ configMapRef: { name: 'others' } }] }) },
  ];
  it.each(places)('need the right to get them: in $place', async ({ spec }) => {
    expect((await create(EDITOR, spec)).message).toContain('ConfigMap others yourself');
    expect(await create(READS_SECRETS, spec)).toMatchObject({ message: '', status: 201 });
  });
  it("but for the certificate of the API server's authority, which every pod has", async () => {
    const sources = [{ configMap: { name: 'kube-root-ca.crt' } }];
    expect(await create(EDITOR, withPod({ volumes: [{ name: 'v', projected: { sources } }] }))).toMatchObject({
      message: '',
      status: 201,
    });
  });
});

describe('the database of a deleted deployment', () => {
  const adopting = (uid: string): object => ({ metadata: { annotations: { 'davit.dev/adopt-database': uid } } });
  beforeAll(() => make(docker(), 'heir'));

  it('can be adopted by an author who may get its volume and password', async () => {
    expect((await patch(EDITOR, 'heir', adopting('u'))).message).toMatch(
      /PersistentVolumeClaim heir--postgres|Secret heir--postgres/,
    );
    const { message } = await door.call(
      'POST',
      `${DAVIT}/appdeployments?dryRun=All`,
      {
        ...aRecord(docker(), 'second'),
        metadata: { name: 'second', ...(adopting('u') as { metadata: object }).metadata },
      },
      EDITOR,
    );
    expect(message).toContain('second--postgres yourself');
    expect(await patch(READS_SECRETS, 'heir', adopting('u'))).toMatchObject({ message: '', status: 200 });
    // One of the two is not enough.
    await bind('reads-claim', 'ClusterRole', 'davit-editor');
    await grant('reads-claim', [{ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get'] }]);
    await eventually(async () =>
      expect((await patch('reads-claim', 'heir', adopting('u'))).message).toContain('Secret heir--postgres'),
    );
  });
  it('a deployment that adopted it can still be edited and labelled by others', async () => {
    expect((await patch(undefined, 'heir', adopting('u'), '')).status).toBe(200);
    expect(await patch(EDITOR, 'heir', { metadata: { labels: { a: 'b' } } })).toMatchObject({
      message: '',
      status: 200,
    });
    expect(await patch(EDITOR, 'heir', { spec: { databaseDeletionPolicy: 'Retain' } })).toMatchObject({ status: 200 });
    expect((await patch(EDITOR, 'heir', adopting('v'))).message).toContain('heir--postgres yourself');
    expect(await patch(EDITOR, 'heir', { metadata: { annotations: null } })).toMatchObject({
      message: '',
      status: 200,
    });
  });
});

describe('a database that begins with a backup', () => {
  const begins = (from: string, more: Spec = {}): Spec =>
    docker({ sourceConfig: { database: { restore: { from, ...more } } } });
  const agent = 'system:serviceaccount:davit-system:davit-listener';
  beforeAll(async () => {
    await grant('reads-volume', [
      { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get'], resourceNames: ['old--postgres'] },
    ]);
    await bind('reads-volume', 'ClusterRole', 'davit-editor');
    await grant(agent, [{ apiGroups: ['davit.dev'], resources: ['appdeployments'], verbs: ['create'] }]);
    await make(begins('old'), 'begun');
  });

  it('needs the right to get the volumes of the deployment whose backup it is', async () => {
    const refused = await create(EDITOR, begins('old'));
    expect(refused).toMatchObject({
      status: 403,
      message: expect.stringContaining('so your deployment must not begin with a backup of the data of old'),
    });
    // Also of an earlier deployment of its own name.
    expect((await create(EDITOR, begins('shop'))).message).toContain('a backup of the data of shop');
    for (const user of [READS_SECRETS, KUBERNETES_EDITOR]) {
      expect(await create(user, begins('old'))).toMatchObject({ message: '', status: 201 });
    }
    // A database that was moved, or that CloudNativePG runs, has its data in volumes of other names.
    await eventually(async () => expect(await create('reads-volume', docker())).toMatchObject({ status: 201 }));
    expect((await create('reads-volume', begins('old'))).message).toContain('a backup of the data of old');
  });
  it('needs it for every change of the field, and for no other change', async () => {
    const change = (restore: object | null): object => ({ spec: { sourceConfig: { database: { restore } } } });
    const earlier = change({ at: '2026-02-01T00:00:00Z' });
    expect((await patch(EDITOR, 'begun', earlier)).message).toContain('a backup of the data of old');
    expect((await patch(EDITOR, 'begun', change({ from: 'other' }))).message).toContain(
      'a backup of the data of other',
    );
    for (const [user, body] of [
      [KUBERNETES_EDITOR, earlier],
      [EDITOR, change({ from: 'old' })],
      [EDITOR, { metadata: { labels: { a: 'b' } } }],
      [EDITOR, { spec: { sourceConfig: { resourceSpec: { maxScale: 4 } } } }],
      [EDITOR, change(null)],
    ] as const) {
      expect(await patch(user, 'begun', body), JSON.stringify(body)).toMatchObject({ message: '', status: 200 });
    }
  });
  it('is repeated by the agent of a listener, which judges it itself', async () => {
    await eventually(async () =>
      expect(await create(agent, begins('old'))).toMatchObject({ message: '', status: 201 }),
    );
  });
});

describe('the backups of a deployment', () => {
  const lent = (to: string | null): object => ({ metadata: { annotations: { 'davit.dev/backups-for': to } } });
  const words = 'so you must not let another namespace have the backups of this deployment';
  const staging = 'staging/11111111-2222-4333-8444-555555555555';
  it('are given to another namespace by who may get the volumes, and taken back by everybody', async () => {
    await make(docker(), 'lends');
    expect(await patch(EDITOR, 'lends', lent(staging))).toMatchObject({
      status: 403,
      message: expect.stringContaining(words) as string,
    });
    expect(await patch(KUBERNETES_EDITOR, 'lends', lent(staging), '')).toMatchObject({ message: '', status: 200 });
    expect((await patch(EDITOR, 'lends', lent(`${staging} ${staging}`))).message).toContain(words);
    for (const body of [{ spec: { sourceConfig: { resourceSpec: { maxScale: 4 } } } }, lent(staging), lent(null)])
      expect(await patch(EDITOR, 'lends', body), JSON.stringify(body)).toMatchObject({ message: '', status: 200 });
    expect(await patch(EDITOR, 'lends', lent(null), '')).toMatchObject({ message: '', status: 200 });
    expect((await patch(EDITOR, 'lends', lent(staging))).message).toContain(words);
  });

  it('are given only to namespaces that can have them', async () => {
    await make(docker(), 'gives');
    const given = async (to: string): Promise<string> =>
      (await patch(KUBERNETES_EDITOR, 'gives', lent(to), '')).message;
    for (const to of ['staging', 'staging/1', `${staging}/shop`, staging.toUpperCase(), `${staging};${staging}`])
      expect(await given(to), to).toContain('must name namespaces as NAME/UID');
    for (const own of [`team/${staging.slice(8)}`, `${staging}, team/${staging.slice(8)}`])
      expect(await given(own), own).toContain('must not name the namespace of the deployment');
    for (const to of [staging, `${staging}, other/${staging.slice(8)}\n`]) expect(await given(to), to).toBe('');
  });
});

describe('claims', () => {
  it('need the right to get them', async () => {
    expect(await create(READS_SOME, claim('mine'))).toMatchObject({ message: '', status: 201 });
    expect((await create(READS_SOME, claim('others'))).message).toMatch(/PersistentVolumeClaim others yourself/);
    expect(await create(READS_SECRETS, claim('others'))).toMatchObject({ message: '', status: 201 });
  });
});

describe('service accounts', () => {
  const token = { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] };
  it('need the right to use or to impersonate them', async () => {
    const runner = withPod({ serviceAccountName: 'runner' });
    expect(await create(USES_ACCOUNT, runner)).toMatchObject({ message: '', status: 201 });
    expect(await create(IMPERSONATES_ACCOUNT, runner)).toMatchObject({ message: '', status: 201 });
    expect((await create(READS_SECRETS, runner)).message).toContain(
      'neither use nor impersonate service account runner',
    );
    expect((await create(USES_ACCOUNT, withPod({ serviceAccountName: 'default' }))).message).toContain(
      'service account default',
    );
  });
  it('so do their projected tokens, also of the default account', async () => {
    expect((await create(USES_ACCOUNT, withPod(token))).message).toContain('service account default');
    expect(await create(USES_ACCOUNT, withPod({ ...token, serviceAccountName: 'runner' }))).toMatchObject({
      message: '',
      status: 201,
    });
    expect(await create(IMPERSONATES_ACCOUNT, withPod(token))).toMatchObject({ message: '', status: 201 });
  });
});

describe('writes that add nothing', () => {
  beforeAll(() =>
    make(
      {
        ...references(['others']),
        sourceConfig: {
          resourceSpec: {
            serviceAccountName: 'runner',
            volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'others' } }],
          },
        },
      },
      'quiet',
    ),
  );

  it('an editor who only labels passes', async () => {
    expect(await patch(EDITOR, 'quiet', { metadata: { labels: { team: 'shop' } } })).toMatchObject({
      message: '',
      status: 200,
    });
  });
  it('the controller adds and removes its finalizer', async () => {
    expect(await patch(CONTROLLER, 'quiet', { metadata: { finalizers: ['davit.dev/teardown'] } }, '')).toMatchObject({
      message: '',
      status: 200,
    });
    expect(await patch(CONTROLLER, 'quiet', { metadata: { finalizers: null } }, '')).toMatchObject({
      message: '',
      status: 200,
    });
  });
  it('the garbage collector removes owners, finalizers and objects', async () => {
    const collector = 'system:serviceaccount:kube-system:generic-garbage-collector';
    await patch(undefined, 'quiet', { metadata: { finalizers: ['orphan'] } }, '');
    expect(
      await patch(collector, 'quiet', { metadata: { finalizers: null, ownerReferences: null } }, ''),
    ).toMatchObject({ message: '', status: 200 });
    expect((await door.call('DELETE', `${DAVIT}/appdeployments/quiet`, undefined, collector)).status).toBe(200);
  });
});

describe('revisions', () => {
  const revision = aRevision('shop--12345678', 'shop');
  it('can only be created by the controller', async () => {
    expect((await door.call('POST', `${DAVIT}/apprevisions`, revision)).message).toContain(
      'only the davit-controller creates AppRevisions',
    );
    expect((await door.call('POST', `${DAVIT}/apprevisions`, revision, EDITOR)).message).toContain(
      'cannot create resource "apprevisions"',
    );
    expect(await door.call('POST', `${DAVIT}/apprevisions`, revision, CONTROLLER)).toMatchObject({
      message: '',
      status: 201,
    });
  });
  it('keep their labels', async () => {
    const { message } = await door.call('PATCH', `${DAVIT}/apprevisions/shop--12345678`, {
      metadata: { labels: { 'davit.dev/deployment': 'other' } },
    });
    expect(message).toContain('only the davit-controller creates AppRevisions');
  });
  it('are reported on and removed by the controller', async () => {
    expect(
      await door.call(
        'PATCH',
        `${DAVIT}/apprevisions/shop--12345678/status`,
        { status: { state: 'DEPLOYED' } },
        CONTROLLER,
      ),
    ).toMatchObject({ message: '', status: 200 });
    expect((await door.call('DELETE', `${DAVIT}/apprevisions/shop--12345678`, undefined, CONTROLLER)).status).toBe(200);
  });
});

describe("the organization's secrets", () => {
  const provider = (clientSecretRef?: object): Spec => ({
    name: 'A',
    clientId: 'a',
    authUrl: 'https://a.example',
    tokenUrl: 'https://a.example',
    ...(clientSecretRef && { clientSecretRef }),
  });
  const integration = (name: string, more: Spec = {}): Spec => ({
    kind: 'gitea',
    apiUrl: 'https://git.example/api/v1',
    credentialsRef: { name },
    ...more,
  });
  const object = (kind: string, name: string, spec: Spec): object => ({
    apiVersion: 'davit.dev/v1alpha1',
    kind,
    metadata: { name },
    spec,
  });
  const write = (
    as: string | undefined,
    kind: string,
    spec: Spec,
    name = 'git',
    query = '?dryRun=All',
  ): Promise<Answer> => door.call('POST', `${DAVIT}/${kind.toLowerCase()}s${query}`, object(kind, name, spec), as);

  it('can be referenced by an author who may get them, or if the HTTP API created them for this provider', async () => {
    expect(await write(EDITOR, 'OAuthProvider', provider())).toMatchObject({ message: '', status: 201 });
    expect((await write(EDITOR, 'OAuthProvider', provider({ name: 's1', key: 'a' }))).message).toContain(
      'you may not get Secret s1 yourself',
    );
    expect(await write(READS_SOME, 'OAuthProvider', provider({ name: 's1', key: 'a' }))).toMatchObject({ status: 201 });
    const kept = provider({ name: 'git--client-abc', key: 'client-secret' });
    expect(await write(EDITOR, 'OAuthProvider', kept)).toMatchObject({ message: '', status: 201 });
    expect((await write(EDITOR, 'OAuthProvider', kept, 'gi')).message).toContain('git--client-abc');
  });
  it.each([
    ['that the HTTP API keeps', 'idp--client-abc'],
    ["of somebody's own", 's1'],
  ])('a client secret %s may be sent to another address by an author who may get it', async (_, name) => {
    const id = name.startsWith('idp') ? 'idp' : 'own';
    const spec = provider({ name, key: 'a' });
    expect((await write(undefined, 'OAuthProvider', spec, id, '')).message).toBe('');
    const change = (as: string, more: Spec): Promise<Answer> =>
      door.call('PATCH', `${DAVIT}/oauthproviders/${id}?dryRun=All`, { spec: more }, as);
    expect(await change(EDITOR, { name: 'B' })).toMatchObject({ message: '', status: 200 });
    const refused = `you may not get Secret ${name}`;
    expect((await change(EDITOR, { tokenUrl: 'https://evil.example' })).message).toContain(refused);
    expect((await change(EDITOR, { authUrl: 'https://evil.example' })).message).toContain(refused);
    expect((await change(EDITOR, { issuer: 'https://evil.example' })).message).toContain(refused);
    expect((await change(EDITOR, { revocationUrl: 'https://evil.example' })).message).toContain(refused);
    expect((await change(EDITOR, { clientSecretRef: { key: 'b' } })).message).toContain(refused);
    // One that was sent again, in a Secret of its own.
    const again = { tokenUrl: 'https://new.example', clientSecretRef: { name: `${id}--client-new`, key: 'a' } };
    expect(await change(EDITOR, again)).toMatchObject({ message: '', status: 200 });
    expect(await change(READS_SECRETS, { tokenUrl: 'https://new.example' })).toMatchObject({
      message: '',
      status: 200,
    });
  });
  it('integrations are for administrators who may read their credentials, and so is sending those elsewhere', async () => {
    await bind(ADMINISTRATOR, 'ClusterRole', 'davit-admin');
    await bind(READS_SOME, 'ClusterRole', 'davit-admin');
    await eventually(async () =>
      expect((await write(READS_SOME, 'CodeHostIntegration', integration('s1'))).status).toBe(201),
    );
    expect((await write(ADMINISTRATOR, 'CodeHostIntegration', integration('s1'))).message).toContain(
      'you may not get Secret s1',
    );
    expect((await write(USES_ACCOUNT, 'CodeHostIntegration', integration('s1'))).message).toContain(
      'cannot create resource "codehostintegrations"',
    );
    expect((await write(undefined, 'CodeHostIntegration', integration('s1'), 'git', '')).message).toBe('');
    const change = (spec: Spec): Promise<Answer> =>
      door.call('PATCH', `${DAVIT}/codehostintegrations/git?dryRun=All`, { spec }, ADMINISTRATOR);
    expect(await change({ tenants: ['team'] })).toMatchObject({ message: '', status: 200 });
    expect((await change({ apiUrl: 'https://elsewhere.example' })).message).toContain('you may not get Secret s1');
  });
});

describe('roles', () => {
  /** What somebody may do, by the authorizer's own word. */
  async function may(user: string, verb: string, resource: string, namespace = NAMESPACE): Promise<boolean> {
    const [group = '', plural = '', subresource] = resource.split('/');
    const groups = user.startsWith('system:serviceaccount:')
      ? ['system:serviceaccounts', 'system:authenticated']
      : ['system:authenticated'];
    const { body } = await door.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      spec: {
        user,
        groups,
        resourceAttributes: {
          verb,
          group,
          resource: plural,
          namespace,
          ...(subresource !== undefined && { subresource }),
        },
      },
    });
    return (body['status'] as { allowed: boolean }).allowed;
  }
  const cases: readonly {
    readonly user: string;
    readonly can: readonly string[];
    readonly cannot: readonly string[];
  }[] = [
    {
      user: EDITOR,
      can: [
        'create davit.dev/appdeployments',
        'create davit.dev/datastoreoperations',
        'delete davit.dev/tracingprojects',
        'list davit.dev/apprevisions',
        'list davit.dev/applogs',
        'create /secrets',
        'list davit.dev/apptemplates',
        'patch davit.dev/oauthproviders',
        'list davit.dev/codehostintegrations',
        'list davit.dev/listeners',
        'list /events',
        'watch events.k8s.io/events',
      ],
      cannot: [
        'create /events',
        'create davit.dev/apptemplates',
        'update davit.dev/oauthproviders/status',
        'update davit.dev/appdeployments/status',
        'create davit.dev/apprevisions',
        'delete davit.dev/apprevisions',
        'create davit.dev/applogs',
        'get /secrets',
        'delete /secrets',
      ],
    },
    {
      user: VIEWER,
      can: [
        'watch davit.dev/appdeployments',
        'get davit.dev/apprevisions',
        'list davit.dev/apptemplates',
        'list /events',
      ],
      cannot: [
        'patch davit.dev/oauthproviders',
        'create davit.dev/appdeployments',
        'get /secrets',
        'get davit.dev/applogs',
      ],
    },
    {
      user: KUBERNETES_EDITOR,
      can: ['create davit.dev/appdeployments', 'get davit.dev/apprevisions', 'create davit.dev/oauthproviders'],
      cannot: [
        'create davit.dev/apptemplates',
        'create davit.dev/codehostintegrations',
        'create davit.dev/listeners',
        'update davit.dev/appdeployments/status',
        'create davit.dev/apprevisions',
      ],
    },
    {
      user: CONTROLLER,
      can: [
        'patch davit.dev/appdeployments',
        'patch davit.dev/appdeployments/status',
        'patch apps/deployments',
        'delete apps/statefulsets',
        'create /secrets',
        // The label of a password whose database a new deployment takes up.
        'patch /secrets',
        'watch /pods',
        // Before it deletes those that failed.
        'get /pods/log',
        'create davit.dev/applogs',
        'create events.k8s.io/events',
        // For dry runs of them; RBAC has no word for that.
        'create /pods',
        'list /namespaces',
      ],
      cannot: [
        'create davit.dev/appdeployments',
        'delete davit.dev/appdeployments',
        'patch davit.dev/apprevisions',
        'update /secrets',
        'get /configmaps',
        'create rbac.authorization.k8s.io/roles',
        'get coordination.k8s.io/leases',
        'create /namespaces',
        'patch davit.dev/applogs',
        'create /pods/exec',
      ],
    },
    {
      user: API,
      can: ['watch davit.dev/appdeployments', 'list davit.dev/apprevisions', 'watch /namespaces'],
      cannot: [
        'create davit.dev/appdeployments',
        'list davit.dev/tracingprojects',
        'get /secrets',
        'list /secrets',
        'create /secrets',
        'list /pods',
        'list apps/deployments',
      ],
    },
  ];
  it.each(cases)('$user', async ({ user, can, cannot }) => {
    async function granted(wanted: readonly string[]): Promise<string[]> {
      const answers = await Promise.all(
        wanted.map(async (right) => ({ right, allowed: await may(user, ...(right.split(' ') as [string, string])) })),
      );
      return answers.filter(({ allowed }) => allowed).map(({ right }) => right);
    }
    expect(await granted(can)).toEqual(can);
    expect(await granted(cannot)).toEqual([]);
  });
  it.each([
    [API, ['get', 'create'], ['list', 'watch', 'delete', 'update', 'patch']],
    [CONTROLLER, ['list', 'watch', 'delete'], ['update']],
  ])("%s has only these rights on the organization's Secrets", async (user, can, cannot) => {
    const ask = (verb: string): Promise<boolean> => may(user, verb, '/secrets', 'davit-org');
    expect(await Promise.all(can.map(ask))).toEqual(can.map(() => true));
    expect(await Promise.all(cannot.map(ask))).toEqual(cannot.map(() => false));
  });
  it('the controller keeps its lease in its own namespace', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/davit-system/leases';
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'davit-controller' },
      spec: {},
    };
    const made = await door.call('POST', leases, lease, CONTROLLER);
    expect(made.status).toBe(201);
    expect((await door.call('PUT', `${leases}/davit-controller`, made.body, CONTROLLER)).status).toBe(200);
    expect((await door.call('GET', `${leases}/another`, undefined, CONTROLLER)).status).toBe(403);
  });
});

describe('the controller', () => {
  const labels = { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'u' };
  const service = { metadata: { name: 'shop', labels }, spec: { ports: [{ port: 80 }] } };
  const pod = { metadata: { name: 'shop', labels }, spec: { containers: [{ name: 'server', image: 'a:1' }] } };
  const at = (namespace: string, path: string): string => `/api/v1/namespaces/${namespace}/${path}`;
  const TENANTS = 'the davit-controller may write only in tenants';
  beforeAll(async () => {
    await door.call('POST', '/api/v1/namespaces', { metadata: { name: 'no-tenant' } });
    await door.call('POST', '/api/v1/namespaces', {
      metadata: { name: 'a-tenant', labels: { 'davit.dev/tenant': 'true' } },
    });
    for (const namespace of ['no-tenant', 'a-tenant']) {
      await door.call('POST', at(namespace, 'serviceaccounts'), { metadata: { name: 'default' } });
    }
  });

  it('writes only in tenants', async () => {
    expect(await door.call('POST', at('a-tenant', 'services'), service, CONTROLLER)).toMatchObject({ message: '' });
    const { status, message } = await door.call('POST', at('no-tenant', 'services'), service, CONTROLLER);
    expect(status).toBe(403);
    expect(message).toContain(`namespace no-tenant has no label davit.dev/tenant=true, and ${TENANTS}`);
    const rest: readonly (readonly [string, object])[] = [
      ['/api/v1/namespaces/no-tenant/secrets', { metadata: { name: 'a', labels } }],
      ['/api/v1/namespaces/davit-system/secrets', { metadata: { name: 'a', labels } }],
      [
        '/apis/apps/v1/namespaces/kube-system/deployments',
        {
          metadata: { name: 'a', labels },
          spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod.spec } },
        },
      ],
    ];
    for (const [path, object] of rest) {
      expect((await door.call('POST', path, object, CONTROLLER)).message).toContain(TENANTS);
      expect((await door.call('POST', `${path}?dryRun=All`, object)).status).toBe(201);
    }
    const key = { metadata: { name: 'davit-hmac' } };
    expect(await door.call('POST', at('davit-system', 'secrets?dryRun=All'), key, CONTROLLER)).toMatchObject({
      message: '',
      status: 201,
    });
  });
  it("deletes client secrets alone in the organization's namespace, and makes its keys alone in its own", async () => {
    const ORGANIZATION = 'davit-org';
    await door.call('POST', '/api/v1/namespaces', { metadata: { name: ORGANIZATION } });
    const secrets = at(ORGANIZATION, 'secrets');
    const provider = { 'davit.dev/oauth-provider': 'tracker' };
    const there: readonly (readonly [name: string, labels: object, type: string])[] = [
      ['tracker--client-1', provider, 'Opaque'],
      ['tracker', provider, 'Opaque'],
      ['tracker--client-2', {}, 'Opaque'],
      ['tracker--client-3', provider, 'kubernetes.io/basic-auth'],
    ];
    const verdicts: string[] = [];
    for (const [name, of, type] of there) {
      const metadata = { name, labels: of };
      // The policy davit-secrets admits no such type by that name; the object may be older.
      const stringData = type === 'Opaque' ? {} : { username: 'a', password: 'b' };
      const isOdd = type !== 'Opaque';
      const made = await door.call('POST', secrets, { metadata, type, immutable: true, stringData });
      expect(made.status).toBe(isOdd ? 403 : 201);
      if (!isOdd)
        verdicts.push((await door.call('DELETE', `${secrets}/${name}?dryRun=All`, undefined, CONTROLLER)).message);
    }
    const NO = expect.stringContaining('may only delete client secrets of OAuth providers');
    expect(verdicts).toEqual(['', NO, expect.stringContaining("Davit's labels")]);
    const token = { metadata: { name: 'davit-hmac' }, type: 'bootstrap.kubernetes.io/token' };
    const own = at('davit-system', 'secrets?dryRun=All');
    expect((await door.call('POST', own, token, CONTROLLER)).message).toContain('only its keys in its own namespace');
  });
  it("the HTTP API makes client secrets alone in the organization's namespace", async () => {
    const make = (name: string, more: object): Promise<Answer> => {
      const { labels: of = { 'davit.dev/oauth-provider': 'tracker' }, ...rest } = more as { labels?: object };
      const secret = { metadata: { name, labels: of }, type: 'Opaque', immutable: true, ...rest };
      return door.call('POST', at('davit-org', 'secrets?dryRun=All'), secret, API);
    };
    expect(await make('tracker--client-9', {})).toMatchObject({ message: '', status: 201 });
    const NO = 'makes only client secrets';
    expect((await make('anything', {})).message).toContain(NO);
    expect((await make('tracker--client-9', { labels: {} })).message).toContain(NO);
    const token = { metadata: { name: 'a', annotations: { 'kubernetes.io/service-account.name': 'default' } } };
    const typed = { ...token, type: 'kubernetes.io/service-account-token' };
    expect((await door.call('POST', at('davit-org', 'secrets?dryRun=All'), typed, API)).message).toContain(NO);
  });
  it('creates pods only as dry runs', async () => {
    expect(await door.call('POST', at('a-tenant', 'pods?dryRun=All'), pod, CONTROLLER)).toMatchObject({
      message: '',
      status: 201,
    });
    expect((await door.call('POST', at('a-tenant', 'pods'), pod, CONTROLLER)).message).toContain('only as dry runs');
    expect((await door.call('POST', at('no-tenant', 'pods?dryRun=All'), pod, CONTROLLER)).message).toContain(TENANTS);
  });
  it('changes of pods only the sizes of its own databases, and the label that names their template', async () => {
    const marked = {
      'davit.dev/deployment-uid': 'u',
      'davit.dev/component': 'postgres',
      'controller-revision-hash': 'a',
    };
    const ownerReferences = [
      { apiVersion: 'example.com/v1', kind: 'StatefulSet', name: 'x', uid: 'x', controller: true },
    ];
    const sized = (cpu: string): object => ({ requests: { cpu, memory: '1Mi' }, limits: { cpu: '1', memory: '1Mi' } });
    const spec = { containers: [{ name: 'postgres', image: 'p:1', resources: sized('100m') }] };
    const other = { ...marked, 'davit.dev/component': 'server' };
    for (const [name, labels] of [
      ['resized', marked],
      ['not-resized', other],
    ] as const)
      expect(
        await door.call('POST', at('a-tenant', 'pods'), { metadata: { name, labels, ownerReferences }, spec }),
      ).toMatchObject({ status: 201 });
    const patch = (path: string, body: object): Promise<Answer> =>
      door.call('PATCH', at('a-tenant', `pods/${path}`), body, CONTROLLER);
    const larger = { spec: { containers: [{ name: 'postgres', image: 'p:1', resources: sized('200m') }] } };
    const labelled = (labels: object): object => ({ metadata: { labels } });
    const NO = 'may change of pods only the sizes';
    expect(await patch('resized/resize', larger)).toMatchObject({ message: '', status: 200 });
    expect(await patch('resized', labelled({ 'controller-revision-hash': 'b' }))).toMatchObject({ status: 200 });
    expect((await patch('not-resized/resize', larger)).message).toContain(NO);
    expect((await patch('not-resized', labelled({ 'controller-revision-hash': 'b' }))).message).toContain(NO);
    expect((await patch('resized', labelled({ added: '' }))).message).toContain(NO);
    expect((await patch('resized', labelled({ 'davit.dev/deployment-uid': null }))).message).toContain(NO);
    expect((await patch('resized', labelled({ 'davit.dev/deployment-uid': 'v' }))).message).toContain(NO);
    expect((await patch('resized', { spec: { containers: [{ name: 'postgres', image: 'p:2' }] } })).message).not.toBe(
      '',
    );
    expect((await patch('resized', { spec: { activeDeadlineSeconds: 5 } })).message).toContain(NO);
  });
  it('deletes only pods of its own deployments', async () => {
    const marked = { 'davit.dev/deployment-uid': 'u', 'davit.dev/component': 'postgres' };
    // Of a group that the API server does not have: the garbage collector would delete a pod whose owner it can look for
    // and does not find, and the deletion of what is being deleted is not judged again.
    const ownerOf = (kind: string): object[] => [
      { apiVersion: 'example.com/v1', kind, name: 'x', uid: 'x', controller: true },
    ];
    const cases = [
      { name: 'database', labels: marked, ownerReferences: ownerOf('StatefulSet'), status: 200 },
      { name: 'unowned', labels: marked, status: 403 },
      { name: 'another-kind', labels: marked, ownerReferences: ownerOf('Job'), status: 403 },
      {
        name: 'unmarked',
        labels: { 'davit.dev/component': 'server' },
        ownerReferences: ownerOf('ReplicaSet'),
        status: 403,
      },
      {
        name: 'server',
        labels: { ...marked, 'davit.dev/component': 'server' },
        ownerReferences: ownerOf('ReplicaSet'),
        status: 200,
      },
    ];
    for (const { status, ...metadata } of cases) {
      expect(await door.call('POST', at('a-tenant', 'pods'), { ...pod, metadata })).toMatchObject({ status: 201 });
      const path = at('a-tenant', `pods/${metadata.name}`);
      const answer = await door.call('DELETE', path, undefined, CONTROLLER);
      if (status === 403) expect(answer.message).toContain('only pods of its deployments');
      expect([metadata.name, answer.status]).toEqual([metadata.name, status]);
    }
  });
  it('deletes objects with its labels, also in a namespace that is no longer a tenant', async () => {
    const remove = (namespace: string, path: string): Promise<Answer> =>
      door.call('DELETE', at(namespace, path), undefined, CONTROLLER);
    await door.call('POST', at('no-tenant', 'services'), service);
    await door.call('POST', at('no-tenant', 'secrets'), {
      metadata: { name: 'values', labels: { 'davit.dev/variables': '' } },
    });
    for (const namespace of ['no-tenant', 'a-tenant']) {
      await door.call('POST', at(namespace, 'secrets'), { metadata: { name: 'theirs' } });
      expect((await remove(namespace, 'secrets/theirs')).message).toContain("only objects with Davit's labels");
    }
    const kept = {
      metadata: { name: 'kept', labels: { 'davit.dev/deployment-uid': 'a' } },
      data: { password: 'YQ==' },
    };
    await door.call('POST', at('no-tenant', 'secrets'), kept);
    const patch = (body: object): Promise<Answer> =>
      door.call('PATCH', at('no-tenant', 'secrets/kept'), body, CONTROLLER);
    const mark = { metadata: { annotations: { 'davit.dev/used-last': 'a pod' } } };
    expect(await patch(mark)).toMatchObject({ message: '', status: 200 });
    for (const more of [{ data: { password: 'Yg==' } }, { data: null }, { metadata: { labels: { a: 'b' } } }])
      expect((await patch(more)).message).toContain('may write only in tenants');
    expect(await remove('no-tenant', 'services/shop')).toMatchObject({ message: '', status: 200 });
    expect(await remove('no-tenant', 'secrets/values')).toMatchObject({ message: '', status: 200 });
  });
  it('writes the status of a record and releases its finalizer in any namespace', async () => {
    const records = '/apis/davit.dev/v1alpha1/namespaces/no-tenant/appdeployments';
    expect((await door.call('POST', records, aRecord(docker(), 'stray'))).message).toBe('');
    const status = { status: { observedGeneration: 1 } };
    expect(await door.call('PATCH', `${records}/stray/status`, status, CONTROLLER)).toMatchObject({ status: 200 });
    for (const finalizers of [['davit.dev/teardown'], null]) {
      const answer = await door.call('PATCH', `${records}/stray`, { metadata: { finalizers } }, CONTROLLER);
      expect(answer).toMatchObject({ message: '', status: 200 });
    }
  });
});

describe('fields with an effect beyond the pods', () => {
  const reaching: readonly (readonly [words: string, parts: Spec])[] = [
    ['labels app: these labels have an effect beyond', { labels: { app: 'shop', team: 'blue' } }],
    ['annotations k8s.v1.cni.cncf.io/networks:', { annotations: { 'k8s.v1.cni.cncf.io/networks': 'x' } }],
    ['labels azure.workload.identity/use:', { labels: { 'azure.workload.identity/use': 'true' } }],
    ['annotations prometheus.io/scrape:', { annotations: { 'prometheus.io/scrape': 'true' } }],
    ['annotations co.elastic.logs/json:', { annotations: { 'co.elastic.logs/json': 'x' } }],
    ['labels kueue.x-k8s.io/queue-name:', { labels: { 'kueue.x-k8s.io/queue-name': 'x' } }],
    [
      'names a namespace is refused',
      { volumes: [{ name: 'v', csi: { driver: 'd', volumeAttributes: { SecretNamespace: 'other' } } }] },
    ],
    [
      'an attribute that names a namespace',
      { volumes: [{ name: 'v', csi: { driver: 'd', volumeAttributes: { secretNs: 'other' } } }] },
    ],
  ];
  it.each(reaching)('is refused: %s', async (words, parts) => {
    expect((await create(READS_SECRETS, withPod(parts))).message).toContain(words);
  });
  it("the team's own keys are allowed", async () => {
    const harmless = { 'kubectl.kubernetes.io/default-container': 'server' };
    const annotations = { 'example.com/note': 'x', app: 'x', ...harmless };
    const parts = { labels: { team: 'blue', apple: 'x' }, annotations };
    expect(await create(EDITOR, withPod(parts))).toMatchObject({ message: '', status: 201 });
  });
  it.each([
    'secretName',
    'secretname',
    'secret',
    'secretRef',
    'authSecretRefName',
    'nodePublishSecretRef',
    'node-publish-secret-name',
    'csi.storage.k8s.io/node-publish-secret-name',
    'credentialsName',
    'passwordRef',
  ])('a Secret by the attribute %s of a CSI volume is one that the author may get', async (attribute) => {
    const volume = { name: 'v', csi: { driver: 'd', volumeAttributes: { [attribute]: 'others', share: 'a' } } };
    expect((await create(EDITOR, withPod({ volumes: [volume] }))).message).toContain('Secret others yourself');
    expect(await create(READS_SECRETS, withPod({ volumes: [volume] }))).toMatchObject({ message: '', status: 201 });
  });
  it('a SecretProviderClass is one that the author may get', async () => {
    const csi = { driver: 'secrets-store.csi.k8s.io', volumeAttributes: { secretProviderClass: 'vault' } };
    const spec = withPod({ volumes: [{ name: 'v', csi }] });
    expect((await create(EDITOR, spec)).message).toContain('SecretProviderClass vault yourself');
    expect((await create(READS_SECRETS, spec)).message).toContain('SecretProviderClass vault yourself');
    expect(await create(undefined, spec)).toMatchObject({ message: '', status: 201 });
  });
  it("a pod's certificate is its account's", async () => {
    const sources = [{ podCertificate: { signerName: 'a.example/b', keyType: 'ED25519' } }];
    const parts = { volumes: [{ name: 'v', projected: { sources } }] };
    expect((await create(EDITOR, withPod(parts))).message).toContain('service account default');
    expect(await create(IMPERSONATES_ACCOUNT, withPod(parts))).toMatchObject({ message: '', status: 201 });
  });
  it('is allowed by the settings, and existing values are not checked again', async () => {
    const allowed =
      'settings.pods.allowed={"labels":["app"],"annotations":["*.istio.io/"],"csiDrivers":["files.example"]}';
    const own = { labels: { app: 'shop' }, annotations: { 'sidecar.istio.io/inject': 'true' } };
    const csi = { volumes: [{ name: 'v', csi: { driver: 'files.example' } }] };
    await release('--set-json', allowed, '--set-json', 'settings.pods.refused={"annotations":["agent.example/"]}');
    await eventually(async () => expect((await create(EDITOR, withPod(own))).message).toBe(''));
    expect((await create(EDITOR, withPod({ annotations: { 'agent.example/a': 'x' } }))).message).toContain(
      'annotations agent.example/a:',
    );
    expect((await create(EDITOR, withPod({ labels: { role: 'db' } }))).message).toContain('labels role');
    await make(withPod(own), 'labelled');
    await release('--set', 'settings.pods.policy=restricted', '--set-json', allowed);
    await eventually(async () =>
      expect((await create(EDITOR, withPod({ labels: { team: 'blue' } }))).message).toContain(
        'labels team: the restricted pod policy allows only the labels in settings',
      ),
    );
    expect(await create(EDITOR, withPod({ ...own, ...csi }))).toMatchObject({ message: '', status: 201 });
    const other = { volumes: [{ name: 'v', csi: { driver: 'other.example' } }] };
    expect((await create(EDITOR, withPod(other))).message).toContain('only the CSI drivers');
    const sources = [{ podCertificate: { signerName: 'a.example/b' } }];
    const certificate = withPod({ volumes: [{ name: 'v', projected: { sources } }] });
    expect((await create(IMPERSONATES_ACCOUNT, certificate)).message).toContain('podCertificate is refused');
    await release();
    await eventually(async () => expect((await create(EDITOR, withPod(own))).status).not.toBe(201));
    const cpu = (labels: object): object => ({ spec: { sourceConfig: { resourceSpec: { cpu: 1, labels } } } });
    expect(await patch(EDITOR, 'labelled', cpu({}))).toMatchObject({ message: '', status: 200 });
    expect((await patch(EDITOR, 'labelled', cpu({ app: 'other' }))).message).toContain('labels app');
    expect((await patch(EDITOR, 'labelled', cpu({ name: 'a' }))).message).toContain('labels name');
  });
});

describe('who asked for a change', () => {
  const KEY = 'davit.dev/requested-by';
  const ANOTHER = 'anna@example.com';
  const REFUSED = `the annotation ${KEY} names another user or another change`;
  const scaled = { sourceConfig: { resourceSpec: { maxScale: 3 } } };
  const claiming = (claim: string | null, spec?: object): object => ({
    metadata: { annotations: { [KEY]: claim } },
    ...(spec && { spec }),
  });
  const created = (as: string | undefined, claim: string, name = 'who'): Promise<Answer> =>
    door.call(
      'POST',
      `${DAVIT}/appdeployments?dryRun=All`,
      { ...aRecord(docker(), name), metadata: { name, annotations: { [KEY]: claim } } },
      as,
    );

  it('of a creation: only the one who creates it', async () => {
    expect(await created(EDITOR, `new 1 ${EDITOR}`)).toMatchObject({ message: '', status: 201 });
    const { status, message } = await created(EDITOR, `new 1 ${ANOTHER}`);
    expect(status).toBe(403);
    expect(message).toContain(REFUSED);
    expect((await created(EDITOR, `new 2 ${EDITOR}`)).message).toContain(REFUSED);
  });

  it('an administrator restores what others created, and anybody a record that was changed', async () => {
    expect(await created(undefined, `new 1 ${ANOTHER}`)).toMatchObject({ message: '', status: 201 });
    const old = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
    expect(await created(EDITOR, `${old} 1 ${ANOTHER}`)).toMatchObject({ message: '', status: 201 });
  });

  it('of a change: only its own author, in the write that makes the generation', async () => {
    await make(docker(), 'who-changes');
    const { body } = await door.call('GET', `${DAVIT}/appdeployments/who-changes`);
    const { uid } = body['metadata'] as { uid: string };
    const write = (claim: string | null, spec?: object, query?: string): Promise<Answer> =>
      patch(EDITOR, 'who-changes', claiming(claim, spec), query);
    expect(await write(`${uid} 2 ${EDITOR}`, scaled)).toMatchObject({ message: '', status: 200 });
    const forged: readonly [string, object?][] = [
      [`${uid} 2 ${ANOTHER}`, scaled],
      [`${uid} 3 ${EDITOR}`, scaled],
      // For a change that somebody else has made, or is going to make.
      [`${uid} 1 ${EDITOR}`],
      [`new 1 ${EDITOR}`],
      [`${uid} 2 ${EDITOR}`],
      [`${uid} 2 ${ANOTHER}`],
    ];
    for (const [claim, spec] of forged) {
      expect((await write(claim, spec)).message, claim).toContain(REFUSED);
    }
    expect((await patch(undefined, 'who-changes', claiming(`${uid} 2 ${ANOTHER}`, scaled))).message).toContain(REFUSED);
  });

  it('writes that say nothing of it are as before, whatever an earlier one has said', async () => {
    await make(docker(), 'who-edits');
    const { body } = await door.call('GET', `${DAVIT}/appdeployments/who-edits`);
    const { uid } = body['metadata'] as { uid: string };
    expect((await patch(EDITOR, 'who-edits', claiming(`${uid} 2 ${EDITOR}`, scaled), '')).status).toBe(200);
    const finalizers = { metadata: { finalizers: ['davit.dev/teardown'] } };
    expect(await patch(CONTROLLER, 'who-edits', finalizers)).toMatchObject({ message: '', status: 200 });
    const next = { spec: { sourceConfig: { resourceSpec: { maxScale: 4 } } } };
    expect(await patch(undefined, 'who-edits', next, '')).toMatchObject({ message: '', status: 200 });
    // An earlier state of the record, as a tool keeps it in a repository.
    expect(await patch(EDITOR, 'who-edits', claiming(`${uid} 1 ${ANOTHER}`))).toMatchObject({
      message: '',
      status: 200,
    });
    expect(await patch(EDITOR, 'who-edits', claiming(null))).toMatchObject({ message: '', status: 200 });
  });
});

describe('who asked for an act on a database', () => {
  const asked = (as: string | undefined, spec: object, query = '?dryRun=All', name = 'act'): Promise<Answer> =>
    door.call(
      'POST',
      `${DAVIT}/datastoreoperations${query}`,
      {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { name },
        spec: { deployment: 'shop', action: 'Backup', ...spec },
      },
      as,
    );

  it('only oneself, or nobody; an administrator restores what others created', async () => {
    expect((await asked(EDITOR, {})).status).toBe(201);
    expect((await asked(EDITOR, { requestedBy: EDITOR })).status).toBe(201);
    const forged = await asked(EDITOR, { requestedBy: 'anna@example.com' });
    expect([forged.status, forged.message]).toEqual([403, expect.stringContaining('names another user')]);
    expect((await asked(undefined, { requestedBy: 'anna@example.com' })).status).toBe(201);
    expect((await asked(VIEWER, {})).status).toBe(403);
  });

  it("keeps Davit's finalizer on an operation", async () => {
    const finalizers = ['davit.dev/operation', 'example.dev/own'];
    expect((await asked(EDITOR, {}, '', 'held')).status).toBe(201);
    const change = (left: readonly string[] | null, as?: string): Promise<Answer> =>
      door.call('PATCH', `${DAVIT}/datastoreoperations/held`, { metadata: { finalizers: left } }, as);
    expect((await change(finalizers)).status).toBe(200);
    for (const left of [null, [], ['example.dev/own']])
      expect(await change(left, EDITOR)).toMatchObject({
        status: 403,
        message: expect.stringContaining('delete the operation and wait') as string,
      });
    expect((await change(['davit.dev/operation'], EDITOR)).status).toBe(200);
    expect((await change(null, CONTROLLER)).status).toBe(200);
  });

  it('cannot be changed, and its status is for the controller alone', async () => {
    expect((await asked(EDITOR, {}, '', 'fixed')).status).toBe(201);
    const change = (body: object, path = ''): Promise<Answer> =>
      door.call('PATCH', `${DAVIT}/datastoreoperations/fixed${path}?dryRun=All`, body, EDITOR);
    expect((await change({ spec: { deployment: 'other' } })).message).toContain('an operation cannot be changed');
    expect((await change({ status: { phase: 'Succeeded' } }, '/status')).status).toBe(403);
    for (const [spec, what] of [
      [{ action: 'Patch' }, 'action Patch needs patch.datastore'],
      [{ patch: { datastore: 'redis' } }, 'no other action has patch'],
      [{ accept: ['NoBackup'] }, 'only action Patch has accept'],
      [{ action: 'Patch', patch: { datastore: 'mongo' } }, 'Unsupported value'],
      [{ action: 'Patch', patch: { datastore: 'redis' }, accept: ['AllLost'] }, 'Unsupported value'],
    ] as const)
      expect(await asked(EDITOR, spec)).toMatchObject({
        status: 422,
        message: expect.stringContaining(what) as string,
      });
    const patch = { action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] };
    expect((await asked(EDITOR, patch)).status).toBe(201);
    const words = await asked(EDITOR, { action: 'Destroy' });
    expect([words.status, words.message]).toEqual([422, expect.stringContaining('Backup')]);
  });
});

describe('an operation that replaces or deletes data', () => {
  const BACKUP = '20260201T020000Z-0000000a';
  const asked = (as: string, spec: object): Promise<Answer> =>
    door.call(
      'POST',
      `${DAVIT}/datastoreoperations?dryRun=All`,
      {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { generateName: 'shop-' },
        spec: { deployment: 'shop', ...spec },
      },
      as,
    );

  it.each([
    { action: 'Restore', restore: { backup: BACKUP } },
    { action: 'Return' },
    { action: 'DeletePrevious', deletePrevious: { number: 0 } },
  ])('needs the verb restore on the deployment: $action', async (spec) => {
    const refused = await asked(EDITOR, spec);
    expect([refused.status, refused.message]).toEqual([
      403,
      expect.stringContaining(
        `action ${spec.action} replaces or deletes data of deployment shop, so it needs the verb restore`,
      ),
    ]);
    expect(await asked(RESTORES, spec)).toMatchObject({ message: '', status: 201 });
  });

  it('needs a right to the volumes too for a backup of another deployment', async () => {
    const restore = { action: 'Restore', restore: { backup: BACKUP, from: 'other' } };
    const refused = await asked(RESTORES, restore);
    expect([refused.status, refused.message]).toEqual([403, expect.stringContaining('spec.restore.from')]);
    expect(await asked(RESTORES_ALL, restore)).toMatchObject({ message: '', status: 201 });
  });

  it.each(['Backup', 'Move', 'Upgrade'])('is not %s', async (action) => {
    expect(await asked(EDITOR, { action })).toMatchObject({ message: '', status: 201 });
  });

  it.each([
    [{ action: 'Restore' }, 'action Restore needs restore.backup'],
    [{ action: 'Move', restore: { backup: BACKUP } }, 'no other action has restore'],
    [{ action: 'DeletePrevious' }, 'action DeletePrevious needs deletePrevious.number'],
    [{ action: 'Return', deletePrevious: { number: 1 } }, 'no other action has deletePrevious'],
    [{ action: 'Upgrade', backup: { archive: true } }, 'only action Backup has backup'],
    [{ action: 'Restore', restore: { backup: 'yesterday' } }, 'spec.restore.backup'],
  ])('has what its action needs, and nothing else: %j', async (spec, words) => {
    const { status, message } = await asked(RESTORES, spec);
    expect([status, message]).toEqual([422, expect.stringContaining(words)]);
  });
});

describe('who asked to interrupt a build', () => {
  const ANOTHER = 'anna@example.com';
  const REVISION = '1c8ac5f4-6f5b-5d0e-9d6c-0d9a0c6a4f21';
  const write = (annotations: object, as: string | undefined = EDITOR): Promise<Answer> =>
    patch(as, 'stops', { metadata: { annotations } }, '');

  it('is written by its own author alone, and used by nobody else', async () => {
    await make(docker(), 'stops');
    const { body } = await door.call('GET', `${DAVIT}/appdeployments/stops`);
    const { uid } = body['metadata'] as { uid: string };
    const asking = (username: string): object => ({
      'davit.dev/interrupt': REVISION.toUpperCase(),
      'davit.dev/interrupted-by': `${uid} ${REVISION} ${username}`,
    });
    expect((await write(asking(ANOTHER))).message).toContain('davit.dev/interrupted-by names another user');
    expect(await write(asking(EDITOR))).toMatchObject({ message: '', status: 200 });
    // Who only labels it does not ask for anything.
    expect((await patch(undefined, 'stops', { metadata: { labels: { a: 'b' } } }, '')).status).toBe(200);
    const taken = { 'davit.dev/interrupted-by': `${uid} ${REVISION} ${ANOTHER}` };
    expect((await write(taken)).status).toBe(403);
    // A claim that was written before is not somebody else's interrupt.
    expect((await write({ 'davit.dev/interrupt': null })).status).toBe(200);
    expect((await write({ 'davit.dev/interrupt': REVISION }, READS_SECRETS)).status).toBe(403);
    expect((await write({ 'davit.dev/interrupted-by': null })).status).toBe(200);
    expect(await write({ 'davit.dev/interrupt': REVISION })).toMatchObject({ message: '', status: 200 });
  });
});

describe('empty-database, which gives up the data of a lost volume', () => {
  const asks = (uid: string): string => `Start empty: kubectl annotate appd empty davit.dev/empty-database=${uid}`;
  const condition = (reason: string, message: string, type = 'DatabaseReady'): object => ({
    type,
    status: 'False',
    reason,
    message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const write = (value: string | null): Promise<Answer> =>
    patch(EDITOR, 'empty', { metadata: { annotations: { 'davit.dev/empty-database': value } } }, '');
  async function report(...conditions: object[]): Promise<void> {
    const status = { databaseVolumeUid: 'a-uid', conditions };
    const answer = await door.call('PATCH', `${DAVIT}/appdeployments/empty/status`, { status });
    expect(answer).toMatchObject({ message: '', status: 200 });
  }
  const REFUSED = 'it can be set only while a condition of the deployment says';

  it('is taken only while a condition asks for it, with its value; and is taken back by everybody', async () => {
    await make(docker(), 'empty');
    expect((await write('a-uid')).message).toContain(REFUSED);
    for (const healthy of [
      condition('Answering', 'PostgreSQL answers.'),
      // What a program prints is in messages too.
      condition('CrashLooping', `${asks('a-uid')}.`, 'Ready'),
      condition('VolumeMissing', `${asks('another')}.`),
      condition('VolumeMissing', `${asks('a-uid-1')}.`),
    ]) {
      await report(healthy);
      expect((await write('a-uid')).message, JSON.stringify(healthy)).toContain(REFUSED);
    }
    for (const lost of [
      condition('VolumeMissing', `${asks('a-uid')}.`),
      condition('VolumeMissing', `${asks('a-uid')}. Take the annotation away when the deployment is Ready.`),
      condition('PasswordMissing', `${asks('a-uid')}; then deploy a new revision.`, 'Stalled'),
      condition('VolumeTerminating', 'It is being deleted.', 'Stalled'),
    ]) {
      await report(condition('Serving', '', 'Ready'), lost);
      expect((await write('another')).message, JSON.stringify(lost)).toContain(REFUSED);
      expect(await write('a-uid'), JSON.stringify(lost)).toMatchObject({ message: '', status: 200 });
      await report();
      // What is there stays, and hinders no other write.
      expect((await patch(EDITOR, 'empty', { metadata: { labels: { a: 'b' } } }, '')).status).toBe(200);
      expect((await write('another')).message).toContain(REFUSED);
      expect(await write(null)).toMatchObject({ message: '', status: 200 });
    }
  });
});

describe('hosting mode', () => {
  const cloud = ['internal_docker', 'internal_source', 'internal_template', 'codehost'];
  function least(source: string): Spec {
    if (source === 'external_docker') return docker();
    if (source === 'internal_template') return { source, sourceRevisionConfig: { imageUri: 'a:1' } };
    if (source !== 'codehost') return { source };
    return {
      source,
      sourceConfig: { integrationId: '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11', repoUrl: 'https://code.example/a' },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'a.json' },
    };
  }
  it('self-hosted takes external_docker alone', async () => {
    expect(await create(EDITOR, least('external_docker'))).toMatchObject({ message: '', status: 201 });
    for (const source of cloud) {
      expect((await create(EDITOR, least(source))).message).toContain(`source ${source} is for hosting mode cloud`);
    }
  });
  it('cloud takes the four others, and does not check records whose spec does not change', async () => {
    await make(docker(), 'before');
    await release('--set', 'settings.hosting=cloud');
    await eventually(async () =>
      expect((await create(EDITOR, docker())).message).toContain('is for hosting mode self-hosted'),
    );
    for (const source of cloud) {
      expect(await create(EDITOR, least(source))).toMatchObject({ message: '', status: 201 });
    }
    expect((await patch(EDITOR, 'before', { metadata: { labels: { a: 'b' } } })).status).toBe(200);
    expect((await patch(EDITOR, 'before', { spec: { databaseDeletionPolicy: 'Retain' } })).message).toContain(
      'hosting mode self-hosted',
    );
    expect((await door.call('DELETE', `${DAVIT}/appdeployments/before`, undefined, EDITOR)).status).toBe(200);
  });
  it("an image of internal_docker is one of the deployment's own repository, by digest", async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const of = (imageUri: string): Spec => ({ source: 'internal_docker', sourceRevisionConfig: { imageUri } });
    const elsewhere = of('docker.io/library/shop:1');
    await release('--set', 'settings.hosting=both');
    await eventually(async () => expect((await create(EDITOR, elsewhere)).message).toBe(''));
    await make(elsewhere, 'old-image');
    const registry = 'settings.builds.registry={"host":"registry.example:5000","repository":"davit"}';
    await release('--set', 'settings.hosting=both', '--set-json', registry);
    await eventually(async () => expect((await create(EDITOR, elsewhere)).message).toContain('by digest'));
    const { body } = await door.call('GET', `/api/v1/namespaces/${NAMESPACE}`);
    const { uid = '' } = (body as { metadata: { uid?: string } }).metadata;
    const repository = `registry.example:5000/davit/${NAMESPACE}-${uid.slice(0, 8)}/shop`;
    expect(await create(EDITOR, of(`${repository}@${digest}`))).toMatchObject({ message: '', status: 201 });
    expect(await create(EDITOR, { source: 'internal_docker' })).toMatchObject({ message: '', status: 201 });
    expect(await create(EDITOR, docker())).toMatchObject({ message: '', status: 201 });
    for (const image of [
      `${repository}:1`,
      `${repository}:1@${digest}`,
      `${repository}-2@${digest}`,
      `shop@${digest}`,
    ]) {
      expect((await create(EDITOR, of(image))).message).toContain(`repository, by digest: ${repository}@sha256:`);
    }
    expect((await patch(EDITOR, 'old-image', { spec: { databaseDeletionPolicy: 'Retain' } })).message).toBe('');
  });
  it('the restricted pod policy rejects more than baseline, and accepts what it requires', async () => {
    const context = (securityContext: Spec): Spec =>
      withPod({ sidecars: [{ name: 'helper', image: 'helper:1', securityContext }] });
    const hostile: readonly (readonly [words: string, spec: Spec])[] = [
      ['privilege escalation is refused', context({ allowPrivilegeEscalation: true })],
      ['runAsNonRoot: false is refused', context({ runAsNonRoot: false })],
      ['user 0 is refused', context({ runAsUser: 0 })],
      ['capabilities other than a drop of ALL', context({ capabilities: { drop: ['CHOWN'] } })],
      ['nfs is refused', withPod({ volumes: [{ name: 'v', nfs: { server: 'files.example', path: '/' } }] })],
    ];
    await release('--set', 'settings.hosting=self-hosted');
    await eventually(async () => expect((await create(EDITOR, docker())).message).toBe(''));
    for (const [, spec] of hostile) {
      expect(await create(EDITOR, spec)).toMatchObject({ message: '', status: 201 });
    }
    await release('--set', 'settings.hosting=self-hosted', '--set', 'settings.pods.policy=restricted');
    await eventually(async () => expect((await create(EDITOR, hostile[0]?.[1] ?? {})).status).not.toBe(201));
    for (const [words, spec] of hostile) {
      expect((await create(EDITOR, spec)).message).toContain(words);
    }
    // kubectl stores a null in these, which asks for nothing (src/deploy/children/pod-policy.test.ts: what the pods get).
    const nothing = {
      allowPrivilegeEscalation: null,
      runAsNonRoot: null,
      runAsUser: null,
      capabilities: { drop: null },
    };
    expect(await create(EDITOR, context(nothing))).toMatchObject({ message: '', status: 201 });
    const proper = { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } };
    expect(await create(EDITOR, context(proper))).toMatchObject({ message: '', status: 201 });
    expect(await create(EDITOR, docker())).toMatchObject({ message: '', status: 201 });
  });
  it('limits and own databases are checked for new values only', async () => {
    const external = ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((name) => ({
      name,
      secretName: 's0',
      secretKey: 'uri',
    }));
    const using = (limits: Spec, requests: Spec = {}): Spec => ({
      name: 'helper',
      image: 'helper:1',
      resources: { limits, requests },
    });
    const asking = (resourceSpec: Spec, secretReferences: readonly object[] = external): Spec =>
      docker({ sourceConfig: { resourceSpec }, secretReferences });
    await release('--set', 'settings.hosting=self-hosted');
    await eventually(async () => expect((await create(READS_SECRETS, asking({}))).message).toBe(''));
    await make(asking({ cpu: 8, sidecars: [using({ cpu: 4, 'nvidia.com/gpu': 2 })] }, []), 'large');
    await release(
      '--set',
      'settings.hosting=self-hosted,settings.database.own=false',
      '--set-json',
      'settings.limits={"cpu":1.5,"memoryMb":4194304,"scale":5,"storageGi":20,"resources":{"nvidia.com/gpu":1}}',
    );
    await eventually(async () => expect((await create(READS_SECRETS, asking({ cpu: 2 }))).status).not.toBe(201));
    const tooMuch: readonly (readonly [words: string, spec: Spec])[] = [
      ['cpu must be at most 1.5 on this platform', asking({ cpu: 2 })],
      ['queueCpuLimit must be at most 1.5', asking({ queueCpuLimit: 1.6 })],
      ['orchestratorMaxScale must be at most 5', asking({ orchestratorMaxScale: 6 })],
      ['dbStorageGi must be at most 20', asking({ dbStorageGi: 21 })],
      [
        "cpu limits of a pod's containers together must be at most 1.5",
        asking({ sidecars: [using({ cpu: '500' }, { cpu: 1 })] }),
      ],
      [
        "cpu requests of a pod's containers together must be at most 1.5",
        asking({ sidecars: [using({}, { cpu: 1 }), { ...using({}, { cpu: '600m' }), name: 'b' }] }),
      ],
      [
        "memory requests of a pod's containers together must be at most 4194304Mi",
        asking({ sidecars: [using({ memory: '1Gi' })], initContainers: [{ ...using({ memory: '4Ti' }), name: 'b' }] }),
      ],
      ['queueCpu: its sum with the sidecars', asking({ queueCpu: 1, sidecars: [using({ cpu: '0.6' })] })],
      ["nvidia.com/gpu of a pod's containers together", asking({ initContainers: [using({ 'nvidia.com/gpu': 8 })] })],
      [
        "ephemeral-storage of a pod's containers together",
        asking({ sidecars: [using({ 'ephemeral-storage': '1Gi' })] }),
      ],
      [
        'this platform provides no databases: set POSTGRES_URI_CUSTOM, or database of runtime to none',
        asking({}, external.slice(1)),
      ],
      [
        'this platform provides no databases: set REDIS_URI_CUSTOM, or redis of runtime to none',
        asking({}, external.slice(0, 1)),
      ],
    ];
    for (const [words, spec] of tooMuch) {
      expect((await create(READS_SECRETS, spec)).message).toContain(words);
    }
    const without = docker({ sourceConfig: { runtime: { database: 'none', redis: 'none' } } });
    expect(await create(READS_SECRETS, without)).toMatchObject({ message: '', status: 201 });
    const most = asking({ cpu: 1.5, memoryMb: 4_194_304, maxScale: 5, dbStorageGi: 20 });
    const within = using({ cpu: '500m', memory: '1Gi', 'nvidia.com/gpu': 1 });
    expect(await create(READS_SECRETS, asking({ cpu: 1, cpuLimit: 1, sidecars: [within] }))).toMatchObject({
      message: '',
      status: 201,
    });
    // The API server's limit of costs, with as many containers as there may be.
    const many = Array.from({ length: 20 }, (_, n) => ({
      ...using({ cpu: '1m', 'nvidia.com/gpu': 0 }),
      name: `c${n}`,
    }));
    const others = many.map((one) => ({ ...one, name: `i${one.name}`, restartPolicy: 'Always' }));
    expect(await create(READS_SECRETS, asking({ sidecars: many, initContainers: others }))).toMatchObject({
      message: '',
      status: 201,
    });
    expect(await create(READS_SECRETS, most)).toMatchObject({ message: '', status: 201 });
    const more = (cpu: number): Spec => ({ spec: { sourceConfig: { resourceSpec: { cpu } } } });
    expect((await patch(READS_SECRETS, 'large', { spec: { databaseDeletionPolicy: 'Retain' } })).message).toBe('');
    expect((await patch(READS_SECRETS, 'large', more(9))).message).toContain('cpu must be at most 1.5');
    expect((await patch(READS_SECRETS, 'large', more(1))).message).toBe('');
    const larger = { sidecars: [using({ cpu: 4, 'nvidia.com/gpu': 3 })] };
    expect(
      (await patch(READS_SECRETS, 'large', { spec: { sourceConfig: { resourceSpec: larger } } })).message,
    ).toContain('nvidia.com/gpu');
  });
  it('what a platform refuses is refused with kubectl in the words of the other doors', async () => {
    const bySettings = Map.groupBy(refusedHere, ({ settings }) => JSON.stringify(settings));
    for (const [settings, rows] of bySettings) {
      const [first] = rows;
      const { pods = {}, limits = {} } = JSON.parse(settings) as { pods?: object; limits?: object };
      await release(
        '--set',
        'settings.hosting=self-hosted',
        '--set-json',
        `settings.pods=${JSON.stringify(pods)}`,
        '--set-json',
        `settings.limits=${JSON.stringify(limits)}`,
      );
      await eventually(async () =>
        expect((await create(EDITOR, withPod(first?.spec ?? {}))).message).toContain(first?.says ?? ''),
      );
      for (const { name, spec, says } of rows) {
        const { status, message } = await create(EDITOR, withPod(spec));
        expect([name, status, message]).toEqual([name, 422, expect.stringContaining(says)]);
      }
    }
  }, 300_000);
});

describeForeignImages(() => ({ cluster, door }));
