// What `run` creates, and how it ends.

import { describe, expect, it } from 'vitest';
import { aRevision, aRecord as aWhole, UID } from '../../../test/support/builders.ts';
import { type CliRan, type CliWorld, makeInstantClock } from '../../../test/support/cli-world.ts';
import { makeOwnCli, type OwnCli } from '../../../test/support/own-cli.ts';
import { APP_DEPLOYMENTS, type AppDeployment, type AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { JOBS, PODS, REPLICA_SETS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { Clock } from '../line/command.ts';

const { id } = aRevision(aWhole()).spec;
const labels = {
  'davit.dev/deployment': 'shop',
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
  'davit.dev/deployment-uid': UID,
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
    { name: 'PORT', value: '8080' },
    { name: 'LISTEN', value: '8080' },
    { name: 'K' },
  ],
};
const TASKS = [{ name: 'clean', command: ['clean', '--all'], timeoutSeconds: 90 }];
const OWN: Partial<AppDeploymentSpec> = {
  sourceConfig: { runtime: { envNames: { JOBS: 'jobs', LISTEN: 'port' }, server: { port: 8080 } }, tasks: TASKS },
};

function stage({ active = true, template = true } = {}): OwnCli {
  const record = aWhole(OWN, active ? { status: { activeRevisionId: id } } : {});
  const cli = makeOwnCli({ record, revisions: [aRevision(aWhole(OWN), 'DEPLOYED')] });
  const spec = { serviceAccountName: 'agent', containers: [server] };
  if (template)
    cli.kube.seed(REPLICA_SETS, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: 'shop-x', namespace: 'team', labels },
      spec: { template: { metadata: { labels }, spec } },
    } as KubeObject);
  return cli;
}

const jobsOf = ({ kube }: OwnCli): KubeObject[] => kube.objects(JOBS);

interface Next {
  /** Conditions of the Job that are true. */
  readonly conditions?: readonly object[];
  /** State of the container of its pod, of which there is none without it. */
  readonly state?: object;
  /** What the command has written by then. */
  readonly log?: string;
}

/** The next look finds this. */
function become(cli: OwnCli, { conditions = [], state, log }: Next): void {
  const [job] = jobsOf(cli);
  if (job === undefined) throw new Error('There is no Job.');
  const status = { conditions: conditions.map((one) => ({ status: 'True', ...one })) };
  cli.kube.seed(JOBS, { ...job, status } as KubeObject);
  if (state === undefined) return;
  if (log !== undefined) cli.kube.texts.set('/api/v1/namespaces/team/pods/p/log?container=davit-task', log);
  // What programs read has none of it.
  cli.kube.texts.set('/api/v1/namespaces/team/pods/p/log?container=wait', '2026-01-01T00:00:00Z PostgreSQL answers\n');
  const ofPod = { ...job.metadata.labels, 'batch.kubernetes.io/job-name': job.metadata.name };
  const ended = 'terminated' in state;
  cli.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'team', labels: ofPod },
    status: {
      phase: ended ? 'Failed' : 'Running',
      ...(log !== undefined && {
        initContainerStatuses: [
          {
            name: 'wait',
            state: { terminated: { exitCode: 0, finishedAt: '2026-01-01T00:00:00Z' } },
            containerID: 'w',
          },
        ],
      }),
      containerStatuses: [{ name: 'davit-task', state, ...(log !== undefined && { containerID: 'x' }) }],
    },
  } as KubeObject);
}

/** Each wait brings the next of `nexts`. */
function ran(cli: OwnCli, args: readonly string[], nexts: readonly Next[] = [], world: CliWorld = {}): Promise<CliRan> {
  const left = [...nexts];
  const clock = makeInstantClock();
  const looks: Clock = {
    ...clock,
    async sleep(milliseconds) {
      const next = left.shift();
      if (next) become(cli, next);
      await clock.sleep(milliseconds);
    },
  };
  return cli.run(['run', 'shop', ...args], { clock: looks, ...world });
}

const COMPLETE: Next = { conditions: [{ type: 'Complete' }] };
const exited = (exitCode: number, more: object = {}): Next => ({
  conditions: [{ type: 'Failed', reason: 'BackoffLimitExceeded' }],
  state: { terminated: { exitCode, ...more } },
});

describe('run', () => {
  it('creates a Job like the active server, of the deployment and no part of it, and ends with its exit code', async () => {
    const cli = stage();
    const { code, err } = await ran(cli, ['--timeout', '60', '--', 'ls', '-l'], [exited(7)]);
    expect(code).toBe(7);
    const [made, ...more] = jobsOf(cli);
    expect(more).toEqual([]);
    expect(err).toBe(`Job ${made?.metadata.name} runs the command.`);
    expect(made).toMatchObject({
      metadata: {
        name: expect.stringMatching(/^shop--run-[a-z0-9]+$/),
        labels: { ...OF_RUN, 'davit.dev/revision': id },
        ownerReferences: [{ apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: UID }],
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
                  { name: 'PORT', value: '8000' },
                  { name: 'LISTEN', value: '8000' },
                  { name: 'K' },
                ],
                command: ['ls', '-l'],
              },
            ],
          },
        },
      },
    });
  });

  it('ends with 0, and has an hour where no time is given', async () => {
    const cli = stage();
    expect(await ran(cli, ['--', 'true'], [COMPLETE])).toMatchObject({ code: 0 });
    expect(jobsOf(cli)).toMatchObject([{ spec: { activeDeadlineSeconds: 3600 } }]);
  });

  it('runs the command of a task of the active revision, for the time of the task or of --timeout', async () => {
    const cli = stage();
    expect(await ran(cli, ['--task', 'clean'], [exited(7)])).toMatchObject({ code: 7 });
    expect(jobsOf(cli)).toMatchObject([
      {
        metadata: { labels: { 'davit.dev/task': 'clean' } },
        spec: { activeDeadlineSeconds: 90, template: { spec: { containers: [{ command: ['clean', '--all'] }] } } },
      },
    ]);
    expect(await ran(cli, ['--task', 'gone'])).toMatchObject({
      code: 1,
      err: 'The active revision of shop has no task gone. It has clean.',
    });
    expect(await ran(cli, ['--task', 'clean', '--', 'ls'])).toMatchObject({ code: 2 });
    expect(jobsOf(cli)).toHaveLength(1);
    const shorter = stage();
    await ran(shorter, ['--task', 'clean', '--timeout', '5'], [exited(0)]);
    expect(jobsOf(shorter)).toMatchObject([{ spec: { activeDeadlineSeconds: 5 } }]);
  });

  it.each([
    ['its report', 3, 2],
    ['ten seconds, where there is none', 99, 11],
  ])('of a task waits for %s, so that `tasks` does not show it as running', async (_what, reportedAt, seconds) => {
    const cli = stage();
    let waits = 0;
    const clock = makeInstantClock();
    const looks: Clock = {
      ...clock,
      async sleep(milliseconds) {
        waits += 1;
        if (waits === 1) become(cli, exited(7));
        const runs = [{ job: jobsOf(cli)[0]?.metadata.name, state: waits < reportedAt - 1 ? 'Running' : 'Failed' }];
        const status = { activeRevisionId: id, tasks: [{ name: 'clean', state: 'OnDemand', runs }] };
        if (waits < 50) cli.kube.seed(APP_DEPLOYMENTS, { ...cli.stored(), status } as AppDeployment);
        await clock.sleep(milliseconds);
      },
    };
    const { code } = await cli.run(['run', 'shop', '--task', 'clean'], { clock: looks });
    expect([code, clock.now() / 1000]).toEqual([7, seconds]);
  });

  it.each<[string, Next, number, RegExp]>([
    [
      'of a Job that ended without an exit code',
      { conditions: [{ type: 'Failed', message: 'was active too long' }] },
      1,
      /\nJob shop--run-\w+ failed: .*was active too long/,
    ],
    [
      'of a command that could not be started',
      exited(128, { reason: 'StartError', message: 'exec: "nosuch": executable file not found in $PATH' }),
      1,
      /\nJob shop--run-\w+ failed: .*executable file not found/,
    ],
    [
      'of a command that was ended for its time',
      { conditions: [{ type: 'Failed', reason: 'DeadlineExceeded' }], state: { terminated: { exitCode: 137 } } },
      124,
      /\nJob shop--run-\w+ was stopped: it timed out/,
    ],
  ])('passes on no exit code %s', async (_what, next, code, err) => {
    expect(await ran(stage(), ['--', 'ls'], [next])).toMatchObject({ code, err: expect.stringMatching(err) });
  });

  it('says why it waits, each reason once', async () => {
    const waiting = { state: { waiting: { reason: 'ImagePullBackOff' } } };
    const { code, err, onTerminal } = await ran(stage(), ['--', 'ls'], [waiting, waiting, COMPLETE]);
    expect([code, onTerminal]).toEqual([0, []]);
    expect(err.match(/cannot be pulled/g)).toHaveLength(1);
  });

  it('says that somebody has deleted its Job', async () => {
    const cli = stage();
    const clock: Clock = {
      ...makeInstantClock(),
      async sleep() {
        const [job] = jobsOf(cli);
        cli.kube.erase(JOBS, { namespace: 'team', name: job?.metadata.name ?? '' });
      },
    };
    const deleted = await cli.run(['run', 'shop', '--', 'ls'], { clock });
    expect(deleted).toMatchObject({
      code: 1,
      err: expect.stringMatching(/\nJob shop--run-\w+ was deleted before it ended\.$/),
    });
  });

  const at = (second: number, message: string): string => `2026-01-01T00:00:0${second}Z ${message}\n`;

  it.each<[string, string[], CliWorld]>([
    ['a kubeconfig', [], {}],
    ['a kubeconfig of another user', ['--as', 'jane'], {}],
    ['an address and a token', [], { environment: { DAVIT_SERVER: 'https://davit.example', DAVIT_TOKEN: 't' } }],
  ])('prints each line that the command writes once, with %s', async (_what, flags, world) => {
    const log = at(1, 'one') + at(2, '') + at(3, '\u001B[31mred\u001B[0m');
    const nexts = [
      { state: { running: {} }, log },
      { ...exited(3), log: log + at(4, 'last') },
    ];
    const { code, out, onTerminal, asked } = await ran(stage(), [...flags, '--', 'ls'], nexts, world);
    expect([code, out, onTerminal, asked]).toEqual([3, 'one\n\n\u001B[31mred\u001B[0m\nlast', [], []]);
  });

  it('prints all of a log that is longer than what is read of it at once', async () => {
    const lineOf = (_: unknown, n: number): string =>
      `${new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString()} ${'x'.repeat(60_000)}${n}\n`;
    const log = Array.from({ length: 150 }, lineOf).join('');
    const { out } = await ran(stage(), ['--', 'ls'], [{ ...exited(0), log }]);
    expect(out.split('\n').map((line) => Number(line.replaceAll('x', '')))).toEqual([...Array(150).keys()]);
  });

  it('lets a terminal show colours, and do nothing else', async () => {
    const log = at(1, 'a\u001B[31mred\u001B]0;title\u0007');
    const { out } = await ran(stage(), ['--', 'ls'], [{ ...exited(0), log }], { answers: [] });
    expect(out).toBe('a\u001B[31mred\uFFFD]0;title\uFFFD\u001B[0m');
  });

  it.each<[string, string[], OwnCli, number, RegExp]>([
    ['a command', [], stage(), 2, /^Which command\?/],
    ['an active revision', ['--', 'ls'], stage({ active: false }), 1, /no active revision yet/],
    ['a template of it', ['--', 'ls'], stage({ template: false }), 1, /no pod template/],
  ])('needs %s', async (_what, args, cli, code, err) => {
    expect(await ran(cli, args)).toMatchObject({ code, err: expect.stringMatching(err) });
    expect(jobsOf(cli)).toEqual([]);
  });
});
