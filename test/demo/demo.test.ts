// What the demo builds, and what not. With `--context` a cluster that is there already is used with kubectl alone; here
// the embedded cluster plays it.

import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';
import { localContexts } from './context.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-context-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function kubeconfigWith(...contexts: readonly string[]): Promise<string> {
  const file = join(await mkdtemp(join(folder, 'config-')), 'config');
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: {} }],
      contexts: contexts.map((name) => ({ name, context: { cluster: 'c', user: 'u' } })),
    }),
  );
  return file;
}

describe('clusters of this machine', () => {
  it('are found by the names of their contexts, in every file of KUBECONFIG', async () => {
    const remote = 'arn:aws:eks:eu-central-1:1:cluster/production';
    const one = await kubeconfigWith('kind-kind', remote, 'kindergarten');
    const other = await kubeconfigWith(
      'k3d-test',
      'minikube',
      'docker-desktop',
      'rancher-desktop',
      'colima',
      'kind-kind',
    );
    const files = [one, join(folder, 'missing'), other].join(delimiter);
    expect(await localContexts({ KUBECONFIG: files })).toEqual([
      'kind-kind',
      'k3d-test',
      'minikube',
      'docker-desktop',
      'rancher-desktop',
      'colima',
    ]);
  });
  it.each([
    ['no kubeconfig', async () => join(folder, 'missing')],
    [
      'a file that is none',
      async () => {
        await writeFile(join(folder, 'broken'), '][');
        return join(folder, 'broken');
      },
    ],
    ['one without contexts', () => kubeconfigWith()],
  ])('are none with %s', async (_name, file) => {
    expect(await localContexts({ KUBECONFIG: await file() })).toEqual([]);
  });
});

interface Run {
  readonly code: number | null;
  readonly out: string;
  /** What was built or kept in the cache. */
  readonly cached: readonly string[];
}

/** `signal`: that of the test. What it runs ends with it, or it would go on under the tests after it. */
async function runDemo(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<{ code: number | null; out: string }> {
  const child = spawn(process.execPath, [join(root, 'test/demo/demo.ts'), ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  signal?.addEventListener('abort', () => child.kill());
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out };
}

/** The demo as a person has it who has kubectl and Node, and no Go. */
async function demo(
  kubeconfig: string,
  programs: Readonly<Record<string, string>>,
  args: readonly string[],
  signal?: AbortSignal,
): Promise<Run> {
  const own = await mkdtemp(join(folder, 'run-'));
  const [bin, cache] = [join(own, 'bin'), join(own, 'cache')];
  await Promise.all([mkdir(bin), mkdir(cache)]);
  await Promise.all(Object.entries(programs).map(([name, target]) => symlink(target, join(bin, name))));
  // Whoever calls it, sees that it was called.
  await writeFile(join(bin, 'go'), `#!/bin/sh\necho called >> ${join(cache, 'go-was-called')}\nexit 1\n`);
  await chmod(join(bin, 'go'), 0o755);
  const env = {
    HOME: own,
    PATH: [bin, dirname(process.execPath)].join(delimiter),
    KUBECONFIG: kubeconfig,
    DAVIT_CACHE: cache,
  };
  const { code, out } = await runDemo(args, env, signal);
  return { code, out, cached: await readdir(cache) };
}

describe('npm run demo -- --context', () => {
  let cluster: Cluster;
  let kubectl: string;
  let before: readonly string[];
  let hasEnded = false;
  beforeAll(async () => {
    cluster = await startCluster({ pods: 'off' });
    before = await objects();
    kubectl = toolPath(await ensureTools(['kubernetes'], () => undefined), 'kubernetes', 'kubectl');
  });
  afterAll(() => cluster?.stop());

  /** Of the whole cluster. */
  async function objects(): Promise<readonly string[]> {
    const kinds =
      'namespaces,crd,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings';
    return (await cluster.kubectl(['get', kinds, '-o', 'name'])).split('\n');
  }

  async function kubeconfig(): Promise<string> {
    const config = (await readFile(cluster.kubeconfig, 'utf8')).replaceAll('"davit"', '"kind-test"');
    const file = join(folder, 'kind');
    await writeFile(file, config, { mode: 0o600 });
    return file;
  }

  /** What is still there of a deletion that takes too long, and why. */
  async function remains(): Promise<string> {
    const column =
      '-o=custom-columns=NAME:.metadata.name,FINALIZERS:.metadata.finalizers,WHY:.status.conditions[*].message';
    const shown = [
      ['get', 'namespaces,crd', column],
      [
        'get',
        'pods,pvc,appd,lsn',
        '-A',
        '-o=custom-columns=KIND:.kind,NAME:.metadata.name,FINALIZERS:.metadata.finalizers',
      ],
    ];
    return (await Promise.all(shown.map((args) => cluster.kubectl(args).catch(String)))).join('\n');
  }

  /**
   * Deletes what `args` name, as the demo says it.
   *
   * A definition whose storage was not up at the first attempt can be forgotten by Kubernetes until it lists all
   * definitions again, five minutes later: its finalizer takes a conflict with its own status for somebody else's
   * change (crd_finalizer.go in apiextensions-apiserver). Any other change of the definition reminds it.
   */
  async function remove(...args: readonly string[]): Promise<void> {
    const deletion = ['delete', '--ignore-not-found', ...args];
    await cluster.kubectl([...deletion, '--timeout=60s']).catch(async () => {
      // One that ends meanwhile is no longer there to be changed.
      await cluster.kubectl(['annotate', 'crd', '--all', 'davit.dev/reminded=true']).catch(() => undefined);
      await cluster.kubectl([...deletion, '--timeout=180s']).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await remains()}`, { cause: error });
      });
    });
  }

  it('comes to READY, compiles nothing, and takes its deployment away again', { timeout: 900_000 }, async ({
    signal,
  }) => {
    const args = ['--context', 'kind-test', '--once'];
    const { code, out, cached } = await demo(await kubeconfig(), { kubectl }, args, signal);
    expect(code, out).toBe(0);
    hasEnded = true;
    expect(out).toContain(`Using ${cluster.server} (context kind-test); nothing is compiled`);
    expect(out).toMatch(/Creating deployment hello of \S+\/hello-app:1\.0\n/);
    expect(out).toContain('Deployment hello is READY');
    expect(out).toMatch(
      /The sample (answers at its Service hello\.demo|could not be asked through the API server): \S/,
    );
    expect(out).toContain('kubectl --context kind-test -n demo describe appd hello');
    expect(out).toContain('  kubectl davit status hello --context kind-test -n demo\n');
    expect(out).toMatch(/export PATH="\S+:\S+:\$PATH" .*\n {2}source <\(kubectl completion bash\) /);
    expect(out).toMatch(/export .*API=(\S+) TOKEN=(\$\(cat \S+\)) DAVIT_SERVER=\1 DAVIT_TOKEN=\2\n/);
    expect(out).toMatch(
      /with roles davit-editor and edit in namespace demo and no other right:\n {2}export KUBECONFIG=\S+editor\.kubeconfig /,
    );
    expect(out).toMatch(/curl -s http:\/\/127\.0\.0\.1:\d+\/metrics /);
    expect(out).toContain('"imageUri":"us-docker.pkg.dev/google-samples/containers/gke/hello-app:2.0"');
    expect(await objects()).not.toEqual(before);
    expect(cached).toEqual([]);
    expect(await cluster.kubectl(['get', 'appd', '-A', '-o', 'name'])).toBe('');
  });

  it('leaves what its last lines take away', { timeout: 900_000 }, async () => {
    // Beside a Davit that runs, or has left a record, nobody would end what is deleted here.
    expect(hasEnded, 'the demo above has not ended as it should').toBe(true);
    await remove('-f', join(root, 'test/demo/chart.yaml'), '-f', join(root, 'crds'));
    await remove('namespace', 'demo', 'davit-system');
    expect(await objects()).toEqual(before);
  });

  it.each([
    {
      reason: 'a context that is not there',
      programs: () => ({ kubectl }),
      context: 'kind-other',
      says: 'There is no context kind-other in your kubeconfig. kubectl config get-contexts lists them.',
    },
    {
      reason: 'a cluster that does not answer',
      programs: () => ({ kubectl }),
      context: 'kind-kind',
      says: 'The cluster of context kind-kind does not answer: ',
    },
    {
      reason: 'no kubectl',
      programs: () => ({}),
      context: 'kind-kind',
      says: 'kubectl is missing; --context needs it. Install it, and put it on your PATH.',
    },
  ])('says what to do about $reason', async ({ programs, context, says }) => {
    const began = Date.now();
    const { code, out, cached } = await demo(await kubeconfigWith('kind-kind'), programs(), ['--context', context]);
    expect(out).toContain(says);
    expect(out).not.toMatch(/^ +at /m);
    expect([code, cached]).toEqual([1, []]);
    expect(Date.now() - began).toBeLessThan(60_000);
  });
});

describe.each(['--build', '--codehost'])('npm run demo -- %s', (option) => {
  it.each([
    ["a cluster of one's own", ['--context', 'kind-kind'], {}, 2, "--build needs the demo's own cluster"],
    ['no real pods', [], { DAVIT_PODS: 'off' }, 1, '--build needs real pods, and DAVIT_PODS is off.'],
  ])('with %s says why it cannot, before anything is compiled', async (_name, args, env, exit, says) => {
    const cache = await mkdtemp(join(folder, 'cache-'));
    const { code, out } = await runDemo([option, ...args], { ...process.env, DAVIT_CACHE: cache, ...env });
    expect(out).toContain(says);
    expect([code, await readdir(cache)]).toEqual([exit, []]);
  });
});

describe('npm run demo', () => {
  it('names a cluster of this machine in its first lines, and builds Kubernetes alone where no pod can run', {
    timeout: 900_000,
  }, async ({ signal }) => {
    const { kubernetes = '' } = await ensureTools(['kubernetes'], () => undefined);
    const cache = await mkdtemp(join(folder, 'cache-'));
    await mkdir(join(cache, 'tools'));
    await symlink(kubernetes, join(cache, 'tools', basename(kubernetes)));
    const env = {
      ...process.env,
      KUBECONFIG: await kubeconfigWith('kind-kind', 'production'),
      DAVIT_CACHE: cache,
      DAVIT_PODS: 'off',
    };
    const { code, out } = await runDemo(['--once'], env, signal);
    expect(code, out).toBe(0);
    const lines = out.split('\n').map((line) => line.replace(/^ *[0-9.]+ s {2}/, ''));
    expect(lines.slice(0, 3)).toEqual([
      'Your kubeconfig has a cluster of this machine. To use it, without compiling anything:',
      '  npm run demo -- --context kind-kind',
      "Going on with a cluster of the demo's own.",
    ]);
    expect(lines).toContain('Deployment hello is READY');
    expect(await readdir(join(cache, 'tools'))).toEqual([basename(kubernetes)]);
  });
});

describe('npm run demo -- --listener --oauth', () => {
  it('runs a deployment on a second cluster, and shows that the cluster is connected; a person consents, and an agent gets the token', {
    timeout: 900_000,
  }, async ({ signal }) => {
    const { code, out } = await runDemo(
      ['--listener', '--oauth', '--once'],
      { ...process.env, DAVIT_PODS: 'off' },
      signal,
    );
    expect(code, out).toBe(0);
    expect(out).toContain('Enrolling it as listener edge of tenant demo');
    expect(out).toContain('Deployment hello-edge is READY');
    expect(out).toContain("grace has consented on Davit's page, and an agent has got her token");
    expect(out).toMatch(/NAME +CONNECTED +VERSION +LAST-SEEN +RECORDS +AGE\n.* edge +True +\d\S+ +\S+ +1 /);
  });

  it.each([[['--build']], [['--codehost']], [['--context', 'kind-kind']]])('does not go with %s', async (args) => {
    for (const option of ['--listener', '--oauth', '--backups']) {
      const { code, out } = await runDemo([option, ...args], process.env);
      expect(out).toContain('cannot be combined with --build, --codehost or --context');
      expect(code).toBe(2);
    }
  });
});
