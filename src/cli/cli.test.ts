// What kubectl-davit makes of what kubectl answers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { answering, aRecord, REVISION, runCli } from '../../test/support/cli-world.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { join as joinListener, revoke } from './commands/listener.ts';
import { type PodLogOptions, type PodLogTools, printPodLogs } from './commands/logs.ts';
import { Failure, type Kubectl, makeKubectl } from './transport/kubectl.ts';
import { RECORDS } from './transport/records.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';

function record(): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', uid, generation: 2, resourceVersion: '7' },
    spec: {
      source: 'external_docker',
      sourceConfig: { customUrl: 'https://shop.example.com' },
      sourceRevisionConfig: { imageUri: 'app:2' },
      secrets: [],
      revisionSerial: 2,
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
    },
    status: { state: 'READY', observedGeneration: 2 },
  };
}

/** As the HTTP API answers it, as far as `status` reads it. */
function aDeployment(name: string): object {
  return {
    id: uid,
    name,
    status: 'READY',
    phase: 'DEPLOYED',
    processed: true,
    conditions: [],
    databases_kept: [],
    source_config: { custom_url: null, resource_spec: { max_scale: 1 } },
    created_at: '2026-01-01T00:00:00Z',
    changed_by: null,
    internal_url: null,
    active_revision_id: null,
    latest_revision_id: null,
  };
}

function aPod(name: string, part: string, problem: object | null = null): object {
  const of = { name, part, revision_id: null, started_for_revision_id: null, made_by: 'ReplicaSet/shop-5f4d' };
  return { ...of, ending: false, ready: false, restarts: 0, usage: null, limits: {}, problem };
}

describe('kubectl', () => {
  it('passes the cluster flags, and throws its words', async () => {
    const node = makeKubectl(['-e', 'console.error("refused"); process.exit(1)', '--'], process.execPath);
    await expect(node(['get'])).rejects.toThrow(new Failure('refused'));
  });

  it('says so when it is not there', async () => {
    await expect(makeKubectl([], 'no-such-kubectl')(['get'])).rejects.toThrow(/no-such-kubectl could not be started/);
  });
});

// Each starts a process, which takes long on a busy machine.
describe('the command', { timeout: 240_000 }, () => {
  interface Ran {
    readonly code: number | null;
    readonly out: string;
    readonly err: string;
  }

  /** Runs it with a kubectl that is this script of sh; `reads` false: nobody reads what it says. */
  async function davit(args: readonly string[], { reads = true, kubectl = 'echo {}' } = {}): Promise<Ran> {
    const folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\ncd ${folder}\n${kubectl}\n`);
    await chmod(join(folder, 'kubectl'), 0o755);
    const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (!reads) program.stdout.destroy();
    const [code, out, err] = await Promise.all([
      new Promise<number | null>((resolve) => program.once('close', resolve)),
      reads ? text(program.stdout) : '',
      text(program.stderr),
    ]);
    await rm(folder, { recursive: true });
    return { code, out, err };
  }

  /** Runs it with an address and a token alone. The API has so many deployments, and the first one these pods. */
  async function overHttp(
    args: readonly string[],
    { deployments, pods }: { readonly deployments: number; readonly pods: readonly object[] },
    reads = true,
  ): Promise<Ran> {
    const listed = Array.from({ length: deployments }, (_, at) => aDeployment(at === 0 ? 'shop' : `shop-${at}`));
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      const isPast = Number(searchParams.get('offset')) > 0;
      const answer = pathname.endsWith('/events')
        ? { resources: [], pods, truncated: false }
        : { resources: isPast || pathname.endsWith('/revisions') ? [] : listed };
      response.end(JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await davit([...args, '--token=x', `--server=${address}`], { reads });
    server.closeAllConnections();
    server.close();
    return ran;
  }

  it('names the components that there are', async () => {
    const { code, err } = await davit(['logs', 'shop', '--component', 'task']);
    expect([code, err.split('\n')[0]]).toEqual([
      2,
      '--component must be one of server, queue, orchestrator, executor, redis, postgres, migrate or the name of a worker, not "task".',
    ]);
  });

  describe('deploy, ended by Ctrl-C,', () => {
    const ID = '11111111-0000-5000-8000-000000000000';
    const deployment = {
      id: uid,
      name: 'shop',
      source: 'internal_source',
      status: 'UNUSED',
      phase: 'QUEUED',
      status_message: 'It waits.',
      processed: true,
      conditions: [{ type: 'Ready', status: 'False', reason: 'BuildQueued', message: 'It waits.' }],
      databases_kept: [],
      source_config: { custom_url: null },
      source_revision_config: { workflow_config_path: null },
      secrets: [],
      latest_revision_id: ID,
    };

    /** Answers until the build has begun, which never ends; `silent`: does not answer at all. */
    async function interrupted(
      after: string,
      { silent = false, isNew = false } = {},
    ): Promise<[code: number | null, err: string]> {
      const server = createServer(async (request, response) => {
        await text(request);
        const { method, url = '', headers } = request;
        if (silent) return program.kill('SIGINT');
        if (isNew && url === '/put') return undefined;
        const answer = url.includes('build_logs')
          ? { logs: [], next_offset: null, position: null }
          : url.includes('/revisions?')
            ? { resources: [] }
            : url.includes('/upload-url')
              ? {
                  upload_url: `http://${headers.host}/put`,
                  object_path: 'uploads/1',
                  upload_headers: {},
                  max_bytes: 1e6,
                }
              : method === 'GET' && url.includes('name=')
                ? { resources: isNew ? [] : [deployment] }
                : deployment;
        return response.end(JSON.stringify(answer));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const folder = await mkdtemp(join(tmpdir(), 'davit-shop-'));
      await writeFile(join(folder, 'langgraph.json'), '{}');
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const args = ['deploy', folder, '--name=shop', '-n', 'team', '--token=x', `--server=${address}`];
      const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
        env: { ...process.env, PATH: '' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      program.stdout.on('data', (said: Buffer) => said.includes(after) && program.kill('SIGINT'));
      const [code, err] = await Promise.all([
        new Promise<number | null>((resolve) => program.once('close', resolve)),
        text(program.stderr),
      ]);
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
      return [code, err.replace(address, 'SERVER')];
    }

    it('says how to follow the build, which goes on', async () => {
      expect(await interrupted('BuildQueued')).toEqual([
        130,
        'The build goes on. To follow it: kubectl davit logs shop --build --follow --namespace=team --server=SERVER\n',
      ]);
    });

    it('says that nothing was deployed before', async () => {
      expect(await interrupted('never', { silent: true })).toEqual([130, 'Nothing was deployed.\n']);
    });

    it('says what it has created before', async () => {
      expect(await interrupted('Uploading', { isNew: true })).toEqual([
        130,
        'Nothing was deployed. Deployment shop was created and stays, without a revision.\n',
      ]);
    });
  });

  it.each<[string, string[], RegExp]>([
    [
      'no folder',
      ['deploy'],
      /^Which folder\? kubectl davit deploy FOLDER, or --image IMAGE --name NAME, or --file FILE that names an image_uri\n/,
    ],
    ['two folders', ['deploy', 'a', 'b'], /^Name only one folder\. Unexpected: "b"\.\n/],
    ['a flag of pods', ['logs', 'shop', '--build', '--previous'], /^--previous is about pods, and not for --build\.\n/],
  ])('refuses %s', async (_name, args, message) => {
    expect(await davit(args)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it('shows no control characters of what a container wrote', async () => {
    const words = 'x\u001B]0;TITLE\u0007\r  ok Ready: Serving\u001B[8m\u202E';
    const pods = [aPod('shop-1', 'server', { reason: 'ContainerCrashed', message: words })];
    const { out } = await overHttp(['status', 'shop'], { deployments: 1, pods });
    expect(out).toContain('TITLE');
    expect(out).not.toMatch(/[^\P{C}\n]/u);
  });

  it('opens a port until it ends, and fails as kubectl does', async () => {
    const pod = { metadata: { name: 'shop-1' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const kubectl = `case "$2" in
        appdeployments*) echo '${JSON.stringify(record())}'; exit ;;
        pods) echo '${JSON.stringify({ items: [pod] })}'; exit ;;
      esac
      echo "$*" >&2; echo "Forwarding from 127.0.0.1:4321 -> 8000"`;
    expect(await davit(['open', 'shop'], { kubectl })).toMatchObject({ code: 0, out: 'http://127.0.0.1:4321\n' });
    const { out } = await davit(['open', 'shop', '-o', 'json'], { kubectl });
    expect(JSON.parse(out)).toEqual({ name: 'shop', url: 'http://127.0.0.1:4321' });
    expect(await davit(['open', 'shop'], { kubectl: kubectl.replace(/; echo "Forwarding.*/, '; exit 1') })).toEqual({
      code: 1,
      out: '',
      err: 'port-forward --address=127.0.0.1 pod/shop-1 :http\n',
    });
  });

  it('opens no port that another program has, and asks nothing before', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await davit(['open', 'shop', '--port', `${port}`])).toEqual({
      code: 1,
      out: '',
      err: `Port ${port} of 127.0.0.1 cannot be used: another program listens on it. Choose another with --port, or leave --port out, which takes any free one.\n`,
    });
    server.close();
  });

  describe('ends in silence when nobody reads any more:', () => {
    it('help', async () => {
      expect(await davit(['help'], { reads: false })).toMatchObject({ code: 141, err: '' });
    });

    it('what is wrong, too', async () => {
      const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), 'fly'], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      program.stderr.destroy();
      expect(await new Promise((resolve) => program.once('close', resolve))).toBe(141);
    });

    it('status of one deployment', async () => {
      const answers = { deployments: 1, pods: Array.from({ length: 3000 }, (_, at) => aPod(`shop-${at}`, `w${at}`)) };
      expect((await overHttp(['status', 'shop'], answers)).out.split('\n').length).toBeGreaterThan(6000);
      expect(await overHttp(['status', 'shop'], answers, false)).toMatchObject({ code: 141, err: '' });
    });

    it('status of all', async () => {
      const answers = { deployments: 10_000, pods: [] };
      expect((await overHttp(['status'], answers)).out.split('\n').length).toBeGreaterThan(10_000);
      expect(await overHttp(['status'], answers, false)).toMatchObject({ code: 141, err: '' });
    });
  });

  describe('logs', () => {
    it('says which pod waits, and why, and goes on with the others', async () => {
      const pod = (name: string, state: object): object => ({
        metadata: { name },
        status: { containerStatuses: [{ name: 'server', image: 'app:1', state }] },
      });
      const items = [
        pod('shop-1', { waiting: { reason: 'ImagePullBackOff' } }),
        pod('shop-2', { running: {} }),
        pod('shop-3', { running: {} }),
      ];
      // It fails, as the real one does, at the first container that has not started.
      const kubectl = `case "$1 $2" in
        "get pods") echo '${JSON.stringify({ items })}' ;;
        get*) echo '${JSON.stringify(record())}' ;;
        "logs shop-1"|"logs --selector"*) echo 'container "server" in pod "shop-1" is waiting to start' >&2; exit 1 ;;
        logs*) echo "$2: hello" ;;
      esac`;
      expect(await davit(['logs', 'shop'], { kubectl })).toEqual({
        code: 0,
        out: 'shop-2: hello\nshop-3: hello\n',
        err: 'Pod shop-1 has no log yet: Image app:1 of container server cannot be pulled. Check its name and tag, and the pull secrets (image_pull_secrets).\n',
      });
    });
  });
});

describe('logs of pods that are gone', () => {
  const kept = (name: string, spec: object, component = 'server'): object => {
    const log = '2026-02-02T00:00:00Z first\n2026-02-02T00:00:01Z last of ' + name + '\n';
    const container = { pod: `${name}-pod`, component, container: 'main', exitCode: 3, log };
    return { metadata: { name }, spec: { ...spec, containers: [container] } };
  };
  const answers = (pods: object[] = []): Kubectl =>
    answering({
      [RECORDS]: aRecord(),
      'apprevisions.davit.dev': { items: [{ ...REVISION, spec: { ...REVISION.spec, resolved: {} } }] },
      pods: { items: pods },
      'applogs.davit.dev': {
        items: [
          kept('shop--11111111', { revisionId: REVISION.spec.id }),
          kept('shop--22222222', { revisionId: '2'.repeat(32) }, 'jobs'),
          kept('shop--clean-1', { revisionId: REVISION.spec.id, task: 'clean' }, 'task'),
        ],
      },
    });

  it.each<[string, string[], string[]]>([
    ['of a revision', ['--revision', 'shop--11111111'], ['first', 'last of shop--11111111']],
    ['of a revision that is no longer listed', ['--revision', '2222'], ['first', 'last of shop--22222222']],
    ['of a task', ['--task', 'clean'], ['first', 'last of shop--clean-1']],
    ['the last ones', ['--task', 'clean', '--tail', '1'], ['last of shop--clean-1']],
  ])('%s', async (_what, flags, lines) => {
    const { code, out, err } = await runCli(['logs', 'shop', ...flags], { kubectl: answers() });
    expect([code, out.split('\n')]).toEqual([0, lines]);
    expect(err).toMatch(/^Container main of pod shop--\S+-pod exited with code 3\. Its last lines:$/);
  });

  it('have a run whose pod goes while they are listed', async () => {
    const labels = { 'davit.dev/component': 'task', 'davit.dev/task': 'clean' };
    const lists = [[{ metadata: { name: 'shop--clean-1-pod', labels } }], []];
    const kubectl: Kubectl = (args, input) =>
      args[1] === 'pods' ? Promise.resolve(JSON.stringify({ items: lists.shift() })) : answers()(args, input);
    const { code, out } = await runCli(['logs', 'shop', '--task', 'clean'], { kubectl });
    expect([code, out.split('\n'), lists]).toEqual([0, ['first', 'last of shop--clean-1'], []]);
  });

  it('are none of a pod that is still there, and of a task that never failed', async () => {
    const there = { metadata: { name: 'shop--11111111-pod', labels: {} } };
    const again = await runCli(['logs', 'shop', '--revision', '1111'], { kubectl: answers([there]) });
    expect(again.out).not.toContain('last of');
    const none = await runCli(['logs', 'shop', '--task', 'mail'], { kubectl: answers() });
    expect([none.code, none.err]).toEqual([1, 'shop has no run of a task "mail". See: kubectl davit tasks shop']);
  });
});

describe('logs', () => {
  const pod = (name: string, state: object, labels: object = {}): object => ({
    metadata: { name, labels },
    status: { containerStatuses: [{ name: 'server', image: 'app:1', state }] },
  });
  const WAITING = pod('shop-1', { waiting: { reason: 'ContainerCreating' } });
  const STARTED = pod('shop-1', { running: {} });
  const RUNNING = pod('shop-2', { running: {} });

  interface Printed {
    readonly code: number;
    /** Arguments of each kubectl that printed. */
    readonly ran: readonly string[];
    readonly warned: readonly string[];
  }

  /** `seen`: the pods of each look; the last one stays. */
  async function print(seen: object[][], options: Partial<PodLogOptions> = {}, codes: number[] = []): Promise<Printed> {
    const ran: string[] = [];
    const warned: string[] = [];
    const tools: PodLogTools = {
      kubectl: async () => JSON.stringify({ items: seen.length > 1 ? seen.shift() : seen[0] }),
      run: async (args) => {
        ran.push(args.join(' '));
        return codes.shift() ?? 0;
      },
    };
    const code = await printPodLogs(tools, 'shop', {
      component: 'server',
      labels: {},
      follow: false,
      previous: false,
      tail: 100,
      warn: (line) => warned.push(line),
      signal: new AbortController().signal,
      everyMs: 1,
      ...options,
    });
    return { code, ran, warned };
  }
  const ONE = 'logs shop-1 --container=server --prefix --tail=100';
  const TWO = 'logs shop-2 --container=server --prefix --tail=100';
  const WAITS = 'Pod shop-1 has no log yet: container server waits (ContainerCreating).';

  it('goes on with the others when one pod waits', async () => {
    expect(await print([[WAITING, RUNNING]])).toEqual({ code: 0, ran: [TWO], warned: [WAITS] });
  });

  it('follows a pod once it has started, and says once that it waits', async () => {
    const seen = [
      [WAITING, RUNNING],
      [WAITING, RUNNING],
      [STARTED, RUNNING],
    ];
    expect(await print(seen, { follow: true })).toEqual({
      code: 0,
      ran: [`${TWO} --follow`, `${ONE} --follow`],
      warned: [WAITS],
    });
  });

  it('ends waiting when it is interrupted', async () => {
    const signal = AbortSignal.timeout(20);
    expect(await print([[WAITING]], { follow: true, signal })).toEqual({ code: 1, ran: [], warned: [WAITS] });
  });

  it.each([
    ['has crashed', pod('shop-1', { waiting: { reason: 'CrashLoopBackOff' } })],
    ['has ended', pod('shop-1', { terminated: { exitCode: 1 } })],
  ])('prints a pod that %s', async (_name, given) => {
    const crashed = JSON.parse(JSON.stringify(given)) as { status: { containerStatuses: { lastState?: object }[] } };
    for (const one of crashed.status.containerStatuses) one.lastState = { terminated: { exitCode: 1 } };
    expect(await print([[crashed]])).toEqual({ code: 0, ran: [ONE], warned: [] });
  });

  describe('a container that exited and runs again', () => {
    const again = (name: string, ready: boolean, container = 'server', exitCode = 3): object => ({
      metadata: { name },
      status: {
        containerStatuses: [
          { name: container, image: 'app:1', ready, state: { running: {} }, lastState: { terminated: { exitCode } } },
        ],
      },
    });
    const HINT =
      'Container server of pod shop-1 was started again after it exited with code 3. What it wrote before: kubectl davit logs shop --previous';

    it('has a log of its own: the way to the one before is said, once', async () => {
      const ran = await print([[again('shop-1', false), again('shop-2', false)]]);
      expect(ran).toEqual({ code: 0, ran: [ONE, TWO], warned: [HINT] });
      expect((await print([[again('shop-1', false)]], { follow: true })).warned).toEqual([HINT]);
    });

    it.each<[string, object, Partial<PodLogOptions>]>([
      ['is ready', again('shop-1', true), {}],
      ['had done its work', again('shop-1', false, 'server', 0), {}],
      ['is of another name than the part', again('shop-1', false, 'proxy'), {}],
      ['is asked for what it wrote before', again('shop-1', false), { previous: true }],
    ])('is nothing to say of where it %s', async (_what, given, options) => {
      expect((await print([[given]], options)).warned).toEqual([]);
    });

    it('is said of where it is ready and exited a moment ago, and not where that was yesterday', async () => {
      const exited = (hours: number): object => {
        const terminated = { exitCode: 3, finishedAt: new Date(Date.now() - hours * 3_600_000).toISOString() };
        const server = { name: 'server', ready: true, state: { running: {} }, lastState: { terminated } };
        return { metadata: { name: 'shop-1' }, status: { containerStatuses: [server] } };
      };
      expect((await print([[exited(0.1)]])).warned).toEqual([HINT]);
      expect((await print([[exited(24)]])).warned).toEqual([]);
    });

    it('alone is asked for what was written before', async () => {
      const previous = { previous: true };
      expect((await print([[RUNNING, again('shop-1', false)]], previous)).ran).toEqual([`${ONE} --previous`]);
      await expect(print([[RUNNING]], previous)).rejects.toThrow(
        'No container of server of shop was started again, so none has an earlier log. See: kubectl davit status shop',
      );
    });

    it('is named with its part and the flags of the cluster', async () => {
      const pods = { items: [again('shop-1', false, 'queue')] };
      const kubectl: Kubectl = async ([, resource]) => JSON.stringify(resource === RECORDS ? record() : pods);
      const ran = await runCli(['logs', 'shop', '-c', 'queue', '-n', 'team'], { kubectl });
      expect(ran.err).toMatch(/kubectl davit logs --namespace=team shop --component queue --previous$/);
    });
  });

  it('says why a pod that has no container yet waits', async () => {
    const pending = {
      metadata: { name: 'shop-1' },
      status: {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
      },
    };
    expect((await print([[pending]])).warned).toEqual([
      expect.stringMatching(/^Pod shop-1 has no log yet: .*0\/1 nodes/),
    ]);
  });

  it('fails only if no pod could be printed', async () => {
    expect((await print([[STARTED, RUNNING]], {}, [1, 0])).code).toBe(0);
    expect((await print([[STARTED, RUNNING]], {}, [1, 1])).code).toBe(1);
    expect((await print([[WAITING]])).code).toBe(1);
    await expect(print([[]])).rejects.toThrow('shop has no pod of server. See: kubectl davit status shop');
  });

  it('asks a store for all its containers, of which one may wait', async () => {
    expect((await print([[RUNNING]], { component: 'redis', previous: true, tail: 5 })).ran).toEqual([
      'logs shop-2 --all-containers --ignore-errors --prefix --tail=5 --previous',
    ]);
  });
});

describe('listener', () => {
  const LISTENER = {
    metadata: { name: 'edge', namespace: 'team', uid },
    spec: { namespaces: ['shops', 'tools'] },
    status: { namespace: 'davit-lsn-8b5c0f3e' },
  };
  const NO_WAIT = (): Promise<void> => expect.unreachable('nothing new is created');
  /** `hasSecret`: whether the Secret of its tokens exists. */
  function answers(listener: object, asked: string[] = [], hasSecret = true): Kubectl {
    const cluster = { server: 'https://hub.example:6443', 'certificate-authority-data': 'Q0E=' };
    return (args) => {
      asked.push(args.join(' '));
      if (args[0] === 'get' && args[1] === 'secret') return Promise.resolve(hasSecret ? 'secret/x\n' : '');
      if (args[0] === 'get') return Promise.resolve(JSON.stringify(listener));
      return Promise.resolve(args[0] === 'config' ? JSON.stringify({ clusters: [{ cluster }] }) : 'token\n');
    };
  }
  const decoded = (manifest: string): unknown => {
    const { data } = JSON.parse(manifest) as { data: Record<string, string> };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  };

  it('join prints the Secret of the other cluster, with a token for an hour that ends with its Secret', async () => {
    const asked: string[] = [];
    const { manifest, instructions } = await joinListener(answers(LISTENER, asked), 'edge', undefined, NO_WAIT);
    expect(asked).toContain(
      'create token davit-listener --namespace=davit-lsn-8b5c0f3e --duration=1h --bound-object-kind=Secret --bound-object-name=davit-listener-token',
    );
    expect(decoded(manifest)).toEqual({
      server: 'https://hub.example:6443',
      namespace: 'davit-lsn-8b5c0f3e',
      token: 'token',
      ca: 'CA',
    });
    expect(instructions).toContain(`kubectl label namespace tools davit.dev/tenant=true davit.dev/listener=${uid}`);
    expect(instructions).toContain("listener.namespaces='{shops,tools}'");
    expect(instructions).not.toContain('token');
  });

  it('join takes another address of the hub', async () => {
    const { manifest } = await joinListener(answers(LISTENER), 'edge', 'https://outside.example', NO_WAIT);
    expect(decoded(manifest)).toMatchObject({ server: 'https://outside.example' });
  });

  it('join and revoke fail while the Listener has no namespace', async () => {
    const kubectl = answers({ ...LISTENER, status: {} });
    await expect(joinListener(kubectl, 'edge', undefined, NO_WAIT)).rejects.toThrow('settings.listeners.enabled');
    await expect(revoke(kubectl, 'edge')).rejects.toThrow('settings.listeners.enabled');
  });

  const CREATE = 'create secret generic davit-listener-token --namespace=davit-lsn-8b5c0f3e';

  it('join creates the Secret to which all tokens are bound when no API server accepts tokens of an earlier one, which could create others', async () => {
    const asked: string[] = [];
    const waited: number[] = [];
    await joinListener(answers(LISTENER, asked, false), 'edge', undefined, async (ms) => {
      waited.push(ms);
      expect(asked).not.toContain(CREATE);
    });
    expect(waited).toEqual([15_000]);
    expect(asked.indexOf(CREATE)).toBeGreaterThan(0);
    expect(asked.indexOf(CREATE)).toBeLessThan(asked.findIndex((args) => args.startsWith('create token')));
  });

  it('join again creates another token of the same Secret', async () => {
    const asked: string[] = [];
    await joinListener(answers(LISTENER, asked), 'edge', undefined, NO_WAIT);
    expect([asked.includes(CREATE), asked.some((args) => args.startsWith('create token'))]).toEqual([false, true]);
  });

  it('join fails while the Listener lists no namespace, without which the chart does not render', async () => {
    const kubectl = answers({ ...LISTENER, spec: {} });
    await expect(joinListener(kubectl, 'edge', undefined, NO_WAIT)).rejects.toThrow('lists no namespace');
  });

  it('revoke deletes the Secret to which all tokens are bound, and creates no other', async () => {
    const asked: string[] = [];
    await revoke(answers(LISTENER, asked), 'edge');
    expect(asked.slice(1)).toEqual([
      'delete secret davit-listener-token --namespace=davit-lsn-8b5c0f3e --ignore-not-found',
    ]);
  });
});
