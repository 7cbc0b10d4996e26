// What each field of a schema becomes in the children of a record: they are rendered with an example that has the field and
// without it, and the table prints what differs.

import { isDeepStrictEqual } from 'node:util';
import { makeRevision } from '../deploy/children/app-revision.ts';
import { desiredChildren, migrationJob } from '../deploy/children/desired.ts';
import { requestedOf } from '../deploy/record/requested.ts';
import { resolve } from '../deploy/record/resolve.ts';
import type { AppDeployment, AppDeploymentSpec, SourceConfig } from '../kinds/app-deployment.ts';
import { API_VERSION } from '../kinds/meta.ts';
import { defaultSettings } from '../kinds/settings.ts';
import type { StructuralSchema } from '../kinds/structural-schema.ts';

/** One place in a child that differs. */
export interface Effect {
  /** `Deployment shop`. */
  readonly object: string;
  /** `spec.replicas`; an element of a list by its name, a key with dots in brackets. Empty for the whole object. */
  readonly at: string;
  /** What stands there with the field; undefined: nothing. */
  readonly is: unknown;
}

export interface Field {
  /** Path in the schema: `volumes[].name`, `workers.NAME.cpu`. */
  readonly field: string;
  readonly example: unknown;
  readonly effects: readonly Effect[];
}

/** The spec of the tables' record. */
export function specWith(sourceConfig: SourceConfig): AppDeploymentSpec {
  return {
    source: 'external_docker',
    sourceConfig,
    sourceRevisionConfig: { imageUri: 'registry.example/shop:1' },
    secrets: [],
    tracingProjectDeletionPolicy: 'Retain',
  };
}

/**
 * Every field of the part `key` of the examples, in the order of the schema, each as in the first example that has it. Throws an Error
 * for a field that no example has.
 */
export function fieldsOf(
  key: keyof SourceConfig,
  schema: StructuralSchema,
  examples: readonly SourceConfig[],
): readonly Field[] {
  return leavesOf(schema).map((field) => {
    const steps = [key, ...field.split(/\.|(?=\[\])/)];
    const [found] = examples.flatMap((given) => {
      const taken = take(given, steps);
      return taken === undefined ? [] : [{ given, ...taken }];
    });
    if (found === undefined) throw new Error(`document ${key}.${field}: no example has it`);
    const { given, value, left } = found;
    return { field, example: value, effects: effectsOf(childrenOf(left as SourceConfig), childrenOf(given)) };
  });
}

/** Every field that a person can set: what is free-form, a list of texts or a map of a person's own is one. */
function leavesOf(schema: StructuralSchema, path = ''): string[] {
  const { additionalProperties: values, items, properties } = schema;
  if (values?.properties) return leavesOf(values, `${path}.NAME`);
  if (items?.properties && items['x-kubernetes-preserve-unknown-fields'] !== true) return leavesOf(items, `${path}[]`);
  if (properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return [path];
  return Object.entries(properties).flatMap(([name, part]) => leavesOf(part, path === '' ? name : `${path}.${name}`));
}

/** The value at the path, and all else. Undefined if there is none. */
function take(from: unknown, [step = '', ...rest]: readonly string[]): { value: unknown; left: unknown } | undefined {
  if (typeof from !== 'object' || from === null) return undefined;
  for (const [key, part] of Object.entries(from)) {
    if (step !== key && step !== '[]' && step !== 'NAME') continue;
    const others = Object.entries(from).filter(([other]) => other !== key);
    if (rest.length === 0) return { value: part, left: Object.fromEntries(others) };
    const taken = take(part, rest);
    if (taken === undefined) continue;
    const left = Array.isArray(from) ? from.with(Number(key), taken.left) : { ...from, [key]: taken.left };
    return { value: taken.value, left };
  }
  return undefined;
}

const UID = '11111111-1111-4111-8111-111111111111';

/** By kind and name. The Job of a migration has a name without the revision's id. */
function childrenOf(sourceConfig: SourceConfig): ReadonlyMap<string, unknown> {
  const defaults = defaultSettings();
  const settings = { ...defaults, http: { ...defaults.http, podUrl: 'https://davit-api.davit-system.svc' } };
  const metadata = { name: 'shop', namespace: 'team', uid: UID };
  const spec = specWith(sourceConfig);
  const record: AppDeployment = { apiVersion: API_VERSION, kind: 'AppDeployment', metadata, spec };
  const revision = makeRevision(record, {
    id: UID,
    deploymentName: metadata.name,
    deploymentUid: UID,
    deploymentGeneration: 1,
    source: spec.source,
    requested: requestedOf(spec),
    resolved: resolve(spec, settings),
  });
  const inputs = { record, revision, tenantId: UID, settings, keda: true };
  const children = [...desiredChildren(inputs), migrationJob(inputs)].filter((child) => child !== undefined);
  return new Map(
    children.map((child) => [`${child.kind} ${child.metadata.name.replace(/(?<=--migrate).*/, '')}`, child]),
  );
}

export function effectsOf(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): Effect[] {
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((object) =>
    differences(before.get(object), after.get(object), '').map(([at, is]) => ({ object, at, is })),
  );
}

type Difference = readonly [at: string, is: unknown];

function differences(before: unknown, after: unknown, at: string): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && [...before, ...after].every(isPlain))
    return differencesOfLists(before, after, at);
  if (!isPlain(before) || !isPlain(after)) return [[at, after]];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((key) => {
    const step = /[./]/.test(key) ? `[${key}]` : `${at === '' ? '' : '.'}${key}`;
    return differences(before[key], after[key], `${at}${step}`);
  });
}

type Plain = Readonly<Record<string, unknown>>;

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Elements correspond by their names, and otherwise by their places. */
function differencesOfLists(before: readonly Plain[], after: readonly Plain[], at: string): Difference[] {
  const nameOf = ({ mountPath, name, type }: Plain): string | undefined =>
    [mountPath, name, type].find((one) => typeof one === 'string');
  const namesAfter = new Set(after.map(nameOf));
  const pairOf = (one: Plain, place: number): Plain | undefined => {
    const there = before[place];
    const byName = nameOf(one) === undefined ? there : before.find((other) => nameOf(other) === nameOf(one));
    return byName ?? (there && !namesAfter.has(nameOf(there)) ? there : undefined);
  };
  const pairs = after.map((one, place) => [pairOf(one, place), one] as const);
  const paired = new Set(pairs.map(([pair]) => pair));
  const step = (one: Plain, place: number): string => `${at}[${nameOf(one) ?? place}]`;
  return [
    ...pairs.flatMap(([pair, one], place) => differences(pair, one, step(one, place))),
    ...before.flatMap((one, place) => (paired.has(one) ? [] : differences(one, undefined, step(one, place)))),
  ];
}

/**
 * A table of fields. `nameOf` gives a field's name in the API. Effects on the server come before those on other objects, and a value
 * that equals the example is not repeated. A field that becomes the pod's field of the same name is left out.
 */
export function effectsTable(fields: readonly Field[], nameOf: (field: string) => string): string {
  const lines = fields
    .filter((field) => !isPassedOn(field))
    .map(({ field, example, effects }) => {
      const becomes = effects.map(({ object, at, is }, index) => {
        const where = (effects[index - 1]?.object ?? 'Deployment shop') === object ? '' : `${object}: `;
        return `${where}${at === '' ? '' : `\`${at.replace(/^spec\.template\.spec\./, '')}\` `}${shown(at, is, example)}`;
      });
      return `| \`${nameOf(field)}\` | ${cell(example)} | ${becomes.map((one) => one.trim()).join('; ') || 'none'} |\n`;
    });
  return `| Field | Example | Becomes |\n|---|---|---|\n${lines.join('')}`;
}

function isPassedOn({ field, example, effects }: Field): boolean {
  const [effect, ...others] = effects;
  if (effect === undefined || others.length > 0 || !isDeepStrictEqual(effect.is, example)) return false;
  const path = effect.at.replace(/^spec\.template\.spec\./, '').replaceAll(/\[[^[\]]*\]/g, '[]');
  return path.includes('[]') && `.${field}`.endsWith(`.${path}`);
}

function shown(at: string, is: unknown, example: unknown): string {
  if (is === undefined) return 'not made';
  if (at === '') return 'made';
  return cell(is) === cell(example) ? '' : cell(is);
}

/** Scripts are shown by their beginnings. */
function cell(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `\`${(text.length > 60 ? `${text.slice(0, 57)}...` : text).replaceAll('|', '\\|')}\``;
}
