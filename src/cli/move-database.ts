// A move of a database, step by step, with the caller's rights. What is done stands in the record, so that the same command goes on after
// an interruption. From the first step until the last one no pod of the deployment runs.

import type { Pod } from '../deployments/assess/observed.ts';
import { writersAmong } from '../deployments/assess/pod-failures.ts';
import {
  type DatabaseMove,
  type DatabaseOfRecord,
  databaseText,
  moveText,
  postgresVersionOf,
  wasNeverLoaded,
} from '../deployments/record/database-move.ts';
import { type MoveMark, moveMarkOf, otherDatabase, strayedMark } from '../deployments/record/move-mark.ts';
import {
  type BegunMove,
  beginning,
  begunIn,
  downtimeOf,
  type ExternalUri,
  isForsaken,
  lostTrack,
  type Moving,
  moveBack,
  moveOut,
  moveTo,
  scaleWords,
  stageOf,
  upgradeTo,
  usePatch,
} from '../deployments/record/moving-database.ts';
import { names } from '../deployments/record/names.ts';
import { claimOfChange, claimOfMove, claimOfMoveRequest, moverOf } from '../deployments/record/requester.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import type { DatabaseDriver } from '../schema/database.ts';
import { EXTERNAL_DATABASE } from '../schema/database-names.ts';
import {
  FORGET_DATABASE_ANNOTATION,
  MOVE_DATABASE_ANNOTATION,
  MOVE_DATABASE_BY_ANNOTATION,
  MOVING_ANNOTATION,
  MOVING_BY_ANNOTATION,
} from '../schema/meta.ts';
import { sentBackup, startBackup } from './backup-job.ts';
import { needFinished } from './cloning.ts';
import { type Context, tell } from './command.ts';
import { askForName } from './confirm.ts';
import { databasesHeld } from './databases-held.ts';
import { endLoads, loadExternal, needUri, tryExternal } from './external-database.ts';
import { untilJob } from './jobs.ts';
import { Failure, TimedOut } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { afterConflicts, FIELD_MANAGER, listOf, RECORDS, readRecord, readRevisions } from './records.ts';
import { limitedKubectl, withinTime } from './time-limit.ts';
import { makeJudge, waitUntilReady } from './wait.ts';
import { usernameOf } from './who.ts';

const EVERY_MS = 1000;

interface Work {
  readonly context: Context;
  readonly name: string;
  readonly move: DatabaseMove;
  readonly moving: Moving;
  /** What the record has of the move since this run has read or written it last: another mark is another's move. */
  mark: MoveMark;
  /** By the clock of the context. */
  readonly until: number;
}

/** Resolves to the exit code. */
export function move(context: Context, name: string, driver: DatabaseDriver): Promise<number> {
  return begin(context, name, {
    action: `move NAME --driver ${driver}`,
    isThis: ({ move: moved }) => !isUpgrade(moved) && moved.to.driver === driver,
    decide(record, own, used) {
      const decided = moveTo(record, own, { driver, used });
      if ('refused' in decided) return decided;
      const { from, to } = decided.move;
      return { ...decided, says: `is moved from ${databaseText(from)} to ${databaseText(to)}` };
    },
  });
}

/** The same to a database that is not Davit's. Resolves to the exit code. */
export function moveAway(context: Context, name: string, uri: ExternalUri): Promise<number> {
  const { secretName, secretKey } = uri;
  return begin(context, name, {
    action: outward(uri),
    isThis: ({ move: { to }, moving: { external } }) =>
      to.driver === EXTERNAL_DATABASE && external?.secretName === secretName && external.secretKey === secretKey,
    decide(record, own, used) {
      const decided = moveOut(record, own, { used });
      if ('refused' in decided) return decided;
      const { postgresUriScheme: uriScheme } = record.spec.sourceConfig.runtime ?? {};
      const says = `is moved from ${databaseText(decided.move.from)} to ${databaseText(decided.move.to)}`;
      return { ...decided, says, outside: { external: uri, ...(uriScheme !== undefined && { uriScheme }) } };
    },
    async tries(record, { from, to }, moving) {
      const { external, uriScheme } = moving;
      if (external === undefined) return '';
      await needUri(context.kubectl, external);
      await rehearse(context, record, to, moving);
      const over = {
        message: () => 'The time is over. The external database was not tried to its end, and nothing was changed.',
        hint: `${PROGRAM} database ${outward(uri).replace('NAME', name)}`,
      };
      const hasOwnServer = from.driver !== 'shared';
      const trial = { uri: external, to, uriScheme, hasOwnServer };
      const there = await tryExternal(withinTime(context, over), record, trial);
      return ` That is ${there}. Davit does not back it up.`;
    },
  });
}

function outward({ secretName, secretKey }: ExternalUri): string {
  return `move NAME --external ${secretName} --key ${secretKey}`;
}

/** What the record is to ask for, which its policies may refuse. Throws Failure if they do. */
async function rehearse(
  { kubectl }: Context,
  record: AppDeployment,
  to: DatabaseMove['to'],
  moving: Moving,
): Promise<void> {
  const { name, resourceVersion } = record.metadata;
  const claims = needAuthor(record, await usernameOf(kubectl));
  const annotations = { ...claims, [MOVE_DATABASE_ANNOTATION]: moving.move };
  const patch = JSON.stringify({ metadata: { resourceVersion, annotations }, spec: usePatch(record.spec, to, moving) });
  const sends = ['patch', RECORDS, name, '--type=merge', '--dry-run=server', FIELD_MANAGER, '-o', 'name', '-p', patch];
  await kubectl(sends).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(`Nothing was changed. ${name} cannot use an external database as it is: ${error.message}`);
  });
}

/**
 * What the caller claims in a write that asks for a move, and changes something of the record: Davit makes none that is nobody's. Throws
 * Failure if nothing tells who he is.
 */
function needAuthor(record: AppDeployment, username: string | undefined): Readonly<Record<string, string>> {
  const claim = username === undefined ? undefined : claimOfMoveRequest(record, username);
  if (username === undefined || claim === undefined)
    throw new Failure(
      `Nothing was changed: a database is moved for somebody who is known, and kubectl auth whoami tells ${username === undefined ? 'no username' : 'a username that cannot be shown'}.`,
    );
  return { ...claim, ...claimOfChange(record, username) };
}

/** Resolves to the exit code. */
export function upgrade(context: Context, name: string): Promise<number> {
  return begin(context, name, {
    action: UPGRADE,
    isThis: ({ move: moved }) => isUpgrade(moved),
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
  isThis(begun: BegunMove): boolean;
  /** `own`: the record's revisions, newest first. `used`: numbers of databases that are there. */
  decide(
    record: AppDeployment,
    own: readonly AppRevision[],
    used: readonly number[],
  ):
    | { readonly move: DatabaseMove; readonly says: string; readonly outside?: Pick<Moving, 'external' | 'uriScheme'> }
    | { readonly refused: string };
  /** Tries what else may fail, and resolves to what is said of it, after a space. Throws Failure if it would fail. */
  tries?(record: AppDeployment, move: DatabaseMove, moving: Moving): Promise<string>;
}

async function begin(context: Context, name: string, { action, isThis, decide, tries }: Beginning): Promise<number> {
  const { kubectl, warn } = context;
  const record = await readRecord(kubectl, name);
  const revisions = await readRevisions(kubectl, record);
  needTrack(record, revisions);
  const begun = begunIn(record);
  if (begun) {
    const { isBack, move: text } = begun.moving;
    if (isBack || !isThis(begun)) {
      const strange = await strangeMove(kubectl, record, begun);
      const more = strange === undefined ? '' : ' --go-on';
      const finish = isBack ? 'finish it' : `finish it by ${commandOf(name, begun)}${more}, or end it`;
      const what = strange === undefined ? `A move of ${name} was begun: ${text}. F` : `${strange} If that is right, f`;
      throw new Failure(`${what}${finish.slice(1)}: ${PROGRAM} database back ${name}${more}`);
    }
    await needOwnMove(context, record, begun);
    return goOn(context, record, begun);
  }
  needFinished(record, `Nothing was moved: move its database when ${name} is finished.`);
  const used = (await databasesHeld(kubectl, record)).map(({ number }) => number);
  const decided = decide(record, revisions, used);
  if ('refused' in decided) throw new Failure(decided.refused);
  await needBackups(context, name);
  needAuthor(record, await usernameOf(kubectl));
  const moving = beginning(record, decided.move, { isBack: false, now: new Date(), outside: decided.outside });
  const found = (await tries?.(record, decided.move, moving)) ?? '';
  const { sizeBytes = 0, lastSuccessAt } = record.status?.databaseBackup ?? {};
  const seconds = downtimeOf(decided.move, sizeBytes);
  warn(
    `${name} ${decided.says}.${found} Its pods are stopped, and nothing serves for about ${durationText(seconds)}, by the size of the backup of ${lastSuccessAt}. The present database stays as it is.`,
  );
  await needConsent(context, name, `${PROGRAM} database ${action.replace('NAME', name)} --yes`);
  return carryOut(workOf(context, record, decided.move, { ...moving, stoppedAt: new Date().toISOString() }));
}

/** Throws Failure where a move was begun and nobody can say which. */
function needTrack(record: AppDeployment, revisions: readonly AppRevision[]): void {
  const trouble = lostTrack(record, revisions);
  if (trouble !== undefined) throw new Failure(trouble);
}

/** The command that goes on with it. */
function commandOf(name: string, { move: moved, moving }: BegunMove): string {
  const { external } = moving;
  const onward = external ? outward(external) : isUpgrade(moved) ? UPGRADE : `move NAME --driver ${moved.to.driver}`;
  return `${PROGRAM} database ${(moving.isBack ? 'back NAME' : onward).replace('NAME', name)}`;
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
    const work = workOf(context, record, begun.move, begun.moving);
    if (begun.move.to.driver === EXTERNAL_DATABASE) await endLoads(context, record, begun.move.to.number);
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
  needAuthor(record, await usernameOf(kubectl));
  warn(
    `${name} goes back to ${databaseText(decided.move.to)}, with the data that it had before the move. What was written since then stays in ${databaseText(decided.move.from)}, and is not in it. Its pods are stopped meanwhile.`,
  );
  await needConsent(context, name, `${PROGRAM} database back ${name} --yes`);
  const { outside } = decided;
  if (outside?.external && decided.move.to.driver === EXTERNAL_DATABASE) await needUri(kubectl, outside.external);
  const moving = beginning(record, decided.move, { isBack: true, now: new Date(), begun: begun?.moving, outside });
  return carryOut(workOf(context, record, decided.move, moving));
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
  { moving }: BegunMove,
): Promise<string | undefined> {
  const { name } = record.metadata;
  const mover = moverOf(record, moving.stoppedAt);
  if (mover !== undefined && mover === (await usernameOf(kubectl))) return undefined;
  const { driver, external } = moving;
  const secret = external ? `, with the URI in Secret ${external.secretName}` : '';
  const by = mover === undefined ? ', and nothing proves by whom' : ` by ${mover}`;
  return `A move of ${name} was begun${by}: ${moving.move}${secret}, on ${moving.stoppedAt}. It leaves ${name} with a scale of ${scaleWords(moving)}, and ends with driver ${driver ?? 'as the platform sets it'} if it is given up.`;
}

function goOn(context: Context, record: AppDeployment, begun: BegunMove): Promise<number> {
  context.warn(`An earlier run has left the move ${begun.moving.move} unfinished. This run goes on with it.`);
  return carryOut(workOf(context, record, begun.move, begun.moving));
}

/** `record`: as it was when this run has decided what to do. */
function workOf(context: Context, record: AppDeployment, moved: DatabaseMove, moving: Moving): Work {
  const until = context.clock.now() + (context.flags.number('timeout') ?? 3600) * 1000;
  return { context, name: record.metadata.name, move: moved, moving, mark: moveMarkOf(record), until };
}

/** Throws Failure where the record has another mark than this run has left in it. */
async function needMark({ context: { kubectl }, mark, moving }: Work, record: AppDeployment): Promise<void> {
  // The revisions are read for the message alone.
  if (strayedMark(record, [], { mark, moving }) === undefined) return;
  throw new Failure(strayedMark(record, await readRevisions(kubectl, record), { mark, moving }) ?? '');
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
    const backup = moving.isBack ? undefined : await backupOf(work, generation);
    const version = await fill(work, record, backup);
    await ask(work, { generation, backup, version });
  }
  const loaded = await untilLoaded(work);
  await write(work, () => ({
    annotations: NOT_MOVING,
    spec: { sourceConfig: { resourceSpec: scaleToHave(moving) } },
  }));
  const revisions = await readyOn(work, moved.to);
  const seconds = secondsSince(moving.stoppedAt);
  const postgresVersion = postgresVersionOf(revisions[0]);
  const withVersion = postgresVersion === undefined ? '' : `, with PostgreSQL ${postgresVersion}`;
  const left = wasNeverLoaded(revisions, moved.from.number)
    ? `Database ${databaseText(moved.from)} is left, into which nothing was loaded.`
    : `What it was moved from is kept: ${databaseText(moved.from)}. To go back to it: ${PROGRAM} database back ${name}${suggested}.`;
  const wayToDelete =
    moved.from.driver === EXTERNAL_DATABASE
      ? 'Davit deletes nothing in an external database.'
      : `To delete it: ${PROGRAM} database forget-old ${name}${suggested}`;
  warn(`${left} ${wayToDelete}`);
  if (moved.to.driver === EXTERNAL_DATABASE)
    warn('Davit makes no backups of an external database. Have it backed up where it runs.');
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

/** Both annotations of a move that was begun, which are written in one patch: one alone says nothing. */
function markWith(
  record: AppDeployment,
  moving: Moving,
  username: string | undefined,
): Readonly<Record<string, string | null>> {
  const claim = username === undefined ? undefined : claimOfMove(record, moving.stoppedAt, username);
  return { ...NOT_MOVING, [MOVING_ANNOTATION]: JSON.stringify(moving), ...claim };
}

/** Resolves to the generation of the record of which no pod is left. */
async function stop(work: Work): Promise<number> {
  const { context, name, moving, until } = work;
  const { kubectl, warn, clock } = context;
  const generation = await write(work, (record, username) => ({
    annotations: {
      // What is left now was not meant.
      [FORGET_DATABASE_ANNOTATION]: null,
      ...markWith(record, moving, username),
    },
    spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } },
  }));
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
async function backupOf(work: Work, generation: number): Promise<string> {
  const { move: moved, moving } = work;
  // An external database may have been loaded with it, and it is not loaded twice.
  if (moving.made?.generation === generation) return moving.made.backup;
  const backup = await makeBackup(work);
  if (moved.to.driver === EXTERNAL_DATABASE) {
    const made = { ...moving, made: { backup, generation } };
    await write(work, (record, username) => ({ annotations: markWith(record, made, username), spec: {} }));
  }
  return backup;
}

/** Loads an external database. Resolves to the version of the Secret with its URI. */
async function fill(work: Work, record: AppDeployment, backup: string | undefined): Promise<string | undefined> {
  const {
    context: { clock, warn, ...context },
    name,
    move: { to },
    moving: { external },
    until,
  } = work;
  if (to.driver !== EXTERNAL_DATABASE || external === undefined) return undefined;
  const over = (): TimedOut => tooLate(work, 'The external database is not loaded.');
  const kubectl = limitedKubectl(context.kubectl, clock, { until, over });
  const version = await needUri(kubectl, external);
  const otherwise = `${name} is stopped, and its database is as it was. When the cause is mended, run the command again. To start it as it was: ${PROGRAM} database back ${name}`;
  if (backup !== undefined)
    await loadExternal({ kubectl, clock, warn }, record, { uri: external, to, backup, otherwise });
  return version;
}

/** Resolves to its name. */
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
      `The database was not moved, and nothing of it was changed: the backup failed. ${words}\n${name} is stopped. To start it as it was: ${PROGRAM} database back ${name}`,
  });
  const backup = sentBackup(pods)?.name;
  if (backup === undefined)
    throw new Failure(
      `Job ${job} has ended, and its pod does not say which backup it made. Run the command again, or start ${name} as it was: ${PROGRAM} database back ${name}`,
    );
  return backup;
}

interface Asked {
  /** That of the record since its pods were stopped. */
  readonly generation: number;
  readonly backup: string | undefined;
  /** That of the Secret with the URI when the database was loaded. */
  readonly version: string | undefined;
}

/** The one write by which the move is asked for. Throws Failure if somebody has changed the record since its pods were stopped. */
async function ask(work: Work, { generation, backup, version }: Asked): Promise<void> {
  const { context, name, move: moved, moving } = work;
  const text = moveText({ ...moved, ...(backup !== undefined && { backup }) });
  const { instances, external } = moving;
  const { kubectl } = context;
  if (external && version !== undefined && version !== (await needUri(kubectl, external)))
    throw new Failure(
      `Somebody has changed Secret ${external.secretName} since the database in it was looked at. Run the command again, or end the move: ${PROGRAM} database back ${name}`,
    );
  await write(work, (record, username) => {
    const { metadata, spec } = record;
    if (metadata.generation !== generation)
      throw new Failure(
        `Somebody has changed ${name} since its pods were stopped, so the backup may not have all. Run the command again, or end the move: ${PROGRAM} database back ${name}`,
      );
    const use = usePatch(spec, moved.to, moving);
    const own = {
      driver: moved.to.driver,
      // Only one driver has them.
      ...(instances !== undefined && moved.to.driver !== 'cloudnative-pg' && { instances: null }),
    };
    return {
      annotations: { [MOVE_DATABASE_ANNOTATION]: text, ...needAuthor(record, username) },
      spec: {
        ...use,
        sourceConfig: {
          ...use.sourceConfig,
          // The request needs a generation of its own, whatever else it changes. Without a minimum the scale stays 0.
          resourceSpec: { minScale: null },
          // The driver of an own database is kept while an external one is used.
          database: { ...use.sourceConfig.database, ...(moved.to.driver !== EXTERNAL_DATABASE && own) },
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
    const revisions = await readRevisions(kubectl, record);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await needMark(work, record);
    const isThere = stageOf(record, revisions, moved) === 'there';
    const isOfIt = (status?.databaseNumber ?? 0) === moved.to.number;
    const isLoaded = moving.isBack || moved.to.driver === EXTERNAL_DATABASE;
    const hasData = isLoaded || status?.databaseRestore?.restoredAt !== undefined;
    if (isSeen && isThere && isOfIt && hasData) return record;
    if (isSeen && isForsaken(record, revisions, moved)) {
      // oxlint-disable-next-line no-await-in-loop -- ends the loop
      await endMove(work);
      throw new Failure(
        `Nothing was moved, and ${name} is being started as it was: somebody has changed it after the move was asked for. Run the command again.`,
      );
    }
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
  const { moving, move: moved } = work;
  await write(work, ({ spec }) => {
    const use = usePatch(spec, moved.from, moving);
    const database = { driver: moving.driver ?? null, instances: moving.instances ?? null };
    return {
      annotations: { ...NOT_MOVING, [MOVE_DATABASE_ANNOTATION]: null, [MOVE_DATABASE_BY_ANNOTATION]: null },
      spec: {
        ...use,
        sourceConfig: {
          ...use.sourceConfig,
          resourceSpec: scaleToHave(moving),
          database: { ...use.sourceConfig.database, ...database },
        },
      },
    };
  });
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
  readonly spec: object;
}

/**
 * A merge patch of the record as it is, again after a conflict. Resolves to its generation then. Throws Failure where the record has another
 * mark than this run has left in it: somebody has ended the move, or has begun another one. `username`: the caller's, where it is known.
 */
function write(work: Work, change: (record: AppDeployment, username: string | undefined) => Change): Promise<number> {
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
    const isChange = changes(record.spec, spec);
    // The API server takes a claim for a change of the spec alone.
    const claim = isChange && username !== undefined ? (claimOfChange(record, username) ?? {}) : {};
    const written = await send(claim);
    work.mark = moveMarkOf(written);
    return written.metadata.generation ?? 0;
  });
}

/** Whether a merge patch changes anything. */
function changes(object: unknown, patch: object): boolean {
  return Object.entries(patch).some(([key, value]) => {
    const before = (object as Readonly<Record<string, unknown>> | undefined)?.[key];
    if (value === null) return before !== undefined;
    if (Array.isArray(value)) return JSON.stringify(before) !== JSON.stringify(value);
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

/**
 * Waits until the record is ready. Resolves to its revisions then, newest first. Throws Failure where it is not on this database: somebody has
 * moved it meanwhile, or is moving it.
 */
async function readyOn(work: Work, database: DatabaseOfRecord): Promise<readonly AppRevision[]> {
  const { context, name, moving } = work;
  const { kubectl, warn, flags, clock } = context;
  const timeoutMs = (flags.number('timeout') ?? 3600) * 1000;
  const record = await waitUntilReady(kubectl, name, { timeoutMs, say: warn, clock });
  await needMark(work, record);
  const revisions = await readRevisions(kubectl, record);
  const other = otherDatabase(record, revisions, { database, moving });
  if (other !== undefined) throw new Failure(other);
  return revisions;
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
