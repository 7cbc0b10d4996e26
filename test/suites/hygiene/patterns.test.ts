// What holds of every schema: its patterns answer in a time that grows with the text alone, and no field leads out of
// the namespace.

import { describe, expect, it } from 'vitest';
import { customResourceDefinitions } from '../../../src/kinds/crd.ts';
import type { StructuralSchema } from '../../../src/kinds/structural-schema.ts';
import { makeFacade } from '../http/facade.ts';

const facade = await makeFacade();
const document = (await facade.app.inject('/openapi.json')).json<unknown>();
await facade.app.close();

/** Every `pattern` and every property's name anywhere in a schema. */
function gather(value: unknown, patterns: Set<string>, fields: Set<string>, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    if (key === 'pattern' && typeof part === 'string') patterns.add(part);
    if (key === 'properties' && typeof part === 'object' && part !== null)
      for (const name of Object.keys(part)) fields.add(`${path}.${name}`);
    gather(
      part,
      patterns,
      fields,
      ['properties', 'items', 'additionalProperties'].includes(key) ? path : `${path}.${key}`,
    );
  }
}

const definitions = customResourceDefinitions();
const patterns = new Set<string>();
gather(document, patterns, new Set());
for (const definition of definitions) gather(definition, patterns, new Set());

// Text that makes a backtracking matcher try again and again: what many patterns allow, then what none does.
const BITS = [
  'a',
  'A',
  '0',
  '-',
  '.',
  '/',
  '_',
  ' ',
  ':',
  '@',
  'a-',
  'a.',
  'a/',
  '.-',
  'a-.',
  '0a',
  'a/a.',
  'https://',
  '%',
];
const LENGTH = 60_000;

describe.each([...patterns])('%s', (pattern) => {
  it('is linear', () => {
    const matcher = new RegExp(pattern);
    for (const bit of BITS) {
      const text = bit.repeat(LENGTH / bit.length);
      const begin = process.cpuUsage();
      for (const end of ['', '\u0000', '!', '\n']) matcher.test(text + end);
      // Linear ones take a millisecond; a quadratic one takes seconds, an exponential one does not end.
      expect(process.cpuUsage(begin).user / 1000, JSON.stringify(bit)).toBeLessThan(500);
    }
  });

  it('is one that RE2 takes, as the API server does: no look-around, no reference back', () => {
    expect(pattern).not.toMatch(/\(\?[=!<]|\\[1-9]/);
  });
});

it('there are patterns', () => {
  expect(patterns.size).toBeGreaterThan(10);
});

describe('a namespace', () => {
  const leading = definitions.flatMap(({ spec }) => {
    const fields = new Set<string>();
    gather(specOf(spec.versions[0]?.schema.openAPIV3Schema), new Set(), fields);
    return [...fields].filter((field) => /namespace/i.test(field)).map((field) => `${spec.names.kind} ${field}`);
  });

  it('is named by no field but those of a listener, and of a backup whose deployment consents', () => {
    expect(leading.toSorted()).toEqual([
      'AppDeployment .spec.sourceConfig.database.restore.namespace',
      'AppDeployment .spec.sourceConfig.listenerConfig.k8sNamespace',
      'AppRevision .spec.resolved.movedDatabase.backupNamespace',
      'DatastoreOperation .spec.restore.namespace',
      'Listener .spec.namespaces',
      'ListenerWork .spec.namespace',
    ]);
  });
});

function specOf(schema: StructuralSchema | undefined): object {
  return { properties: { spec: schema?.properties?.['spec'] ?? {} } };
}

/** Every schema with a pattern in it, by its path. */
function patterned(schema: StructuralSchema, path: string): [path: string, schema: StructuralSchema][] {
  const inner = [
    ...Object.entries(schema.properties ?? {}).map(([name, one]) => [`${path}.${name}`, one] as const),
    ...(schema.items ? [[`${path}[]`, schema.items] as const] : []),
    ...(schema.additionalProperties ? [[`${path}{}`, schema.additionalProperties] as const] : []),
  ];
  return [
    ...(schema['pattern'] === undefined ? [] : [[path, schema] as [string, StructuralSchema]]),
    ...inner.flatMap(([at, one]) => patterned(one, at)),
  ];
}

describe('a value that people write and that does not match', () => {
  const written = definitions.filter(
    ({ spec }) => !['AppRevision', 'ListenerWork', 'ListenerLog'].includes(spec.names.kind),
  );
  const fields = written.flatMap(({ spec }) => {
    const [version] = spec.versions;
    const root = version?.schema.openAPIV3Schema.properties?.['spec'];
    return root ? patterned(root, spec.names.kind) : [];
  });

  it('is answered in words beside the pattern', () => {
    expect(fields.length).toBeGreaterThan(50);
    for (const [path, schema] of fields) {
      const rules = (schema['x-kubernetes-validations'] ?? []) as { rule: string; message: string }[];
      const said = rules.filter(({ rule, message }) => rule.startsWith('self.matches(') && message !== '');
      expect([path, said.length]).toEqual([path, 1]);
    }
  });
});
