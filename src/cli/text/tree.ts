// One deployment with its parts as a tree, each with its state and, if something is wrong, the reason. Pure.

import type { DeploymentEvent, DeploymentPod } from '../../deploy/http/events/payloads.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import type { Revision } from '../../deploy/http/revisions/payloads.ts';
import { databaseText } from '../../deploy/record/database-move.ts';
import { CONDITION_TYPES, isFailure } from '../../kinds/app-deployment-conditions.ts';
import { listedEvents, runsBeside } from '../../kinds/listed-events.ts';
import { ROLES, STORE_PARTS } from '../../kinds/meta.ts';
import { type Amounts, usageWords } from '../../kinds/pod-usage.ts';
import { shortened } from '../../kinds/text.ts';
import { isWorker } from '../../kinds/worker-parts.ts';
import { withShortIds } from '../line/short-ids.ts';
import { ageOf } from './table.ts';

/** What the HTTP API answers about a deployment. */
export interface Parts {
  readonly deployment: Deployment;
  /** The tenant's, where it is known. */
  readonly namespace: string | undefined;
  /** Newest first. */
  readonly revisions: readonly Revision[];
  readonly pods: readonly DeploymentPod[];
  /** Newest first. */
  readonly events: readonly DeploymentEvent[];
  /** What the caller may not list. */
  readonly hidden: readonly string[];
}

type Condition = Deployment['conditions'][number];

interface Branch {
  readonly text: string;
  readonly under?: readonly Branch[];
}

/** Maximum number of listed revisions; the others are counted. */
const REVISIONS_SHOWN = 5;
/** Maximum number of listed pods of a part, those with a trouble first; the others are counted. */
const PODS_SHOWN = 20;
/** Maximum number of listed events, the newest. */
const EVENTS_SHOWN = { most: 8, mostOfRuns: 2 };
/** Characters of a message that is not repeated. */
const LONG_MESSAGE = 60;
/** Characters of the message of a revision that is not the latest: what was in its way is over. JSON has all of it. */
const LONGEST_OF_OLDER = 160;
/** The conditions about a single part, which are always shown, in this order. */
const OF_PARTS = [
  'PolicyAccepted',
  'ReferencesResolved',
  'DatabaseReady',
  'DatabaseRestored',
  'BackupReady',
  'ArchiveReady',
  'BackupVerified',
  'RedisReady',
  'WorkloadsReady',
  'TasksReady',
  'AddressReady',
];

/** They summarize the others, and True means of two of them that something is not in order. */
const SUMMARIES = ['Ready', 'Available', 'Reconciling', 'Stalled'];

/** Lines without line ends. `now` in milliseconds, for ages. */
export function treeOf(parts: Parts, now = Date.now()): string[] {
  const { deployment, namespace, revisions, pods, events, hidden } = parts;
  const { name, status, source_config: config, internal_url: internal, changed_by: changedBy } = deployment;
  const ready = deployment.conditions.find(({ type }) => type === 'Ready');
  const scale = config.resource_spec.max_scale === 0 ? '  (scaled to zero)' : '';
  const made = pods.filter(isMade);
  const lines = [
    `${namespace === undefined ? '' : `${namespace}/`}${name}  ${status}${underWay(deployment)}`,
    ...(ready ? [`  ${saying(ready)}`] : []),
    ...(deployment.processed ? [] : [`  ${deployment.status_message}`]),
    ...(changedBy === null ? [] : [`  changed by  ${changedBy}`]),
    ...(config.custom_url ? [`  address  ${config.custom_url}${scale}`] : []),
    ...(internal === null ? [] : [`  in the cluster  ${internal}${scale}`]),
    ...(deployment.databases_kept.length > 0
      ? [`  keeps databases  ${deployment.databases_kept.map(databaseText).join(', ')}`]
      : []),
    ...drawn([
      ...heading('conditions', conditionsOf(deployment)),
      ...heading('revisions', revisionsOf(deployment, revisions)),
      ...partsIn(made).map((part) => partOf(part, pods)),
      ...heading(
        'events',
        listedEvents(events.filter(isNews), ofRuns(pods), EVENTS_SHOWN).map((event) => ({
          text: eventText(event, now),
        })),
      ),
    ]),
    ...(hidden.length > 0
      ? [`Not shown: ${hidden.join(', ')}. You may not list them; ClusterRole view allows it.`]
      : []),
  ];
  return saidOnce(lines, messagesOf(deployment, revisions)).map(withShortIds);
}

function messagesOf({ conditions }: Deployment, revisions: readonly Revision[]): string[] {
  const all = [
    ...conditions.map(({ message }) => message),
    ...revisions.map(({ status_message: message }) => message ?? ''),
  ];
  return [...new Set(all)].filter((message) => message.length > LONG_MESSAGE);
}

/** Long messages stand in several statuses: only the first line has them. */
function saidOnce(lines: readonly string[], messages: readonly string[]): string[] {
  const said = new Set<string>();
  return lines.map((line) => {
    const message = messages.find((one) => line.includes(one));
    if (message === undefined) return line;
    if (said.has(message)) return line.replace(message, () => 'See above.');
    said.add(message);
    return line;
  });
}

/** The state of the latest revision, if the status does not say as much. */
function underWay({ phase }: Deployment): string {
  return phase === null || phase === 'DEPLOYED' ? '' : `, latest revision ${phase}`;
}

/** Empty if the branch has no children. */
function heading(text: string, under: readonly Branch[]): Branch[] {
  return under.length > 0 ? [{ text, under }] : [];
}

function conditionsOf({ conditions: all }: Deployment): Branch[] {
  const ready = all.find(({ type }) => type === 'Ready');
  const summaries = all.filter((condition) => isWorthSaying(condition, ready));
  const others = all.filter(({ type }) => !SUMMARIES.includes(type) && !OF_PARTS.includes(type)).filter(isTrouble);
  const parts = OF_PARTS.flatMap((part) => all.filter(({ type }) => type === part));
  return [
    ...summaries.map((condition) => ({ text: saying(condition) })),
    ...[...parts, ...others].map((one) => ({ text: saying(one) })),
  ];
}

/** A summary that says something else than Ready, whose line stands above. */
function isWorthSaying({ type, status, reason }: Condition, ready: Condition | undefined): boolean {
  if (reason === ready?.reason) return false;
  return (type === 'Available' && status !== 'True') || (type === 'Stalled' && status === 'True');
}

/** What is not there yet is none. Also what is True for a reason that is a failure: PostgreSQL answers, and its password is lost. */
function isTrouble({ type, status, reason }: Condition): boolean {
  return (status !== 'True' && !(type in CONDITION_TYPES)) || isFailure(reason);
}

function saying({ type, status, reason, message }: Condition): string {
  const isStalled = type === 'Stalled' && status === 'True';
  // What is under way is no fault: a first rollout would be full of them.
  const hasFailed = isFailure(reason) && (status === 'False' || (status === 'True' && type in CONDITION_TYPES));
  const isBad = isStalled || hasFailed;
  const mark = isBad ? '!!' : status === 'True' ? 'ok' : '..';
  // Reasons are codes: a person needs one only to look up what is wrong.
  if (mark === 'ok') return `${mark} ${type}: ${message || reason}`;
  return `${mark} ${type}: ${reason}${message ? `. ${message}` : ''}`;
}

function revisionsOf({ active_revision_id: active }: Deployment, revisions: readonly Revision[]): Branch[] {
  const shown = revisions.slice(0, REVISIONS_SHOWN).map(({ id, name, status, status_message: message, image }, at) => {
    const marks = id === active ? ', active' : '';
    const why =
      status === 'DEPLOYED' || !message ? '' : `. ${at === 0 ? message : shortened(message, LONGEST_OF_OLDER)}`;
    return { text: `${name}  ${status}${marks}  ${image ?? 'no image yet'}${why}` };
  });
  const more = revisions.length - shown.length;
  return more > 0 ? [...shown, { text: `and ${more} older` }] : shown;
}

/** Whether an event is about one of these pods, of a run. */
function ofRuns(pods: readonly DeploymentPod[]): (event: DeploymentEvent) => boolean {
  const runs = new Set(pods.filter(({ part }) => runsBeside(part)).map(({ name }) => `Pod/${name}`));
  return ({ object }) => runs.has(object);
}

/** The parts of these pods, without runs, in their order: workers come after the executor, by name. */
function partsIn(pods: readonly DeploymentPod[]): string[] {
  const order: readonly string[] = [...ROLES, 'a worker', ...STORE_PARTS.toReversed()];
  const placeOf = (part: string): number => order.indexOf(isWorker(part) ? 'a worker' : part);
  const parts = new Set(pods.map(({ part }) => part).filter((part) => isWorker(part) || order.includes(part)));
  return [...parts].toSorted((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1));
}

function partOf(part: string, pods: readonly DeploymentPod[]): Branch {
  const labelled = pods.filter((pod) => pod.part === part);
  const own = labelled.filter(isMade);
  const foreign = labelled.length - own.length;
  const shown = own
    .toSorted((a, b) => Number(a.problem === null) - Number(b.problem === null) || byName(a, b))
    .slice(0, PODS_SHOWN);
  const more = own.length - shown.length;
  return {
    text: `${part}  ${own.filter(({ ready }) => ready).length}/${own.length} ready`,
    under: [
      ...shown.toSorted(byName).map(podOf),
      ...(more > 0 ? [{ text: `and ${more} more` }] : []),
      ...(foreign > 0 ? [{ text: `and ${foreign} with its labels that it has not created` }] : []),
    ],
  };
}

/** Anybody may give a pod the labels of a deployment, and `kubectl debug --copy-to` does. */
export function isMade({ made_by: maker }: DeploymentPod): boolean {
  return maker !== null;
}

function byName(a: DeploymentPod, b: DeploymentPod): number {
  return a.name < b.name ? -1 : 1;
}

/** Kinds whose events tell, unless they are warnings, what the pods and their conditions show. */
const CHATTY: ReadonlySet<string | undefined> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'Job', 'Pod']);

function isNews({ type, object }: DeploymentEvent): boolean {
  return type !== 'Normal' || !CHATTY.has(object.split('/')[0]);
}

/** `2m  !! BackOff  Pod shop-1 (4 times): ...`. */
function eventText({ type, reason, message, object, count, last_at: at, over }: DeploymentEvent, now: number): string {
  const times = count > 1 ? ` (${count} times)` : '';
  const mark = over ? 'over: ' : type === 'Warning' ? '!! ' : '';
  return `${ageOf(at, now)}  ${mark}${oneLine(reason)}  ${oneLine(object.replace('/', ' '))}${times}: ${oneLine(message)}`;
}

/** The text of an event on one line, because anyone who may create events can write line breaks. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

export function podState({ ending, ready }: DeploymentPod): 'ending' | 'ready' | 'not ready' {
  return ending ? 'ending' : ready ? 'ready' : 'not ready';
}

/** `revision 3f0c9b1e`, and for which one the pod was started where that is another one. */
function revisionWords({ revision_id: runs, started_for_revision_id: startedFor }: DeploymentPod): string {
  if (runs === null || startedFor === null) return '';
  const started = startedFor === runs ? '' : `, started for ${startedFor.slice(0, 8)}`;
  return `revision ${runs.slice(0, 8)}${started}`;
}

function podOf(pod: DeploymentPod): Branch {
  const { name, restarts, usage, limits, problem } = pod;
  const words = [
    name,
    podState(pod),
    revisionWords(pod),
    restarts === 0 ? '' : `${restarts} restart${restarts === 1 ? '' : 's'}`,
    usage ? usageWords(amountsOf(usage), amountsOf(limits)) : '',
    problem ? `!! ${problem.reason}. ${problem.message}` : '',
  ];
  return { text: words.filter((word) => word !== '').join('  ') };
}

export function amountsOf({ cpu, memory_mb: memoryMb }: DeploymentPod['limits']): Amounts {
  return { cpu, memoryMb };
}

function drawn(branches: readonly Branch[]): string[] {
  return branches.flatMap(({ text, under = [] }, index) => {
    const last = index === branches.length - 1;
    return [`${last ? '└─' : '├─'} ${text}`, ...drawn(under).map((line) => `${last ? '   ' : '│  '}${line}`)];
  });
}
