// Defaults in the descriptions of a CRD's fields: kubectl explain shows descriptions alone.

import type { CustomResourceDefinition } from '../kinds/crd.ts';
import type { StructuralSchema } from '../kinds/structural-schema.ts';
import { defaultsOf } from './resource-spec-doc.ts';

export function withDefaults(crd: CustomResourceDefinition): CustomResourceDefinition {
  const versions = crd.spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema: described(version.schema.openAPIV3Schema, '') },
  }));
  return { ...crd, spec: { ...crd.spec, versions } };
}

/** The only field of this name whose absent numbers have defaults. */
const RESOURCE_SPEC = '.spec.sourceConfig.resourceSpec';

function described(schema: StructuralSchema, path: string): StructuralSchema {
  const { description, properties, items } = schema;
  const ofSchema = path.startsWith(`${RESOURCE_SPEC}.`) ? sizeDefault(path.slice(RESOURCE_SPEC.length + 1)) : '';
  const words = ofSchema || ownDefault(schema['default']);
  return {
    ...schema,
    ...(description !== undefined && words !== '' && { description: `${description} ${words}` }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, described(child, `${path}.${name}`)]),
      ),
    }),
    ...(items && { items: described(items, `${path}[]`) }),
  };
}

function ownDefault(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? `Default: ${String(value)}.` : '';
}

/** A setting changes these, so they are no defaults of the schema. */
function sizeDefault(field: string): string {
  const [none, prod] = [defaultsOf()[field], defaultsOf('prod')[field]];
  if (none === undefined) return '';
  const byType = prod === none ? `${none}` : `${none}, with deploymentType prod ${prod}`;
  return `Default: ${byType}, unless the setting sizes has another value.`;
}
