// The agent of a listener in a run: the part of a cluster that it serves, and its process.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HUB_SECRET, LISTENER_AGENT, LISTENER_TOKEN } from '../../../src/kinds/listener-names.ts';
import { LISTENER_LABEL } from '../../../src/kinds/meta.ts';
import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, supervise } from '../../support/platform.ts';
import { LEASE_MS } from './ground.ts';
import type { Proxy } from './proxy.ts';
import type { CastOptions } from './run-processes.ts';

/** Whose Roles the chart makes for the agent, from which those of each run are copied. */
export const RIGHTS_NAMESPACE = 'listener-rights';

export interface Agent {
  kill(): void;
  stop(): Promise<void>;
  /** How often it was started. */
  starts(): number;
  kills(): number;
  readonly log: string;
}

export interface AgentOptions extends Pick<CastOptions, 'main' | 'imports' | 'env'> {
  /** Whose copies it makes. */
  readonly cluster: Cluster;
  /** The API server's address, or a proxy's, and the file of who signs for it. */
  readonly server: string;
  readonly caFile: string;
  /** Its own namespace. */
  readonly where: string;
  /** Where the copies are. */
  readonly place: string;
  readonly directory: string;
  /** Of the hub, where the logs of a run are together. */
  readonly hub: Cluster;
}

export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { cluster, server, caFile, where, place, hub } = options;
  const files = join(options.directory, where);
  await mkdir(files, { recursive: true });
  const config = join(files, 'kubeconfig');
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name: 'u', user: { token: await cluster.tokenFor(DAVIT_NAMESPACE, LISTENER_AGENT) } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
  await writeFile(config, text, { mode: 0o600 });
  const log = join(hub.logsDir, `${where}.log`);
  let kills = 0;
  const process = supervise({
    args: [
      ...options.imports.flatMap((file) => ['--import', file]),
      options.main ?? join(import.meta.dirname, '../../../src/main.ts'),
      'listener',
    ],
    env: {
      DAVIT_KUBECONFIG: config,
      DAVIT_NAMESPACE: where,
      DAVIT_LISTENER_NAMESPACES: place,
      DAVIT_HEALTH_PORT: '0',
      DAVIT_LEASE_MS: String(LEASE_MS),
      DAVIT_BACKOFF_MS: '20',
      DAVIT_LOG_LEVEL: 'debug',
      NODE_COMPILE_CACHE: join(hub.runDir, 'compile-cache'),
      ...options.env,
    },
    log,
    onLine: () => ({}),
  });
  return {
    kill() {
      kills += 1;
      process.kill('SIGKILL');
    },
    stop: () => process.stop(),
    starts: process.starts,
    kills: () => kills,
    log,
  };
}

export interface Enrolment {
  readonly hubApi: ApiClient;
  readonly hubNamespace: string;
  readonly listener: ApiObject;
  /** The agent's way to the hub. */
  readonly link: Proxy;
  /** Where the copies are, and where the agent is. */
  readonly place: string;
  readonly where: string;
}

/** Makes the part of a cluster that an agent serves, and tells it where it finds the hub. */
export async function enrol({ api }: Cluster, enrolment: Enrolment): Promise<void> {
  const { hubApi, hubNamespace, listener, link, place, where } = enrolment;
  const labels = { 'davit.dev/tenant': 'true', [LISTENER_LABEL]: listener.metadata.uid ?? '' };
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: place, labels } });
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: where } });
  await copyRights(api, 'davit-listener-tenant', RIGHTS_NAMESPACE, place);
  await copyRights(api, 'davit-listener', DAVIT_NAMESPACE, where);
  const asked = `/api/v1/namespaces/${hubNamespace}/serviceaccounts/${LISTENER_AGENT}/token`;
  const { status } = await hubApi.call<{ status: { token: string } }>('POST', asked, {
    spec: { expirationSeconds: 3600, boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: LISTENER_TOKEN } },
  });
  await api.call('POST', `/api/v1/namespaces/${where}/secrets`, {
    metadata: { name: HUB_SECRET },
    stringData: { server: link.urlFor('a'), ca: link.ca, namespace: hubNamespace, token: status.token },
  });
}

/** What the chart grants in one namespace, in another. */
async function copyRights(api: ApiClient, name: string, from: string, to: string): Promise<void> {
  const rbac = (namespace: string): string => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  for (const kind of ['roles', 'rolebindings']) {
    const { metadata: _, ...rest } = await api.call<ApiObject>('GET', `${rbac(from)}/${kind}/${name}`);
    await api.call('POST', `${rbac(to)}/${kind}`, { ...rest, metadata: { name } });
  }
}
