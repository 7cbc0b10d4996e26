// The schemas of requests and answers, made of the custom resources' schemas: fields have the API's names at every depth.

import { z } from 'zod';
import {
  type AsInPods,
  isAsInPods,
  isWhole,
  type Response,
  type Shape,
  type Snake,
  snake,
  type Whole,
} from './casing.ts';

type Names<S> = keyof S & string;

/** The schema of a request. Its fields may be absent or null, except what an element of a list, or a whole object, requires. */
type Payload<T, InList extends boolean = false> = T extends AsInPods
  ? T
  : T extends z.ZodObject<infer S extends Shape>
    ? z.ZodObject<{
        [Key in Names<S> as Snake<Key>]: S[Key] extends z.ZodOptional<infer Inner extends z.ZodType>
          ? z.ZodOptional<z.ZodNullable<Payload<Inner>>>
          : T extends Whole
            ? Payload<S[Key]>
            : InList extends true
              ? Payload<S[Key]>
              : z.ZodOptional<z.ZodNullable<Payload<S[Key]>>>;
      }>
    : T extends z.ZodArray<infer Inner extends z.ZodType>
      ? z.ZodArray<Payload<Inner, true>>
      : T extends z.ZodRecord<infer _Key, infer Inner extends z.ZodObject>
        ? z.ZodRecord<z.ZodString, z.ZodNullable<Payload<Inner>>>
        : T;

/** How the OpenAPI document describes an object, by the definition of its schema. */
type Components = ReadonlyMap<z.ZodType['def'], z.GlobalMeta>;

interface ApiSchemas {
  readonly payload: <Schema extends z.ZodType>(schema: Schema) => Payload<Schema>;
  readonly response: <Schema extends z.ZodType>(schema: Schema) => Response<Schema>;
}

export function apiSchemas(requests: Components, answers: Components): ApiSchemas {
  const [payload, response] = [maker(requests, true), maker(answers, false)];
  return { payload: (schema) => payload(schema) as never, response: (schema) => response(schema) as never };
}

function maker(components: Components, isPayload: boolean): (schema: z.ZodType) => z.ZodType {
  // One for all places, because the document names it.
  const done = new Map<z.ZodType['def'], z.ZodType>();

  function of(schema: z.ZodType, isInList = false): z.ZodType {
    if (isAsInPods(schema)) return schema;
    if (schema instanceof z.ZodArray) {
      const element = of(schema.element as z.ZodType, true);
      return element === schema.element ? schema : z.core.clone(schema, { ...schema.def, element } as never);
    }
    if (schema instanceof z.ZodRecord && schema.valueType instanceof z.ZodObject) {
      const value = of(schema.valueType);
      return z.record(z.string(), isPayload ? value.nullable() : value);
    }
    if (!(schema instanceof z.ZodObject)) return schema;
    const before = done.get(schema.def);
    if (before !== undefined) return before;
    const isRequired = isInList || isWhole(schema);
    const fields = Object.entries(schema.shape as Shape).map(([name, leaf]) => [
      snake(name),
      fieldOf(leaf, isRequired),
    ]);
    const made = z.object(Object.fromEntries(fields) as z.ZodRawShape);
    const meta = components.get(schema.def);
    const described = meta ? made.meta(meta) : made;
    done.set(schema.def, described);
    return described;
  }

  function fieldOf(leaf: z.ZodType, isRequired: boolean): z.ZodType {
    const isOptional = leaf instanceof z.ZodOptional;
    const inner = isOptional ? (leaf.unwrap() as z.ZodType) : leaf;
    const made = of(inner);
    const mayLack = isOptional || (isPayload && !isRequired);
    const field = mayLack ? (isPayload ? made.nullish() : made.nullable()) : made;
    const words = leaf.description ?? inner.description;
    return made === inner || words === undefined ? field : field.describe(words);
  }

  return (schema) => of(schema);
}
