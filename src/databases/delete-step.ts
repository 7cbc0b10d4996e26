// The next step of action DeletePrevious: the objects of one database that the deployment does not use are deleted.

import type { AppDeployment } from '../schema/app-deployment.ts';
import { rfc3339 } from '../schema/conditions.ts';
import { whyNotDeleted } from './decide-move.ts';
import type { ObservedOperation } from './observed.ts';
import { ended, inPhase, LOOK_AGAIN_MS, type OperationStep } from './steps.ts';

/** The step of an operation that is the first of its deployment. */
export function nextDeleteStep(observed: ObservedOperation, record: AppDeployment, now: Date): OperationStep {
  const { operation, revisions: own } = observed;
  const used = observed.databases.map(({ number }) => number);
  const { spec, status } = operation;
  const { number = -1 } = spec.deletePrevious ?? {};
  const isBegun = status?.phase === 'Running';
  if (isBegun && !used.includes(number))
    return ended(observed, now, 'Succeeded', 'Deleted', `Database ${number} is deleted, with all of its data.`);
  const refused = whyNotDeleted({ record, own, used }, number);
  if (refused !== undefined) return ended(observed, now, 'Failed', 'NotPossible', refused);
  if (isBegun) return { deletes: number, requeueAfterMs: LOOK_AGAIN_MS };
  const message = `Database ${number} is being deleted.`;
  return inPhase(observed, now, 'Running', { reason: 'Deleting', message }, { startedAt: rfc3339(now) });
}
