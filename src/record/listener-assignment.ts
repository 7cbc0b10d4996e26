// Whether a record is to run in another cluster, and if so whether it names a Listener of its tenant, and a namespace that this lists.

import type { AppDeploymentSpec, SourceConfig } from '../api/app-deployment.ts';
import type { Listener } from '../api/listener.ts';

/** Whether this cluster runs the record: it names no listener, whose cluster would. */
export function runsHere({ spec }: { readonly spec: Pick<AppDeploymentSpec, 'sourceConfig'> }): boolean {
  return spec.sourceConfig.listenerId === undefined;
}

/** What is wrong: there is no such Listener, or it does not list the namespace, and which it lists. */
export type ListenerProblem =
  | { readonly is: 'unknown' }
  | { readonly is: 'namespace not listed'; readonly listed: readonly string[] };

/** `listeners` are those of the record's own namespace. Ids are the same in either case. */
export function listenerProblem(
  { listenerId, listenerConfig }: SourceConfig,
  listeners: readonly Listener[],
): ListenerProblem | undefined {
  if (listenerId === undefined) return undefined;
  const found = listeners.find(({ metadata }) => metadata.uid === listenerId.toLowerCase());
  if (found === undefined) return { is: 'unknown' };
  const { namespaces } = found.spec;
  const wanted = listenerConfig?.k8sNamespace;
  return wanted !== undefined && namespaces.includes(wanted)
    ? undefined
    : { is: 'namespace not listed', listed: namespaces };
}
