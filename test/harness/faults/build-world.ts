// What the builds of one run meet: a code host and a registry that can fail at each step, and somebody who plays the
// kubelet for the pods that build, since the node of these clusters does not exist. The players know what was really built.

import { createHash } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { REGISTRY_KEY_FIELD, REGISTRY_KEY_SECRET, registryGrant } from '../../../src/builds/registry/registry-grant.ts';
import { BUILD_LABEL } from '../../../src/schema/meta.ts';
import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, ORGANIZATION_NAMESPACE } from '../../support/platform.ts';
import { type BuildOutcome, type Credentials, endOf, statusOf } from './build-pod-status.ts';

/** What ails a server: no answer at all, an answer that says no, or a late one. */
export type Ailment = 'down' | 'slow' | 401 | 500 | 507 | undefined;

/** What becomes of a commit's build, given that everything else works. */
export type Script = 'builds' | 'plan fails' | 'step fails' | 'never ends' | 'is held, then fails';

/** An image that was pushed, and what it was made from. */
export interface MadeImage {
  readonly revision: string;
  /** Without the registry's host. */
  readonly repository: string;
  readonly source: string;
  readonly digest: string;
}

export interface BuildLimits {
  readonly perTenant: number;
  readonly total: number;
}

export interface BuildWorld {
  /** Beside the tenant: where the pods build. */
  readonly namespace: string;
  readonly integrationId: string;
  readonly limits: BuildLimits;
  /** More of Davit's settings. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** `api`: what the controller asks the code host; `git`: what a pod fetches from it. */
  readonly ails: { api: Ailment; git: Ailment; registry: Ailment };
  /** How often an ailment was met. */
  readonly met: () => number;
  readonly made: readonly MadeImage[];
  /** Credentials that were where they may not be, or good for too much. */
  readonly wrong: readonly string[];
  repoUrl(repository: string): string;
  /** Moves the branch `main` of a repository; answers with the commit. */
  push(repository: string, script: Script): string;
  /** As though uploaded: answers with the path. */
  upload(script: Script): string;
  /** Lets builds that are held go on. */
  release(): void;
  close(): void;
}

export const REGISTRY_HOST = 'builds.example';
/** What no log, status or event may tell. */
export const SOURCE_TOKEN = 'canary-of-the-code-host-7f3a';
/** The davit.yaml of every commit, in base64. */
const FILE_OF_ALL = Buffer.from('env: [{name: FROM_FILE, value: "yes"}]\n').toString('base64');
const LATE_MS = 2000;
/** Pods of this image are left alone by the stand-in. */
const PLAYED = 'registry.example/played';

/** The digest of what is built for a deployment from a commit or an upload: the same whoever builds it, and whenever. */
export function digestOf(deployment: string, source: string): string {
  return `sha256:${createHash('sha256').update(`${deployment} ${source}`).digest('hex')}`;
}

interface BuildingPod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly initContainers: readonly Container[];
    readonly containers: readonly Container[];
  };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

interface Secret extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface BuildWorldOptions {
  readonly limits: BuildLimits;
  readonly timeoutSeconds?: number;
}

/** `namespace` is the tenant's and, as in every run, Davit's own. */
export async function startBuildWorld(
  cluster: Cluster,
  namespace: string,
  { limits, timeoutSeconds }: BuildWorldOptions,
): Promise<BuildWorld> {
  const { api } = cluster;
  const [buildsNamespace, organization] = [`${namespace}-builds`, `${namespace}-org`];
  await makeNamespaces(api, { buildsNamespace, organization });
  const authority = makeAuthority('code host');
  const ails: BuildWorld['ails'] = { api: undefined, git: undefined, registry: undefined };
  const scripts = new Map<string, Script>();
  const heads = new Map<string, string>();
  const made: MadeImage[] = [];
  const wrong: string[] = [];
  const over = new AbortController();
  let met = 0;
  let serial = 0;
  let held = Promise.withResolvers<void>();

  /** Whether the request was dealt with. */
  async function ail(what: Ailment, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    if (what === undefined) return false;
    met += 1;
    if (what === 'slow') {
      await sleep(LATE_MS);
      return false;
    }
    if (what === 'down') request.socket.destroy();
    else response.writeHead(what).end(JSON.stringify({ message: 'not today' }));
    return true;
  }

  async function answerHost(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://x');
    const isApi = url.pathname.startsWith('/api/');
    if (await ail(isApi ? ails.api : ails.git, request, response)) return;
    const say = (status: number, body: unknown): void => void response.writeHead(status).end(JSON.stringify(body));
    const wanted = isApi ? `token ${SOURCE_TOKEN}` : basic('x-access-token', SOURCE_TOKEN);
    if (request.headers.authorization !== wanted) return say(401, { message: 'who are you' });
    const [owner, name] = url.pathname.replace('/api/v1/repos/', '/').split('/').slice(1);
    const head = heads.get(`${owner}/${name}`);
    if (head === undefined) return say(404, {});
    if (isApi && url.pathname.includes('/contents/')) {
      const content = scripts.has(url.searchParams.get('ref') ?? '') ? FILE_OF_ALL : undefined;
      return content === undefined ? say(404, {}) : say(200, { type: 'file', encoding: 'base64', content });
    }
    if (isApi && !url.pathname.endsWith('/commits')) return say(200, {});
    const ref = url.searchParams.get('sha') ?? '';
    const commit = ref === 'main' ? head : scripts.has(ref) ? ref : undefined;
    say(200, commit === undefined ? [] : [{ sha: commit }]);
  }

  async function answerRegistry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (await ail(ails.registry, request, response)) return;
    const [, repository = ''] = /^\/v2\/(.+)\/manifests\//.exec(request.url ?? '') ?? [];
    const action = request.method === 'PUT' ? 'push' : 'pull';
    const problem = await misgranted(repository, action, request.headers.authorization ?? '');
    if (problem !== undefined) {
      wrong.push(problem);
      return void response.writeHead(403).end();
    }
    response.writeHead(action === 'push' ? 201 : 200).end(body);
  }

  /** A credential is for one repository, for one thing, and for not much longer than the build may take. */
  async function misgranted(repository: string, action: string, authorization: string): Promise<string | undefined> {
    const key = await valueOf(api, namespace, REGISTRY_KEY_SECRET, REGISTRY_KEY_FIELD);
    const [, ...password] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
    // By no clock: the controller's may be an hour off.
    const grant = registryGrant(key, password.join(':'), new Date(0));
    if (!grant) return `${action} of ${repository} with no credential of the registry`;
    if (grant.repository !== repository) return `${action} of ${repository} with a credential for ${grant.repository}`;
    if (action === 'pull' && grant.actions.includes('push')) return `the source of ${repository} could be pushed`;
    const hours = (grant.expires * 1000 - Date.now()) / 3_600_000;
    return hours > 3 ? `a credential of ${repository} is good for ${Math.round(hours)} hours` : undefined;
  }

  const serving = authority.serving('127.0.0.1', ['127.0.0.1']);
  const host = createTlsServer(
    { key: serving.key, cert: serving.certificate },
    (request, response) => void answerHost(request, response).catch(() => response.destroy()),
  );
  const registry = createServer(
    (request, response) => void answerRegistry(request, response).catch(() => response.destroy()),
  );
  // oxlint-disable-next-line no-await-in-loop -- two of them
  for (const server of [host, registry]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hostName = `127.0.0.1:${(host.address() as AddressInfo).port}`;
  const registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;

  await api.call('POST', `/api/v1/namespaces/${organization}/secrets`, {
    metadata: { name: 'git' },
    stringData: { token: SOURCE_TOKEN },
  });
  const integration = await api.call<ApiObject>(
    'POST',
    `/apis/davit.dev/v1alpha1/namespaces/${organization}/codehostintegrations`,
    {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'CodeHostIntegration',
      metadata: { name: 'git' },
      spec: {
        kind: 'gitea',
        apiUrl: `https://${hostName}/api/v1`,
        credentialsRef: { name: 'git' },
        tenants: [namespace],
      },
    },
  );

  async function fetched(pod: BuildingPod, credentials: Credentials): Promise<BuildOutcome & { source: string }> {
    const env = environmentOf(pod, 'fetch');
    const { URL: url, REF: ref = '', REPOSITORY: repository, TAG: tag = '' } = env;
    if (url === undefined) {
      const headers = { authorization: basic(credentials.source['username'], credentials.source['password']) };
      const status = await ask(`${registryUrl}/v2/${repository}/manifests/${tag}`, { headers }).catch(() => 0);
      const source = tag.replace('upload-', 'uploads/');
      return { ...endOf.upload(status), source };
    }
    const headers = { authorization: basic('x-access-token', credentials.source['token']) };
    const status = await ask(`${url}?sha=${ref}`, { headers, ca: credentials.source['ca.crt'] ?? '' }).catch(() => 0);
    const source = scripts.has(ref) ? ref : (heads.get(new URL(url).pathname.slice(1)) ?? '');
    return { ...endOf.fetch(status, url, source), source };
  }

  async function built(pod: BuildingPod, source: string, credentials: Credentials): Promise<BuildOutcome> {
    const script = scripts.get(source);
    if (script === 'never ends') await sleep(600_000, undefined, { signal: over.signal, ref: false });
    if (script === 'is held, then fails') await held.promise;
    if (script === 'step fails' || script === 'is held, then fails') return endOf.step();
    const [, repository = '', tag = ''] =
      /name=[^/,]+\/([^:,]+):([^,"]+),push=true/.exec(JSON.stringify(pod.spec)) ?? [];
    const headers = { authorization: basic(credentials.push['username'], credentials.push['password']) };
    const put = { method: 'PUT', headers, body: source };
    const status = await ask(`${registryUrl}/v2/${repository}/manifests/${tag}`, put).catch(() => 0);
    if (status !== 201) return endOf.push(status, `${REGISTRY_HOST}/${repository}:${tag}`);
    const digest = digestOf(repository.split('/').at(-1) ?? '', source);
    made.push({ revision: pod.metadata.labels?.[BUILD_LABEL] ?? '', repository, source, digest });
    return { exitCode: 0, message: digest };
  }

  /** The kubelet's part: Secrets first, then one container after the other. */
  async function play(pod: BuildingPod): Promise<void> {
    const { name, uid } = pod.metadata;
    const path = `/api/v1/namespaces/${buildsNamespace}/pods/${name}/status`;
    const show = (...outcomes: readonly BuildOutcome[]): Promise<unknown> =>
      api.call('PATCH', path, { metadata: { uid }, status: statusOf(pod, outcomes) }, 'application/merge-patch+json');
    const secrets = await mounted(api, buildsNamespace, pod, over.signal);
    if (!secrets) return;
    await show();
    const fetch = await fetched(pod, secrets);
    await show(fetch);
    if (fetch.exitCode !== 0) return;
    const plan = scripts.get(fetch.source) === 'plan fails' ? endOf.plan() : { exitCode: 0, message: '' };
    await show(fetch, plan);
    if (plan.exitCode !== 0) return;
    await show(fetch, plan, await built(pod, fetch.source, secrets));
  }

  const playing = new Set<string>();
  void api.follow<BuildingPod>(`/api/v1/namespaces/${buildsNamespace}/pods`, over.signal, (pod, gone) => {
    const { uid = '', deletionTimestamp } = pod.metadata;
    if (gone || deletionTimestamp !== undefined || pod.spec.nodeName === undefined || playing.has(uid)) return;
    playing.add(uid);
    // One that was deleted meanwhile is nobody's any more.
    play(pod).catch(() => undefined);
  });

  return {
    namespace: buildsNamespace,
    integrationId: integration.metadata.uid ?? '',
    limits,
    settings: {
      hosting: 'both',
      organizationNamespace: organization,
      codeHosts: [{ host: hostName, addresses: ['127.0.0.1'], ca: authority.certificate }],
      builds: {
        namespace: buildsNamespace,
        registry: { host: REGISTRY_HOST, tokens: true },
        images: { builder: `${PLAYED}-builder:1`, davit: `${PLAYED}-davit:1` },
        concurrency: limits,
        pollSeconds: 0,
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
      },
    },
    ails,
    met: () => met,
    made,
    wrong,
    repoUrl: (repository) => `https://${hostName}/team/${repository}`,
    push(repository, script) {
      serial += 1;
      const commit = createHash('sha1').update(`commit ${serial}`).digest('hex');
      scripts.set(commit, script);
      heads.set(`team/${repository}`, commit);
      return commit;
    },
    upload(script) {
      serial += 1;
      const path = `uploads/${createHash('md5').update(`upload ${serial}`).digest('hex')}`;
      scripts.set(path, script);
      return path;
    },
    release() {
      held.resolve();
      held = Promise.withResolvers<void>();
    },
    close() {
      over.abort();
      held.resolve();
      for (const server of [host, registry]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function basic(user = '', password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function environmentOf({ spec }: BuildingPod, name: string): Readonly<Record<string, string | undefined>> {
  const container = spec.initContainers.find((one) => one.name === name);
  return Object.fromEntries((container?.env ?? []).map((variable) => [variable.name, variable.value]));
}

/** The status of the answer. */
function ask(
  address: string,
  options: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly ca?: string;
  },
): Promise<number> {
  const { method = 'GET', headers, body = '', ca } = options;
  const send = address.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(address, { method, headers, agent: false, ...(ca !== undefined && { ca }) }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function valueOf(api: ApiClient, namespace: string, name: string, key: string): Promise<Buffer> {
  const { data } = await api.call<Secret>('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`);
  return Buffer.from(data?.[key] ?? '', 'base64');
}

/** No container starts before both Secrets are there; undefined where the pod will have none any more. */
async function mounted(
  api: ApiClient,
  namespace: string,
  pod: BuildingPod,
  signal: AbortSignal,
): Promise<Credentials | undefined> {
  const build = `build-${pod.metadata.labels?.[BUILD_LABEL]}`;
  const read = async (part: 'source' | 'push'): Promise<Record<string, string>> => {
    const { data = {} } = await api.call<Secret>('GET', `/api/v1/namespaces/${namespace}/secrets/${build}-${part}`);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };
  while (!signal.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until they are there
      const [source, push] = await Promise.all([read('source'), read('push')]);
      return { source, push };
    } catch {
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(50);
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    const { items } = await api.call<{ items: readonly ApiObject[] }>('GET', `/api/v1/namespaces/${namespace}/pods`);
    if (!items.some(({ metadata }) => metadata.uid === pod.metadata.uid)) return undefined;
  }
  return undefined;
}

/**
 * The namespaces of builds and of the organization, and in them what the chart grants in its own. The policy that lets the
 * controller write among builds knows one namespace by its name; here it is let in as into a tenant's.
 */
async function makeNamespaces(
  api: ApiClient,
  { buildsNamespace, organization }: { readonly buildsNamespace: string; readonly organization: string },
): Promise<void> {
  await api.call('POST', '/api/v1/namespaces', {
    metadata: { name: buildsNamespace, labels: { 'davit.dev/tenant': 'true' } },
  });
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: organization } });
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces';
  const grants = [
    { role: 'davit-controller-builds', like: 'davit-builds', where: buildsNamespace },
    { role: 'davit-controller-organization', like: ORGANIZATION_NAMESPACE, where: organization },
  ];
  for (const { role, like, where } of grants) {
    // oxlint-disable-next-line no-await-in-loop -- two of them
    const { rules } = await api.call<ApiObject & { rules: unknown }>('GET', `${rbac}/${like}/roles/${role}`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await api.call('POST', `${rbac}/${where}/roles`, { metadata: { name: role }, rules });
    // oxlint-disable-next-line no-await-in-loop -- as above
    await api.call('POST', `${rbac}/${where}/rolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
      subjects: [{ kind: 'ServiceAccount', name: 'davit-controller', namespace: DAVIT_NAMESPACE }],
    });
  }
}
