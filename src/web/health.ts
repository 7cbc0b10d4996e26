// What a deployment's answer says about how it is, for a person at a glance. Pure.

import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { isAdvice, isFailure, needsAttention, REASONS } from '../kinds/app-deployment-conditions.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { FAILED_STATES } from '../kinds/revision-states.ts';
import { mayBeBuilt, SOURCE_RULES } from '../kinds/source-rules.ts';
import { short } from './text.ts';

export type Condition = Deployment['conditions'][number];

/** Each has a shape, a word and a colour. */
export type Tone = 'good' | 'busy' | 'bad' | 'off';

export const TONE_WORDS: Readonly<Record<Tone, string>> = {
  good: 'in order',
  busy: 'in progress',
  bad: 'needs attention',
  off: 'not running',
};

/** The statuses as the filter lists them. */
export const STATUSES: Readonly<Record<Deployment['status'], string>> = {
  READY: 'Ready',
  AWAITING_DATABASE: 'Awaiting database',
  UNUSED: 'Unused',
  AWAITING_DELETE: 'Awaiting delete',
  UNKNOWN: 'Unknown',
};

/** How the deployment is: bad if its latest revision is in trouble, also while an earlier one serves. */
export function toneOf(deployment: Deployment): Tone {
  if (needsAttention(deployment.conditions)) return 'bad';
  if (deployment.status === 'UNUSED') return 'off';
  const isReady = conditionOf(deployment.conditions, 'Ready')?.status === 'True';
  return isReady && deployment.status === 'READY' ? 'good' : 'busy';
}

/** What happens to the latest revision, in words; undefined where the status, which is of what serves, says as much. */
export function phaseOf({ status, phase }: Deployment): string | undefined {
  if (phase === null || phase === 'DEPLOYED' || phase === 'UNKNOWN' || status === 'AWAITING_DELETE') return undefined;
  return `latest revision: ${phase.toLowerCase().replaceAll('_', ' ')}`;
}

/** Whether a revision has values and an image that may run again. */
export function canRollBackTo({ status }: Revision): boolean {
  return ['DEPLOYED', 'DEPLOYING', 'DEPLOY_FAILED', 'AWAITING_DEPLOY'].includes(status);
}

/** How the deployment is, in words. */
export function wordOf(deployment: Deployment): string {
  return conditionOf(deployment.conditions, 'Ready')?.reason === 'Paused' ? 'paused' : TONE_WORDS[toneOf(deployment)];
}

/** Nothing is under way: it is not needed, or waits for its time. */
const IDLE = ['NotNeeded', 'ScaledToZero', 'BackupPending', 'NotConfigured'];

export function toneOfCondition({ status, reason }: Condition): Tone {
  if (status === 'True') return 'good';
  if (isFailure(reason)) return 'bad';
  return IDLE.includes(reason) ? 'off' : 'busy';
}

/** Nothing is known to be in order where nobody reports. */
export function toneOfPart({ condition, asOf }: Part): Tone {
  const tone = condition ? toneOfCondition(condition) : 'busy';
  return asOf !== undefined && tone === 'good' ? 'off' : tone;
}

const PASSED_STATES: readonly Revision['status'][] = ['SKIPPED', 'INTERRUPTED', 'UNKNOWN'];

export function toneOfRevision({ status }: Revision): Tone {
  if (status === 'DEPLOYED') return 'good';
  if (FAILED_STATES.includes(status)) return 'bad';
  return PASSED_STATES.includes(status) ? 'off' : 'busy';
}

/** What to do about a reason, as docs/reasons.md says it; undefined where that is nothing, or stands in the message. */
export function advice(reason: string): string | undefined {
  const { todo } = (REASONS as Readonly<Record<string, { readonly todo: string }>>)[reason] ?? {};
  return todo === undefined || !isAdvice(todo) ? undefined : todo;
}

/** Pods of all parts but the stores: `2`, `1–3`, or `0`, because no part runs without the server. */
export function scaleOf(deployment: Deployment): string {
  const numbers = numbersOf(deployment);
  if (numbers['max_scale'] === 0) return '0';
  const parts = partsOf(deployment).filter(({ isStore }) => !isStore);
  const sum = (measure: string): number =>
    parts.reduce((pods, { prefix }) => pods + (numbers[`${prefix}${measure}`] ?? 1), 0);
  const most = sum('max_scale');
  return range(Math.min(sum('min_scale'), most), most) ?? '';
}

/** Before and during a build, which can be interrupted. */
export const IN_BUILD: readonly Revision['status'][] = ['QUEUED', 'AWAITING_BUILD', 'BUILDING'];

/** The fields that name what runs. */
export const CONTENT = { image_uri: 'Image', repo_ref: 'Branch, tag or commit' } as const;

/** The field that names what the source's next revision runs; undefined for an upload, which is built again. */
export function contentOf({ source, source_revision_config: config }: Deployment): keyof typeof CONTENT | undefined {
  if (config.image_uri !== null || !mayBeBuilt(source)) return 'image_uri';
  return SOURCE_RULES[source].content.includes('repoUrl') ? 'repo_ref' : undefined;
}

/** What a revision runs. */
export function ranOf({ source_revision_config: config }: Revision): string {
  const commit = config.repo_commit_sha === null ? null : short(config.repo_commit_sha);
  const parts = [config.image_uri, config.repo_ref, commit].filter((part) => part !== null);
  return parts.length === 0 ? uploadOf(config) : parts.join(' ');
}

/** Who asked for a revision, what its commit says of itself, and what the file of the commit gave. */
export function noticesOf({
  requested_by: by,
  commit_author: author,
  commit_message: message,
  from_file: file,
}: Revision): string[] {
  const commit = [author, message].filter((part) => part !== null).join(': ');
  const fields = file?.fields.map(({ field }) => field).join(', ');
  const left = file?.not_taken.join(', ');
  return [
    by !== null && `requested by ${by}`,
    commit !== '' && `the commit says: ${commit}`,
    file !== null && `${file.path} gave ${fields || 'nothing'}${left ? `; not taken: ${left}` : ''}`,
  ].filter((notice) => notice !== false);
}

/** Describes the upload of a revision. Empty without an upload. */
function uploadOf({
  source_tarball_path: path,
  workflow_config_path: from,
}: Revision['source_revision_config']): string {
  return path === null ? '' : `upload, built from ${from ?? 'its files'}`;
}

/** What the latest revision runs: an image, or the place that its source comes from. */
export function originOf({ source_config: config, source_revision_config: revision }: Deployment): string {
  const { repo_url: repository, repo_ref: ref } = { ...config, ...revision };
  if (revision.image_uri !== null) return revision.image_uri;
  if (repository !== null) return ref === null ? repository : `${repository} at ${ref}`;
  return uploadOf(revision) || 'no image yet';
}

/** Whether the last failure, at `at`, is not over by a later success. Both RFC 3339. */
export function failedLast(at: string | null | undefined, succeededAt: string | null | undefined): at is string {
  return Boolean(at) && (!succeededAt || (at ?? '') > succeededAt);
}

export interface Part {
  readonly name: string;
  readonly condition: Condition | undefined;
  /** Since when the cluster that runs it does not report: the condition is the last one that it reported. RFC 3339. */
  readonly asOf?: string | undefined;
  /** Sizes and scale in force. */
  readonly sizes: readonly string[];
}

const PARTS = [
  { name: 'server', component: 'server', prefix: '', type: 'WorkloadsReady' },
  { name: 'queue workers', component: 'queue', prefix: 'queue_', type: 'WorkloadsReady' },
  { name: 'orchestrator', component: 'orchestrator', prefix: 'orchestrator_', type: 'WorkloadsReady' },
  { name: 'executor', component: 'executor', prefix: 'executor_', type: 'WorkloadsReady' },
  { name: 'PostgreSQL', component: 'postgres', prefix: 'db_', type: 'DatabaseReady' },
  { name: 'Redis', component: 'redis', prefix: 'redis_', type: 'RedisReady' },
] as const;

export interface DeploymentPart extends Part {
  /** As the API's logs and pods name it. */
  readonly component: string;
  /** The prefix of its numbers in `numbersOf`. */
  readonly prefix: string;
  /** PostgreSQL or Redis, which has a condition of its own. That of the other parts is about all of them. */
  readonly isStore: boolean;
}

/** What Davit makes for a deployment, each part with its sizes and the condition that covers it. */
export function partsOf(deployment: Deployment): DeploymentPart[] {
  const numbers = numbersOf(deployment);
  const made = PARTS.filter(({ prefix }) => typeof numbers[`${prefix}cpu`] === 'number');
  const workers = Object.keys(deployment.source_config.runtime?.workers ?? {}).map(
    (name) => ({ name, component: name, prefix: `${name}.`, type: 'WorkloadsReady' }) as const,
  );
  const stores = made.filter(({ type }) => type !== 'WorkloadsReady');
  return [...made.filter((part) => !stores.includes(part)), ...workers, ...stores].map(
    ({ name, component, prefix, type }) => ({
      name,
      component,
      prefix,
      isStore: type !== 'WorkloadsReady',
      condition: conditionOf(deployment.conditions, type),
      asOf: silentSince(deployment),
      sizes: sizesOf(numbers, prefix),
    }),
  );
}

type Numbers = Readonly<Record<string, number | null | undefined>>;

/** Scale and sizes in force by field of resource_spec, and those that workers ask for as `NAME.field`. */
export function numbersOf({ source_config: config }: Deployment): Numbers {
  const workers = Object.entries(config.runtime?.workers ?? {}).flatMap(([name, worker]) => {
    const { min_scale: least, max_scale: most } = worker;
    const scale = { min_scale: least ?? Math.min(1, most ?? 1), max_scale: most ?? Math.max(1, least ?? 1) };
    return Object.entries({ ...worker, ...scale }).map(([field, value]) => [`${name}.${field}`, value] as const);
  });
  return { ...(config.resource_spec as unknown as Numbers), ...(Object.fromEntries(workers) as Numbers) };
}

/** The patch of source_config for numbers by their names in `numbersOf`. */
export function patchOf(changed: Readonly<Record<string, number | null>>): object {
  const own: Record<string, number | null> = {};
  const workers: Record<string, Record<string, number | null>> = {};
  for (const [field, value] of Object.entries(changed)) {
    const [name = '', measure] = field.split('.');
    if (measure === undefined) own[field] = value;
    else {
      const numbers = Object.hasOwn(workers, name) ? workers[name] : undefined;
      workers[name] = { ...numbers, [measure]: value };
    }
  }
  return {
    ...(Object.keys(own).length > 0 && { resource_spec: own }),
    ...(Object.keys(workers).length > 0 && { runtime: { workers } }),
  };
}

/** Conditions that no part stands for and that are worth a line. */
const ASPECTS = {
  AddressReady: 'address',
  AutoscalingReady: 'autoscaling',
  BackupReady: 'backups',
  ArchiveReady: 'archive',
  BackupVerified: 'backup verification',
  DatabaseRestored: 'restored data',
  ResourceSpecHonored: 'requested sizes',
  ReferencesResolved: 'Secrets and keys',
  PolicyAccepted: 'platform rules',
  TasksReady: 'tasks',
} as const;

export function aspectsOf(deployment: Deployment): Part[] {
  return Object.entries(ASPECTS).flatMap(([type, name]) => {
    const condition = conditionOf(deployment.conditions, type);
    return condition === undefined ? [] : [{ name, condition, asOf: silentSince(deployment), sizes: [] }];
  });
}

function silentSince(deployment: Deployment): string | undefined {
  const ready = conditionOf(deployment.conditions, 'Ready');
  return ready?.reason === 'ListenerSilent' ? ready.last_transition_time : undefined;
}

function sizesOf(numbers: Numbers, prefix: string): string[] {
  const of = (measure: string): number | null => numbers[`${prefix}${measure}`] ?? null;
  const pods = range(of('max_scale') === 0 ? 0 : of('min_scale'), of('max_scale'));
  const sizes = [
    [pods, pods === '1' ? 'pod' : 'pods'],
    [range(of('cpu'), of('cpu_limit')), 'CPU'],
    [range(of('memory_mb'), of('memory_limit_mb')), 'MB'],
    [range(of('storage_gi'), of('storage_gi')), 'GiB volume'],
  ];
  return sizes.flatMap(([value, unit]) => (value === undefined ? [] : [`${value} ${unit}`]));
}

/** `1–3`, or `1` where both are the same. */
function range(least: number | null, most: number | null): string | undefined {
  if (least === null && most === null) return undefined;
  const [low, high] = [least ?? most, most ?? least];
  return low === high ? String(low) : `${low}–${high}`;
}
