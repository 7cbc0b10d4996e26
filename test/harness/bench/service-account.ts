// How Davit's processes reach the API server here: as in a pod. With a kubeconfig they would load the client library that
// reads those, 83 MiB that no pod spends.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE } from '../../support/platform.ts';

/** Writes what a kubelet would mount below `directory`; returns the environment that leads there. */
export async function mountServiceAccount(
  cluster: Cluster,
  account: string,
  directory: string,
): Promise<Readonly<Record<string, string>>> {
  const mounted = join(directory, 'serviceaccount');
  await mkdir(mounted, { recursive: true });
  const files = {
    token: await cluster.tokenFor(DAVIT_NAMESPACE, account, { seconds: 12 * 3600 }),
    'ca.crt': cluster.ca,
    namespace: DAVIT_NAMESPACE,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(mounted, name), text, { mode: 0o600 })));
  const { hostname, port } = new URL(cluster.server);
  return {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    DAVIT_SERVICE_ACCOUNT_DIR: mounted,
  };
}
