// The runtime of a deployment as the API takes it.

import { fromSnake, sentPath } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import { SourceConfig } from '../../schema/app-deployment.ts';
import { Runtime } from '../../schema/runtime.ts';
import { runtimeBreaches } from '../../schema/spec-rules.ts';

/** What the schema does not say of a runtime and its names, in the words of the CRD. */
export function* runtimeRule(draft: Draft): Generator<FieldError> {
  const runtime: Readonly<Record<string, unknown>> = fromSnake(Runtime, asObject(draft['source_config'])['runtime']);
  const depth = runtime['queueDepth'];
  if (depth !== undefined && asObject(depth)['query'] === undefined)
    yield { ...runtimeFinding(['queueDepth', 'query'], 'is required'), type: 'missing' };
  const variables = [...asArray(draft['secrets']), ...asArray(draft['secret_references'])];
  const names = new Set(variables.map((variable) => asObject(variable)['name']));
  for (const { at, message } of runtimeBreaches(runtime, names)) yield runtimeFinding(at, message);
}

function runtimeFinding(at: readonly (string | number)[], msg: string): FieldError {
  return { loc: ['source_config', ...sentPath(SourceConfig, ['runtime', ...at])], msg, type: 'value_error' };
}
