// Waits until a deployment is ready, or fails with the reason if it is Stalled, for which `kubectl wait` would time out.

import type { Pod } from '../deployments/assess/observed.ts';
import { isReadyPod } from '../deployments/assess/pod-failures.ts';
import { isTriedAgain, LONGEST_MS } from '../deployments/assess/retry.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { conditionOf } from '../schema/conditions.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import type { Condition } from '../schema/primitives.ts';
import { API_FLAGS, type Clock, type Command, DEPLOYMENT, OUTPUT, timeoutFlag, withFlags } from './command.ts';
import { exitsOfParts, makeCrashCount, podsOfAllParts, saysCrash } from './crash-loop.ts';
import { Failure, type Kubectl, type Outcome, TimedOut } from './kubectl.ts';
import { printLastWords } from './last-words.ts';
import { PROGRAM } from './program.ts';
import { listOf, readRecord } from './records.ts';
import { commandToStart } from './scaled-to-zero.ts';
import { withShortIds } from './short-ids.ts';

export const waitCommand: Command = {
  name: 'wait',
  purpose: 'wait until it is ready, or cannot become ready without a person',
  words: [DEPLOYMENT],
  flags: [timeoutFlag(600), OUTPUT, ...API_FLAGS],
  about: `A failure that is there at the beginning may be from before a repair, so it counts only when Davit has looked again: after 10
seconds, or after 75 for what it tries again once a minute. A container of a deployed revision counts when it has exited three times,
and again since the beginning. Where it fails, it prints the last lines of the container that exited or of the build that failed. The flags --server,
--davit-namespace and --token are for the log of a build, which the HTTP API has.`,
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      say,
      report,
      clock,
    } = context;
    try {
      const timeoutMs = (flags.number('timeout') ?? 600) * 1000;
      const record = await waitUntilReady(kubectl, name, { timeoutMs, say, clock });
      report(readyResult(record, context.suggested));
    } catch (error) {
      if (error instanceof NotReady || error instanceof TimedOut) await printLastWords(context, name);
      throw error;
    }
    return 0;
  },
};

/** The deployment is there, and not ready. */
class NotReady extends Failure {}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
  readonly clock: Clock;
}

/** The interval of the checks. */
const EVERY_MS = 1000;

export interface Verdict {
  readonly is: 'ready' | 'waiting' | 'stalled';
  /** For people. */
  readonly words: string;
  /** Those of the condition that decides; null where there is none about the record's present generation. */
  readonly reason: string | null;
  readonly message: string | null;
}

/** Resolves to the record that is ready. Throws Failure when it stalls or is deleted, and TimedOut after `timeoutMs`. */
export async function waitUntilReady(kubectl: Kubectl, name: string, options: WaitOptions): Promise<AppDeployment> {
  const { timeoutMs, say, clock } = options;
  const end = clock.now() + timeoutMs;
  const judge = makeJudge(clock);
  const countsCrash = makeCrashCount();
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one check after the other
    const record = await readRecord(kubectl, name);
    const { verdict, looksAgainForMs } = judge(record);
    const { is, words, reason, message } = verdict;
    if (words !== said) {
      say(withShortIds(words));
      if (looksAgainForMs > 0) say(mayBeOld(looksAgainForMs));
    }
    said = words;
    if (is === 'ready') return record;
    const isOver = clock.now() >= end;
    if (is === 'stalled' && (looksAgainForMs === 0 || isOver)) throw needsPerson(name, verdict);
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (isLeftToKubernetes(record, verdict) && countsCrash(exitsOfParts(await podsOfAllParts(kubectl, name))))
      throw needsPerson(name, verdict);
    if (isOver)
      throw new TimedOut(`${name} is not ready after ${timeoutMs / 1000} s. ${words}${meanwhile(record)}`, {
        result: 'undecided',
        reason,
        message: message ?? words,
        hint: `${PROGRAM} wait ${name}`,
      });
    // oxlint-disable-next-line no-await-in-loop -- as above
    await clock.sleep(EVERY_MS);
  }
}

/** Whether nobody but Kubernetes goes on, by restarting a container that exits: the revision was deployed, perhaps at a scale of zero. */
function isLeftToKubernetes({ status }: AppDeployment, { is, reason }: Verdict): boolean {
  // What has no reason is not observed yet.
  return is === 'waiting' && reason !== null && status?.phase === 'DEPLOYED' && saysCrash(status.conditions);
}

/** A line of its own, for a deployment whose newest revision is not ready, and an earlier one is active. */
export function servesMeanwhile(name: string): string {
  return `\nAn earlier revision is active meanwhile. To go back to it: ${PROGRAM} rollback ${name}`;
}

/** What serves while the newest revision is not ready; empty where that is unknown, or there is no earlier one. */
function meanwhile({ metadata: { name }, status }: AppDeployment): string {
  const { activeRevisionId, latestRevisionId } = status ?? {};
  if (activeRevisionId === undefined || latestRevisionId === undefined || activeRevisionId === latestRevisionId)
    return '';
  return servesMeanwhile(name);
}

function mayBeOld(milliseconds: number): string {
  return `This may be from before a repair. If it is still so in ${milliseconds / 1000} s, it counts.`;
}

function needsPerson(name: string, { reason, message }: Verdict): NotReady {
  const hint = `${PROGRAM} status ${name}`;
  return new NotReady(wordsOnBlocked(name, message), { result: 'failed', reason, message, hint });
}

/** The last line for a deployment that waits for a person: the cause, which may stand far above, and a command. */
export function wordsOnBlocked(name: string, message: string | null | undefined): string {
  const why = message ? `: ${withShortIds(message)}` : '.';
  const see = message?.includes(`${PROGRAM} `) ? '' : ` See: ${PROGRAM} status ${name}`;
  return `${name} will not become ready on its own${why}${see}`;
}

/** Within this time the controller has looked again at what a watch tells it, in milliseconds. */
const LOOKED_AGAIN_MS = 10_000;
/** The same of what it tries again after a time, with time for the attempt. */
const TRIED_AGAIN_MS = LONGEST_MS + 15_000;

export interface Judgement {
  readonly verdict: Verdict;
  /** Milliseconds for which a failure has to stand from its first look on, because it may be from before a repair; 0: it counts. */
  readonly looksAgainForMs: number;
}

/**
 * Judges one look after the other. What is corrected beside the record, such as a Secret or a quota, has no generation: a failure that
 * the first look finds may be one that the controller has not looked at since. One that comes later is news.
 */
export function makeJudge({ now }: Pick<Clock, 'now'>): (record: AppDeployment) => Judgement {
  let first: { readonly words: string; readonly at: number } | undefined;
  return (record) => {
    const verdict = verdictOn(record);
    const { is, words, reason } = verdict;
    const known = stalledWords(record);
    first ??= { words: known ?? '', at: now() };
    if (is !== 'stalled' || first.words !== words || known === undefined) return { verdict, looksAgainForMs: 0 };
    const stands = reason !== null && isTriedAgain(reason) ? TRIED_AGAIN_MS : LOOKED_AGAIN_MS;
    return { verdict, looksAgainForMs: now() - first.at >= stands ? 0 : stands };
  };
}

function readyResult({ metadata: { name }, status }: AppDeployment, suggested: string): object {
  const { state = null, activeRevisionId = null, url = null, conditions } = status ?? {};
  const ready = conditionOf(conditions, 'Ready');
  return { name, state, activeRevisionId, url, ...readyOutcome(name, ready, suggested) };
}

/** For programs: the same fields as of a failure. `suggested`: as Context has it. */
export function readyOutcome(
  name: string,
  ready: Pick<Condition, 'reason' | 'message'> | undefined,
  suggested: string,
): Outcome & { exitCode: number } {
  const { reason = null, message = null } = ready ?? {};
  const hint = reason === 'ScaledToZero' ? withFlags(commandToStart(name), suggested) : null;
  return { result: 'ready', reason, message, hint, exitCode: 0 };
}

/** Throws Failure if no pod can answer: `kubectl port-forward` waits for one without a word. */
export async function needReadyPod(kubectl: Kubectl, name: string): Promise<void> {
  const record = await readRecord(kubectl, name);
  const pods = await listOf<Pod>(kubectl, 'pods', name, { [COMPONENT_LABEL]: 'server' });
  if (pods.some((pod) => pod.metadata.deletionTimestamp === undefined && isReadyPod(pod))) return;
  const { is, words } = verdictOn(record);
  throw new Failure(`No pod of ${name} is ready. ${words}\n${NEXT[is](name)}`);
}

/** A deployment that is ready without pods is scaled to zero. */
const NEXT: Readonly<Record<Verdict['is'], (name: string) => string>> = {
  ready: (name) => `To start one: ${commandToStart(name)}`,
  waiting: (name) => `To wait for one: ${PROGRAM} wait ${name}`,
  stalled: (name) => `What is wrong: ${PROGRAM} status ${name}`,
};

/** Considers only a status of the record's current generation. */
export function verdictOn(record: AppDeployment): Verdict {
  const { metadata, status } = record;
  if (metadata.deletionTimestamp) {
    const words = 'It is being deleted.';
    return { is: 'stalled', words, reason: 'Deleting', message: words };
  }
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return { is: 'waiting', words: 'Davit has not observed its latest change yet.', reason: null, message: null };
  const ready = conditionOf(status?.conditions, 'Ready');
  if (ready?.status === 'True')
    return { is: 'ready', words: `Ready: ${ready.message || ready.reason}`, ...whyOf(ready) };
  const stalled = stalledWords(record);
  if (stalled !== undefined)
    return { is: 'stalled', words: stalled, ...whyOf(conditionOf(status?.conditions, 'Stalled')) };
  const words = ready ? `${ready.reason}. ${ready.message}` : 'Davit has not reported yet.';
  return { is: 'waiting', words, ...whyOf(ready) };
}

function whyOf(condition: Condition | undefined): Pick<Verdict, 'reason' | 'message'> {
  return { reason: condition?.reason ?? null, message: condition?.message ?? null };
}

/** What Stalled says, of whatever generation; undefined where it is not True. */
function stalledWords({ status }: AppDeployment): string | undefined {
  const stalled = conditionOf(status?.conditions, 'Stalled');
  return stalled?.status === 'True' ? `Stalled: ${stalled.reason}. ${stalled.message}` : undefined;
}
