// The scale in requested values: how many pods run, and how much work each gets. It is the record's and of no revision, so that a
// change replaces no pod. Imports nothing at run time, because kubectl-davit bundles it.

import type { Requested } from '../../schema/app-revision.ts';
import type { ResourceSpec } from '../../schema/resource-spec.ts';
import type { Runtime } from '../../schema/runtime.ts';
import { workerIn, workerNames } from '../../schema/worker-parts.ts';
import type { RuntimeWorker } from '../../schema/workers.ts';

type Numbers = Readonly<Partial<ResourceSpec>>;
type Requests = Readonly<Pick<Requested, 'resourceSpec' | 'runtime'>>;

/** The parts with a scale. The server is always there; the others if a number of theirs is set. */
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

/** What a part asks for in its own numbers. */
export function scaleAsked(
  part: ScaledPart,
  spec: Numbers = {},
): { readonly minScale?: number; readonly maxScale?: number } {
  const [least, most] = FIELDS[part];
  const [minScale, maxScale] = [spec[least], spec[most]];
  return {
    ...(typeof minScale === 'number' && { minScale }),
    ...(typeof maxScale === 'number' && { maxScale }),
  };
}

export function sameScaleAsked(part: ScaledPart, a: Numbers | undefined, b: Numbers | undefined): boolean {
  const [one, other] = [scaleAsked(part, a), scaleAsked(part, b)];
  return one.minScale === other.minScale && one.maxScale === other.maxScale;
}

/**
 * What of it a revision is made for. That a part is there at all stays: without queue workers the pods of the main service have
 * other values.
 */
export function withoutScale<T extends Requests>(requested: T): T & { readonly parts: readonly ScaledPart[] } {
  const { resourceSpec, runtime, ...rest } = requested;
  const sizes = Object.entries(resourceSpec ?? {}).filter(([field]) => !SCALE_FIELDS.includes(field));
  return {
    ...(rest as T),
    ...(sizes.length > 0 && { resourceSpec: Object.fromEntries(sizes) }),
    ...(runtime && { runtime: withWorkers(withPerPod(runtime, undefined), withoutNumbers) }),
    parts: SCALED_PARTS.filter((part) => asksForPart(part, resourceSpec)),
  };
}

/** `old` with the scale of `now`. A part that only one of them has is as in `old`. */
export function withScaleOf(old: Requests, now: Requests): Requests {
  const other = Object.entries(old.resourceSpec ?? {}).filter(([field]) => !SCALE_FIELDS.includes(field));
  const scale = SCALED_PARTS.flatMap((part) => {
    const isInBoth = asksForPart(part, old.resourceSpec) === asksForPart(part, now.resourceSpec);
    const from: Readonly<Record<string, unknown>> = { ...(isInBoth ? now : old).resourceSpec };
    return FIELDS[part].flatMap((field) => (from[field] === undefined ? [] : [[field, from[field]] as const]));
  });
  const fields = [...other, ...scale];
  const { runtime } = old;
  const [before, after] = [runtime?.queueDepth, now.runtime?.queueDepth];
  return {
    ...(fields.length > 0 && { resourceSpec: Object.fromEntries(fields) }),
    ...(runtime && {
      runtime: withWorkers(before && after ? withPerPod(runtime, after.perPod) : runtime, (worker, name) =>
        scaledAs(worker, workerIn(now.runtime, name)),
      ),
    }),
  };
}

function withPerPod(runtime: Runtime, perPod: number | undefined): Runtime {
  if (!runtime.queueDepth) return runtime;
  const { perPod: _before, ...queueDepth } = runtime.queueDepth;
  return { ...runtime, queueDepth: { ...queueDepth, ...(perPod !== undefined && { perPod }) } };
}

function withWorkers(
  runtime: Runtime,
  change: (worker: Readonly<RuntimeWorker>, name: string) => RuntimeWorker,
): Runtime {
  if (!runtime.workers) return runtime;
  const workers = Object.entries(runtime.workers).map(([name, worker]) => [name, change(worker, name)] as const);
  return { ...runtime, workers: Object.fromEntries(workers) };
}

function withoutNumbers({ minScale: _least, maxScale: _most, ...worker }: Readonly<RuntimeWorker>): RuntimeWorker {
  return worker;
}

/** With the scale of another worker of the name. One that was, or becomes, a singleton has a scale of its own. */
function scaledAs(worker: Readonly<RuntimeWorker>, now: Readonly<RuntimeWorker> | undefined): RuntimeWorker {
  if (now === undefined || (now.singleton === true) !== (worker.singleton === true)) return worker;
  const { minScale, maxScale } = now;
  return {
    ...withoutNumbers(worker),
    ...(minScale !== undefined && { minScale }),
    ...(maxScale !== undefined && { maxScale }),
  };
}

/** Whether all workers that both have ask for the same scale. */
export function sameWorkerScales(a: Readonly<Runtime> | undefined, b: Readonly<Runtime> | undefined): boolean {
  return workerNames(a).every((name) => sameWorkerScale(workerIn(a, name), workerIn(b, name)));
}

export function sameWorkerScale(
  one: Readonly<RuntimeWorker> | undefined,
  other: Readonly<RuntimeWorker> | undefined,
): boolean {
  if (one === undefined || other === undefined) return true;
  return one.minScale === other.minScale && one.maxScale === other.maxScale;
}
