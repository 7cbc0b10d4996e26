// A cluster that a hub runs deployments on: Davit's controller and the agent, enrolled as a Listener of a tenant of the hub.

import { join } from '../../src/cli/commands/listener.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { startAgent, startPlatform, type Target, type Values } from './platform.ts';
import type { SampleImages } from './sample-cluster.ts';

export interface ListenerClusterOptions {
  /** Davit with `settings.listeners.enabled` runs there. */
  readonly hub: Pick<Target, 'kubectl'>;
  /** Namespace of the tenant, and name of the Listener that is created in it. */
  readonly tenant: string;
  readonly name: string;
  /** Without Davit. */
  readonly cluster: Cluster;
  readonly images: SampleImages;
  /** Namespace of the cluster that the hub may use; created. */
  readonly place: string;
  /** More values of the cluster's chart. */
  readonly values?: Values;
}

export interface ListenerCluster {
  /** Id of the Listener. */
  readonly id: string;
  /** Ends Davit's processes in the cluster. */
  stop(): Promise<void>;
}

/** Resolves when the Listener is connected. */
export async function startListenerCluster(options: ListenerClusterOptions): Promise<ListenerCluster> {
  const { hub, tenant, name, cluster, images, place, values } = options;
  const onHub = (args: readonly string[], input?: string): Promise<string> =>
    hub.kubectl(['-n', tenant, ...args], input === undefined ? {} : { input });
  const create = (at: Pick<Target, 'kubectl'>, object: object): Promise<string> =>
    at.kubectl(['create', '-f', '-'], { input: JSON.stringify(object) });
  await create(hub, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name, namespace: tenant },
    spec: { namespaces: [place] },
  });
  const id = (await onHub(['get', 'lsn', name, '-o', 'jsonpath={.metadata.uid}'])).trim();
  const labels = { 'davit.dev/tenant': 'true', 'davit.dev/listener': id };
  await create(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: place, labels } });
  const platform = await startPlatform(cluster, {
    parts: ['controller'],
    values: {
      'listener.enabled': true,
      'listener.namespaces': [place],
      'settings.images.postgres': images.postgres,
      'settings.images.redis': images.redis,
      ...values,
    },
  });
  try {
    await onHub(['wait', '--for=jsonpath={.status.namespace}', `lsn/${name}`, '--timeout=60s']);
    const { manifest } = await join(onHub, name, undefined, () => Promise.resolve());
    await cluster.kubectl(['apply', '-f', '-'], { input: manifest });
    const agent = await startAgent(cluster, [place]);
    const stop = async (): Promise<void> => {
      await agent.stop();
      await platform.stop();
    };
    try {
      await onHub(['wait', '--for=condition=Connected', `lsn/${name}`, '--timeout=60s']);
      return { id, stop };
    } catch (error) {
      await agent.stop();
      throw error;
    }
  } catch (error) {
    await platform.stop();
    throw error;
  }
}
