// The scale in requested values: how many pods run, and how much work each gets. It is the record's and of no revision, so that a
// change replaces no pod. Imports nothing at run time, because kubectl-davit bundles it.

import type { Requested } from '../../kinds/app-revision.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { workerIn } from '../../kinds/worker-parts.ts';
import type { RuntimeWorker } from '../../kinds/workers.ts';

type Numbers = Readonly<Partial<ResourceSpec>>;
/** What a record, a revision or a status says of its parts. */
type Requests = Readonly<Pick<Requested, 'resourceSpec'>> & {
  readonly runtime?: { readonly workers?: Readonly<Record<string, Readonly<RuntimeWorker>>> | undefined } | undefined;
};
type Snapshot = Readonly<Pick<Requested, 'resourceSpec' | 'runtime'>>;
interface Scale {
  readonly minScale?: number;
  readonly maxScale?: number;
}

/** The parts with a scale that Davit knows; every other one is a worker. The server is always there, the others if a number of theirs is set. */
export const SCALED_PARTS = ['server', 'queue', 'orchestrator'] as const;
export type ScaledPart = (typeof SCALED_PARTS)[number];

const FIELDS = {
  server: ['minScale', 'maxScale'],
  queue: ['queueMinScale', 'queueMaxScale'],
  orchestrator: ['orchestratorMinScale', 'orchestratorMaxScale'],
} as const satisfies Record<ScaledPart, readonly (keyof ResourceSpec)[]>;

export const SCALE_FIELDS: readonly string[] = Object.values(FIELDS).flat();

/** Whether the numbers ask for this part. Without queue workers the main service processes the queue. */
export function asksForPart(part: ScaledPart, spec: Numbers = {}): boolean {
  if (part === 'server') return true;
  const isSet = Object.entries(spec).some(([field, value]) => field.startsWith(part) && typeof value === 'number');
  return isSet && !(part === 'queue' && spec.queueMaxScale === 0);
}

export function isScaledPart(part: string): part is ScaledPart {
  return SCALED_PARTS.some((one) => one === part);
}

/** What a part asks for in its own numbers. */
export function scaleAsked(part: string, { resourceSpec = {}, runtime }: Requests): Scale {
  const [minScale, maxScale] = isScaledPart(part)
    ? FIELDS[part].map((field) => resourceSpec[field])
    : [workerIn(runtime, part)?.minScale, workerIn(runtime, part)?.maxScale];
  return {
    ...(typeof minScale === 'number' && { minScale }),
    ...(typeof maxScale === 'number' && { maxScale }),
  };
}

export function sameScaleAsked(part: string, a: Requests, b: Requests): boolean {
  const [one, other] = [scaleAsked(part, a), scaleAsked(part, b)];
  return one.minScale === other.minScale && one.maxScale === other.maxScale;
}

/** Whether both have the part or neither has it. A worker that was, or becomes, a singleton is another part. */
export function samePart(part: string, a: Requests, b: Requests): boolean {
  if (isScaledPart(part)) return asksForPart(part, a.resourceSpec) === asksForPart(part, b.resourceSpec);
  const [one, other] = [workerIn(a.runtime, part), workerIn(b.runtime, part)];
  return one !== undefined && other !== undefined && (one.singleton === true) === (other.singleton === true);
}

/**
 * What of it a revision is made for. That a part is there at all stays: without queue workers the pods of the main service have
 * other values.
 */
export function withoutScale<T extends Snapshot>(requested: T): T & { readonly parts: readonly ScaledPart[] } {
  const { resourceSpec: _all, runtime: _whole, ...rest } = requested;
  const { resourceSpec, runtime } = withScale(requested, () => ({}));
  return {
    ...(rest as T),
    ...(resourceSpec && { resourceSpec }),
    ...(runtime && { runtime: withPerPod(runtime, undefined) }),
    parts: SCALED_PARTS.filter((part) => asksForPart(part, requested.resourceSpec)),
  };
}

/** `old` with the scale of `now`. A part that only one of them has is as in `old`. */
export function withScaleOf(old: Snapshot, now: Snapshot): Snapshot {
  const scaled = withScale(old, (part) => scaleAsked(part, samePart(part, old, now) ? now : old));
  const [before, after] = [old.runtime?.queueDepth, now.runtime?.queueDepth];
  return {
    ...scaled,
    ...(scaled.runtime && before && after && { runtime: withPerPod(scaled.runtime, after.perPod) }),
  };
}

function withScale({ resourceSpec, runtime }: Snapshot, scaleOf: (part: string) => Scale): Snapshot {
  const sizes = Object.entries(resourceSpec ?? {}).filter(([field]) => !SCALE_FIELDS.includes(field));
  const scale = SCALED_PARTS.flatMap((part) => {
    const [least, most] = FIELDS[part];
    const { minScale, maxScale } = scaleOf(part);
    return Object.entries({ [least]: minScale, [most]: maxScale }).filter(([, value]) => value !== undefined);
  });
  const fields = [...sizes, ...scale];
  const workers = Object.entries(runtime?.workers ?? {}).map(
    ([name, { minScale: _least, maxScale: _most, ...worker }]) => [name, { ...worker, ...scaleOf(name) }] as const,
  );
  return {
    ...(fields.length > 0 && { resourceSpec: Object.fromEntries(fields) }),
    ...(runtime && { runtime: { ...runtime, ...(runtime.workers && { workers: Object.fromEntries(workers) }) } }),
  };
}

function withPerPod(runtime: Runtime, perPod: number | undefined): Runtime {
  if (!runtime.queueDepth) return runtime;
  const { perPod: _before, ...queueDepth } = runtime.queueDepth;
  return { ...runtime, queueDepth: { ...queueDepth, ...(perPod !== undefined && { perPod }) } };
}
