// Sets minimum and maximum of a deployment's main service together. A scale subresource cannot: it has one number (ADR 36).

import type { Kubectl } from './kubectl.ts';
import { RECORDS } from './records.ts';

/** Returns the message to print. The API server validates the numbers against the record's rules and the platform's limits. */
export async function scaleTo(kubectl: Kubectl, name: string, min: number, max: number): Promise<string> {
  const resourceSpec = { minScale: max === 0 ? 0 : min, maxScale: max };
  const patch = JSON.stringify({ spec: { sourceConfig: { resourceSpec } } });
  await kubectl(['patch', RECORDS, name, '--type=merge', '--field-manager=kubectl-davit', '-p', patch]);
  if (max === 0) return `${name} runs no pods now; its database and Redis stay.`;
  const pods = min === max ? `${max} pod${max === 1 ? '' : 's'}` : `${min} to ${max} pods, as its load asks for`;
  return `${name} is being scaled to ${pods}; no running pod is replaced. To follow it: kubectl davit wait ${name}`;
}
