// What the store has of all tenants, for an administrator: also of namespaces that are gone. Pure.

import type { StoredObject } from '../../runtime/outbound/object-store.ts';
import { backupsAmong, folderOf } from './archive.ts';

/** The complete backups of one tenant's deployments of a name. */
export interface StoredOf {
  readonly namespace: string;
  /** uid of the namespace. */
  readonly tenant: string;
  readonly deployment: string;
  readonly count: number;
  /** Name of the newest. */
  readonly newest: string;
  readonly sizeBytes: number;
}

/** Sorted by namespace, its uid and deployment. Objects that are of no backup are left out. */
export function storedByTenant(objects: readonly StoredObject[], prefix: string): readonly StoredOf[] {
  const named = Map.groupBy(objects, ({ key }) =>
    key
      .slice(prefix.length + 1)
      .split('/', 2)
      .join('/'),
  );
  const all = [...named].flatMap(([name, of]) => {
    const [namespace = '', deployment = ''] = name.split('/');
    const from = { prefix, namespace, deployment };
    const keys = of.map(({ key }) => key);
    const complete = backupsAmong(keys, from).filter(({ isComplete }) => isComplete);
    return [...Map.groupBy(complete, ({ owner }) => owner.tenant)].map(([tenant, own]): StoredOf => {
      const folder = `${folderOf(from)}${tenant}/`;
      const sizeBytes = of.reduce((sum, { key, size }) => sum + (key.startsWith(folder) ? size : 0), 0);
      return { namespace, tenant, deployment, count: own.length, newest: own[0]?.name ?? '', sizeBytes };
    });
  });
  const order = ({ namespace, tenant, deployment }: StoredOf): string => `${namespace}/${tenant}/${deployment}`;
  return all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}
