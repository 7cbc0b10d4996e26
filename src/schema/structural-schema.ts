// zod → JSON Schema (OpenAPI 3.0) → the structural schema that the API server requires in a CustomResourceDefinition.

import { z } from 'zod';

/** The parts of a structural schema (apiextensions.k8s.io/v1 JSONSchemaProps) that this code uses. */
export interface StructuralSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The structural schema of a zod schema. Throws an Error with the path of a construct that cannot be expressed. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as StructuralSchema, '');
}

/** Keywords of JSON Schema that a structural schema does not allow or ignores. */
const DROPPED = new Set(['$schema', 'propertyNames', 'additionalProperties', 'properties', 'items', 'anyOf', 'id']);
const REFUSED = ['$ref', 'oneOf', 'allOf', 'not', 'prefixItems', 'const', 'patternProperties'] as const;

function structural(node: StructuralSchema, path: string): StructuralSchema {
  const refused = REFUSED.find((keyword) => keyword in node);
  if (refused) throw new Error(`make the schema of ${path || 'the root'} structural: ${refused} is not allowed`);
  const kept = Object.entries(node).filter(([keyword]) => !DROPPED.has(keyword));
  if (node['x-kubernetes-int-or-string'] === true) {
    // An int-or-string has no type. maxLength does not affect its integers and is kept.
    return Object.fromEntries(kept.filter(([keyword]) => keyword !== 'type'));
  }
  if ('anyOf' in node) throw new Error(`make the schema of ${path || 'the root'} structural: a union is not allowed`);
  if (node.type === undefined) throw new Error(`make the schema of ${path || 'the root'} structural: it has no type`);
  return {
    ...Object.fromEntries(kept),
    // JavaScript escapes the slash in a pattern's source. The pattern appears in error messages, so the escape is removed.
    ...(typeof node['pattern'] === 'string' && { pattern: node['pattern'].replaceAll('\\/', '/') }),
    ...(node.properties &&
      Object.keys(node.properties).length > 0 && {
        properties: Object.fromEntries(
          Object.entries(node.properties).map(([name, child]) => [name, structural(child, `${path}.${name}`)]),
        ),
      }),
    ...(node.items && { items: structural(node.items, `${path}[]`) }),
    ...(isMap(node) && { additionalProperties: structural(node.additionalProperties, `${path}{}`) }),
  };
}

/** Whether the schema is a map of values. A loose object (`additionalProperties: {}`) and a strict one (`false`) are not. */
function isMap(node: StructuralSchema): node is StructuralSchema & { readonly additionalProperties: StructuralSchema } {
  const values: unknown = node.additionalProperties;
  return typeof values === 'object' && values !== null && Object.keys(values).length > 0;
}
