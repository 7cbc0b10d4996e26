// What a change of a status means to a reader of the log: a condition, a revision, a build or a deletion took a step. A pure
// function of the object before and after: the log says what was reported, and nothing in a steady state.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { CodeHostIntegration } from '../../kinds/code-host-integration.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import type { Condition } from '../../kinds/primitives.ts';

export type Reported = AppDeployment | AppRevision | OAuthProvider | CodeHostIntegration;

/** One step. `status` is that of the condition, the state of the revision, the phase of the build or the generation of the record. */
export interface Transition {
  readonly of: 'Change' | 'Ready' | 'Stalled' | 'Tasks' | 'Deletion' | 'Revision' | 'Build';
  readonly status: string;
  /** One CamelCase word; absent if the status has none. */
  readonly reason?: string;
  readonly message: string;
  /** Username of the requester; null if it is not known. Absent from automatic steps. */
  readonly by?: string | null;
}

/** The steps between two states of one object. `before` is undefined for an object that was not known before. */
export function transitionsOf<T extends Reported>(before: T | undefined, after: T): readonly Transition[] {
  if (after.kind === 'AppRevision')
    return [
      ...buildSteps(before as AppRevision | undefined, after),
      ...stateSteps(before as AppRevision | undefined, after),
    ];
  const record: AppDeployment | undefined = after.kind === 'AppDeployment' ? after : undefined;
  const isLeaving = record?.status?.state === 'AWAITING_DELETE';
  const [was, is] = [before?.status?.conditions, after.status?.conditions];
  const [wasReady, isReady] = [conditionOf(was, 'Ready'), conditionOf(is, 'Ready')];
  return [
    ...(record && !isLeaving ? changeSteps(before as AppDeployment | undefined, record) : []),
    ...(record && isLeaving ? deletionSteps(wasReady, isReady) : readySteps(wasReady, isReady)),
    ...stalledSteps(conditionOf(was, 'Stalled'), conditionOf(is, 'Stalled')),
    ...tasksSteps(conditionOf(was, 'TasksReady'), conditionOf(is, 'TasksReady')),
  ];
}

/** A change of the spec that the status is now about. A record that was not known before has not changed. */
function changeSteps(before: AppDeployment | undefined, { status }: AppDeployment): Transition[] {
  const generation = status?.observedGeneration ?? 0;
  if (before === undefined || (before.status?.observedGeneration ?? 0) >= generation) return [];
  const by = status?.changedBy ?? null;
  return [{ of: 'Change', status: String(generation), message: `Generation ${generation} is observed.`, by }];
}

function readySteps(was: Condition | undefined, is: Condition | undefined): Transition[] {
  return is === undefined || (was?.status === is.status && was.reason === is.reason) ? [] : [step('Ready', is)];
}

/** The message names the part that the deletion waits for; the reason is the same for all. */
function deletionSteps(was: Condition | undefined, is: Condition | undefined): Transition[] {
  if (is === undefined || (was?.reason === is.reason && was.message === is.message)) return [];
  return [step('Deletion', is)];
}

/** An object that was never Stalled has no news in not being so. */
function stalledSteps(was: Condition | undefined, is: Condition | undefined): Transition[] {
  if (is === undefined || (was?.status !== 'True' && is.status !== 'True')) return [];
  return was?.status === is.status && was.reason === is.reason ? [] : [step('Stalled', is)];
}

/** Tasks of which none ever failed have no news in not failing. */
function tasksSteps(was: Condition | undefined, is: Condition | undefined): Transition[] {
  if (is === undefined || (was?.status !== 'False' && is.status !== 'False')) return [];
  return was?.status === is.status ? [] : [step('Tasks', is)];
}

function step(of: Transition['of'], { status, reason, message }: Condition): Transition {
  return { of, status, reason, message };
}

function buildSteps(before: AppRevision | undefined, { status }: AppRevision): Transition[] {
  const was = before?.status?.build;
  const is = status?.build;
  if (is === undefined || (was?.phase === is.phase && was.reason === is.reason)) return [];
  const { phase, reason, message = '', interruptedBy = null } = is;
  const by = phase === 'Interrupted' ? { by: interruptedBy } : {};
  return [{ of: 'Build', status: phase, ...(reason !== undefined && { reason }), message, ...by }];
}

function stateSteps(before: AppRevision | undefined, { spec, status }: AppRevision): Transition[] {
  const { state, message = '' } = status ?? {};
  if (state === undefined || before?.status?.state === state) return [];
  return [{ of: 'Revision', status: state, message, by: spec.requestedBy ?? null }];
}
