// `wait`: the last lines of what failed.

import { describe, expect, it } from 'vitest';
import {
  answering,
  aRecord,
  type CliRan,
  makeInstantClock,
  REVISION,
  runCli,
  uid,
} from '../../test/support/cli-world.ts';
import { makeOwnCli } from '../../test/support/own-cli.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { HttpApi } from './http-api.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { RECORDS } from './records.ts';

describe('what wait makes of a failure', () => {
  const condition = (type: string, status: string, reason: string): object => ({
    type,
    status,
    reason,
    message: `${reason} it is.`,
    lastTransitionTime: '2026-02-02T00:00:00Z',
  });
  const look = (conditions: readonly object[], generation = 1, observedGeneration = 1): AppDeployment =>
    aRecord({}, { conditions, observedGeneration }, { generation });
  const stalled = (reason: string): object[] => [
    condition('Ready', 'False', reason),
    condition('Stalled', 'True', reason),
  ];
  const secret = look(stalled('SecretMissing'));
  const rolling = look([condition('Ready', 'False', 'Progressing'), condition('Stalled', 'False', 'Settled')]);
  const ready = look([condition('Ready', 'True', 'Serving'), condition('Stalled', 'False', 'Settled')]);
  const zero = look([condition('Ready', 'True', 'ScaledToZero'), condition('Stalled', 'False', 'Settled')]);

  /** `looks`: what each reading finds; the last one stays. */
  async function waited(looks: readonly AppDeployment[], ...flags: string[]): Promise<[CliRan, seconds: number]> {
    const clock = makeInstantClock();
    const left = [...looks];
    const kubectl: Kubectl = async ([, resource]) => {
      if (resource !== RECORDS) return JSON.stringify({ items: [] });
      return JSON.stringify(left.length > 1 ? left.shift() : left[0]);
    };
    const ran = await runCli(['wait', 'shop', ...flags], { kubectl, clock });
    return [ran, clock.now() / 1000];
  }

  it('that is from before a repair: it is looked at again', async () => {
    const [ran] = await waited([secret, secret, secret, rolling, ready]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out.split('\n')).toEqual([
      'Stalled: SecretMissing. SecretMissing it is.',
      'This may be from before a repair. If it is still so in 10 s, it counts.',
      'Progressing. Progressing it is.',
      'Ready: Serving it is.',
    ]);
  });

  it('that the generation before had: the newest one has to be observed, and to be as bad', async () => {
    const before = look(stalled('SecretMissing'), 2, 1);
    const [ran] = await waited([before, before, look(stalled('SecretMissing'), 2, 2), rolling, ready]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    const [late] = await waited([before], '--timeout', '30');
    expect(late).toMatchObject({
      code: 124,
      err: expect.stringMatching(/^shop is not ready after 30 s\. Davit has not observed/),
    });
  });

  it.each([
    ['SecretMissing', 10],
    ['ApplyRefused', 75],
  ])('%s, that nobody corrects: it counts after %i s', async (reason, seconds) => {
    const [ran, took] = await waited([look(stalled(reason))]);
    expect([ran.code, took]).toEqual([1, seconds]);
  });

  it.each([
    ['after it was better', [rolling, secret]],
    ['in place of the one before', [secret, look(stalled('SourceNotAllowed'))]],
  ])('that is news, %s: it counts at once', async (_when, looks) => {
    const [ran, took] = await waited(looks);
    expect([ran.code, took]).toEqual([1, 1]);
  });

  it('that still stands when the time is over: it is a failure, and not undecided', async () => {
    const [ran, took] = await waited([look(stalled('ApplyRefused'))], '--timeout', '5');
    expect([ran.code, took]).toEqual([1, 5]);
  });

  it.each<[string, readonly AppDeployment[], object]>([
    [
      'ready',
      [ready],
      {
        name: 'shop',
        state: null,
        activeRevisionId: null,
        url: null,
        result: 'ready',
        reason: 'Serving',
        message: 'Serving it is.',
        hint: null,
        exitCode: 0,
      },
    ],
    [
      'ready, and scaled to zero',
      [zero],
      expect.objectContaining({
        reason: 'ScaledToZero',
        hint: 'kubectl davit scale --namespace=staging shop server=1',
        exitCode: 0,
      }),
    ],
    [
      'failed',
      [secret],
      {
        error:
          'shop will not become ready on its own: SecretMissing it is. See: kubectl davit status --namespace=staging shop',
        result: 'failed',
        reason: 'SecretMissing',
        message: 'SecretMissing it is.',
        hint: 'kubectl davit status --namespace=staging shop',
        exitCode: 1,
      },
    ],
    [
      'not decided',
      [rolling],
      {
        error: 'shop is not ready after 20 s. Progressing. Progressing it is.',
        result: 'undecided',
        reason: 'Progressing',
        message: 'Progressing it is.',
        hint: 'kubectl davit wait --namespace=staging shop',
        exitCode: 124,
      },
    ],
    [
      'not observed',
      [look(stalled('SecretMissing'), 2, 1)],
      expect.objectContaining({ reason: null, message: 'Davit has not observed its latest change yet.' }),
    ],
  ])('tells programs why: %s', async (_what, looks, document) => {
    const [{ out, code }] = await waited(looks, '-o', 'json', '-n', 'staging', '--timeout', '20');
    const told = JSON.parse(out) as { readonly exitCode: number };
    expect(told).toEqual(document);
    expect(told.exitCode).toBe(code);
  });
});

describe('a container of a deployed revision that exits again and again, whose exits Davit does not count', () => {
  const condition = (type: string, status: string, message = 'Container server exited.'): object => ({
    type,
    status,
    reason: 'ContainerCrashed',
    message,
    lastTransitionTime: '2026-02-02T00:00:00Z',
  });
  const saying = (phase: string, cause?: string): AppDeployment =>
    aRecord(
      {},
      {
        phase,
        conditions: [condition('Ready', 'False'), condition('WorkloadsReady', 'False', cause)],
        observedGeneration: 1,
      },
      { generation: 1 },
    );
  interface Seen {
    readonly restarts: number;
    readonly uid?: string;
    readonly part?: string;
  }
  const podOf = ({ restarts, uid: own = 'a', part = 'server' }: Seen): object => ({
    metadata: { name: 'shop-1', uid: own, labels: { 'davit.dev/component': part } },
    status: {
      containerStatuses: [
        {
          name: part,
          ready: false,
          restartCount: restarts,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 3, reason: 'Error' } },
        },
      ],
    },
  });

  /** `looks`: what each list of pods has; the last one stays. Null: the caller may not list them. */
  async function waited(
    looks: readonly Seen[] | null,
    record = saying('DEPLOYED'),
  ): Promise<[CliRan, seconds: number]> {
    const clock = makeInstantClock();
    const left = [...(looks ?? [])];
    const kubectl: Kubectl = async ([verb, resource]) => {
      if (verb === 'logs') return 'no licence\n';
      if (resource === RECORDS) return JSON.stringify(record);
      if (resource !== 'pods') return JSON.stringify({ items: [] });
      const [seen] = left.length > 1 ? left.splice(0, 1) : left;
      if (seen === undefined) throw new Failure('Error from server (Forbidden): pods is forbidden');
      return JSON.stringify({ items: [podOf(seen)] });
    };
    const ran = await runCli(['wait', 'shop', '--timeout', '30'], { kubectl, clock });
    return [ran, clock.now() / 1000];
  }

  it('ends with its reason and its last lines after three exits: the revision was deployed at a scale of zero', async () => {
    const [ran, took] = await waited([{ restarts: 0 }, { restarts: 1 }, { restarts: 2 }]);
    expect([ran.code, took, ran.out]).toEqual([1, 2, 'ContainerCrashed. Container server exited.']);
    expect(ran.err.split('\n')).toEqual([
      'The last lines of container server of pod shop-1:',
      'no licence',
      'More of its log: kubectl davit logs shop --previous',
      'shop will not become ready on its own: Container server exited. See: kubectl davit status shop',
    ]);
  });

  it.each<[string, readonly Seen[] | null, code: number]>([
    ['whose exits may be from before a repair', [{ restarts: 9 }], 124],
    ['that exits again since then', [{ restarts: 9 }, { restarts: 9 }, { restarts: 10 }], 1],
    ['in whose place a new one exits', [{ restarts: 9 }, { restarts: 0, uid: 'b' }, { restarts: 2, uid: 'b' }], 1],
    ['in whose place a new one exits once', [{ restarts: 9 }, { restarts: 0, uid: 'b' }], 124],
    [
      'of a run',
      [
        { restarts: 0, part: 'task' },
        { restarts: 5, part: 'task' },
      ],
      124,
    ],
    ['that the caller may not list', null, 124],
  ])('of a pod %s', async (_what, looks, code) => {
    expect((await waited(looks))[0].code).toBe(code);
  });

  it.each([
    ['a new revision, which Davit gives up', saying('DEPLOYING')],
    ['what keeps it from being ready is a store', saying('DEPLOYED', 'Container postgres exited.')],
  ])('does not count where it is of %s', async (_what, record) => {
    expect((await waited([{ restarts: 0 }, { restarts: 5 }], record))[0].code).toBe(124);
  });
});

describe('wait', () => {
  const stalled = (reason: string): AppDeployment =>
    aRecord({}, { conditions: [{ type: 'Stalled', status: 'True', reason, message: 'Why.' }] });
  const crashed = (state: object): object => ({
    metadata: { name: 'shop-1' },
    status: {
      containerStatuses: [{ name: 'server', ready: false, state, lastState: { terminated: { exitCode: 3 } } }],
    },
  });
  const withLogs =
    (kubectl: Kubectl): Kubectl =>
    (args, input) =>
      args[0] === 'logs' ? Promise.resolve('no licence\nbye\n') : kubectl(args, input);

  it.each<[string, object, string[]]>([
    ['that waits', { state: { waiting: { reason: 'CrashLoopBackOff' } } }, ['--previous']],
    ['that runs again', { state: { running: {} } }, ['--previous']],
    [
      'that ended well, although it was to run',
      { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 0 } } },
      ['--previous'],
    ],
    ['that has just ended well', { state: { terminated: { exitCode: 0 } }, lastState: {} }, []],
    [
      'that ended well and runs again',
      { state: { running: {} }, lastState: { terminated: { exitCode: 0 } } },
      ['--previous'],
    ],
  ])('ends with the last lines of a container %s', async (_what, seen, previous) => {
    const pod = {
      metadata: { name: 'shop-1', labels: { 'davit.dev/component': 'server' } },
      status: {
        initContainerStatuses: [{ name: 'prepare', ready: true, state: { terminated: { exitCode: 0 } } }],
        containerStatuses: [{ name: 'server', ready: false, lastState: { terminated: { exitCode: 3 } }, ...seen }],
      },
    };
    const kubectl = withLogs(answering({ [RECORDS]: stalled('ContainerCrashed'), pods: { items: [pod] } }));
    const ran = await runCli(['wait', 'shop'], { kubectl });
    expect(ran).toMatchObject({
      code: 1,
      out: 'Stalled: ContainerCrashed. Why.\nThis may be from before a repair. If it is still so in 10 s, it counts.',
    });
    expect(ran.err.split('\n')).toEqual([
      'The last lines of container server of pod shop-1:',
      'no licence',
      'bye',
      `More of its log: kubectl davit logs shop${previous.map((flag) => ` ${flag}`).join('')}`,
      'shop will not become ready on its own: Why. See: kubectl davit status shop',
    ]);
    expect(ran.asked.at(-1)).toBe(['logs shop-1 --container=server --tail=20', ...previous].join(' '));
  });

  it.each<[string, container: string, log: string, said: string[]]>([
    [
      'of the part',
      'queue',
      'bye\n',
      [
        'The last lines of container queue of pod shop-1:',
        'bye',
        'More of its log: kubectl davit logs --namespace=team shop --component queue --previous',
      ],
    ],
    ['beside it', 'proxy', 'bye\n', ['The last lines of container proxy of pod shop-1:', 'bye']],
    ['without a word', 'queue', '', ['Container queue of pod shop-1 wrote nothing before it exited.']],
  ])('says how to read more of the log of a container %s', async (_what, name, log, said) => {
    const lastState = { terminated: { exitCode: 3 } };
    const pod = {
      metadata: { name: 'shop-1', labels: { 'davit.dev/component': 'queue' } },
      status: { containerStatuses: [{ name, ready: false, state: { running: {} }, lastState }] },
    };
    const answers = answering({ [RECORDS]: stalled('ContainerCrashed'), pods: { items: [pod] } });
    const kubectl: Kubectl = (args, input) => (args[0] === 'logs' ? Promise.resolve(log) : answers(args, input));
    const { err } = await runCli(['wait', 'shop', '-n', 'team'], { kubectl });
    expect(err.split('\n').slice(0, -1)).toEqual(said);
  });

  it('ends with the words of the newest pod: one of an earlier revision may still be there', async () => {
    const at = (name: string, creationTimestamp: string): object => ({
      ...crashed({ waiting: { reason: 'CrashLoopBackOff' } }),
      metadata: { name, creationTimestamp },
    });
    const pods = { items: [at('shop-old', '2026-02-02T00:00:00Z'), at('shop-new', '2026-02-02T00:05:00Z')] };
    const kubectl = withLogs(answering({ [RECORDS]: stalled('ContainerCrashed'), pods }));
    expect((await runCli(['wait', 'shop'], { kubectl })).asked.at(-1)).toContain('logs shop-new ');
  });

  it.each(['task', 'backup', 'prove'])(
    'says nothing of a pod of a run that failed beside it: %s',
    async (component) => {
      const state = { terminated: { exitCode: 3 } };
      const pod = {
        ...crashed(state),
        metadata: { name: 'shop--run-1', labels: { 'davit.dev/component': component } },
      };
      const kubectl = withLogs(answering({ [RECORDS]: stalled('ContainerCrashed'), pods: { items: [pod] } }));
      expect((await runCli(['wait', 'shop'], { kubectl })).err).toBe(
        'shop will not become ready on its own: Why. See: kubectl davit status shop',
      );
    },
  );

  it('ends with the kept lines of a revision whose pods are being removed, once they are there', async () => {
    const record = stalled('ContainerCrashed');
    const ending = {
      ...crashed({ waiting: { reason: 'CrashLoopBackOff' } }),
      metadata: { name: 'shop-1', deletionTimestamp: '2026-02-02T00:00:00Z' },
    };
    const revision = { ...REVISION, status: { state: 'DEPLOY_FAILED', failure: { reason: 'ContainerCrashed' } } };
    const log = Array.from({ length: 25 }, (_, n) => `2026-02-02T00:00:00Z line ${n}\n`).join('');
    const containers = [{ pod: 'shop-1', component: 'server', container: 'server', exitCode: 3, reason: 'Error', log }];
    const kept = { metadata: { name: revision.metadata.name }, spec: { revisionId: revision.spec.id, containers } };
    const lists: { items: object[] }[] = [{ items: [] }, { items: [kept] }];
    const answers = answering({
      [RECORDS]: record,
      pods: { items: [ending] },
      'apprevisions.davit.dev': { items: [revision] },
    });
    const kubectl: Kubectl = (args, input) =>
      args[1] === 'applogs.davit.dev' ? Promise.resolve(JSON.stringify(lists.shift())) : answers(args, input);
    const { err } = await runCli(['wait', 'shop', '-n', 'team'], { kubectl });
    expect(err.split('\n').slice(0, 2)).toEqual([
      'Container server of pod shop-1 exited with code 3 (Error). Its last lines:',
      'line 5',
    ]);
    expect(err).toContain(
      `More of its log: kubectl davit logs --namespace=team shop --revision ${revision.metadata.name}`,
    );
  });

  it('suggests commands for what the caller has asked, with the flags of the cluster', async () => {
    const kubectl = withLogs(answering({ [RECORDS]: stalled('ContainerCrashed'), pods: { items: [] } }));
    const ran = await runCli(['wait', 'shop', '-n', 'staging', '--context=far'], { kubectl });
    expect(ran.err).toBe(
      'shop will not become ready on its own: Why. See: kubectl davit status --namespace=staging --context=far shop',
    );
    const scaled = await makeOwnCli({ record: aRecord() }).run(['scale', 'shop', 'server=2', '-n', 'staging']);
    expect(scaled.out).toContain('To follow it: kubectl davit wait --namespace=staging shop');
  });

  const failedBuild = { ...REVISION, status: { state: 'BUILD_FAILED', build: { phase: 'Failed' } } };

  it('ends with the last lines of a build that failed', async () => {
    const kubectl = answering({
      [RECORDS]: stalled('BuildFailed'),
      'apprevisions.davit.dev': { items: [failedBuild] },
    });
    const call = async (_method: string, path: string): Promise<unknown> => {
      if (path.includes('build_logs'))
        return { logs: [{ id: '1', message: 'no rule' }], next_offset: null, position: null };
      const revision = {
        id: REVISION.spec.id,
        name: REVISION.metadata.name,
        status: 'BUILD_FAILED',
        status_message: null,
      };
      if (path.includes('/revisions/')) return revision;
      return { resources: path.includes('/revisions?') ? [revision] : [{ id: uid, name: 'shop' }] };
    };
    const api = { call, patiently: call } as unknown as HttpApi;
    expect((await runCli(['wait', 'shop'], { kubectl, api })).err.split('\n').slice(0, 2)).toEqual([
      'The last lines of the build:',
      'no rule',
    ]);
    expect((await runCli(['wait', 'shop', '-n', 'team'], { kubectl })).err).toMatch(
      /^To read the log of the build: kubectl davit logs shop --build --namespace=team\n/,
    );
  });

  it('tells its time apart from a failure, by the exit code', async () => {
    const kubectl = answering({ [RECORDS]: aRecord() });
    expect(await runCli(['wait', 'shop', '--timeout', '0'], { kubectl })).toMatchObject({
      code: 124,
      err: expect.stringMatching(/^shop is not ready after 0 s\. [^\n]+$/),
    });
  });

  it('says at its end that an earlier revision is active, and how to go back to it', async () => {
    const record = aRecord({}, { latestRevisionId: '2'.repeat(32), activeRevisionId: '1'.repeat(32) });
    const kubectl = answering({ [RECORDS]: record });
    const ran = await runCli(['wait', 'shop', '--timeout', '0', '-n', 'team'], { kubectl });
    expect(ran.err.split('\n')[1]).toBe(
      'An earlier revision is active meanwhile. To go back to it: kubectl davit rollback --namespace=team shop',
    );
  });

  it('says nothing more of a deployment that there is not', async () => {
    const kubectl: Kubectl = () => Promise.reject(new Failure('Error from server (NotFound): no "shop"'));
    expect(await runCli(['wait', 'shop'], { kubectl })).toMatchObject({
      code: 1,
      err: 'Error from server (NotFound): no "shop"',
    });
  });

  it('fails as it did where the lines cannot be read', async () => {
    const kubectl: Kubectl = async (args) => {
      if (args[1] === RECORDS) return JSON.stringify(stalled('ContainerCrashed'));
      throw new Failure('pods is forbidden');
    };
    expect((await runCli(['wait', 'shop'], { kubectl })).err.split('\n')).toEqual([
      'The last lines of its log cannot be read: pods is forbidden',
      'shop will not become ready on its own: Why. See: kubectl davit status shop',
    ]);
  });
});
