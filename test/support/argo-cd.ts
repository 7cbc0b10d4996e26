// Which objects Argo CD prunes, by its own rule: an object without an owner belongs to the Application that its tracking label
// names, and is deleted if it is not in the Application's source, unless a sync option forbids it.

import type { KubeObject } from '../../src/runtime/kube/client.ts';

const TRACKING_LABEL = 'app.kubernetes.io/instance';
const SYNC_OPTIONS = 'argocd.argoproj.io/sync-options';

/** Whether Argo CD takes an object that is not in Git for one of this Application's. */
export function isTracked({ metadata: { labels, ownerReferences = [] } }: KubeObject, application: string): boolean {
  return ownerReferences.length === 0 && labels?.[TRACKING_LABEL] === application;
}

/** Whether a sync with pruning, or the deletion of the Application, would leave an object that it tracks. */
export function isExempt({ metadata: { annotations } }: KubeObject): boolean {
  const options = (annotations?.[SYNC_OPTIONS] ?? '').split(',').map((option) => option.trim());
  return options.includes('Prune=false') && options.includes('Delete=false');
}
