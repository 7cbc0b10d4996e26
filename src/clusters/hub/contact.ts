// Whether a listener's cluster reports, by when this process saw its Lease change. The times in the Lease are another clock's
// and are not used. mirror.ts reports a silent cluster in its records (ListenerSilent).

import type { ILease } from 'kubernetes-models/coordination.k8s.io/v1/Lease';
import { type ConditionInput, conditionOf, mergeConditions, rfc3339 } from '../../kinds/conditions.ts';
import type { Listener } from '../../kinds/listener.ts';
import { ACCEPT_CLUSTER_ANNOTATION, AGENT_VERSION_ANNOTATION, CLUSTER_ID_ANNOTATION } from '../../kinds/meta.ts';
import { present } from '../../runtime/json-value.ts';
import type { Read } from '../../runtime/kube/client.ts';

export type Lease = Read<ILease>;

export interface Heard {
  readonly lease: Lease | undefined;
  /** Since this process last saw a renewal; undefined if it has not seen any. */
  readonly renewedMsAgo: number | undefined;
  /** Since this process began to watch the Lease. */
  readonly watchedForMs: number;
  readonly silentAfterMs: number;
  /** Whether agents take the Lease from each other. */
  readonly takenInTurns: boolean;
}

export interface Contact {
  readonly connected: ConditionInput;
  /** The cluster that is enrolled; undefined before the first contact. */
  readonly clusterId: string | undefined;
  /** Until the listener counts as silent if nothing is heard; undefined if it does already. */
  readonly silentInMs: number | undefined;
}

export function contactOf(listener: Listener, heard: Heard): Contact {
  const { lease, renewedMsAgo, watchedForMs, silentAfterMs, takenInTurns } = heard;
  const seen = lease?.metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  const accepted = listener.metadata.annotations?.[ACCEPT_CLUSTER_ANNOTATION];
  const clusterId = seen !== undefined && seen === accepted ? seen : (listener.status?.clusterId ?? seen);
  const { name } = listener.metadata;
  const no = (reason: string, message: string): Contact => ({
    connected: { type: 'Connected', status: 'False', reason, message },
    clusterId,
    silentInMs: undefined,
  });
  if (seen === undefined)
    return clusterId === undefined
      ? no('NeverConnected', `No cluster has connected yet. Enroll one: kubectl davit listener join ${name}.`)
      : no('Silent', SILENT);
  if (seen !== clusterId)
    return no(
      'AnotherCluster',
      `Cluster ${seen} is rejected: it connects with the credentials of the enrolled cluster ${clusterId}. If it replaces that cluster, annotate the Listener with ${ACCEPT_CLUSTER_ANNOTATION}=${seen}. Otherwise revoke the credentials: kubectl davit listener revoke ${name}.`,
    );
  // A copy of a whole cluster has its id too.
  if (takenInTurns)
    return no(
      'SeveralAgents',
      `Several agents take turns to report with the credentials of cluster ${clusterId}, the last of them ${lease?.spec?.holderIdentity}: a copy of the cluster, or a second installation in it. Stop all but one, or revoke the access of all: kubectl davit listener revoke ${name}.`,
    );
  // A restarted controller has seen no renewal yet: what was said before holds until the time is up.
  const before = conditionOf(listener.status?.conditions, 'Connected');
  const silentInMs = silentAfterMs - (renewedMsAgo ?? watchedForMs);
  if (silentInMs <= 0 || (renewedMsAgo === undefined && before?.status !== 'True'))
    return { ...no('Silent', SILENT), ...(silentInMs > 0 && { silentInMs }) };
  return {
    connected: { type: 'Connected', status: 'True', reason: 'Reporting', message: 'The cluster reports.' },
    clusterId,
    silentInMs,
  };
}

const SILENT =
  'The cluster has stopped reporting. Check the pod of davit-listener there, and its connection to this API server. Its deployments continue to run.';

/** lastSeenAt is written when the contact begins or ends, and otherwise this often. */
const SEEN_EVERY_MS = 5 * 60_000;

export function listenerStatus(
  listener: Listener,
  { contact, heard, namespace, records }: { contact: Contact; heard: Heard; namespace: string; records: number },
  now: Date,
): NonNullable<Listener['status']> {
  const { status: before, metadata } = listener;
  const generation = metadata.generation ?? 1;
  const { lease } = heard;
  const isConnected = contact.connected.status === 'True';
  const epoch = Math.max(before?.epoch ?? 0, lease?.spec?.leaseTransitions ?? 0);
  const version = isConnected
    ? (lease?.metadata.annotations?.[AGENT_VERSION_ANNOTATION]?.slice(0, 64) ?? before?.version)
    : before?.version;
  const lastSeenAt = seenAt(listener, contact, heard, now);
  return {
    observedGeneration: generation,
    ...present({ version, lastSeenAt, clusterId: contact.clusterId }),
    epoch,
    namespace,
    records,
    conditions: mergeConditions(before?.conditions, [contact.connected], generation, now),
  };
}

function seenAt({ status }: Listener, { connected }: Contact, { renewedMsAgo }: Heard, now: Date): string | undefined {
  const before = status?.lastSeenAt;
  if (renewedMsAgo === undefined || connected.reason === 'AnotherCluster') return before;
  const at = now.getTime() - renewedMsAgo;
  const isSame = conditionOf(status?.conditions, 'Connected')?.status === connected.status;
  const isRecent = before !== undefined && at - Date.parse(before) < SEEN_EVERY_MS;
  // After the contact has ended, the time of its end stays.
  if (before !== undefined && isSame && (isRecent || connected.status === 'False')) return before;
  return rfc3339(new Date(at));
}
