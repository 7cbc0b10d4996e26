// Collects the observed state of a build (build/observed.ts) from the watch caches.

import type { Job } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import { pausedBy } from '../deploy/assess/pause.ts';
import { BUILD_IS, type Caches, ownRevisions, REVISION_ID } from '../deploy/cluster/caches.ts';
import { isOwnedBy } from '../deploy/record/metadata.ts';
import { buildName } from '../deploy/record/names.ts';
import { imageRepository, type RegistrySettings, type TenantIdentity } from '../deploy/record/registry-names.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { BUILD_LABEL, TENANT_LABEL } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import { youngestFirst } from '../runtime/kube/youngest-first.ts';
import type { BuildCaches } from './caches.ts';
import type { ObservedBuild } from './observed.ts';
import { type Contender, nextTurns } from './turns.ts';

export interface BuildToDo extends ObservedBuild {
  readonly tenant: TenantIdentity;
}

/** A build without a record, revision or tenant, and its Job if there is one. */
export interface Orphan {
  readonly orphan: Job | undefined;
}

export interface Observation {
  readonly caches: Caches;
  readonly builds: BuildCaches;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
}

/**
 * Returns the build of the revision with this id (lower case) in `namespace`, or an Orphan if its record, revision or
 * tenant is gone.
 */
export function observeBuild(
  namespace: string,
  id: string,
  { caches, builds, settings, registry }: Observation,
): BuildToDo | Orphan {
  const job = builds.jobs.get({ namespace: settings.builds.namespace, name: buildName(id) });
  const [revision] = caches.revisions.byIndex(namespace, REVISION_ID, id);
  const record = revision && recordOf(revision, caches);
  const tenantId = tenantIdOf(namespace, caches);
  if (!revision || !record || record.metadata.deletionTimestamp !== undefined || tenantId === undefined)
    return { orphan: job };
  const tenant = { namespace, tenantId };
  // A Job of the same name that was deleted may still have its pod.
  const isOwn = (pod: Pod): boolean =>
    !job || pod.metadata.ownerReferences === undefined || isOwnedBy(pod, job.metadata.uid);
  const pods = builds.pods.byLabel(settings.builds.namespace, BUILD_LABEL, id).filter(isOwn);
  return {
    revision,
    record,
    tenant,
    siblings: ownRevisions(record, caches),
    job,
    pod: youngestFirst(pods)[0],
    others: revision.status?.build?.phase === 'Queued' ? buildsUnderWay(caches) : [],
    contenderOf: (other) => contenderOf(other, { caches, builds, settings }),
    repository: imageRepository(registry, tenant, record.metadata.name),
    settings: settings.builds,
    isPaused: pausedBy(record, settings) !== undefined,
  };
}

/** All builds that are queued or run. */
export function buildsUnderWay({ namespaces, revisions }: Caches): AppRevision[] {
  return namespaces.list().flatMap(({ metadata: { name } }) => revisions.byIndex(name, BUILD_IS, 'under way'));
}

/** The queued builds whose turn it is. */
export function turnsNow(observed: Pick<Observation, 'caches' | 'builds' | 'settings'>): AppRevision[] {
  const all = buildsUnderWay(observed.caches);
  const turns = new Set(
    nextTurns(all, observed.settings.builds.concurrency, (revision) => contenderOf(revision, observed)),
  );
  return all.filter(({ spec }) => turns.has(spec.id));
}

function contenderOf(
  revision: AppRevision,
  { caches, builds, settings }: Pick<Observation, 'caches' | 'builds' | 'settings'>,
): Contender {
  const { namespace = '' } = revision.metadata;
  const record = tenantIdOf(namespace, caches) === undefined ? undefined : recordOf(revision, caches);
  const isThere = record !== undefined && record.metadata.deletionTimestamp === undefined;
  return {
    record: isThere ? record : undefined,
    siblings: isThere ? ownRevisions(record, caches) : [],
    job: builds.jobs.get({ namespace: settings.builds.namespace, name: buildName(revision.spec.id) }),
    isPaused: isThere && pausedBy(record, settings) !== undefined,
  };
}

/** The uid of a namespace that is a tenant's. */
function tenantIdOf(namespace: string, { namespaces }: Caches): string | undefined {
  const { metadata } = namespaces.get({ name: namespace }) ?? {};
  return metadata?.labels?.[TENANT_LABEL] === 'true' ? metadata.uid : undefined;
}

function recordOf({ metadata, spec }: AppRevision, caches: Caches): AppDeployment | undefined {
  const { namespace = '' } = metadata;
  const record = caches.records.get({ namespace, name: spec.deploymentName });
  return record?.metadata.uid === spec.deploymentUid ? record : undefined;
}
