// Names of fields in sentences. The rules of the custom resources name the record's fields (`healthPath`), and a caller of the HTTP API
// knows them by other names (`health_path`).

import { AppDeploymentSpec } from '../kinds/app-deployment.ts';
import { OAuthProviderSpec } from '../kinds/oauth-provider.ts';
import { fieldNames, snake } from '../runtime/http/casing.ts';

const NAMES: ReadonlySet<string> = new Set([...fieldNames(AppDeploymentSpec), ...fieldNames(OAuthProviderSpec)]);

/** `healthPath or healthCommand` → `health_path or health_command`. Other words stay. */
export function inApiWords(message: string): string {
  return message.replaceAll(/\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (word) => (NAMES.has(word) ? snake(word) : word));
}
