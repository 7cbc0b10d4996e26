// Which manager owns which field: an approximation of managedFields, good enough that a field left out of an apply
// goes away, and that a foreign one stays. Lists are whole values except those that Kubernetes merges by key.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A deep copy of plain JSON, at a fraction of what structuredClone costs. */
export function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const part = (value as Record<string, unknown>)[name];
    copy[name] = typeof part === 'object' ? copyOf(part) : part;
  }
  return copy as T;
}

/** One step into a document: a field, an element of a keyed list, or a member of a set. */
type Step = { readonly field: string } | { readonly key: Readonly<Record<string, Json>> } | { readonly member: Json };
type Path = readonly Step[];

/** Lists that are merged by key, by the field that holds them. The first key that every element has is taken. */
const KEYED_LISTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  env: [['name']],
  volumes: [['name']],
  imagePullSecrets: [['name']],
  volumeMounts: [['mountPath']],
  ports: [['containerPort', 'protocol'], ['port', 'protocol'], ['containerPort'], ['port']],
  conditions: [['type']],
  ownerReferences: [['uid']],
};
const SETS: readonly string[] = ['finalizers'];

type Leaves = Map<string, { readonly path: Path; readonly value: Json }>;

/** Every leaf of a document with its value, by the name of its path. Empty objects, and lists that are not merged, are leaves. */
export function leavesOf(value: Json): Leaves {
  const leaves: Leaves = new Map();
  collect(value, [], '', leaves);
  return leaves;
}

/** The step into a field, with its name. There are few fields, and leaves by the million. */
const fieldSteps = new Map<string, { readonly step: Step; readonly name: string }>();

function fieldStep(field: string): { readonly step: Step; readonly name: string } {
  const known = fieldSteps.get(field) ?? { step: { field }, name: JSON.stringify({ field }) };
  fieldSteps.set(field, known);
  return known;
}

/** `prefix`: the names of the steps to here. They are made once for all leaves behind them. */
function collect(value: Json, path: Path, prefix: string, into: Leaves): void {
  const last = path.at(-1);
  const field = last !== undefined && 'field' in last ? last.field : '';
  const before = prefix === '' ? '' : `${prefix},`;
  const below = (step: Step, part: Json): void =>
    collect(part, [...path, step], `${before}${JSON.stringify(step)}`, into);
  if (Array.isArray(value)) {
    if (SETS.includes(field)) {
      for (const member of value) below({ member }, member);
      return;
    }
    const keys = keysFor(field, value);
    if (keys !== undefined) {
      for (const element of value as JsonObject[])
        below({ key: Object.fromEntries(keys.map((name) => [name, element[name] ?? null])) }, element);
      return;
    }
  } else if (isObject(value)) {
    const names = Object.keys(value);
    for (const key of names) {
      const { step, name } = fieldStep(key);
      collect(value[key] ?? null, [...path, step], `${before}${name}`, into);
    }
    if (names.length > 0) return;
  }
  into.set(`[${prefix}]`, { path, value });
}

function keysFor(field: string, list: readonly Json[]): readonly string[] | undefined {
  if (list.length === 0) return undefined;
  return KEYED_LISTS[field]?.find((keys) =>
    list.every((element) => isObject(element) && keys.every((key) => key in element)),
  );
}

export function nameOf(path: Path): string {
  return JSON.stringify(path);
}

export function pathOf(name: string): Path {
  return JSON.parse(name) as Path;
}

/** A value as people write it, for messages. */
export function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A path as people write it, for messages. */
export function readable(path: Path): string {
  return path
    .map((step) =>
      'field' in step
        ? `.${step.field}`
        : `[${Object.values('key' in step ? step.key : step)
            .map(asText)
            .join()}]`,
    )
    .join('');
}

export function valueAt(document: Json, path: Path): Json | undefined {
  let here: Json | undefined = document;
  for (const step of path) here = here === undefined ? undefined : stepInto(here, step);
  return here;
}

function stepInto(value: Json, step: Step): Json | undefined {
  if ('field' in step) return isObject(value) ? value[step.field] : undefined;
  if (!Array.isArray(value)) return undefined;
  if ('member' in step) return value.find((member) => same(member, step.member));
  return value.find((element) => matches(element, step.key));
}

function matches(element: Json, key: Readonly<Record<string, Json>>): boolean {
  return isObject(element) && Object.entries(key).every(([name, value]) => same(element[name] ?? null, value));
}

/** Writes one leaf into the document, making what leads to it. */
export function setAt(document: JsonObject, path: Path, value: Json): void {
  let here: Json = document;
  path.forEach((step, index) => {
    const next = path[index + 1];
    if (next === undefined) {
      place(here, step, value);
      return;
    }
    let inner = stepInto(here, step);
    const wantsList = !('field' in next);
    if (inner === undefined || (wantsList ? !Array.isArray(inner) : !isObject(inner))) {
      place(here, step, wantsList ? [] : 'key' in step ? { ...step.key } : {});
      inner = stepInto(here, step);
    }
    here = inner ?? null;
  });
}

function place(container: Json, step: Step, value: Json): void {
  if ('field' in step) {
    if (isObject(container)) container[step.field] = copyOf(value);
    return;
  }
  if (!Array.isArray(container)) return;
  const index = container.findIndex((element) =>
    'key' in step ? matches(element, step.key) : same(element, step.member),
  );
  if (index === -1) container.push(copyOf(value));
  else container[index] = copyOf(value);
}

/** Takes leaves out. An element of a keyed list keeps its key as long as it has anything else, and then goes whole. */
export function removeLeaves(document: JsonObject, paths: readonly Path[]): void {
  const isKey = (path: Path): boolean => {
    const [element, leaf] = path.slice(-2);
    return (
      element !== undefined && leaf !== undefined && 'key' in element && 'field' in leaf && leaf.field in element.key
    );
  };
  for (const path of paths) if (!isKey(path)) removeAt(document, path);
  // Inner elements first: an outer one may go only when they have gone.
  for (const path of paths.filter(isKey).toSorted((a, b) => b.length - a.length)) {
    const elementPath = path.slice(0, -1);
    const [step] = elementPath.slice(-1);
    const element = valueAt(document, elementPath);
    if (!isObject(element) || step === undefined || !('key' in step)) continue;
    if (Object.keys(element).every((name) => name in step.key)) removeAt(document, elementPath);
  }
}

/** Brings the elements of keyed lists into the order in which `applied` has them; foreign ones stay where they are. */
export function orderAs(applied: Json, document: Json, field = ''): void {
  if (isObject(applied) && isObject(document)) {
    for (const [name, part] of Object.entries(applied)) orderAs(part, document[name] ?? null, name);
    return;
  }
  if (!Array.isArray(applied) || !Array.isArray(document)) return;
  const keys = keysFor(field, applied);
  if (keys === undefined) return;
  const ordered = (applied as JsonObject[]).flatMap((element) => {
    const key = Object.fromEntries(keys.map((name) => [name, element[name] ?? null]));
    const there = document.find((other) => matches(other, key));
    if (there !== undefined) orderAs(element, there);
    return there === undefined ? [] : [there];
  });
  const places = document.flatMap((element, index) => (ordered.includes(element) ? [index] : []));
  places.forEach((place, rank) => {
    document[place] = ordered[rank] ?? null;
  });
}

/** Takes one leaf out, and whatever became empty on the way to it. */
function removeAt(document: Json, path: Path): void {
  const [step, ...rest] = path;
  if (step === undefined) return;
  if (rest.length > 0) {
    const inner = stepInto(document, step);
    if (inner === undefined) return;
    removeAt(inner, rest);
    if (!isEmpty(inner)) return;
  }
  if ('field' in step) {
    if (isObject(document)) delete document[step.field];
    return;
  }
  if (!Array.isArray(document)) return;
  // An element that has become empty no longer has its key.
  const index = document.findIndex((element) =>
    'member' in step
      ? same(element, step.member)
      : isEmpty(element) || (rest.length === 0 && matches(element, step.key)),
  );
  if (index !== -1) document.splice(index, 1);
}

function isEmpty(value: Json): boolean {
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Deep equality of JSON; the order of an object's fields doesn't matter. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((part, i) => same(part, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && same(a[name], b[name]));
}
