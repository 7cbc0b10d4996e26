// What kubectl explain says of a field that is left out.

import { expect, it } from 'vitest';
import { customResourceDefinitions } from '../kinds/crd.ts';
import { NUMBER_FIELDS } from '../kinds/resource-spec.ts';
import { defaultSettings } from '../kinds/settings.ts';
import type { StructuralSchema } from '../kinds/structural-schema.ts';
import { withDefaults } from './crd-defaults.ts';

const crds = customResourceDefinitions().map(withDefaults);
const { plain, prod } = defaultSettings().sizes;

function at(path: string): StructuralSchema | undefined {
  const [crd] = crds;
  let schema = crd?.spec.versions[0]?.schema.openAPIV3Schema;
  for (const step of path.split('.')) schema = schema?.properties?.[step];
  return schema;
}

it.each([
  ['spec.sourceConfig.resourceSpec.cpu', plain.server.cpu, prod.server.cpu],
  ['spec.sourceConfig.resourceSpec.maxScale', plain.server.maxScale, prod.server.maxScale],
  ['spec.sourceConfig.resourceSpec.dbMemoryMb', plain.postgres.memoryMb, prod.postgres.memoryMb],
])('%s: the default of the settings, and that of prod', (path, none, large) => {
  expect(at(path)?.description).toContain(`Default: ${none}, with deploymentType prod ${large},`);
});

it('every number of a resource spec has its default', () => {
  for (const { field } of NUMBER_FIELDS)
    expect(at(`spec.sourceConfig.resourceSpec.${field}`)?.description, field).toMatch(/Default: [\d.]+/);
});

it('a default of the schema is said where it stands', () => {
  expect(at('spec.tracingProjectDeletionPolicy')).toMatchObject({
    default: 'Retain',
    description: expect.stringMatching(/ Default: Retain\.$/),
  });
  expect(at('spec.source')?.description).not.toContain('Default');
});
