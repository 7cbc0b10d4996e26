// Shows and sets the number of pods of the parts of a deployment. A scale subresource cannot: it has one number (ADR 36).

import type { Pod } from '../deployments/assess/observed.ts';
import { isReadyPod } from '../deployments/assess/pod-failures.ts';
import { asksForPart, SCALED_PARTS, type ScaledPart, scaleAsked } from '../deployments/record/requested-scale.ts';
import { claimOfChange } from '../deployments/record/requester.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL, MOST_PODS } from '../schema/meta.ts';
import { NAME_PATTERN } from '../schema/name-patterns.ts';
import { isWorker, workerIn, workerNames, workerScale } from '../schema/worker-parts.ts';
import { unfinishedClone } from './cloning.ts';
import { type Command, type Context, DEPLOYMENT, type Flags, Misuse, OUTPUT, print, withFlags } from './command.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { type PartChanges, partChanges, partWords } from './part-changes.ts';
import { PROGRAM } from './program.ts';
import { afterConflicts, FIELD_MANAGER, listOf, RECORDS, readRecord } from './records.ts';
import { tableOf } from './table.ts';
import { usernameOf } from './who.ts';

interface Range {
  readonly min: number;
  readonly max: number;
}
/** By part: one that Davit knows, or the name of a worker. */
export type Scales = ReadonlyMap<string, Range>;

export const scaleCommand: Command = {
  name: 'scale',
  purpose: 'show how many pods its parts run, or set it: PART=N, or PART=N..M to follow the load',
  words: [DEPLOYMENT, { word: 'PART=N|N..M', names: 'other', need: 'any number' }],
  flags: [
    { name: 'replicas', value: 'N', help: 'the same as server=N', isNumber: true, most: MOST_PODS },
    { name: 'max', value: 'M', help: 'with --replicas N: the same as server=N..M', isNumber: true, most: MOST_PODS },
    OUTPUT,
  ],
  about: `Parts: ${SCALED_PARTS.join(', ')}, and workers by their name. No running pod is replaced, except by the first and the last queue worker or
orchestrator, which take a new revision. server=0 stops all parts; the database and Redis stay.

  PROGRAM scale shop
  PROGRAM scale shop server=3
  PROGRAM scale shop server=1..4 queue=2`,
  changes: {
    nothing: 'Nothing was scaled.',
    by: ['patch'],
    sent: ([name = '']) => `${name} is being scaled. To follow it: ${PROGRAM} wait ${name}`,
  },
  run: scale,
};

async function scale(context: Context): Promise<number> {
  const { kubectl, words, flags, say, report } = context;
  const [name = '', ...parts] = words;
  const scales = new Map([...scaleOfFlags(flags), ...scalesOf(parts)]);
  if (flags.has('replicas') && parts.some((part) => part.startsWith('server=')))
    throw new Misuse('--replicas and server= set the same: leave one of them out.');
  if (scales.size === 0) return show(context, name);
  const isChanged = [...scales.keys()].some((part) => part !== 'server');
  const before = await readRecord(kubectl, name);
  needData(before, scales);
  if (isChanged) checkParts(before, scales);
  say(withFlags(await scaleTo(kubectl, name, scales), context.suggested));
  const changed = isChanged ? changedParts(before, scales) : { begins: [], ends: [] };
  const clauses = partWords(changed);
  if (clauses.length > 0) say(`This makes a new revision: ${clauses.join(', ')}.`);
  const asked = inOrder(scales).map(([part, range]) => ({ part, ...range }));
  report({ name, parts: asked, ...changed });
  return 0;
}

/** Throws Failure if it would start pods on the empty database of a clone. */
function needData(record: AppDeployment, scales: Scales): void {
  const unfinished = unfinishedClone(record);
  if (unfinished && [...scales.values()].some(({ max }) => max > 0))
    throw new Failure(`Nothing was scaled. ${unfinished.join('\n')}`);
}

/** Throws Failure for a part that the record does not have, and for more pods of a singleton than one: only the cluster tells. */
function checkParts({ metadata, spec }: AppDeployment, scales: Scales): void {
  const { runtime } = spec.sourceConfig;
  for (const [part, { max }] of scales) {
    if (isScaledPart(part)) continue;
    const worker = workerIn(runtime, part);
    if (worker === undefined)
      throw new Failure(`"${part}" is no part of ${metadata.name} with a scale. ${partsOf(spec.sourceConfig)}`);
    if (worker.singleton === true && max > 1)
      throw new Failure(`${part} is a singleton: ${part}=1 runs it, and ${part}=0 stops it.`);
  }
}

/** Those that there are, and those that a scale would begin. */
function partsOf({ runtime, resourceSpec = {} }: AppDeployment['spec']['sourceConfig']): string {
  const isThere = (part: ScaledPart): boolean => asksForPart(part, resourceSpec);
  const others = SCALED_PARTS.filter((part) => !isThere(part));
  const begins = others.length === 0 ? '' : ` A scale of ${others.join(' or ')} would begin that part.`;
  return `It has ${[...SCALED_PARTS.filter(isThere), ...workerNames(runtime)].join(', ')}.${begins}`;
}

function isScaledPart(part: string): part is ScaledPart {
  return SCALED_PARTS.some((one) => one === part);
}

/** `--replicas 2 --max 4`; without --max both are the same. */
function scaleOfFlags(flags: Flags): Scales {
  const min = flags.number('replicas');
  if (min === undefined && flags.has('max')) throw new Misuse('--max needs --replicas, such as --replicas 1 --max 3.');
  if (min === undefined) return new Map();
  const max = flags.number('max') ?? min;
  if (max < min) throw new Misuse(`--max must be at least --replicas, ${min}.`);
  return new Map([['server', { min, max }]]);
}

const WORKER = new RegExp(NAME_PATTERN);

/** Whether a worker of some record can have the name. */
function canBeWorker(part: string): boolean {
  return isWorker(part) && WORKER.test(part) && !part.includes('--');
}

/** Throws Misuse. Whether the record has these parts is not known here. */
function scalesOf(words: readonly string[]): Scales {
  const scales = new Map<string, Range>();
  for (const word of words) {
    const [, part = '', least = '', most = least] = /^([^=]*)=(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(word) ?? [];
    if (least === '')
      throw new Misuse(`"${word}" is no scale. Write PART=N or PART=N..M, such as server=3 or queue=1..4.`);
    if (!SCALED_PARTS.some((one) => one === part) && !canBeWorker(part))
      throw new Misuse(
        `"${part}" is no part with a scale. These are ${SCALED_PARTS.join(', ')} and named workers. The parts of a deployment: ${PROGRAM} scale NAME`,
      );
    if (scales.has(part)) throw new Misuse(`${part} is set twice.`);
    const [min, max] = [Number(least), Number(most)];
    if (Math.max(min, max) > MOST_PODS) throw new Misuse(`${word}: a part has at most ${MOST_PODS} pods.`);
    if (max < min) throw new Misuse(`${word}: the maximum must be at least the minimum.`);
    scales.set(part, { min, max });
  }
  return scales;
}

/** Returns the message to print. The API server validates the numbers against the record's rules and the platform's limits. */
export async function scaleTo(kubectl: Kubectl, name: string, scales: Scales): Promise<string> {
  const username = await usernameOf(kubectl);
  await afterConflicts(() => patchScale(kubectl, name, configOf(scales), username));
  const server = scales.get('server');
  if (server?.max === 0)
    return `${name} is being scaled to no pods; an own database and Redis stay. To see it: ${PROGRAM} status ${name}`;
  const follow = `To follow it: ${PROGRAM} wait ${name}`;
  const alone = scales.size === 1 ? server : undefined;
  if (alone) return `${name} is being scaled to ${podsOf(alone)}; no running pod is replaced. ${follow}`;
  const shown = inOrder(scales).map(([part, own]) => `${part} to ${podsOf(own)}`);
  return `${name} is being scaled: ${shown.join('; ')}. ${follow}`;
}

/** With the name of who asks, where it is known and the patch changes something: the API server takes a claim for a change alone. */
async function patchScale(
  kubectl: Kubectl,
  name: string,
  sourceConfig: object,
  username: string | undefined,
): Promise<void> {
  const record = username === undefined ? undefined : await readRecord(kubectl, name);
  const isChange = record !== undefined && !hasAll(record.spec.sourceConfig, sourceConfig);
  const annotations = isChange && username !== undefined ? claimOfChange(record, username) : undefined;
  const metadata = annotations && { resourceVersion: record?.metadata.resourceVersion, annotations };
  const patch = JSON.stringify({ ...(metadata && { metadata }), spec: { sourceConfig } });
  await kubectl(['patch', RECORDS, name, '--type=merge', FIELD_MANAGER, '-p', patch]);
}

/** Whether `object` has all values of `part` already. */
function hasAll(object: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return object === part;
  if (typeof object !== 'object' || object === null) return false;
  return Object.entries(part).every(
    ([key, value]) => Object.hasOwn(object, key) && hasAll((object as Record<string, unknown>)[key], value),
  );
}

/** The parts that Davit knows come first. */
function inOrder(scales: Scales): [string, Range][] {
  return [...scales].toSorted(([a], [b]) => placeOf(a) - placeOf(b));
}

function placeOf(part: string): number {
  const place = SCALED_PARTS.findIndex((one) => one === part);
  return place < 0 ? SCALED_PARTS.length : place;
}

/** The patch of sourceConfig. */
function configOf(scales: Scales): object {
  const all = inOrder(scales);
  const known = all.flatMap(([part, range]) => (isScaledPart(part) ? [fieldsOf(part, range)] : []));
  const workers = all.flatMap(([part, { min, max }]) =>
    isScaledPart(part) ? [] : [[part, { minScale: min, maxScale: max }] as const],
  );
  return {
    ...(known.length > 0 && { resourceSpec: Object.assign({}, ...known) as object }),
    ...(workers.length > 0 && { runtime: { workers: Object.fromEntries(workers) } }),
  };
}

/** The names of a part's numbers in resourceSpec. */
function fieldsOf(part: ScaledPart, { min, max }: Range): Record<string, number> {
  return part === 'server' ? { minScale: min, maxScale: max } : { [`${part}MinScale`]: min, [`${part}MaxScale`]: max };
}

function podsOf({ min, max }: Range): string {
  return min === max ? `${max} pod${max === 1 ? '' : 's'}` : `${min} to ${max} pods, as its load asks for`;
}

function changedParts({ spec: { sourceConfig } }: AppDeployment, scales: Scales): PartChanges {
  const asked = inOrder(scales).flatMap(([part, range]) => (isScaledPart(part) ? [fieldsOf(part, range)] : []));
  const resourceSpec = Object.assign({}, sourceConfig.resourceSpec, ...asked) as typeof sourceConfig.resourceSpec;
  return partChanges(sourceConfig, { ...sourceConfig, ...(resourceSpec && { resourceSpec }) });
}

async function show(context: Context, name: string): Promise<number> {
  const { kubectl } = context;
  const [record, pods] = await Promise.all([readRecord(kubectl, name), listOf<Pod>(kubectl, 'pods', name)]);
  const parts = [
    ...SCALED_PARTS.flatMap((part) => shownPart(record, part, pods)),
    ...workerNames(record.spec.sourceConfig.runtime).map((worker) => shownWorker(record, worker, pods)),
  ];
  print(context, { name, parts }, () =>
    tableOf([
      ['PART', 'MIN', 'MAX', 'PODS'],
      ...parts.map(({ part, min, max, ready, pods: all }) => [
        part,
        `${min ?? '-'}`,
        `${max ?? '-'}`,
        `${ready}/${all} ready`,
      ]),
    ]),
  );
  return 0;
}

interface ShownPart {
  readonly part: string;
  /** Null if the status does not say yet which number is in force. */
  readonly min: number | null;
  readonly max: number | null;
  readonly ready: number;
  readonly pods: number;
}

/** Empty if the record has no such part. */
function shownPart({ spec, status }: AppDeployment, part: ScaledPart, pods: readonly Pod[]): ShownPart[] {
  const asked = spec.sourceConfig.resourceSpec ?? {};
  if (!asksForPart(part, asked)) return [];
  const { minScale, maxScale } = {
    ...scaleAsked(part, { resourceSpec: status?.resourceSpec ?? {} }),
    ...scaleAsked(part, { resourceSpec: asked }),
  };
  return [{ part, min: minScale ?? null, max: maxScale ?? null, ...countOf(part, pods) }];
}

function shownWorker({ spec }: AppDeployment, part: string, pods: readonly Pod[]): ShownPart {
  const { minScale, maxScale } = workerScale(workerIn(spec.sourceConfig.runtime, part) ?? {});
  return { part, min: minScale, max: maxScale, ...countOf(part, pods) };
}

function countOf(part: string, pods: readonly Pod[]): Pick<ShownPart, 'ready' | 'pods'> {
  const own = pods.filter(
    ({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === part && metadata.deletionTimestamp === undefined,
  );
  return { ready: own.filter(isReadyPod).length, pods: own.length };
}
