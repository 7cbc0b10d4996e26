// How a process reaches the cluster: by a kubeconfig that the environment names, or by its pod's service account.

import { type ClusterAccess, inClusterAccess, loadKubeConfigFile } from '../runtime/kube/config.ts';
import type { Config } from './config.ts';

export function accessFor({ kube }: Config): Promise<ClusterAccess> {
  if (kube.kubeconfig !== undefined)
    return loadKubeConfigFile({ path: kube.kubeconfig, ...(kube.context !== undefined && { context: kube.context }) });
  if (kube.inCluster) return inClusterAccess(kube.inCluster);
  throw new Error('No cluster is configured: run inside one, or set DAVIT_KUBECONFIG (and DAVIT_CONTEXT).');
}
