// What the davit.yaml of a commit adds to the values of a record, field by field: the record wins. Imports no zod at run time,
// because kubectl-davit bundles it.

import type { AppRevisionSpec, Requested } from '../../kinds/app-revision.ts';
import { STORE_PARTS, STORE_URIS } from '../../kinds/meta.ts';
import { isObject } from '../../runtime/json-value.ts';
import { canonical } from './canonical.ts';

/** What a revision takes of a file, under the record's names. */
export type FileValues = Readonly<
  Pick<Requested, 'resourceSpec' | 'runtime' | 'env' | 'tasks' | 'installCommand' | 'buildCommand'>
>;

type Fields = Readonly<Record<string, unknown>>;

/** One value that is taken whole or not at all. */
interface Leaf {
  /** `['runtime', 'server', 'command']`, `['env', NAME]`. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Fields of a part that have a meaning only together: where the record has one of them, the file gives none. */
const UNITS: readonly (readonly string[])[] = [
  ['command', 'args'],
  ['healthPath', 'healthCommand', 'heartbeatFile', 'heartbeatMaxAgeSeconds'],
];
const COMMANDS = ['installCommand', 'buildCommand'] as const;

/**
 * `own` (what the record asks for) with what `values` has besides. `fields`: what came from the file, such as `env.LOG_LEVEL` and
 * `tasks[nightly]`. Variables of the file come first, so that those of the record may refer to them.
 */
export function withFile(
  own: Requested,
  values: FileValues,
): { readonly requested: Requested; readonly fields: readonly string[] } {
  const leaves = leavesOf(values).filter((leaf) => !isDecided(own, leaf));
  if (leaves.length === 0) return { requested: own, fields: [] };
  const listed = (list: string): unknown[] => leaves.filter(({ path }) => path[0] === list).map(({ value }) => value);
  const nested: Record<string, unknown> = {};
  for (const { path, value } of leaves) if (path[0] !== 'env' && path[0] !== 'tasks') put(nested, path, value);
  const requested = canonical({
    ...merged(own, nested),
    env: [...listed('env'), ...(own.env ?? [])],
    tasks: [...listed('tasks'), ...(own.tasks ?? [])],
  } as Requested);
  return { requested, fields: leaves.map(({ path }) => nameOf(path)) };
}

/** What the record itself asked for when the revision was made: `requested` without what the file gave. */
export function ownRequested({ requested, file }: Pick<AppRevisionSpec, 'requested' | 'file'>): Requested {
  const { fields = [] } = file ?? {};
  if (fields.length === 0) return requested;
  const given = new Set(fields);
  const kept = leavesOf(requested).filter(({ path }) => !given.has(nameOf(path)));
  const {
    resourceSpec: _spec,
    runtime: _runtime,
    env = [],
    tasks = [],
    installCommand,
    buildCommand,
    ...rest
  } = requested;
  const nested: Record<string, unknown> = {};
  for (const { path, value } of kept) if (path[0] === 'resourceSpec' || path[0] === 'runtime') put(nested, path, value);
  return canonical({
    ...rest,
    ...nested,
    env: env.filter(({ name }) => !given.has(nameOf(['env', name]))),
    tasks: tasks.filter(({ name }) => !given.has(nameOf(['tasks', name]))),
    ...(installCommand !== undefined && !given.has('installCommand') && { installCommand }),
    ...(buildCommand !== undefined && !given.has('buildCommand') && { buildCommand }),
  } as Requested);
}

/** Whether this field of a revision, or what is above it, came from the file. `field`: as revision-diff.ts names it. */
export function isFromFile({ file }: Pick<AppRevisionSpec, 'file'>, field: string): boolean {
  return (file?.fields ?? []).some(
    (one) => field === one || field.startsWith(`${one}.`) || field.startsWith(`${one}[`),
  );
}

function nameOf([first = '', second = '', ...rest]: readonly string[]): string {
  if (first === 'tasks') return `tasks[${second}]`;
  return [first, second, ...rest].filter((step) => step !== '').join('.');
}

function leavesOf(values: FileValues): Leaf[] {
  const { resourceSpec = {}, runtime = {}, env = [], tasks = [] } = values;
  return [
    ...entriesOf(resourceSpec).map(([field, value]) => ({ path: ['resourceSpec', field], value })),
    ...entriesOf(runtime).flatMap(([field, value]) =>
      isObject(value)
        ? entriesOf(value).map(([inner, leaf]) => ({ path: ['runtime', field, inner], value: leaf }))
        : [{ path: ['runtime', field], value }],
    ),
    ...env.map((value) => ({ path: ['env', value.name], value })),
    ...tasks.map((value) => ({ path: ['tasks', value.name], value })),
    ...COMMANDS.flatMap((field) => (values[field] === undefined ? [] : [{ path: [field], value: values[field] }])),
  ];
}

/** Whether the record has a say in this value: the value itself, one that belongs to it, or another variable of its name. */
function isDecided(own: Requested, { path: [first = '', second = '', third = ''], value }: Leaf): boolean {
  const runtime: Fields = { ...own.runtime };
  switch (first) {
    case 'env':
      return variablesOf(own).has(second);
    case 'tasks':
      return (own.tasks ?? []).some(({ name }) => name === second);
    case 'runtime': {
      if (third === '') return runtime[second] !== undefined;
      if (second === 'envNames' && (variablesOf(own).has(third) || isWithheld(own, String(value)))) return true;
      const part = runtime[second];
      const unit = UNITS.find((fields) => fields.includes(third)) ?? [third];
      return isObject(part) && unit.some((field) => part[field] !== undefined);
    }
    case 'resourceSpec':
      return ({ ...own.resourceSpec } as Fields)[second] !== undefined;
    default:
      return (own as Fields)[first] !== undefined;
  }
}

/** Whether this value of the platform is of a store that the record keeps from its image: another name would bring it back. */
function isWithheld({ runtime }: Requested, value: string): boolean {
  return STORE_PARTS.some(
    (part) =>
      value.startsWith(`${part}_`) && STORE_URIS[part].every((name) => runtime?.without?.some((one) => one === name)),
  );
}

/** Names of all variables that the record sets. */
function variablesOf({ env = [], secrets, secretReferences, runtime }: Requested): ReadonlySet<string> {
  const named = [...env, ...secrets, ...secretReferences].map(({ name }) => name);
  return new Set([...named, ...Object.keys(runtime?.envNames ?? {})]);
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner: Record<string, unknown> = isObject(target[first]) ? { ...target[first] } : {};
  put(inner, rest, value);
  target[first] = inner;
}

/** `more` has nothing that `base` has. */
function merged(base: Fields, more: Fields): Fields {
  const both = Object.entries(more).map(([field, value]) => {
    const before = base[field];
    return [field, isObject(before) && isObject(value) ? merged(before, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(both) };
}

function entriesOf(fields: object): [string, unknown][] {
  return Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
}
