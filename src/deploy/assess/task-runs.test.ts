import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, ownLabels } from '../../../test/support/builders.ts';
import type { Task, TaskRun, TaskStatus } from '../../kinds/tasks.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { untilPodsMissedMs } from './jobs.ts';
import type { ContainerStatus, Observed, ObservedCondition, Pod } from './observed.ts';
import { checkTasks, taskStatuses } from './task-runs.ts';

const CLEAN: Task = { name: 'clean', schedule: '0 3 * * *', command: ['clean'], timeoutSeconds: 60 };
const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;
const id = aRevision(aRecord()).spec.id;
const labelled = { ...ownLabels('task'), 'davit.dev/task': 'clean' };

const CRON_JOB = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'shop--clean', uid: 'cron-job', controller: true };

function cronJob(suspend = false, labels: Record<string, string> = labelled): KubeObject {
  const metadata = { name: 'shop--clean', namespace: 'team', uid: CRON_JOB.uid, labels };
  return { apiVersion: 'batch/v1', kind: 'CronJob', metadata, spec: { suspend } } as KubeObject;
}
function job(minute: number, end?: ObservedCondition, labels: Record<string, string> = labelled): KubeObject {
  const metadata = {
    name: `shop--clean-${minute}`,
    namespace: 'team',
    creationTimestamp: at(minute),
    labels: { ...labels, 'davit.dev/revision': id },
    ownerReferences: [CRON_JOB],
  };
  const status = { startTime: at(minute), ...(end && { conditions: [end] }) };
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { activeDeadlineSeconds: 60 }, status } as KubeObject;
}
const ended = (type: string, minute: number, reason = ''): ObservedCondition => ({
  type,
  status: 'True',
  reason,
  message: 'Job has reached the specified backoff limit',
  lastTransitionTime: at(minute),
});
const COMPLETE = ended('Complete', 9);
const FAILED = ended('Failed', 9, 'BackoffLimitExceeded');
const LATE = ended('Failed', 9, 'DeadlineExceeded');

function podOf(minute: number, phase: string, container: Partial<ContainerStatus>, name = 'davit-task'): Pod {
  const pod = aPod('task', aRevision(aRecord()), { main: [{ name, ...container }] });
  const labels = { ...pod.metadata.labels, 'batch.kubernetes.io/job-name': `shop--clean-${minute}` };
  return { ...pod, metadata: { ...pod.metadata, labels }, status: { ...pod.status, phase } };
}
const exits = (exitCode: number, message: string): Partial<ContainerStatus> => ({
  state: { terminated: { exitCode, reason: 'Error', message } },
});
const NO_IMAGE: Partial<ContainerStatus> = { image: 'none:1', state: { waiting: { reason: 'ImagePullBackOff' } } };

function lost(minute: number): Pod {
  const pod = podOf(minute, 'Running', { state: { running: {} } });
  const metadata = { ...pod.metadata, deletionTimestamp: at(2) };
  return { ...pod, metadata, spec: { nodeName: 'n1' }, overdue: true };
}

interface Given {
  readonly tasks?: readonly Task[];
  readonly children?: readonly KubeObject[];
  readonly pods?: readonly Pod[];
  readonly before?: readonly TaskRun[];
  readonly maxScale?: number;
}
function seen({ tasks = [CLEAN], children = [], pods = [], before = [], maxScale = 1 }: Given): {
  observed: Observed;
  statuses: TaskStatus[] | undefined;
} {
  const spec = { sourceConfig: { tasks: [...tasks], resourceSpec: { maxScale } } };
  const runs = [...before];
  const record = aRecord(spec, { status: { tasks: [{ name: 'clean', state: 'Scheduled', runs }] } });
  const active = aRevision(record, 'DEPLOYED');
  const observed = anObserved(record, { revisions: [active], children: [cronJob(maxScale === 0), ...children], pods });
  return { observed, statuses: taskStatuses(observed, active) };
}
/** The same Job with another owner. */
function ownedBy(uid: string | undefined, one: KubeObject): KubeObject {
  const ownerReferences = uid === undefined ? [] : [{ ...CRON_JOB, uid }];
  return { ...one, metadata: { ...one.metadata, ownerReferences } };
}
const suspended = (one: KubeObject): KubeObject => ({ ...one, spec: { suspend: true } }) as KubeObject;
const runsIn = (given: Given): readonly TaskRun[] => seen(given).statuses?.[0]?.runs ?? [];

describe('a Job with the labels of a task', () => {
  it.each([
    ['of its CronJob is a run', job(1), 1],
    ['of the record is a run by hand', ownedBy(aRecord().metadata.uid, job(1)), 1],
    ['that nobody owns is none', ownedBy(undefined, job(1)), 0],
    ['of an earlier CronJob of the name is none', ownedBy('earlier', job(1)), 0],
    ['that is suspended does not run', suspended(job(1)), 0],
    ['that was suspended and has ended is a run', suspended(job(1, COMPLETE)), 1],
  ])('%s', (_what, child, runs) => {
    expect(runsIn({ children: [child] })).toHaveLength(runs);
  });
});

describe('a run', () => {
  const base = { job: 'shop--clean-1', revisionId: id, startedAt: at(1) };
  it.each<[reason: string, given: Given, run: object]>([
    ['has begun', { children: [job(1)] }, { ...base, state: 'Running' }],
    [
      'that cannot begin says why',
      { children: [job(1)], pods: [podOf(1, 'Pending', NO_IMAGE)] },
      {
        ...base,
        state: 'Running',
        reason: 'ImagePullFailed',
        message: expect.stringMatching(/^Image none:1 of the command cannot be pulled/),
      },
    ],
    [
      'whose pod a lost node does not let go says so',
      { children: [job(1)], pods: [lost(1)] },
      {
        ...base,
        state: 'Running',
        reason: 'PodStuckTerminating',
        message: expect.stringMatching(/^Pod shop-task-0 .* node n1 has not confirmed it\. .* kubectl taint nodes n1 /),
      },
    ],
    ['has succeeded', { children: [job(1, COMPLETE)] }, { ...base, state: 'Succeeded', finishedAt: at(9) }],
    [
      'has failed, in the last words of its container',
      { children: [job(1, FAILED)], pods: [podOf(1, 'Failed', exits(3, 'no such table'))] },
      {
        ...base,
        state: 'Failed',
        finishedAt: at(9),
        exitCode: 3,
        reason: 'ContainerCrashed',
        message: expect.stringMatching(/exit code 3\): no such table\. Read its log/),
      },
    ],
    [
      'whose pod is gone has the words of its Job',
      { children: [job(1, FAILED)] },
      {
        ...base,
        state: 'Failed',
        finishedAt: at(9),
        reason: 'BackoffLimitExceeded',
        message: 'Its Job failed: Job has reached the specified backoff limit.',
      },
    ],
    [
      'has not ended while the cache of pods does not show it',
      { children: [job(1, FAILED)], pods: [podOf(1, 'Running', { state: { running: {} } })] },
      { ...base, state: 'Running' },
    ],
    [
      'that was ended for its time says what it waited for until then',
      { children: [job(1, LATE)], before: [{ ...base, state: 'Running', message: 'Image none:1 cannot be pulled.' }] },
      {
        ...base,
        state: 'Failed',
        finishedAt: at(9),
        reason: 'DeadlineExceeded',
        message: 'It took longer than 60 s (timeout_seconds) and was stopped. Image none:1 cannot be pulled.',
      },
    ],
    [
      'that has ended stays as it was told, although its pod is gone',
      { children: [job(1, FAILED)], before: [{ ...base, state: 'Failed', exitCode: 3, message: 'no such table' }] },
      { ...base, state: 'Failed', exitCode: 3, message: 'no such table' },
    ],
  ])('%s', (_reason, given, run) => {
    expect(runsIn(given)).toEqual([run]);
  });

  it('has a message that the schema takes, whatever its container writes', () => {
    const words = `\u0000${'x'.repeat(9000)}\uD800`;
    const [run] = runsIn({ children: [job(1, FAILED)], pods: [podOf(1, 'Failed', exits(1, words))] });
    expect(run?.message?.length).toBe(512);
    expect(run?.message?.isWellFormed()).toBe(true);
  });

  it('the newest are shown, the newest first; those of another task, part or deployment are not', () => {
    const children = [
      ...[1, 2, 3, 4, 5, 6, 7].map((minute) => job(minute, COMPLETE)),
      job(8, COMPLETE, { ...labelled, 'davit.dev/task': 'other' }),
      job(9, COMPLETE, { ...labelled, 'davit.dev/component': 'migrate' }),
      job(10, COMPLETE, { ...labelled, 'davit.dev/deployment-uid': 'earlier' }),
    ];
    expect(runsIn({ children }).map((run) => run.job)).toEqual(
      [7, 6, 5, 4, 3].map((minute) => `shop--clean-${minute}`),
    );
  });
});

describe('a success whose Job is gone', () => {
  const jobsOf = (given: Given): string[] => runsIn(given).map((run) => run.job);
  it.each<[reason: string, given: Given, jobs: string[]]>([
    ['stays while an earlier failure is shown', { children: [job(1, FAILED)] }, ['shop--run-abcde', 'shop--clean-1']],
    [
      'has its place beside a run that goes on',
      { children: [job(1, FAILED), job(5)] },
      ['shop--clean-5', 'shop--run-abcde', 'shop--clean-1'],
    ],
    [
      'goes with the next success',
      { children: [job(1, FAILED), job(4, COMPLETE)] },
      ['shop--clean-4', 'shop--clean-1'],
    ],
    ['goes with the next failure', { children: [job(4, FAILED)] }, ['shop--clean-4']],
    ['goes with the failure', { children: [] }, []],
  ])('%s', (_reason, given, jobs) => {
    expect(jobsOf({ ...given, before: [byHand] })).toEqual(jobs);
  });

  it('is one of five', () => {
    const children = [1, 0].map((minute) => job(minute, FAILED));
    const running = [5, 6, 7, 8].map((minute) => job(minute));
    const shown = runsIn({ children: [...children, ...running], before: [byHand] });
    expect(shown.map((run) => run.job)).toEqual([
      ...[8, 7, 6, 5].map((minute) => `shop--clean-${minute}`),
      'shop--run-abcde',
    ]);
  });
});

describe('a task', () => {
  it.each<[reason: string, given: Given, task: object]>([
    ['follows its schedule', {}, { state: 'Scheduled', schedule: '0 3 * * *' }],
    ['rests at a scale of zero', { maxScale: 0 }, { state: 'Suspended', message: expect.stringContaining('zero') }],
    [
      'is run by hand',
      { tasks: [{ name: 'clean', command: ['clean'] }] },
      { state: 'OnDemand', name: 'clean', runs: [] },
    ],
    [
      'has no CronJob yet',
      { tasks: [{ ...CLEAN, name: 'new' }] },
      { state: 'Pending', message: expect.stringContaining('shop--new') },
    ],
  ])('%s', (_reason, given, task) => {
    expect(seen(given).statuses).toEqual([expect.objectContaining(task)]);
  });

  it('that somebody suspended says so, and a foreign CronJob of its name does not count', () => {
    const { observed } = seen({});
    const revision = observed.revisions[0] ?? aRevision(observed.record);
    const stateWith = (child: KubeObject): unknown =>
      taskStatuses({ ...observed, children: [child] }, revision)?.map(({ state, message }) => [state, message]);
    expect(stateWith(cronJob(true))).toEqual([['Suspended', 'CronJob shop--clean is suspended.']]);
    expect(stateWith(cronJob(false, {}))).toEqual([['Pending', 'CronJob shop--clean does not exist yet.']]);
  });

  it('no tasks have no status', () => {
    const record = aRecord();
    expect(taskStatuses(anObserved(record, {}), aRevision(record, 'DEPLOYED'))).toBeUndefined();
  });
});

const byHand: TaskRun = { job: 'shop--run-abcde', state: 'Succeeded', startedAt: at(2), finishedAt: at(3) };

describe('TasksReady', () => {
  const bad = { children: [job(1, FAILED)], pods: [podOf(1, 'Failed', exits(3, 'no such table'))] };
  const badLater = { children: [job(3, FAILED)], pods: [podOf(3, 'Failed', exits(3, 'no such table'))] };
  it.each<[reason: string, given: Given, says: RegExp]>([
    ['nothing has run yet', {}, /^pass NoTaskFailed No task's last run failed\.$/],
    [
      'the last run failed',
      bad,
      /^fail TaskFailed The last run of task clean failed\. .*no such table.*kubectl davit logs shop --task clean -n team/,
    ],
    ['another run goes on since', { ...bad, children: [...bad.children, job(2)] }, /^fail TaskFailed/],
    ['a later run has succeeded', { ...bad, children: [...bad.children, job(2, COMPLETE)] }, /^pass NoTaskFailed/],
    ['a later run by hand has succeeded, and its Job is gone', { ...bad, before: [byHand] }, /^pass NoTaskFailed/],
    ['a run has failed after that one', { ...badLater, before: [byHand] }, /^fail TaskFailed .*no such table/],
    [
      'a run by hand has failed, and its Job is gone',
      { children: [job(1, COMPLETE)], before: [{ ...byHand, state: 'Failed' }] },
      /^pass NoTaskFailed/,
    ],
    [
      'a run that its lost node does not let end',
      { children: [job(1)], pods: [lost(1)] },
      /^fail PodStuckTerminating A run of task clean does not end\. Pod .* node n1 .* The deployment keeps serving\.$/,
    ],
    [
      'a CronJob is missing',
      { tasks: [{ ...CLEAN, name: 'new' }] },
      /^unknown NotObserved Task new: CronJob shop--new does not/,
    ],
    [
      'scaled to zero',
      { maxScale: 0 },
      /^pass NoTaskFailed .* No run begins while the deployment is scaled to zero\.$/,
    ],
  ])('%s', (_reason, given, says) => {
    const { observed, statuses = [] } = seen(given);
    const { is, reason, message } = checkTasks(observed, statuses);
    expect(`${is} ${reason} ${message}`).toMatch(says);
  });
});

it('a run whose Job gets no pod says so after a minute, where its events tell why', () => {
  const { observed } = seen({ children: [job(1)] });
  const active = aRevision(observed.record, 'DEPLOYED');
  const says = (ms: number): string | undefined => {
    const patience = { at: Date.parse(at(1)) + ms } as NonNullable<Observed['patience']>;
    return taskStatuses({ ...observed, patience }, active)?.[0]?.runs[0]?.message;
  };
  expect([says(59_999), says(60_000)]).toEqual([
    undefined,
    'Job shop--clean-1 has no pod yet. Its events show the cause: kubectl describe job shop--clean-1 -n team',
  ]);
  const now = new Date(Date.parse(at(1)) + 1000);
  expect(untilPodsMissedMs(observed, now)).toBe(59_000);
  expect(untilPodsMissedMs({ ...observed, pods: [podOf(1, 'Pending', {})] }, now)).toBeUndefined();
});
