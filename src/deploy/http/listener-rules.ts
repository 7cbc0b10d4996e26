// Checks the Listener of a new deployment: it must belong to the tenant, and list the deployment's k8s_namespace. Where hosting is
// cloud, a container image needs one.

import type { AppDeploymentSpec, SourceConfig } from '../../kinds/app-deployment.ts';
import type { Listener } from '../../kinds/listener.ts';
import { type Hosting, isSourceTaken, uses } from '../../kinds/source-rules.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import { listenerProblem, runsHere } from '../record/listener-assignment.ts';

/** Throws 400 for a container image that would run on a platform of hosting mode cloud. */
export function needListener({ source, sourceConfig }: AppDeploymentSpec, hosting: Hosting): void {
  if (!uses(source, 'listener') || isSourceTaken(source, hosting, !runsHere({ spec: { sourceConfig } }))) return;
  throw new HttpError(
    400,
    `'listener_id' is required for source ${source} where hosting is ${hosting}: name a Listener, GET /v2/listeners lists them.`,
  );
}

/** `listeners`: the Listeners of the tenant. */
export function listenerFindings(config: SourceConfig, listeners: readonly Listener[]): FieldError[] {
  const problem = listenerProblem(config, listeners);
  if (problem === undefined) return [];
  const at = ['body', 'source_config'] as const;
  if (problem.is === 'unknown')
    return [{ loc: [...at, 'listener_id'], msg: 'is not a Listener of this tenant', type: 'value_error' }];
  const msg = `is not a namespace of this listener. Its namespaces: ${problem.listed.join(', ') || 'none'}`;
  return [{ loc: [...at, 'listener_config', 'k8s_namespace'], msg, type: 'value_error' }];
}
