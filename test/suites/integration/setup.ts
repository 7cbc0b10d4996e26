// The cluster of the integration tests: a real API server and controllers; a stand-in sets the status of pods.

import type { TestProject } from 'vitest/node';
import type { Cluster } from '../../cluster/cluster.ts';
import { startForTests } from '../../support/global-setup.ts';
import type { Platform } from '../../support/platform.ts';
import { LEFT } from './orphaned-secret.ts';

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return startForTests(project, 'off', leaveSecret);
}

/** As a facade that died between the Secret and its record would leave it. A test looks for it when its minute is over. */
async function leaveSecret(platform: Platform, { api }: Cluster): Promise<void> {
  await platform.makeTenant(LEFT.namespace);
  await api.call('POST', `/api/v1/namespaces/${LEFT.namespace}/secrets`, {
    metadata: { name: LEFT.name, labels: { 'davit.dev/deployment': 'lost', 'davit.dev/variables': '' } },
    immutable: true,
    stringData: { A: 'b' },
  });
}
