// What a run of any lane stands on: a tenant with the chart's rule for leases, and a folder with what its processes are given.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, connectApi } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, makeTenant, type Tenant } from '../../support/platform.ts';
import type { Keys } from './rotations.ts';

/** Of the controllers of a run, in milliseconds. */
export const LEASE_MS = 1500;

/** A tenant in whose namespace a controller may hold its lease: `leaseNamespace`, if that is another one. */
export async function makeRunTenant(cluster: Cluster, namespace: string, leaseNamespace = namespace): Promise<Tenant> {
  const tenant = await makeTenant(cluster, namespace);
  if (leaseNamespace !== namespace)
    await cluster.api.call('POST', '/api/v1/namespaces', { metadata: { name: leaseNamespace } });
  await allowLease(cluster, leaseNamespace);
  return tenant;
}

/** The chart's rule for leases, in the run's namespace. */
async function allowLease(cluster: Cluster, namespace: string): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }];
  await cluster.api.call('POST', `${rbac}/roles`, { metadata: { name: 'lease' }, rules });
  await cluster.api.call('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'lease' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lease' },
    subjects: [{ kind: 'ServiceAccount', name: 'davit-controller', namespace: DAVIT_NAMESPACE }],
  });
}

/** A client with the rights of an editor of the namespace: `system:serviceaccount:NAMESPACE:NAME`. */
export async function makeEditor(
  { api, server, ca, tokenFor }: Cluster,
  namespace: string,
  name: string,
): Promise<ApiClient> {
  await api.call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await api.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'davit-editor' },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  return connectApi({ server, ca, token: await tokenFor(namespace, name) });
}

export interface RunFolder {
  readonly directory: string;
  /** Writes the token of one of Davit's accounts. Token and authority are files, as a pod has them. */
  keysOf(account: 'davit-controller' | 'davit-api'): Promise<Keys>;
  remove(): Promise<void>;
}

/** The folder of a run. `authority`: PEM of who signs for the proxy. `seconds`: how long tokens are good. */
export async function makeRunFolder(
  cluster: Cluster,
  { namespace, authority, seconds }: { namespace: string; authority: string; seconds?: number },
): Promise<RunFolder> {
  const directory = join(cluster.runDir, 'faults', namespace);
  await mkdir(directory, { recursive: true });
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, authority);
  return {
    directory,
    async keysOf(account) {
      const tokenFile = join(directory, `${account}.token`);
      const token = await cluster.tokenFor(DAVIT_NAMESPACE, account, seconds === undefined ? {} : { seconds });
      await writeFile(tokenFile, token, { mode: 0o600 });
      return { tokenFile, caFile };
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
