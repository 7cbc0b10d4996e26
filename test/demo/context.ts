// A cluster of one's own as the demo's ground, through the context of a kubeconfig. Nothing is built for it: kubectl is
// the one on this machine, and the chart is rendered already.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { OLDEST_KUBERNETES } from '../../src/main/preflight/preflight-checks.ts';
import { type DemoCluster, DemoError, TENANT } from './demo-cluster.ts';

const execute = promisify(execFile);

/** Names that local clusters give their contexts. */
const LOCAL = /^(kind-.+|k3d-.+|minikube|docker-desktop|rancher-desktop|colima(-.+)?|orbstack)$/;
/**
 * Listens on PORT and answers every path, so /ok too: all that an image has to do. Public, since a cluster of one's own
 * has no image of ours.
 */
const PUBLIC_SAMPLE = 'us-docker.pkg.dev/google-samples/containers/gke/hello-app';

/** Contexts of the caller's kubeconfig that are a cluster on this machine. */
export async function localContexts(env: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const paths = env['KUBECONFIG']?.split(delimiter).filter(Boolean) ?? [join(homedir(), '.kube', 'config')];
  const found = await Promise.all(paths.map(contextsOf));
  return [...new Set(found.flat())].filter((name) => LOCAL.test(name));
}

/** None where the file is not there, or is none of kubectl's: the demo does without. */
async function contextsOf(path: string): Promise<string[]> {
  try {
    const { contexts = [] } = parse(await readFile(path, 'utf8')) as { contexts?: { name: string }[] };
    return contexts.map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Throws a DemoError that says what is wrong with the context. Takes nothing away from the cluster when it stops. */
export async function connectContext(context: string, say: (line: string) => void): Promise<DemoCluster> {
  const kubectl: DemoCluster['target']['kubectl'] = (args, options) =>
    run('kubectl', ['--context', context, ...args], options?.input);
  const { server, caData } = await clusterOf(context, kubectl);
  say(`Using ${server} (context ${context}); nothing is compiled`);
  await checkVersion(context, kubectl);
  const directory = await mkdtemp(join(tmpdir(), 'davit-demo-'));
  const command = `kubectl --context ${context}`;
  const logsDir = join(directory, 'logs');
  await mkdir(logsDir);
  return {
    target: {
      server,
      caData,
      runDir: directory,
      logsDir,
      kubectl,
      tokenFor: async (namespace, serviceAccount, { seconds = 3600 } = {}) =>
        (await kubectl(['create', 'token', serviceAccount, '-n', namespace, `--duration=${seconds}s`])).trim(),
    },
    images: {},
    kubeconfig: process.env['KUBECONFIG'] ?? join(homedir(), '.kube', 'config'),
    kubectlCommand: `${command} -n ${TENANT}`,
    exports: [],
    programs: [],
    directory,
    realPods: true,
    sampleImage: `${PUBLIC_SAMPLE}:1.0`,
    nextImage: `${PUBLIC_SAMPLE}:2.0`,
    outlivesDemo: true,
    askSample: async (namespace, deployment) => {
      const path = `/api/v1/namespaces/${namespace}/services/${deployment}:80/proxy/ok`;
      // READY is the verdict; not every cluster lets its API server reach pods.
      return kubectl(['get', '--raw', path]).then(
        (answer) => [`The sample answers at its Service ${deployment}.${namespace}: ${answer.split('\n')[0] ?? ''}`],
        (error: unknown) => [`The sample could not be asked through the API server: ${lastLine(error)}`],
      );
    },
    stop: async () => {
      say("Davit's processes are stopped; its objects stay in your cluster. To remove them:");
      say(`  ${command} delete -f test/demo/chart.yaml -f crds`);
      say(`  ${command} delete namespace ${TENANT} davit-system`);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

type Kubectl = DemoCluster['target']['kubectl'];

async function clusterOf(context: string, kubectl: Kubectl): Promise<{ server: string; caData: string }> {
  const view = await kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json']).catch(
    (error: unknown) => {
      if (error instanceof DemoError) throw error;
      throw new DemoError(`There is no context ${context} in your kubeconfig. kubectl config get-contexts lists them.`);
    },
  );
  const { clusters } = JSON.parse(view) as {
    clusters: { cluster: { server: string; 'certificate-authority-data'?: string } }[] | null;
  };
  const cluster = clusters?.[0]?.cluster;
  if (!cluster) throw new DemoError(`Context ${context} names no cluster. kubectl config view shows what it names.`);
  return { server: cluster.server, caData: cluster['certificate-authority-data'] ?? '' };
}

async function checkVersion(context: string, kubectl: Kubectl): Promise<void> {
  const text = await kubectl(['version', '-o', 'json', '--request-timeout=10s']).catch((error: unknown) => {
    throw new DemoError(
      `The cluster of context ${context} does not answer: ${lastLine(error)} Start it, or run npm run demo without --context.`,
    );
  });
  const { serverVersion } = JSON.parse(text) as { serverVersion: { major: string; minor: string } };
  if (Number.parseInt(serverVersion.minor, 10) < OLDEST_KUBERNETES.minor)
    throw new DemoError(
      `Davit needs Kubernetes 1.${OLDEST_KUBERNETES.minor} or newer; this cluster is 1.${serverVersion.minor}.`,
    );
}

function lastLine(error: unknown): string {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return said.trim().split('\n').at(-1) ?? '';
}

async function run(file: string, args: readonly string[], input?: string): Promise<string> {
  const child = execute(file, args, { maxBuffer: 64 << 20 });
  child.child.stdin?.on('error', () => undefined);
  child.child.stdin?.end(input ?? '');
  try {
    return (await child).stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new DemoError(`${file} is missing; --context needs it. Install it, and put it on your PATH.`);
    throw error;
  }
}
