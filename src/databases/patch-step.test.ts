// The next step of action Patch, from what was observed.

import { describe, expect, it } from 'vitest';
import { aRecord } from '../../test/support/builders.ts';
import type { AppDeploymentStatus } from '../kinds/app-deployment.ts';
import type { DatastoreOperation, DatastoreOperationStatus } from '../kinds/datastore-operation.ts';
import { OPERATION_FINALIZER } from '../kinds/meta.ts';
import type { OperationPhase } from '../kinds/operation-phases.ts';
import type { ObservedOperation } from './observed.ts';
import { nextOperationStep } from './step.ts';

const NOW = new Date('2026-02-02T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
const [OLD, NEW] = ['postgres:17.5-trixie', 'postgres:17.6-trixie'];
const PATCH = { datastore: 'postgres', from: OLD, to: NEW } as const;

const condition = (type: string, status: 'True' | 'False', reason: string, since = 0) =>
  ({ type, status, reason, message: `${reason}.`, lastTransitionTime: ago(since) }) as const;

interface World {
  readonly phase?: OperationPhase;
  readonly startedAt?: string;
  /** The phase that the record's passes have seen. */
  readonly seen?: OperationPhase;
  readonly database?: ReturnType<typeof condition>;
  readonly status?: AppDeploymentStatus;
  readonly more?: Partial<ObservedOperation>;
  readonly isDeleted?: boolean;
}

function step({ phase, startedAt = ago(5), seen = phase, database, status, more, isDeleted = false }: World): string {
  const begun: DatastoreOperationStatus | undefined = phase && { phase, patch: PATCH, startedAt };
  const operation: DatastoreOperation = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: {
      name: 'now',
      namespace: 'team',
      uid: 'uid',
      finalizers: [OPERATION_FINALIZER],
      ...(isDeleted && { deletionTimestamp: ago(1) }),
    },
    spec: { deployment: 'shop', action: 'Patch', patch: { datastore: 'postgres' }, accept: ['NoBackup'] },
    ...(begun && { status: begun }),
  };
  const record = aRecord(
    {},
    {
      status: {
        observedGeneration: 1,
        datastores: { postgres: { image: OLD, available: NEW } },
        ...(seen && { databaseOperation: { name: 'now', phase: seen } }),
        conditions: [database ?? condition('DatabaseReady', 'True', 'Answering')],
        ...status,
      },
    },
  );
  const observed: ObservedOperation = {
    now: NOW,
    operation,
    record,
    isFirst: true,
    paused: undefined,
    source: { dump: false, base: false },
    pods: [],
    revisions: [],
    databases: [],
    numbers: [],
    images: { postgres: NEW, cloudNativePg: NEW },
    serverImages: [OLD],
    isItsTurn: true,
    ...more,
  };
  const { status: next, act } = nextOperationStep(observed);
  return [next?.phase, next?.conditions?.[0]?.reason, act].filter((one) => one !== undefined).join(' ');
}

const THERE = { serverImages: [NEW] };
const DOWN = condition('DatabaseReady', 'False', 'Starting', 5);

describe('the next step', () => {
  it.each<[what: string, World, string]>([
    ['begins', {}, 'Running Patching'],
    ['waits for its turn', { more: { isItsTurn: false } }, 'Pending AtOnce'],
    ['waits for a backup', { more: { otherBackup: 'Job shop---backup-1' } }, 'Pending AnotherBackup'],
    ['waits for the end of a pause', { more: { paused: 'It is paused.' } }, 'Pending Paused'],
    [
      'waits for a restore',
      { status: { conditions: [condition('DatabaseRestored', 'False', 'Restoring')] } },
      'Pending Restoring',
    ],
    ['waits until the record was looked at', { status: { observedGeneration: 0 } }, 'Pending NotObserved'],
    ['fails where there is nothing to patch', { status: { datastores: {} } }, 'Failed NotPossible'],
    ['waits until a pass has seen the phase', { phase: 'Running', seen: 'Pending', more: THERE }, 'Running '],
    ['waits for the new pod', { phase: 'Running' }, 'Running '],
    ['waits for an answer', { phase: 'Running', database: DOWN, more: THERE }, 'Running Starting'],
    ['ends', { phase: 'Running', more: THERE }, 'Succeeded Patched'],
    ['waits for the last instance', { phase: 'Running', more: { serverImages: [NEW, OLD] } }, 'Running '],
    [
      'bears a failure for a minute',
      { phase: 'Running', startedAt: ago(99), database: condition('DatabaseReady', 'False', 'ImagePullFailed', 59) },
      'Running ImagePullFailed',
    ],
    [
      'goes back after a minute of failure',
      { phase: 'Running', startedAt: ago(99), database: condition('DatabaseReady', 'False', 'ImagePullFailed', 61) },
      'Returning ImagePullFailed',
    ],
    [
      'gives a minute to a server that failed before',
      { phase: 'Running', startedAt: ago(5), database: condition('DatabaseReady', 'False', 'ImagePullFailed', 900) },
      'Running ImagePullFailed',
    ],
    [
      'lets a server recover',
      { phase: 'Running', startedAt: ago(599), database: condition('DatabaseReady', 'False', 'Starting', 590) },
      'Running Starting',
    ],
    ['goes back after ten minutes', { phase: 'Running', startedAt: ago(601), database: DOWN }, 'Returning TimedOut'],
    ['continues in a pause', { phase: 'Running', more: { ...THERE, paused: 'It is paused.' } }, 'Succeeded Patched'],
    ['waits until a pass has gone back', { phase: 'Returning', seen: 'Running' }, 'Returning '],
    ['fails when a pass has gone back', { phase: 'Returning' }, 'Failed '],
  ])('%s', (_what, world, wanted) => {
    expect(step(world)).toBe(wanted);
  });

  it.each<[what: string, World, string]>([
    ['has not begun', {}, 'release'],
    ['works', { phase: 'Running' }, 'Returning Cancelled'],
    ['goes back', { phase: 'Returning', seen: 'Running' }, ''],
    ['has gone back', { phase: 'Returning' }, 'release'],
    ['has succeeded', { phase: 'Succeeded' }, 'release'],
    ['lost its deployment', { phase: 'Running', more: { record: undefined } }, 'release'],
  ])('of a deleted operation that %s', (_what, world, wanted) => {
    expect(step({ ...world, isDeleted: true })).toBe(wanted);
  });
});
