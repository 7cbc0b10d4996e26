// Whose backups a database may begin with. A namespace that was deleted and made again with its name may be another tenant's, so a tenant is
// known by the uid of its namespace.

import type { KubeObject } from '../../lib/kube/client.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { BACKUPS_OF_ANNOTATION, ORIGIN_TENANT_ANNOTATION } from '../../schema/meta.ts';

/** Where the backups are, and which of them may be taken. */
export interface BackupSource {
  readonly namespace: string;
  /** uids of tenants of that name; each followed by a slash and the uid of a deployment where the backups of this one alone may be taken. */
  readonly tenants: readonly string[];
}

/** Id of the tenant whose deployment it is. A copy in a listener's cluster has the tenant of the hub. `uid`: of its namespace. */
export function tenantOf({ metadata }: AppDeployment, uid: string | undefined): string {
  return metadata.annotations?.[ORIGIN_TENANT_ANNOTATION] ?? uid ?? '';
}

/** The backups of a name in the deployment's own namespace. An administrator may have added earlier namespaces of its name. */
export function ownBackups(record: AppDeployment, place: KubeObject): BackupSource {
  const { name: namespace, uid, annotations } = place.metadata;
  return {
    namespace,
    tenants: [tenantOf(record, uid), ...tenantsNamed(annotations?.[BACKUPS_OF_ANNOTATION], namespace)],
  };
}

/** uids behind this name among entries NAME/UID. */
function tenantsNamed(entries: string | undefined, namespace: string): readonly string[] {
  return (entries ?? '').split(/[\s,]+/).flatMap((entry) => {
    const [name, uid, ...more] = entry.split('/');
    return name === namespace && uid && more.length === 0 ? [uid] : [];
  });
}
