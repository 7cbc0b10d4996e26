// The embedded cluster as the demo wants it: with the images of the sample, and somebody who asks it through its
// Service.

import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import { realPods } from '../cluster/machine.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';
import { ensureDavitImage } from '../image/davit-image.ts';
import {
  ensureBuildPlatformImages,
  nodeImages,
  startBuildPlatform,
  startPlatformThatBuilds,
} from '../support/build-platform.ts';
import { startPlatform } from '../support/platform.ts';
import { SAMPLE_AGAIN, startSampleCluster } from '../support/sample-cluster.ts';
import { startDemoBackups } from './backups.ts';
import { type DemoCluster, DemoError, TENANT } from './demo-cluster.ts';
import { prepareHelmDemo } from './helm.ts';
import type { DemoTokens } from './tokens.ts';

interface EmbeddedOptions {
  readonly build?: boolean;
  readonly codehost?: boolean;
  readonly listener?: boolean;
  readonly tokens?: DemoTokens | undefined;
  readonly backups?: boolean;
  readonly helm?: boolean;
}

/** What an ordinary langgraph.json is served by. MIT; it runs langgraph-api, which has the Elastic License 2.0. */
export const AGENT_SERVER = {
  package: 'langhost==0.11.1.post1',
  command: 'env LANGGRAPH_RUNTIME_EDITION=pg langhost serve --host 0.0.0.0 --port $PORT',
};

/** Tests have Delete. */
const AS_INSTALLED = { 'settings.database.deletionPolicy': 'Retain' };

/** With an option it can start a platform that does so, for which more is compiled the first time. */
export async function embeddedDemoCluster(
  say: (line: string) => void,
  { build = false, codehost = false, listener = false, tokens, backups = false, helm = false }: EmbeddedOptions = {},
): Promise<DemoCluster> {
  if (build || backups || helm) await needRealPods(build ? '--build' : backups ? '--backups' : '--helm', say);
  const davit = backups || helm ? await ensureDavitImage(say) : undefined;
  const buildImages = build ? await ensureBuildPlatformImages(say) : undefined;
  const { cluster, images, kubectlPath } = await startSampleCluster({
    pods: 'auto',
    progress: say,
    ...(buildImages && { userNamespaces: true, more: async () => nodeImages(buildImages) }),
    ...(davit && { more: async () => [davit] }),
  });
  const hasRealPods = cluster.node === 'real';
  const clients = build ? [toolPath(await ensureTools(['registry'], say), 'registry', 'crane')] : [];
  await cluster.kubectl(['config', 'set-context', '--current', `--namespace=${TENANT}`]);
  const kept = backups && davit ? await startDemoBackups(cluster, davit, say) : undefined;
  const stores = { postgres: images.postgres, redis: images.redis };
  const installed = helm && davit ? await prepareHelmDemo(cluster, davit, stores, say) : undefined;
  say(`Kubernetes is up, ${hasRealPods ? 'with real pods' : 'without real pods: a stand-in sets their status'}`);
  return {
    target: cluster,
    images: stores,
    kubeconfig: cluster.kubeconfig,
    kubectlCommand: 'kubectl',
    exports: [`KUBECONFIG=${cluster.kubeconfig}`, ...(installed?.exports ?? [])],
    programs: [...[kubectlPath, ...clients].map((path) => dirname(path)), ...(installed ? [installed.program] : [])],
    directory: cluster.runDir,
    realPods: hasRealPods,
    sampleImage: images.sample,
    nextImage: SAMPLE_AGAIN,
    outlivesDemo: false,
    ...(buildImages && {
      startBuildPlatform: () =>
        (codehost ? startBuildPlatform : startPlatformThatBuilds)(cluster, {
          images: buildImages,
          stores: images,
          tenants: [TENANT],
          values: { ...AS_INSTALLED, 'settings.builds.agentServer': AGENT_SERVER },
          progress: say,
        }),
    }),
    ...(kept && { backups: kept }),
    ...(installed && { commands: installed.commands, startHub: installed.start }),
    ...((listener || tokens || kept) && {
      startHub: async () =>
        startPlatform(cluster, {
          progress: say,
          env: tokens?.env ?? {},
          values: {
            ...AS_INSTALLED,
            ...tokens?.values,
            ...kept?.values,
            ...(hasRealPods && (await tokens?.openToPods(cluster.hostAddress))),
            'settings.hosting': 'both',
            'settings.listeners.enabled': listener,
            'settings.images.postgres': images.postgres,
            'settings.images.redis': images.redis,
          },
        }),
    }),
    ...(hasRealPods && {
      askSample: (namespace: string, deployment: string) => askSample(cluster, namespace, deployment),
    }),
    stop: () => cluster.stop(),
  };
}

async function needRealPods(option: string, say: (line: string) => void): Promise<void> {
  if (process.env['DAVIT_PODS'] === 'off') throw new DemoError(`${option} needs real pods, and DAVIT_PODS is off.`);
  const machine = await realPods(say);
  if (!machine.ok) throw new DemoError(`${option} needs real pods, which this machine cannot run: ${machine.reason}`);
}

/** Sends something to the sample server through its Service and tells, line by line, what came back. */
export async function askSample(cluster: Cluster, namespace: string, deployment: string): Promise<readonly string[]> {
  const address = await cluster.kubectl([
    'get',
    'service',
    deployment,
    '-n',
    namespace,
    '-o',
    'jsonpath={.spec.clusterIP}',
  ]);
  const url = `http://${address.trim()}`;
  const item = await send<{ id: number }>(`${url}/items`, { text: 'written by the demo' });
  const read = await send<{ text: string }>(`${url}/items/${item.id}`);
  const job = await send<{ id: string }>(`${url}/jobs`, { text: 'olleh' });
  const done = await finished(`${url}/jobs/${job.id}`);
  return [
    `The sample answers at its Service ${deployment}.${namespace} (${address.trim()})`,
    `  stored in PostgreSQL and read back: ${JSON.stringify(read)}`,
    `  worked through Redis: ${JSON.stringify(done)}`,
  ];
}

async function send<T>(url: string, body?: object): Promise<T> {
  const response = await fetch(
    url,
    body ? { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {},
  );
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

async function finished(url: string): Promise<object> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const job = await send<{ status: string }>(url);
    if (job.status === 'done') return job;
    await sleep(100);
  }
  throw new Error(`${url} was not done within 10 s: the queue does not work.`);
}
