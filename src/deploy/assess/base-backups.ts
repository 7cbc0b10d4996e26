// The base backups of a record's archive, as the Backups of CloudNativePG say. Its plugin deletes a Backup that retention has deleted from
// the store.

import { rfc3339 } from '../../kinds/conditions.ts';
import type { BaseBackups } from '../../kinds/database.ts';
import { MOST_LISTED } from '../../kinds/database-names.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { databaseNumberIn } from '../record/names.ts';

/** The used part of postgresql.cnpg.io/v1 Backup. */
export interface BaseBackup extends KubeObject {
  readonly spec?: { readonly cluster?: { readonly name?: string } };
  readonly status?: {
    readonly phase?: string;
    readonly error?: string;
    /** RFC 3339. */
    readonly startedAt?: string;
    readonly stoppedAt?: string;
  };
}

/** `all`: Backups of the Clusters of the record of this name. Undefined where none is complete. */
export function baseBackupsOf(recordName: string, all: readonly BaseBackup[]): BaseBackups | undefined {
  const complete = all.flatMap(({ metadata: { name }, spec, status }) => {
    const { phase, startedAt = '', stoppedAt = startedAt } = status ?? {};
    const number = databaseNumberIn(recordName, spec?.cluster?.name ?? '');
    const taken = Date.parse(stoppedAt);
    if (phase !== 'completed' || number === undefined || Number.isNaN(taken)) return [];
    return [{ name, takenAt: rfc3339(new Date(taken)), number }];
  });
  if (complete.length === 0) return undefined;
  const newest = complete.toSorted((a, b) => (`${a.takenAt} ${a.name}` < `${b.takenAt} ${b.name}` ? 1 : -1));
  return { count: complete.length, newest: newest.slice(0, MOST_LISTED) };
}
