// An hour in which somebody has looked at a deployment: pods with what they use, as metrics-server has it, and a crash.

import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { POD_METRICS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { TENANT } from '../http/facade.ts';
import { TOKEN, type World } from './world.ts';

export const iso = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

interface PodSample {
  readonly part: string;
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
  readonly restarts?: number;
  readonly crash?: { readonly reason: string; readonly minutesAgo: number };
}

/** Puts pods with what they use into the cluster. */
export function run({ facade }: World, { metadata }: AppDeployment, samples: readonly PodSample[]): void {
  for (const { part, name, cpu, memory, restarts = 0, crash } of samples) {
    const labels = {
      'davit.dev/deployment': metadata.name,
      'davit.dev/deployment-uid': metadata.uid ?? '',
      'davit.dev/component': part,
      'davit.dev/revision': serialRevisionId(metadata.uid ?? '', 3),
    };
    const resources = { requests: { cpu: '250m', memory: '256Mi' }, limits: { cpu: '500m', memory: '512Mi' } };
    const at = iso(facade.clock.ms - (crash?.minutesAgo ?? 0) * 60_000);
    // A pod that writes keeps its container.
    const writer = facade.kube.objects<Pod>(PODS).find((one) => one.metadata.name === name);
    const [container] = writer?.status?.containerStatuses ?? [];
    const lastState = crash && { terminated: { exitCode: 137, reason: crash.reason, finishedAt: at } };
    facade.kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: TENANT.namespace, labels },
      spec: { containers: [{ name: part, resources }] },
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [
          { ...container, name: part, state: { running: {} }, restartCount: restarts, ...(lastState && { lastState }) },
        ],
      },
    } as KubeObject);
    facade.kube.seed(POD_METRICS, {
      apiVersion: 'metrics.k8s.io/v1',
      kind: 'PodMetrics',
      metadata: { name, namespace: TENANT.namespace, labels },
      containers: [{ name: part, usage: { cpu, memory } }],
    } as KubeObject);
  }
}

/** An hour in which somebody has looked. `shop` uses more after half of it. */
export async function anHour(world: World, shop: AppDeployment): Promise<void> {
  const { facade } = world;
  const end = facade.clock.ms;
  const [newest] = facade.revisions
    .list()
    .filter(({ spec }) => spec.deploymentUid === shop.metadata.uid && spec.revisionSerial === 3);
  if (newest)
    facade.revisions.put({ ...newest, metadata: { ...newest.metadata, creationTimestamp: iso(end - 28 * 60_000) } });
  for (let minute = 0; minute <= 58; minute += 1) {
    facade.clock.ms = end - (58 - minute) * 60_000;
    const load = minute < 30 ? 60 : 210 + 30 * Math.sin(minute);
    const memory = minute < 30 ? 180 : 200 + ((minute - 30) % 12) * 25;
    run(world, shop, [
      { part: 'server', name: 'shop-5f4d7c9b8-x2x7k', cpu: `${Math.round(load)}m`, memory: `${Math.round(memory)}Mi` },
      {
        part: 'server',
        name: 'shop-5f4d7c9b8-bbbbb',
        cpu: `${Math.round(load * 0.8)}m`,
        memory: '170Mi',
        restarts: minute < 44 ? 0 : 2,
        ...(minute >= 44 && { crash: { reason: 'OOMKilled', minutesAgo: minute - 43 } }),
      },
      { part: 'mail', name: 'shop--mail-5f4d7c9b8-ccccc', cpu: '60m', memory: '486Mi', restarts: 2 },
      { part: 'postgres', name: 'shop--postgres-0', cpu: '20m', memory: '140Mi' },
      { part: 'redis', name: 'shop--redis-0', cpu: '4m', memory: '22Mi' },
    ]);
    const { status } = await facade.call('GET', `/v2/deployments/${shop.metadata.uid}/usage`, undefined, {
      'x-api-key': TOKEN,
    });
    if (status !== 200) throw new Error(`the API answered ${status}`);
  }
}
