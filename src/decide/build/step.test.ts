import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { BuildStatus } from '../../api/build.ts';
import { defaultSettings } from '../../api/settings.ts';
import type { ContainerStatus } from '../observed.ts';
import type { BuildPod, ObservedBuild, ObservedJob } from './observed.ts';
import { nextStep } from './step.ts';

const now = new Date('2026-01-01T01:00:00Z');
const earlier = '2026-01-01T00:59:30Z';
const commit = 'c'.repeat(40);
const digest = `sha256:${'d'.repeat(64)}`;
const repository = 'registry.example.com/team-22222222/shop';
const image = `${repository}@${digest}`;

const record = aRecord({
  source: 'codehost',
  sourceConfig: { integrationId: '33333333-3333-4333-8333-333333333333', repoUrl: 'https://git.example.com/team/shop' },
  sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
});

function revision(build?: Partial<BuildStatus>, serial = 1): AppRevision {
  const made = aRevision(record, undefined, serial);
  return build ? { ...made, status: { build: { phase: 'Queued', queuedAt: earlier, ...build } } } : made;
}

function job(details: { suspend?: boolean; deletionTimestamp?: string; failed?: string } = {}): ObservedJob {
  const { suspend = false, deletionTimestamp, failed } = details;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'build-1',
      namespace: 'davit-builds',
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: { suspend },
    ...(failed !== undefined && {
      status: { conditions: [{ type: 'Failed', status: 'True', reason: failed, message: 'Pod has failed' }] },
    }),
  };
}

type State = ContainerStatus['state'];
const done = (exitCode: number, message = '', reason = 'Completed'): State => ({
  terminated: { exitCode, message, reason },
});
const running: State = { running: {} };

function pod(
  states: { fetch?: State; plan?: State; build?: State },
  more: Partial<NonNullable<BuildPod['status']>> = {},
): BuildPod {
  const status = (name: 'fetch' | 'plan' | 'build'): ContainerStatus[] => {
    const state = states[name];
    return state ? [{ name, state }] : [];
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'build-1-x', namespace: 'davit-builds' },
    status: {
      phase: 'Running',
      initContainerStatuses: [...status('fetch'), ...status('plan')],
      containerStatuses: status('build'),
      ...more,
    },
  };
}

function seen(of: AppRevision, more: Partial<ObservedBuild> = {}): ObservedBuild {
  return {
    revision: of,
    record,
    siblings: [of],
    others: [of],
    job: undefined,
    pod: undefined,
    repository,
    settings: defaultSettings().builds,
    isPaused: false,
    ...more,
  };
}

const waiting = revision({ commit });
const begun = revision({ phase: 'AwaitingBuild', commit, startedAt: earlier, job: 'build-1' });
const building = revision({ phase: 'Building', commit, startedAt: earlier, job: 'build-1' });

describe('before a build begins', () => {
  it.each<[string, ObservedBuild, object]>([
    [
      'a new revision waits for its turn',
      seen(revision()),
      { status: { phase: 'Queued', queuedAt: '2026-01-01T01:00:00Z' } },
    ],
    ['the commit is asked for', seen(revision({})), { act: 'resolve' }],
    [
      'its turn comes',
      seen(waiting),
      { act: 'start', status: { phase: 'AwaitingBuild', startedAt: '2026-01-01T01:00:00Z' } },
    ],
    [
      'a newer revision takes its place',
      seen(waiting, { siblings: [revision({}, 2), waiting] }),
      { status: { phase: 'Skipped', reason: 'Superseded' } },
    ],
    [
      'all places are taken',
      seen(waiting, { others: [waiting, ...[2, 3].map((serial) => revision({ phase: 'Building' }, serial))] }),
      { status: { phase: 'Queued', reason: 'WaitingForTurn' } },
    ],
    [
      'the same was built before',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), revision({ phase: 'Built', commit, image, digest })],
      }),
      { status: { phase: 'Built', reason: 'ImageReused', image, digest, builtBy: revision().spec.id } },
    ],
    [
      'the same failed before: it is built again',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), revision({ phase: 'Failed', commit })],
        others: [revision({ commit }, 2)],
      }),
      { act: 'start', status: { phase: 'AwaitingBuild' } },
    ],
    [
      'the same is being built: it waits for that',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), building],
        others: [revision({ commit }, 2), building],
      }),
      { status: { phase: 'Queued', message: expect.stringContaining(building.spec.id) } },
    ],
    [
      'somebody interrupts it',
      seen(waiting, {
        record: {
          ...record,
          metadata: { ...record.metadata, annotations: { 'davit.dev/interrupt': waiting.spec.id } },
        },
      }),
      { status: { phase: 'Interrupted' } },
    ],
    ['paused', seen(waiting, { isPaused: true }), {}],
  ])('%s', (_what, observed, step) => {
    const found = nextStep(observed, now);
    expect(found).toMatchObject(step);
    expect(found.act).toBe((step as { act?: string }).act);
  });

  it('another commit of the same branch is not the same', () => {
    const other = revision({ phase: 'Built', commit: 'e'.repeat(40), image, digest });
    const newer = revision({ commit }, 2);
    expect(nextStep(seen(newer, { siblings: [newer, other], others: [newer] }), now).act).toBe('start');
  });
});

describe('while a build runs', () => {
  const fetched = done(0, commit);
  it.each<[string, ObservedBuild, object]>([
    ['the Job is made again where it is not there yet', seen(begun), { act: 'start' }],
    ['a suspended Job gets its Secrets', seen(begun, { job: job({ suspend: true }) }), { act: 'start' }],
    ['no pod yet', seen(begun, { job: job() }), { status: { phase: 'AwaitingBuild', reason: 'PodStarting' } }],
    [
      'a pod that starts',
      seen(begun, { job: job(), pod: pod({}) }),
      { status: { phase: 'AwaitingBuild', reason: 'PodStarting' } },
    ],
    [
      'fetching',
      seen(begun, { job: job(), pod: pod({ fetch: running }) }),
      { status: { phase: 'Building', reason: 'Fetching' } },
    ],
    [
      'planning',
      seen(begun, { job: job(), pod: pod({ fetch: fetched, plan: running }) }),
      { status: { phase: 'Building', reason: 'Planning', commit } },
    ],
    [
      'building',
      seen(begun, { job: job(), pod: pod({ fetch: fetched, plan: done(0), build: running }) }),
      { status: { phase: 'Building', reason: 'Running' } },
    ],
    [
      'built',
      seen(building, { job: job(), pod: pod({ fetch: fetched, plan: done(0), build: done(0, digest) }) }),
      { status: { phase: 'Built', reason: 'ImageBuilt', image, digest, commit, finishedAt: '2026-01-01T01:00:00Z' } },
    ],
    [
      'built, though the deadline has passed meanwhile',
      seen(building, {
        job: job({ failed: 'DeadlineExceeded' }),
        pod: pod({ fetch: fetched, plan: done(0), build: done(0, digest) }),
      }),
      { status: { phase: 'Built', image } },
    ],
    [
      'built without a digest is not built',
      seen(building, { job: job(), pod: pod({ fetch: fetched, plan: done(0), build: done(0, 'latest') }) }),
      { status: { phase: 'Failed', reason: 'BuilderFailed' } },
    ],
    [
      'the fetch fails',
      seen(building, { job: job(), pod: pod({ fetch: done(1, 'RefNotFound: No such branch.') }) }),
      { status: { phase: 'Failed', reason: 'RefNotFound', message: 'No such branch.' } },
    ],
    [
      'the plan fails',
      seen(building, { job: job(), pod: pod({ fetch: fetched, plan: done(1, 'PathMissing: x is not there.') }) }),
      { status: { phase: 'Failed', reason: 'PathMissing', commit } },
    ],
    [
      'a step fails',
      seen(building, {
        job: job(),
        pod: pod({
          fetch: fetched,
          plan: done(0),
          build: done(1, 'error: failed to solve: process "x" did not complete successfully: exit code: 1'),
        }),
      }),
      { status: { phase: 'Failed', reason: 'StepFailed' } },
    ],
    [
      'its time is up',
      seen(building, { job: job({ failed: 'DeadlineExceeded' }) }),
      { status: { phase: 'Failed', reason: 'TimedOut' } },
    ],
    [
      'its time is up before a node took it',
      seen(revision({ phase: 'AwaitingBuild', reason: 'Unschedulable', message: 'No node.', startedAt: earlier }), {
        job: job({ failed: 'DeadlineExceeded' }),
      }),
      { status: { phase: 'Failed', reason: 'Unschedulable', message: 'No node.' } },
    ],
    [
      'evicted for disk',
      seen(building, {
        job: job(),
        pod: pod(
          {},
          {
            phase: 'Failed',
            reason: 'Evicted',
            message: 'Pod ephemeral local storage usage exceeds the total limit of containers 11Gi',
          },
        ),
      }),
      { status: { phase: 'Failed', reason: 'OutOfDisk' } },
    ],
    [
      'evicted for its node',
      seen(building, {
        job: job(),
        pod: pod({}, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    [
      'the pod is gone',
      seen(building, { job: job({ failed: 'BackoffLimitExceeded' }) }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    ['the Job is gone', seen(building), { status: { phase: 'Failed', reason: 'BuilderGone' } }],
    [
      'the Job is being deleted',
      seen(building, { job: job({ deletionTimestamp: earlier }) }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    [
      'no node takes it',
      seen(begun, {
        job: job(),
        pod: pod({}, { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }] }),
      }),
      { status: { phase: 'AwaitingBuild', reason: 'Unschedulable', message: expect.stringContaining('0/1 nodes') } },
    ],
    [
      'its image is not pulled, for now',
      seen(begun, {
        job: job(),
        pod: pod({ fetch: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }),
      }),
      { status: { phase: 'AwaitingBuild', reason: 'BuilderImagePullFailed' } },
    ],
    [
      'somebody interrupts it',
      seen(building, {
        job: job(),
        record: {
          ...record,
          metadata: { ...record.metadata, annotations: { 'davit.dev/interrupt': building.spec.id } },
        },
      }),
      { status: { phase: 'Interrupted' }, act: 'removeJob' },
    ],
    [
      'paused: it goes on and is reported',
      seen(begun, { job: job(), pod: pod({ fetch: running }), isPaused: true }),
      { status: { phase: 'Building' } },
    ],
    ['paused: nothing is begun', seen(begun, { isPaused: true }), {}],
  ])('%s', (_what, observed, step) => {
    const found = nextStep(observed, now);
    expect(found).toMatchObject(step);
    expect(found.act).toBe((step as { act?: string }).act);
  });

  it('what cannot begin fails when its time is up, for what was in its way', () => {
    const stuck = revision({
      phase: 'AwaitingBuild',
      reason: 'CodeHostUnreachable',
      message: 'It does not answer.',
      startedAt: '2026-01-01T00:40:00Z',
    });
    expect(nextStep(seen(stuck), now)).toMatchObject({ status: { phase: 'Failed', reason: 'CodeHostUnreachable' } });
  });

  it('an image that cannot be pulled is said in words that do not alternate with the kubelet', () => {
    const begun = revision({ phase: 'AwaitingBuild', startedAt: earlier });
    const statuses = [
      { reason: 'ErrImagePull', message: 'not found' },
      { reason: 'ImagePullBackOff', message: 'Back-off pulling image' },
      { reason: 'RegistryUnavailable', message: 'connection refused' },
    ].map((waiting) => nextStep(seen(begun, { job: job(), pod: pod({ fetch: { waiting } }) }), now).status);
    expect(statuses[0]).toMatchObject({ phase: 'AwaitingBuild', reason: 'BuilderImagePullFailed' });
    expect(new Set(statuses.map((status) => JSON.stringify(status))).size).toBe(1);
  });

  it('an image that is not pulled for two minutes will not be', () => {
    const long = revision({ phase: 'AwaitingBuild', startedAt: '2026-01-01T00:57:00Z' });
    const observed = seen(long, { job: job(), pod: pod({ fetch: { waiting: { reason: 'ErrImagePull' } } }) });
    expect(nextStep(observed, now)).toMatchObject({ status: { phase: 'Failed', reason: 'BuilderImagePullFailed' } });
  });
});

describe('after a build', () => {
  const built = revision({ phase: 'Built', commit, image, digest, finishedAt: '2026-01-01T00:30:00Z' });
  it.each<[string, ObservedBuild, object]>([
    [
      'its Job stays for people to look at, without credentials',
      seen(built, { job: job() }),
      { act: 'forgetCredentials', requeueAfterMs: 1_800_000 },
    ],
    [
      'and goes when its time is over',
      seen(revision({ phase: 'Failed', finishedAt: '2025-12-31T23:00:00Z' }), { job: job() }),
      { act: 'removeJob' },
    ],
    [
      'that of an interrupted one goes at once',
      seen(revision({ phase: 'Interrupted', finishedAt: earlier }), { job: job() }),
      { act: 'removeJob' },
    ],
    ['nothing is left to do without one', seen(built), {}],
    ['or while it goes', seen(built, { job: job({ deletionTimestamp: earlier }) }), {}],
    [
      'what is built stays built, though somebody interrupts it',
      seen(built, {
        record: { ...record, metadata: { ...record.metadata, annotations: { 'davit.dev/interrupt': built.spec.id } } },
      }),
      {},
    ],
  ])('%s', (_what, observed, step) => {
    expect(nextStep(observed, now)).toEqual(step);
  });
});
