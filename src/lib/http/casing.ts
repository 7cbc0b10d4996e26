// Converts between snake_case of the API and camelCase of the custom resources, by the shapes of the custom resources'
// schemas. Pod parts (volumes, mounts, containers) keep Kubernetes' names on both sides.

import { z } from 'zod';

/** `dbStorageGi` → `db_storage_gi`. */
export type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Lowercase<Head>}${Snake<Tail>}`
    : `${Lowercase<Head>}_${Snake<Tail>}`
  : Name;

type Shape = Readonly<Record<string, z.ZodType>>;
type Bare<Leaf> =
  Leaf extends z.ZodOptional<infer Inner extends z.ZodType> ? Inner : Leaf extends z.ZodType ? Leaf : never;
type Names<S> = keyof S & string;

/** The fields of a request. Each may be absent or null. */
export type PayloadShape<S extends Shape> = {
  [Key in Names<S> as Snake<Key>]: z.ZodOptional<z.ZodNullable<Bare<S[Key]>>>;
};
/** The fields of an answer. Each is present, and null if unset. */
export type ResponseShape<S extends Shape> = { [Key in Names<S> as Snake<Key>]: z.ZodNullable<Bare<S[Key]>> };

export function snake<Name extends string>(name: Name): Snake<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Snake<Name>;
}

/** The same values under the names in snake_case. */
export function snakeKeys<Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [snake(field), value]));
}

/** Names in both cases, computed once for each shape because a list converts many records. */
const bothNames = new WeakMap<Shape, readonly (readonly [camel: string, snake: string])[]>();

function namesOf(shape: Shape): readonly (readonly [camel: string, snake: string])[] {
  const known = bothNames.get(shape);
  if (known !== undefined) return known;
  const made = Object.keys(shape).map((name) => [name, snake(name)] as const);
  bothNames.set(shape, made);
  return made;
}

export function payloadShape<S extends Shape>(shape: S): PayloadShape<S> {
  return renamed(shape, (leaf) => leaf.nullish()) as PayloadShape<S>;
}

export function responseShape<S extends Shape>(shape: S): ResponseShape<S> {
  return renamed(shape, (leaf) => leaf.nullable()) as ResponseShape<S>;
}

function renamed(shape: Shape, make: (leaf: z.ZodType) => z.ZodType): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, leaf]) => [
      snake(name),
      make(leaf instanceof z.ZodOptional ? (leaf.unwrap() as z.ZodType) : leaf),
    ]),
  );
}

/** The fields of a request that are set, under the custom resource's names. */
export function fromSnake<S extends Shape>(
  shape: S,
  values: Readonly<Record<string, unknown>>,
): { -readonly [Key in keyof S]?: NonNullable<z.output<S[Key]>> } {
  const entries = Object.keys(shape).map((name) => [name, values[snake(name)]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null)) as {
    -readonly [Key in keyof S]?: NonNullable<z.output<S[Key]>>;
  };
}

/** Every field of `shape` under the API's names, null if unset. */
export function toSnake<S extends Shape>(
  shape: S,
  values: { readonly [Key in keyof S]?: z.output<S[Key]> | undefined },
): { [Key in Names<S> as Snake<Key>]: NonNullable<z.output<S[Key]>> | null } {
  const given: Readonly<Record<string, unknown>> = values;
  const shown: Record<string, unknown> = {};
  for (const [camel, name] of namesOf(shape)) shown[name] = given[camel] ?? null;
  return shown as { [Key in Names<S> as Snake<Key>]: NonNullable<z.output<S[Key]>> | null };
}

/**
 * Converts the API server's path of a field to its location in the request: `spec.sourceConfig.resourceSpec.cpu` →
 * `['source_config', 'resource_spec', 'cpu']`. Names below a field of resource_spec are Kubernetes' and stay, and so do names
 * below env_names, which are the record's.
 */
export function requestPath(field: string): (string | number)[] {
  const steps: string[] = field.match(/[^.[\]]+/g) ?? [];
  if (steps[0] === 'spec' || steps[0] === 'metadata') steps.shift();
  const pods = steps.findIndex((step) => step === 'resourceSpec');
  const variables = steps.indexOf('envNames');
  return steps.map((step, at) => {
    if (/^\d+$/.test(step)) return Number(step);
    const isGiven = (pods >= 0 && at > pods + 1) || (variables >= 0 && at > variables);
    return isGiven ? step : snake(step);
  });
}
