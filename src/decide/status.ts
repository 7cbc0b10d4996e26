// What is said of a record: a pure function of what was observed. It never claims what was not seen.

import type { AppDeploymentStatus, State } from '../api/app-deployment.ts';
import type { ConditionType, Reason } from '../api/app-deployment-conditions.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { type ConditionInput, mergeConditions, rfc3339 } from '../api/conditions.ts';
import { effectiveNumbers } from '../record/resolve.ts';
import { imageOf } from '../record/revision-image.ts';
import { asksForNothing, stateFrom } from '../record/state.ts';
import { type AddressOutcome, addressOf, checkAddress, reportedAddress } from './assess/address.ts';
import { checkAutoscaling, checkHonored } from './assess/autoscaling.ts';
import { usedVolume, volumeSizeGi } from './assess/database-volume.ts';
import { type Verdict, yes } from './assess/verdict.ts';
import { checkDatabase, checkRedis, checkRollout, checkWorkloads, isServing, replicasOf } from './assess/workloads.ts';
import type { ActionFailure, Observed } from './observed.ts';
import { revisionStateOf } from './revision-status.ts';

export interface StatusInputs {
  readonly observed: Observed;
  /** The newest revision; undefined where the record has none (yet). */
  readonly latest: AppRevision | undefined;
  readonly policy: Verdict;
  readonly references: Verdict;
  readonly address: AddressOutcome;
  readonly refusals: readonly ActionFailure[];
  /** Why the record is left as it is (pause.ts). */
  readonly paused?: string | undefined;
}

interface Verdicts {
  readonly policy: Verdict;
  readonly references: Verdict;
  readonly database: Verdict;
  readonly redis: Verdict;
  readonly workloads: Verdict;
  readonly autoscaling: Verdict;
  readonly honored: Verdict;
  readonly address: Verdict;
}

const WAITING_FOR_IMAGE = 'No image or source has been given yet: push one, or set image_uri.';

/** The status of a record that is not being deleted. `now` only dates what changed. */
export function statusOf(inputs: StatusInputs, now: Date): AppDeploymentStatus {
  const { observed, latest } = inputs;
  const { record } = observed;
  const verdicts = verdictsOf(inputs);
  const active = activeRevision(observed, latest, inputs.refusals);
  const state = stateOf(inputs, verdicts, active);
  const generation = record.metadata.generation ?? 0;
  const shown = active ?? latest;
  const image = shown && imageOf(shown);
  const replicas = replicasOf(observed);
  const volume = usedVolume(observed, verdicts.database.status === 'True');
  return {
    state,
    stateChangedAt: stateChangedAt(record.status, state, now),
    observedGeneration: generation,
    ...(latest && {
      latestRevisionId: latest.spec.id,
      latestRevision: latest.metadata.name,
      resourceSpec: observedNumbers(observed, latest),
    }),
    ...(active && { activeRevisionId: active.spec.id, activeRevision: active.metadata.name }),
    ...(image !== undefined && { image }),
    ...(replicas !== undefined && { replicas }),
    ...(volume !== undefined && { databaseVolumeUid: volume }),
    ...reportedAddress(observed, inputs.address, now),
    conditions: mergeConditions(
      record.status?.conditions,
      conditionsOf(inputs, verdicts, state, active),
      generation,
      now,
    ),
  };
}

/** The numbers of resourceSpec in force. The volume has the size that it has, whatever is asked for. */
function observedNumbers(observed: Observed, { spec: { resolved } }: AppRevision): Record<string, number> {
  const numbers = effectiveNumbers(resolved);
  const dbStorageGi = resolved.postgres && volumeSizeGi(observed);
  return { ...numbers, ...(dbStorageGi !== undefined && { dbStorageGi }) };
}

/** What keeps a teardown from going on. */
export interface Hindrance {
  readonly message: string;
  /** Only a person can mend it. */
  readonly stalled: boolean;
}

/** The status of a record that is being deleted; `waitsFor` names what is still there. */
export function deletingStatus(
  observed: Observed,
  waitsFor: string,
  now: Date,
  paused?: string,
  hindrance?: Hindrance,
): AppDeploymentStatus {
  const { record } = observed;
  const reason = paused === undefined ? 'Deleting' : 'Paused';
  const waiting = `waiting for ${waitsFor} to go.${hindrance ? ` ${hindrance.message}` : ''}`;
  const message = `Being deleted: ${paused ?? waiting}`;
  const stalled = paused !== undefined || hindrance?.stalled === true;
  const wanted: ConditionInput[] = [
    { type: 'Ready', status: 'False', reason, message },
    { type: 'Available', status: 'False', reason, message },
    { type: 'Reconciling', status: stalled ? 'False' : 'True', reason, message },
    { type: 'Stalled', status: stalled ? 'True' : 'False', reason, message },
  ];
  const generation = record.metadata.generation ?? 0;
  const { url: _url, hostClaim: _claim, ...status } = record.status ?? {};
  return {
    // The host is another's to have only when nothing leads here any more.
    ...(addressOf(observed) ? record.status : status),
    state: 'AWAITING_DELETE',
    stateChangedAt: stateChangedAt(record.status, 'AWAITING_DELETE', now),
    observedGeneration: generation,
    conditions: mergeConditions(record.status?.conditions, wanted, generation, now),
  };
}

function stateChangedAt(before: AppDeploymentStatus | undefined, state: State, now: Date): string {
  return before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
}

function verdictsOf({ observed, latest, policy, references, address: outcome, refusals }: StatusInputs): Verdicts {
  const address = checkAddress(observed, outcome, refusals);
  if (!latest) {
    const { reason, message } = refusals[0] ?? { reason: 'WaitingForImage' as const, message: WAITING_FOR_IMAGE };
    const waiting: Verdict = { status: 'False', reason, message };
    return {
      policy,
      references,
      database: waiting,
      redis: waiting,
      workloads: waiting,
      autoscaling: waiting,
      honored: waiting,
      address,
    };
  }
  const workloads = checkWorkloads(observed, latest, refusals);
  return {
    policy,
    references,
    database: checkDatabase(observed, latest, refusals),
    redis: checkRedis(observed, latest, refusals),
    workloads,
    autoscaling: checkAutoscaling(observed, latest),
    honored: checkHonored(observed, latest),
    address,
  };
}

/** The newest revision that reached DEPLOYED, the latest one included if it does so in this very look. */
function activeRevision(
  observed: Observed,
  latest: AppRevision | undefined,
  refusals: readonly ActionFailure[],
): AppRevision | undefined {
  const rollout = latest && checkRollout(observed, latest, refusals);
  return observed.revisions.find(
    (revision) =>
      revision.status?.state === 'DEPLOYED' ||
      (rollout && revision.spec.id === latest?.spec.id && revisionStateOf(revision, rollout) === 'DEPLOYED'),
  );
}

function stateOf(
  { observed, latest, policy }: StatusInputs,
  verdicts: Verdicts,
  active: AppRevision | undefined,
): State {
  const { spec } = observed.record;
  return stateFrom({
    isLeaving: false,
    runsNothing: latest ? latest.spec.resolved.server.maxScale === 0 : asksForNothing(spec),
    isElsewhere: spec.sourceConfig.listenerId !== undefined,
    isRefused: !latest && policy.status !== 'True',
    storesAnswer: verdicts.database.status === 'True' && verdicts.redis.status === 'True',
    isServing: active !== undefined && isServing(observed),
  });
}

function conditionsOf(
  inputs: StatusInputs,
  verdicts: Verdicts,
  state: State,
  active: AppRevision | undefined,
): ConditionInput[] {
  const ready = readyVerdict(inputs, verdicts);
  const done = ready.status === 'True';
  const stalled = !done && ready.stalled === true;
  const available = state === 'READY';
  return [
    condition('Ready', ready),
    available
      ? {
          type: 'Available',
          status: 'True',
          reason: 'Serving',
          message: `Revision ${active?.spec.id ?? ''} is serving.`,
        }
      : {
          type: 'Available',
          status: 'False',
          reason: done ? ready.reason : firstProblem(verdicts, ready).reason,
          message: done ? ready.message : firstProblem(verdicts, ready).message,
        },
    done || stalled
      ? { type: 'Reconciling', status: 'False', reason: 'Settled', message: 'Nothing is left to do.' }
      : { type: 'Reconciling', status: 'True', reason: ready.reason, message: ready.message },
    stalled
      ? { type: 'Stalled', status: 'True', reason: ready.reason, message: ready.message }
      : { type: 'Stalled', status: 'False', reason: 'Settled', message: 'Nothing waits for a person.' },
    condition('DatabaseReady', verdicts.database),
    condition('RedisReady', verdicts.redis),
    condition('WorkloadsReady', verdicts.workloads),
    condition('AutoscalingReady', verdicts.autoscaling),
    condition('ResourceSpecHonored', verdicts.honored),
    condition('AddressReady', verdicts.address),
    condition('ReferencesResolved', verdicts.references),
    condition('PolicyAccepted', verdicts.policy),
  ];
}

function condition(type: ConditionType, verdict: Verdict): ConditionInput {
  return { type, status: verdict.status, reason: verdict.reason, message: verdict.message };
}

/** Ready: the latest revision is deployed and serving at this generation. The first thing in the way is its reason. */
function readyVerdict(inputs: StatusInputs, verdicts: Verdicts): Verdict {
  const { observed, latest, refusals, paused } = inputs;
  // What only a person can mend comes before what is tried again.
  const refusal = refusals.find(({ reason }) => reason !== 'RequestFailed') ?? refusals[0];
  if (verdicts.policy.status !== 'True') return verdicts.policy;
  if (paused !== undefined) return stalledOn('Paused', paused);
  if (observed.record.spec.sourceConfig.listenerId !== undefined)
    return stalledOn('ListenerSilent', "A listener's cluster is to run this record; this Davit leaves it alone.");
  if (refusal) return { ...stalledOn(refusal.reason, refusal.message), stalled: refusal.reason !== 'RequestFailed' };
  if (!latest) return stalledOn('WaitingForImage', WAITING_FOR_IMAGE);
  if (verdicts.references.status !== 'True') return verdicts.references;
  if (imageOf(latest) === undefined) return verdicts.workloads;
  const running = runningVerdict(latest, verdicts);
  return running.status === 'True' && verdicts.address.stalled ? verdicts.address : running;
}

function runningVerdict(latest: AppRevision, verdicts: Verdicts): Verdict {
  if (latest.spec.resolved.server.maxScale === 0)
    return verdicts.workloads.status === 'True' ? yes('ScaledToZero', 'Scaled to zero, as asked.') : verdicts.workloads;
  const problem = firstProblem(verdicts, verdicts.workloads);
  if (verdicts.workloads.stalled) return { ...verdicts.workloads };
  return problem.status === 'True' ? yes('Serving', 'The latest revision is deployed and serving.') : problem;
}

function firstProblem(verdicts: Verdicts, otherwise: Verdict): Verdict {
  const order = [verdicts.policy, verdicts.references, verdicts.database, verdicts.redis, verdicts.workloads];
  return order.find((verdict) => verdict.status !== 'True') ?? otherwise;
}

function stalledOn(reason: Reason, message: string): Verdict {
  return { status: 'False', reason, message, stalled: true };
}
