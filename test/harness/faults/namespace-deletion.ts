// The workload that ends with its namespace.

import type { ApiClient } from '../../cluster/api-client.ts';
import type { Fault, Plan } from './fault.ts';

/** The plans of `doomed`, given the labels of all its writes. */
export function doomedPlans(labels: readonly string[]): Plan[] {
  const faults: Fault[] = [
    { kind: 'roles-first' },
    { kind: 'crash-loop', every: 1200, times: 3 },
    { kind: 'slow', ms: 150 },
    { kind: 'watch-delay', resource: 'namespaces', ms: 300 },
    { kind: 'watch-delay', resource: 'appdeployments', ms: 300 },
  ];
  for (const at of labels.filter((label) => !label.startsWith('create/'))) {
    for (const kind of ['crash-before', 'crash-lost', 'crash-after', 'lost-blind'] as const) faults.push({ kind, at });
    faults.push({ kind: 'refused-committed', at, status: 500 });
  }
  for (const at of labels.filter((label) => label.startsWith('create/')).filter((_, index) => index % 4 === 1))
    faults.push({ kind: 'namespace-deleted', at });
  return faults.map((fault) => ({ workload: 'doomed', fault }));
}

/**
 * What the chart's ClusterRole leaves the controller of a listed namespace when the RoleBinding in it has gone, which holds
 * all else (charts/davit/templates/rbac-controller.yaml).
 */
export const WITHOUT_ROLE_BINDING: ReadonlySet<string> = new Set([
  'appdeployments',
  'appdeployments/status',
  'namespaces',
]);

export async function removeNamespace(api: ApiClient, namespace: string): Promise<void> {
  await api.call('DELETE', `/api/v1/namespaces/${namespace}`);
}

/** Whether it is gone, and not only going. */
export async function isNamespaceGone(api: ApiClient, namespace: string): Promise<boolean> {
  return api.call('GET', `/api/v1/namespaces/${namespace}`).then(
    () => false,
    () => true,
  );
}
