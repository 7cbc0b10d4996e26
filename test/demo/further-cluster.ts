// A second cluster for the demo: enrolled as a Listener of the first, and a deployment that runs on it.

import { startListenerCluster } from '../support/listener-cluster.ts';
import { startSampleCluster } from '../support/sample-cluster.ts';
import { call, type Deployment, type Stage } from './api-calls.ts';
import { askSample } from './embedded.ts';

export const ON_FURTHER_CLUSTER = 'hello-edge';
const LISTENER = 'edge';
/** Namespace of the further cluster. */
const PLACE = 'edge-apps';

export interface FurtherCluster {
  readonly kubeconfig: string;
  /** Creates the deployment. */
  deploy(): Promise<Deployment>;
  /** What the deployment answers, and how the Listener is shown, in lines. */
  describe(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startFurtherCluster(stage: Stage, say: (line: string) => void): Promise<FurtherCluster> {
  const hub = stage.cluster.target;
  const tenant = stage.tenant.namespace;
  say('Starting a second cluster');
  const { cluster, images } = await startSampleCluster({ pods: 'auto', progress: (line) => say(`  ${line}`) });
  try {
    say(`Enrolling it as listener ${LISTENER} of tenant ${tenant}`);
    const listening = await startListenerCluster({ hub, tenant, name: LISTENER, cluster, images, place: PLACE });
    return {
      kubeconfig: cluster.kubeconfig,
      deploy: () =>
        call(stage, 'POST', '/v2/deployments', {
          name: ON_FURTHER_CLUSTER,
          source: 'external_docker',
          database_deletion_policy: 'Delete',
          source_config: { listener_id: listening.id, listener_config: { k8s_namespace: PLACE } },
          source_revision_config: { image_uri: images.sample },
          secrets: [{ name: 'GREETING', value: 'hello from a Secret of the hub' }],
        }),
      async describe() {
        const answers = cluster.node === 'real' ? await askSample(cluster, PLACE, ON_FURTHER_CLUSTER) : [];
        return [...answers, ...(await hub.kubectl(['-n', tenant, 'get', 'lsn'])).trimEnd().split('\n')];
      },
      async stop() {
        await listening.stop();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
