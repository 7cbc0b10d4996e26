// What operations on a database do, and how far they are: nothing of zod, so that the plugin can use it.

export const OPERATION_ACTIONS = ['Backup', 'Restore', 'Move', 'Upgrade', 'Return', 'DeletePrevious', 'Patch'] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

/**
 * Pending: nothing is done yet. Running: a backup is made, or a datastore restarts with a new image. Stopping: the pods of the deployment
 * end. Loading: the next database is created and loaded. Starting: the deployment starts on it. Returning: the database or the image before
 * takes its place again.
 */
export const OPERATION_PHASES = [
  'Pending',
  'Stopping',
  'Running',
  'Loading',
  'Starting',
  'Returning',
  'Succeeded',
  'Failed',
] as const;
export type OperationPhase = (typeof OPERATION_PHASES)[number];

/** Actions that take the data of the present database along. */
export const COPIES: ReadonlySet<OperationAction> = new Set(['Move', 'Upgrade']);

/** Losses that action Patch needs somebody to accept: no verified backup of the last day, and the queue of a Redis without a volume. */
export const LOSSES = ['NoBackup', 'QueueLost'] as const;
export type Loss = (typeof LOSSES)[number];

/** Phases in which nothing is done any more. */
export const ENDED_PHASES: ReadonlySet<OperationPhase> = new Set(['Succeeded', 'Failed']);

/** The part of an operation that says how far it is. */
interface Begun {
  readonly status?:
    | {
        readonly phase?: OperationPhase | undefined;
        readonly move?: object | undefined;
        readonly patch?: object | undefined;
      }
    | undefined;
}

/** Whether it has stopped, or may have stopped, the deployment or a datastore. */
export function isBegun({ status }: Begun): boolean {
  return (status?.move ?? status?.patch) !== undefined;
}

/** Whether nothing of it is done yet. */
export function isPending({ status }: Begun): boolean {
  return (status?.phase ?? 'Pending') === 'Pending';
}

export function isEnded({ status }: Begun): boolean {
  return status?.phase !== undefined && ENDED_PHASES.has(status.phase);
}

/** Whether no pod of the deployment may run, because of this operation, which has not ended. */
export function holds(operation: Begun | undefined): boolean {
  const { move, phase } = operation?.status ?? {};
  return move !== undefined && phase !== 'Starting';
}
