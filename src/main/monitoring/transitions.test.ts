import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision, AppRevisionStatus } from '../../kinds/app-revision.ts';
import type { BuildStatus } from '../../kinds/build.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { transitionsOf } from './transitions.ts';

const at = '2026-01-01T00:00:00Z';

/** `Ready False Progressing: It is rolled.` */
function condition(text: string): NonNullable<AppDeploymentStatus['conditions']>[number] {
  const [, type = '', status = '', reason = '', message = ''] = /^(\S+) (\S+) (\S+?): (.*)$/.exec(text) ?? [];
  return { type, status: status as 'True', reason, message, lastTransitionTime: at };
}
function record(state: AppDeploymentStatus['state'], ...conditions: string[]): AppDeployment {
  return aRecord({}, { status: { ...(state && { state }), conditions: conditions.map(condition) } });
}
function revision(status?: AppRevisionStatus): AppRevision {
  return { ...aRevision(aRecord()), ...(status && { status }) };
}
const build = (phase: BuildStatus['phase'], reason: string, message = ''): AppRevisionStatus => ({
  state: 'BUILDING',
  build: { phase, reason, message },
});

const SETTLED = 'Stalled False Settled: No action.';
const ROLLING = record('UNKNOWN', 'Ready False Progressing: It is rolled.', SETTLED);
const SERVING = record('READY', 'Ready True Serving: It serves.', SETTLED);
const REFUSED = record('READY', 'Ready False PodsRefused: Quota.', 'Stalled True PodsRefused: Quota.');
const leaving = (message: string, stalled = 'False'): AppDeployment =>
  record('AWAITING_DELETE', `Ready False Deleting: ${message}`, `Stalled ${stalled} Deleting: ${message}`);

describe('the transitions of a record', () => {
  it.each<{ reason: string; before: AppDeployment | undefined; after: AppDeployment; said: string[] }>([
    { reason: 'a record without a status has none', before: undefined, after: aRecord(), said: [] },
    {
      reason: 'the first status is one; that nothing is stalled is not',
      before: aRecord(),
      after: ROLLING,
      said: ['Ready False Progressing: It is rolled.'],
    },
    {
      reason: 'so is a status of a record that was not known',
      before: undefined,
      after: SERVING,
      said: ['Ready True Serving: It serves.'],
    },
    { reason: 'status and reason', before: ROLLING, after: SERVING, said: ['Ready True Serving: It serves.'] },
    {
      reason: 'a task that fails, and none that runs well',
      before: SERVING,
      after: record('READY', 'Ready True Serving: It serves.', SETTLED, 'TasksReady False TaskFailed: No table.'),
      said: ['Tasks False TaskFailed: No table.'],
    },
    {
      reason: 'a first run that succeeds is none',
      before: SERVING,
      after: record('READY', 'Ready True Serving: It serves.', SETTLED, 'TasksReady True NoTaskFailed: Fine.'),
      said: [],
    },
    { reason: 'nothing in a steady state', before: SERVING, after: SERVING, said: [] },
    {
      reason: 'another message of the same reason is none: it may count pods',
      before: ROLLING,
      after: record('UNKNOWN', 'Ready False Progressing: Two of three pods.', SETTLED),
      said: [],
    },
    {
      reason: 'a stalled record, and why',
      before: SERVING,
      after: REFUSED,
      said: ['Ready False PodsRefused: Quota.', 'Stalled True PodsRefused: Quota.'],
    },
    {
      reason: 'another reason for being stalled',
      before: REFUSED,
      after: record('READY', 'Ready False SecretMissing: A.', 'Stalled True SecretMissing: A.'),
      said: ['Ready False SecretMissing: A.', 'Stalled True SecretMissing: A.'],
    },
    {
      reason: 'the end of being stalled',
      before: REFUSED,
      after: SERVING,
      said: ['Ready True Serving: It serves.', 'Stalled False Settled: No action.'],
    },
    {
      reason: 'the first step of a deletion',
      before: SERVING,
      after: leaving('waiting for its workloads.'),
      said: ['Deletion False Deleting: waiting for its workloads.'],
    },
    {
      reason: 'the next step, which only the message names',
      before: leaving('waiting for its workloads.'),
      after: leaving('waiting for PostgreSQL.'),
      said: ['Deletion False Deleting: waiting for PostgreSQL.'],
    },
    { reason: 'a step that lasts', before: leaving('a.'), after: leaving('a.'), said: [] },
    {
      reason: 'a deletion that only a person can continue',
      before: leaving('waiting for a pod.'),
      after: leaving('waiting for a pod. Taint its node.', 'True'),
      said: [
        'Deletion False Deleting: waiting for a pod. Taint its node.',
        'Stalled True Deleting: waiting for a pod. Taint its node.',
      ],
    },
  ])('$reason', ({ before, after, said }) => {
    const found = transitionsOf(before, after);
    expect(found.map(({ of, status, reason, message }) => `${of} ${status} ${reason}: ${message}`)).toEqual(said);
  });
});

describe('who asked', () => {
  const observed = (generation: number, changedBy?: string): AppDeployment => {
    const { status, ...rest } = SERVING;
    return { ...rest, status: { ...status, observedGeneration: generation, ...(changedBy && { changedBy }) } };
  };
  const told = (before: AppDeployment | undefined, after: AppDeployment): unknown[] =>
    transitionsOf(before, after).map(({ of, status, by }) => [of, status, by]);

  it.each([
    ['of a change', observed(3), observed(4, 'anna'), [['Change', '4', 'anna']]],
    ['of a change that does not say it', observed(3, 'anna'), observed(4), [['Change', '4', null]]],
    ['of no change', observed(4, 'anna'), observed(4, 'anna'), []],
    ['of a record that was not known', undefined, observed(4, 'anna'), [['Ready', 'True', undefined]]],
  ])('%s', (_what, before, after, said) => {
    expect(told(before, after)).toEqual(said);
  });

  it('of a revision, and of the end of a build', () => {
    const made = revision({ state: 'BUILDING' });
    const asked = { ...made, spec: { ...made.spec, requestedBy: 'anna' } };
    const by = (before: AppRevision | undefined, after: AppRevision): unknown[] =>
      transitionsOf(before, after).map((one) => [one.of, one.by]);
    expect(by(undefined, asked)).toEqual([['Revision', 'anna']]);
    expect(by(undefined, made)).toEqual([['Revision', null]]);
    const { build: was } = build('Building', 'Building');
    const { build: is } = build('Interrupted', 'InterruptedByUser');
    const before = { ...made, status: { state: 'BUILDING', build: was } } as AppRevision;
    const ended = (more: object): AppRevision =>
      ({ ...made, status: { state: 'BUILDING', build: { ...is, ...more } } }) as AppRevision;
    expect(by(before, ended({ interruptedBy: 'anna' }))).toEqual([['Build', 'anna']]);
    expect(by(before, ended({}))).toEqual([['Build', null]]);
  });
});

describe('the transitions of a revision', () => {
  it.each<{ why: string; before: AppRevisionStatus | undefined; after: AppRevisionStatus | undefined; said: object[] }>(
    [
      { why: 'none without a status', before: undefined, after: undefined, said: [] },
      {
        why: 'a state, which has no reason',
        before: undefined,
        after: { state: 'DEPLOYING', message: 'Rolling.' },
        said: [{ of: 'Revision', status: 'DEPLOYING', message: 'Rolling.', by: null }],
      },
      {
        why: 'another message of the same state is none',
        before: { state: 'DEPLOYING', message: 'Rolling.' },
        after: { state: 'DEPLOYING', message: 'Still.' },
        said: [],
      },
      {
        why: 'a phase of the build',
        before: build('Queued', 'WaitingForTurn'),
        after: build('AwaitingBuild', 'PodStarting', 'Starts.'),
        said: [{ of: 'Build', status: 'AwaitingBuild', reason: 'PodStarting', message: 'Starts.' }],
      },
      {
        why: 'a step within a phase',
        before: build('Building', 'Fetching'),
        after: build('Building', 'Running'),
        said: [{ of: 'Build', status: 'Building', reason: 'Running', message: '' }],
      },
      {
        why: 'none of a build that goes on',
        before: build('Building', 'Running'),
        after: build('Building', 'Running', '2'),
        said: [],
      },
      {
        why: 'build and state together',
        before: build('Building', 'Running'),
        after: { state: 'DEPLOYING', build: { phase: 'Built' } },
        said: [
          { of: 'Build', status: 'Built', message: '' },
          { of: 'Revision', status: 'DEPLOYING', message: '', by: null },
        ],
      },
    ],
  )('$why', ({ before, after, said }) => {
    expect(transitionsOf(revision(before), revision(after))).toEqual(said);
  });
});

it('an OAuth provider has those of Ready', () => {
  const provider = (text: string): OAuthProvider =>
    ({
      kind: 'OAuthProvider',
      metadata: { name: 'tracker' },
      status: { conditions: [condition(text)] },
    }) as unknown as OAuthProvider;
  expect(transitionsOf(provider('Ready True Found: A.'), provider('Ready False SecretMissing: B.'))).toEqual([
    { of: 'Ready', status: 'False', reason: 'SecretMissing', message: 'B.' },
  ]);
});
