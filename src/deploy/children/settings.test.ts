// A changed setting restarts nothing: every setting that there is, is changed, and the pods of a revision that is stored
// stay as they are. The settings are taken from their schema, so that one that is added is among them.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { heldParts, inputsOf, readFrozen } from '../../../test/golden/frozen.ts';
import { aRecord, aRevision, SETTINGS } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { Settings } from '../../kinds/settings.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { desiredChildren } from './desired.ts';

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}
type Path = readonly string[];

const schema = z.toJSONSchema(Settings, { io: 'input', unrepresentable: 'any' }) as Schema;

/** Texts of every form that a setting may want; the first that it takes and does not have is given to it. */
const TEXTS = [
  'other',
  '/other',
  'other.example',
  'https://other.example:4318',
  'http://other.example:3128',
  'registry.example/other:9',
  'docker.io/library/postgres:17.99',
  '{name}.{namespace}',
  'langhost==0.11.1',
  '10.0.0.0/8',
  'other.example/prefix',
  'other.example/',
  '1001:1001',
  'openid',
  '0 4 * * sun',
  'Europe/Berlin',
];
/** Settings that are taken only together with others. */
const SIGN_IN = {
  http: { publicUrl: 'https://davit.example', oidc: { issuer: 'https://id.example', clientId: 'page' } },
};
const TOGETHER: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    ['issuer', 'clientId', 'scopes', 'name', 'origins'].map((field) => [`http.oidc.${field}`, SIGN_IN]),
  ),
  ...Object.fromEntries(
    ['schedule', 'timeZone', 'hours', 'accept'].map((name) => [
      `datastores.window.${name}`,
      { datastores: { window: { schedule: '0 3 * * *' } } },
    ]),
  ),
  'address.kind': { address: { gateway: { name: 'g', namespace: 'infra' } } },
  ...Object.fromEntries(
    ['bucket', 'prefix', 'region', 'pathStyle', 'insecure', 'ca', 'credentialsSecret'].map((name) => [
      `backups.store.${name}`,
      { backups: { store: { endpoint: 'https://store.example', bucket: 'backups' } } },
    ]),
  ),
  ...Object.fromEntries(
    ['package', 'command'].map((name) => [
      `builds.agentServer.${name}`,
      { builds: { agentServer: { package: 'langhost==0.1', command: 'langhost serve' } } },
    ]),
  ),
  'address.tls': { address: { tlsSecretName: 'wildcard' } },
};

/** All of them: what has no fields of its own. A map gets an entry, a list an element. */
function leaves({ properties, anyOf }: Schema, path: Path = []): Path[] {
  if (anyOf?.some((one) => one.properties)) return anyOf.flatMap((one) => leaves(one, path));
  if (!properties) return [path];
  return Object.entries(properties).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

function schemaAt(path: Path): Schema {
  return path.reduce<Schema>((at, key) => at.properties?.[key] ?? {}, schema);
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);
}

function withValue(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  const there = (value ?? {}) as Record<string, unknown>;
  return { ...there, [key]: withValue(there[key], rest, to) };
}

/** What may stand where `at` describes. */
function candidates(at: Schema): unknown[] {
  if (at.enum) return [...at.enum];
  if (at.const !== undefined) return [at.const];
  if (at.anyOf) return at.anyOf.flatMap(candidates);
  switch (at.type) {
    case 'boolean':
      return [true, false];
    case 'integer':
    case 'number':
      return [at.minimum ?? 1, (at.minimum ?? 1) + 1, at.maximum ?? 7, 12, 0.5];
    case 'array':
      return [[], ...candidates(at.items ?? {}).map((item) => [item])];
    case 'object': {
      if (!at.properties)
        return candidates(at.additionalProperties || {}).map((inner) => ({ 'other.example/key': inner }));
      const full = Object.entries(at.properties).map(([key, inner]) => [key, candidates(inner)] as const);
      return TEXTS.map((_, index) =>
        Object.fromEntries(full.map(([key, forms]) => [key, forms[Math.min(index, forms.length - 1)]])),
      );
    }
    default:
      return [...TEXTS];
  }
}

/** The settings with another value at `path`; undefined where none is taken. */
function changed(path: Path): Settings | undefined {
  const name = path.join('.');
  for (const value of candidates(schemaAt(path))) {
    const input = withValue(TOGETHER[name] ?? {}, path, value);
    const parsed = Settings.safeParse(withMerged(input, path));
    if (parsed.success && JSON.stringify(valueAt(parsed.data, path)) !== JSON.stringify(valueAt(SETTINGS, path)))
      return parsed.data;
  }
  return undefined;
}

/** What a group needs beside the changed setting: a Gateway of which the section is named has a name. */
function withMerged(input: unknown, path: Path): unknown {
  return path.slice(0, -1).reduce((made, _, index) => {
    const group = path.slice(0, index + 1);
    const at = schemaAt(group);
    return (at.required ?? []).reduce<unknown>((inner, key) => {
      const there = [...group, key];
      if (valueAt(inner, there) !== undefined || valueAt(SETTINGS, there) !== undefined) return inner;
      return withValue(inner, there, candidates(schemaAt(there))[0]);
    }, made);
  }, input);
}

const all = leaves(schema);
// A schema that was read wrongly would have none.
if (all.length < 50) throw new Error(`only ${all.length} settings were found`);
const FROZEN = ['plain', 'everything', 'external', 'restricted'].map((name) => readFrozen(`contract-2/${name}.yaml`));

describe('another value of', () => {
  it.each(all.map((path) => path.join('.')))('%s leaves every pod of a stored revision as it is', (name) => {
    const path = name.split('.');
    const settings = changed(path);
    expect(settings, `TEXTS in this file has no value that ${name} takes`).toBeDefined();
    if (!settings) return;
    for (const { given, want } of FROZEN)
      expect(JSON.stringify(heldParts(desiredChildren(inputsOf(given, settings))))).toBe(JSON.stringify(want));
    const record = aRecord();
    const revision = aRevision(record);
    expect(wantedRevision(record, [revision], settings)).toEqual({ current: revision });
  });
});

/** Each value in force that is a number or text, changed: what another Davit may have resolved. */
function resolvedOtherwise(value: unknown, replace: (inner: unknown) => unknown): unknown[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) =>
      resolvedOtherwise(inner, (other) => replace({ ...value, [key]: other })),
    );
  return [replace(typeof value === 'number' ? value + 1 : `${String(value)}x`)];
}

it('whatever a Davit of before has resolved otherwise than this one would, it stays', () => {
  const record = aRecord({ sourceConfig: { resourceSpec: { queueCpu: 1, orchestratorCpu: 1, executorCpu: 1 } } });
  const revision = aRevision(record);
  const { contract, ...values } = revision.spec.resolved;
  const others = resolvedOtherwise(values, (resolved) => resolved) as AppRevision['spec']['resolved'][];
  expect(others.length).toBeGreaterThan(40);
  for (const other of others) {
    const stored = { ...revision, spec: { ...revision.spec, resolved: { ...other, contract } } };
    expect(wantedRevision(record, [stored], SETTINGS)).toEqual({ current: stored });
  }
});
