// Starts one cluster with Davit on it for all test files of a vitest project, and a small control door through which
// tests in other processes make tenants and kill Davit's processes.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cluster } from '../cluster/cluster.ts';
import { aRepository, PRIVATE_KEY, startHost } from '../suites/codehost/host.ts';
import { type Platform, type PlatformOptions, startPlatform, type Values } from './platform.ts';
import type { Provided } from './running-davit.ts';
import { startSampleCluster } from './sample-cluster.ts';

interface TestProject {
  provide(key: 'davit', value: Provided): void;
}

/**
 * Returns the teardown. `pods: 'auto'` gives a stand-in where the machine allows no pods; `node` tells. `onStarted` does
 * what has to be long done when a test looks for it; `values` and `env` are
 * more values of the chart and more environment of both processes.
 */
export async function startForTests(
  project: TestProject,
  pods: 'auto' | 'off',
  onStarted: (platform: Platform, cluster: Cluster) => Promise<void> = async () => {},
  { values = {}, env = {} }: Pick<PlatformOptions, 'env'> & { readonly values?: Values } = {},
): Promise<() => Promise<void>> {
  const progress = (line: string): void => void process.stderr.write(`  ${line}\n`);
  const { cluster, images, kubectlPath } = await startSampleCluster({ pods, auditLog: true, progress });
  const codeHost = await startHost('localhost');
  codeHost.repositories = Array.from({ length: 120 }, (_, index) => aRepository(index + 1));
  const platform = await startPlatform(cluster, {
    progress,
    env,
    values: {
      'settings.images.postgres': images.postgres,
      'settings.images.redis': images.redis,
      'settings.pods.progressDeadlineSeconds': 20,
      'settings.codeHosts': [{ host: `localhost:${codeHost.port}`, addresses: ['127.0.0.1', '::1'], ca: codeHost.ca }],
      'settings.tracing.otlpEndpoint': 'http://collector.observability:4318',
      ...values,
    },
  });
  await onStarted(platform, cluster);
  const door = createServer(async (request, response) => {
    try {
      const [, action, name = ''] = (request.url ?? '').split('/');
      if (action === 'tenant') {
        response.end(JSON.stringify(await platform.makeTenant(name)));
      } else if (action === 'kill' && (name === 'controller' || name === 'api')) {
        platform.processes[name]?.kill('SIGKILL');
        response.end('{}');
      } else {
        response.writeHead(404).end('{}');
      }
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  project.provide('davit', {
    apiUrl: platform.apiUrl,
    kubeconfig: cluster.kubeconfig,
    kubectlPath,
    server: cluster.server,
    ca: cluster.ca,
    node: cluster.node,
    images,
    codeHost: { github: codeHost.github, gitea: codeHost.gitea, privateKey: PRIVATE_KEY },
    logs: cluster.logsDir,
    controlUrl: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
  });
  return async () => {
    door.close();
    await codeHost.close();
    await platform.stop();
    await cluster.stop();
  };
}
