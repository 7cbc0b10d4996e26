// Whether an API server can change the sizes of a running pod: from Kubernetes 1.33 on.

import type { Cluster } from '../cluster/cluster.ts';

export async function resizesPods(cluster: Pick<Cluster, 'kubectl'>): Promise<boolean> {
  const { resources } = JSON.parse(await cluster.kubectl(['get', '--raw', '/api/v1'])) as {
    readonly resources: readonly { readonly name: string }[];
  };
  return resources.some(({ name }) => name === 'pods/resize');
}
