// What kubectl says of a Job that a command has made.

import type { ObservedCondition, Pod } from '../../deployments/assess/observed.ts';
import { podFailure } from '../../deployments/assess/pod-failures.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import type { Clock } from '../line/command.ts';
import { Failure, isNotFound, type Kubectl } from '../transport/kubectl.ts';
import { FIELD_MANAGER } from '../transport/records.ts';

interface Job extends Partial<KubeObject> {
  readonly status?: { readonly conditions?: readonly ObservedCondition[] };
}

/** Returns the name that the API server has given it. */
export async function createJob(kubectl: Kubectl, manifest: object): Promise<string> {
  const made = await kubectl(['create', FIELD_MANAGER, '-o', 'json', '-f', '-'], JSON.stringify(manifest));
  return (JSON.parse(made) as KubeObject).metadata.name;
}

/** Somebody has deleted a Job that a command waits for. */
class JobDeleted extends Failure {}

function deletedWords(job: string): string {
  return `Job ${job} was deleted before its end.`;
}

/** Throws JobDeleted if it is gone. */
async function readJob(kubectl: Kubectl, job: string): Promise<Job> {
  try {
    return JSON.parse(await kubectl(['get', 'jobs.batch', job, '-o', 'json'])) as Job;
  } catch (error) {
    throw isNotFound(error) ? new JobDeleted(deletedWords(job)) : error;
  }
}

function trueConditions({ status }: Job): readonly ObservedCondition[] {
  return (status?.conditions ?? []).filter((condition) => condition.status === 'True');
}

interface Ended {
  readonly name: string;
  readonly code: number;
}

function hasFailed({ code }: Ended): boolean {
  return code !== 0;
}

/** What the containers said at their end of which this holds. */
export function lastMessages({ status }: Pod, which: (ended: Ended) => boolean): readonly string[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.flatMap(({ name, state }) => {
    const ended = state?.terminated;
    return ended && which({ name, code: ended.exitCode }) ? [ended.message ?? ended.reason ?? ''] : [];
  });
}

type JobState =
  | { readonly is: 'complete'; readonly pods: readonly Pod[] }
  /** `words`: the last ones of what failed. */
  | { readonly is: 'failed'; readonly words: string }
  | { readonly is: 'deleted' }
  /** `trouble`: why its pod cannot start; what a container says at its end is said with the end of the Job. */
  | { readonly is: 'going on'; readonly pods: readonly Pod[]; readonly trouble: string | undefined };

async function stateOfJob(kubectl: Kubectl, job: string): Promise<JobState> {
  const [found, pods] = await Promise.all([readJob(kubectl, job), podsOfJob(kubectl, job)]);
  const { deletionTimestamp } = found.metadata ?? {};
  const conditions = trueConditions(found);
  if (conditions.some(({ type }) => type === 'Complete')) return { is: 'complete', pods };
  const failed = conditions.find(({ type }) => type === 'Failed');
  // A pod that is ended with its Job may count as one that has failed.
  if (deletionTimestamp !== undefined && !(failed && isBefore(failed, deletionTimestamp))) return { is: 'deleted' };
  if (failed) {
    const words = pods.flatMap((pod) => lastMessages(pod, hasFailed));
    return { is: 'failed', words: words[0]?.trim() ?? `${failed.message ?? failed.reason}` };
  }
  const waiting = pods.filter((pod) => pod.status?.phase === 'Pending' && lastMessages(pod, hasFailed).length === 0);
  return { is: 'going on', pods, trouble: podFailure(waiting)?.message };
}

/** `time`: RFC 3339. */
function isBefore({ lastTransitionTime = '' }: ObservedCondition, time: string): boolean {
  return Date.parse(lastTransitionTime) < Date.parse(time);
}

interface AwaitedJob<T> {
  readonly clock: Clock;
  /** Says why its pod cannot start, each reason once. */
  readonly warn: (line: string) => void;
  /** What is waited for; undefined until it is there. */
  readonly until: (state: Exclude<JobState, { readonly is: 'failed' | 'deleted' }>) => T | undefined;
  /** The message of a failure, given the last words of what failed. */
  readonly failed: (words: string) => string;
}

const EVERY_MS = 1000;

/** Throws Failure if the Job fails, and JobDeleted if somebody deletes it. */
export async function untilJob<T>(
  kubectl: Kubectl,
  job: string,
  { clock, warn, until, failed }: AwaitedJob<T>,
): Promise<T> {
  let warned: string | undefined;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until it is there
    const state = await stateOfJob(kubectl, job).catch(goneJob);
    if (state.is === 'deleted') throw new JobDeleted(failed(deletedWords(job)));
    if (state.is === 'failed') throw new Failure(failed(state.words));
    const found = until(state);
    if (found !== undefined) return found;
    const trouble = state.is === 'going on' ? state.trouble : undefined;
    if (trouble !== undefined && trouble !== warned) warn(trouble);
    warned = trouble;
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

function goneJob(error: unknown): { readonly is: 'deleted' } {
  if (!(error instanceof JobDeleted)) throw error;
  return { is: 'deleted' };
}

async function podsOfJob(kubectl: Kubectl, job: string): Promise<readonly Pod[]> {
  const text = await kubectl(['get', 'pods', '--selector', `batch.kubernetes.io/job-name=${job}`, '-o', 'json']);
  return (JSON.parse(text) as { readonly items: Pod[] }).items;
}
