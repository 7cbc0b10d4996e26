// What holds of migrations: one Job a revision, one at a time, and no rollout before its success.

import { MIGRATION_CONTAINER } from '../../../src/kinds/meta.ts';
import type { Seen, Sighting } from './object-history.ts';

/** The first thing that is wrong, or nothing. `history` is in the order of the writes. */
export function migratedWrongly(history: readonly Sighting[]): string | undefined {
  const asking = new Map<string, boolean>();
  /** By revision: the uid of its Job. */
  const jobs = new Map<string, string>();
  const succeeded = new Set<string>();
  /** By record: the Jobs that have not ended. */
  const running = new Map<string, Set<string>>();
  for (const { kind, object, gone } of history) {
    const { name, uid = '', labels = {} } = object.metadata;
    const revision = labels['davit.dev/revision'] ?? '';
    if (kind === 'AppRevision') asking.set(object.spec.id, migrates(object));
    if (kind === 'Job' && labels['davit.dev/component'] === 'migrate') {
      const before = jobs.get(revision);
      if (before !== undefined && before !== uid) return `two Jobs migrate for revision ${revision}`;
      jobs.set(revision, uid);
      const mine = running.get(labels['davit.dev/deployment-uid'] ?? '') ?? new Set();
      running.set(labels['davit.dev/deployment-uid'] ?? '', mine);
      if (hasEnded(object, 'Complete')) succeeded.add(revision);
      if (gone || succeeded.has(revision) || hasEnded(object, 'Failed')) mine.delete(uid);
      else mine.add(uid);
      if (mine.size > 1) return `Job ${name} migrates beside another`;
    }
    // It is over when Davit's own container has ended: the Job hears of that later, and not before a sidecar of others ends.
    if (kind === 'Pod' && labels['davit.dev/component'] === 'migrate' && exitCodeOf(object) === 0) {
      succeeded.add(revision);
      running.get(labels['davit.dev/deployment-uid'] ?? '')?.delete(jobs.get(revision) ?? '');
    }
    const rolled = kind === 'Deployment' ? object.spec.template.metadata.labels?.['davit.dev/revision'] : undefined;
    if (!gone && rolled !== undefined && asking.get(rolled) === true && !succeeded.has(rolled))
      return `Deployment ${name} has pods of revision ${rolled}, whose migration has not succeeded`;
  }
  return undefined;
}

function migrates({ spec }: Seen): boolean {
  return spec.requested.runtime?.migrate !== undefined && spec.resolved.migrated !== true;
}

function exitCodeOf({ status }: Seen): number | undefined {
  const containers = (status?.containerStatuses ?? []) as readonly {
    readonly name: string;
    readonly state?: { readonly terminated?: { readonly exitCode: number } };
  }[];
  return containers.find(({ name }) => name === MIGRATION_CONTAINER)?.state?.terminated?.exitCode;
}

function hasEnded({ status }: Seen, how: string): boolean {
  const conditions = (status?.conditions ?? []) as readonly { readonly type: string; readonly status: string }[];
  return conditions.some(({ type, status: is }) => type === how && is === 'True');
}
