// The platform's limits for records, in addition to the bounds of the schema. The chart's policy davit-limits has the same rules
// for kubectl, by charts/davit/files/admission-rules.json.

import { asArray, asObject, ownValue } from '../../lib/json-value.ts';
import { EXTERNAL_VARIABLES, ROLES, STORE_PARTS, type StorePart } from '../../schema/meta.ts';
import { quantity } from '../../schema/quantity.ts';
import { NUMBER_FIELDS, numberField } from '../../schema/resource-spec.ts';
import { doesWithout, type Runtime } from '../../schema/runtime.ts';
import type { Settings } from '../../schema/settings.ts';
import { asWorkers } from '../../schema/workers.ts';

type Limits = Settings['limits'];
type Parts = Readonly<Record<string, unknown>>;

export interface Excess {
  /** As in the record: `queueCpuLimit`. */
  readonly field: string;
  /** What is limited, where it is not the field itself. */
  readonly of?: string;
  readonly most: number | string;
}

type Kind = 'requests' | 'limits';
interface PodSum {
  readonly field: string;
  readonly kind: Kind;
  readonly resource: 'cpu' | 'memory';
  readonly limit: 'cpu' | 'memoryMb';
}

/** What stands in a field that is within the limit and exceeds it with the sidecars. */
export const SUM_WITH_SIDECARS = 'its sum with the sidecars';

/** The numbers of one pod that its containers share with a part, and the limit of their sum. */
export const POD_SUMS = NUMBER_FIELDS.flatMap(({ field, part, measure }): PodSum[] => {
  if (!ROLES.some((role) => role === part)) return [];
  const kind = measure === 'cpuLimit' || measure === 'memoryLimitMb' ? 'limits' : 'requests';
  if (measure === 'cpu' || measure === 'cpuLimit') return [{ field, kind, resource: 'cpu', limit: 'cpu' }];
  if (measure === 'memoryMb' || measure === 'memoryLimitMb')
    return [{ field, kind, resource: 'memory', limit: 'memoryMb' }];
  return [];
});

/** Quantities are floating-point numbers here. */
const ROUNDING = 1e-6;
const MEBIBYTE = 2 ** 20;
/** How many base units one of the limit is. */
const UNITS = { cpu: 1, memoryMb: MEBIBYTE } as const;

/**
 * The values of `spec` that exceed the platform's limits, unless `before` has the same or more: numbers, and what the containers of
 * a pod ask for together. A container without a value asks for nothing here; a LimitRange gives it one.
 */
export function limitViolations(spec: Parts, limits: Limits, before: Parts = {}): Excess[] {
  const numbers = Object.entries(spec).flatMap(([field, value]): Excess[] => {
    const limitedBy = numberField(field)?.limitedBy;
    const most = limitedBy && limits[limitedBy];
    const isOver = typeof value === 'number' && most !== undefined && value > most && value !== before[field];
    return isOver ? [{ field, most }] : [];
  });
  const containers = [...containerExcesses(spec, limits, before)];
  return [...numbers, ...containers, ...(containers.length > 0 ? [] : sumExcesses(spec, limits, before))];
}

/** What the containers of the record ask for in one pod, beside the main one. */
function* containerExcesses(spec: Parts, limits: Limits, before: Parts): Generator<Excess> {
  for (const [limit, resource] of [
    ['cpu', 'cpu'],
    ['memoryMb', 'memory'],
  ] as const) {
    const most = limits[limit];
    if (most === undefined) continue;
    for (const kind of ['requests', 'limits'] as const) {
      const asked = peak(spec, kind, resource);
      if (!exceeds(asked, most * UNITS[limit], peak(before, kind, resource))) continue;
      yield {
        field: fieldOf(spec),
        of: `${resource} ${kind} of a pod's containers together`,
        most: limit === 'cpu' ? most : `${most}Mi`,
      };
    }
  }
  if (limits.resources === undefined) return;
  for (const name of resourcesIn(spec)) {
    const most = Object.hasOwn(limits.resources, name) ? (limits.resources[name] ?? 0) : 0;
    if (exceeds(peak(spec, 'limits', name), amount(most), peak(before, 'limits', name)))
      yield { field: fieldOf(spec), of: `${name} of a pod's containers together`, most };
  }
}

/** What a part asks for together with the sidecars that run beside it. */
function* sumExcesses(spec: Parts, limits: Limits, before: Parts): Generator<Excess> {
  for (const { field, kind, resource, limit } of POD_SUMS) {
    const most = limits[limit];
    const sumOf = (parts: Parts): number => {
      const own = parts[field];
      return typeof own === 'number' ? own * UNITS[limit] + beside(parts, kind, resource) : 0;
    };
    if (most === undefined || Number(spec[field]) > most) continue;
    if (exceeds(sumOf(spec), most * UNITS[limit], sumOf(before))) yield { field, of: SUM_WITH_SIDECARS, most };
  }
}

/** The same of the named workers: their numbers, and the sums of their pods with the sidecars of the record. */
export function workerViolations(
  { runtime, resourceSpec }: Asked,
  limits: Limits,
  before: Asked = {},
): (Excess & { readonly worker: string })[] {
  const workersBefore = asWorkers(before.runtime);
  return Object.entries(asWorkers(runtime)).flatMap(([worker, asked]) => {
    const had = ownValue(workersBefore, worker) ?? {};
    return WORKER_FIELDS.flatMap(({ field, limit, kind, resource }) => {
      const most = limits[limit];
      const value = asked[field];
      if (most === undefined || typeof value !== 'number') return [];
      if (value > most) return value === had[field] ? [] : [{ worker, field, most }];
      if (kind === undefined) return [];
      const sumOf = (numbers: Parts, pod: unknown): number =>
        typeof numbers[field] === 'number'
          ? Number(numbers[field]) * UNITS[resource === 'cpu' ? 'cpu' : 'memoryMb'] +
            beside(asObject(pod), kind, resource)
          : 0;
      const isOver = exceeds(
        sumOf(asked, resourceSpec),
        most * UNITS[resource === 'cpu' ? 'cpu' : 'memoryMb'],
        sumOf(had, before.resourceSpec),
      );
      return isOver ? [{ worker, field, of: SUM_WITH_SIDECARS, most }] : [];
    });
  });
}

/** `sourceConfig` of a record, or of a request, whose fields may have wrong types. */
interface Asked {
  readonly runtime?: unknown;
  readonly resourceSpec?: unknown;
}

/** The limited numbers of a worker, and what its containers share of them. */
export const WORKER_FIELDS = [
  { field: 'cpu', limit: 'cpu', kind: 'requests', resource: 'cpu' },
  { field: 'cpuLimit', limit: 'cpu', kind: 'limits', resource: 'cpu' },
  { field: 'memoryMb', limit: 'memoryMb', kind: 'requests', resource: 'memory' },
  { field: 'memoryLimitMb', limit: 'memoryMb', kind: 'limits', resource: 'memory' },
  { field: 'minScale', limit: 'scale', kind: undefined, resource: undefined },
  { field: 'maxScale', limit: 'scale', kind: undefined, resource: undefined },
] as const;

function exceeds(asked: number, most: number, before: number): boolean {
  return asked > most + ROUNDING && asked > before;
}

function fieldOf(spec: Parts): string {
  return asArray(spec['sidecars']).length > 0 ? 'sidecars' : 'initContainers';
}

/** The most that the record's containers ask for at once: sidecars run beside each init container and beside the main one. */
function peak(spec: Parts, kind: Kind, resource: string): number {
  const first = containersIn(spec, 'initContainers').filter((container) => !isRestartedInit(container));
  return (
    beside(spec, kind, resource) + Math.max(0, ...first.map((container) => requestedAmount(container, kind, resource)))
  );
}

function beside(spec: Parts, kind: Kind, resource: string): number {
  const running = [...containersIn(spec, 'sidecars'), ...containersIn(spec, 'initContainers').filter(isRestartedInit)];
  return running.reduce((sum, container) => sum + requestedAmount(container, kind, resource), 0);
}

function containersIn(spec: Parts, list: 'sidecars' | 'initContainers'): Parts[] {
  return asArray(spec[list]).map(asObject);
}

function isRestartedInit({ restartPolicy }: Parts): boolean {
  return restartPolicy === 'Always';
}

/** A request that is absent equals the limit. Other resources than cpu and memory have one amount for both. */
function requestedAmount(container: Parts, kind: Kind, resource: string): number {
  const { requests, limits } = asObject(container['resources']);
  const [request, limit] = [asObject(requests)[resource], asObject(limits)[resource]];
  if (resource !== 'cpu' && resource !== 'memory') return Math.max(amount(request), amount(limit));
  return amount(kind === 'limits' ? limit : (request ?? limit));
}

/** 0 for what is no quantity: the API server rejects it in the pod. */
function amount(value: unknown): number {
  const number = value === undefined || value === null ? 0 : Number(quantity(value));
  return Number.isFinite(number) ? number : 0;
}

function resourcesIn(spec: Parts): ReadonlySet<string> {
  const names = [...containersIn(spec, 'sidecars'), ...containersIn(spec, 'initContainers')].flatMap(
    ({ resources }) => {
      const { requests, limits } = asObject(resources);
      return [...Object.keys(asObject(requests)), ...Object.keys(asObject(limits))];
    },
  );
  return new Set(names.filter((name) => name !== 'cpu' && name !== 'memory'));
}

/**
 * The stores that a record lacks if the platform provides none. `names`: its variables. `runtime`: that of the record or of a
 * request, whose fields may have wrong types.
 */
export function missingExternal(names: Iterable<unknown>, runtime: unknown): StorePart[] {
  const there = new Set(names);
  return STORE_PARTS.filter(
    (part) => !there.has(EXTERNAL_VARIABLES[part]) && !doesWithout(part, asObject(runtime) as Runtime),
  );
}
