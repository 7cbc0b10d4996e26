// Follows a deployment until it is ready or needs a person: `wait`, and what deploys. The controller judges, in the conditions.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../deploy/assess/observed.ts';
import { judgedAgainWithinMs } from '../../deploy/assess/retry.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import { isScaledToZero } from '../../deploy/record/revisions.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { FAILED_STATES } from '../../kinds/revision-states.ts';
import {
  API_FLAGS,
  type Clock,
  type Command,
  type Context,
  DEPLOYMENT,
  Misuse,
  OUTPUT,
  timeoutFlag,
  withFlags,
} from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { withShortIds } from '../line/short-ids.ts';
import { commandToStart, zeroSentence } from '../text/scaled-to-zero.ts';
import { type HttpApi, Refused } from '../transport/http-api.ts';
import { Failure, type Kubectl, type Outcome, TimedOut } from '../transport/kubectl.ts';
import { listOf, readRecord, readyPods } from '../transport/records.ts';
import {
  isBuilding,
  LAST_LINES,
  lastLines,
  NoBuildLog,
  needDeployment,
  openBuildLog,
  printBuildLog,
  readRevision,
} from './build-log.ts';

export const waitCommand: Command = {
  name: 'wait',
  purpose: 'wait until it is ready, or cannot become ready without your help',
  words: [DEPLOYMENT],
  flags: [timeoutFlag(600), OUTPUT, ...API_FLAGS],
  about: `A failure at the beginning may be older than your last change, so it counts only after Davit has checked again: after 10
seconds, or after 70 for a check that runs once a minute. Before the command fails, it prints
the last lines of the pods that are not ready, or of the build that failed.`,
  async run(context) {
    const {
      words: [name = ''],
      flags,
      say,
      report,
      clock,
    } = context;
    const api = await context.api();
    const { id } = await needDeployment(api, name);
    try {
      const timeoutMs = (flags.number('timeout') ?? 600) * 1000;
      report(readyResult(await untilReady(api, { id }, { timeoutMs, say, clock }), context.suggested));
    } catch (error) {
      if (error instanceof Failure && error.outcome?.reason === 'BuildFailed') await printBuild(context, name);
      throw error;
    }
    return 0;
  },
};

async function printBuild({ facade, warn, suggested }: Context, name: string): Promise<void> {
  try {
    const api = await facade();
    warn('The last lines of the build:');
    await printBuildLog(api, name, { follow: false, tail: LAST_LINES, say: warn });
  } catch (error) {
    if (error instanceof NoBuildLog) return warn(error.message);
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    warn(`To read the log of the build: ${PROGRAM} logs ${name} --build${suggested}`);
  }
}

type Said = Pick<Deployment['conditions'][number], 'type' | 'status' | 'reason' | 'message'>;

/** The part of a deployment that is judged. */
export type Judged = Pick<Deployment, 'name' | 'status' | 'status_message' | 'processed'> & {
  readonly conditions: readonly Said[];
};

/** Judges a record that was read with kubectl. */
export function judged({ metadata, status }: AppDeployment): Judged {
  const isLeaving = metadata.deletionTimestamp !== undefined;
  return {
    name: metadata.name,
    status: isLeaving ? 'AWAITING_DELETE' : (status?.state ?? 'UNKNOWN'),
    status_message: isLeaving ? 'It is being deleted.' : 'Davit has not processed the last change yet.',
    processed: (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    conditions: status?.conditions ?? [],
  };
}

interface Verdict {
  readonly is: 'ready' | 'waiting' | 'stalled';
  /** For people. */
  readonly words: string;
  /** The reason of the deciding condition; null if no condition is about the last change. */
  readonly reason: string | null;
  readonly message: string | null;
}

export function verdictOn({ status, status_message: said, processed, conditions }: Judged): Verdict {
  if (status === 'AWAITING_DELETE') return { is: 'stalled', words: said, reason: 'Deleting', message: said };
  if (!processed) return { is: 'waiting', words: said, reason: null, message: null };
  const ready = conditionOf(conditions, 'Ready');
  if (ready?.status === 'True') return verdict('ready', `Ready: ${ready.message || ready.reason}`, ready);
  const stalled = conditionOf(conditions, 'Stalled');
  if (stalled?.status === 'True') return verdict('stalled', `Stalled: ${stalled.reason}. ${stalled.message}`, stalled);
  if (ready === undefined) return { is: 'waiting', words: said, reason: null, message: null };
  return verdict('waiting', `${ready.reason}. ${ready.message}`, ready);
}

function verdict(is: Verdict['is'], words: string, { reason, message }: Said): Verdict {
  return { is, words, reason, message };
}

interface Judgement extends Verdict {
  /** Milliseconds for which a failure has to stand from the first look on, because it may be from before a repair; 0: it counts. */
  readonly looksAgainForMs: number;
}

/**
 * Judges one look after the other. What is corrected beside the record, such as a Secret or a quota, has no generation: a failure that
 * the first look finds may be one that the controller has not judged again since. One that comes later is news.
 */
export function makeJudge({ now }: Pick<Clock, 'now'>): (seen: Judged) => Judgement {
  let first: { readonly reason: string | undefined; readonly at: number } | undefined;
  return (seen) => {
    const found = verdictOn(seen);
    const stalled = conditionOf(seen.conditions, 'Stalled');
    const reason = stalled?.status === 'True' ? stalled.reason : undefined;
    first ??= { reason, at: now() };
    if (reason !== first.reason) first = { ...first, reason: undefined };
    const standsMs = found.is === 'stalled' && first.reason === found.reason ? judgedAgainWithinMs(first.reason) : 0;
    return { ...found, looksAgainForMs: now() - first.at >= standsMs ? 0 : standsMs };
  };
}

interface FollowOptions {
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
  readonly clock?: Clock;
  readonly everyMs?: number;
  /** As it was before a change: a failure that it had may be from before a repair. Absent: as the first look finds it. */
  readonly before?: Judged;
}

const CLOCK: Clock = { now: Date.now, sleep };

/**
 * Resolves to what `look` sees when it is ready. Prints each reason once. Throws Failure when it needs a person, and TimedOut. `onLook` is
 * called with each look, after its line is printed.
 */
export async function follow<T extends Judged>(
  look: () => Promise<T>,
  { timeoutMs, say, clock = CLOCK, everyMs = 1000, before }: FollowOptions,
  onLook?: (seen: T) => Promise<void>,
): Promise<T> {
  const end = clock.now() + timeoutMs;
  const judge = makeJudge(clock);
  if (before) judge(before);
  let said = '';
  for (;;) {
    const seen = await look();
    const { is, words, reason, message, looksAgainForMs } = judge(seen);
    if (words !== said) {
      say(withShortIds(words));
      if (looksAgainForMs > 0)
        say(
          `This may be older than your last change. If it is unchanged in ${looksAgainForMs / 1000} s, the wait fails.`,
        );
    }
    said = words;
    await onLook?.(seen);
    if (is === 'ready') return seen;
    const isOver = clock.now() >= end;
    const { name } = seen;
    if (is === 'stalled' && (looksAgainForMs === 0 || isOver))
      throw new Failure(blockedWords(name, message), failed(name, { reason, message }));
    if (isOver)
      throw new TimedOut(
        `${name} is not ready after ${timeoutMs / 1000} s. ${words} To wait longer: ${PROGRAM} wait ${name}`,
        { result: 'undecided', reason, message: message ?? words, hint: `${PROGRAM} wait ${name}` },
      );
    await clock.sleep(everyMs);
  }
}

function failed(name: string, why: Pick<Outcome, 'reason' | 'message'>): Outcome {
  const hint = why.reason === 'BuildFailed' ? `${PROGRAM} logs ${name} --build` : `${PROGRAM} status ${name}`;
  return { result: 'failed', ...why, hint };
}

/** The last line for a deployment that waits for a person: the cause, which may stand far above, and a command. */
function blockedWords(name: string, message: string | null): string {
  const why = message ? `: ${withShortIds(message)}` : '.';
  const see = message?.includes(`${PROGRAM} `) ? '' : ` See: ${PROGRAM} status ${name}`;
  return `${name} will not become ready on its own${why}${see}`;
}

interface Followed {
  readonly id: string;
  /** The revision that a change has made; absent: whichever is the newest. */
  readonly revision?: string;
  /** Where the log of its build is read, which is printed as it is written; absent: it is not. */
  readonly builds?: HttpApi;
}

/** Waits over the HTTP API until the deployment is ready. Before it fails, it prints the last lines of the pods that are not ready. */
export async function untilReady(api: HttpApi, of: Followed, options: FollowOptions): Promise<Deployment> {
  const { id, revision, builds } = of;
  const { say } = options;
  const printBuild = revision === undefined || !builds ? undefined : buildPrinter(builds, { id, revision }, say);
  let last: Deployment | undefined;
  const look = async (): Promise<Deployment> => {
    last = await api.patiently<Deployment>('GET', `/v2/deployments/${id}?secrets=names`);
    return last;
  };
  const onLook = async (seen: Deployment): Promise<void> => {
    await printBuild?.(seen);
    if (revision !== undefined) await needNotReplaced(api, seen, revision);
  };
  try {
    return await follow(look, options, onLook);
  } catch (error) {
    if (last === undefined || !(error instanceof Failure) || error.outcome === undefined) throw error;
    const { name, active_revision_id: active, latest_revision_id: latest } = last;
    if (latest !== null && latest === (revision ?? latest))
      for (const line of await lastLines(api, id, latest)) say(line);
    if (error instanceof TimedOut && active !== null && active !== latest)
      error.message += `\nAn earlier revision is still active. To go back to it: ${PROGRAM} rollback ${name}`;
    throw error;
  }
}

/** Throws Failure where this revision has failed, or was not deployed, and a newer one has taken its place. */
async function needNotReplaced(
  api: HttpApi,
  { id, name, latest_revision_id: latest }: Deployment,
  revision: string,
): Promise<void> {
  if (latest === revision) return;
  const { name: called, status, status_message: message } = await readRevision(api, id, revision);
  const isFailed = FAILED_STATES.includes(status);
  if (!isFailed && status !== 'SKIPPED' && status !== 'INTERRUPTED') return;
  const what = isFailed ? 'failed, and a newer one has taken its place' : 'was replaced by a newer one';
  throw new Failure(
    `Revision ${called} of ${name} ${what}. ${message ?? ''}`.trim(),
    failed(name, { reason: status, message }),
  );
}

/** Prints the new lines of the build's log, until the build has ended. Without the right to read it, prints that once. */
function buildPrinter(
  api: HttpApi,
  { id, revision }: Required<Pick<Followed, 'id' | 'revision'>>,
  say: (line: string) => void,
): (seen: Deployment) => Promise<void> {
  const more = openBuildLog(api, id, revision, true);
  let canRead = true;
  return async ({ phase, latest_revision_id: latest }) => {
    if (!canRead) return;
    try {
      for (const line of await more()) say(line);
      canRead = phase !== null && latest === revision && isBuilding({ status: phase });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(`The log of the build cannot be read: ${error.message}`);
      canRead = false;
    }
  };
}

function readyResult(deployment: Deployment, suggested: string): object {
  const { name, status: state, active_revision_id: activeRevisionId, source_config: config } = deployment;
  return { name, state, activeRevisionId, url: config.custom_url, ...readyOutcome(deployment, suggested) };
}

/** For programs: the same fields as of a failure. `suggested`: as Context has it. */
export function readyOutcome(
  { name, conditions }: Pick<Judged, 'name' | 'conditions'>,
  suggested: string,
): Outcome & { exitCode: number } {
  const { reason = null, message = null } = conditionOf(conditions, 'Ready') ?? {};
  const hint = reason === 'ScaledToZero' ? withFlags(commandToStart(name), suggested) : null;
  return { result: 'ready', reason, message, hint, exitCode: 0 };
}

/** Throws Failure if no pod can answer: `kubectl port-forward` waits for one without a word. */
export async function needReadyPod(kubectl: Kubectl, name: string): Promise<void> {
  const record = await readRecord(kubectl, name);
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: 'server' });
  if (readyPods(pods).length > 0) return;
  const zero = isScaledToZero(record) ? zeroSentence(name, 'server') : undefined;
  if (zero !== undefined) throw new Failure(zero);
  const { is, words } = verdictOn(judged(record));
  throw new Failure(`No pod of ${name} is ready. ${words}\n${NEXT[is](name)}`);
}

/** A deployment that is ready without pods was scaled a moment ago. */
const NEXT: Readonly<Record<Verdict['is'], (name: string) => string>> = {
  ready: (name) => `To wait for one: ${PROGRAM} wait ${name}`,
  waiting: (name) => `To wait for one: ${PROGRAM} wait ${name}`,
  stalled: (name) => `To see the cause: ${PROGRAM} status ${name}`,
};
