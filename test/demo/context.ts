// A cluster of one's own as the demo's ground: through the context of a kubeconfig, with kubectl and helm as they are
// on this machine or as the embedded cluster builds them.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureTools, toolPath } from '../cluster/tools.ts';
import type { Target } from '../platform.ts';
import type { DemoCluster } from './embedded.ts';

const execute = promisify(execFile);

/** Throws an Error that says what is wrong with the context. Takes nothing away from the cluster when it stops. */
export async function connectContext(context: string, say: (line: string) => void): Promise<DemoCluster> {
  const tools = await ensureTools(['kubernetes', 'helm'], say);
  const kubectlPath = toolPath(tools, 'kubernetes', 'kubectl');
  const kubectl: Target['kubectl'] = (args, options) =>
    run(kubectlPath, ['--context', context, ...args], options?.input);
  const config = JSON.parse(await kubectl(['config', 'view', '--minify', '--flatten', '--raw', '-o', 'json'])) as {
    clusters: { cluster: { server: string; 'certificate-authority-data'?: string } }[];
  };
  const cluster = config.clusters[0]?.cluster;
  if (!cluster)
    throw new Error(`Context ${context} names no cluster. kubectl config get-contexts lists those that there are.`);
  say(`Using ${cluster.server} (context ${context})`);
  const version = JSON.parse(await kubectl(['version', '-o', 'json'])) as { serverVersion: { minor: string } };
  if (Number.parseInt(version.serverVersion.minor, 10) < 32)
    throw new Error(`Davit needs Kubernetes 1.32 or newer; this cluster is 1.${version.serverVersion.minor}.`);
  const directory = await mkdtemp(join(tmpdir(), 'davit-demo-'));
  const command = `kubectl --context ${context}`;
  const logsDir = join(directory, 'logs');
  await mkdir(logsDir);
  const target: Target = {
    server: cluster.server,
    caData: cluster['certificate-authority-data'] ?? '',
    runDir: directory,
    logsDir,
    kubectl,
    helm: (args, options) => run(toolPath(tools, 'helm', 'helm'), args, options?.input),
    tokenFor: async (namespace, serviceAccount, { seconds = 3600 } = {}) =>
      (await kubectl(['create', 'token', serviceAccount, '-n', namespace, `--duration=${seconds}s`])).trim(),
  };
  return {
    target,
    values: {},
    kubeconfig: process.env['KUBECONFIG'] ?? join(process.env['HOME'] ?? '', '.kube/config'),
    kubectlCommand: command,
    directory,
    realPods: true,
    sampleImage: undefined,
    outlivesDemo: true,
    stop: async () => {
      say("Davit's processes are stopped; its objects stay in your cluster. To remove them:");
      say(`  ${command} delete namespace demo davit-system davit-org`);
      say(`  ${command} delete crd appdeployments.davit.dev apprevisions.davit.dev tracingprojects.davit.dev`);
      say(
        `  ${command} delete clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding -l app.kubernetes.io/name=davit`,
      );
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function run(file: string, args: readonly string[], input?: string): Promise<string> {
  const child = execute(file, args, { maxBuffer: 64 << 20 });
  child.child.stdin?.on('error', () => undefined);
  child.child.stdin?.end(input ?? '');
  return (await child).stdout;
}
