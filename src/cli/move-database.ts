// A move of a database, step by step, with the caller's rights. What is done stands in the record, so that the same command goes on after
// an interruption. From the first step until the last one no pod of the deployment runs.

import type { Pod } from '../deployments/assess/observed.ts';
import { writersAmong } from '../deployments/assess/pod-failures.ts';
import {
  type DatabaseMove,
  databaseText,
  moveText,
  postgresVersionOf,
  wasNeverLoaded,
} from '../deployments/record/database-move.ts';
import {
  type BegunMove,
  beginning,
  begunIn,
  downtimeOf,
  type Moving,
  moveBack,
  moveTo,
  stageOf,
  upgradeTo,
} from '../deployments/record/moving-database.ts';
import { names } from '../deployments/record/names.ts';
import { claimOfChange, claimOfMove, moverOf } from '../deployments/record/requester.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { DatabaseDriver, SentBackup } from '../schema/database.ts';
import { MOVE_DATABASE_ANNOTATION, MOVING_ANNOTATION, MOVING_BY_ANNOTATION, UPLOAD_CONTAINER } from '../schema/meta.ts';
import { type Context, tell } from './command.ts';
import { askForName } from './confirm.ts';
import { databasesHeld } from './databases-held.ts';
import { lastMessages, untilJob } from './jobs.ts';
import { jsonIn } from './json.ts';
import { Failure, TimedOut } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { afterConflicts, FIELD_MANAGER, listOf, RECORDS, readRecord, readRevisions } from './records.ts';
import { limitedKubectl } from './time-limit.ts';
import { makeJudge, waitUntilReady } from './wait.ts';
import { usernameOf } from './who.ts';

const EVERY_MS = 1000;

interface Work {
  readonly context: Context;
  readonly name: string;
  readonly move: DatabaseMove;
  readonly moving: Moving;
  /** By the clock of the context. */
  readonly until: number;
}

/** Resolves to the exit code. */
export function move(context: Context, name: string, driver: DatabaseDriver): Promise<number> {
  return begin(context, name, {
    action: `move NAME --driver ${driver}`,
    isThis: (moved) => !isUpgrade(moved) && moved.to.driver === driver,
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
    isThis: isUpgrade,
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

const UPGRADE = 'upgrade NAME';

/** To another database of its driver. */
function isUpgrade({ from, to }: DatabaseMove): boolean {
  return from.driver === to.driver;
}

interface Beginning {
  /** As of the command line, after `database`. */
  readonly action: string;
  /** Whether a move that was begun is what this action does. */
  isThis(move: DatabaseMove): boolean;
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
  const begun = begunIn(record);
  if (begun) {
    const { isBack, move: text } = begun.moving;
    if (isBack || !isThis(begun.move))
      throw new Failure(
        `A move of ${name} was begun: ${text}. ${isBack ? 'Finish it' : `Finish it by ${commandOf(name, begun)}, or end it`}: ${PROGRAM} database back ${name}`,
      );
    await needOwnMove(context, record, begun);
    return goOn(context, name, begun);
  }
  const used = (await databasesHeld(kubectl, record)).map(({ number }) => number);
  const decided = decide(record, revisions, used);
  if ('refused' in decided) throw new Failure(decided.refused);
  await needBackups(context, name);
  const { sizeBytes = 0, lastSuccessAt } = record.status?.databaseBackup ?? {};
  const seconds = downtimeOf(decided.move, sizeBytes);
  warn(
    `${name} ${decided.says}. Its pods are stopped, and nothing serves for about ${durationText(seconds)}, by the size of the backup of ${lastSuccessAt}. The present database stays as it is.`,
  );
  await needConsent(context, name, `${PROGRAM} database ${action.replace('NAME', name)} --yes`);
  return carryOut(
    workOf(context, name, decided.move, beginning(record, decided.move, { isBack: false, now: new Date() })),
  );
}

/** The command that goes on with it. */
function commandOf(name: string, { move: moved, moving }: BegunMove): string {
  const onward = isUpgrade(moved) ? UPGRADE : `move NAME --driver ${moved.to.driver}`;
  return `${PROGRAM} database ${(moving.isBack ? 'back NAME' : onward).replace('NAME', name)}`;
}

/** Also the end of a move that was begun and is not made. */
export async function goBack(context: Context, name: string): Promise<number> {
  const { kubectl, warn } = context;
  const record = await readRecord(kubectl, name);
  const revisions = await readRevisions(kubectl, record);
  const begun = begunIn(record);
  if (begun) await needOwnMove(context, record, begun);
  if (begun?.moving.isBack) return goOn(context, name, begun);
  if (begun && stageOf(record, revisions, begun.move) !== 'there') {
    await endMove(workOf(context, name, begun.move, begun.moving));
    await ready(context, name);
    tell(context, {
      says: `The move was ended. ${name} goes on with database ${databaseText(begun.move.from)}.`,
      result: { name, database: databaseText(begun.move.from), downtimeSeconds: secondsSince(begun.moving.stoppedAt) },
    });
    return 0;
  }
  const decided = moveBack(record, revisions);
  if ('refused' in decided) throw new Failure(decided.refused);
  warn(
    `${name} goes back to ${databaseText(decided.move.to)}, with the data that it had before the move. What was written since then stays in ${databaseText(decided.move.from)}, and is not in it. Its pods are stopped meanwhile.`,
  );
  await needConsent(context, name, `${PROGRAM} database back ${name} --yes`);
  const moving = beginning(record, decided.move, { isBack: true, now: new Date(), begun: begun?.moving });
  return carryOut(workOf(context, name, decided.move, moving));
}

/**
 * What the record is to have afterwards is what its annotation says, which anybody may have written who may change the record. Throws
 * Failure unless the caller has, which an admission policy lets nobody else claim, or says that he knows.
 */
async function needOwnMove({ kubectl, flags }: Context, record: AppDeployment, { moving }: BegunMove): Promise<void> {
  const { name } = record.metadata;
  const mover = moverOf(record, moving.stoppedAt);
  if (flags.has('go-on') || (mover !== undefined && mover === (await usernameOf(kubectl)))) return;
  const { minScale, maxScale, driver } = moving;
  const scale = `a scale of ${minScale ?? 'the default'} to ${maxScale ?? 'the default'}`;
  throw new Failure(
    `A move of ${name} was begun${mover === undefined ? ', and nothing proves by whom' : ` by ${mover}`}: ${moving.move}, on ${moving.stoppedAt}. It leaves ${name} with ${scale}, and ends with driver ${driver ?? 'as the platform sets it'} if it is given up. If that is right, run the command again with --go-on.`,
  );
}

function goOn(context: Context, name: string, begun: BegunMove): Promise<number> {
  context.warn(`An earlier run has left the move ${begun.moving.move} unfinished. This run goes on with it.`);
  return carryOut(workOf(context, name, begun.move, begun.moving));
}

function workOf(context: Context, name: string, moved: DatabaseMove, moving: Moving): Work {
  const until = context.clock.now() + (context.flags.number('timeout') ?? 3600) * 1000;
  return { context, name, move: moved, moving, until };
}

async function carryOut(work: Work): Promise<number> {
  const { context, name, move: moved, moving } = work;
  const { kubectl, onInterrupt, suggested, warn } = context;
  onInterrupt(
    () =>
      `The move is not finished, and ${name} is stopped. To go on: ${commandOf(name, work)}${suggested}. To end it: ${PROGRAM} database back ${name}${suggested}`,
  );
  const record = await readRecord(kubectl, name);
  if (stageOf(record, await readRevisions(kubectl, record), moved) === 'stop') {
    const generation = await stop(work);
    const backup = moving.isBack ? undefined : await makeBackup(work);
    await ask(work, generation, backup);
  }
  const loaded = await untilLoaded(work);
  await write(work, () => ({
    annotations: NOT_MOVING,
    sourceConfig: { resourceSpec: scaleToHave(moving) },
  }));
  await ready(context, name);
  const seconds = secondsSince(moving.stoppedAt);
  const revisions = await readRevisions(kubectl, loaded);
  const postgresVersion = postgresVersionOf(revisions[0]);
  const withVersion = postgresVersion === undefined ? '' : `, with PostgreSQL ${postgresVersion}`;
  const left = wasNeverLoaded(revisions, moved.from.number)
    ? `Database ${databaseText(moved.from)} is left, into which nothing was loaded.`
    : `What it was moved from is kept: ${databaseText(moved.from)}. To go back to it: ${PROGRAM} database back ${name}${suggested}.`;
  warn(`${left} To delete it: ${PROGRAM} database forget-old ${name}${suggested}`);
  tell(context, {
    says: `${name} is on database ${databaseText(moved.to)}${withVersion}. Nothing served for ${durationText(seconds)}.`,
    result: {
      name,
      database: databaseText(moved.to),
      backup: moving.isBack ? null : (loaded.status?.databaseRestore?.name ?? null),
      postgresVersion: postgresVersion ?? null,
      downtimeSeconds: seconds,
    },
  });
  return 0;
}

/** Resolves to the generation of the record of which no pod is left. */
async function stop(work: Work): Promise<number> {
  const { context, name, moving, until } = work;
  const { kubectl, warn, clock } = context;
  const username = await usernameOf(kubectl);
  const generation = await write(work, (record) => ({
    annotations: {
      ...NOT_MOVING,
      [MOVING_ANNOTATION]: JSON.stringify(moving),
      ...(username !== undefined && claimOfMove(record, moving.stoppedAt, username)),
    },
    sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } },
  }));
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until they have ended
    const [record, pods] = await Promise.all([readRecord(kubectl, name), listOf<Pod>(kubectl, 'pods', name)]);
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

/** Resolves to its name. */
async function makeBackup(work: Work): Promise<string> {
  const { context, name } = work;
  const { warn, clock } = context;
  const over = (): TimedOut => tooLate(work, 'The backup is not made.');
  const kubectl = limitedKubectl(context.kubectl, clock, { until: work.until, over });
  const cronJob = names(name).backup;
  const job = `${cronJob}-${Date.now().toString(36)}`;
  await kubectl(['create', 'job', job, `--from=cronjob/${cronJob}`, FIELD_MANAGER]);
  warn(`Job ${job} makes the backup.`);
  const pods = await untilJob(kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? state.pods : undefined),
    failed: (words) =>
      `The database was not moved, and nothing of it was changed: the backup failed. ${words}\n${name} is stopped. To start it as it was: ${PROGRAM} database back ${name}`,
  });
  const [report = ''] = pods.flatMap((pod) => lastMessages(pod, (ended) => ended.name === UPLOAD_CONTAINER));
  const backup = jsonIn<Partial<SentBackup> | null>(report)?.name;
  if (backup === undefined)
    throw new Failure(
      `Job ${job} has ended, and its pod does not say which backup it made. Run the command again, or start ${name} as it was: ${PROGRAM} database back ${name}`,
    );
  return backup;
}

/** The one write by which the move is asked for. Throws Failure if somebody has changed the record since its pods were stopped. */
async function ask(work: Work, generation: number, backup: string | undefined): Promise<void> {
  const { name, move: moved, moving } = work;
  const text = moveText({ ...moved, ...(backup !== undefined && { backup }) });
  const { instances } = moving;
  await write(work, ({ metadata }) => {
    if (metadata.generation !== generation)
      throw new Failure(
        `Somebody has changed ${name} since its pods were stopped, so the backup may not have all. Run the command again, or end the move: ${PROGRAM} database back ${name}`,
      );
    return {
      annotations: { [MOVE_DATABASE_ANNOTATION]: text },
      sourceConfig: {
        // The revision of another database of the same driver needs a generation of its own. Without a minimum the scale stays 0.
        ...(isUpgrade(moved) && { resourceSpec: { minScale: null } }),
        database: {
          driver: moved.to.driver,
          // Only one driver has them.
          ...(instances !== undefined && moved.to.driver !== 'cloudnative-pg' && { instances: null }),
        },
      },
    };
  });
}

/** Until a revision has the next database, and that has its data. Resolves to the record then. */
async function untilLoaded(work: Work): Promise<AppDeployment> {
  const { context, name, move: moved, moving, until } = work;
  const { kubectl, warn, clock } = context;
  const judge = makeJudge(clock);
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const record = await readRecord(kubectl, name);
    const { status, metadata } = record;
    const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
    // oxlint-disable-next-line no-await-in-loop -- as above
    const isThere = stageOf(record, await readRevisions(kubectl, record), moved) === 'there';
    const isOfIt = (status?.databaseNumber ?? 0) === moved.to.number;
    const hasData = moving.isBack || status?.databaseRestore?.restoredAt !== undefined;
    if (isSeen && isThere && isOfIt && hasData) return record;
    // A failure of before a repair does not count at once.
    const { verdict, looksAgainForMs } = judge(record);
    if (verdict.is === 'stalled' && looksAgainForMs === 0) {
      if (isThere)
        throw new Failure(
          `The next database has not got its data. ${verdict.words}\n${name} is stopped. When the cause is mended, run the command again. To go back to the database before, which is as it was: ${PROGRAM} database back ${name}`,
        );
      // oxlint-disable-next-line no-await-in-loop -- ends the loop
      await endMove(work);
      throw new Failure(`Nothing was moved, and ${name} is being started as it was. ${verdict.words}`);
    }
    const { words } = verdict;
    if (words !== said) warn(words);
    said = words;
    if (clock.now() >= until) throw tooLate(work, words);
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** The record is as it was before the move, which is not made. */
async function endMove(work: Work): Promise<void> {
  const { moving } = work;
  await write(work, () => ({
    annotations: { ...NOT_MOVING, [MOVE_DATABASE_ANNOTATION]: null },
    sourceConfig: {
      resourceSpec: scaleToHave(moving),
      database: { driver: moving.driver ?? null, instances: moving.instances ?? null },
    },
  }));
}

const NOT_MOVING = { [MOVING_ANNOTATION]: null, [MOVING_BY_ANNOTATION]: null } as const;

function scaleToHave({
  minScale = null,
  maxScale = null,
}: Partial<Record<'minScale' | 'maxScale', number | null>>): object {
  return { minScale, maxScale };
}

interface Change {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly sourceConfig: object;
}

/** A merge patch of the record as it is, again after a conflict. Resolves to its generation then. */
function write({ context: { kubectl }, name }: Work, change: (record: AppDeployment) => Change): Promise<number> {
  return afterConflicts(async () => {
    const [record, username] = await Promise.all([readRecord(kubectl, name), usernameOf(kubectl)]);
    const { annotations, sourceConfig } = change(record);
    const { uid, resourceVersion } = record.metadata;
    const patch = (claim: object): string =>
      JSON.stringify({
        metadata: { uid, resourceVersion, annotations: { ...annotations, ...claim } },
        spec: { sourceConfig },
      });
    const send = async (claim: object): Promise<AppDeployment> =>
      JSON.parse(
        await kubectl(['patch', RECORDS, name, '--type=merge', FIELD_MANAGER, '-o', 'json', '-p', patch(claim)]),
      ) as AppDeployment;
    const isChange = changes(record.spec.sourceConfig, sourceConfig);
    // The API server takes a claim for a change of the spec alone.
    const claim = isChange && username !== undefined ? (claimOfChange(record, username) ?? {}) : {};
    const { metadata } = await send(claim);
    return metadata.generation ?? 0;
  });
}

/** Whether a merge patch changes anything. */
function changes(object: unknown, patch: object): boolean {
  return Object.entries(patch).some(([key, value]) => {
    const before = (object as Readonly<Record<string, unknown>> | undefined)?.[key];
    if (value === null) return before !== undefined;
    return typeof value === 'object' ? changes(before, value as object) : before !== value;
  });
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

async function ready({ kubectl, warn, flags, clock }: Context, name: string): Promise<void> {
  await waitUntilReady(kubectl, name, { timeoutMs: (flags.number('timeout') ?? 3600) * 1000, say: warn, clock });
}

function tooLate({ name }: Work, words: string): TimedOut {
  return new TimedOut(
    `The time is over. ${words}\n${name} is stopped. To go on, run the command again. To end the move: ${PROGRAM} database back ${name}`,
  );
}

/** RFC 3339. */
function secondsSince(time: string): number {
  return Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
}

function durationText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
