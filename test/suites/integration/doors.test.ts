// Bad input at each door: over HTTP, with the plugin and an address and a token, with the plugin and a kubeconfig alone, and with kubectl.
// The names of the tests are the table. Every door gives the same sentence; where the API server alone judges a schema, or a door names
// things otherwise, the row has the words of that door beside.

import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type HttpApi, makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import { makeOwnApi } from '../../../src/cli/transport/own-api.ts';
import {
  DOUBLE_HYPHEN_MESSAGE,
  IMAGE_MESSAGE,
  IMPOSSIBLE_NAME_MESSAGE,
  NAME_LENGTH_MESSAGE,
  NAME_MESSAGE,
  VARIABLE_NAME_MESSAGE,
} from '../../../src/kinds/name-patterns.ts';
import { loadKubeConfigFile } from '../../../src/runtime/kube/config.ts';
import { type HttpKubeClient, makeKubeClient } from '../../../src/runtime/kube/http-client.ts';
import { aManifest, aPayload } from '../../support/builders.ts';
import { type CliRan, runCli } from '../../support/cli-world.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const NAMESPACE = 'doors';
const IMAGE = 'registry.example/app:1.0';
const NOBODY = '00000000-0000-4000-8000-000000000000';
const VIEWER = `system:serviceaccount:${NAMESPACE}:viewer`;

/** Who asks, and in which namespace. */
interface Asker {
  readonly namespace: string;
  readonly token: string;
  /** Impersonated with the kubeconfig. */
  readonly user?: string;
}

let tenant: Tenant;
let team: Asker;
let viewer: Asker;
let path: string;
const clients: HttpKubeClient[] = [];

beforeAll(async () => {
  tenant = await davit.tenant(NAMESPACE);
  team = tenant;
  const made = await davit.call(tenant, 'POST', '/v2/deployments', aPayload('door'));
  path = `/v2/deployments/${made.body.id}`;
  await davit.kubectl(['create', 'serviceaccount', 'viewer', '-n', NAMESPACE]);
  const role = ['--clusterrole=davit-viewer', `--serviceaccount=${NAMESPACE}:viewer`];
  await davit.kubectl(['create', 'rolebinding', 'viewer', '-n', NAMESPACE, ...role]);
  const token = await davit.kubectl(['create', 'token', 'viewer', '-n', NAMESPACE]);
  viewer = { namespace: NAMESPACE, token: token.trim(), user: VIEWER };
  // A run needs an active revision.
  await eventually(async () => expect((await davit.call(tenant, 'GET', path)).body.active_revision_id).not.toBeNull());
});
afterAll(() => Promise.all(clients.map((client) => client.close())));

/** Davit's routes in this process, with the client certificate of the kubeconfig. */
async function ownApi({ namespace, user }: Asker): Promise<HttpApi> {
  const access = await loadKubeConfigFile({ path: davit.kubeconfig });
  const credentials = async (): ReturnType<typeof access.credentials> => {
    const { headers, tls } = await access.credentials();
    return { headers: { ...headers, ...(user !== undefined && { 'impersonate-user': user }) }, tls };
  };
  const kube = makeKubeClient({ access: { ...access, credentials }, userAgent: 'doors.test' });
  clients.push(kube);
  return makeOwnApi({ kube, namespace, davitNamespace: 'davit-system' });
}

type ByKubectl = readonly [args: readonly string[], input?: object];

interface Row {
  readonly name: string;
  /** The same words at every door. */
  readonly says: string;
  readonly args: readonly string[];
  /** Its path begins with /v2/, or follows the path of the deployment. */
  readonly http: readonly [method: string, path: string, body?: object];
  readonly httpSays?: string;
  /** Arguments, perhaps with a manifest for standard input. Absent where kubectl has no such request, or the controller judges it later. */
  readonly kubectl?: ByKubectl;
  readonly kubectlSays?: string;
  /** The team if absent. */
  readonly as?: () => Asker;
}

const patched = (spec: object): ByKubectl => [
  ['patch', 'appd', 'door', '--type=merge', '--dry-run=server', '-p', JSON.stringify({ spec })],
];
const applied = (name: string, spec: object = {}): ByKubectl => [
  ['apply', '--dry-run=server', '-f', '-'],
  aManifest({ name, namespace: NAMESPACE }, spec),
];
const set = (...fields: string[]): string[] => [
  'deploy',
  '--image',
  IMAGE,
  '--name',
  'door',
  '--timeout',
  '1',
  ...fields.flatMap((field) => ['--set', field]),
];
const named = (what: string, name: string, says: string): Row => ({
  name: what,
  says,
  args: ['deploy', '--image', IMAGE, '--name', name],
  http: ['POST', '/v2/deployments', aPayload(name)],
  kubectl: applied(name),
});
/** A value of resource_spec; `fields` as the record has them. */
const spec = (what: string, says: string, fields: object, sent: object, more: Partial<Row> = {}): Row => ({
  name: what,
  says,
  args: set(...Object.entries(sent).map(([field, value]) => `resource_spec.${field}=${JSON.stringify(value)}`)),
  http: ['PATCH', '', { source_config: { resource_spec: sent } }],
  kubectl: patched({ sourceConfig: { resourceSpec: fields } }),
  ...more,
});
const helper = { name: 'helper', image: 'helper:1', securityContext: { privileged: true } };

const ROWS: readonly Row[] = [
  {
    name: 'a deployment that is not there',
    says: `There is no deployment dor in namespace ${NAMESPACE}. Did you mean door?`,
    args: ['env', 'dor', 'list'],
    http: ['GET', `/v2/deployments/${NOBODY}`],
    httpSays: `Deployment ID ${NOBODY} not found.`,
    kubectl: [['get', 'appd', 'dor']],
    kubectlSays: 'appdeployments.davit.dev "dor" not found',
  },
  {
    name: 'a namespace that is no tenant',
    says: 'Namespace nowhere does not exist, is not a tenant, or you have no role there.',
    args: ['env', 'door', 'list'],
    http: ['GET', '/v2/deployments'],
    httpSays: 'X-Tenant-Id does not name a tenant that you may use',
    kubectl: [['create', '-f', '-'], aManifest({ name: 'door', namespace: 'nowhere' })],
    kubectlSays: 'namespaces "nowhere" not found',
    as: () => ({ ...team, namespace: 'nowhere' }),
  },
  {
    name: 'a change by a viewer',
    says: `cannot patch resource "appdeployments" in API group "davit.dev" in the namespace "${NAMESPACE}"`,
    args: ['env', 'door', 'set', 'A=1'],
    http: ['PATCH', '', { source_config: { env: [{ name: 'A', value: '1' }] } }],
    kubectl: patched({ sourceConfig: { env: [{ name: 'A', value: '1' }] } }),
    as: () => viewer,
  },
  named('a name in another form', '1shop', NAME_MESSAGE),
  named('a name with two hyphens', 'a--b', DOUBLE_HYPHEN_MESSAGE),
  named('a name that is reserved', 'xn', IMPOSSIBLE_NAME_MESSAGE),
  named('a name that is too long', 'a'.repeat(41), NAME_LENGTH_MESSAGE),
  {
    name: 'a part that the deployment does not have',
    says: '"beta" is not a part of door. It has server, postgres, redis.',
    args: ['logs', 'door', '-c', 'beta'],
    http: ['POST', 'deploy_logs', { component: 'beta' }],
  },
  {
    ...spec('more pods than a part may have', 'must be at most 100', { maxScale: 101 }, { max_scale: 101 }),
    args: ['scale', 'door', 'server=101'],
    kubectlSays: 'should be less than or equal to 100',
  },
  {
    ...spec(
      'a maximum below the minimum',
      'must not be below',
      { minScale: 3, maxScale: 2 },
      { min_scale: 3, max_scale: 2 },
    ),
    args: ['scale', 'door', 'server=3..2'],
  },
  spec('a limit below its request', 'must not be below', { cpu: 2, cpuLimit: 1 }, { cpu: 2, cpu_limit: 1 }),
  spec(
    'a number that is a word',
    'must be a number',
    { cpu: 'lots' },
    { cpu: 'lots' },
    {
      kubectlSays: 'must be of type number',
    },
  ),
  spec('a privileged sidecar', 'refused by the pod policy', { sidecars: [helper] }, { sidecars: [helper] }),
  spec(
    'a label that is reserved',
    'keys with these prefixes are reserved for Davit and Kubernetes',
    { labels: { 'davit.dev/x': 'y' } },
    { labels: { 'davit.dev/x': 'y' } },
    { args: set('resource_spec.labels={davit.dev/x: y}') },
  ),
  {
    name: 'an annotation that the platform refuses',
    says: 'these annotations have an effect beyond',
    args: set('resource_spec.annotations={prometheus.io/scrape: "true"}'),
    http: ['PATCH', '', { source_config: { resource_spec: { annotations: { 'prometheus.io/scrape': 'true' } } } }],
  },
  {
    name: 'a field that there is not',
    says: 'is not a known field: did you mean max_scale?',
    args: set('resource_spec.max_scal=1'),
    http: ['PATCH', '?fieldValidation=Strict', { source_config: { resource_spec: { max_scal: 1 } } }],
    kubectl: applied('door', { sourceConfig: { resourceSpec: { maxScal: 1 } } }),
    kubectlSays: 'unknown field "spec.sourceConfig.resourceSpec.maxScal"',
  },
  {
    name: 'a variable that the platform sets',
    says: 'these names are set by the platform: PORT, ',
    args: ['env', 'door', 'set', 'PORT=1'],
    http: ['PATCH', '', { source_config: { env: [{ name: 'PORT', value: '1' }] } }],
    kubectl: patched({ sourceConfig: { env: [{ name: 'PORT', value: '1' }] } }),
  },
  {
    name: 'a variable of a name that no shell can use',
    says: VARIABLE_NAME_MESSAGE,
    args: ['env', 'door', 'set', 'A-B=1'],
    http: ['PATCH', '', { source_config: { env: [{ name: 'A-B', value: '1' }] } }],
    kubectl: patched({ sourceConfig: { env: [{ name: 'A-B', value: '1' }] } }),
    kubectlSays: 'should match',
  },
  {
    name: 'a secret that the platform sets',
    says: 'these names are set by the platform: PORT, ',
    args: ['secrets', 'door', 'set', 'PORT'],
    http: ['PUT', '/secrets/PORT', { value: 'x' }],
    kubectl: patched({ secrets: [{ name: 'PORT', secretName: 'door-x', secretKey: 'PORT' }] }),
  },
  {
    name: 'a secret that is not there',
    says: 'Secret NOPE not found.',
    args: ['secrets', 'door', 'unset', 'NOPE'],
    http: ['DELETE', '/secrets/NOPE'],
  },
  {
    name: 'an image that is no reference',
    says: IMAGE_MESSAGE,
    args: ['deploy', '--image', 'has space:1', '--name', 'door'],
    http: ['PATCH', '', { source_revision_config: { image_uri: 'has space:1' } }],
    kubectl: patched({ sourceRevisionConfig: { imageUri: 'has space:1' } }),
    kubectlSays: 'should match',
  },
  {
    name: 'an address that is none',
    says: 'must be https://host or a bare host in lower case, without path, port or user',
    args: set('custom_url=http://a.example.com'),
    http: ['PATCH', '', { source_config: { custom_url: 'http://a.example.com' } }],
    kubectl: patched({ sourceConfig: { customUrl: 'http://a.example.com' } }),
    kubectlSays: 'should match',
  },
  {
    name: 'a task that is not there',
    says: 'nope',
    args: ['run', 'door', '--task', 'nope'],
    http: ['POST', '/tasks/nope/runs', {}],
  },
];

it.each(ROWS)('$name', async ({ says, args, http, httpSays, kubectl, kubectlSays, as }) => {
  const asker = as?.() ?? team;
  const [method, rest, body] = http;
  const place =
    rest === 'deploy_logs' ? path.replace('/v2/deployments', '/v1/projects').concat('/', rest) : `${path}${rest}`;
  const url = rest.startsWith('/v2/') ? rest : place;
  const answer = await davit.call({ ...tenant, ...asker, id: asker.namespace }, method, url, body);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(sentenceOf(answer)).toContain(httpSays ?? says);

  const byToken = await plugin(args, makeHttpApi({ server: davit.apiUrl, ...asker }));
  const byKubeconfig = await plugin(args, await ownApi(asker));
  expect(byToken).toMatchObject({ out: '', err: expect.stringContaining(says) });
  expect(byToken.code).toBeGreaterThan(0);
  expect(byKubeconfig).toEqual(byToken);
  if (httpSays === undefined && byToken.code === 1) expect(byToken.err).toBe(sentenceOf(answer));

  if (kubectl === undefined) return;
  const [words, input] = kubectl;
  const flags = ['-n', asker.namespace, ...(asker.user === undefined ? [] : [`--as=${asker.user}`])];
  expect(await kubectlSaid([...words, ...flags], input)).toContain(kubectlSays ?? says);
});

/** As the plugin prints it: one line for each finding. */
function sentenceOf({ body: { detail } }: Answer): string {
  if (typeof detail === 'string') return detail;
  const findings = detail as readonly { readonly loc: readonly string[]; readonly msg: string }[];
  return findings.map(({ loc, msg }) => `${loc.slice(1).join('.')} ${msg}`).join('\n');
}

/** A command in this process. A value of a secret comes from standard input. */
function plugin(args: readonly string[], api: HttpApi): Promise<CliRan> {
  return runCli(args, { api, input: 'x' });
}

async function kubectlSaid(args: readonly string[], input?: object): Promise<string> {
  const ran = await davit.kubectl(args, input).catch((error: Error) => error);
  return ran instanceof Error ? ran.message.slice(`kubectl ${args.join(' ')}: `.length) : `It was accepted: ${ran}`;
}
