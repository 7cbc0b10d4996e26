// Converts between snake_case of the API and camelCase of the custom resources, at every depth, by one walk over the custom resource's
// schema. Keys of maps are people's and stay, and so do the names of pod parts, which are Kubernetes'.
// `merged` decides what a PATCH merges and what it replaces.

import { z } from 'zod';
import { asObject, isObject, isSet, ownValue } from '../json-value.ts';

/** `dbStorageGi` → `db_storage_gi`. */
export type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Lowercase<Head>}${Snake<Tail>}`
    : `${Lowercase<Head>}_${Snake<Tail>}`
  : Name;

export function snake<Name extends string>(name: Name): Snake<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<Name>;
}

/** Returns the values under their names in snake_case. */
export function snakeKeys<Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [snake(field), value]));
}

declare const MARK: unique symbol;
export interface AsInPods {
  readonly [MARK]: 'as in pods';
}
export interface Whole {
  readonly [MARK]: 'whole';
}
const marks = new WeakMap<object, 'as in pods' | 'whole'>();

/** A part of a pod. The API has Kubernetes' names of its fields. */
export function asInPods<Schema extends z.ZodType>(schema: Schema): AsInPods & Schema {
  marks.set(schema.def, 'as in pods');
  return schema as AsInPods & Schema;
}

/** An object that a PATCH replaces. All others are merged field by field, except elements of lists. */
export function whole<Schema extends z.ZodType>(schema: Schema): Schema & Whole {
  marks.set(schema.def, 'whole');
  return schema as Schema & Whole;
}

export function isAsInPods(schema: z.ZodType): boolean {
  return marks.get(schema.def) === 'as in pods';
}

export function isWhole(schema: z.ZodType): boolean {
  return marks.get(schema.def) === 'whole';
}

/** The schema inside optional, nullable and default. */
export function bare(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return isWrapped ? bare(schema.unwrap() as z.ZodType) : schema;
}

interface Field {
  readonly camel: string;
  readonly snake: string;
  readonly names: Names;
}
interface ObjectNames {
  readonly fields: readonly Field[];
  readonly isWhole: boolean;
}
/** The names within a value. `each`: within the values of a map, or the elements of a list. Undefined: it stays as it is. */
type Names = ObjectNames | { readonly each: Names; readonly isList: boolean } | undefined;

/** Computed once for each schema, because a list of deployments converts many records. */
const known = new WeakMap<object, { readonly names: Names }>();

function namesOf(schema: z.ZodType): Names {
  const before = known.get(schema.def);
  if (before !== undefined) return before.names;
  const names = isAsInPods(schema) ? undefined : namesWithin(schema);
  known.set(schema.def, { names });
  return names;
}

function namesWithin(schema: z.ZodType): Names {
  const inner = bare(schema);
  if (inner !== schema) return namesOf(inner);
  if (schema instanceof z.ZodArray || schema instanceof z.ZodRecord) {
    const isList = schema instanceof z.ZodArray;
    const each = namesOf((isList ? schema.element : schema.valueType) as z.ZodType);
    return each && { each, isList };
  }
  if (!(schema instanceof z.ZodObject)) return undefined;
  const shape = Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>);
  const fields = shape.map(([camel, field]) => ({ camel, snake: snake(camel), names: namesOf(field) }));
  // Its values are the same in both cases.
  const isSame = shape.every(([name, field]) => name === snake(name) && !(field instanceof z.ZodOptional));
  return isSame && fields.every(({ names }) => names === undefined) ? undefined : { fields, isWhole: isWhole(schema) };
}

export type Shape = Readonly<Record<string, z.ZodType>>;

/** The schema of an answer. Every field is present, and null if unset. */
export type Response<T> = T extends AsInPods
  ? T
  : T extends z.ZodObject<infer S extends Shape>
    ? z.ZodObject<{
        [Key in keyof S & string as Snake<Key>]: S[Key] extends z.ZodOptional<infer Inner extends z.ZodType>
          ? z.ZodNullable<Response<Inner>>
          : Response<S[Key]>;
      }>
    : T extends z.ZodArray<infer Inner extends z.ZodType>
      ? z.ZodArray<Response<Inner>>
      : T extends z.ZodRecord<infer _Key, infer Inner extends z.ZodObject>
        ? z.ZodRecord<z.ZodString, Response<Inner>>
        : T;

type Of<Schema extends z.ZodType> = z.output<Schema>;

/** Every field of `schema` under the API's names, null if unset. */
export function toSnake<Schema extends z.ZodType>(schema: Schema, value: Readonly<Of<Schema>>): Of<Response<Schema>> {
  return shown(namesOf(schema), value) as Of<Response<Schema>>;
}

function shown(names: Names, value: unknown): unknown {
  if (names === undefined || !isSet(value)) return value ?? null;
  if ('fields' in names) {
    const given = value as Readonly<Record<string, unknown>>;
    const fields: Record<string, unknown> = {};
    for (const field of names.fields) fields[field.snake] = shown(field.names, given[field.camel]);
    return fields;
  }
  return each(names.isList, value, (inner) => shown(names.each, inner));
}

/** The fields of a request that are set, under the custom resource's names. Values may have wrong types. */
export function fromSnake<Schema extends z.ZodType>(schema: Schema, value: unknown): Partial<Of<Schema>> {
  return asObject(stored(namesOf(schema), value)) as Partial<Of<Schema>>;
}

function stored(names: Names, value: unknown): unknown {
  if (names === undefined) return value;
  if (!('fields' in names)) return each(names.isList, value, (inner) => stored(names.each, inner));
  if (!isObject(value)) return value;
  const entries = names.fields.map((field) => [field.camel, stored(field.names, value[field.snake])] as const);
  return Object.fromEntries(entries.filter(([, inner]) => isSet(inner)));
}

function each(isList: boolean, value: unknown, make: (inner: unknown) => unknown): unknown {
  if (isList) return Array.isArray(value) ? value.map(make) : value;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => isSet(inner));
  return Object.fromEntries(entries.map(([key, inner]) => [key, make(inner)]));
}

/**
 * `before` with what was sent, under the custom resource's names: objects and maps of objects are merged at every depth, and null removes a
 * field. So does an empty value, except in a map and in the fields `kept`. Undefined where nothing is left.
 */
export function merged<Schema extends z.ZodType>(
  schema: Schema,
  before: Readonly<Of<Schema>> | undefined,
  sent: unknown,
  kept: ReadonlySet<string> = new Set(),
): Of<Schema> | undefined {
  const after = mergedBy(namesOf(schema), before, sent, kept);
  return isNothing(after) ? undefined : (after as Of<Schema>);
}

function mergedBy(names: Names, before: unknown, sent: unknown, kept: ReadonlySet<string>): unknown {
  if (sent === undefined || sent === null) return sent === null ? undefined : before;
  if (!areMerged(names)) return stored(names, sent);
  const [old, given] = [asObject(before), asObject(sent)];
  if ('each' in names) {
    const entries = Object.keys({ ...old, ...given }).map(
      (key) => [key, mergedBy(names.each, ownValue(old, key), ownValue(given, key), kept)] as const,
    );
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  const changed = names.fields.flatMap(({ camel, snake: name, names: inner }) => {
    const [was, value] = [old[camel], mergedBy(inner, old[camel], given[name], kept)];
    if (given[name] === undefined) return [];
    return [[camel, kept.has(camel) || !isNothing(value) ? value : emptyOf(was)] as const];
  });
  const entries = Object.entries({ ...old, ...Object.fromEntries(changed) });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function areMerged(names: Names): names is Exclude<Names, undefined> {
  if (names === undefined) return false;
  return 'fields' in names ? !names.isWhole : !names.isList;
}

/** An empty value that was there before means the same as none, and stays. */
function emptyOf(before: unknown): unknown {
  return isNothing(before) ? before : undefined;
}

function isNothing(value: unknown): boolean {
  return !isSet(value) || (typeof value === 'object' && Object.keys(value as object).length === 0);
}

/**
 * What was sent, and null for each field that `before` has and it lacks, wherever `merged` merges. Both under the API's names. Merged, it
 * leaves nothing else of `before`.
 */
export function withResets(schema: z.ZodType, before: unknown, sent: unknown): unknown {
  return resetBy(namesOf(schema), before, sent);
}

function resetBy(names: Names, before: unknown, sent: unknown): unknown {
  if (!areMerged(names)) return sent ?? null;
  const [old, given] = [asObject(before), asObject(sent)];
  const entries = Object.keys(old).map((key) => {
    const value = ownValue(given, key);
    // An element of a map is removed as a whole.
    const isGone = 'each' in names && !isSet(value);
    return [key, isGone ? null : resetBy(within(names, 'snake', key), old[key], value)] as const;
  });
  return { ...given, ...Object.fromEntries(entries) };
}

/** Whether a PATCH merges what is at a location below `schema`, so that null in it has a meaning. */
export function isMergedAt(schema: z.ZodType, loc: Path): boolean {
  let names = namesOf(schema);
  for (const step of loc) {
    if (!areMerged(names)) return false;
    names = within(names, 'snake', step);
  }
  return areMerged(names) && names !== UNKNOWN;
}

type Path = readonly (string | number)[];

/** The names of a kind or field that is not in the schema. */
const UNKNOWN: ObjectNames = { fields: [], isWhole: false };

function within(names: Names, by: 'camel' | 'snake', step: string | number): Names {
  if (names === undefined || 'each' in names) return names?.each;
  const field = names.fields.find((one) => one[by] === step);
  return field ? field.names : UNKNOWN;
}

/** A path below `schema` under the names of a request. */
export function sentPath(schema: z.ZodType, at: Path): (string | number)[] {
  let names = namesOf(schema);
  return at.map((step) => {
    const isField = names !== undefined && 'fields' in names && typeof step === 'string';
    names = within(names, 'camel', step);
    return isField ? snake(step as string) : step;
  });
}

/** `spec.sourceConfig.resourceSpec.cpu`, as the API server names a field → `['source_config', 'resource_spec', 'cpu']`. */
export function requestPath(schema: z.ZodType, field: string): (string | number)[] {
  const steps: string[] = field.match(/[^.[\]]+/g) ?? [];
  if (steps[0] === 'spec' || steps[0] === 'metadata') steps.shift();
  return sentPath(
    schema,
    steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
  );
}

/** Converts a path such as `runtime.workers.mail.minScale` or `tasks[clean].timeZone` to the names of the API, as text. */
export function sentText(schema: z.ZodType, field: string): string {
  // Every other one is a name.
  const steps = field.split(/([.[\]]+)/);
  const names = sentPath(
    schema,
    steps.filter((_step, at) => at % 2 === 0),
  );
  return steps.map((step, at) => (at % 2 === 0 ? names[at / 2] : step)).join('');
}

/** The names of all fields within a schema. */
export function fieldNames(schema: z.ZodType): string[] {
  const all = (names: Names): string[] =>
    names === undefined
      ? []
      : 'each' in names
        ? all(names.each)
        : names.fields.flatMap((field) => [field.camel, ...all(field.names)]);
  return all(namesOf(schema));
}
