// The database of a record on the shared server: what it still needs, whether it answers, and what is left of it for a deletion.

import type { AppDeploymentStatus } from '../../schema/app-deployment.ts';
import type { AppRevision, SharedDatabase } from '../../schema/app-revision.ts';
import { conditionOf } from '../../schema/conditions.ts';
import type { SharedDatabaseStatus } from '../../schema/database.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  EMPTY_DATABASE_ANNOTATION,
} from '../../schema/meta.ts';
import { driverOfRevisions } from '../record/database-driver.ts';
import { databaseOf, moveNamed } from '../record/database-move.ts';
import { uidOf } from '../record/metadata.ts';
import { databaseNumberIn } from '../record/names.ts';
import {
  forgottenSecret,
  type Next,
  nextForGone,
  nextForThere,
  type ServerTrouble,
  type SharedView,
  sharedDatabaseName,
  sharedMark,
  type WantedThere,
} from '../record/shared-database.ts';
import { isOfBeforeExternal, OF_BEFORE_EXTERNAL } from '../record/used-last.ts';
import { howToLeave } from './database-cluster.ts';
import { type Entry, entryOf, fail, pass, stalled } from './entry.ts';
import {
  type ActionFailure,
  childOf,
  failureAt,
  isOurs,
  isServing,
  type Observed,
  type ObservedChildren,
} from './observed.ts';

/** The newest that a revision names: a database stays where it was made. `revisions`: newest first. */
export function sharedDatabaseOf(revisions: readonly AppRevision[]): SharedDatabase | undefined {
  return revisions.find(({ spec }) => spec.resolved.sharedDatabase)?.spec.resolved.sharedDatabase;
}

/** Name of the database that the record has on the shared server, or had. */
export function sharedNameOf(record: Observed['record'], revisions: readonly AppRevision[]): string | undefined {
  const shared = sharedDatabaseOf(revisions);
  return record.status?.sharedDatabase?.name ?? (shared && sharedPlaceOf(record, shared).name);
}

export function sharedPlaceOf(
  record: Observed['record'],
  { installation, host, port }: SharedDatabase,
): SharedDatabaseStatus {
  return { host, port, name: sharedDatabaseName(installation, uidOf(record)) };
}

export function sharedWantedOf(observed: ObservedChildren, shared: SharedDatabase, reserved: number): WantedThere {
  const { record, names } = observed;
  const secret = childOf(observed, 'Secret', names.postgresSecret);
  return {
    name: sharedDatabaseName(shared.installation, uidOf(record)),
    mark: sharedMark(uidOf(record)),
    connections: shared.connections,
    reserved,
    hasPassword: secret !== undefined && isOurs(secret, observed),
    ...(record.status?.sharedDatabase?.made === true && !isGivenUp(observed) && { wasMade: true }),
  };
}

/** Whether a person has said that its data is given up, and no empty one has taken its place yet. */
function isGivenUp({ record }: Pick<ObservedChildren, 'record'>): boolean {
  return record.metadata.annotations?.[EMPTY_DATABASE_ANNOTATION] === givenUpText(record);
}

/** A value of the annotation counts for one loss: the next one has the next number, because the database keeps its name. */
function givenUpText({ metadata: { uid = '' }, status }: Observed['record']): string {
  return `${uid}-shared-${status?.sharedDatabase?.givenUp ?? 0}`;
}

/** What the database of this revision needs next, by the last look. Undefined if nobody could look. */
export function sharedNextOf(
  observed: ObservedChildren,
  shared: SharedDatabase,
  view: SharedView | undefined,
): Next | undefined {
  return view?.is === 'seen' ? nextForThere(view.view, sharedWantedOf(observed, shared, view.reserved)) : undefined;
}

/** Whether the database is there, with all that it needs, by the last look. */
export function sharedAnswers(observed: Observed, revision: AppRevision): boolean {
  const { sharedDatabase } = revision.spec.resolved;
  const next = sharedDatabase && sharedNextOf(observed, sharedDatabase, observed.sharedDatabase);
  return next?.is === 'done' || next?.is === 'kept';
}

export const SHARED_SERVER_MISSING =
  'This platform has no shared PostgreSQL server (settings.database.shared). Have it set; the deployment then continues automatically.';

/** Whether it answers, and if not, why. */
export function checkShared(observed: Observed, revision: AppRevision, failures: readonly ActionFailure[]): Entry {
  const { sharedDatabase: view, record } = observed;
  const { sharedDatabase: shared } = revision.spec.resolved;
  const before = conditionOf(record.status?.conditions, 'DatabaseReady');
  if (view?.is === 'unconfigured') return stalled('SharedServerUnusable', SHARED_SERVER_MISSING);
  if (!shared || !view || view.is === 'unknown')
    // This process has not looked yet; the one before it had.
    return before?.status === 'True' && isServing(observed)
      ? pass('Answering', before.reason === 'Answering' ? before.message : ANSWERS)
      : fail('Starting', 'The shared server is being asked for the database.');
  if (view.is === 'troubled') return ofTrouble(view.trouble, observed);
  const next = sharedNextOf(observed, shared, view);
  const lost = failures.find(
    ({ reason, ref }) => reason === 'PasswordMissing' && ref.name === observed.names.postgresSecret,
  );
  if (lost)
    return isServing(observed) ? pass(lost.reason, `${ANSWERS} ${lost.message}`) : stalled(lost.reason, lost.message);
  switch (next?.is) {
    case 'done':
      return pass('Answering', ANSWERS);
    case 'kept':
      return pass(
        'SharedServerFull',
        `${ANSWERS} Its role keeps its limit of ${next.connections} connections. ${next.trouble.message}`,
      );
    case 'refused':
      return ofTrouble(next.trouble, observed);
    default: {
      const failure = failureAt({ kind: 'Secret', name: observed.names.postgresSecret }, failures);
      if (failure && failure.reason !== 'Starting') return entryOf(failure);
      return view.trouble
        ? ofTrouble(view.trouble, observed)
        : fail('Starting', 'The database is being made on the shared server.');
    }
  }
}

const ANSWERS = 'PostgreSQL answers: the database is on the shared server.';

/** What a server that cannot be reached may do again automatically; anything else waits for a person. The pods that serve have connected. */
function ofTrouble({ reason, message }: ServerTrouble, observed: Observed): Entry {
  const entry = reason === 'SharedServerUnreachable' ? fail(reason, message) : stalled(reason, message);
  return isServing(observed) && observed.record.status?.sharedDatabase ? { ...entry, serving: true } : entry;
}

/** A failure that keeps pods from being started, because their Secret is not there. */
export function sharedFailure(
  observed: ObservedChildren,
  reason: ActionFailure['reason'],
  message: string,
): ActionFailure {
  return { reason, ref: { kind: 'Secret', name: observed.names.postgresSecret }, message };
}

/** The Secret of an earlier deployment of the name, or of somebody else. */
export function sharedDatabaseKept(observed: ObservedChildren): ActionFailure {
  const { names, record } = observed;
  const { namespace } = record.metadata;
  const secret = childOf(observed, 'Secret', names.postgresSecret);
  const before = secret && isOfBeforeExternal(secret) ? ` ${OF_BEFORE_EXTERNAL}` : '';
  return sharedFailure(
    observed,
    'DatabaseKept',
    `Secret ${names.postgresSecret} does not belong to this deployment: it has the password of a database that an earlier deployment of this name retained on the shared server, and which is not taken over.${before} To use that database, copy its key uri into a Secret of another name, and reference it as POSTGRES_URI_CUSTOM. To start with an empty database: kubectl delete secret ${names.postgresSecret} -n ${namespace}. The old database stays on the server until its administrator drops it.`,
  );
}

/** The database is there, and its password is not: it is never made again while data depends on it. */
export function sharedPasswordLost(observed: ObservedChildren, name: string): ActionFailure {
  const { record, names } = observed;
  const { namespace, uid } = record.metadata;
  const labels = `${DEPLOYMENT_LABEL}=${record.metadata.name} ${COMPONENT_LABEL}=postgres ${DEPLOYMENT_UID_LABEL}=${uid}`;
  return sharedFailure(
    observed,
    'PasswordMissing',
    `Secret ${names.postgresSecret} is missing in namespace ${namespace}, or does not have the labels of this deployment. It holds the password of the data in database ${name} of the shared server. Restore it from a backup, with the labels ${labels}; the deployment then continues automatically. An administrator of the server can set a new password (docs/database-drivers.md).`,
  );
}

/** The database was there, and is not any more: an empty one in its place would look like it. */
export function sharedDataLost({ record, names }: ObservedChildren, shared: string): ActionFailure {
  const { name, namespace, uid } = record.metadata;
  return {
    reason: 'VolumeMissing',
    ref: { kind: 'Secret', name: names.postgresSecret },
    message: `Database ${shared} is missing on the shared server, or its role is, and with it the data of PostgreSQL. Davit does not replace it with an empty database. Have it restored there, with role ${shared} as its owner and the comment "${sharedMark(uid ?? '')}" on that role; the deployment then continues automatically. To start with an empty database instead: kubectl annotate appd ${name} -n ${namespace} --overwrite ${EMPTY_DATABASE_ANNOTATION}=${givenUpText(record)}.`,
  };
}

/** What a deletion has to drop on the server, and why it does not go on. Undefined if nothing is left, or it is to be kept. */
export interface SharedRest {
  readonly wanted: Pick<WantedThere, 'name' | 'mark'>;
  /** Absent while it goes on. */
  readonly hindrance?: string;
}

export function sharedRestOf(observed: Observed): SharedRest | undefined {
  const { record, revisions, sharedDatabase: view } = observed;
  const name = sharedNameOf(record, revisions);
  if (name === undefined || record.spec.databaseDeletionPolicy === 'Retain') return undefined;
  const wanted = { name, mark: sharedMark(uidOf(record)) };
  if (view?.is === 'seen') {
    const next = nextForGone(view.view, wanted);
    if (next.is === 'done') return undefined;
    const trouble = next.is === 'refused' ? next.trouble : view.trouble;
    return { wanted, ...(trouble && { hindrance: withRelease(trouble.message, record) }) };
  }
  if (view?.is === 'troubled') return { wanted, hindrance: withRelease(view.trouble.message, record) };
  return { wanted, ...(view?.is !== 'unknown' && { hindrance: withRelease(SHARED_SERVER_MISSING, record) }) };
}

/**
 * The next step by which a database is dropped that the record was moved from, once somebody asks for it. By the uid of its Secret, which
 * no later database has: what has been dropped once is not asked for again. Undefined while the record uses it, or is to use it.
 */
export function sharedForgotten(
  observed: Observed,
): { readonly wanted: SharedRest['wanted']; readonly next: Next } | undefined {
  const { record, revisions, names, children, sharedDatabase: view } = observed;
  const uid = forgottenSecret(record, names.databaseNumber);
  const name = record.status?.sharedDatabase?.name;
  const now = revisions[0] && databaseOf(revisions[0]);
  if (uid === undefined || name === undefined || !now || now.driver === 'shared') return undefined;
  if (view?.is !== 'seen' || moveNamed(record, revisions)?.to.driver === 'shared') return undefined;
  const secret = children.find((child) => child.kind === 'Secret' && child.metadata.uid === uid);
  const number = secret && isOurs(secret, observed) && databaseNumberIn(record.metadata.name, secret.metadata.name);
  if (typeof number !== 'number' || number === names.databaseNumber) return undefined;
  const wanted = { name, mark: sharedMark(uidOf(record)) };
  return { wanted, next: nextForGone(view.view, wanted) };
}

function withRelease(message: string, record: Observed['record']): string {
  return `${message} The deletion goes on when the server takes it. ${howToLeave(record, 'its database and role on the server')}`;
}

/** Where the database is, from the moment that its role is there. It stays while the record has it there, also where another one is used. */
export function sharedStatusOf(observed: Observed): Pick<AppDeploymentStatus, 'sharedDatabase' | 'databaseDriver'> {
  const { record, revisions, sharedDatabase: view } = observed;
  const shared = sharedDatabaseOf(revisions);
  const known = sharedForgotten(observed)?.next.is === 'done' ? undefined : record.status?.sharedDatabase;
  const isMade = view?.is === 'seen' && view.view.found.role?.mark === sharedMark(uidOf(record));
  const there = known ?? (shared && isMade ? sharedPlaceOf(record, shared) : undefined);
  const [newest] = revisions;
  const answers = newest !== undefined && sharedAnswers(observed, newest);
  // What answers is not lost, or not any more.
  const isSpent = answers && there?.made === true && isGivenUp(observed);
  const place = there && {
    ...there,
    ...(answers && { made: true }),
    ...(isSpent && { givenUp: (there.givenUp ?? 0) + 1 }),
  };
  const isUsed = (driverOfRevisions(revisions) ?? 'shared') === 'shared';
  return place ? { sharedDatabase: place, ...(isUsed && { databaseDriver: 'shared' }) } : {};
}
