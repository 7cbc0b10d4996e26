// The parts of one deployment as a tree, each with its state and, if something is wrong, the reason. Pure.

import type { Pod, Workload } from '../deployments/assess/observed.ts';
import { podFailure } from '../deployments/assess/pod-failures.ts';
import { isScaledToZero } from '../deployments/record/moving-database.ts';
import { names } from '../deployments/record/names.ts';
import { requesterOf } from '../deployments/record/requester.ts';
import { imageOf } from '../deployments/record/revision-image.ts';
import { revisionIdOnPods } from '../deployments/record/shared-pods.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { CONDITION_TYPES, isFailure } from '../schema/app-deployment-conditions.ts';
import type { AppRevision, MigrationStatus } from '../schema/app-revision.ts';
import type { BuildStatus } from '../schema/build.ts';
import { lastTime } from '../schema/event-time.ts';
import { listedEvents, runsBeside } from '../schema/listed-events.ts';
import { COMPONENT_LABEL, REVISION_LABEL, ROLES, STORE_PARTS } from '../schema/meta.ts';
import { limitsOf, type PodMetrics, usageOf, usageWords } from '../schema/pod-usage.ts';
import type { Condition } from '../schema/primitives.ts';
import { shortened } from '../schema/text.ts';
import { isWorker } from '../schema/worker-parts.ts';
import { type ClusterEvent, isNews, isOfThePast, timesOf } from './events.ts';
import { withShortIds } from './short-ids.ts';
import { ageOf } from './table.ts';

export interface Parts {
  readonly record: AppDeployment;
  readonly revisions: readonly AppRevision[];
  /** Deployments and StatefulSets of the record. */
  readonly workloads: readonly Workload[];
  readonly pods: readonly Pod[];
  /** By pod; none where the cluster has no metrics of pods, or the caller may not list them. */
  readonly metrics?: ReadonlyMap<string, PodMetrics>;
  /** About these objects, newest first. */
  readonly events?: readonly ClusterEvent[];
  /** Resources that the caller may not list. */
  readonly hidden?: readonly string[];
}

interface Branch {
  readonly text: string;
  readonly under?: readonly Branch[];
}

/** Maximum number of listed revisions; the others are counted. */
const REVISIONS_SHOWN = 5;
/** Maximum number of listed pods of a workload, those with a trouble first; the others are counted. */
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
  'RestoreProven',
  'RedisReady',
  'WorkloadsReady',
  'TasksReady',
  'AddressReady',
];

/** They summarize the others, and True means of two of them that something is not in order. */
const SUMMARIES = ['Ready', 'Available', 'Reconciling', 'Stalled'];

/** Lines without line ends. `revisions` newest first. `now` in milliseconds, for ages. */
export function treeOf(parts: Parts, now = Date.now()): string[] {
  const { record, revisions, workloads, pods, events = [], hidden = [] } = parts;
  const { metadata, status } = record;
  const state = metadata.deletionTimestamp ? 'AWAITING_DELETE' : (status?.state ?? 'not observed yet');
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const behind = (status?.observedGeneration ?? 0) < (metadata.generation ?? 0);
  const internal = internalUrlOf(record);
  const changedBy = requesterOf(record);
  const scale = isScaledToZero(record) ? '  (scaled to zero)' : '';
  const lines = [
    `${metadata.namespace}/${metadata.name}  ${state}${underWay(status)}`,
    ...(ready ? [`  ${saying(ready)}`] : []),
    ...(behind ? ['  Davit has not observed its latest change yet.'] : []),
    ...(changedBy === undefined ? [] : [`  changed by  ${changedBy}`]),
    ...(status?.url ? [`  address  ${status.url}${scale}`] : []),
    ...(internal === undefined ? [] : [`  in the cluster  ${internal}${scale}`]),
    ...drawn([
      ...heading('conditions', conditionsOf(record)),
      ...heading('revisions', revisionsOf(record, revisions)),
      ...workloads.toSorted(byComponent).map((workload) => workloadOf(workload, parts)),
      ...heading(
        'events',
        listedEvents(events.filter(isNews), ofRuns(pods), EVENTS_SHOWN).map((event) => ({
          text: eventText(event, isOfThePast(event, pods, now), now),
        })),
      ),
    ]),
    ...(hidden.length > 0
      ? [`Not shown: ${hidden.join(', ')}. You may not list them in ${metadata.namespace}; ClusterRole view allows it.`]
      : []),
  ];
  return saidOnce(lines, messagesOf(record, revisions)).map(withShortIds);
}

function messagesOf({ status }: AppDeployment, revisions: readonly AppRevision[]): string[] {
  const all = [
    ...(status?.conditions ?? []).map(({ message }) => message),
    ...revisions.flatMap(({ status: own }) => [own?.message ?? '', own?.build?.message ?? '']),
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
function underWay(status: AppDeployment['status']): string {
  const { phase } = status ?? {};
  return phase === undefined || phase === 'DEPLOYED' ? '' : `, latest revision ${phase}`;
}

/** Empty if the branch has no children. */
function heading(text: string, under: readonly Branch[]): Branch[] {
  return under.length > 0 ? [{ text, under }] : [];
}

function conditionsOf({ status }: AppDeployment): Branch[] {
  const all = status?.conditions ?? [];
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

function revisionsOf({ status }: AppDeployment, revisions: readonly AppRevision[]): Branch[] {
  const shown = revisions.slice(0, REVISIONS_SHOWN).map((revision) => {
    const { spec, status: own } = revision;
    const marks = spec.id === status?.activeRevisionId ? ', active' : '';
    const image = imageOf(revision) ?? 'no image yet';
    const isLatest = revision === revisions[0];
    const asShown = (text: string): string => (isLatest ? text : shortened(text, LONGEST_OF_OLDER));
    const build = own?.build && own.build.phase !== 'Built' ? [buildOf(own.build, asShown)] : [];
    const why = own?.state === 'DEPLOYED' || !own?.message || build.length > 0 ? '' : `. ${asShown(own.message)}`;
    return {
      text: `${revision.metadata.name}  ${own?.state ?? 'CREATING'}${marks}  ${image}${why}`,
      under: [...build, ...migrationOf(own?.migration)],
    };
  });
  const more = revisions.length - shown.length;
  return more > 0 ? [...shown, { text: `and ${more} older` }] : shown;
}

/** A migration that has not succeeded. Why it failed stands in the revision's own line. */
function migrationOf(migration: MigrationStatus | undefined): Branch[] {
  if (!migration || migration.phase === 'Succeeded') return [];
  return [{ text: `migration  ${migration.phase === 'Failed' ? '!! ' : ''}${migration.phase}  Job ${migration.job}` }];
}

/** The step of a build that runs, and why one has ended without an image. */
function buildOf({ phase, reason, message }: BuildStatus, asShown: (text: string) => string): Branch {
  const mark = phase === 'Failed' ? '!! ' : '';
  return { text: `build  ${mark}${phase}${reason ? `: ${reason}` : ''}${message ? `. ${asShown(message)}` : ''}` };
}

/** Whether an event is about one of these pods, of a run. */
function ofRuns(pods: readonly Pod[]): (event: ClusterEvent) => boolean {
  const names = new Set(pods.filter((pod) => runsBeside(componentOf(pod))).map(({ metadata }) => metadata.name));
  return ({ involvedObject: { kind, name = '' } = {} }) => kind === 'Pod' && names.has(name);
}

function workloadOf(workload: Workload, parts: Parts): Branch {
  const component = componentOf(workload);
  const wanted = workload.spec?.replicas ?? 1;
  const labelled = parts.pods.filter((pod) => componentOf(pod) === component);
  const own = labelled.filter((pod) => isMadeBy(workload, pod));
  const foreign = labelled.length - own.length;
  const shown = own
    .map((pod) => ({ pod, rank: podFailure([pod]) ? 0 : 1 }))
    .toSorted((a, b) => a.rank - b.rank || byName(a.pod, b.pod))
    .slice(0, PODS_SHOWN)
    .map(({ pod }) => pod);
  const more = own.length - shown.length;
  return {
    text: `${component}  ${workload.kind} ${workload.metadata.name}  ${workload.status?.readyReplicas ?? 0}/${wanted} ready`,
    under: [
      ...shown.toSorted(byName).map((pod) => podOf(pod, parts)),
      ...(more > 0 ? [{ text: `and ${more} more` }] : []),
      ...(foreign > 0 ? [{ text: `and ${foreign} with its labels that it has not made` }] : []),
    ],
  };
}

/** Anybody may give a pod these labels, and `kubectl debug --copy-to` does. A Deployment makes its pods by ReplicaSets of its name. */
function isMadeBy({ kind, metadata: { name } }: Workload, pod: Pod): boolean {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (kind === 'Deployment') return owner?.kind === 'ReplicaSet' && owner.name.startsWith(`${name}-`);
  return owner?.kind === kind && owner.name === name;
}

function byName(a: KubeObject, b: KubeObject): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** `2m  !! BackOff pod/shop-1: ...`. */
function eventText(event: ClusterEvent, isPast: boolean, now: number): string {
  const { type, reason = '', message = '', involvedObject: { kind = '', name = '' } = {} } = event;
  const times = timesOf(event) > 1 ? ` (${timesOf(event)} times)` : '';
  const mark = isPast ? 'over: ' : type === 'Warning' ? '!! ' : '';
  return `${ageOf(lastTime(event, now), now)}  ${mark}${oneLine(reason)}  ${oneLine(kind)} ${name}${times}: ${oneLine(message)}`;
}

/** Whoever may create events writes them, and no part of one may look like a line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** URL for pods of the same cluster. Undefined before there is an image, and for a record that another cluster runs. */
export function internalUrlOf({ metadata, spec, status }: AppDeployment): string | undefined {
  if (status?.image === undefined || metadata.deletionTimestamp || spec.sourceConfig.listenerId) return undefined;
  return `http://${names(metadata.name).service}.${metadata.namespace}.svc`;
}

export function podState(pod: Pod): 'ending' | 'ready' | 'not ready' {
  const statuses = pod.status?.containerStatuses ?? [];
  // After a node has stopped reporting, its containers are shown as they were last.
  const isCutOff = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'False') === true;
  const ready = !isCutOff && statuses.length > 0 && statuses.every((container) => container.ready);
  return pod.metadata.deletionTimestamp ? 'ending' : ready ? 'ready' : 'not ready';
}

/** Restarts of all containers of a pod. */
export function restartsOf({ status }: Pod): number {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

export interface PodRevisions {
  /** Id of the revision that runs on the pod. Null for a store. */
  readonly runs: string | null;
  /** Id of the one for which it was started, as its label has it: another one where a later revision has the same template. */
  readonly startedFor: string | null;
}

export function revisionsOnPod(pod: Pod, { record, revisions }: Pick<Parts, 'record' | 'revisions'>): PodRevisions {
  const id = pod.metadata.labels?.[REVISION_LABEL];
  if (id === undefined) return { runs: null, startedFor: null };
  const runs = revisionIdOnPods(revisions, record.status?.activeRevisionId, { component: componentOf(pod), id });
  return { runs, startedFor: id };
}

/** `revision 3f0c9b1e`, and for which one the pod was started where that is another one. */
function revisionWords({ runs, startedFor }: PodRevisions): string {
  if (runs === null || startedFor === null) return '';
  const started = startedFor === runs ? '' : `, started for ${startedFor.slice(0, 8)}`;
  return `revision ${runs.slice(0, 8)}${started}`;
}

function podOf(pod: Pod, parts: Parts): Branch {
  const restarts = restartsOf(pod);
  const trouble = podFailure([pod]);
  const measured = parts.metrics?.get(pod.metadata.name);
  const usage = measured ? usageWords(usageOf(measured), limitsOf(pod.spec)) : '';
  const words = [
    pod.metadata.name,
    podState(pod),
    revisionWords(revisionsOnPod(pod, parts)),
    restarts === 0 ? '' : `${restarts} restart${restarts === 1 ? '' : 's'}`,
    usage,
    trouble ? `!! ${trouble.reason}. ${trouble.message}` : '',
  ];
  return { text: words.filter((word) => word !== '').join('  ') };
}

export function componentOf({ metadata }: KubeObject): string {
  return metadata.labels?.[COMPONENT_LABEL] ?? '';
}

function byComponent(a: KubeObject, b: KubeObject): number {
  const [one, other] = [componentOf(a), componentOf(b)];
  return placeOf(one) - placeOf(other) || (one < other ? -1 : 1);
}

/** Workers come after the executor, by name. */
function placeOf(component: string): number {
  const order: readonly string[] = [...ROLES, '', ...STORE_PARTS.toReversed()];
  return order.indexOf(isWorker(component) ? '' : component);
}

function drawn(branches: readonly Branch[]): string[] {
  return branches.flatMap(({ text, under = [] }, index) => {
    const last = index === branches.length - 1;
    return [`${last ? '└─' : '├─'} ${text}`, ...drawn(under).map((line) => `${last ? '   ' : '│  '}${line}`)];
  });
}
