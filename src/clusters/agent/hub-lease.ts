// The agent's Lease on the hub: renewed every ten seconds while this process works, so that the hub knows that the cluster reports.

import { hubNamespace, LISTENER_AGENT } from '../../kinds/listener-names.ts';
import { AGENT_VERSION_ANNOTATION, CLUSTER_ID_ANNOTATION, LISTENER_LABEL } from '../../kinds/meta.ts';
import { type Clock, sleep } from '../../runtime/controller/clock.ts';
import { Conflict, Terminal, Unavailable } from '../../runtime/errors.ts';
import { LEASES } from '../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Lease } from '../hub/contact.ts';

export interface HubLeaseOptions {
  readonly hub: KubeClient;
  /** The hub's namespace of the Listener. */
  readonly namespace: string;
  readonly clusterId: string;
  readonly version: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the attempts to take it. */
  readonly signal: AbortSignal;
}

export interface HubLease {
  /** uid of the Listener. */
  readonly listenerId: string;
  /** Rises each time that an agent takes the Lease. */
  epoch(): number;
  /** Renews it until `signal` aborts. */
  renew(signal: AbortSignal): Promise<void>;
}

const RENEW_MS = 10_000;
const RETRY_MS = 2000;

/** Takes the Lease from any holder: one process of the cluster leads, and the hub tells clusters apart. Rejects only when aborted. */
export async function holdHubLease(options: HubLeaseOptions): Promise<HubLease> {
  const { clock, log } = options;
  let held = await retried(() => take(options), options);
  const listenerId = listenerOf(held) ?? '';

  async function renewUntilAborted(signal: AbortSignal): Promise<void> {
    let waitMs = RENEW_MS;
    for (;;) {
      await sleep(clock, waitMs, signal);
      if (signal.aborted) return;
      try {
        held = await renew(held, options);
        waitMs = RENEW_MS;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'The Lease on the hub was not renewed');
        // A lost connection is replaced soon, so that a short interruption is no silence.
        waitMs = error instanceof Unavailable ? RETRY_MS : RENEW_MS;
      }
    }
  }
  return { listenerId, epoch: () => transitionsOf(held), renew: renewUntilAborted };
}

async function retried<T>(attempt: () => Promise<T>, { clock, log, signal }: HubLeaseOptions): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw new Unavailable('take the Lease on the hub: stopped');
      log.warn({ err: error }, 'The Lease on the hub was not taken');
    }
    await sleep(clock, RETRY_MS, signal);
  }
}

async function take(options: HubLeaseOptions): Promise<Lease> {
  const { hub, namespace } = options;
  const lease = await hub.get<Lease>(LEASES, { namespace, name: LISTENER_AGENT });
  const listenerId = listenerOf(lease);
  // The namespace is that of the enrolment. A hub that said another id would get what accepts another Listener.
  if (listenerId === undefined || hubNamespace(listenerId) !== namespace)
    throw new Terminal(
      `take the Lease on the hub: namespace ${namespace} there does not belong to Listener ${listenerId ?? '(none)'}. Enroll this cluster again: kubectl davit listener join.`,
    );
  return write(lease, transitionsOf(lease) + 1, options);
}

function listenerOf({ metadata }: Lease): string | undefined {
  return metadata.labels?.[LISTENER_LABEL];
}

/** Takes it back from another agent. */
async function renew(held: Lease, options: HubLeaseOptions): Promise<Lease> {
  const { hub, namespace, identity, log } = options;
  try {
    return await write(held, transitionsOf(held), options);
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
  }
  const current = await hub.get<Lease>(LEASES, { namespace, name: LISTENER_AGENT });
  const isOurs = current.spec?.holderIdentity === identity && transitionsOf(current) === transitionsOf(held);
  // The answer to an own renewal was lost, or somebody has labelled it.
  if (isOurs) return write(current, transitionsOf(current), options);
  log.warn(
    'Another agent (in a clone of this cluster, or an earlier leader) has taken the Lease on the hub, taking it back',
  );
  return write(current, transitionsOf(current) + 1, options);
}

function transitionsOf({ spec }: Lease): number {
  return spec?.leaseTransitions ?? 0;
}

function write(
  { metadata: { resourceVersion } }: Lease,
  leaseTransitions: number,
  { hub, namespace, clusterId, version, identity, clock }: HubLeaseOptions,
): Promise<Lease> {
  const renewTime = new Date(clock.now()).toISOString().replace('Z', '000Z');
  return hub.mergePatch<Lease>(
    LEASES,
    { namespace, name: LISTENER_AGENT },
    {
      metadata: {
        resourceVersion,
        annotations: { [CLUSTER_ID_ANNOTATION]: clusterId, [AGENT_VERSION_ANNOTATION]: version },
      },
      spec: { holderIdentity: identity, renewTime, leaseDurationSeconds: 60, leaseTransitions },
    },
    { fieldManager: 'davit-listener' },
  );
}
