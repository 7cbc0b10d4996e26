// Whether a record runs in another cluster, and whether it names a Listener of its tenant and a namespace that the Listener lists.

import type { AppDeployment, AppDeploymentSpec, SourceConfig } from '../../kinds/app-deployment.ts';
import type { Listener } from '../../kinds/listener.ts';

/** Whether this cluster runs the record: it names no listener. */
export function runsHere({ spec }: { readonly spec: Pick<AppDeploymentSpec, 'sourceConfig'> }): boolean {
  return spec.sourceConfig.listenerId === undefined;
}

/** A filter of records in the Listener's namespace: whether a record names it. */
export function namesListener({ metadata }: Listener): (record: AppDeployment) => boolean {
  return ({ spec }) => spec.sourceConfig.listenerId?.toLowerCase() === metadata.uid;
}

/** The problem: the Listener does not exist, or does not list the namespace. */
export type ListenerProblem =
  | { readonly is: 'unknown' }
  | { readonly is: 'namespace not listed'; readonly listed: readonly string[] };

/** `listeners` are those in the record's namespace. Ids are compared without regard to case. */
export function listenerProblem(
  { listenerId, listenerConfig }: SourceConfig,
  listeners: readonly Listener[],
): ListenerProblem | undefined {
  if (listenerId === undefined) return undefined;
  const found = listeners.find(({ metadata }) => metadata.uid === listenerId.toLowerCase());
  if (found === undefined) return { is: 'unknown' };
  const { namespaces = [] } = found.spec;
  const wanted = listenerConfig?.k8sNamespace;
  return wanted !== undefined && namespaces.includes(wanted)
    ? undefined
    : { is: 'namespace not listed', listed: namespaces };
}
