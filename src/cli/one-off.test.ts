// What `run` creates, and how it ends.

import { describe, expect, it } from 'vitest';
import { answering, aRecord, makeInstantClock, REVISION, runCli, uid } from '../../test/support/cli-world.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { RECORDS } from './records.ts';

const { id } = REVISION.spec;
const record = aRecord({}, { activeRevisionId: id });
const requested = { runtime: { envNames: { JOBS: 'jobs' } } };
const revision = { ...REVISION, spec: { ...REVISION.spec, requested, resolved: { postgres: {} } } };
const labels = {
  'davit.dev/component': 'server',
  'app.kubernetes.io/name': 'shop',
  'pod-template-hash': 'x',
  'davit.dev/revision': id,
  team: 'a',
};
const OF_RUN = {
  'app.kubernetes.io/name': 'shop',
  'app.kubernetes.io/instance': 'shop',
  'app.kubernetes.io/component': 'task',
  'app.kubernetes.io/part-of': 'davit',
  'app.kubernetes.io/managed-by': 'davit',
  'davit.dev/deployment': 'shop',
  'davit.dev/deployment-uid': uid,
  'davit.dev/component': 'task',
};
const server = {
  name: 'server',
  image: 'app:1',
  args: ['serve'],
  ports: [{ containerPort: 80 }],
  readinessProbe: {},
  env: [
    { name: 'DAVIT_ROLE', value: 'server' },
    { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'a=b,davit.role=server,c=d' },
    { name: 'JOBS', value: '10' },
    { name: 'K' },
  ],
};
const set = {
  metadata: { name: 'shop-x' },
  spec: { template: { metadata: { labels }, spec: { serviceAccountName: 'agent', containers: [server] } } },
};
const job = { metadata: { name: 'shop--run-abcde', uid: 'u' } };

function world(more: Readonly<Record<string, unknown>> = {}) {
  const written: [string, string][] = [];
  const ended = { name: 'davit-task', state: { terminated: { exitCode: 7 } } };
  const get = answering(
    {
      [RECORDS]: record,
      'apprevisions.davit.dev': { items: [revision] },
      'replicasets.apps': { items: [set] },
      pods: { items: [{ metadata: { name: 'p' }, status: { containerStatuses: [ended] } }] },
      ...more,
    },
    written,
  );
  const kubectl: Kubectl = async (args, input = '') => {
    await (args[0] === 'get' ? undefined : get(args, input));
    if (args[0] === 'get') return get(args, input);
    return JSON.stringify(job);
  };
  return { kubectl, written };
}

describe('run', () => {
  it('creates a Job like the active server, of the deployment and no part of it, and ends with its exit code', async () => {
    const { kubectl, written } = world();
    const ran = await runCli(['run', 'shop', '--timeout', '60', '--', 'ls', '-l'], { kubectl });
    expect(ran).toMatchObject({ code: 7, onTerminal: ['logs p --container=davit-task --follow'] });
    const [made, ...more] = written.map(([, input]) => JSON.parse(input) as unknown);
    expect(made).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        generateName: 'shop--run-',
        labels: { ...OF_RUN, 'davit.dev/revision': id },
        ownerReferences: [{ apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid }],
      },
      spec: {
        backoffLimit: 0,
        activeDeadlineSeconds: 60,
        ttlSecondsAfterFinished: 3600,
        template: {
          metadata: { labels: { ...OF_RUN, team: 'a', 'davit.dev/revision': id }, annotations: {} },
          spec: {
            serviceAccountName: 'agent',
            restartPolicy: 'Never',
            terminationGracePeriodSeconds: 30,
            containers: [
              {
                name: 'davit-task',
                image: 'app:1',
                env: [
                  { name: 'DAVIT_ROLE', value: 'task' },
                  { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'a=b,davit.role=task,c=d' },
                  { name: 'JOBS', value: '0' },
                  { name: 'K' },
                ],
                command: ['ls', '-l'],
              },
            ],
          },
        },
      },
    });
    expect(more).toEqual([]);
    expect(ran.asked.join('\n')).toContain(`davit.dev/component=server,davit.dev/revision=${id}`);
  });

  it('runs the command of a task of the active revision, for the time of the task', async () => {
    const tasks = [{ name: 'clean', command: ['clean', '--all'], timeoutSeconds: 90 }];
    const own = { ...revision, spec: { ...revision.spec, requested: { tasks } } };
    const { kubectl, written } = world({ 'apprevisions.davit.dev': { items: [own] } });
    expect(await runCli(['run', 'shop', '--task', 'clean'], { kubectl })).toMatchObject({ code: 7 });
    expect(JSON.parse(written[0]?.[1] ?? '')).toMatchObject({
      metadata: { labels: { 'davit.dev/task': 'clean' } },
      spec: { activeDeadlineSeconds: 90, template: { spec: { containers: [{ command: ['clean', '--all'] }] } } },
    });
    expect(await runCli(['run', 'shop', '--task', 'gone'], { kubectl })).toMatchObject({
      code: 1,
      err: 'The active revision of shop has no task gone. It has clean.',
    });
    expect(await runCli(['run', 'shop', '--task', 'clean', '--', 'ls'], { kubectl })).toMatchObject({ code: 2 });
    expect(written).toHaveLength(1);
  });

  it('of a task ends when its end is told, so that nobody is told next that it goes on', async () => {
    const requested = { tasks: [{ name: 'clean', command: ['clean'] }] };
    const own = { ...revision, spec: { ...revision.spec, requested } };
    const told = (state: string): object => ({
      ...record,
      status: { ...record.status, tasks: [{ name: 'clean', runs: [{ job: job.metadata.name, state }] }] },
    });
    const { kubectl: asks } = world({ 'apprevisions.davit.dev': { items: [own] } });
    const looks = async (answers: readonly object[]): Promise<[code: number, left: number, seconds: number]> => {
      const left = [...answers];
      const clock = makeInstantClock();
      const kubectl: Kubectl = async (args, input) => {
        if (args[0] !== 'get' || args[1] !== RECORDS) return asks(args, input);
        return JSON.stringify(left.length > 1 ? left.shift() : left[0]);
      };
      const { code } = await runCli(['run', 'shop', '--task', 'clean'], { kubectl, clock });
      return [code, left.length, clock.now() / 1000];
    };
    expect(await looks([record, record, told('Running'), told('Failed')])).toEqual([7, 1, 2]);
    // The command has ended, whatever is told of it.
    expect(await looks([record])).toEqual([7, 1, 10]);
    expect((await looks([record, { ...record, status: {} }]))[0]).toBe(7);
  });

  it('fails with the message of a Job that ended without an exit code', async () => {
    const failed = { status: { conditions: [{ type: 'Failed', status: 'True', message: 'was active too long' }] } };
    const { kubectl } = world({ pods: { items: [] }, 'jobs.batch': failed });
    const ran = await runCli(['run', 'shop', '--', 'ls'], { kubectl });
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('failed: was active too long') });
  });

  it('says that somebody has deleted its Job', async () => {
    const { kubectl: all } = world({ pods: { items: [] } });
    const kubectl: Kubectl = (args, input) =>
      args[1] === 'jobs.batch'
        ? Promise.reject(new Failure('Error from server (NotFound): jobs.batch "shop--run-abcde" not found'))
        : all(args, input);
    const ran = await runCli(['run', 'shop', '--', 'ls'], { kubectl });
    expect(ran).toMatchObject({
      code: 1,
      err: expect.stringContaining('Job shop--run-abcde was deleted before its end.'),
    });
    expect(ran.err).not.toContain('NotFound');
  });

  it('says why a command could not be started, which has no log and no exit code of its own', async () => {
    const message = 'exec: "nosuch": executable file not found in $PATH';
    const ended = { name: 'davit-task', state: { terminated: { exitCode: 128, reason: 'StartError', message } } };
    const pod = { metadata: { name: 'shop--run-abcde-x' }, status: { containerStatuses: [ended] } };
    const { kubectl } = world({ pods: { items: [pod] }, 'jobs.batch': { status: {} } });
    const ran = await runCli(['run', 'shop', '--', 'nosuch'], { kubectl });
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(message), onTerminal: [] });
  });

  it('does not pass on the exit code of a command that was ended for its time', async () => {
    const over = { type: 'FailureTarget', status: 'True', reason: 'DeadlineExceeded', message: 'was active too long' };
    const ended = { name: 'davit-task', state: { terminated: { exitCode: 137 } } };
    const pod = { metadata: { name: 'shop--run-abcde-x' }, status: { containerStatuses: [ended] } };
    const of = (conditions: readonly object[]): Readonly<Record<string, unknown>> => ({
      pods: { items: [pod] },
      'jobs.batch': { status: { conditions } },
    });
    const ran = async (conditions: readonly object[]): Promise<object> =>
      runCli(['run', 'shop', '--', 'ls'], { kubectl: world(of(conditions)).kubectl });
    expect(await ran([over])).toMatchObject({ code: 124, err: expect.stringContaining('its time is over') });
    expect(await ran([{ ...over, reason: 'BackoffLimitExceeded' }])).toMatchObject({ code: 137 });
  });

  it.each<[string, string[], Readonly<Record<string, unknown>>, number, RegExp]>([
    ['a command', ['run', 'shop'], {}, 2, /^Which command\?/],
    ['an active revision', ['run', 'shop', '--', 'ls'], { [RECORDS]: aRecord() }, 1, /no active revision yet/],
    ['a template of it', ['run', 'shop', '--', 'ls'], { 'replicasets.apps': { items: [] } }, 1, /no pod template/],
  ])('needs %s', async (_what, args, more, code, err) => {
    const { kubectl, written } = world(more);
    expect(await runCli(args, { kubectl })).toMatchObject({ code, err: expect.stringMatching(err) });
    expect(written).toEqual([]);
  });
});
