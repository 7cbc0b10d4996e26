// The integration and the repository of a deployment of source codehost: one that its tenant may use, and one of its host.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { CodeHostIntegration } from '../../api/code-host-integration.ts';
import { codeHostProblem } from '../../record/code-host.ts';
import type { FieldError } from '../core/http-error.ts';

/** An integration that is not there and another tenant's are told in the same words. */
export function codeHostFindings(
  { metadata, spec }: Pick<AppDeployment, 'metadata' | 'spec'>,
  integrations: readonly CodeHostIntegration[],
): FieldError[] {
  const problem = codeHostProblem(spec, metadata.namespace ?? '', integrations);
  if (problem === undefined) return [];
  const at = ['body', 'source_config'] as const;
  if (problem.is === 'unknown') {
    const msg =
      'is not an integration of this tenant: GET /v1/integrations/forge/codehost/install lists those that there are';
    return [{ loc: [...at, 'integration_id'], msg, type: 'value_error' }];
  }
  const msg = `is not a repository of the integration's host: it must begin with https://${problem.host}/`;
  return [{ loc: [...at, 'repo_url'], msg, type: 'value_error' }];
}
