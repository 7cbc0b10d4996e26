// CloudNativePG from its Go module, in a pod, applied with the manifests of that module.

import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import type { Image } from '../cluster/images/build.ts';
import { ensureProgramImage } from '../cluster/images/programs.ts';
import { moduleFolder } from '../cluster/tools.ts';
import { applyModule } from './module-manifests.ts';

/** Instances get the manager from the operator's image, each that of its architecture. */
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

export function ensureCloudNativePg(progress: (line: string) => void): Promise<Image> {
  return ensureProgramImage(
    'cloudnative-pg',
    { manager: 'manager', [`operator/manager_${ARCHITECTURE}`]: 'manager' },
    progress,
  );
}

/** Namespace `cnpg-system`, as its own manifests have it. Resolves when it takes Clusters. */
export async function installCloudNativePg(cluster: Cluster, image: Image): Promise<void> {
  const module = await moduleFolder('cloudnative-pg', 'github.com/cloudnative-pg/cloudnative-pg');
  await applyModule(cluster, join(module, 'config/default'), image, { env: { OPERATOR_IMAGE_NAME: image.name } });
  await cluster.kubectl([
    'rollout',
    'status',
    'deployment/cnpg-controller-manager',
    '-n',
    'cnpg-system',
    '--timeout=240s',
  ]);
}
