// Collects the observed state of a build (decide/build/observed.ts) from the watch caches.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import { isUnderWay } from '../../api/build.ts';
import { BUILD_LABEL, DEPLOYMENT_LABEL, TENANT_LABEL } from '../../api/meta.ts';
import type { Settings } from '../../api/settings.ts';
import type { ObservedBuild, ObservedJob } from '../../decide/build/observed.ts';
import { pausedBy } from '../../decide/pause.ts';
import { buildName } from '../../record/names.ts';
import { imageRepository, type RegistrySettings, type TenantIdentity } from '../../record/registry-names.ts';
import { revisionsOf } from '../../record/revisions.ts';
import { type BuildCaches, type Caches, REVISION_ID } from '../shared/caches.ts';

export interface BuildToDo extends ObservedBuild {
  readonly tenant: TenantIdentity;
}

/** A build without a record, revision or tenant, and its Job if there is one. */
export interface Orphan {
  readonly orphan: ObservedJob | undefined;
}

/**
 * Returns the build of the revision with this id (lower case) in `namespace`, or an Orphan if its record, revision or
 * tenant is gone.
 */
export function observeBuild(
  namespace: string,
  id: string,
  {
    caches,
    builds,
    settings,
    registry,
  }: {
    readonly caches: Caches;
    readonly builds: BuildCaches;
    readonly settings: Settings;
    readonly registry: RegistrySettings;
  },
): BuildToDo | Orphan {
  const job = builds.jobs.get({ namespace: settings.builds.namespace, name: buildName(id) });
  const [revision] = caches.revisions.byIndex(namespace, REVISION_ID, id);
  const record = revision && recordOf(revision, caches);
  const tenantNamespace = caches.namespaces.get({ name: namespace });
  const tenantId =
    tenantNamespace?.metadata.labels?.[TENANT_LABEL] === 'true' ? tenantNamespace.metadata.uid : undefined;
  if (!revision || !record || record.metadata.deletionTimestamp !== undefined || tenantId === undefined)
    return { orphan: job };
  const tenant = { namespace, tenantId };
  const pods = builds.pods
    .byLabel(settings.builds.namespace, BUILD_LABEL, id)
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1));
  return {
    revision,
    record,
    tenant,
    siblings: revisionsOf(record, caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, record.metadata.name)),
    job,
    pod: pods[0],
    // Lists all revisions, so it is done only for a queued build.
    others:
      revision.status?.build?.phase === 'Queued'
        ? caches.revisions.list().filter(({ status }) => isUnderWay(status?.build))
        : [],
    repository: imageRepository(registry, tenant, record.metadata.name),
    settings: settings.builds,
    isPaused: pausedBy(record, settings) !== undefined,
  };
}

function recordOf({ metadata, spec }: AppRevision, caches: Caches): AppDeployment | undefined {
  const { namespace = '' } = metadata;
  const record = caches.records.get({ namespace, name: spec.deploymentName });
  return record?.metadata.uid === spec.deploymentUid ? record : undefined;
}
