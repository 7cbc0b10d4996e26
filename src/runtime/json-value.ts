// JSON values of unknown shape.

import type { z } from 'zod';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Neither absent nor null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The fields of T, without those whose value is undefined. */
export type Present<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** The value, or an empty object for any other type. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** The value, or an empty array for any other type. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * The value of a key that somebody else chose. A plain lookup also finds what every object inherits, such as `constructor`.
 */
export function ownValue<Value>(object: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Equality as in JSON: the order of keys has no meaning, and an undefined field is absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (Array.isArray(b)) return false;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key of Object.keys(one)) if (!sameJson(one[key], ownValue(other, key))) return false;
  return Object.keys(other).every((key) => ownValue(one, key) !== undefined || other[key] === undefined);
}

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/** JSON text as the schema has it. Throws an Error that begins with `doing` and has no part of the text, which may be a secret. */
export function parsedText<T>(schema: z.ZodType<T>, text: string, doing: string): T {
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.map(String).join('.');
  throw new Error(`${doing} at ${where || 'its root'}`);
}

/** Undefined for text that is no JSON. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
