// Shows and sets the number of pods of the parts of a deployment. A scale subresource cannot: it has one number (ADR 36).

import type { Deployment } from '../../deploy/http/payloads.ts';
import { isScaledPart, SCALED_PARTS, type ScaledPart } from '../../deploy/record/requested-scale.ts';
import { MOST_PODS } from '../../kinds/meta.ts';
import {
  API_FLAGS,
  type Command,
  type Context,
  DEPLOYMENT,
  type Flags,
  Misuse,
  OUTPUT,
  print,
  withFlags,
} from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { changesOfParts, partWords } from '../text/part-changes.ts';
import { tableOf } from '../text/table.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { needDeployment, readEvents } from './build-log.ts';
import { changeDeployment } from './deployment-change.ts';

interface Range {
  readonly min: number;
  readonly max: number;
}
/** By part: one that Davit knows, or the name of a worker. */
export type Scales = ReadonlyMap<string, Range>;

export const scaleCommand: Command = {
  name: 'scale',
  purpose: 'show or set the number of pods of its parts: PART=N, or PART=N..M to follow the load',
  words: [DEPLOYMENT, { word: 'PART=N|N..M', names: 'other', need: 'any number' }],
  flags: [
    { name: 'replicas', value: 'N', help: 'the same as server=N', isNumber: true, most: MOST_PODS },
    { name: 'max', value: 'M', help: 'with --replicas N: the same as server=N..M', isNumber: true, most: MOST_PODS },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `Parts: ${SCALED_PARTS.join(', ')}, and workers by name. No running pod is replaced, except when the first queue worker or orchestrator starts or the last one
stops, which creates a new revision. server=0 stops all parts; the database and Redis stay.

  PROGRAM scale shop
  PROGRAM scale shop server=3
  PROGRAM scale shop server=1..4 queue=2`,
  changes: {
    nothing: 'Nothing was scaled.',
    sent: ([name = '']) => `${name} is being scaled. To follow it: ${PROGRAM} wait ${name}`,
  },
  run: scale,
};

async function scale(context: Context): Promise<number> {
  const { words, flags, say, report } = context;
  const [name = '', ...parts] = words;
  const scales = new Map([...scaleOfFlags(flags), ...scalesOf(parts)]);
  if (flags.has('replicas') && parts.some((part) => part.startsWith('server=')))
    throw new Misuse('--replicas and server= set the same value: leave out one of them.');
  const api = await context.api();
  if (scales.size === 0) return show(context, api, name);
  const { before, after } = await changeDeployment(api, name, (now) => {
    checkParts(now, scales);
    return { source_config: configOf(scales) };
  });
  say(withFlags(saysScale(name, scales), context.suggested));
  const changed = changesOfParts(partsIn(before), partsIn(after));
  const clauses = partWords(changed);
  if (clauses.length > 0) say(`This makes a new revision: ${clauses.join(', ')}.`);
  const asked = inOrder(scales).map(([part, range]) => ({ part, ...range }));
  report({ name, parts: asked, ...changed });
  return 0;
}

/** Throws Failure for a part that the deployment does not have: a request would make it a worker without a command. */
function checkParts(deployment: Deployment, scales: Scales): void {
  const own = partsIn(deployment);
  const unknown = [...scales.keys()].find((part) => !isScaledPart(part) && !own.includes(part));
  if (unknown === undefined) return;
  const others = SCALED_PARTS.filter((part) => !own.includes(part));
  const begins = others.length === 0 ? '' : ` To start ${others.join(' or ')}, set its scale.`;
  throw new Failure(`"${unknown}" cannot be scaled. Parts of ${deployment.name} that can: ${own.join(', ')}.${begins}`);
}

/** The parts with a scale: those that Davit knows come first. */
function partsIn({ source_config: { resource_spec: numbers, runtime } }: Deployment): string[] {
  const isThere = (part: ScaledPart): boolean => part === 'server' || (numbers[`${part}_max_scale`] ?? 0) > 0;
  return [...SCALED_PARTS.filter(isThere), ...Object.keys(runtime?.workers ?? {}).toSorted()];
}

/** `--replicas 2 --max 4`; without --max both are the same. */
function scaleOfFlags(flags: Flags): Scales {
  const min = flags.number('replicas');
  if (min === undefined && flags.has('max')) throw new Misuse('--max needs --replicas, such as --replicas 1 --max 3.');
  if (min === undefined) return new Map();
  const max = flags.number('max') ?? min;
  if (max < min) throw new Misuse(`--max must not be below --replicas, ${min}.`);
  return new Map([['server', { min, max }]]);
}

/** Throws Misuse. Whether the record has these parts is not known here. */
function scalesOf(words: readonly string[]): Scales {
  const scales = new Map<string, Range>();
  for (const word of words) {
    const [, part = '', least = '', most = least] = /^([^=]*)=(\d{1,9})(?:\.\.(\d{1,9}))?$/.exec(word) ?? [];
    if (least === '')
      throw new Misuse(`"${word}" is not a scale. Write PART=N or PART=N..M, such as server=3 or queue=1..4.`);
    if (scales.has(part)) throw new Misuse(`${part} is set twice.`);
    const [min, max] = [Number(least), Number(most)];
    if (Math.max(min, max) > MOST_PODS) throw new Misuse(`${word}: the number of pods must be at most ${MOST_PODS}.`);
    if (max < min) throw new Misuse(`${word}: the maximum must not be below the minimum.`);
    scales.set(part, { min, max });
  }
  return scales;
}

function saysScale(name: string, scales: Scales): string {
  const server = scales.get('server');
  if (server?.max === 0)
    return `${name} is being scaled to no pods; its own database and Redis stay. To see it: ${PROGRAM} status ${name}`;
  const follow = `To follow it: ${PROGRAM} wait ${name}`;
  const alone = scales.size === 1 ? server : undefined;
  if (alone) return `${name} is being scaled to ${podsOf(alone)}; no running pod is replaced. ${follow}`;
  const shown = inOrder(scales).map(([part, own]) => `${part} to ${podsOf(own)}`);
  return `${name} is being scaled: ${shown.join('; ')}. ${follow}`;
}

/** The parts that Davit knows come first. */
function inOrder(scales: Scales): [string, Range][] {
  const order = new Set([...SCALED_PARTS, ...scales.keys()]);
  return [...order].flatMap((part) => {
    const range = scales.get(part);
    return range ? [[part, range]] : [];
  });
}

/** The patch of source_config. */
function configOf(scales: Scales): object {
  const all = inOrder(scales);
  const known = all.flatMap(([part, { min, max }]) => {
    if (!isScaledPart(part)) return [];
    const [least = '', most = ''] = fieldNamesOf(part);
    return [{ [least]: min, [most]: max }];
  });
  const workers = all.flatMap(([part, { min, max }]) =>
    isScaledPart(part) ? [] : [[part, { min_scale: min, max_scale: max }] as const],
  );
  return {
    ...(known.length > 0 && { resource_spec: Object.assign({}, ...known) as object }),
    ...(workers.length > 0 && { runtime: { workers: Object.fromEntries(workers) } }),
  };
}

type ScaleField = `${'' | 'queue_' | 'orchestrator_'}${'min' | 'max'}_scale`;

/** The names of a part's numbers in resource_spec: the least number and the most. */
function fieldNamesOf(part: ScaledPart): readonly ScaleField[] {
  return part === 'server' ? ['min_scale', 'max_scale'] : [`${part}_min_scale`, `${part}_max_scale`];
}

function podsOf({ min, max }: Range): string {
  return min === max ? `${max} pod${max === 1 ? '' : 's'}` : `${min} to ${max} pods, depending on its load`;
}

const HIDDEN = 'Not shown: numbers of pods. They need the right to list pods and events, which ClusterRole view has.';

async function show(context: Context, api: HttpApi, name: string): Promise<number> {
  const deployment = await needDeployment(api, name);
  const { resource_spec: numbers, runtime } = deployment.source_config;
  const { pods = null } = (await readEvents(api, deployment.id)) ?? {};
  const parts = partsIn(deployment).map((part) => {
    const worker = runtime?.workers?.[part];
    const least = worker?.min_scale ?? 1;
    const [min = null, max = null] = isScaledPart(part)
      ? fieldNamesOf(part).map((field) => numbers[field])
      : [least, worker?.max_scale ?? least];
    const own = pods?.filter((pod) => pod.part === part);
    return { part, min, max, ready: own?.filter(({ ready }) => ready).length ?? null, pods: own?.length ?? null };
  });
  print(context, { name, parts }, () => [
    ...tableOf([
      ['PART', 'MIN', 'MAX', 'PODS'],
      ...parts.map(({ part, min, max, ready, pods: all }) => [
        part,
        `${min ?? '-'}`,
        `${max ?? '-'}`,
        all === null ? '-' : `${ready}/${all} ready`,
      ]),
    ]),
    ...(pods === null ? [HIDDEN] : []),
  ]);
  return 0;
}
