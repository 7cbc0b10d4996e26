// Names of the objects in the hub's namespace of a Listener.

/** Prefix of those namespaces. */
const HUB_NAMESPACE_PREFIX = 'davit-lsn-';

/** Name of the ServiceAccount of the listener's agent, of its Lease and of its role binding. */
export const LISTENER_AGENT = 'davit-listener';
/** The Secret to which the agent's tokens are bound. `kubectl davit listener join` creates it; without it the tokens are invalid. */
export const LISTENER_TOKEN = 'davit-listener-token';

/** In Davit's namespace of a listener's cluster: address of the hub, the namespace there, and the agent's token. */
export const HUB_SECRET = 'davit-listener-hub';

/** `listenerUid`: uid of the Listener. */
export function hubNamespace(listenerUid: string): string {
  return `${HUB_NAMESPACE_PREFIX}${listenerUid.slice(0, 8)}`;
}

/** Name of the copy of a Secret of this deployment. Two deployments may use the same Secret. */
export function copyName(deploymentUid: string, secretName: string): string {
  return `${deploymentUid}.${secretName}`;
}
