// Hands a record over to the cluster that runs it: the finalizer, the work, and the revision that the cluster has reported.

import type { Observed } from '../../deploy/assess/observed.ts';
import { makeRevisionOnce } from '../../deploy/cluster/apply.ts';
import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { causesOf } from '../../deploy/cluster/failures.ts';
import { collectRevisions } from '../../deploy/prune-revisions.ts';
import { wantedRevision } from '../../deploy/record/wanted-revision.ts';
import type { Listener } from '../../kinds/listener.ts';
import type { ListenerWork } from '../../kinds/listener-work.ts';
import type { Settings } from '../../kinds/settings.ts';
import { Terminal } from '../../runtime/errors.ts';
import { ensureFinalizer } from './finalize.ts';
import { isSilent, reportedSnapshot } from './mirror.ts';
import { ensureWork } from './works.ts';

/** Writes what the listener's cluster reads, and the revisions that it has reported. */
export async function handOver(
  observed: Observed,
  { listener, work }: { readonly listener: Listener; readonly work: ListenerWork | undefined },
  { home, settings }: { readonly home: Cluster; readonly settings: Settings },
): Promise<void> {
  const { clusterId } = listener.status ?? {};
  const hubId = home.caches.namespaces.get({ name: 'kube-system' })?.metadata.uid;
  // Nothing is handed over before a cluster has enrolled.
  if (clusterId === undefined || hubId === undefined) return;
  const record = await ensureFinalizer(observed.record, home);
  if (record === undefined || work?.metadata.deletionTimestamp !== undefined) return;
  await ensureWork(record, work, { listener, clusterId, hubId, tenantId: observed.tenantId ?? '' }, home);
  const wanted = wantedRevision(record, observed.revisions, settings);
  const snapshot =
    'create' in wanted && !isSilent(listener) ? reportedSnapshot({ record, listener, work }, wanted.create) : undefined;
  if (snapshot === undefined || observed.revisions.some(({ spec }) => spec.id === snapshot.id)) return;
  const made = await makeRevisionOnce(record, snapshot, home);
  if ('reason' in made) {
    const [cause] = causesOf([made]);
    throw cause instanceof Error ? cause : new Terminal(made.message);
  }
  await collectRevisions(observed, settings.revisions.kept, home);
}
