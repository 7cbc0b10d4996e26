// A cluster of its own with Davit on it, for one test file or one program. test/kit/memory has Davit without a cluster.

import { type Cluster, type ClusterOptions, startCluster } from '../cluster/cluster.ts';
import { type Platform, type PlatformOptions, startPlatform, type Tenant, type Values } from '../support/platform.ts';
import { type Attached, callsTo, eventually } from '../support/running-davit.ts';

/** `apiserver`: a stand-in sets the status of pods. `pods`: real ones, which the machine must be able to run. */
export type Ground = 'apiserver' | 'pods';

export interface DavitOptions extends PlatformOptions, Omit<ClusterOptions, 'pods' | 'controllers' | 'progress'> {
  /** Of the chart. */
  readonly values?: Values;
  /** What the cluster has before the chart is applied. */
  readonly prepare?: (cluster: Cluster) => Promise<unknown>;
}

export interface Davit extends Platform {
  readonly cluster: Cluster;
  /** Calls the HTTP API with a tenant's token and id. */
  readonly call: Attached['call'];
  /** A tenant that the HTTP API knows already. */
  knownTenant(name: string): Promise<Tenant>;
  /** Ends Davit, then the cluster. */
  stop(): Promise<void>;
}

/** Resolves when Davit's processes are ready. Where they do not start, the cluster is stopped. */
export async function startDavit(ground: Ground, options: DavitOptions = {}): Promise<Davit> {
  const { values, env, parts, source, prepare, ...ofCluster } = options;
  const { progress } = options;
  const cluster = await startCluster({ pods: ground === 'pods' ? 'on' : 'off', ...ofCluster });
  try {
    await prepare?.(cluster);
    const platform = await startPlatform(cluster, {
      ...(values && { values }),
      ...(env && { env }),
      ...(parts && { parts }),
      ...(source !== undefined && { source }),
      ...(progress && { progress }),
    });
    return onCluster(cluster, platform);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

function onCluster(cluster: Cluster, platform: Platform): Davit {
  const call = callsTo(platform.apiUrl);
  return {
    ...platform,
    cluster,
    call,
    async knownTenant(name) {
      const tenant = await platform.makeTenant(name);
      // The facade knows a new namespace, and the authorizer its bindings, a moment later.
      await eventually(async () => {
        const { status } = await call(tenant, 'GET', '/v2/deployments');
        if (status !== 200) throw new Error(`tenant ${name} is not known yet: ${status}`);
      });
      return tenant;
    },
    async stop() {
      await platform.stop();
      await cluster.stop();
    },
  };
}
