// What is wrong with pods, in words that stay the same from one look to the next: no counters, no times.
// `crashedOften` decides when a container has crashed too often.

import type { Reason } from '../../kinds/app-deployment-conditions.ts';
import { memoryAdvice } from '../../kinds/memory-advice.ts';
import {
  COMPONENT_LABEL,
  isOfStores,
  MIGRATION_CONTAINER,
  REVISION_LABEL,
  STORE_PARTS,
  TASK_CONTAINER,
  TASK_LABEL,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../kinds/meta.ts';
import { containerEnded, containerSubject, containerText, isDatabaseStep } from '../../kinds/own-containers.ts';
import { quantity } from '../../kinds/quantity.ts';
import { quoted, shortened, withoutEscapes } from '../../kinds/text.ts';
import { isPart, isRole } from '../../kinds/worker-parts.ts';
import { adviceOnProcessor, failsToPull, pullFailureOf } from './image-pull.ts';
import type { ContainerState, ContainerStatus, ObservedChildren, Pod } from './observed.ts';
import { messagesOnly } from './server-log.ts';
import { howToGiveUp, howToRelease, isControlled, isReplacedAfterItsEnd } from './terminating-pods.ts';

export interface Trouble {
  readonly reason: Reason;
  readonly message: string;
}

const CONFIG_REASONS: ReadonlySet<string> = new Set(['CreateContainerConfigError', 'CreateContainerError']);

/** Container of an own PostgreSQL. */
const DATABASE = 'postgres';
const STORES: ReadonlySet<string> = new Set([DATABASE, 'redis']);

/** Longest quotation of a pod's own words, in characters. */
const MAX_QUOTE = 512;

/** The pods of a part, without copies that people made of them. */
export function podsOf(
  { pods }: Pick<ObservedChildren, 'pods'>,
  component: string,
  revisionId?: string,
): readonly Pod[] {
  return pods.filter(
    (pod) =>
      isControlled(pod) &&
      pod.metadata.labels?.[COMPONENT_LABEL] === component &&
      (revisionId === undefined || pod.metadata.labels[REVISION_LABEL] === revisionId),
  );
}

export function isReadyPod({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/** Whether it may still run: a run of a task is kept when it has ended. */
export function isUnended({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

/** The pods that may write to a database: all that are not Davit's own work on it. */
export function writersAmong(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => isUnended(pod) && !isOfStores(pod.metadata.labels?.[COMPONENT_LABEL]));
}

/** The gravest trouble among these pods; of equals, that of the first pod by name. Undefined where there is none. */
export function podFailure(pods: readonly Pod[]): Trouble | undefined {
  const alive = living(pods);
  const containers = containersOf(alive);
  // Five minutes after its node was lost, Kubernetes deletes a pod, which stays: no other one takes its place.
  const kept = pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined && isReplacedAfterItsEnd(pod));
  return (
    firstTrouble([...alive, ...kept], nodeTrouble) ??
    firstTrouble(containers, pullTrouble) ??
    firstTrouble(containers, configTrouble) ??
    firstTrouble(containers, crashTrouble) ??
    firstTrouble(alive, placeTrouble) ??
    firstTrouble(alive, mountTrouble)
  );
}

/** The same of the pods of a Job, which ends only when they have. */
export function workFailure(pods: readonly Pod[]): Trouble | undefined {
  const overdue = pods.find((pod) => pod.overdue && isUnended(pod));
  return overdue ? { reason: 'PodStuckTerminating', message: howToRelease(overdue) } : podFailure(pods);
}

/** By name, without those that end. */
export function living(pods: readonly Pod[]): readonly Pod[] {
  return pods
    .filter((pod) => !pod.metadata.deletionTimestamp)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

interface Container extends ContainerStatus {
  /** It runs a command that somebody typed, which no revision has. */
  readonly isTyped: boolean;
}

function containersOf(pods: readonly Pod[]): readonly Container[] {
  return pods.flatMap(({ metadata, spec, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((container) => {
      const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
      const resources = container.resources ?? all.find(({ name }) => name === container.name)?.resources;
      const isTyped = container.name === TASK_CONTAINER && metadata.labels?.[TASK_LABEL] === undefined;
      return { ...container, isTyped, ...(resources && { resources }) };
    }),
  );
}

function firstTrouble<T>(items: readonly T[], check: (item: T) => Trouble | undefined): Trouble | undefined {
  for (const item of items) {
    const trouble = check(item);
    if (trouble) return trouble;
  }
  return undefined;
}

const OF_PLATFORM: ReadonlySet<string> = new Set([...STORE_PARTS, WAIT_FOR_DATABASE, WAIT_FOR_REDIS]);
const SET_BY_PLATFORM = ' The platform team sets this image in the chart: settings.images.';

function pullTrouble(container: ContainerStatus): Trouble | undefined {
  if (!failsToPull(container)) return undefined;
  const { cause, todo } = pullFailureOf(container);
  return {
    reason: 'ImagePullFailed',
    message: `Image ${shortened(container.image ?? '', 512)} of ${containerText(container.name)} cannot be pulled${cause === '' ? '' : `: ${cause}`}. ${todo}${OF_PLATFORM.has(container.name) ? SET_BY_PLATFORM : ''}`,
  };
}

function configTrouble(container: ContainerStatus): Trouble | undefined {
  const waiting = container.state?.waiting;
  if (!CONFIG_REASONS.has(waiting?.reason ?? '')) return undefined;
  const words = quote(waiting?.message);
  const todo =
    adviceOnProgram(words) ??
    'Create the missing object, or correct what the container takes from it in resource_spec.';
  return {
    reason: 'ContainerConfigInvalid',
    message: `${containerSubject(container.name)} cannot be created: ${words || waiting?.reason}. ${todo}`,
  };
}

/** What helps where the image does not have the program, or the node cannot run it. */
function adviceOnProgram(words: string): string | undefined {
  const hasNone = /executable file not found|exec: .*(?:no such file or directory|permission denied)/.test(words);
  return (
    adviceOnProcessor(words) ?? (hasNone ? 'Correct the command, or use an image that has this program.' : undefined)
  );
}

function crashTrouble(container: Container): Trouble | undefined {
  const ended =
    container.state?.terminated ??
    notStarted(container) ??
    (container.state?.running && container.ready && !container.unsettled ? undefined : container.lastState?.terminated);
  const isLoop = container.unsettled || container.state?.waiting?.reason === 'CrashLoopBackOff';
  if (!ended || (ended.exitCode === 0 && !isLoop)) return undefined;
  if (ended.reason === 'OOMKilled' && !isDatabaseStep(container.name))
    return { reason: 'ContainerCrashed', message: outOfMemory(container) };
  const words = quote(container.name === DATABASE ? messagesOnly(ended.message ?? '') : ended.message);
  if (container.name === DATABASE && /no space left on device/i.test(ended.message ?? ''))
    return { reason: 'VolumeFull', message: `${containerEnded(container.name)}: ${words}. ${VOLUME_FULL}` };
  const how = `${ended.reason ?? 'Error'}, exit code ${ended.exitCode}`;
  const isDone = ended.exitCode === 0 && isRole(container.name);
  const advice = isDone ? NOTHING_SERVES : adviceOnEnd(container, ended.reason, words);
  return {
    reason: 'ContainerCrashed',
    message: `${containerEnded(container.name)} (${how})${words ? `: ${words}` : ''}.${advice === undefined ? '' : ` ${advice}`}${container.unsettled ? ' It is running again; Davit waits to see whether it stays up.' : ''}`,
  };
}

/** As the kubelet reports it as soon as the container is there: a container whose program was not started has exited. */
function notStarted({ state }: Container): ContainerState['terminated'] {
  const { reason, message } = state?.waiting ?? {};
  return reason === 'RunContainerError'
    ? { exitCode: 128, reason: 'StartError', ...(message !== undefined && { message }) }
    : undefined;
}

function outOfMemory({ name, resources }: ContainerStatus): string {
  const limit = Number(quantity(resources?.limits?.['memory']));
  const what = isRole(name) || STORES.has(name) ? `The ${name}` : containerSubject(name);
  const much = Number.isNaN(limit) ? '' : ` of ${Math.round(limit / 2 ** 20)} MB`;
  return `${what} was killed: it used more than its memory limit${much}. ${memoryAdvice(MEMORY_FIELDS[name])}`;
}

/** Where the limit of a container stands. Migrations and runs of tasks have the size of the server. */
const MEMORY_FIELDS: Readonly<Record<string, string>> = {
  server: 'memory_limit_mb',
  [MIGRATION_CONTAINER]: 'memory_limit_mb',
  [TASK_CONTAINER]: 'memory_limit_mb',
  queue: 'queue_memory_limit_mb',
  orchestrator: 'orchestrator_memory_limit_mb',
  executor: 'executor_memory_limit_mb',
  [DATABASE]: 'db_memory_limit_mb',
  redis: 'redis_memory_mb',
};

/** What helps where a program ended without an error: it is no server. */
const NOTHING_SERVES =
  'The program ended without an error, but a deployment needs one that keeps running. Set command in source_config.runtime, or CMD in the image. For the graphs of a langgraph.json, the platform can add a server (setting builds.agentServer).';

/** What helps where PostgreSQL has ended for want of room. */
export const VOLUME_FULL =
  'Its volume is full. Raise db_storage_gi in source_config.resource_spec; PostgreSQL starts again when the volume has grown, which its storage class must allow.';

/** What helps. No revision changes what Davit's own work on the database does, nor the program of a store. */
function adviceOnEnd({ name, isTyped }: Container, reason: string | undefined, words: string): string | undefined {
  const isOwn = isDatabaseStep(name);
  if (reason === 'OOMKilled' && isOwn) return 'It reached its memory limit.';
  // A container that has started wrote its words itself.
  const known = reason === 'StartError' && !isOwn ? adviceOnProgram(words) : adviceOnProcessor(words);
  if (known !== undefined || isOwn) return known;
  return isTyped || STORES.has(name) ? 'Read its log.' : 'Read its log, and deploy a corrected revision.';
}

/** Davit's own containers wait for stores, and may exit until these answer. */
export const WAITS: ReadonlySet<string> = new Set([WAIT_FOR_DATABASE, WAIT_FOR_REDIS]);

/** A container that ran for longer than this does not crash in a loop: Kubernetes, too, forgets its earlier exits then. */
export const FORGOTTEN_MS = 600_000;

/**
 * The trouble of a container of these pods that is not running well and has exited at least `times` times, the last time after a short run
 * that began later than `sinceMs`.
 */
export function crashedOften(pods: readonly Pod[], times: number, sinceMs: number): Trouble | undefined {
  return firstTrouble(containersOf(living(pods)), (container) => {
    const { name, state, lastState } = container;
    const { startedAt = '', finishedAt = '' } = state?.terminated ?? lastState?.terminated ?? {};
    // The epoch, if its program was not started.
    const began = Date.parse(startedAt) || Date.parse(finishedAt);
    const isOlder = began <= sinceMs;
    const ranLong = Date.parse(finishedAt) - began >= FORGOTTEN_MS;
    const isLoop = !WAITS.has(name) && !isOlder && !ranLong && exitsOf(container) >= times;
    return isLoop ? crashTrouble(container) : undefined;
  });
}

/** The restart that follows an exit is counted only when it begins. */
function exitsOf({ restartCount = 0, state, lastState }: ContainerStatus): number {
  const isBetween =
    state?.terminated !== undefined || (state?.waiting !== undefined && lastState?.terminated !== undefined);
  return restartCount + (isBetween ? 1 : 0);
}

/**
 * A node that has stopped reporting: the control plane makes the pods on it not ready, and leaves what their containers were last. A kubelet
 * that reports has both agree.
 */
function nodeTrouble(pod: Pod): Trouble | undefined {
  const { metadata, spec, status } = pod;
  const [ready, containers] = ['Ready', 'ContainersReady'].map((type) =>
    status?.conditions?.find((condition) => condition.type === type),
  );
  const isCutOff = ready?.status === 'False' && ready.reason !== 'ReadinessGatesNotReady';
  if (!isCutOff || containers?.status !== 'True' || spec?.nodeName === undefined) return undefined;
  const { nodeName } = spec;
  const then = isReplacedAfterItsEnd(pod)
    ? `Kubernetes starts no other pod while this one may still run. ${howToGiveUp(nodeName, pod)}`
    : 'If it does not return, Kubernetes replaces the pods of Deployments after about five minutes.';
  return {
    reason: 'NodeNotReady',
    message: `Node ${nodeName} has stopped reporting, so pod ${metadata.name} on it counts as not ready. Check the node: kubectl describe node ${nodeName}. ${then}`,
  };
}

function placeTrouble(pod: Pod): Trouble | undefined {
  const scheduled = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined;
  const words = quote(scheduled.message);
  const lost =
    /persistentvolumeclaim "([^"]+)" (not found|is being deleted|bound to non-existent persistentvolume)/.exec(words);
  if (lost) {
    return {
      reason: 'VolumeMissing',
      message: `A volume is missing: ${words}. Create PersistentVolumeClaim ${lost[1]} in namespace ${pod.metadata.namespace}, or remove the volume that names it from resource_spec. The pod then starts automatically.`,
    };
  }
  if (words.includes('bound to non-existent pv')) {
    return {
      reason: 'VolumeMissing',
      message: `A volume is missing: ${words}. Restore the PersistentVolume to which the pod's PersistentVolumeClaim is bound.`,
    };
  }
  if (/persistentvolumeclaim/i.test(words)) {
    return {
      reason: 'VolumePending',
      message: `A volume is not bound yet: ${words}. Check the storage class and its provisioner.`,
    };
  }
  // A store or a migration is named before.
  const component = pod.metadata.labels?.[COMPONENT_LABEL];
  const part = isPart(component) ? component : undefined;
  return {
    reason: 'Unschedulable',
    message: `No node can run ${part === undefined ? 'the pod' : `a pod of the ${part}`}: ${words}. ${PLACE_ADVICE.find(([cause]) => cause.test(words))?.[1] ?? 'Add a node that accepts the pod.'}`,
  };
}

/** What the scheduler says of nodes, and what helps. Lower requests help only where something is insufficient. */
const PLACE_ADVICE: readonly (readonly [cause: RegExp, todo: string])[] = [
  [/Insufficient |Too many pods|no room/, 'Lower the requests, or add capacity.'],
  [
    /were unschedulable|unschedulable:|node\.kubernetes\.io\/unschedulable/,
    'A node is cordoned: kubectl uncordon NODE, or add a node.',
  ],
  [/untolerated taint|had taint/, 'Remove the taint, tolerate it (placement, tolerations), or add a node.'],
  [
    /node affinity|node selector|topology spread/,
    'Correct the placement (node selector, affinity), or add a node that matches it.',
  ],
];

function mountTrouble({ failedMount }: Pod): Trouble | undefined {
  if (failedMount === undefined) return undefined;
  return {
    reason: 'VolumeNotMounted',
    message: `A volume cannot be mounted: ${quoted(failedMount)}. Create the missing object; the pod then starts automatically.`,
  };
}

/** The line that names an error below the frames of a traceback, such as `app.LoadError: No module named 'x'`. */
const ERROR_LINE = /^(?:(?:[A-Za-z_][\w.$]*)?(?:Error|Exception)(?::|$)|panic: )/;

/**
 * The last whole lines, because a program says at the end why it ended, after the error that the last traceback names. A line that is too
 * long is cut at its end.
 */
function quote(words: string | undefined): string {
  const lines = withoutEscapes((words ?? '').slice(-MAX_QUOTE * 8))
    .slice(-MAX_QUOTE * 4)
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
  const error = lines.findLast((line) => ERROR_LINE.test(line)) ?? '';
  const end = lastOf(lines, MAX_QUOTE);
  const half = MAX_QUOTE / 2;
  const quotation = end.includes(error) ? end : `${shortened(error, half)} … ${lastOf(lines, half)}`;
  return quotation.toWellFormed().replace(/\.$/, '');
}

/** The last whole lines of at most `most` characters together; the last one is cut. */
function lastOf(lines: readonly string[], most: number): string {
  let end = shortened(lines.at(-1) ?? '', most);
  for (const line of lines.slice(0, -1).toReversed()) {
    if (line.length + 1 + end.length > most) break;
    end = `${line} ${end}`;
  }
  return end;
}
