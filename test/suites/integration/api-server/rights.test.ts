// Rights granted and rights used, by the audit log of the API server: whatever Davit's two accounts ask for over the
// life of a record is granted, and what is granted is asked for.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../../cluster/cluster.ts';
import { ORGANIZATION_NAMESPACE, type Platform, startPlatform, type Tenant } from '../../../support/platform.ts';
import { eventually } from '../../../support/running-davit.ts';

let cluster: Cluster;
let platform: Platform;
let tenant: Tenant;

interface Entry {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestURI: string;
}

/** `get apps/deployments`, `patch davit.dev/appdeployments/status`. */
type Right = string;

async function asked(account: string): Promise<{ used: Set<Right>; refused: Set<Right> }> {
  const used = new Set<Right>();
  const refused = new Set<Right>();
  for await (const line of createInterface({ input: createReadStream(cluster.auditLog ?? '') })) {
    const entry = JSON.parse(line) as Entry;
    const { apiGroup = '', resource, subresource } = entry.objectRef ?? {};
    if (entry.user.username !== `system:serviceaccount:davit-system:${account}` || resource === undefined) continue;
    const right = `${entry.verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
    (entry.responseStatus?.code === 403 ? refused : used).add(right);
    // An apply of what is not there yet is asked about twice: as a patch, and as a create.
    if (entry.verb === 'patch' && entry.responseStatus?.code === 201) used.add(`create ${apiGroup}/${resource}`);
  }
  return { used, refused };
}

/** In which namespaces an account asked for a resource. */
async function namespacesOf(account: string, resource: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const line of createInterface({ input: createReadStream(cluster.auditLog ?? '') })) {
    const { user, objectRef } = JSON.parse(line) as Entry;
    if (user.username === `system:serviceaccount:davit-system:${account}` && objectRef?.resource === resource)
      found.add(objectRef.namespace ?? '');
  }
  return found;
}

async function call(method: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${platform.apiUrl}${path}`, {
    method,
    headers: { 'x-api-key': tenant.token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}

interface Role {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

async function granted(...roles: readonly (readonly string[])[]): Promise<Set<Right>> {
  const all = await Promise.all(
    roles.map(async (role) => JSON.parse(await cluster.kubectl(['get', ...role, '-o', 'json'])) as Role),
  );
  return new Set(
    all.flatMap(({ rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        verbs.flatMap((verb) =>
          apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}`)),
        ),
      ),
    ),
  );
}

/** Granted and never asked for. To get is no more than to list, and is wanted when a cache was too late. */
function idle(rights: ReadonlySet<Right>, used: ReadonlySet<Right>): Right[] {
  return [...rights]
    .filter((right) => !used.has(right) && !(right.startsWith('get ') && rights.has(right.replace('get ', 'list '))))
    .toSorted();
}

function record(name: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace: tenant.namespace },
    spec: {
      source: 'external_docker',
      sourceConfig: { resourceSpec: { minScale: 2, maxScale: 3 } },
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      secretReferences: [{ name: 'KEY', secretName: 'mine', secretKey: 'key' }],
      tracingProjectDeletionPolicy: 'Delete',
      ...more,
    },
  });
}

/** Sizes of one node's memory, of which each fits and both together do not: the stand-in's node has 4 TiB. */
async function outgrowNode(name: string): Promise<void> {
  const resize = async (dbMemoryMb: number, redisMemoryMb: number, expected: string): Promise<void> => {
    const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec: { dbMemoryMb, redisMemoryMb } } } });
    await cluster.kubectl(['-n', tenant.namespace, 'patch', 'appd', name, '--type=merge', '-p', patch]);
    await cluster.kubectl(['-n', tenant.namespace, 'wait', `--for=${expected}`, `appd/${name}`, '--timeout=60s']);
  };
  const reason = (type: string): string => `jsonpath={.status.conditions[?(@.type=="${type}")].reason}`;
  await resize(256, 1_126_400, `${reason('RedisReady')}=Answering`);
  await resize(3_584_000, 1_126_400, `${reason('DatabaseReady')}=Unschedulable`);
  // The pod that found no room gives way.
  await resize(256, 1_126_400, `${reason('DatabaseReady')}=Answering`);
}

beforeAll(async () => {
  cluster = await startCluster({ pods: 'off', auditLog: true });
  platform = await startPlatform(cluster, {
    values: { 'settings.address.kind': 'ingress', 'settings.address.baseDomain': 'apps.example' },
  });
  tenant = await platform.makeTenant('rights');
  await cluster.kubectl(['-n', tenant.namespace, 'create', 'secret', 'generic', 'mine', '--from-literal=key=value']);
  await cluster.kubectl(['apply', '-f', '-'], { input: record('life', { databaseDeletionPolicy: 'Retain' }) });
  await cluster.kubectl(['-n', tenant.namespace, 'wait', '--for=condition=Ready', 'appd/life', '--timeout=60s']);
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
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'life', '--timeout=60s']);
  // A second life takes up the database of the first.
  await cluster.kubectl(['apply', '-f', '-'], { input: record('life') });
  const label = 'jsonpath={.metadata.labels.davit\\.dev/deployment-uid}';
  const first = await cluster.kubectl(['-n', tenant.namespace, 'get', 'pvc', 'life--postgres', '-o', label]);
  const adopts = `davit.dev/adopt-database=${first}`;
  await cluster.kubectl(['-n', tenant.namespace, 'annotate', 'appd', 'life', adopts]);
  await cluster.kubectl(['-n', tenant.namespace, 'wait', '--for=condition=Ready', 'appd/life', '--timeout=60s']);
  await cluster.kubectl(['-n', tenant.namespace, 'delete', 'appd', 'life', '--timeout=60s']);
  await eventually(async () =>
    expect([...(await asked('davit-controller')).used]).toContain('list events.k8s.io/events'),
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
}, 900_000);
afterAll(async () => {
  await platform?.stop();
  await cluster?.stop();
}, 60_000);

describe('the controller', () => {
  it('has every right that it uses', async () => {
    expect([...(await asked('davit-controller')).refused]).toEqual([]);
  });
  it('has no right that it does not use', async () => {
    const { used } = await asked('davit-controller');
    const rights = await granted(
      ['clusterrole', 'davit-controller'],
      ['-n', 'davit-system', 'role', 'davit-controller-own'],
      ['-n', 'davit-org', 'role', 'davit-controller-organization'],
    );
    expect(idle(rights, used)).toEqual([]);
  });
});

describe('the API', () => {
  it("has every right that it uses, and writes only client secrets in the organization's namespace", async () => {
    const { used, refused } = await asked('davit-api');
    expect([...refused]).toEqual([]);
    const reading = new Set(['list', 'watch', 'get']);
    expect([...used].filter((right) => !reading.has(right.split(' ')[0] ?? ''))).toEqual(['create /secrets']);
    expect([...(await namespacesOf('davit-api', 'secrets'))]).toEqual([ORGANIZATION_NAMESPACE]);
  });
  it('has no right that it does not use', async () => {
    const { used } = await asked('davit-api');
    const rights = await granted(['clusterrole', 'davit-api'], ['-n', 'davit-org', 'role', 'davit-api-organization']);
    expect(idle(rights, used)).toEqual([]);
  });
});
