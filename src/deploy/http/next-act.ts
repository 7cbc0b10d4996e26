// The request that mends what a deployment's status says, where one request does. Clients offer it and do not guess. Pure.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { memoryFieldIn } from '../../kinds/memory-advice.ts';
import { rollbackTarget } from '../record/rollback-target.ts';
import type { Deployment } from './payloads.ts';

/** What is known of the deployment. */
type Shown = Pick<Deployment, 'id' | 'name' | 'status' | 'phase' | 'status_message' | 'source_config'>;

/** More than what was too little. */
const MORE = 1.5;

/** `revisionsNow`: its own, newest first; called for a deployment that fails alone, as lists have hundreds that do not. */
export function nextAct(shown: Shown, revisionsNow: () => readonly AppRevision[]): Deployment['next_act'] {
  const { id, name, status, phase, status_message: message } = shown;
  const numbers: Readonly<Record<string, unknown>> = shown.source_config.resource_spec;
  const path = `/v2/deployments/${id}`;
  const field = memoryFieldIn(message);
  const limit = field === undefined ? undefined : numbers[field];
  if (field !== undefined && typeof limit === 'number') {
    const raised = Math.ceil(limit * MORE);
    const body = { source_config: { resource_spec: { [field]: raised } } };
    return { label: `Raise ${field} to ${raised} MB`, method: 'PATCH', path, body };
  }
  if (status === 'UNUSED' && numbers['max_scale'] === 0)
    return {
      label: 'Run it again',
      method: 'PATCH',
      path,
      body: { source_config: { resource_spec: { max_scale: 1 } } },
    };
  const target = phase === 'DEPLOY_FAILED' ? rollbackTarget(name, revisionsNow()) : undefined;
  if (target === undefined || 'none' in target) return null;
  const { id: revisionId } = target.target.spec;
  const label = `Roll back to ${revisionId.slice(0, 8)}`;
  return { label, method: 'POST', path: `${path}/revisions/${revisionId}/redeploy`, body: null };
}
