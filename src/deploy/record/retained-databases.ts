// The databases that deleted deployments have retained. Pure.

import type { DatabaseDriver } from '../../kinds/database.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../../kinds/meta.ts';
import { quantity } from '../../kinds/quantity.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { DatabaseOfRecord } from './database-move.ts';
import { databaseNumberIn } from './names.ts';

/** The used part of a PersistentVolumeClaim, or of a Cluster of CloudNativePG. */
interface Holder extends KubeObject {
  readonly spec?: {
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
    readonly storage?: { readonly size?: string };
    readonly instances?: number;
  };
}

export interface RetainedDatabase extends DatabaseOfRecord {
  /** Its claim or Cluster. */
  readonly holder: KubeObject;
  /** Name of the deployment that retained it. */
  readonly deployment: string;
  /** uid of that deployment. */
  readonly origin: string;
  /** Size of all its volumes. */
  readonly sizeBytes: number;
}

/** Requested storage of a claim, or of an instance of a Cluster, in bytes. */
export function storageOf({ kind, spec }: Holder): number {
  const asked = kind === 'Cluster' ? spec?.storage?.size : spec?.resources?.requests?.['storage'];
  return Number(quantity(asked ?? '0'));
}

/** What runs the data of this claim or Cluster. */
export function driverOfHolder({ kind }: KubeObject): DatabaseDriver {
  return kind === 'Cluster' ? 'cloudnative-pg' : 'pod';
}

/**
 * Those among `objects`, the oldest first. `records`: uids of all deployments. A caller that lists lists the objects first: a record is made
 * before its database.
 */
export function retainedDatabases(
  objects: readonly Holder[],
  records: ReadonlySet<string>,
): readonly RetainedDatabase[] {
  const found = objects.flatMap((holder): RetainedDatabase[] => {
    const { name, labels = {}, deletionTimestamp } = holder.metadata;
    const { [DEPLOYMENT_LABEL]: deployment, [DEPLOYMENT_UID_LABEL]: origin, [COMPONENT_LABEL]: component } = labels;
    if (deployment === undefined || origin === undefined || component !== 'postgres') return [];
    const number = databaseNumberIn(deployment, name);
    if (number === undefined || deletionTimestamp !== undefined || records.has(origin)) return [];
    const instances = holder.kind === 'Cluster' ? (holder.spec?.instances ?? 1) : 1;
    const driver = driverOfHolder(holder);
    return [{ holder, deployment, origin, number, driver, sizeBytes: storageOf(holder) * instances }];
  });
  return found.toSorted((a, b) => (ageOrder(a) < ageOrder(b) ? -1 : 1));
}

function ageOrder({ holder: { metadata } }: RetainedDatabase): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
}
