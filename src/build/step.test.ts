import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../test/support/builders.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import type { ContainerStatus, Pod } from '../deploy/assess/observed.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { BuildStatus } from '../kinds/build.ts';
import { defaultSettings } from '../kinds/settings.ts';
import type { ObservedBuild } from './observed.ts';
import { nextBuildStep } from './step.ts';

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

function job(
  details: { suspend?: boolean; deletionTimestamp?: string; failed?: string; condition?: string; at?: string } = {},
): Job {
  const { suspend = false, deletionTimestamp, failed, condition = 'Failed', at = earlier } = details;
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
      status: {
        conditions: [
          { type: condition, status: 'True', reason: failed, message: 'Pod has failed', lastTransitionTime: at },
        ],
      },
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
  more: Partial<NonNullable<Pod['status']>> = {},
): Pod {
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
    contenderOf: (revision) => ({ record, siblings: [revision], job: undefined, isPaused: false }),
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

describe('before a build starts', () => {
  it.each<[string, ObservedBuild, object]>([
    ['a new revision is queued', seen(revision()), { status: { phase: 'Queued', queuedAt: '2026-01-01T01:00:00Z' } }],
    ['a new revision whose commit is unknown says so', seen(revision()), { status: { reason: 'ReadingCommit' } }],
    ['the commit is resolved', seen(revision({})), { act: 'resolve' }],
    [
      'a build whose turn it is starts',
      seen(waiting),
      { act: 'start', status: { phase: 'AwaitingBuild', startedAt: '2026-01-01T01:00:00Z' } },
    ],
    [
      'a newer revision supersedes it',
      seen(waiting, { siblings: [revision({}, 2), waiting] }),
      { status: { phase: 'Skipped', reason: 'Superseded' } },
    ],
    [
      'it waits while all turns are taken',
      seen(waiting, { others: [waiting, ...[2, 3].map((serial) => revision({ phase: 'Building' }, serial))] }),
      { status: { phase: 'Queued', reason: 'WaitingForTurn' } },
    ],
    [
      'the image of the same source is reused',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), revision({ phase: 'Built', commit, image, digest })],
      }),
      { status: { phase: 'Built', reason: 'ImageReused', image, digest, builtBy: revision().spec.id } },
    ],
    [
      'the same source is built again if it failed before',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), revision({ phase: 'Failed', commit })],
        others: [revision({ commit }, 2)],
      }),
      { act: 'start', status: { phase: 'AwaitingBuild' } },
    ],
    [
      'it waits for a running build of the same source',
      seen(revision({ commit }, 2), {
        siblings: [revision({ commit }, 2), building],
        others: [revision({ commit }, 2), building],
      }),
      {
        status: {
          phase: 'Queued',
          reason: 'SameSourceBuilding',
          message: expect.stringContaining(building.spec.id),
        },
      },
    ],
    ...(['ReadingCommit', 'SameSourceBuilding', 'Paused'] as const).map((reason): [string, ObservedBuild, object] => [
      `nothing hinders one that said ${reason}`,
      seen(revision({ commit, reason })),
      { act: 'start', status: { phase: 'AwaitingBuild' } },
    ]),
    [
      'the user interrupts it',
      seen(waiting, {
        record: {
          ...record,
          metadata: { ...record.metadata, annotations: { 'davit.dev/interrupt': waiting.spec.id } },
        },
      }),
      { status: { phase: 'Interrupted' } },
    ],
    [
      'nothing begins while paused',
      seen(waiting, { isPaused: true }),
      { status: { phase: 'Queued', reason: 'Paused' } },
    ],
    [
      'what hinders it is said while paused, too',
      seen(revision({ commit, reason: 'CredentialMissing' }), { isPaused: true }),
      {},
    ],
    [
      'it asks for no turn before what hindered it is gone',
      seen(revision({ commit, reason: 'CodeHostUnreachable', startedAt: earlier })),
      { act: 'prove' },
    ],
    [
      'it waits without a time limit once it is only its turn that it lacks',
      seen(revision({ commit, reason: 'WaitingForTurn', startedAt: '2026-01-01T00:50:00Z' }), {
        others: [2, 3].map((serial) => revision({ phase: 'Building' }, serial)),
      }),
      { status: { phase: 'Queued', reason: 'WaitingForTurn' } },
    ],
    [
      'it fails when it could not begin for the time of a build',
      seen(revision({ commit, reason: 'CodeHostUnreachable', message: 'No.', startedAt: '2026-01-01T00:40:00Z' })),
      {
        status: {
          phase: 'Failed',
          reason: 'CodeHostUnreachable',
          message: 'The build could not be started in time. No.',
        },
      },
    ],
    [
      'its Job runs although a crash hid that',
      seen(waiting, { job: job(), pod: pod({ fetch: running }) }),
      { status: { phase: 'Building', reason: 'Fetching' } },
    ],
  ])('%s', (_what, observed, step) => {
    const found = nextBuildStep(observed, now);
    expect(found).toMatchObject(step);
    expect(found.act).toBe((step as { act?: string }).act);
  });

  it('a pause counts against no time limit', () => {
    const { status } = nextBuildStep(seen(begun, { isPaused: true }), now);
    const later = new Date(now.getTime() + 86_400_000);
    expect(nextBuildStep(seen(revision(status)), later)).toMatchObject({
      act: 'start',
      status: { phase: 'AwaitingBuild', startedAt: '2026-01-02T01:00:00Z' },
    });
  });

  it('does not reuse the image of another commit of the same branch', () => {
    const other = revision({ phase: 'Built', commit: 'e'.repeat(40), image, digest });
    const newer = revision({ commit }, 2);
    expect(nextBuildStep(seen(newer, { siblings: [newer, other], others: [newer] }), now).act).toBe('start');
  });
});

describe('while a build runs', () => {
  const fetched = done(0, commit);
  it.each<[string, ObservedBuild, object]>([
    ['a missing Job is created', seen(begun), { act: 'start' }],
    ['a suspended Job gets its Secrets and is resumed', seen(begun, { job: job({ suspend: true }) }), { act: 'start' }],
    [
      'the Job has no pod yet',
      seen(begun, { job: job() }),
      { status: { phase: 'AwaitingBuild', reason: 'PodStarting' } },
    ],
    [
      'the pod is starting',
      seen(begun, { job: job(), pod: pod({}) }),
      { status: { phase: 'AwaitingBuild', reason: 'PodStarting' } },
    ],
    [
      'the source is being fetched',
      seen(begun, { job: job(), pod: pod({ fetch: running }) }),
      { status: { phase: 'Building', reason: 'Fetching' } },
    ],
    [
      'the Dockerfile is being planned',
      seen(begun, { job: job(), pod: pod({ fetch: fetched, plan: running }) }),
      { status: { phase: 'Building', reason: 'Planning', commit } },
    ],
    [
      'the image is being built',
      seen(begun, { job: job(), pod: pod({ fetch: fetched, plan: done(0), build: running }) }),
      { status: { phase: 'Building', reason: 'Running' } },
    ],
    [
      'the image was built',
      seen(building, { job: job(), pod: pod({ fetch: fetched, plan: done(0), build: done(0, digest) }) }),
      { status: { phase: 'Built', reason: 'ImageBuilt', image, digest, commit, finishedAt: '2026-01-01T01:00:00Z' } },
    ],
    [
      'the image was built, although the deadline has passed since',
      seen(building, {
        job: job({ failed: 'DeadlineExceeded' }),
        pod: pod({ fetch: fetched, plan: done(0), build: done(0, digest) }),
      }),
      { status: { phase: 'Built', image } },
    ],
    [
      'a build without a digest fails',
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
      {
        status: {
          phase: 'Failed',
          reason: 'StepFailed',
          message: expect.stringContaining('kubectl davit logs shop --build'),
        },
      },
    ],
    [
      'the time limit is exceeded',
      seen(building, { job: job({ failed: 'DeadlineExceeded' }) }),
      { status: { phase: 'Failed', reason: 'TimedOut' } },
    ],
    [
      'the time limit is exceeded, and the pod is ending',
      seen(building, {
        job: job({ failed: 'DeadlineExceeded', condition: 'FailureTarget' }),
        pod: pod({ fetch: fetched, plan: done(0), build: done(143, '#9 RUN sleep 1000') }),
      }),
      { status: { phase: 'Failed', reason: 'TimedOut' } },
    ],
    [
      'the time limit is exceeded while the source is fetched',
      seen(begun, { job: job({ failed: 'DeadlineExceeded' }), pod: pod({ fetch: done(137, '') }) }),
      { status: { phase: 'Failed', reason: 'TimedOut' } },
    ],
    [
      'the pod is evicted while the source is fetched',
      seen(begun, {
        job: job(),
        pod: pod(
          { fetch: done(137, '') },
          { phase: 'Failed', reason: 'Evicted', message: 'Usage of EmptyDir volume "workspace" exceeds the limit.' },
        ),
      }),
      { status: { phase: 'Failed', reason: 'OutOfDisk' } },
    ],
    [
      'the time limit is exceeded before the pod was scheduled',
      seen(revision({ phase: 'AwaitingBuild', reason: 'Unschedulable', message: 'No node.', startedAt: earlier }), {
        job: job({ failed: 'DeadlineExceeded' }),
      }),
      { status: { phase: 'Failed', reason: 'Unschedulable', message: 'No node.' } },
    ],
    [
      'the pod is evicted because of its disk usage',
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
      'the pod is evicted because of its node',
      seen(building, {
        job: job(),
        pod: pod({}, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    [
      'the pod no longer exists',
      seen(building, { job: job({ failed: 'BackoffLimitExceeded' }) }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    [
      'the pod of a Job that has just failed has not been observed yet',
      seen(begun, { job: job({ failed: 'BackoffLimitExceeded', at: now.toISOString() }) }),
      { status: { phase: 'AwaitingBuild' }, requeueAfterMs: 10_000 },
    ],
    [
      'the end of the pod of a Job that has just failed has not been observed yet',
      seen(building, {
        job: job({ failed: 'BackoffLimitExceeded', at: now.toISOString() }),
        pod: pod({ fetch: fetched, plan: done(0), build: running }),
      }),
      { status: { phase: 'Building', reason: 'Running' }, requeueAfterMs: 10_000 },
    ],
    [
      'the pod was deleted, and the end of its Job has not been observed yet',
      seen(building, { job: job() }),
      { status: { phase: 'Building', reason: 'Running' } },
    ],
    ['the Job no longer exists', seen(building), { status: { phase: 'Failed', reason: 'BuilderGone' } }],
    [
      'the Job is being deleted',
      seen(building, { job: job({ deletionTimestamp: earlier }) }),
      { status: { phase: 'Failed', reason: 'BuilderGone' } },
    ],
    [
      'the pod cannot be scheduled',
      seen(begun, {
        job: job(),
        pod: pod({}, { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' }] }),
      }),
      {
        status: {
          phase: 'AwaitingBuild',
          reason: 'Unschedulable',
          message: expect.stringMatching(/0\/1 nodes.*The platform team can lower settings\.builds\.resources/),
        },
      },
    ],
    [
      'an image cannot be pulled yet',
      seen(begun, {
        job: job(),
        pod: pod({ fetch: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }),
      }),
      { status: { phase: 'AwaitingBuild', reason: 'BuilderImagePullFailed' } },
    ],
    [
      'the user interrupts it',
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
      'a user who says so interrupts it',
      seen(building, {
        job: job(),
        record: {
          ...record,
          metadata: {
            ...record.metadata,
            annotations: {
              'davit.dev/interrupt': building.spec.id,
              'davit.dev/interrupted-by': `${record.metadata.uid} ${building.spec.id} anna`,
            },
          },
        },
      }),
      {
        status: {
          phase: 'Interrupted',
          interruptedBy: 'anna',
          message: 'The build was interrupted by anna. Create a new revision to build again.',
        },
        act: 'removeJob',
      },
    ],
    [
      'a running build continues and is reported while paused',
      seen(begun, { job: job(), pod: pod({ fetch: running }), isPaused: true }),
      { status: { phase: 'Building' } },
    ],
    [
      'no build is started while paused, and it gives its turn back',
      seen(begun, { isPaused: true }),
      { status: { phase: 'Queued', reason: 'Paused' } },
    ],
    [
      'a suspended Job stays so while paused, and gives its turn back',
      seen(begun, { isPaused: true, job: job({ suspend: true }) }),
      { status: { phase: 'Queued' } },
    ],
  ])('%s', (_what, observed, step) => {
    const found = nextBuildStep(observed, now);
    expect(found).toMatchObject(step);
    expect(found.act).toBe((step as { act?: string }).act);
  });

  const overtaken = revision({ commit: 'e'.repeat(40) }, 2);
  const withImage = { ...overtaken, spec: { ...overtaken.spec, resolved: { ...overtaken.spec.resolved, image } } };
  const skipped = { status: { phase: 'Skipped', reason: 'Superseded' }, act: 'removeJob' };
  const goesOn = { status: { phase: 'Building' } };
  const finishSkipped = { ...defaultSettings().builds, finishSkipped: true };
  const awaits = pod({});
  it.each<[string, AppRevision, Partial<ObservedBuild>, object]>([
    ['is cancelled', building, {}, skipped],
    ['is cancelled before it has begun', begun, { pod: awaits }, skipped],
    [
      'is cancelled before it has begun, whatever the setting',
      begun,
      { pod: awaits, settings: finishSkipped },
      skipped,
    ],
    ['is finished by a setting', building, { settings: finishSkipped }, goesOn],
    ['is cancelled for a revision that has an image', building, { siblings: [withImage, building] }, skipped],
    [
      'goes on for a newer revision of the same source',
      building,
      { siblings: [revision({ commit }, 2), building] },
      goesOn,
    ],
    ['goes on until the newer commit is known', building, { siblings: [revision({}, 2), building] }, goesOn],
    ['goes on while paused', building, { isPaused: true }, goesOn],
  ])('a build that a newer revision overtakes %s', (_what, of, more, step) => {
    const observed = seen(of, {
      siblings: [overtaken, of],
      job: job(),
      pod: pod({ fetch: fetched, plan: running }),
      ...more,
    });
    const found = nextBuildStep(observed, now);
    expect(found).toMatchObject(step);
    expect(found.act).toBe((step as { act?: string }).act);
  });

  it('a build that cannot start fails at its time limit with the reason that prevented the start', () => {
    const stuck = revision({
      phase: 'AwaitingBuild',
      reason: 'CodeHostUnreachable',
      message: 'It does not answer.',
      startedAt: '2026-01-01T00:40:00Z',
    });
    expect(nextBuildStep(seen(stuck), now)).toMatchObject({
      status: { phase: 'Failed', reason: 'CodeHostUnreachable' },
    });
  });

  it('a build that was not started in time, and that nothing prevented, has exceeded its time limit', () => {
    const late = revision({
      phase: 'AwaitingBuild',
      reason: 'PodStarting',
      message: 'The build pod is being created.',
      startedAt: '2026-01-01T00:20:00Z',
    });
    expect(nextBuildStep(seen(late), now).status).toMatchObject({
      phase: 'Failed',
      reason: 'TimedOut',
      message: 'The build could not be started in time. Create a new revision to build again.',
    });
  });

  it('the message for an image that cannot be pulled does not alternate with that of the kubelet', () => {
    const begun = revision({ phase: 'AwaitingBuild', startedAt: earlier });
    const statuses = [
      { reason: 'ErrImagePull', message: 'r.example/builder:1: not found' },
      {
        reason: 'ImagePullBackOff',
        message: 'Back-off pulling image "r.example/builder:1": ErrImagePull: r.example/builder:1: not found',
      },
    ].map((waiting) => nextBuildStep(seen(begun, { job: job(), pod: pod({ fetch: { waiting } }) }), now).status);
    expect(statuses[0]).toMatchObject({
      phase: 'AwaitingBuild',
      reason: 'BuilderImagePullFailed',
      message: expect.stringMatching(/cannot be pulled: r\.example\/builder:1: not found\. The platform team can/),
    });
    expect(new Set(statuses.map((status) => JSON.stringify(status))).size).toBe(1);
  });

  it('an image that cannot be pulled for two minutes fails the build', () => {
    const long = revision({ phase: 'AwaitingBuild', startedAt: '2026-01-01T00:57:00Z' });
    const observed = seen(long, { job: job(), pod: pod({ fetch: { waiting: { reason: 'ErrImagePull' } } }) });
    expect(nextBuildStep(observed, now)).toMatchObject({
      status: { phase: 'Failed', reason: 'BuilderImagePullFailed' },
    });
  });
});

describe('after a build', () => {
  const built = revision({ phase: 'Built', commit, image, digest, finishedAt: '2026-01-01T00:30:00Z' });
  it.each<[string, ObservedBuild, object]>([
    [
      'its Job is kept without credentials',
      seen(built, { job: job() }),
      { act: 'forgetCredentials', requeueAfterMs: 1_800_000 },
    ],
    [
      'its Job is deleted after the retention time',
      seen(revision({ phase: 'Failed', finishedAt: '2025-12-31T23:00:00Z' }), { job: job() }),
      { act: 'removeJob' },
    ],
    [
      'the Job of an interrupted build is deleted at once',
      seen(revision({ phase: 'Interrupted', finishedAt: earlier }), { job: job() }),
      { act: 'removeJob' },
    ],
    ['nothing is done without a Job', seen(built), {}],
    ['nothing is done while the Job is being deleted', seen(built, { job: job({ deletionTimestamp: earlier }) }), {}],
    [
      'an interruption does not change a finished build',
      seen(built, {
        record: { ...record, metadata: { ...record.metadata, annotations: { 'davit.dev/interrupt': built.spec.id } } },
      }),
      {},
    ],
  ])('%s', (_what, observed, step) => {
    expect(nextBuildStep(observed, now)).toEqual(step);
  });
});
