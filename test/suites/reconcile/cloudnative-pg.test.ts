// A PostgreSQL that is a Cluster of CloudNativePG, over the in-memory API server: made, reported on, kept and given up.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { NotFound } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  POSTGRES_CLUSTERS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, SecretObject } from '../../../src/runtime/kube/client.ts';
import { operate, restWithOperator, tornDown } from '../../kit/memory/cloudnative-pg.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteRecord,
  edit,
  newestRevision,
  putRecord,
  record,
  says,
} from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { crashed } from './harness.ts';

const CLUSTER: Partial<AppDeployment['spec']> = {
  sourceConfig: { database: { driver: 'cloudnative-pg', instances: 2 } },
};
const RETAINED = { ...CLUSTER, databaseDeletionPolicy: 'Retain' } as const;

interface Cluster extends KubeObject {
  readonly spec: {
    readonly instances: number;
    readonly imageName: string;
    readonly storage: { readonly size: string };
    readonly postgresql: { readonly parameters: { readonly max_connections: string } };
  };
}

const rest = (controller: MemoryController, ready?: number): Promise<void> => restWithOperator(controller, { ready });

async function rested(spec = CLUSTER, settings?: Settings): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, spec);
  const controller = await aController(kube, settings);
  await rest(controller);
  return controller;
}

function clusterIn(kube: FakeKube): Cluster | undefined {
  return kube.objects<Cluster>(POSTGRES_CLUSTERS)[0];
}
function named(kube: FakeKube, resource: typeof PODS): string[] {
  return kube.objects(resource).map(({ metadata }) => metadata.name);
}
/** What holds the data, and its password: uid and owner of each. */
function dataIn(kube: FakeKube): unknown[] {
  const of = [POSTGRES_CLUSTERS, SECRETS, PERSISTENT_VOLUME_CLAIMS].flatMap((resource) => kube.objects(resource));
  return of
    .filter(({ metadata }) => metadata.name.startsWith('shop--postgres'))
    .map(({ kind, metadata: { name, uid } }) => [kind, name, uid]);
}
async function change({ kube }: MemoryController, sourceConfig: object): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceConfig, revisionSerial } });
}

it('is one Cluster, with the password that Davit made, and the Service leads to its primary', async () => {
  const { kube } = await rested();
  const cluster = clusterIn(kube);
  expect(cluster).toMatchObject({
    metadata: { name: 'shop--postgres', annotations: { 'cnpg.io/hibernation': 'off' } },
    spec: {
      instances: 2,
      enableSuperuserAccess: false,
      postgresUID: 26,
      bootstrap: { initdb: { database: 'app', owner: 'app', secret: { name: 'shop--postgres' } } },
      postgresql: { parameters: { max_connections: '100' }, synchronous: { number: 1, dataDurability: 'preferred' } },
      storage: { size: '10Gi' },
    },
  });
  expect(cluster?.metadata.ownerReferences).toBeUndefined();
  const secret = kube
    .objects<SecretObject & { type?: string }>(SECRETS)
    .find(({ metadata }) => metadata.name === 'shop--postgres');
  const valueOf = (key: string): string => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();
  expect([secret?.type, valueOf('username')]).toEqual(['kubernetes.io/basic-auth', 'app']);
  expect(valueOf('uri')).toMatch(/^postgresql:\/\/app:[^@]+@shop--postgres\.team\.svc:5432\/app\?sslmode=disable$/);
  const service = kube
    .objects<KubeObject & { spec?: object }>(SERVICES)
    .find(({ metadata }) => metadata.name === 'shop--postgres');
  expect(service?.spec).toMatchObject({
    selector: { 'cnpg.io/cluster': 'shop--postgres', 'cnpg.io/instanceRole': 'primary' },
    ports: [{ targetPort: 5432 }],
  });
  expect(named(kube, STATEFUL_SETS)).toEqual(['shop--redis']);
  const policy = kube.objects(NETWORK_POLICIES).find(({ metadata }) => metadata.name === 'shop--postgres');
  expect(JSON.stringify(policy)).toContain('"kubernetes.io/metadata.name":"cnpg-system"');
  expect([says(kube, 'DatabaseReady'), says(kube, 'Ready'), record(kube).status?.state]).toEqual([
    'True Answering',
    'True Serving',
    'READY',
  ]);
  expect(record(kube).status).toMatchObject({
    databaseVolumeUid: cluster?.metadata.uid,
    databaseDriver: 'cloudnative-pg',
  });
});

it('without CloudNativePG nothing of it is made, and it goes on when the kind is there', async () => {
  const kube = aServer();
  let isThere = false;
  kube.failOn(({ kind }) =>
    kind === 'Cluster' && !isThere ? new NotFound('the server could not find the requested resource') : undefined,
  );
  putRecord(kube, CLUSTER);
  const first = await aController(kube);
  await rest(first);
  expect([named(kube, SECRETS), named(kube, DEPLOYMENTS), says(kube, 'DatabaseReady'), says(kube, 'Ready')]).toEqual([
    ['shop--redis'],
    [],
    'False CloudNativePgMissing',
    'False CloudNativePgMissing',
  ]);
  expect(conditionIn(kube, 'Stalled')?.message).toContain('Ask the platform team to install it');
  first.stop();
  isThere = true;
  const second = await aController(kube);
  await rest(second);
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('while there is neither data nor password the driver can still change', async () => {
  const kube = aServer();
  kube.failOn(({ kind }) => (kind === 'Cluster' ? new NotFound('no such kind') : undefined));
  putRecord(kube, CLUSTER);
  const controller = await aController(kube);
  await rest(controller);
  await change(controller, { database: { driver: 'pod', instances: null } });
  await rest(controller);
  expect([says(kube, 'Ready'), named(kube, STATEFUL_SETS)]).toEqual([
    'True Serving',
    ['shop--postgres', 'shop--redis'],
  ]);
});

it('says how many instances are ready, and what CloudNativePG says, while the primary answers', async () => {
  const controller = await rested();
  const { kube } = controller;
  await rest(controller, 1);
  expect([says(kube, 'DatabaseReady'), record(kube).status?.state]).toEqual(['True InstancesMissing', 'READY']);
  expect(conditionIn(kube, 'DatabaseReady')?.message).toBe(
    'PostgreSQL answers, but only 1 of 2 instances are ready. CloudNativePG reports: Waiting for the instances to become active.',
  );
  await rest(controller, 0);
  expect(says(kube, 'DatabaseReady')).toBe('False NotAnswering');
  await rest(controller);
  expect(says(kube, 'DatabaseReady')).toBe('True Answering');
});

describe('an instance that does not start', () => {
  /** Passes while instances that CloudNativePG has just made, which have no role yet, have this status, or are being deleted. */
  async function saysOf(status: object, ready: 0 | 1, isOverdue = false): Promise<string> {
    const controller = await rested();
    const { kube, clock } = controller;
    await rest(controller, ready);
    for (const { name, ...pod } of podsOf(kube).slice(ready)) {
      const { 'cnpg.io/instanceRole': _role, ...labels } = pod.labels ?? {};
      kube.erase(PODS, { namespace: 'team', name });
      const metadata = { ...pod, name, labels, finalizers: ['example.com/holds'] };
      const { uid = '' } = kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubeObject).metadata;
      if (isOverdue) await kube.remove(PODS, { namespace: 'team', name }, { uid });
    }
    if (isOverdue) clock.ms += 600_000;
    await controller.reconcile();
    return `${says(kube, 'DatabaseReady')} ${conditionIn(kube, 'DatabaseReady')?.message}`;
  }
  const podsOf = (kube: FakeKube): KubeObject['metadata'][] =>
    kube
      .objects(PODS)
      .map(({ metadata }) => metadata)
      .filter(({ name }) => name.startsWith('shop--postgres-'))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const waiting = { reason: 'ImagePullBackOff', message: 'manifest unknown' };
  const unpulled = {
    phase: 'Pending',
    containerStatuses: [{ name: 'postgres', image: 'pg:17.9', state: { waiting } }],
  };
  const message = 'pod has unbound immediate PersistentVolumeClaims';
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
  const unbound = { phase: 'Pending', conditions };
  const running = { phase: 'Running' };

  it.each([
    ['cannot be pulled, beside one that answers', unpulled, 1, /^True InstancesMissing .* 1 of 2 .*pg:17\.9.*pulled/],
    ['has no volume, beside one that answers', unbound, 1, /^True InstancesMissing .*A volume is not bound/],
    ['cannot be pulled', unpulled, 0, /^False ImagePullFailed PostgreSQL: Image pg:17\.9/],
    ['has no volume', unbound, 0, /^False VolumePending PostgreSQL: A volume is not bound yet/],
  ] as const)('is what DatabaseReady says: %s', async (_what, status, ready, expected) => {
    expect(await saysOf(status, ready)).toMatch(expected);
  });

  it.each([
    [0, /^False PodStuckTerminating PostgreSQL: Pod shop--postgres-1 should have terminated by /],
    [1, /^True InstancesMissing .* Pod shop--postgres-2 should have terminated by /],
  ] as const)('and one that does not end: %i beside it answer', async (ready, expected) => {
    expect(await saysOf(running, ready, true)).toMatch(expected);
  });
});

it('says that the volume is full, in the words of CloudNativePG', async () => {
  const controller = await rested();
  const { kube } = controller;
  await rest(controller, 0);
  const status = {
    phase: 'Not enough disk space',
    phaseReason: 'Insufficient disk space detected in one or more pods',
  };
  const [cluster] = kube.objects(POSTGRES_CLUSTERS);
  const ref = { namespace: 'team', name: cluster?.metadata.name ?? '' };
  await kube.mergePatch(POSTGRES_CLUSTERS, ref, { status }, { fieldManager: 'c', subresource: 'status' });
  await controller.reconcile();
  expect(says(kube, 'DatabaseReady')).toBe('False VolumeFull');
  expect(conditionIn(kube, 'Ready')?.message).toMatch(
    /Not enough disk space \(Insufficient disk space.*Raise db_storage_gi/,
  );
});

it('another number of instances is another revision, restarts no pod of the deployment, and may be lowered again', async () => {
  const controller = await rested();
  const { kube } = controller;
  const before = kube.objects<KubeObject & { spec?: { template?: object } }>(DEPLOYMENTS)[0]?.spec?.template;
  for (const instances of [3, 1]) {
    await change(controller, { database: { instances } });
    await rest(controller);
    expect([clusterIn(kube)?.spec.instances, newestRevision(kube).spec.resolved.postgres?.instances]).toEqual([
      instances,
      instances,
    ]);
    expect(kube.objects<KubeObject & { spec?: { template?: object } }>(DEPLOYMENTS)[0]?.spec?.template).toEqual(before);
  }
  expect(JSON.stringify(clusterIn(kube))).not.toContain('synchronous');
});

it('a smaller volume is refused, and the rest of the Cluster is applied', async () => {
  const controller = await rested({
    ...CLUSTER,
    sourceConfig: { ...CLUSTER.sourceConfig, resourceSpec: { dbStorageGi: 20 } },
  });
  const { kube } = controller;
  await change(controller, { resourceSpec: { dbStorageGi: 5, dbMaxConnections: 50 } });
  await rest(controller);
  expect([clusterIn(kube)?.spec.storage.size, says(kube, 'Ready')]).toEqual(['20Gi', 'False StorageCannotShrink']);
  expect(JSON.stringify(clusterIn(kube)?.spec)).toContain('"max_connections":"50"');
  expect(record(kube).status?.resourceSpec).toMatchObject({ dbStorageGi: 20 });
});

it("another max_connections with the platform's newer minor version is two applies, and no drift", async () => {
  const { kube } = await rested();
  const there = clusterIn(kube)?.spec.imageName ?? '';
  const newer = there.replace(/:17\.\d+/, ':17.99');
  const controller = await aController(kube, Settings.parse({ images: { cloudNativePg: newer } }));
  const sent: unknown[] = [];
  kube.failOn(({ kind, verb, dryRun, body }) => {
    if (kind !== 'Cluster' || verb !== 'apply' || dryRun === true) return undefined;
    const { imageName, postgresql } = (body as Cluster).spec;
    sent.push([imageName, postgresql.parameters.max_connections]);
    return undefined;
  });
  await change(controller, { ...CLUSTER.sourceConfig, resourceSpec: { dbMaxConnections: 50 } });
  await rest(controller);
  expect(sent).toEqual([
    [there, '50'],
    [newer, '50'],
  ]);
  expect([says(kube, 'Ready'), controller.events.filter((one) => one.includes('Drift'))]).toEqual(['True Serving', []]);
});

describe('the driver of a record with data', () => {
  it.each([
    { from: 'cloudnative-pg', to: 'pod' },
    { from: 'pod', to: 'cloudnative-pg' },
  ] as const)(
    'does not change from $from to $to: the record says the way, and what runs stays',
    async ({ from, to }) => {
      const controller = await rested({ sourceConfig: { database: { driver: from } } });
      const { kube } = controller;
      const before = [dataIn(kube), named(kube, STATEFUL_SETS)];
      await change(controller, { database: { driver: to } });
      await rest(controller);
      expect([dataIn(kube), named(kube, STATEFUL_SETS)]).toEqual(before);
      expect([says(kube, 'PolicyAccepted'), says(kube, 'Ready'), says(kube, 'Available')]).toEqual([
        'False DatabaseDriverFixed',
        'False DatabaseDriverFixed',
        'True Serving',
      ]);
      const message = conditionIn(kube, 'Ready')?.message ?? '';
      expect(message).toContain(`Set it back to ${from}.`);
      // A Cluster cannot be moved to a pod.
      expect(message.includes('kubectl davit database move shop')).toBe(from === 'pod');
      await change(controller, { database: { driver: from } });
      await rest(controller);
      expect(says(kube, 'Ready')).toBe('True Serving');
    },
  );

  it('keeps its uid where that of the settings changes: CloudNativePG refuses another', async () => {
    const { kube, stop } = await rested();
    stop();
    const controller = await aController(kube, Settings.parse({ database: { cloudNativePg: { userId: 999 } } }));
    await change(controller, { resourceSpec: { cpu: 1 } });
    await rest(controller);
    expect(clusterIn(kube)?.spec).toMatchObject({ postgresUID: 26, postgresGID: 26 });
  });

  it("stays where the platform's default changes, and a new record gets the new default", async () => {
    const { kube, stop } = await rested({});
    stop();
    const settings = Settings.parse({ database: { driver: 'cloudnative-pg' } });
    const controller = await aController(kube, settings);
    await change(controller, { resourceSpec: { cpu: 1 } });
    await rest(controller);
    expect([named(kube, POSTGRES_CLUSTERS), newestRevision(kube).spec.resolved.postgres?.driver]).toEqual([
      [],
      undefined,
    ]);
    const { kube: other } = await rested({}, settings);
    expect(clusterIn(other)?.spec.instances).toBe(2);
  });
});

describe('a deletion', () => {
  it('under Delete takes the Cluster, its volumes and its password', async () => {
    const controller = await rested();
    await deleteRecord(controller.kube);
    await tornDown(controller);
    expect([dataIn(controller.kube), controller.kube.objects(APP_DEPLOYMENTS)]).toEqual([[], []]);
  });

  it('under Retain hibernates the Cluster and deletes nothing that holds data', async () => {
    const controller = await rested(RETAINED);
    const { kube } = controller;
    const before = dataIn(kube);
    await deleteRecord(kube);
    await tornDown(controller);
    expect([dataIn(kube), kube.objects(APP_DEPLOYMENTS), named(kube, PODS)]).toEqual([before, [], []]);
    expect(clusterIn(kube)?.metadata).toMatchObject({ annotations: { 'cnpg.io/hibernation': 'on' } });
    expect(clusterIn(kube)?.metadata.ownerReferences).toBeUndefined();
    expect(controller.events).toContain('Normal DatabaseRetained');
  });

  it('under Retain goes on while the operator is away', async () => {
    const controller = await rested(RETAINED);
    const { kube } = controller;
    await deleteRecord(kube);
    for (let pass = 0; pass < 20 && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
      await controller.reconcile();
      kube.collectGarbage();
    }
    expect([kube.objects(APP_DEPLOYMENTS), named(kube, POSTGRES_CLUSTERS), named(kube, PODS)]).toEqual([
      [],
      ['shop--postgres'],
      ['shop--postgres-1', 'shop--postgres-2'],
    ]);
  });

  it('under Delete waits for a platform that has CloudNativePG switched off, and says how to let go', async () => {
    const { kube } = await rested();
    const off = await aController(kube, Settings.parse({ database: { cloudNativePg: { enabled: false } } }));
    await deleteRecord(kube);
    await tornDown(off);
    expect(conditionIn(kube, 'Ready')?.message).toContain('settings.database.cloudNativePg.enabled is false');
    expect(named(kube, POSTGRES_CLUSTERS)).toEqual(['shop--postgres']);
    off.writes();
    await off.reconcile();
    expect(off.writes()).toEqual([]);
    await edit(kube, { spec: { databaseDeletionPolicy: 'Retain' } });
    await tornDown(off);
    expect([kube.objects(APP_DEPLOYMENTS), named(kube, POSTGRES_CLUSTERS)]).toEqual([[], ['shop--postgres']]);
  });

  it('under Delete goes on when CloudNativePG is switched on again', async () => {
    const { kube } = await rested();
    await deleteRecord(kube);
    await tornDown(await aController(kube, Settings.parse({ database: { cloudNativePg: { enabled: false } } })));
    await tornDown(await aController(kube));
    expect([dataIn(kube), kube.objects(APP_DEPLOYMENTS)]).toEqual([[], []]);
  });

  it.each([
    { policy: 'Retain', keeps: true, spec: RETAINED },
    { policy: 'Delete', keeps: false, spec: CLUSTER },
  ])('that dies at any write, under $policy, ends as one that does not', async ({ keeps, spec }) => {
    // Before each of nine passes, at its first and its second write.
    for (let at = 1; at <= 18; at += 1) {
      const first = await rested(spec);
      const { kube } = first;
      const before = dataIn(kube);
      await deleteRecord(kube);
      for (let pass = 1; pass <= at % 9 && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) await torn1(first);
      await crashed(first, { when: at % 2 === 0 ? 'failOn' : 'failAfter', at: Math.ceil(at / 9) });
      await tornDown(await aController(kube));
      expect(dataIn(kube), `plan ${at}`).toEqual(keeps ? before : []);
      expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    }
  });

  it('under Delete leaves the Cluster that an earlier record of the name retained', async () => {
    const first = await rested(RETAINED);
    const { kube } = first;
    await deleteRecord(kube);
    await tornDown(first);
    const before = dataIn(kube);
    putRecord(kube, CLUSTER);
    await rest(first);
    expect([says(kube, 'Ready'), dataIn(kube)]).toEqual(['False DatabaseKept', before]);
    await deleteRecord(kube);
    await tornDown(first);
    expect([dataIn(kube), kube.objects(APP_DEPLOYMENTS)]).toEqual([before, []]);
    expect(clusterIn(kube)?.metadata.annotations?.['cnpg.io/hibernation']).toBe('on');
  });
});

async function torn1(controller: MemoryController): Promise<void> {
  await controller.reconcile();
  await operate(controller.kube);
  controller.kube.collectGarbage();
}

describe('a retained Cluster', () => {
  async function retained(): Promise<{ kube: FakeKube; controller: MemoryController; from: string }> {
    const controller = await rested(RETAINED);
    const from = record(controller.kube).metadata.uid ?? '';
    await deleteRecord(controller.kube);
    await tornDown(controller);
    return { kube: controller.kube, controller, from };
  }

  it('is adopted on request, wakes up, and runs as it ran', async () => {
    const { kube, controller, from } = await retained();
    const before = dataIn(kube);
    putRecord(kube, {}, { annotations: { 'davit.dev/adopt-database': from } });
    await rest(controller);
    expect([dataIn(kube), says(kube, 'Ready')]).toEqual([before, 'True Serving']);
    expect(clusterIn(kube)?.metadata).toMatchObject({
      annotations: { 'cnpg.io/hibernation': 'off' },
      labels: { 'davit.dev/deployment-uid': record(kube).metadata.uid },
    });
  });

  it('is not adopted by a record of the other driver, which says so', async () => {
    const { kube, controller, from } = await retained();
    const before = dataIn(kube);
    putRecord(
      kube,
      { sourceConfig: { database: { driver: 'pod' } } },
      { annotations: { 'davit.dev/adopt-database': from } },
    );
    await rest(controller);
    expect([dataIn(kube), named(kube, STATEFUL_SETS)]).toEqual([before, []]);
    expect(conditionIn(kube, 'Ready')).toMatchObject({
      reason: 'DatabaseKept',
      message: expect.stringContaining('Set source_config.database.driver to cloudnative-pg') as string,
    });
  });
});

it('a Cluster of somebody else in the way is not touched, and no pod starts that would connect to it', async () => {
  const kube = aServer();
  const foreign = {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: { name: 'shop--postgres', namespace: 'team' },
    spec: { instances: 1 },
  } as KubeObject;
  kube.seed(POSTGRES_CLUSTERS, foreign);
  putRecord(kube, CLUSTER);
  const controller = await aController(kube);
  await rest(controller);
  expect(clusterIn(kube)).toMatchObject({ spec: { instances: 1 } });
  expect(clusterIn(kube)?.metadata.labels).toBeUndefined();
  expect([says(kube, 'Ready'), named(kube, DEPLOYMENTS)]).toEqual(['False NameConflict', []]);
});

it('a Cluster that somebody has deleted is not replaced by an empty one until a person says so', async () => {
  const controller = await rested();
  const { kube } = controller;
  const uid = clusterIn(kube)?.metadata.uid ?? '';
  await kube.remove(POSTGRES_CLUSTERS, { namespace: 'team', name: 'shop--postgres' }, { uid });
  kube.collectGarbage();
  await rest(controller);
  expect([named(kube, POSTGRES_CLUSTERS), says(kube, 'DatabaseReady')]).toEqual([[], 'False VolumeMissing']);
  expect(conditionIn(kube, 'DatabaseReady')?.message).toContain(`davit.dev/empty-database=${uid}`);
  await edit(kube, { metadata: { annotations: { 'davit.dev/empty-database': uid } } });
  await rest(controller);
  expect(says(kube, 'Ready')).toBe('True Serving');
});
