// Whose backups a database may begin with: those of its own namespace, and those of another one that allows it. A namespace that was deleted and
// made again with its name may be another tenant's, so each is known by its uid.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { DatabaseDriver, DatabaseRestore } from '../../kinds/database.ts';
import {
  BACKUPS_FOR_ANNOTATION,
  BACKUPS_OF_ANNOTATION,
  ORIGIN_TENANT_ANNOTATION,
  TENANT_LABEL,
} from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

/** Where the backups are, and which of them may be taken. */
export interface BackupSource {
  readonly namespace: string;
  /** uids of tenants of that name; each followed by a slash and the uid of a deployment where the backups of this one alone may be taken. */
  readonly tenants: readonly string[];
  /** That of the deployment whose backups they are. Undefined where it is not known. */
  readonly driver?: DatabaseDriver | undefined;
}

interface Refused {
  /** Why no backup may be taken, for people. It does not tell whether there is a deployment of that name. */
  readonly refused: string;
}

export type Sourced = BackupSource | Refused;

/** A deployment with its namespace. */
export interface Placed {
  readonly record: AppDeployment;
  readonly place: KubeObject;
}

/** Id of the tenant whose deployment it is. A copy in a listener's cluster has the tenant of the hub. `uid`: of its namespace. */
export function tenantOf({ metadata }: AppDeployment, uid: string | undefined): string {
  return metadata.annotations?.[ORIGIN_TENANT_ANNOTATION] ?? uid ?? '';
}

/** `origin`: the deployment that `restore` names, if there is one. */
export function sourceOf(
  { record, place }: Placed,
  { from, namespace }: Pick<DatabaseRestore, 'from' | 'namespace'>,
  origin: Placed | undefined,
): Sourced {
  const { name, uid = '', annotations } = place.metadata;
  const driver = origin?.record.status?.databaseDriver;
  const own = tenantOf(record, uid);
  if (namespace === undefined) return { namespace: name, tenants: [own], driver };
  // An administrator has allowed them.
  const gone = tenantsNamed(annotations?.[BACKUPS_OF_ANNOTATION], namespace);
  if (namespace === name) return { namespace, tenants: [own, ...gone], driver };
  const isAllowed = origin !== undefined && consents(origin, { name, uid });
  if (isAllowed) return { namespace, tenants: [lifeOf(origin), ...gone], driver };
  if (gone.length > 0) return { namespace, tenants: gone };
  return {
    refused: `A backup of ${from} in namespace ${namespace} cannot be loaded into namespace ${name}: that deployment does not exist, or does not allow it. A person who may get the volumes of namespace ${namespace} can allow it: kubectl annotate appd ${from} -n ${namespace} ${BACKUPS_FOR_ANNOTATION}=${name}/${uid}`,
  };
}

function consents({ record, place }: Placed, { name, uid }: { readonly name: string; readonly uid: string }): boolean {
  const isLive = [record, place].every(({ metadata }) => metadata.deletionTimestamp === undefined);
  const isTenant = place.metadata.labels?.[TENANT_LABEL] === 'true';
  const named = tenantsNamed(record.metadata.annotations?.[BACKUPS_FOR_ANNOTATION], name);
  return isLive && isTenant && named.includes(uid);
}

function lifeOf({ record, place }: Placed): string {
  return `${tenantOf(record, place.metadata.uid)}/${record.metadata.uid}`;
}

/** uids behind this name among entries NAME/UID. */
function tenantsNamed(entries: string | undefined, namespace: string): readonly string[] {
  return (entries ?? '').split(/[\s,]+/).flatMap((entry) => {
    const [name, uid, ...more] = entry.split('/');
    return name === namespace && uid && more.length === 0 ? [uid] : [];
  });
}

/** Why a backup of a database of one driver is not loaded into one of another, for people. Undefined where none is known to differ. */
export function otherDriver(from: string, has: DatabaseDriver | undefined, wants: DatabaseDriver): string | undefined {
  return has === undefined || has === wants
    ? undefined
    : `The database of ${from} has driver ${has}, but this one has driver ${wants}. A backup can be loaded only into a database with the same driver: set source_config.database.driver of a new deployment to ${has}.`;
}

/** For people: which deployment a request names. */
export function originText({ from, namespace }: Pick<DatabaseRestore, 'from' | 'namespace'>): string {
  return namespace === undefined ? from : `${namespace}/${from}`;
}
