// `logs` over the routes of the HTTP API: which lines of which pods, what is read on, and what stands where there are none.

import { describe, expect, it } from 'vitest';
import { aRecord, type CliRan, type CliWorld, makeInstantClock, uid } from '../../../test/support/cli-world.ts';
import { makeOwnCli, NAMESPACE, type OwnCli, whole } from '../../../test/support/own-cli.ts';
import { APP_LOGS, type AppLog } from '../../kinds/app-log.ts';
import { Forbidden } from '../../runtime/errors.ts';
import { PODS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { Interrupted } from '../transport/kubectl.ts';

const REVISION = '11111111-0000-5000-8000-000000000000';
const IMAGE = { imageUri: 'app:1' };
const revision = whole({
  metadata: { name: 'shop--11111111', uid: REVISION },
  spec: { id: REVISION, deploymentUid: uid, revisionSerial: 2 },
  status: { state: 'DEPLOYED' },
});

interface PodOf {
  readonly component?: string;
  /** Lines by container, and before the last restart with a `-` at its beginning. Undefined: it has not started. */
  readonly logs?: Readonly<Record<string, string | undefined>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: object;
}

/** A line of this second. */
const at = (second: number, message: string): string => `2026-01-01T00:00:0${second}Z ${message}\n`;

function addPod(cli: OwnCli, name: string, { component = 'server', logs = {}, labels = {}, status }: PodOf): void {
  const containers = Object.entries(logs).filter(([container]) => !container.startsWith('-'));
  for (const [key, text] of Object.entries(logs)) {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}/log?container=${key.replace('-', '')}`;
    if (text !== undefined) cli.kube.texts.set(`${path}${key.startsWith('-') ? '&previous=true' : ''}`, text);
  }
  cli.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: {
        'davit.dev/deployment': 'shop',
        'davit.dev/deployment-uid': uid,
        'davit.dev/component': component,
        'davit.dev/revision': REVISION,
        ...labels,
      },
    },
    status: status ?? {
      phase: 'Running',
      containerStatuses: containers.map(([container, text]) => ({
        name: container,
        restartCount: `-${container}` in logs ? 1 : 0,
        state: { running: {} },
        ...(text !== undefined && { containerID: 'x' }),
      })),
    },
  } as KubeObject);
}

function aCli(record = aRecord({ sourceRevisionConfig: IMAGE })): OwnCli {
  return makeOwnCli({ record, revisions: [revision] });
}

/** Follows: `steps` come one after the other, each in the place of a wait, and the last wait is interrupted. */
function follow(cli: OwnCli, steps: readonly (() => void)[], args: readonly string[] = []): Promise<CliRan> {
  const left = [...steps];
  const sleep = async (): Promise<void> => {
    const step = left.shift();
    if (step === undefined) throw new Interrupted('Ctrl-C');
    step();
  };
  return cli.run(['logs', 'shop', '--follow', ...args], { clock: { ...makeInstantClock(), sleep } });
}

describe('logs', () => {
  it('prints the lines of the pods of a part in the order of time, without those of sidecars', async () => {
    const cli = aCli();
    addPod(cli, 'shop-a', { logs: { server: at(1, 'one') + at(3, 'three'), proxy: at(2, 'noise') } });
    addPod(cli, 'shop-b', { logs: { server: at(2, 'two') } });
    addPod(cli, 'shop-c', { component: 'queue', logs: { queue: at(2, 'work') } });
    expect(await cli.run(['logs', 'shop'])).toMatchObject({
      code: 0,
      out: '[pod/shop-a/server] one\n[pod/shop-b/server] two\n[pod/shop-a/server] three',
      err: '',
      asked: [],
      onTerminal: [],
    });
    expect((await cli.run(['logs', 'shop', '-c', 'queue'])).out).toBe('[pod/shop-c/queue] work');
  });

  it('prints all containers of a store, also of a pod that has no uid of the deployment', async () => {
    const cli = aCli();
    const labels = { 'davit.dev/deployment-uid': '', 'davit.dev/revision': '' };
    addPod(cli, 'shop-db', { component: 'postgres', logs: { postgres: at(1, 'up'), exporter: at(2, 'too') }, labels });
    expect((await cli.run(['logs', 'shop', '-c', 'postgres'])).out).toBe(
      '[pod/shop-db/postgres] up\n[pod/shop-db/exporter] too',
    );
  });

  it('follows also where the caller may not list events', async () => {
    const cli = aCli();
    cli.kube.failOn(({ kind }) => (kind === 'Event' ? new Forbidden('list') : undefined));
    const { out, err } = await follow(cli, [() => addPod(cli, 'shop-a', { logs: { server: at(1, 'up') } })]);
    expect(out).toBe('[pod/shop-a/server] up');
    expect(err).toMatch(/^No pod of server of shop has written a line\./);
  });

  it('prints the last lines of each container, 100 or as many as --tail says', async () => {
    const cli = aCli();
    const many = Array.from({ length: 130 }, (_, n) => at(1, `a${n}`)).join('');
    addPod(cli, 'shop-a', { logs: { server: many } });
    addPod(cli, 'shop-b', { logs: { server: at(2, 'b0') + at(2, 'b1') + at(2, 'b2') } });
    const { out } = await cli.run(['logs', 'shop']);
    expect([out.split('\n').length, out.split('\n')[0]]).toEqual([103, '[pod/shop-a/server] a30']);
    expect((await cli.run(['logs', 'shop', '--tail', '2'])).out.replaceAll(/\[.*\] /g, '')).toBe('a128\na129\nb1\nb2');
    expect(await cli.run(['logs', 'shop', '--tail', '0'])).toMatchObject({ code: 0, out: '' });
  });

  it('prints more lines than an answer has', async () => {
    const cli = aCli();
    const lineOf = (_: unknown, n: number): string => `2026-01-01T00:00:01.${String(n).padStart(9, '0')}Z a${n}\n`;
    const many = Array.from({ length: 2500 }, lineOf).join('');
    addPod(cli, 'shop-a', { logs: { server: many } });
    addPod(cli, 'shop-b', { logs: { server: many.replaceAll('Z a', 'Z b') } });
    const lines = (await cli.run(['logs', 'shop', '--tail', '2000'])).out.split('\n');
    expect([lines.length, new Set(lines).size]).toEqual([4000, 4000]);
    expect(lines).toContain('[pod/shop-b/server] b500');
    expect(lines).not.toContain('[pod/shop-b/server] b499');
  });

  it('prints what a container wrote before its last restart, with --previous that alone', async () => {
    const cli = aCli();
    addPod(cli, 'shop-a', { logs: { server: at(3, 'again'), '-server': at(1, 'and died') } });
    addPod(cli, 'shop-b', { logs: { server: at(2, 'calm') } });
    const lines = (ran: CliRan): string => ran.out.replaceAll(/\[.*\] /g, '');
    expect(lines(await cli.run(['logs', 'shop']))).toBe('and died\ncalm\nagain');
    expect(lines(await cli.run(['logs', 'shop', '--previous']))).toBe('and died');
  });

  it('lets an application colour its lines on a terminal, and lets it do nothing else there', async () => {
    const cli = aCli();
    const line = 'a\u001B[31mred\u001B[0m\u001B]0;title\u0007';
    addPod(cli, 'shop-a', { logs: { server: at(1, line) } });
    expect((await cli.run(['logs', 'shop'])).out).toBe(`[pod/shop-a/server] ${line}`);
    expect((await cli.run(['logs', 'shop'], { answers: [] })).out).toBe(
      '[pod/shop-a/server] a\u001B[31mred\u001B[0m\uFFFD]0;title\uFFFD\u001B[0m',
    );
  });

  it('says that lines may be missing', async () => {
    const cli = aCli();
    addPod(cli, 'shop-a', { logs: { server: at(1, 'x'.repeat(70_000)) } });
    expect((await cli.run(['logs', 'shop'])).err).toBe(
      'Lines may be missing: reading ended at a limit, or a node did not answer.',
    );
  });
});

describe('logs --follow', () => {
  it('prints what is written, also by pods that come, until Ctrl-C', async () => {
    const cli = aCli();
    addPod(cli, 'shop-a', { logs: { server: at(1, 'one') } });
    const ran = await follow(cli, [
      () => addPod(cli, 'shop-a', { logs: { server: at(1, 'one') + at(2, 'two') } }),
      () => undefined,
      () => addPod(cli, 'shop-b', { logs: { server: at(3, 'three') } }),
    ]);
    expect([ran.code, ran.out]).toEqual([
      130,
      '[pod/shop-a/server] one\n[pod/shop-a/server] two\n[pod/shop-b/server] three',
    ]);
  });

  it('says why a pod has written nothing, once, and prints it when it has', async () => {
    const cli = aCli();
    const waits = (reason: string): object => ({
      phase: 'Pending',
      containerStatuses: [{ name: 'server', image: 'app:1', state: { waiting: { reason } } }],
    });
    addPod(cli, 'shop-a', { status: waits('ContainerCreating') });
    const ran = await follow(cli, [
      () => undefined,
      () => addPod(cli, 'shop-a', { status: waits('ImagePullBackOff') }),
      () => addPod(cli, 'shop-a', { logs: { server: at(1, 'one') } }),
    ]);
    expect(ran.out).toBe('[pod/shop-a/server] one');
    expect(ran.err).toBe(
      [
        'Pod shop-a has no log yet: it is being started.',
        'Pod shop-a has no log yet: Image app:1 of container server cannot be pulled. Check its name and tag, and the pull secrets (image_pull_secrets).',
        'Ctrl-C',
      ].join('\n'),
    );
  });

  it('begins with the lines to come', async () => {
    const cli = aCli();
    addPod(cli, 'shop-a', { logs: { server: at(1, 'one') } });
    const step = (): void => addPod(cli, 'shop-a', { logs: { server: at(1, 'one') + at(2, 'two') } });
    expect((await follow(cli, [step], ['--tail', '0'])).out).toBe('[pod/shop-a/server] two');
  });
});

describe('logs of pods that are gone', () => {
  function keep(cli: OwnCli, name: string, component: string, task?: string): void {
    const labels = {
      'davit.dev/deployment': 'shop',
      'davit.dev/deployment-uid': uid,
      'davit.dev/revision': REVISION,
      ...(task !== undefined && { 'davit.dev/task': task }),
    };
    const log = at(1, 'first') + at(2, `last of ${name}`);
    cli.kube.seed(APP_LOGS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppLog',
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { deploymentName: 'shop', containers: [{ pod: name, component, container: 'main', exitCode: 3, log }] },
    } as AppLog);
  }
  function withKept(): OwnCli {
    const cli = aCli();
    keep(cli, 'gone-queue', 'queue');
    keep(cli, 'gone-clean', 'task', 'clean');
    addPod(cli, 'shop-a', { logs: { server: at(3, 'alive') } });
    return cli;
  }
  const QUEUE = '[pod/gone-queue/main] first\n[pod/gone-queue/main] last of gone-queue';
  const CLEAN = '[pod/gone-clean/main] last of gone-clean';

  it.each<[string, string[], string]>([
    ['of all parts of a revision', ['--revision', 'shop--11111111'], `${QUEUE}\n[pod/shop-a/server] alive`],
    ['of one part', ['--revision', '1111', '-c', 'queue'], QUEUE],
    ['of a task', ['--task', 'clean'], `[pod/gone-clean/main] first\n${CLEAN}`],
    ['the last ones', ['--task', 'clean', '--tail', '1'], CLEAN],
    ['not, where no revision is named', [], '[pod/shop-a/server] alive'],
  ])('%s', async (_what, flags, out) => {
    expect(await withKept().run(['logs', 'shop', ...flags])).toMatchObject({ code: 0, out, err: '' });
  });

  it('are those of a revision that there is', async () => {
    expect(await withKept().run(['logs', 'shop', '--revision', '2'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^No revision matches "2"\. Revisions: .*shop--11111111 DEPLOYED/),
    });
  });
});

describe('logs without a line', () => {
  const runtime = { workers: { beat: { command: ['beat'] } } };
  const zero = { conditions: [{ type: 'Ready', status: 'True', reason: 'ScaledToZero', message: '' }] };

  it.each<[string, string[], object, string]>([
    ['of pods', [], {}, 'No pod of server of shop has written a line. See: kubectl davit status shop'],
    ['of a revision', ['--revision', '1'], {}, 'No pod of shop has written a line. See: kubectl davit status shop'],
    [
      'of a deployment that is scaled to zero',
      [],
      zero,
      'shop is scaled to zero, so no pod of server runs. To start it: kubectl davit scale shop server=1',
    ],
    [
      'of its database, which runs all the same',
      ['-c', 'postgres'],
      zero,
      'No pod of postgres of shop has written a line. See: kubectl davit status shop',
    ],
    [
      'of a part that it does not have',
      ['-c', 'beta'],
      {},
      '"beta" is not a part of shop. Did you mean beat? It has server, beat, postgres, redis.',
    ],
    [
      'of a task',
      ['--task', 'mail'],
      {},
      'No run of task "mail" of shop has written a line. See: kubectl davit tasks shop',
    ],
    [
      'of an earlier life',
      ['--previous'],
      {},
      'No container of server of shop was restarted, so there is no earlier log. See: kubectl davit status shop',
    ],
  ])('%s', async (_what, flags, status, err) => {
    const cli = aCli(aRecord({ sourceRevisionConfig: IMAGE, sourceConfig: { runtime } }, status));
    expect(await cli.run(['logs', 'shop', ...flags])).toMatchObject({ code: 1, out: '', err });
  });

  it('names the flags of the caller in what it suggests', async () => {
    expect((await aCli().run(['logs', 'shop', '-n', 'team'])).err).toMatch(
      /See: kubectl davit status --namespace=team/,
    );
  });
});

it('logs of a deployment in the cluster of a listener need davit-api, which has the rights to ask it', async () => {
  const sourceConfig = {
    listenerId: '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11',
    listenerConfig: { k8sNamespace: 'shops' },
  };
  const cli = aCli(aRecord({ sourceRevisionConfig: IMAGE, sourceConfig }));
  const reached: string[] = [];
  const world: CliWorld = { onConnect: (_options, door) => reached.push(door) };
  await cli.run(['logs', 'shop'], world);
  expect(reached).toEqual(['api', 'facade']);
});
