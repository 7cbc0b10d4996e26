// The next step of action Patch: a datastore restarts with the image of the platform. No revision is made, and the pods of the deployment
// stay.
//
// 1. Running: the record's passes give the datastore the image (deploy/record/image-in-force.ts).
// 2. Returning: it does not come up, or the operation is deleted, and the passes give it the image before.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { isFailure, STORE_CONDITIONS } from '../kinds/app-deployment-conditions.ts';
import { conditionOf, rfc3339 } from '../kinds/conditions.ts';
import type { DatastoreOperationSpec } from '../kinds/datastore-operation.ts';
import { STORE_NAMES } from '../kinds/meta.ts';
import type { Condition } from '../kinds/primitives.ts';
import { decidePatch, type Patch } from './decide-patch.ts';
import type { ObservedOperation } from './observed.ts';
import {
  CANCELLED,
  ended,
  inPhase,
  isSeen,
  LOOK_AGAIN_MS,
  type OperationStep,
  type Said,
  said,
  waits,
  waitsForPass,
  waitsForTurn,
} from './steps.ts';

/** A datastore that has not answered for so long, for a reason that is a failure, gets its image back. */
const FAILING_MS = 60_000;
/** Milliseconds within which a patched server must answer. It may have to recover first. */
const PATCHED_WITHIN_MS = 600_000;

/** The next step of an operation that is the first of its deployment. */
export function nextPatchStep(
  observed: ObservedOperation,
  record: AppDeployment,
  spec: DatastoreOperationSpec,
): OperationStep {
  const { patch, phase } = observed.operation.status ?? {};
  if (!patch) return begin(observed, record, spec);
  return phase === 'Returning' ? returning(observed) : patching(observed, patch);
}

/** What a deletion leads to while it can be taken back. Undefined where nothing is left to do. */
export function cancelPatch(observed: ObservedOperation): OperationStep | undefined {
  const { operation, record } = observed;
  const { patch, phase } = operation.status ?? {};
  if (!patch || record === undefined || record.metadata.deletionTimestamp !== undefined) return undefined;
  if (phase !== 'Returning') return goesBack(observed, patch, CANCELLED);
  return isSeen(observed) ? { act: 'release' } : { requeueAfterMs: LOOK_AGAIN_MS };
}

function begin(observed: ObservedOperation, record: AppDeployment, spec: DatastoreOperationSpec): OperationStep {
  const unseen = waitsForPass(observed);
  if (unseen) return unseen;
  const decided = decidePatch(record, spec, observed.now);
  if ('refused' in decided) return ended(observed, 'Failed', { reason: decided.reason, message: decided.refused });
  const { patch } = decided;
  const busy = patch.datastore === 'postgres' ? busyWith(observed, record) : undefined;
  if (busy) return waits(observed, busy);
  if (!observed.isItsTurn) return waitsForTurn(observed);
  const message = `${STORE_NAMES[patch.datastore]} restarts with image ${patch.to}.`;
  return inPhase(observed, 'Running', { reason: 'Patching', message }, { patch, startedAt: rfc3339(observed.now) });
}

/** What uses the database now and would fail with a restart. */
function busyWith({ otherBackup }: ObservedOperation, { status }: AppDeployment): Said | undefined {
  if (otherBackup !== undefined)
    return { reason: 'AnotherBackup', message: `${otherBackup} is still making a backup of the database.` };
  const loaded = conditionOf(status?.conditions, 'DatabaseRestored');
  if (loaded === undefined || loaded.status === 'True') return undefined;
  return { reason: loaded.reason, message: `The database is still being loaded. ${loaded.message}` };
}

function patching(observed: ObservedOperation, patch: Patch): OperationStep {
  const { record, serverImages, operation } = observed;
  const { datastore, from, to } = patch;
  const what = STORE_NAMES[datastore];
  const condition = conditionOf(record?.status?.conditions, STORE_CONDITIONS[datastore]);
  if (!isSeen(observed)) return inPhase(observed, 'Running', said(observed));
  const isThere = serverImages.length > 0 && serverImages.every((image) => image === to);
  if (isThere && condition?.status === 'True') {
    const message = `${what} of ${operation.spec.deployment} has image ${to}. It had ${from} before.`;
    return ended(observed, 'Succeeded', { reason: 'Patched', message });
  }
  const trouble = troubleOf(observed, patch, condition);
  if (trouble) return goesBack(observed, patch, trouble);
  return inPhase(observed, 'Running', condition?.status === 'False' ? condition : said(observed));
}

function troubleOf(
  { operation: { status }, now }: ObservedOperation,
  { datastore, to }: Patch,
  condition: Condition | undefined,
): Said | undefined {
  const { reason = 'NotObserved', message = '', lastTransitionTime = '' } = condition ?? {};
  const isFailing = condition?.status === 'False' && isFailure(reason);
  const begunAt = Date.parse(status?.startedAt ?? '');
  // A patch may be what mends a server that fails.
  const failsSince = Math.max(Date.parse(lastTransitionTime), begunAt);
  if (isFailing && now.getTime() - failsSince > FAILING_MS) return { reason, message };
  if (now.getTime() - begunAt <= PATCHED_WITHIN_MS) return undefined;
  const seconds = PATCHED_WITHIN_MS / 1000;
  const late = `${STORE_NAMES[datastore]} does not run with image ${to} after ${seconds} s.`;
  return { reason: 'TimedOut', message: reason === 'Answering' || message === '' ? late : `${late} ${message}` };
}

function goesBack(observed: ObservedOperation, { datastore, from }: Patch, { reason, message }: Said): OperationStep {
  const back = `${message} ${STORE_NAMES[datastore]} gets image ${from} again.`;
  return inPhase(observed, 'Returning', { reason, message: back });
}

function returning(observed: ObservedOperation): OperationStep {
  return isSeen(observed) ? ended(observed, 'Failed', said(observed)) : inPhase(observed, 'Returning', said(observed));
}
