// Shows and sets the number of pods of the parts of a deployment. A scale subresource cannot: it has one number (ADR 36).

import type { Pod } from '../deployments/assess/observed.ts';
import { isReadyPod } from '../deployments/assess/pod-failures.ts';
import { asksForPart, SCALED_PARTS, type ScaledPart, scaleAsked } from '../deployments/record/requested-scale.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { type Command, type Context, DEPLOYMENT, type Flags, Misuse, OUTPUT, print } from './command.ts';
import type { Kubectl } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { FIELD_MANAGER, listOf, RECORDS, readRecord } from './records.ts';
import { tableOf } from './table.ts';

export interface Range {
  readonly min: number;
  readonly max: number;
}
export type Scales = Readonly<Partial<Record<ScaledPart, Range>>>;

export const scaleCommand: Command = {
  name: 'scale',
  purpose: 'show how many pods its parts run, or set it: PART=N, or PART=N..M to follow the load',
  words: [DEPLOYMENT, { word: 'PART=N|N..M', names: 'other', need: 'any number' }],
  flags: [
    { name: 'replicas', value: 'N', help: 'the same as server=N', isNumber: true },
    { name: 'max', value: 'M', help: 'with --replicas N: the same as server=N..M', isNumber: true },
    OUTPUT,
  ],
  about: `Parts: ${SCALED_PARTS.join(', ')}. No running pod is replaced, except by the first and the last queue worker or
orchestrator, which take a new revision. server=0 stops all parts; the database and Redis stay.

  PROGRAM scale shop
  PROGRAM scale shop server=3
  PROGRAM scale shop server=1..4 queue=2`,
  run: scale,
};

async function scale(context: Context): Promise<number> {
  const { kubectl, words, flags, say } = context;
  const [name = '', ...parts] = words;
  const scales = { ...scaleOfFlags(flags), ...scalesOf(parts) };
  if (flags.has('replicas') && parts.some((part) => part.startsWith('server=')))
    throw new Misuse('--replicas and server= set the same: leave one of them out.');
  if (Object.keys(scales).length === 0) return show(context, name);
  if (flags.has('output')) throw new Misuse('--output is for showing the scale, not for setting it.');
  const isChanged = Object.keys(scales).some((part) => part !== 'server');
  const before = isChanged ? await readRecord(kubectl, name) : undefined;
  say(await scaleTo(kubectl, name, scales));
  const changed = before === undefined ? [] : changedParts(before, scales);
  if (changed.length > 0) say(`This makes a new revision: ${changed.join(', ')}.`);
  return 0;
}

/** `--replicas 2 --max 4`; without --max both are the same. */
function scaleOfFlags(flags: Flags): Scales {
  const min = flags.number('replicas');
  if (min === undefined && flags.has('max')) throw new Misuse('--max needs --replicas, such as --replicas 1 --max 3.');
  if (min === undefined) return {};
  const max = flags.number('max') ?? min;
  if (max < min) throw new Misuse(`--max must be at least --replicas, ${min}.`);
  return { server: { min, max } };
}

/** Throws Misuse. */
export function scalesOf(words: readonly string[]): Scales {
  const scales: Partial<Record<ScaledPart, Range>> = {};
  for (const word of words) {
    const [, name = '', least = '', most = least] = /^([^=]*)=(\d{1,4})(?:\.\.(\d{1,4}))?$/.exec(word) ?? [];
    if (least === '')
      throw new Misuse(`"${word}" is no scale. Write PART=N or PART=N..M, such as server=3 or queue=1..4.`);
    const part = SCALED_PARTS.find((one) => one === name);
    if (part === undefined)
      throw new Misuse(`"${name}" is no part with a scale. These are ${SCALED_PARTS.join(', ')}.`);
    if (scales[part]) throw new Misuse(`${part} is set twice.`);
    const [min, max] = [Number(least), Number(most)];
    if (max < min) throw new Misuse(`${word}: the maximum must be at least the minimum.`);
    scales[part] = { min, max };
  }
  return scales;
}

/** Returns the message to print. The API server validates the numbers against the record's rules and the platform's limits. */
export async function scaleTo(kubectl: Kubectl, name: string, scales: Scales): Promise<string> {
  const resourceSpec = Object.assign({}, ...entries(scales).map(([part, range]) => fieldsOf(part, range))) as object;
  const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec } } });
  await kubectl(['patch', RECORDS, name, '--type=merge', FIELD_MANAGER, '-p', patch]);
  if (scales.server?.max === 0) return `${name} runs no pods now; its database and Redis stay.`;
  const follow = `To follow it: ${PROGRAM} wait ${name}`;
  const alone = Object.keys(scales).length === 1 ? scales.server : undefined;
  if (alone) return `${name} is being scaled to ${podsOf(alone)}; no running pod is replaced. ${follow}`;
  const shown = entries(scales).map(([part, own]) => `${part} to ${podsOf(own)}`);
  return `${name} is being scaled: ${shown.join('; ')}. ${follow}`;
}

function entries(scales: Scales): [ScaledPart, Range][] {
  return SCALED_PARTS.flatMap((part): [ScaledPart, Range][] => {
    const range = scales[part];
    return range ? [[part, range]] : [];
  });
}

/** The names of a part's numbers in resourceSpec. */
function fieldsOf(part: ScaledPart, { min, max }: Range): Record<string, number> {
  return part === 'server' ? { minScale: min, maxScale: max } : { [`${part}MinScale`]: min, [`${part}MaxScale`]: max };
}

function podsOf({ min, max }: Range): string {
  return min === max ? `${max} pod${max === 1 ? '' : 's'}` : `${min} to ${max} pods, as its load asks for`;
}

/** The parts that begin or end with this scale, in words. */
function changedParts({ spec }: AppDeployment, scales: Scales): string[] {
  const before = spec.sourceConfig.resourceSpec ?? {};
  const after = Object.assign(
    {},
    before,
    ...entries(scales).map(([part, range]) => fieldsOf(part, range)),
  ) as typeof before;
  return SCALED_PARTS.flatMap((part) => {
    const [was, is] = [asksForPart(part, before), asksForPart(part, after)];
    return was === is ? [] : [is ? `it had no ${part} before` : `its ${part} ends`];
  });
}

async function show(context: Context, name: string): Promise<number> {
  const { kubectl } = context;
  const [record, pods] = await Promise.all([readRecord(kubectl, name), listOf<Pod>(kubectl, 'pods', name)]);
  const parts = SCALED_PARTS.flatMap((part) => shownPart(record, part, pods));
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
  readonly part: ScaledPart;
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
  const { minScale, maxScale } = { ...scaleAsked(part, status?.resourceSpec), ...scaleAsked(part, asked) };
  const own = pods.filter(
    ({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === part && metadata.deletionTimestamp === undefined,
  );
  return [
    { part, min: minScale ?? null, max: maxScale ?? null, ready: own.filter(isReadyPod).length, pods: own.length },
  ];
}
