// Checks the integration and the repository of a deployment of source codehost: its tenant must be allowed to use the integration,
// and the repository must be on the integration's host.

import type { FieldError } from '../../lib/http/http-error.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { CodeHostIntegration } from '../../schema/code-host-integration.ts';
import { codeHostProblem } from '../record/code-host.ts';

/** A missing integration and another tenant's get the same message. */
export function codeHostFindings(
  { metadata, spec }: Pick<AppDeployment, 'metadata' | 'spec'>,
  integrations: readonly CodeHostIntegration[],
): FieldError[] {
  const problem = codeHostProblem(spec, metadata.namespace ?? '', integrations);
  if (problem === undefined) return [];
  const at = ['body', 'source_config'] as const;
  if (problem.is === 'unknown') {
    const msg = 'is not an integration of this tenant. GET /v1/integrations/forge/codehost/install lists them';
    return [{ loc: [...at, 'integration_id'], msg, type: 'value_error' }];
  }
  const msg = `is not on the integration's host: it must begin with https://${problem.host}/`;
  return [{ loc: [...at, 'repo_url'], msg, type: 'value_error' }];
}
