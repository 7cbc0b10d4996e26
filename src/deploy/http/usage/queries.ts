// What Prometheus is asked about a deployment, and what of its answer is believed. Nothing of a request is in a query but its window, which
// is one of four: namespace and names of pods follow from the record. Pure.

import { z } from 'zod';
import { names } from '../../record/names.ts';

/** Most points of a series. */
export const MOST_POINTS = 240;

/** Seconds of a window; over what a rate is taken, and over what the fullest moment is looked for: between two points of `1h` there is no other. */
export const WINDOWS = {
  '1h': { seconds: 3600, rate: '2m', peak: undefined },
  '6h': { seconds: 21_600, rate: '5m', peak: '90s' },
  '24h': { seconds: 86_400, rate: '10m', peak: '6m' },
  '7d': { seconds: 604_800, rate: '42m', peak: '42m' },
} as const;
export type Window = keyof typeof WINDOWS;

export interface Steps {
  /** Seconds since 1970 of the first and the last point, both multiples of `step`. */
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** Time in seconds since 1970 and value. */
export type Point = [time: number, value: number];

/** CPU of all pods in cores, memory of the fullest pod in MiB, ready pods, restarts of their containers. */
export const MEASURES = ['cpu', 'memory_mb', 'ready', 'restarts'] as const;
export type Measure = (typeof MEASURES)[number];
/** By part. */
export type Measured = ReadonlyMap<string, Readonly<Record<Measure, readonly Point[]>>>;

export function ofEach<T>(make: (measure: Measure, n: number) => T): Record<Measure, T> {
  return {
    cpu: make('cpu', 0),
    memory_mb: make('memory_mb', 1),
    ready: make('ready', 2),
    restarts: make('restarts', 3),
  };
}

/** The largest valid value of each measure. */
const MOST: Readonly<Record<Measure, number>> = { cpu: 1e6, memory_mb: 2 ** 50, ready: 1e6, restarts: 1e9 };

export function stepsOf(window: Window, now: number): Steps {
  const { seconds } = WINDOWS[window];
  const step = seconds / MOST_POINTS;
  const end = Math.floor(now / step) * step;
  return { start: end - seconds + step, end, step };
}

/** The names of the pods of each part, as an expression that RE2 and JavaScript read. */
export type PodsOfParts = ReadonlyMap<string, string>;

/** Kubernetes gives hashes and suffixes no vowels and no 0, 1 and 3, so pods of no other record have such names. */
const RANDOM = '[bcdfghjklmnpqrstvwxz2456789]';
/** In the name of a pod, Kubernetes cuts the hash after a longer name, and the hyphen with it. */
const LONGEST_UNCUT = 46;

export function podsOfParts(recordName: string, parts: readonly string[]): PodsOfParts {
  const { postgres, redis, part: workload } = names(recordName);
  const literal = (name: string): string => name.replaceAll(/[^a-z0-9-]/g, '\\$&');
  const expressionFor = (part: string): string => {
    if (part === 'postgres') return `(${literal(postgres)}|${literal(recordName)}---pg[0-9]{1,4})-[0-9]{1,4}`;
    if (part === 'redis') return `${literal(redis)}-[0-9]{1,4}`;
    const name = workload(part);
    const hyphen = name.length > LONGEST_UNCUT ? '-?' : '-';
    return `${literal(name)}-([0-9]{1,4}|${RANDOM}{1,10}${hyphen}${RANDOM}{5})`;
  };
  return new Map(parts.map((part) => [part, expressionFor(part)]));
}

/** Each gives a series for a part, with the labels `namespace` and `part` alone. What is scraped twice counts once. */
export function queriesFor(namespace: string, pods: PodsOfParts, window: Window): Readonly<Record<Measure, string>> {
  const { rate, peak } = WINDOWS[window];
  // PromQL reads the escapes of JSON.
  const quoted = JSON.stringify;
  const own = `namespace=${quoted(namespace)},pod=~${quoted([...pods.values()].join('|'))}`;
  const containers = `${own},container!="",container!="POD"`;
  const once = (inner: string): string => `max by (namespace,pod,container) (${inner})`;
  const byPart = (how: 'sum' | 'max', inner: string): string => {
    const named = [...pods].reduce(
      (of, [part, expression]) => `label_replace(${of},"part",${quoted(part)},"pod",${quoted(expression)})`,
      inner,
    );
    return `${how} by (namespace,part) (${named})`;
  };
  const held = `container_memory_working_set_bytes{${containers}}`;
  const fullest = once(peak === undefined ? held : `max_over_time(${held}[${peak}])`);
  return {
    cpu: byPart('sum', once(`rate(container_cpu_usage_seconds_total{${containers}}[${rate}])`)),
    memory_mb: byPart('max', `sum by (namespace,pod) (${fullest})`),
    ready: byPart('sum', `max by (namespace,pod) (kube_pod_status_ready{${own},condition="true"})`),
    restarts: byPart('sum', once(`kube_pod_container_status_restarts_total{${own}}`)),
  };
}

/** Why an answer of Prometheus is not believed, as a sentence. */
export class Misanswered extends Error {
  override readonly name = 'Misanswered';
}

const Value = z.tuple([z.number(), z.string().min(1).max(40)]);
const Matrix = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(z.object({ metric: z.record(z.string(), z.string()), values: z.array(Value).max(MOST_POINTS) })),
  }),
});

interface Asked {
  readonly namespace: string;
  readonly pods: PodsOfParts;
  readonly steps: Steps;
}

/** `bodies`: an answer for each of MEASURES. Throws Misanswered for whatever else than measurements of these pods. */
export function seriesIn(bodies: readonly string[], asked: Asked): Measured {
  const found = ofEach((measure, n) => pointsByPart(bodies[n] ?? '', measure, asked));
  if (found.cpu.size === 0 && found.memory_mb.size === 0)
    throw new Misanswered('Prometheus has no measurement of these pods: it must scrape the kubelets (cAdvisor).');
  return new Map([...asked.pods.keys()].map((part) => [part, ofEach((measure) => found[measure].get(part) ?? [])]));
}

function pointsByPart(body: string, measure: Measure, { namespace, pods, steps }: Asked): Map<string, Point[]> {
  const { success, data: answer } = Matrix.safeParse(jsonIn(body));
  if (!success) throw new Misanswered('Prometheus sent an answer that is not valid.');
  const series = new Map<string, Point[]>();
  for (const { metric, values } of answer.data.result) {
    const { namespace: of, part = '', ...more } = metric;
    if (of !== namespace || !pods.has(part) || series.has(part) || Object.keys(more).length > 0)
      throw new Misanswered('Prometheus sent measurements of other pods than those of this deployment.');
    series.set(
      part,
      values.map((value) => pointOf(value, measure, steps)),
    );
  }
  return series;
}

function pointOf([time, text]: z.infer<typeof Value>, measure: Measure, { start, end, step }: Steps): Point {
  const value = Number(text);
  // No comparison holds for NaN.
  const isMeasured =
    value >= 0 && value <= MOST[measure] && time >= start && time <= end && (time - start) % step === 0;
  if (!isMeasured) throw new Misanswered('Prometheus sent a measurement with a value or time that is not valid.');
  return [time, measure === 'memory_mb' ? Math.round(value / 2 ** 20) : Math.round(value * 1000) / 1000];
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
