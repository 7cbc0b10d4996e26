// Rights granted and rights used, by the audit log of the API server: whatever Davit's two accounts ask for over the
// life of a record is granted, and what is granted is asked for.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../../cluster/cluster.ts';
import { type Davit, startDavit } from '../../../kit/davit.ts';
import { asked, granted, idle, namespacesOf } from '../../../support/audited-rights.ts';
import { DAVIT_NAMESPACE, ORGANIZATION_NAMESPACE, type Tenant } from '../../../support/platform.ts';
import { eventually } from '../../../support/running-davit.ts';

let cluster: Cluster;
let platform: Davit;
let tenant: Tenant;

async function call<T>(method: string, path: string, body: object): Promise<T> {
  const response = await fetch(`${platform.apiUrl}${path}`, {
    method,
    headers: { 'x-api-key': tenant.token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

function record(name: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace: tenant.namespace },
    spec: {
      source: 'external_docker',
      sourceConfig: {
        resourceSpec: { minScale: 2, maxScale: 3 },
        tasks: [{ name: 'clean', schedule: '0 3 * * *', command: ['clean'] }],
      },
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      secretReferences: [{ name: 'KEY', secretName: 'mine', secretKey: 'key' }],
      tracingProjectDeletionPolicy: 'Delete',
      ...more,
    },
  });
}

/**
 * Sizes of one node's memory, of which each fits and both together do not: the stand-in's node has 4 TiB. Other connections make
 * another pod of it, which finds no room.
 */
async function outgrowNode(name: string): Promise<void> {
  const resize = async (dbMemoryMb: number, redisMemoryMb: number, expected: string): Promise<void> => {
    const dbMaxConnections = dbMemoryMb === 256 ? 100 : 101;
    const resourceSpec = { dbMemoryMb, dbMaxConnections, redisMemoryMb };
    const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec } } });
    await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', name, '--type=merge', '-p', patch]);
    await cluster.kubectl(['-n', tenant.namespace, 'wait', `--for=${expected}`, `appd/${name}`, '--timeout=180s']);
  };
  const reason = (type: string): string => `jsonpath={.status.conditions[?(@.type=="${type}")].reason}`;
  await growInPlace(name);
  await resize(256, 1_126_400, `${reason('RedisReady')}=Answering`);
  await resize(3_584_000, 1_126_400, `${reason('DatabaseReady')}=Unschedulable`);
  // The pod that found no room gives way.
  await resize(256, 1_126_400, `${reason('DatabaseReady')}=Answering`);
}

/** More CPU for the pod of PostgreSQL that runs; for its successor, where no pod can be resized. */
async function growInPlace(name: string): Promise<void> {
  const pod = ['-n', tenant.namespace, 'get', 'pod', `${name}--postgres-0`, '-o'];
  const uid = await cluster.kubectl([...pod, 'jsonpath={.metadata.uid}']);
  const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec: { dbCpu: 0.3 } } } });
  await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', name, '--type=merge', '-p', patch]);
  const shown = 'jsonpath={.metadata.uid} {.status.containerStatuses[0].resources.requests.cpu}';
  await eventually(async () => {
    const [now = '', cpu] = (await cluster.kubectl([...pod, shown])).split(' ');
    expect([now === uid, cpu]).toEqual([true, '300m']);
  });
  await cluster.kubectl(['-n', tenant.namespace, 'wait', '--for=condition=Ready', `appd/${name}`, '--timeout=180s']);
}

async function live(): Promise<void> {
  await cluster.kubectl(['-n', tenant.namespace, 'create', 'secret', 'generic', 'mine', '--from-literal=key=value']);
  await cluster.kubectl(['apply', '-f', '-'], { input: record('life', { databaseDeletionPolicy: 'Retain' }) });
  await cluster.kubectl(['-n', tenant.namespace, 'wait', '--for=condition=Ready', 'appd/life', '--timeout=180s']);
  const patch = JSON.stringify({
    spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:2' }, revisionSerial: 1 },
  });
  await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', 'life', '--type=merge', '-p', patch]);
  await eventually(async () => {
    const states = await cluster.kubectl([
      '-n',
      tenant.namespace,
      'get',
      'appr',
      '-o',
      'jsonpath={.items[*].status.state}',
    ]);
    expect(states).toBe('DEPLOYED DEPLOYED');
  });
  await outgrowNode('life');
  // Pods that take long to begin are asked about.
  await cluster.kubectl(['apply', '-f', '-'], {
    input: record('late', { sourceRevisionConfig: { imageUri: 'registry.example/unmounted:1' } }),
  });
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'life', '--timeout=180s']);
  // A second life takes up the database of the first.
  await cluster.kubectl(['apply', '-f', '-'], { input: record('life') });
  const label = 'jsonpath={.metadata.labels.davit\\.dev/deployment-uid}';
  const first = await cluster.kubectl(['-n', tenant.namespace, 'get', 'pvc', 'life--postgres', '-o', label]);
  const adopts = `davit.dev/adopt-database=${first}`;
  await cluster.kubectl(['-n', tenant.namespace, 'annotate', 'appd', 'life', adopts]);
  await cluster.kubectl(['-n', tenant.namespace, 'wait', '--for=condition=Ready', 'appd/life', '--timeout=180s']);
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'life', '--timeout=180s']);
  await eventually(async () =>
    expect([...(await asked(cluster, 'davit-controller')).used]).toContain('list events.k8s.io/events'),
  );
  const provider = {
    provider_id: 'rights',
    name: 'Rights',
    client_id: 'a',
    client_secret: 'b',
    auth_url: 'https://a.example',
    token_url: 'https://a.example',
  };
  await call('POST', '/v2/auth/providers', provider);
  await call('PATCH', '/v2/auth/providers/rights', { client_secret: 'c' });
  // Something is said of each.
  const integration = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'rights', namespace: ORGANIZATION_NAMESPACE },
    spec: { kind: 'github', apiUrl: 'https://api.github.com', credentialsRef: { name: 'not-there' } },
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(integration) });
  const said = (kind: string, status: string): Promise<string> =>
    cluster.kubectl(['-n', ORGANIZATION_NAMESPACE, 'wait', `--for=condition=Ready=${status}`, `${kind}/rights`]);
  await Promise.all([said('oauthproviders', 'true'), said('codehostintegrations', 'false')]);
}

/** A migration that somebody deletes, and one that goes with its record. */
async function migrate(): Promise<void> {
  // Its pod does not begin, so that the migration has not ended when its Job is deleted.
  const sourceRevisionConfig = { imageUri: 'registry.example/unmounted:1' };
  const input = record('moves', {
    sourceConfig: { runtime: { migrate: { command: ['migrate'] } } },
    sourceRevisionConfig,
  });
  await cluster.kubectl(['apply', '-f', '-'], { input });
  const jobs = ['-n', tenant.namespace, 'get', 'jobs', '-o', 'jsonpath={.items[*].metadata.name}'];
  let first = '';
  await eventually(async () => {
    first = (await cluster.kubectl(jobs)).trim();
    expect(first).toMatch(/^moves--\S+$/);
  });
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'job', first]);
  const reason = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=MigrationFailed';
  await cluster.kubectl(['-n', tenant.namespace, 'wait', reason, 'appd/moves', '--timeout=180s']);
  const patch = JSON.stringify({
    spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:2' }, revisionSerial: 1 },
  });
  await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', 'moves', '--type=merge', '-p', patch]);
  await eventually(async () => expect((await cluster.kubectl(jobs)).trim()).toMatch(/^moves--\S+$/));
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'moves', '--timeout=180s']);
}

/** Kinds of KEDA and CloudNativePG, of which these tests need no field. */
async function installKindsOfOthers(at: Cluster): Promise<void> {
  const kinds = [
    ['keda.sh', 'v1alpha1', 'ScaledObject', 'scaledobject'],
    ['keda.sh', 'v1alpha1', 'TriggerAuthentication', 'triggerauthentication'],
    ['postgresql.cnpg.io', 'v1', 'Cluster', 'cluster'],
    ['postgresql.cnpg.io', 'v1', 'ScheduledBackup', 'scheduledbackup'],
    ['postgresql.cnpg.io', 'v1', 'Backup', 'backup'],
    ['barmancloud.cnpg.io', 'v1', 'ObjectStore', 'objectstore'],
  ] as const;
  const definitions = kinds.map(([group, version, kind, singular]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }));
  await at.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions }),
  });
}

/** Queue workers that follow their queue, until their number is fixed. */
async function followQueue(): Promise<void> {
  const sourceConfig = {
    resourceSpec: { queueMinScale: 0, queueMaxScale: 2 },
    runtime: { queueDepth: { query: 'SELECT 1' } },
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: record('jobs', { sourceConfig }) });
  const made = ['-n', tenant.namespace, 'get', 'scaledobjects,triggerauthentications', '-o', 'name'];
  await eventually(async () => expect((await cluster.kubectl(made)).trim().split('\n')).toHaveLength(2));
  const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec: { queueMinScale: 2 } } } });
  await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', 'jobs', '--type=merge', '-p', patch]);
  await eventually(async () => expect((await cluster.kubectl(made)).trim()).toBe(''));
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'jobs', '--timeout=180s']);
}

/** A Cluster of somebody else in the way, and one that is made and goes with its record. */
async function haveCluster(): Promise<void> {
  const sourceConfig = { database: { driver: 'cloudnative-pg' } };
  const clusters = ['-n', tenant.namespace, 'get', 'clusters.postgresql.cnpg.io', '-o', 'name'];
  const foreign = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata: { name: 'taken--postgres' } };
  await cluster.kubectl(['-n', tenant.namespace, 'apply', '-f', '-'], { input: JSON.stringify(foreign) });
  await cluster.kubectl(['apply', '-f', '-'], { input: record('taken', { sourceConfig }) });
  const inTheWay = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=NameConflict';
  await cluster.kubectl(['-n', tenant.namespace, 'wait', inTheWay, 'appd/taken', '--timeout=180s']);
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'taken', '--timeout=180s']);
  await cluster.kubectl(['apply', '-f', '-'], { input: record('many', { sourceConfig }) });
  await eventually(async () => expect(await cluster.kubectl(clusters)).toContain('/many--postgres'));
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'many', '--timeout=180s']);
  await eventually(async () => expect(await cluster.kubectl(clusters)).not.toContain('/many--postgres'));
}

/** A Cluster that begins with an archive and has one of its own, of which that one alone stays. */
async function haveArchive(): Promise<void> {
  const { namespace } = tenant;
  const known = {
    apiVersion: 'barmancloud.cnpg.io/v1',
    kind: 'ObjectStore',
    metadata: { name: 'old', namespace, labels: { 'davit.dev/deployment': 'old' } },
    spec: { configuration: { destinationPath: `s3://backups/davit/${namespace}/old--archive/1` } },
    status: { serverRecoveryWindow: { 'old--postgres': { firstRecoverabilityPoint: '2026-01-01T00:00:00Z' } } },
  };
  const keys = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'davit-backup-store', namespace } };
  for (const object of [known, keys]) await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const database = { driver: 'cloudnative-pg', archive: {}, restore: { from: 'old', archive: true } };
  await cluster.kubectl(['apply', '-f', '-'], { input: record('begun', { sourceConfig: { database } }) });
  const stores = async (): Promise<readonly string[]> =>
    (await cluster.kubectl(['-n', namespace, 'get', 'objectstores', '-l', 'davit.dev/deployment=begun', '-o', 'name']))
      .trim()
      .split('\n')
      .map((name) => name.replace(/^.*---(\w+)-.*$/, '$1'));
  await eventually(async () => expect(await stores()).toEqual(['archive', 'origin']));
  await cluster.kubectl(['-n', namespace, 'delete', 'appd', 'begun', '--timeout=180s']);
  await eventually(async () => expect(await stores()).toEqual(['archive']));
}

/** Nobody asks for an operation here: test/suites/backups and test/suites/cloudnative-pg carry them out on real pods. */
const OF_OPERATIONS = [
  'create davit.dev/datastoreoperations',
  'delete davit.dev/datastoreoperations',
  'patch davit.dev/datastoreoperations',
  'patch davit.dev/datastoreoperations/status',
  ...['create', 'delete'].map((verb) => `${verb} postgresql.cnpg.io/backups`),
];

/** No Notifier is here: test/suites/integration/code-files.test.ts has one. */
const OF_NOTIFIERS = ['patch davit.dev/notifiers/status'];

/** CloudNativePG's instances, which are not there, have the container without which no base backup is asked for. */
const OF_INSTANCES = ['create', 'delete', 'patch'].map((verb) => `${verb} postgresql.cnpg.io/scheduledbackups`);

/** Where no container runs, none fails: test/suites/e2e/lifecycle.test.ts reads the log of one. */
const OF_LOGS = ['create davit.dev/applogs', 'delete davit.dev/applogs'];

/** As far as it goes without a registry and without pods: test/suites/builds/sources.test.ts goes on. */
async function build(): Promise<void> {
  const create = (name: string, source: string, config: object, revision: object): Promise<{ readonly id: string }> =>
    call('POST', '/v2/deployments', {
      name,
      source,
      source_config: config,
      source_revision_config: revision,
      secrets: [],
    });
  const repoUrl = 'https://git.example/templates/chat';
  const template = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppTemplate',
    metadata: { name: 'chat', namespace: ORGANIZATION_NAMESPACE },
    spec: { repoUrl },
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(template) });
  await eventually(() =>
    create('chat', 'internal_template', { repo_url: repoUrl }, { repo_ref: 'main', workflow_config_path: 'a.json' }),
  );
  const jobs = ['-n', 'davit-builds', 'get', 'jobs,secrets', '-l', 'davit.dev/build', '-o', 'name'];
  await eventually(async () => expect((await cluster.kubectl(jobs)).trim().split('\n')).toHaveLength(3), 180_000);
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'chat', '--timeout=180s']);
  await eventually(async () => expect(await cluster.kubectl(jobs)).toBe(''), 180_000);

  const pushed = await create('pushed', 'internal_docker', {}, {});
  const { username, token } = await call<Record<string, string>>('POST', `/v2/deployments/${pushed.id}/push-token`, {});
  const authorization = `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`;
  const path = `/v1/registry/token?service=davit-registry&scope=repository:${tenant.namespace}/pushed:pull`;
  const answer = await fetch(`${platform.apiUrl}${path}`, { headers: { authorization } });
  expect(answer.status).toBe(200);
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'pushed', '--timeout=180s']);
}

const ADDRESS = {
  'settings.address.kind': 'ingress',
  'settings.address.baseDomain': 'apps.example',
  'settings.backups.store': { endpoint: 'https://s3.example', bucket: 'backups' },
};
const PLATFORMS = [
  { name: 'a platform', builds: false, values: ADDRESS },
  {
    name: 'a platform that builds',
    builds: true,
    values: {
      ...ADDRESS,
      'settings.hosting': 'both',
      // Their pods do not end, so that the build's objects stay until its record is deleted.
      'settings.builds.images': { builder: 'images.example/played-builder:1', davit: 'images.example/played-davit:1' },
      'registry.enabled': true,
      'registry.host': 'images.example',
      'registry.tokenUrl': 'https://davit.example/v1/registry/token',
    },
  },
];

// Without pods, not everything that builds take is asked for: test/suites/builds/sources.test.ts looks for rights without a use there.
describe.each(PLATFORMS)('on $name', ({ builds, values }) => {
  beforeAll(async () => {
    platform = await startDavit('apiserver', { auditLog: true, values, prepare: installKindsOfOthers });
    ({ cluster } = platform);
    tenant = await platform.makeTenant('rights');
    await live();
    await migrate();
    await followQueue();
    await haveCluster();
    await haveArchive();
    if (builds) await build();
  }, 900_000);
  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  describe('the controller', () => {
    it('has every right that it uses', async () => {
      expect([...(await asked(cluster, 'davit-controller')).refused]).toEqual([]);
    });
    it.skipIf(builds)('has no right that it does not use', async () => {
      const { used } = await asked(cluster, 'davit-controller');
      const rights = await granted(
        cluster,
        ['clusterrole', 'davit-controller'],
        ['-n', 'davit-system', 'role', 'davit-controller-own'],
        ['-n', 'davit-org', 'role', 'davit-controller-organization'],
      );
      expect(idle(rights, used)).toEqual([...OF_INSTANCES, ...OF_LOGS, ...OF_NOTIFIERS, ...OF_OPERATIONS].toSorted());
    });
  });

  describe('the API', () => {
    it("has every right that it uses, and writes only its own Secrets and the organization's client secrets", async () => {
      const { used, refused } = await asked(cluster, 'davit-api');
      expect([...refused]).toEqual([]);
      const reading = new Set(['list', 'watch', 'get']);
      expect([...used].filter((right) => !reading.has(right.split(' ')[0] ?? ''))).toEqual(['create /secrets']);
      const where = [...(await namespacesOf(cluster, 'davit-api', 'secrets'))].toSorted();
      expect(where).toEqual([ORGANIZATION_NAMESPACE, ...(builds ? [DAVIT_NAMESPACE] : [])]);
    });
    it.skipIf(builds)('has no right that it does not use', async () => {
      const { used } = await asked(cluster, 'davit-api');
      const rights = await granted(
        cluster,
        ['clusterrole', 'davit-api'],
        ['-n', 'davit-org', 'role', 'davit-api-organization'],
      );
      expect(idle(rights, used)).toEqual([]);
    });
  });
});
