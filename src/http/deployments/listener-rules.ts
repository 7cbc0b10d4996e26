// Checks the Listener of a new deployment: it must belong to the tenant, and list the deployment's k8s_namespace.

import type { SourceConfig } from '../../api/app-deployment.ts';
import type { Listener } from '../../api/listener.ts';
import { listenerProblem } from '../../record/listener-assignment.ts';
import type { FieldError } from '../core/http-error.ts';

/** `listeners`: the Listeners of the tenant. */
export function listenerFindings(config: SourceConfig, listeners: readonly Listener[]): FieldError[] {
  const problem = listenerProblem(config, listeners);
  if (problem === undefined) return [];
  const at = ['body', 'source_config'] as const;
  if (problem.is === 'unknown')
    return [{ loc: [...at, 'listener_id'], msg: 'is not a Listener of this tenant', type: 'value_error' }];
  const msg = `is not a namespace of this listener. Its namespaces: ${problem.listed.join(', ')}`;
  return [{ loc: [...at, 'listener_config', 'k8s_namespace'], msg, type: 'value_error' }];
}
