// JSON Schema that is made of zod schemas, for people and their tools.

import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Simplifies a schema for readers: a nullable field has two types instead of anyOf, and the bounds of exact integers are removed. */
export function simplify(schema: JsonSchema): void {
  clean(schema);
  const [one, other, ...more] = schema.anyOf ?? [];
  if (one?.type === undefined || other?.type !== 'null' || more.length > 0) return;
  delete schema.anyOf;
  const type = [one.type, 'null'] as never;
  Object.assign(schema, { ...one, ...schema, type, ...(one.enum && { enum: [...one.enum, null] }) });
  // A schema that is used in several places may not have been simplified yet.
  clean(schema);
}

function clean(schema: JsonSchema): void {
  // Validation rules of the API server are not part of this API.
  for (const key of Object.keys(schema)) if (key.startsWith('x-kubernetes-')) delete schema[key];
  // Later versions may add fields to answers. A schema with $ref has no type.
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
