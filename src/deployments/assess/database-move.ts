// Whether a record may be moved to another database now. The database before must have no writer any more, and the next one must have
// what it begins with. After that a revision says so, and no pod of an earlier revision is started again (assess/workloads.ts).

import type { AppRevision } from '../../schema/app-revision.ts';
import type { DatabaseDriver, DatabaseOffer } from '../../schema/database.ts';
import { EXTERNAL_POSTGRES_VARIABLE, MOVE_DATABASE_ANNOTATION, MOVING_ANNOTATION } from '../../schema/meta.ts';
import type { Settings } from '../../schema/settings.ts';
import { quoted } from '../../schema/text.ts';
import { driverFixedMessage } from '../record/database-driver.ts';
import {
  type DatabaseMove,
  databaseOf,
  databaseText,
  isWayUp,
  moveAsked,
  moveIn,
  moveNamed,
  neverLoadedWords,
  ONLY_UP,
  postgresVersionOf,
  takeBackCommand,
  wasNeverLoaded,
} from '../record/database-move.ts';
import { databaseOffers, whyNotOffered } from '../record/database-offers.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { names } from '../record/names.ts';
import { whyNobodyMoves } from '../record/requester.ts';
import { runsNothing } from '../record/revisions.ts';
import { wantedRevisionId } from '../record/wanted-revision.ts';
import { withoutKeys } from './backup-store.ts';
import { driverThere } from './database-cluster.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';
import { childOf, isOurs, type Observed, workloadOf } from './observed.ts';
import { writersAmong } from './pod-failures.ts';

interface Seen {
  readonly observed: Observed;
  readonly settings: Settings;
  readonly move: DatabaseMove;
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  movedElsewhere,
  movedDown,
  nothingKept,
  neverLoaded,
  driverNotOffered,
  noStoreToMove,
  noCredentialsToMove,
  stillScaled,
  stillWriting,
  nothingNew,
];

/** Undefined if the record asks for no other database than it has, or may be moved to it now. */
export function checkDriver({ observed, settings }: Omit<Seen, 'move'>): Entry | undefined {
  // Also to another database of the same driver.
  const move = moveAsked(observed.record, observed.revisions);
  if (move) return withWayOut(firstOf(CHECKS, { observed, settings, move }), observed, move);
  const named = moveNamed(observed.record, observed.revisions);
  if (named && named.from.driver !== named.to.driver)
    return withWayOut(moveRefused(nobodyAsks(observed.record)), observed, named);
  const asked = observed.record.spec.sourceConfig.database?.driver;
  const has = driverThere(observed);
  return asked === undefined || has === undefined || asked === has ? undefined : driverStays(observed, has, asked);
}

/** Without the annotation a driver is fixed. */
function nobodyAsks(record: Observed['record']): string {
  return `${whyNobodyMoves(record)} Whoever wants the move asks for it in one write of his own (docs/database-moves.md, "By hand").`;
}

/** Until the request is taken back, nothing else of the record takes effect. What waits says itself what to do. */
function withWayOut(entry: Entry | undefined, { record }: Observed, move: DatabaseMove): Entry | undefined {
  if (entry?.is !== 'stalled' || entry.reason === 'DatabaseMoveWaits') return entry;
  const { name, namespace, annotations } = record.metadata;
  const isByCommand = annotations?.[MOVING_ANNOTATION] !== undefined;
  const out = isByCommand ? `kubectl davit database back ${name} -n ${namespace}` : takeBackCommand(record, move);
  return { ...entry, message: `${entry.message.replace(/\.$/, '')}. To take the request back: ${out}` };
}

/** Whoever asks by an annotation of his own learns what it must say. */
function driverStays({ record, revisions }: Observed, has: DatabaseDriver, asked: DatabaseDriver): Entry {
  const said = record.metadata.annotations?.[MOVE_DATABASE_ANNOTATION];
  const now = revisions[0] && databaseOf(revisions[0]);
  const isSpent = said === undefined || now === undefined || said.includes(` to ${databaseText(now)}`);
  const clause = isSpent
    ? ''
    : ` The annotation ${MOVE_DATABASE_ANNOTATION} says ${quoted(said)}, which is no move from ${databaseText(now)} to ${asked}.`;
  return stalled(
    'DatabaseDriverFixed',
    `source_config.database.driver: ${driverFixedMessage(record.metadata.name, has, asked)}${clause}`,
  );
}

/**
 * An annotation that asks for a move which nothing else of the record asks for. It holds nothing up: a tool may have written again what
 * was done long ago.
 */
export function checkUnfollowedMove({ observed: { record, revisions } }: Pick<Seen, 'observed'>): Entry | undefined {
  const said = record.metadata.annotations?.[MOVE_DATABASE_ANNOTATION];
  const [newest] = revisions;
  if (said === undefined || newest === undefined || moveAsked(record, revisions)) return undefined;
  const why = moveNamed(record, revisions) ? nobodyAsks(record) : whyNotFollowed(moveIn(said), databaseOf(newest));
  if (why === undefined) return undefined;
  const { name, namespace } = record.metadata;
  return pass(
    'DatabaseMoveRefused',
    `Annotation ${MOVE_DATABASE_ANNOTATION} says ${quoted(said)}, which has no effect. ${why} To remove it: kubectl annotate appdeployment ${name} -n ${namespace} ${MOVE_DATABASE_ANNOTATION}-`,
  );
}

/** Undefined for a move that is made. `now`: the database that the record has, of those that Davit makes. */
function whyNotFollowed(move: DatabaseMove | undefined, now: ReturnType<typeof databaseOf>): string | undefined {
  if (now === undefined) return 'The deployment has no database that Davit made.';
  if (move === undefined)
    return `It is no move: write it as ${databaseText(now)} to ${databaseText({ driver: 'cloudnative-pg', number: now.number + 1 })} with BACKUP.`;
  const [has, from, to] = [now, move.from, move.to].map(databaseText);
  if (from === to) return 'It names one database twice.';
  if (has === to) return undefined;
  if (has !== from) return `The deployment has database ${has}, and not ${from}.`;
  return `source_config.database.driver does not ask for ${move.to.driver}, or the record names an external database (${EXTERNAL_POSTGRES_VARIABLE}): change that in the same write.`;
}

/** Where the database of the record can be moved. Undefined where it has none here that Davit made. */
export function offersOf(
  observed: Observed,
  settings: Settings,
  latest: AppRevision | undefined,
): DatabaseOffer[] | undefined {
  const now = latest && databaseOf(latest);
  return now !== undefined && runsHere(observed.record)
    ? [...databaseOffers(settings, observed.cloudNativePg === true)]
    : undefined;
}

function moveRefused(message: string): Entry {
  return stalled('DatabaseMoveRefused', `The database is not moved, and nothing is changed. ${message}`);
}

function movedElsewhere({ observed: { record } }: Seen): Entry | undefined {
  return runsHere(record) ? undefined : moveRefused("That of a deployment on a listener's cluster cannot be moved.");
}

/** What a Cluster dumps, a pod need not be able to load. */
function movedDown({ move }: Seen): Entry | undefined {
  return move.backup === undefined || isWayUp(move) ? undefined : moveRefused(ONLY_UP);
}

/** Back to a database that is not there would begin with nothing. */
function nothingKept({ observed, move: { to, backup } }: Seen): Entry | undefined {
  if (backup !== undefined) return undefined;
  const { record } = observed;
  const { postgresSecret, postgresClaim } = names(record.metadata.name, to.number);
  const holder = to.driver === 'pod' ? 'PersistentVolumeClaim' : 'Cluster';
  const wanted = [
    { kind: 'Secret', name: postgresSecret },
    { kind: holder, name: postgresClaim },
  ];
  const missing = wanted.find(({ kind, name }) => {
    const found = childOf(observed, kind, name);
    return !found || !isOurs(found, observed) || found.metadata.deletionTimestamp !== undefined;
  });
  return missing
    ? moveRefused(`${missing.kind} ${missing.name} of database ${databaseText(to)} is not there any more.`)
    : undefined;
}

/** It would begin empty, and be taken for the one that has the data. */
function neverLoaded({ observed: { record, revisions }, move: { to, backup } }: Seen): Entry | undefined {
  return backup === undefined && wasNeverLoaded(revisions, to.number)
    ? moveRefused(neverLoadedWords(record.metadata.name, to))
    : undefined;
}

/** The plugin has read the same in the status, which may be older. */
function driverNotOffered({ observed, settings, move: { to, backup } }: Seen): Entry | undefined {
  const from = backup === undefined ? undefined : postgresVersionOf(observed.revisions[0]);
  const why = whyNotOffered(databaseOffers(settings, observed.cloudNativePg === true), to.driver, from);
  return why === undefined ? undefined : moveRefused(why);
}

function noStoreToMove({ observed: { backupStore }, move }: Seen): Entry | undefined {
  return move.backup !== undefined && backupStore === undefined
    ? stalled(
        'BackupStoreMissing',
        'This platform has no store for backups (settings.backups.store), so no backup can be loaded.',
      )
    : undefined;
}

function noCredentialsToMove({ observed, move }: Seen): Entry | undefined {
  const missing = move.backup === undefined ? undefined : withoutKeys(observed, 'no backup can be fetched');
  return missing === undefined ? undefined : stalled('BackupCredentialsMissing', missing);
}

/** A scale that is asked for together with the move is not in force: nothing of a record that is refused is. */
function stillScaled({ observed, move }: Seen): Entry | undefined {
  const { record, revisions } = observed;
  const [newest] = revisions;
  const replicas = workloadOf(observed, 'server')?.spec?.replicas ?? 0;
  return newest && runsNothing(newest) && replicas === 0
    ? undefined
    : stalled(
        'DatabaseMoveWaits',
        `The database is moved when nothing can write to it any more. Until then no other change takes effect, a scale of 0 included, so take the request back: ${takeBackCommand(record, move)}. Then kubectl davit database move ${record.metadata.name} stops the pods, makes the backup and starts them again; by hand, set a scale of 0 (resource_spec.max_scale), then make the backup, and ask for the move after that.`,
      );
}

function stillWriting({ observed: { pods } }: Seen): Entry | undefined {
  const [first] = writersAmong(pods);
  return first && fail('DatabaseMoveWaits', `The database is moved when pod ${first.metadata.name} has ended.`);
}

/** To another database of its driver: a revision is made for a generation of its own, and an annotation makes none. */
function nothingNew({ observed: { record, revisions } }: Seen): Entry | undefined {
  return wantedRevisionId(record, revisions)?.made === true
    ? stalled(
        'DatabaseMoveWaits',
        'The database is moved when something of the deployment has changed since its newest revision was made. Raise spec.revisionSerial by one in the write that asks for it.',
      )
    : undefined;
}
