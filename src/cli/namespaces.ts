// What is known of a namespace. Not everybody may look at one.

import type { KubeObject } from '../lib/kube/client.ts';
import { TENANT_LABEL } from '../schema/meta.ts';
import { ignoreFailure, type Kubectl } from './kubectl.ts';

/** `unknown`: the caller may not look, or the question failed, which says nothing of the namespace. */
export type NamespaceState = 'tenant' | 'no tenant' | 'absent' | 'unknown';

export async function namespaceState(kubectl: Kubectl, namespace: string): Promise<NamespaceState> {
  try {
    const found = await kubectl(['get', 'namespace', namespace, '--ignore-not-found', '-o', 'json']);
    if (found.trim() === '') return 'absent';
    const { metadata } = JSON.parse(found) as KubeObject;
    return metadata.labels?.[TENANT_LABEL] === 'true' ? 'tenant' : 'no tenant';
  } catch (error) {
    ignoreFailure(error);
    return 'unknown';
  }
}

/** What a caller is told who cannot know which of these it is. */
export function unusableSentence(namespace: string): string {
  return `Namespace ${namespace} is not there, is no tenant, or you have no role there. Name another one with --namespace, or ask for davit-viewer or davit-editor in it.`;
}

/** Why nothing runs there, and who changes that. */
export function noTenantSentence(namespace: string): string {
  return `namespace ${namespace} is no tenant, so Davit runs nothing in it. A cluster administrator makes it one: kubectl label namespace ${namespace} ${TENANT_LABEL}=true`;
}
