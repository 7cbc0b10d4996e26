// Finds keys of a body that its schema does not define, each with the field that was probably meant. The names come from the zod
// schemas of the body and of the answer.

import { z } from 'zod';
import { isObject } from '../json-value.ts';
import { distance } from '../similar.ts';
import { bare } from './casing.ts';
import type { FieldError } from './http-error.ts';

/** The schemas of a route's body and answer. */
export interface RouteSchemas {
  readonly body: z.ZodType;
  readonly answer?: z.ZodType | undefined;
}

/** Maximum number of findings. */
const MOST_TOLD = 20;
/** Characters of a key that are repeated in a message, and that are compared with names. */
const LONGEST_KEY = 100;

/** At most MOST_TOLD findings, and one that counts the others. Messages contain no value of the body. */
export function unknownFields({ body: schema, answer }: RouteSchemas, body: unknown): FieldError[] {
  // A body with an id was read from the API: every field of an answer can be sent back.
  const wasRead = isObject(body) && Object.hasOwn(body, 'id');
  const found: FieldError[] = [];
  let more = 0;

  function walk(value: unknown, known: z.ZodType, shown: z.ZodType | undefined, loc: FieldError['loc']): void {
    if (Array.isArray(value)) {
      const [element, shownElement] = [elementOf(known), shown && elementOf(shown)];
      if (element) for (const [index, item] of value.entries()) walk(item, element, shownElement, [...loc, index]);
      return;
    }
    const shape = shapeOf(known);
    if (shape === undefined || !isObject(value)) return;
    const shownShape = (shown && shapeOf(shown)) ?? {};
    for (const [key, inner] of Object.entries(value)) {
      if (Object.hasOwn(shape, key)) walk(inner, shape[key] as z.ZodType, shownShape[key], [...loc, key]);
      else if (!wasRead || !Object.hasOwn(shownShape, key)) tell(key, shape, Object.hasOwn(shownShape, key), loc);
    }
  }

  function tell(key: string, shape: Shape, isReadOnly: boolean, loc: FieldError['loc']): void {
    if (found.length === MOST_TOLD) more += 1;
    else {
      const name = key.slice(0, LONGEST_KEY);
      const isInList = loc.some((step) => typeof step === 'number');
      const msg = isReadOnly ? 'is read-only' : messageFor({ name, isInList }, Object.keys(shape), fieldsOf(schema));
      found.push({ loc: [...loc, name], msg, type: isReadOnly ? 'read_only' : 'extra_forbidden' });
    }
  }

  walk(body, schema, answer, ['body']);
  if (more > 0) found.push({ loc: ['body'], msg: `${more} more keys are not known fields`, type: 'extra_forbidden' });
  return found;
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** Undefined for a schema that is not an object, and for one that allows any key. */
function shapeOf(schema: z.ZodType): Shape | undefined {
  const object = bare(schema);
  return object instanceof z.ZodObject && object.def.catchall === undefined ? (object.shape as Shape) : undefined;
}

function elementOf(schema: z.ZodType): z.ZodType | undefined {
  const list = bare(schema);
  return list instanceof z.ZodArray ? (list.element as z.ZodType) : undefined;
}

interface Field {
  readonly name: string;
  /** The object that contains the field: `source_config`, `secrets[]`, or empty for the body itself. */
  readonly parent: string;
  readonly isInList: boolean;
}

const fieldsOfSchemas = new WeakMap<z.ZodType, readonly Field[]>();

/** Every field of a body, those of outer objects first. Computed once for each schema. */
function fieldsOf(schema: z.ZodType): readonly Field[] {
  const before = fieldsOfSchemas.get(schema);
  if (before !== undefined) return before;
  const fields: Field[] = [];
  let level: { readonly path: string; readonly schema: z.ZodType }[] = [{ path: '', schema }];
  while (level.length > 0) {
    level = level.flatMap(({ path, schema: outer }) => {
      const element = elementOf(outer);
      const parent = element === undefined ? path : `${path}[]`;
      return Object.entries(shapeOf(element ?? outer) ?? {}).map(([name, inner]) => {
        fields.push({ name, parent, isInList: parent.includes('[]') });
        return { path: pathOf({ parent, name }), schema: inner };
      });
    });
  }
  fieldsOfSchemas.set(schema, fields);
  return fields;
}

/** `fields` are those of the whole body. Fields of list items are suggested last. */
function messageFor(
  { name: key, isInList }: Pick<Field, 'name' | 'isInList'>,
  neighbours: readonly string[],
  fields: readonly Field[],
): string {
  const outer = fields.filter((field) => !field.isInList);
  const misplaced = (isInList ? fields : outer).find(({ name }) => name === key);
  if (misplaced) return belongs(misplaced);
  const neighbour = nearest(key, neighbours);
  if (neighbour !== undefined) return `is not a known field: did you mean ${neighbour}?`;
  const name = nearest(
    key,
    outer.map((field) => field.name),
  );
  const elsewhere = outer.find((field) => field.name === name);
  if (elsewhere) return `is not a known field here: did you mean ${pathOf(elsewhere)}?`;
  const listed = fields.find((field) => field.name === key);
  return listed ? belongs(listed) : 'is not a known field';
}

function pathOf({ parent, name }: Pick<Field, 'parent' | 'name'>): string {
  return parent === '' ? name : `${parent}.${name}`;
}

function belongs({ parent }: Field): string {
  return `is not a known field here: it belongs ${parent === '' ? 'at the top level' : `in ${parent}`}`;
}

/** The most similar name. Undefined if none is similar. */
function nearest(key: string, names: readonly string[]): string | undefined {
  const most = key.length < 4 ? 1 : key.length < 10 ? 2 : 3;
  const rated = names
    .map((name) => ({ name, rate: unlikeness(key, name) }))
    .filter(({ rate }) => rate <= most)
    .toSorted((a, b) => a.rate - b.rate || a.name.length - b.name.length);
  return rated[0]?.name;
}

/** 0 if only case or separators differ, 1 if one has more words at the end, otherwise the number of letters to change. */
function unlikeness(key: string, name: string): number {
  const [a, b] = [key, name].map((word) => word.replaceAll(/[_-]/g, '').toLowerCase()) as [string, string];
  if (a === b) return 0;
  if (name.startsWith(`${key}_`) || key.startsWith(`${name}_`)) return 1;
  return Math.abs(a.length - b.length) > 3 ? Number.POSITIVE_INFINITY : distance(a, b);
}
