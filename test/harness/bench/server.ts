// A fresh control plane for one arm: the second arm on the same server would find it slower.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { TENANT_LABEL } from '../../../src/kinds/meta.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { ApiError, type ApiObject } from '../../cluster/api-client.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { applyChart, DAVIT_NAMESPACE, kubeconfigFor } from '../../support/platform.ts';
import { type Rendering, renderChildren } from './children.ts';
import type { BenchServer, ServerOptions } from './measure.ts';

/** The last version that lets the feature be switched off, which only the oldest supported Kubernetes emulates; pages of lists come from memory all the same, as since 1.34. */
const ADDRESSES_FROM_BITMAP = [
  '--emulated-version=1.33',
  '--feature-gates=MultiCIDRServiceAllocator=false,ListFromCacheSnapshot=true',
];

export async function startServer(options: ServerOptions): Promise<BenchServer> {
  const { tenants, values = {}, controllers = false, manyServices = false } = options;
  const apiServerArgs = manyServices ? ADDRESSES_FROM_BITMAP : [];
  process.env['DAVIT_KUBERNETES'] = manyServices ? 'oldest' : 'current';
  const cluster = await startCluster({ pods: 'off', controllers, apiServerArgs });
  try {
    // The chart may give rights in them.
    const made = await Promise.all(tenants.map(async (name) => [name, await makeTenant(cluster, name)] as const));
    const documents = await applyChart(cluster, values);
    const directory = join(cluster.runDir, 'bench');
    await mkdir(directory, { recursive: true });
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, await kubeconfigFor(cluster, DAVIT_NAMESPACE, 'davit-controller'), { mode: 0o600 });
    const rendering = renderChildren(Settings.parse(parseYaml(documents['settings.yaml'] ?? '') ?? {}));
    const childrenFile = join(directory, 'children.json');
    await writeFile(childrenFile, jsonOf(rendering));
    return { cluster, documents, tenants: new Map(made), kubeconfig, rendering, childrenFile };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export function jsonOf(rendering: Rendering): string {
  return `${JSON.stringify(rendering, null, 2)}\n`;
}

/** Returns its uid. */
async function makeTenant({ api }: Cluster, name: string): Promise<string> {
  const namespace = await api.call<ApiObject>('POST', '/api/v1/namespaces', {
    metadata: { name, labels: { [TENANT_LABEL]: 'true' } },
  });
  // Without a controller manager nobody else makes it, and without it no pod is admitted, not even one that is tried.
  await api
    .call('POST', `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } })
    .catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    });
  return namespace.metadata.uid ?? '';
}
