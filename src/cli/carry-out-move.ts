// Carries out a move of a database, step by step, with the caller's rights. What is done stands in the record, so that another run goes on
// after an interruption. From the first step until the last one no pod of the deployment runs.

import type { Pod } from '../deployments/assess/observed.ts';
import { writersAmong } from '../deployments/assess/pod-failures.ts';
import type { DatabaseOfRecord } from '../deployments/record/database-move.ts';
import { type MoveMark, moveMarkOf, otherDatabase, strayedMark } from '../deployments/record/move-mark.ts';
import {
  askingChange,
  claimsOfMover,
  endingChange,
  finishingChange,
  isChangedBy,
  type MoveChange,
  nextDatabaseOf,
  stoppingChange,
} from '../deployments/record/move-steps.ts';
import { type BegunMove, stageOf, stoppedForMove } from '../deployments/record/moving-database.ts';
import { claimOfChange } from '../deployments/record/requester.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { sentBackup, startBackup } from './backup-job.ts';
import { type Context, tell } from './command.ts';
import { untilJob } from './jobs.ts';
import { Failure, TimedOut } from './kubectl.ts';
import { commandBack, commandOf, leftWords, movedWords, stoppedWords, tooLateWords } from './move-words.ts';
import { afterConflicts, FIELD_MANAGER, listOf, RECORDS, readRecord, readRevisions } from './records.ts';
import { limitedKubectl } from './time-limit.ts';
import { follow, type Judged, judged, makeJudge } from './wait.ts';
import { usernameOf } from './who.ts';

const EVERY_MS = 1000;

export interface Work extends BegunMove {
  readonly context: Context;
  readonly name: string;
  /** What the record has of the move since this run has read or written it last: another mark is another's move. */
  mark: MoveMark;
  /** By the clock of the context. */
  readonly until: number;
}

/** `record`: as it was when this run has decided what to do. */
export function workOf(context: Context, record: AppDeployment, { move, moving }: BegunMove): Work {
  const until = context.clock.now() + (context.flags.number('timeout') ?? 3600) * 1000;
  return { context, name: record.metadata.name, move, moving, mark: moveMarkOf(record), until };
}

/** What the caller claims in a write that asks for a move. Throws Failure if nothing tells who he is. */
export function needClaims(record: AppDeployment, username: string | undefined): Readonly<Record<string, string>> {
  const found = claimsOfMover(record, username);
  if ('refused' in found) throw new Failure(found.refused);
  return found.claims;
}

/** Throws Failure where the record has another mark than this run has left in it. */
async function needMark({ context: { kubectl }, mark, moving }: Work, record: AppDeployment): Promise<void> {
  // The revisions are read for the message alone.
  if (strayedMark(record, [], { mark, moving }) === undefined) return;
  throw new Failure(strayedMark(record, await readRevisions(kubectl, record), { mark, moving }) ?? '');
}

/** Resolves to the exit code. Whatever ends it while the deployment is stopped says so, and how to go on. */
export async function carryOut(work: Work): Promise<number> {
  try {
    return await takeSteps(work);
  } catch (error) {
    if (error instanceof Failure && (await isLeftStopped(work, error))) error.message += `\n${stoppedWords(work.name)}`;
    throw error;
  }
}

/** Whether the failure leaves the deployment stopped without a word about it. Also where nobody can tell. */
async function isLeftStopped({ context: { kubectl }, name }: Work, { message }: Failure): Promise<boolean> {
  if (message.includes(commandBack(name))) return false;
  const record = await readRecord(kubectl, name).catch(() => undefined);
  return record === undefined || stoppedForMove(record) !== undefined;
}

async function takeSteps(work: Work): Promise<number> {
  const { context, name, move, moving } = work;
  const { kubectl, onInterrupt, suggested, warn } = context;
  let isBegun = false;
  onInterrupt(() =>
    isBegun
      ? `The move is not finished, and ${name} is stopped. To go on: ${commandOf(name, work)}${suggested}. To end it: ${commandBack(name)}${suggested}`
      : undefined,
  );
  const record = await readRecord(kubectl, name);
  if (stageOf(record, await readRevisions(kubectl, record), move) === 'stop') {
    isBegun = true;
    const generation = await stop(work);
    const backup = moving.isBack ? undefined : await makeBackup(work);
    await ask(work, { generation, backup });
  }
  isBegun = true;
  const loaded = await untilLoaded(work);
  await write(work, () => finishingChange(moving));
  const revisions = await readyOn(work, move.to);
  warn(leftWords({ name, move, revisions, suggested }));
  const backup = moving.isBack ? null : (loaded.status?.databaseRestore?.name ?? null);
  tell(context, movedWords({ name, move, revisions }, { seconds: secondsSince(moving.stoppedAt), backup }));
  return 0;
}

/** Resolves to the generation of the record of which no pod is left. */
async function stop(work: Work): Promise<number> {
  const { context, name, moving, until } = work;
  const { kubectl, warn, clock } = context;
  const generation = await write(work, (record, username) => stoppingChange(record, moving, username));
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until they have ended
    const [record, pods] = await Promise.all([readRecord(kubectl, name), listOf<Pod>(kubectl, 'pods', name)]);
    // oxlint-disable-next-line no-await-in-loop -- asks for nothing more unless it throws
    await needMark(work, record);
    const running = writersAmong(pods);
    const isSeen = (record.status?.observedGeneration ?? 0) >= generation;
    if (isSeen && running.length === 0) return generation;
    const [first] = running;
    const words = first ? `Pod ${first.metadata.name} is being stopped.` : 'Davit is stopping the pods.';
    if (words !== said) warn(words);
    said = words;
    if (clock.now() >= until) throw tooLate(work, words);
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** Resolves to the name of a backup that has all that was written. */
async function makeBackup(work: Work): Promise<string> {
  const { context, name } = work;
  const { warn, clock } = context;
  const over = (): TimedOut => tooLate(work, 'The backup is not made.');
  const kubectl = limitedKubectl(context.kubectl, clock, { until: work.until, over });
  const job = await startBackup(kubectl, name);
  warn(`Job ${job} makes the backup.`);
  const pods = await untilJob(kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? state.pods : undefined),
    failed: (words) =>
      `The database was not moved, and nothing of it was changed: the backup failed. ${words}\n${name} is stopped. To start it as it was: ${commandBack(name)}`,
  });
  const backup = sentBackup(pods)?.name;
  if (backup === undefined)
    throw new Failure(
      `Job ${job} has ended, and its pod does not say which backup it made. Run the command again, or start ${name} as it was: ${commandBack(name)}`,
    );
  return backup;
}

interface Asked {
  /** That of the record since its pods were stopped. */
  readonly generation: number;
  readonly backup: string | undefined;
}

/** The one write by which the move is asked for. Throws Failure if somebody has changed the record since its pods were stopped. */
async function ask(work: Work, { generation, backup }: Asked): Promise<void> {
  const { name } = work;
  await write(work, (record, username) => {
    if (record.metadata.generation !== generation)
      throw new Failure(
        `Somebody has changed ${name} since its pods were stopped, so the backup may not have all. Run the command again, or end the move: ${commandBack(name)}`,
      );
    return askingChange(work, { backup, claims: needClaims(record, username) });
  });
}

/** Until a revision has the next database, and that has its data. Resolves to the record then. */
async function untilLoaded(work: Work): Promise<AppDeployment> {
  const { context, name, until } = work;
  const { kubectl, warn, clock } = context;
  const judge = makeJudge(clock);
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const record = await readRecord(kubectl, name);
    // oxlint-disable-next-line no-await-in-loop -- as above
    const revisions = await readRevisions(kubectl, record);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await needMark(work, record);
    const next = nextDatabaseOf(record, revisions, work);
    if (next === 'loaded') return record;
    if (next === 'forsaken') {
      // oxlint-disable-next-line no-await-in-loop -- ends the loop
      await endMove(work);
      throw new Failure(
        `Nothing was moved, and ${name} is being started as it was: somebody has changed it after the move was asked for. Run the command again.`,
      );
    }
    // A failure of before a repair does not count at once.
    const { is, words, looksAgainForMs } = judge(judged(record));
    if (is === 'stalled' && looksAgainForMs === 0) {
      if (next === 'empty')
        throw new Failure(
          `The next database has not got its data. ${words}\n${name} is stopped. When the cause is mended, run the command again. To go back to the database before, which is as it was: ${commandBack(name)}`,
        );
      // oxlint-disable-next-line no-await-in-loop -- ends the loop
      await endMove(work);
      throw new Failure(`Nothing was moved, and ${name} is being started as it was. ${words}`);
    }
    if (words !== said) warn(words);
    said = words;
    if (clock.now() >= until) throw tooLate(work, words);
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** The record is as it was before the move, which is not made. */
export async function endMove(work: Work): Promise<void> {
  await write(work, () => endingChange(work));
}

/**
 * A merge patch of the record as it is, again after a conflict. Resolves to its generation then. Throws Failure where the record has another
 * mark than this run has left in it: somebody has ended the move, or has begun another one. `username`: the caller's, where it is known.
 */
function write(
  work: Work,
  change: (record: AppDeployment, username: string | undefined) => MoveChange,
): Promise<number> {
  const { context, name } = work;
  const { kubectl } = context;
  return afterConflicts(async () => {
    const [record, username] = await Promise.all([readRecord(kubectl, name), usernameOf(kubectl)]);
    await needMark(work, record);
    const { annotations, spec } = change(record, username);
    const { uid, resourceVersion } = record.metadata;
    const patch = (claim: object): string =>
      JSON.stringify({
        metadata: { uid, resourceVersion, annotations: { ...annotations, ...claim } },
        spec,
      });
    const send = async (claim: object): Promise<AppDeployment> =>
      JSON.parse(
        await kubectl(['patch', RECORDS, name, '--type=merge', FIELD_MANAGER, '-o', 'json', '-p', patch(claim)]),
      ) as AppDeployment;
    const isChange = isChangedBy(record.spec, spec);
    // The API server takes a claim for a change of the spec alone.
    const claim = isChange && username !== undefined ? (claimOfChange(record, username) ?? {}) : {};
    const written = await send(claim);
    work.mark = moveMarkOf(written);
    return written.metadata.generation ?? 0;
  });
}

/**
 * Waits until the record is ready. Resolves to its revisions then, newest first. Throws Failure where it is not on this database: somebody has
 * moved it meanwhile, or is moving it.
 */
export async function readyOn(work: Work, database: DatabaseOfRecord): Promise<readonly AppRevision[]> {
  const { context, name } = work;
  const { kubectl, warn, flags, clock } = context;
  const timeoutMs = (flags.number('timeout') ?? 3600) * 1000;
  const look = async (): Promise<Judged & { readonly record: AppDeployment }> => {
    const found = await readRecord(kubectl, name);
    return { ...judged(found), record: found };
  };
  const { record } = await follow(look, { timeoutMs, say: warn, clock });
  await needMark(work, record);
  const revisions = await readRevisions(kubectl, record);
  const other = otherDatabase(record, revisions, database);
  if (other !== undefined) throw new Failure(other);
  return revisions;
}

function tooLate({ name }: Work, words: string): TimedOut {
  return new TimedOut(tooLateWords(name, words));
}

/** RFC 3339. */
export function secondsSince(time: string): number {
  return Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
}
