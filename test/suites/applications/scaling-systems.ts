// KEDA and metrics-server from their Go modules, in pods, applied with the manifests of these modules.

import { join } from 'node:path';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Image } from '../../cluster/images/build.ts';
import { ensureProgramImage } from '../../cluster/images/programs.ts';
import { moduleFolder } from '../../cluster/tools.ts';
import { applyModule } from '../../support/module-manifests.ts';

export interface ScalingImages {
  readonly keda: Image;
  readonly metricsServer: Image;
}

export async function ensureScalingImages(progress: (line: string) => void): Promise<ScalingImages> {
  return {
    keda: await ensureProgramImage(
      'keda',
      { keda: 'operator', 'keda-adapter': 'adapter', 'keda-admission-webhooks': 'webhooks' },
      progress,
    ),
    metricsServer: await ensureProgramImage('metrics-server', { 'metrics-server': 'metrics-server' }, progress),
  };
}

/** Namespace `keda`, as its own manifests have it. */
export async function installKeda(cluster: Cluster, { keda }: ScalingImages): Promise<void> {
  const module = await moduleFolder('keda', 'github.com/kedacore/keda/v2');
  await applyModule(cluster, join(module, 'config/default'), keda);
  for (const name of ['keda-operator', 'keda-metrics-apiserver', 'keda-admission'])
    await cluster.kubectl(['rollout', 'status', `deployment/${name}`, '-n', 'keda', '--timeout=240s']);
}

export async function installMetricsServer(cluster: Cluster, { metricsServer }: ScalingImages): Promise<void> {
  const module = await moduleFolder('metrics-server', 'sigs.k8s.io/metrics-server');
  // The kubelet's certificate is of the cluster's authority, which a pod does not know.
  await applyModule(cluster, join(module, 'manifests/base'), metricsServer, { args: ['--kubelet-insecure-tls'] });
  await cluster.kubectl(['rollout', 'status', 'deployment/metrics-server', '-n', 'kube-system', '--timeout=240s']);
}
