// I11 of databases: what a revision uses goes after its pods, no two databases of a record are used at once, and none before it has what it
// begins with.

import { names } from '../../../src/deploy/record/names.ts';
import { MIGRATION, RESTORE, RESTORE_CONTAINER } from '../../../src/kinds/meta.ts';
import type { Seen, Sighting } from './object-history.ts';

/** Names of what operations were asked to delete, and of next databases of operations that led back: that is no loss. */
export function deletedByOperations(history: readonly Sighting[]): ReadonlySet<string> {
  return new Set(
    history.flatMap(({ kind, object }) => {
      if (kind !== 'DatastoreOperation') return [];
      const { deployment, deletePrevious } = object.spec;
      const { phase, move } = object.status ?? {};
      const isTakenBack = move?.backup !== undefined && (phase === 'Returning' || phase === 'Failed');
      const numbers = [deletePrevious?.number, isTakenBack ? move.to.number : undefined];
      return numbers.flatMap((number) => (number === undefined ? [] : [names(deployment, number).postgres]));
    }),
  );
}

interface Resolved {
  readonly postgres?: object;
  readonly redis?: object;
  readonly movedDatabase?: { readonly number: number; readonly backup?: string };
}

/** What the objects of the database of a revision are called, after the name of the record. */
export function databaseSuffix({ movedDatabase }: Resolved): string {
  const number = movedDatabase?.number ?? 0;
  return number === 0 ? '--postgres' : `---pg${number}`;
}

/** A pod of a revision that has this store of its own. */
export function userOf(before: readonly Sighting[], store: string): Seen | undefined {
  const having = new Set<string>();
  const pods = new Map<string, Seen>();
  for (const { kind, object, gone } of before) {
    const { uid = '' } = object.metadata;
    if (kind === 'AppRevision' && hasStore(object.spec.resolved, store)) having.add(object.spec.id);
    if (kind !== 'Pod') continue;
    if (gone) pods.delete(uid);
    else pods.set(uid, object);
  }
  return [...pods.values()].find(({ metadata }) => having.has(metadata.labels?.['davit.dev/revision'] ?? ''));
}

function hasStore(resolved: Resolved, store: string): boolean {
  if (store.endsWith('--redis')) return resolved.redis !== undefined;
  return resolved.postgres !== undefined && store.endsWith(databaseSuffix(resolved));
}

interface User {
  readonly name: string;
  readonly record: string;
  readonly number: number;
}

/** The first pod that began on a database beside a pod on another one, or before that had its backup. */
export function usedWrongly(history: readonly Sighting[]): string | undefined {
  const databases = new Map<string, Resolved['movedDatabase']>();
  /** Names of the Jobs that have loaded their backup. */
  const loaded = new Set<string>();
  const users = new Map<string, User>();
  for (const { kind, object, gone } of history) {
    const { name, uid = '', labels = {} } = object.metadata;
    if (kind === 'AppRevision') databases.set(object.spec.id, object.spec.resolved.movedDatabase);
    if (kind !== 'Pod') continue;
    if (labels['davit.dev/component'] === RESTORE && hasLoaded(object))
      loaded.add(labels['batch.kubernetes.io/job-name'] ?? '');
    const revision = labels['davit.dev/revision'] ?? '';
    if (!databases.has(revision) || !isOfApplication(labels['davit.dev/component'])) continue;
    if (gone || ['Succeeded', 'Failed'].includes(object.status?.phase)) {
      users.delete(uid);
      continue;
    }
    const { number = 0, backup } = databases.get(revision) ?? {};
    const user = { name, number, record: labels['davit.dev/deployment-uid'] ?? '' };
    const other = [...users.values()].find((one) => one.record === user.record && one.number !== number);
    if (other) return `pod ${name} uses database ${number} while pod ${other.name} uses database ${other.number}`;
    const job = `${labels['davit.dev/deployment']}---pg${number}-restore`;
    if (backup !== undefined && !loaded.has(job))
      return `pod ${name} uses database ${number}, into which backup ${backup} was not loaded`;
    users.set(uid, user);
  }
  return undefined;
}

const OF_APPLICATION: ReadonlySet<string> = new Set(['server', 'queue', 'orchestrator', 'executor', MIGRATION]);

function isOfApplication(component = ''): boolean {
  return OF_APPLICATION.has(component);
}

function hasLoaded({ status }: Seen): boolean {
  const containers = (status?.containerStatuses ?? []) as readonly {
    readonly name: string;
    readonly state?: { readonly terminated?: { readonly exitCode: number } };
  }[];
  return containers.find(({ name }) => name === RESTORE_CONTAINER)?.state?.terminated?.exitCode === 0;
}
