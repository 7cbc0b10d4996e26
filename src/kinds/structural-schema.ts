// zod → JSON Schema (OpenAPI 3.0) → the structural schema that the API server requires in a CustomResourceDefinition.

import { z } from 'zod';
import { type CelRule, celRules } from './primitives.ts';

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

/** What a value must be that has to match a pattern, in words; undefined where the pattern has to do. */
export type PatternWords = (pattern: string) => string | undefined;

/**
 * The structural schema of a zod schema. Throws an Error with the path of a construct that cannot be expressed. The API server answers a value
 * that does not match with the pattern alone: where `words` has some, a rule says them beside it.
 */
export function structuralSchema(schema: z.ZodType, words: PatternWords = () => undefined): StructuralSchema {
  return structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as StructuralSchema, '', words);
}

/** The rule with the words. CEL reads r'...' as it is. */
function patternRules({ pattern, ...node }: StructuralSchema, words: PatternWords): StructuralSchema {
  const message = typeof pattern === 'string' ? words(pattern) : undefined;
  if (message === undefined) return {};
  if (String(pattern).includes("'")) throw new Error(`quote the pattern ${String(pattern)} in another way`);
  const rules = (node['x-kubernetes-validations'] ?? []) as readonly CelRule[];
  return celRules([...rules, { rule: `self.matches(r'${String(pattern)}')`, message }]);
}

/** Keywords of JSON Schema that a structural schema does not allow or ignores. */
const DROPPED = new Set(['$schema', 'propertyNames', 'additionalProperties', 'properties', 'items', 'anyOf', 'id']);
const REFUSED = ['$ref', 'oneOf', 'allOf', 'not', 'prefixItems', 'const', 'patternProperties'] as const;

function structural(given: StructuralSchema, path: string, words: PatternWords): StructuralSchema {
  // JavaScript escapes the slash in a pattern's source. The pattern appears in error messages, so the escape is removed.
  const { pattern } = given;
  const node = typeof pattern === 'string' ? { ...given, pattern: pattern.replaceAll('\\/', '/') } : given;
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
    ...patternRules(node, words),
    ...(node.properties &&
      Object.keys(node.properties).length > 0 && {
        properties: Object.fromEntries(
          Object.entries(node.properties).map(([name, child]) => [name, structural(child, `${path}.${name}`, words)]),
        ),
      }),
    ...(node.items && { items: structural(node.items, `${path}[]`, words) }),
    ...(isMap(node) && { additionalProperties: structural(node.additionalProperties, `${path}{}`, words) }),
  };
}

/** Whether the schema is a map of values. A loose object (`additionalProperties: {}`) and a strict one (`false`) are not. */
function isMap(node: StructuralSchema): node is StructuralSchema & { readonly additionalProperties: StructuralSchema } {
  const values: unknown = node.additionalProperties;
  return typeof values === 'object' && values !== null && Object.keys(values).length > 0;
}
