// Reads records: from the watch cache, and from the API server where another replica may have just created one.
// A record that is missing, hidden from the caller or another tenant's is the same 404.

import type { RequestContext } from '../../api/auth.ts';
import type { Tenant } from '../../api/authorization.ts';
import { synced } from '../../api/caches.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { undefinedIfHidden } from '../../api/undefined-if-hidden.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import { HttpError } from '../../runtime/http/http-error.ts';

export type Reading = Pick<FacadeContext, 'caches' | 'remember' | 'freshList'>;

export function cachedRevisions(
  { caches }: Pick<Reading, 'caches'>,
  { metadata }: AppDeployment,
): readonly AppRevision[] {
  return caches.revisions.byLabel(metadata.namespace ?? '', DEPLOYMENT_LABEL, metadata.name);
}

export function needCaches({ caches: { records, revisions } }: Reading): void {
  synced(records, 'deployments');
  synced(revisions, 'revisions');
}

function inCache({ caches }: Reading, { namespace }: Tenant, id: string): AppDeployment | undefined {
  const record = caches.records.byUid(id.toLowerCase());
  return record?.metadata.namespace === namespace ? record : undefined;
}

/** Throws the same HttpError 404 for a missing deployment and another tenant's. */
export async function findRecord(
  reading: Reading,
  { caller, tenant }: RequestContext,
  id: string,
): Promise<AppDeployment> {
  needCaches(reading);
  const known = inCache(reading, tenant, id);
  if (known !== undefined) return known;
  const uid = id.toLowerCase();
  const found = await undefinedIfHidden(async () => {
    const { namespace } = tenant;
    const all = await reading.freshList(`${caller.hash} ${namespace}`, () =>
      caller.kube.listAll(APP_DEPLOYMENTS, { namespace, metadataOnly: true }),
    );
    const name = all.items.find(({ metadata }) => metadata.uid === uid)?.metadata.name;
    return name === undefined ? undefined : caller.kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name });
  });
  if (found?.metadata.uid !== uid) throw notFound(id);
  reading.remember(found);
  return found;
}

export function notFound(id: string): HttpError {
  return new HttpError(404, `Deployment ID ${id} not found.`);
}
