// The platform's limits for records, in addition to the bounds of the schema. The chart's policy davit-limits has the same rules
// for kubectl, by charts/davit/files/admission-rules.json; those of placement are in a condition.

import type { SourceConfig } from '../../kinds/app-deployment.ts';
import { EXTERNAL_VARIABLES, ROLES, STORE_PARTS, type StorePart } from '../../kinds/meta.ts';
import type { ChosenPlacement } from '../../kinds/placement.ts';
import { quantity } from '../../kinds/quantity.ts';
import { type Measure, NUMBER_FIELDS } from '../../kinds/resource-spec.ts';
import { doesWithout, type Runtime } from '../../kinds/runtime.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { SpecBreach } from '../../kinds/spec-rules.ts';
import { isRole, workerNames } from '../../kinds/worker-parts.ts';
import { asWorkers } from '../../kinds/workers.ts';
import { asArray, asObject, canonicalJson, ownValue } from '../../runtime/json-value.ts';
import { runtimeOf } from './parts.ts';

type Limits = Settings['limits'];
type Parts = Readonly<Record<string, unknown>>;

/** `sourceConfig` of a record, or of a request, whose fields may have wrong types. */
interface Asked {
  readonly runtime?: unknown;
  readonly resourceSpec?: unknown;
}

export interface Excess {
  /** The named worker that asks for it. */
  readonly worker?: string;
  /** As in the record: `queueCpuLimit`. */
  readonly field: string;
  /** What is limited, where it is not the field itself. */
  readonly of?: string;
  readonly most: number | string;
}

type Kind = 'requests' | 'limits';

/** What stands in a field that is within the limit and exceeds it with the sidecars. */
export const SUM_WITH_SIDECARS = 'its sum with the sidecars';

/** The numbers of a part that the containers of its pod share. */
const SHARED: Readonly<Partial<Record<Measure, { readonly kind: Kind; readonly resource: 'cpu' | 'memory' }>>> = {
  cpu: { kind: 'requests', resource: 'cpu' },
  cpuLimit: { kind: 'limits', resource: 'cpu' },
  memoryMb: { kind: 'requests', resource: 'memory' },
  memoryLimitMb: { kind: 'limits', resource: 'memory' },
};

const LIMITED = NUMBER_FIELDS.flatMap(({ field, part, measure, limitedBy: limit }) => {
  const shared = ROLES.some((role) => role === part) ? SHARED[measure] : undefined;
  return limit === undefined ? [] : [{ field: field as string, part, limit, ...shared }];
});
export const POD_SUMS = LIMITED.filter(({ kind }) => kind !== undefined).map(({ part: _part, ...sum }) => sum);
/** A named worker has the numbers of the server. */
export const WORKER_FIELDS = LIMITED.filter(({ part }) => part === 'server').map(
  ({ part: _part, ...number }) => number,
);

/** Quantities are floating-point numbers here. */
const ROUNDING = 1e-6;
const MEBIBYTE = 2 ** 20;
/** How many base units one of the limit is. */
const UNITS = { cpu: 1, memoryMb: MEBIBYTE, scale: 1, storageGi: 1 } as const;

/**
 * The values of `asked` that exceed the platform's limits, unless `before` has the same or more: numbers of the parts that Davit knows
 * and of named workers, and what the containers of a pod ask for together. A container without a value asks for nothing here; a
 * LimitRange gives it one.
 */
export function limitViolations(asked: Asked, limits: Limits, before: Asked = {}): Excess[] {
  const [pod, podBefore] = [asObject(asked.resourceSpec), asObject(before.resourceSpec)];
  const containers = [...containerExcesses(pod, limits, podBefore)];
  const [workers, workersBefore] = [asWorkers(asked.runtime), asWorkers(before.runtime)];
  const parts = [
    { numbers: pod, had: podBefore, fields: LIMITED, of: {} },
    ...Object.entries(workers).map(([worker, numbers]) => {
      return { numbers, had: ownValue(workersBefore, worker) ?? {}, fields: WORKER_FIELDS, of: { worker } };
    }),
  ];
  const numbers = parts.flatMap(({ numbers: own, had, fields, of }) =>
    fields.flatMap(({ field, limit, kind, resource }): Excess[] => {
      const [most, value] = [limits[limit], own[field]];
      if (most === undefined || typeof value !== 'number') return [];
      if (value > most) return value === had[field] ? [] : [{ ...of, field, most }];
      if (kind === undefined || resource === undefined || containers.length > 0) return [];
      const sumOf = (number: unknown, sidecars: Parts): number =>
        typeof number === 'number' ? number * UNITS[limit] + beside(sidecars, kind, resource) : 0;
      const isOver = exceeds(sumOf(value, pod), most * UNITS[limit], sumOf(had[field], podBefore));
      return isOver ? [{ ...of, field, of: SUM_WITH_SIDECARS, most }] : [];
    }),
  );
  return [...numbers, ...containers];
}

/** The total requests and limits of the record's containers in one pod, without the main one. */
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

function exceeds(asked: number, most: number, before: number): boolean {
  return asked > most + ROUNDING && asked > before;
}

function fieldOf(spec: Parts): string {
  return asArray(spec['sidecars']).length > 0 ? 'sidecars' : 'initContainers';
}

/** The maximum of the requests that apply at once: sidecars run together with each init container and with the main one. */
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

type Config = Readonly<Pick<SourceConfig, 'runtime' | 'resourceSpec'>>;
type Rules = Pick<Settings, 'placement' | 'limits'>;
type Allowed = NonNullable<Rules['placement']['allowed']>;
const NOTHING: Allowed = { nodeSelector: {}, tolerations: [], runtimeClasses: [] };
const LISTS = 'settings.placement.allowed';

/** What `asked` chooses beyond the list and `before` did not: a narrowed list leaves alone what a record has. */
export function* placementBreaches(
  asked: Config,
  { placement: { allowed = NOTHING }, limits }: Rules,
  before: Config = {},
): Generator<SpecBreach> {
  for (const part of [...ROLES, ...workerNames(asked.runtime)]) {
    const chosen = runtimeOf(asked.runtime, part)?.placement;
    const had = runtimeOf(before.runtime, part)?.placement ?? {};
    if (chosen === undefined) continue;
    const within = isRole(part) ? [part] : ['workers', part];
    const beyond = [...beyondList(chosen, allowed), ...beyondLimits(chosen, asked, limits)];
    for (const { field, of, message } of beyond)
      if (canonicalJson(valueAt(had, field, of)) !== canonicalJson(valueAt(chosen, field, of)))
        yield { at: ['sourceConfig', 'runtime', ...within, 'placement', field, ...(of === '' ? [] : [of])], message };
  }
}

interface Beyond {
  readonly field: keyof ChosenPlacement;
  /** Key or index in the field, or empty. */
  readonly of: string | number;
  readonly message: string;
}

/** Tolerations are compared as one list. */
function valueAt(placement: ChosenPlacement, field: Beyond['field'], of: Beyond['of']): unknown {
  const value = placement[field];
  return typeof value === 'object' && !Array.isArray(value) ? ownValue<unknown>(value, String(of)) : value;
}

function* beyondList(chosen: ChosenPlacement, allowed: Allowed): Generator<Beyond> {
  for (const [label, value] of Object.entries(chosen.nodeSelector ?? {})) {
    const values = ownValue(allowed.nodeSelector, label) ?? [];
    if (!values.includes(value))
      yield {
        field: 'nodeSelector',
        of: label,
        message: `must be ${values.length > 0 ? `one of ${values.join(', ')}` : 'absent'} on this platform (${LISTS})`,
      };
  }
  for (const [index, { key }] of (chosen.tolerations ?? []).entries())
    if (!allowed.tolerations.includes(key))
      yield {
        field: 'tolerations',
        of: index,
        message: `taint ${key} may not be tolerated on this platform (${LISTS})`,
      };
  const { runtimeClassName: name } = chosen;
  if (name !== undefined && !allowed.runtimeClasses.includes(name))
    yield {
      field: 'runtimeClassName',
      of: '',
      message: `${name} is not a runtime class that this platform lists (${LISTS})`,
    };
}

/** The sum with the sidecars, which run together with the main container. */
function* beyondLimits({ resources = {} }: ChosenPlacement, asked: Config, limits: Rules['limits']): Generator<Beyond> {
  if (limits.resources === undefined) return;
  for (const [name, value] of Object.entries(resources)) {
    const most = ownValue(limits.resources, name) ?? 0;
    if (amount(value) + beside(asked.resourceSpec ?? {}, 'limits', name) > amount(most))
      yield {
        field: 'resources',
        of: name,
        message: `must be at most ${most} on this platform, sidecars included (settings.limits.resources)`,
      };
  }
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
