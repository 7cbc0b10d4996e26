// Which of several databases that a deployment retains is the one that it used last. Its revisions say so, and go with it, so the teardown
// marks the Secret of that database. The next deployment of the name adopts the marked one (`namesNow` of assess/observed.ts). After an
// external one, the mark says that: what is retained is older, and is adopted by nobody who does not know it.

import { USED_LAST_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { databasesOfName, numberedDatabases } from '../assess/database-move.ts';
import { keepsDatabase, type Observed } from '../assess/observed.ts';
import { isRestored } from '../assess/restore.ts';
import { driverOfRevisions } from '../record/database-driver.ts';
import { databaseNumberOf, databaseOf, wasNeverLoaded } from '../record/database-move.ts';
import { uidOf } from '../record/metadata.ts';
import { namesExternalPostgres } from '../record/secret-references.ts';
import { EXTERNAL_DATABASE } from '../record/used-last.ts';

/** A Secret to mark, and the value of its annotation. */
export interface UsedLast {
  readonly secret: KubeObject;
  readonly value: string;
}

/**
 * Undefined where it is marked, where nothing is retained, and for the only database of the name, which is the record's own. A database whose
 * backup was never loaded is empty, so the one before counts.
 */
export function usedLastOf(observed: Observed): UsedLast | undefined {
  const { record, revisions } = observed;
  if (!keepsDatabase(observed)) return undefined;
  const uid = uidOf(record);
  const own = numberedDatabases(observed);
  const secrets = new Map(own.flatMap(({ number, object }) => (object.kind === 'Secret' ? [[number, object]] : [])));
  const isMarked = [...secrets.values()].some(({ metadata }) =>
    metadata.annotations?.[USED_LAST_ANNOTATION]?.startsWith(`${uid} `),
  );
  const isOut = wasLastOutside(observed);
  // An earlier deployment may have left others.
  const isAlone = own.length === databasesOfName(observed).length;
  const isPlain = isAlone && !isOut && [...secrets.keys()].every((number) => number === 0);
  if (isMarked || isPlain) return undefined;
  const [newest] = revisions;
  const isEmpty = (number: number): boolean =>
    wasNeverLoaded(revisions, number) ||
    (newest !== undefined && databaseNumberOf(newest) === number && number > 0 && !isRestored(observed, newest));
  // The Secret is all that is known of a database that is older than the history of revisions.
  const inOrder = [...revisions.map(databaseNumberOf), ...[...secrets.keys()].toSorted((a, b) => b - a)];
  const number = inOrder.find((one) => secrets.has(one) && !isEmpty(one));
  const secret = number === undefined ? undefined : secrets.get(number);
  const used = revisions.find((revision) => databaseNumberOf(revision) === number && databaseOf(revision));
  const driver = (used && databaseOf(used)?.driver) ?? driverOfRevisions(revisions) ?? 'pod';
  return secret && { secret, value: `${uid} ${driver}${isOut ? ` ${EXTERNAL_DATABASE}` : ''}` };
}

/** Whether the revision that runs names an external database. */
function wasLastOutside({ record: { status }, revisions }: Observed): boolean {
  const active = revisions.find(({ spec }) => spec.id === status?.activeRevisionId) ?? revisions[0];
  return active !== undefined && databaseOf(active) === undefined && namesExternalPostgres(active.spec.requested);
}
