// What the builds of one run meet: a code host and a registry that can fail at each step, and somebody who plays the
// kubelet for the pods that build (build-world/kubelet.ts). The players know what was really built.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PASSWORD_KEY } from '../../../src/build/registry/registry-grant.ts';
import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, makeTenant, ORGANIZATION_NAMESPACE } from '../../support/platform.ts';
import { type Ailments, makeAilments } from './build-world/ailments.ts';
import { codeHost, SOURCE_TOKEN } from './build-world/code-host.ts';
import { playPods } from './build-world/kubelet.ts';
import { imageRegistry, type MadeImage, REGISTRY_HOST } from './build-world/registry.ts';
import { makeSources, type Sources } from './build-world/sources.ts';
import { makeWebhooks, type Webhooks } from './build-world/webhooks.ts';

export interface BuildLimits {
  readonly perTenant: number;
  readonly total: number;
}

export interface BuildWorld extends Pick<Ailments, 'ails' | 'met'>, Pick<Sources, 'push' | 'upload'> {
  /** Beside the tenant: where the pods build. */
  readonly namespace: string;
  readonly integrationId: string;
  readonly limits: BuildLimits;
  /** More of Davit's settings. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly made: readonly MadeImage[];
  /** Credentials that were where they may not be, or good for too much. */
  readonly wrong: readonly string[];
  /** Whether the code host has named this commit as that of its branch. */
  isTold(commit: string): boolean;
  repoUrl(repository: string): string;
  /** What tenants are told, at addresses of the code host's server. */
  readonly webhooks: Webhooks;
  hookUrl(tenant: string): string;
  /** A tenant without deployments, for whose webhook nothing is meant. */
  readonly neighbour: string | undefined;
  /** Lets builds that are held go on. */
  release(): void;
  close(): void;
}

/** Pods of this image are left alone by the stand-in. */
const PLAYED = 'registry.example/played';

export interface BuildWorldOptions {
  readonly limits: BuildLimits;
  readonly timeoutSeconds?: number;
  readonly hasNeighbour?: boolean;
}

/** `namespace` is the tenant's and, as in every run, Davit's own. */
export async function startBuildWorld(
  cluster: Cluster,
  namespace: string,
  options: BuildWorldOptions,
): Promise<BuildWorld> {
  const { api } = cluster;
  const [buildsNamespace, organization] = [`${namespace}-builds`, `${namespace}-org`];
  await makeNamespaces(api, { buildsNamespace, organization });
  const neighbour = options.hasNeighbour ? `${namespace}-other` : undefined;
  if (neighbour !== undefined) await makeTenant(cluster, neighbour);
  const authority = makeAuthority('code host');
  const ailments = makeAilments();
  const sources = makeSources();
  const made: MadeImage[] = [];
  const wrong: string[] = [];
  const told = new Set<string>();
  const over = new AbortController();
  let held = Promise.withResolvers<void>();

  const webhooks = makeWebhooks(wrong);
  const hosting = codeHost(sources, ailments, told);
  const serving = authority.serving('127.0.0.1', ['127.0.0.1']);
  const host = createTlsServer(
    { key: serving.key, cert: serving.certificate },
    answering((request, response) => (webhooks.isMeant(request) ? webhooks.receive : hosting)(request, response)),
  );
  const keyOfRegistry = (): Promise<Buffer> => valueOf(api, namespace, PASSWORD_KEY.name, PASSWORD_KEY.field);
  const registry = createServer(answering(imageRegistry(ailments, keyOfRegistry, wrong)));
  for (const server of [host, registry]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hostName = `127.0.0.1:${(host.address() as AddressInfo).port}`;
  const registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
  const integrationId = await integrate(api, organization, hostName, namespace);
  playPods({
    api,
    namespace: buildsNamespace,
    sources,
    registryUrl,
    made,
    held: () => held.promise,
    over: over.signal,
  });

  return {
    namespace: buildsNamespace,
    integrationId,
    limits: options.limits,
    settings: settingsOf(
      { host: hostName, addresses: ['127.0.0.1'], ca: authority.certificate },
      { organization, buildsNamespace, tenants: [namespace, ...(neighbour === undefined ? [] : [neighbour])] },
      options,
    ),
    ails: ailments.ails,
    met: ailments.met,
    made,
    wrong,
    isTold: (commit) => told.has(commit),
    repoUrl: (repository) => `https://${hostName}/team/${repository}`,
    webhooks,
    hookUrl: (tenant) => `https://${hostName}${webhooks.pathOf(tenant)}`,
    neighbour,
    push: sources.push,
    upload: sources.upload,
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

interface Namespaces {
  readonly organization: string;
  readonly buildsNamespace: string;
  readonly tenants: readonly string[];
}

/** `host`: of code and of webhooks. */
function settingsOf(
  host: object,
  { organization, buildsNamespace, tenants }: Namespaces,
  { limits, timeoutSeconds }: BuildWorldOptions,
): BuildWorld['settings'] {
  return {
    hosting: 'both',
    organizationNamespace: organization,
    namespaces: tenants,
    codeHosts: [host],
    webhooks: { hosts: [host] },
    builds: {
      namespace: buildsNamespace,
      registry: { host: REGISTRY_HOST, tokens: true },
      images: { builder: `${PLAYED}-builder:1`, davit: `${PLAYED}-davit:1` },
      concurrency: limits,
      pollSeconds: 0,
      ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    },
  };
}

/** A connection whose request cannot be answered is broken. */
function answering(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>): RequestListener {
  return (request, response) => void answer(request, response).catch(() => response.destroy());
}

/** Makes the organization's integration with the code host, and answers with its id. */
async function integrate(api: ApiClient, organization: string, hostName: string, tenant: string): Promise<string> {
  await api.call('POST', `/api/v1/namespaces/${organization}/secrets`, {
    metadata: { name: 'git' },
    stringData: { token: SOURCE_TOKEN },
  });
  const { metadata } = await api.call<ApiObject>(
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
        tenants: [tenant],
      },
    },
  );
  return metadata.uid ?? '';
}

async function valueOf(api: ApiClient, namespace: string, name: string, key: string): Promise<Buffer> {
  const { data } = await api.call<ApiObject & { readonly data?: Readonly<Record<string, string>> }>(
    'GET',
    `/api/v1/namespaces/${namespace}/secrets/${name}`,
  );
  return Buffer.from(data?.[key] ?? '', 'base64');
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
    const { rules } = await api.call<ApiObject & { rules: unknown }>('GET', `${rbac}/${like}/roles/${role}`);
    await api.call('POST', `${rbac}/${where}/roles`, { metadata: { name: role }, rules });
    await api.call('POST', `${rbac}/${where}/rolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
      subjects: [{ kind: 'ServiceAccount', name: 'davit-controller', namespace: DAVIT_NAMESPACE }],
    });
  }
}
