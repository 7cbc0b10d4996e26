// Names of fields in sentences. The rules of the custom resources name the record's fields (`healthPath`), and a caller of the HTTP API
// knows them by other names (`health_path`).

import { z } from 'zod';
import { snake } from '../../lib/http/casing.ts';
import { AppDeploymentSpec } from '../../schema/app-deployment.ts';
import { OAuthProviderSpec } from '../../schema/oauth-provider.ts';
import { ResourceSpec } from '../../schema/resource-spec.ts';

/** The names of all fields within a schema. Pod parts keep Kubernetes' names in the API, so that what is in a ResourceSpec is left out. */
function namesIn(schema: unknown): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return namesIn(schema.unwrap());
  if (schema instanceof z.ZodArray) return namesIn(schema.element);
  if (schema instanceof z.ZodRecord) return namesIn(schema.valueType);
  if (!(schema instanceof z.ZodObject)) return [];
  const fields = Object.entries(schema.shape);
  return fields.flatMap(([name, field]) => [
    name,
    ...(name === 'resourceSpec' ? Object.keys(ResourceSpec.shape) : namesIn(field)),
  ]);
}

const NAMES: ReadonlySet<string> = new Set([...namesIn(AppDeploymentSpec), ...namesIn(OAuthProviderSpec)]);

/** `healthPath or healthCommand` → `health_path or health_command`. Other words stay. */
export function inApiWords(message: string): string {
  return message.replaceAll(/\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (word) => (NAMES.has(word) ? snake(word) : word));
}
