// How a move of a database begins, and how it is taken back, with the caller's rights. What is done stands in the record, so that the same
// command goes on after an interruption.

import { type DatabaseMove, databaseText } from '../deployments/record/database-move.ts';
import {
  type BegunMove,
  beginning,
  begunIn,
  downtimeOf,
  lostTrack,
  moveBack,
  moveTo,
  stageOf,
  upgradeTo,
} from '../deployments/record/moving-database.ts';
import { names } from '../deployments/record/names.ts';
import { moverOf } from '../deployments/record/requester.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { DatabaseDriver } from '../schema/database.ts';
import { carryOut, endMove, needClaims, readyOn, secondsSince, workOf } from './carry-out-move.ts';
import { type Context, tell } from './command.ts';
import { askForName } from './confirm.ts';
import { databasesHeld } from './databases-held.ts';
import { Failure } from './kubectl.ts';
import { durationText, isUpgrade, otherMoveWords, strangeMoveWords, UPGRADE } from './move-words.ts';
import { PROGRAM } from './program.ts';
import { RECORDS, readRecord, readRevisions } from './records.ts';
import { usernameOf } from './who.ts';

/** Resolves to the exit code. */
export function move(context: Context, name: string, driver: DatabaseDriver): Promise<number> {
  return begin(context, name, {
    action: `move NAME --driver ${driver}`,
    isThis: (begun) => !isUpgrade(begun.move) && begun.move.to.driver === driver,
    decide(record, own, used) {
      const decided = moveTo(record, own, { driver, used });
      if ('refused' in decided) return decided;
      const { from, to } = decided.move;
      return { ...decided, says: `is moved from ${databaseText(from)} to ${databaseText(to)}` };
    },
  });
}

/** Resolves to the exit code. */
export function upgrade(context: Context, name: string): Promise<number> {
  return begin(context, name, {
    action: UPGRADE,
    isThis: (begun) => isUpgrade(begun.move),
    decide(record, own, used) {
      const decided = upgradeTo(record, own, { used });
      if ('refused' in decided) return decided;
      const { versions, move: moved } = decided;
      return {
        move: moved,
        says: `goes from PostgreSQL ${versions.from} (${databaseText(moved.from)}) to ${versions.to} (${databaseText(moved.to)})`,
      };
    },
  });
}

interface Beginning {
  /** As of the command line, after `database`. */
  readonly action: string;
  /** Whether a move that was begun is what this action does. */
  isThis(begun: BegunMove): boolean;
  /** `own`: the record's revisions, newest first. `used`: numbers of databases that are there. */
  decide(
    record: AppDeployment,
    own: readonly AppRevision[],
    used: readonly number[],
  ): { readonly move: DatabaseMove; readonly says: string } | { readonly refused: string };
}

async function begin(context: Context, name: string, { action, isThis, decide }: Beginning): Promise<number> {
  const { kubectl, warn } = context;
  const record = await readRecord(kubectl, name);
  const revisions = await readRevisions(kubectl, record);
  needTrack(record, revisions);
  const begun = begunIn(record);
  if (begun) {
    if (begun.moving.isBack || !isThis(begun))
      throw new Failure(otherMoveWords(name, begun, await strangeMove(kubectl, record, begun)));
    await needOwnMove(context, record, begun);
    return goOn(context, record, begun);
  }
  const used = (await databasesHeld(kubectl, record)).map(({ number }) => number);
  const decided = decide(record, revisions, used);
  if ('refused' in decided) throw new Failure(decided.refused);
  await needBackups(context, name);
  needClaims(record, await usernameOf(kubectl));
  const { sizeBytes = 0, lastSuccessAt } = record.status?.databaseBackup ?? {};
  const seconds = downtimeOf(decided.move, sizeBytes);
  warn(
    `${name} ${decided.says}. Its pods are stopped, and nothing serves for about ${durationText(seconds)}, by the size of the backup of ${lastSuccessAt}. The present database stays as it is.`,
  );
  await needConsent(context, name, `${PROGRAM} database ${action.replace('NAME', name)} --yes`);
  const moving = beginning(record, decided.move, { isBack: false, now: new Date() });
  return carryOut(workOf(context, record, { move: decided.move, moving }));
}

/** Throws Failure where a move was begun and nobody can say which. */
function needTrack(record: AppDeployment, revisions: readonly AppRevision[]): void {
  const trouble = lostTrack(record, revisions);
  if (trouble !== undefined) throw new Failure(trouble);
}

/** Also the end of a move that was begun and is not made. */
export async function goBack(context: Context, name: string): Promise<number> {
  const { kubectl, warn } = context;
  const record = await readRecord(kubectl, name);
  const revisions = await readRevisions(kubectl, record);
  needTrack(record, revisions);
  const begun = begunIn(record);
  if (begun) await needOwnMove(context, record, begun);
  if (begun?.moving.isBack) return goOn(context, record, begun);
  if (begun && stageOf(record, revisions, begun.move) !== 'there') {
    const work = workOf(context, record, begun);
    await endMove(work);
    await readyOn(work, begun.move.from);
    tell(context, {
      says: `The move was ended. ${name} goes on with database ${databaseText(begun.move.from)}.`,
      result: { name, database: databaseText(begun.move.from), downtimeSeconds: secondsSince(begun.moving.stoppedAt) },
    });
    return 0;
  }
  const decided = moveBack(record, revisions);
  if ('refused' in decided) throw new Failure(decided.refused);
  needClaims(record, await usernameOf(kubectl));
  warn(
    `${name} goes back to ${databaseText(decided.move.to)}, with the data that it had before the move. What was written since then stays in ${databaseText(decided.move.from)}, and is not in it. Its pods are stopped meanwhile.`,
  );
  await needConsent(context, name, `${PROGRAM} database back ${name} --yes`);
  const moving = beginning(record, decided.move, { isBack: true, now: new Date(), begun: begun?.moving });
  return carryOut(workOf(context, record, { move: decided.move, moving }));
}

/**
 * What the record is to have afterwards is what its annotation says, which anybody may have written who may change the record. Throws
 * Failure unless the caller has, which an admission policy lets nobody else claim, or says that he knows.
 */
async function needOwnMove({ kubectl, flags }: Context, record: AppDeployment, begun: BegunMove): Promise<void> {
  const strange = flags.has('go-on') ? undefined : await strangeMove(kubectl, record, begun);
  if (strange !== undefined) throw new Failure(`${strange} If that is right, run the command again with --go-on.`);
}

/** What there is to know of a move that the caller has not begun, for people. Resolves to undefined for his own. */
async function strangeMove(
  kubectl: Context['kubectl'],
  record: AppDeployment,
  begun: BegunMove,
): Promise<string | undefined> {
  const mover = moverOf(record, begun.moving.stoppedAt);
  if (mover !== undefined && mover === (await usernameOf(kubectl))) return undefined;
  return strangeMoveWords(record, begun, mover);
}

function goOn(context: Context, record: AppDeployment, begun: BegunMove): Promise<number> {
  context.warn(`An earlier run has left the move ${begun.moving.move} unfinished. This run goes on with it.`);
  return carryOut(workOf(context, record, begun));
}

/** Before anything is stopped: whether there is what backups are made of. */
async function needBackups({ kubectl }: Context, name: string): Promise<void> {
  const cronJob = names(name).backup;
  const found = await kubectl(['get', 'cronjobs.batch', cronJob, '--ignore-not-found', '-o', 'name']);
  if (found.trim() === '')
    throw new Failure(`${name} has no CronJob ${cronJob}, which makes backups. See: ${PROGRAM} status ${name}`);
  for (const [verb, resource] of [
    ['create', 'jobs.batch'],
    ['patch', RECORDS],
    ['list', 'pods'],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop -- the first failure ends it
    const may = await kubectl(['auth', 'can-i', verb, resource]).catch(() => 'no');
    if (!may.trim().startsWith('yes'))
      throw new Failure(`You may not ${verb} ${resource} here, which a move needs. Nothing was changed.`);
  }
}

function needConsent(context: Context, name: string, command: string): Promise<void> {
  return askForName(context, {
    name,
    asks: `Stop ${name} and go on? Type its name: `,
    refusal: 'Nothing was changed.',
    nobody: `Nobody can be asked here: ${command}`,
  });
}
