// Generated files are what the schemas say, and say enough to be read.

import { describe, expect, it } from 'vitest';
import { customResourceDefinitions } from '../../../src/kinds/crd.ts';
import type { StructuralSchema } from '../../../src/kinds/structural-schema.ts';
import { staleFiles } from '../../../src/tools/crds.ts';

describe('generated files', () => {
  it('are current; if not: npm run generate', () => {
    expect(staleFiles()).toEqual([]);
  });
});

const schemas = customResourceDefinitions().flatMap(({ spec }) =>
  spec.versions.map(({ schema }) => ({ kind: spec.names.kind, schema: schema.openAPIV3Schema })),
);

/** Every schema within this one, with its path. */
function everyPart(schema: StructuralSchema, path: string): [string, StructuralSchema][] {
  return [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => everyPart(child, `${path}.${name}`)),
    ...(schema.items ? everyPart(schema.items, `${path}[]`) : []),
    ...(schema.additionalProperties ? everyPart(schema.additionalProperties, `${path}{}`) : []),
  ];
}

describe.each(schemas)('the schema of $kind', ({ kind, schema }) => {
  const parts = everyPart(schema, kind);
  it('describes every field', () => {
    const silent = parts.filter(
      ([path, part]) => /\.\w+$/.test(path) && !path.startsWith(`${kind}.metadata`) && !part.description,
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });
  it('bounds every string, list and map', () => {
    const unbounded = parts.filter(([path, part]) => !/\.(apiVersion|kind)$/.test(path) && isUnbounded(part));
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });
  it('never forbids unknown fields by additionalProperties: false, which prunes nothing', () => {
    expect(JSON.stringify(schema)).not.toContain('"additionalProperties":false');
  });
});

function isUnbounded(part: StructuralSchema): boolean {
  if (part.type === 'string') return part['maxLength'] === undefined && part['enum'] === undefined;
  if (part.type === 'array') return part['maxItems'] === undefined;
  return part.additionalProperties !== undefined && part['maxProperties'] === undefined;
}
