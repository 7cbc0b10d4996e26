// A cluster with a platform that builds, a tenant on it, and the shell of somebody who has kubectl, the plugin, crane, git and curl.

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cluster, type ClusterOptions, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { call } from '../../demo/api-calls.ts';
import type { BuildingStage } from '../../demo/builds.ts';
import {
  type BuildPlatform,
  type BuildPlatformOptions,
  ensureBuildPlatformImages,
  nodeImages,
  type PlatformThatBuilds,
  startBuildPlatform,
  startPlatformThatBuilds,
} from '../../support/build-platform.ts';
import { openShell, type Shell } from '../../support/documents/documented.ts';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { eventually } from '../../support/running-davit.ts';

export const TEAM = 'team';
/** A build and the start of its pods, on a machine with other work. */
export const BUILT_WITHIN_MS = 420_000;

export interface Ground {
  readonly cluster: Cluster;
  readonly builds: BuildPlatform;
  readonly team: Tenant;
  readonly shell: Shell;
  /** What the demo exports, for the shell: a kubeconfig whose namespace is the team's, and the variables of docs/builds.md. */
  readonly variables: Readonly<Record<string, string>>;
  kubectl(...args: readonly string[]): Promise<string>;
  get<T>(...args: readonly string[]): Promise<T>;
  /** Asks the HTTP API as the team. Throws what it says if it refuses. */
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** What a deployment's server answers at its address in the cluster. */
  ask(name: string): Promise<string>;
  /** Deletes all deployments of the team: the machine has two cores. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

export interface GroundOptions {
  readonly auditLog?: boolean;
  readonly pollSeconds?: number;
  readonly progress: (line: string) => void;
}

export interface Building<Platform = BuildPlatform> {
  readonly cluster: Cluster;
  readonly builds: Platform;
  stop(): Promise<void>;
}

type BuildingOptions = Omit<BuildPlatformOptions, 'images' | 'stores'> &
  Pick<ClusterOptions, 'auditLog' | 'nodes' | 'networkPolicies'>;

/** A cluster with real pods and a platform that builds for these tenants, with a Gitea. */
export function startBuilding(options: BuildingOptions): Promise<Building> {
  return startOn(startBuildPlatform, options);
}

/** The same without a Gitea, which takes ten minutes to compile. */
export function startBuildingFolders(options: BuildingOptions): Promise<Building<PlatformThatBuilds>> {
  return startOn(startPlatformThatBuilds, options);
}

async function startOn<Platform extends PlatformThatBuilds>(
  start: (cluster: Cluster, options: BuildPlatformOptions) => Promise<Platform>,
  { auditLog = false, nodes = 1, networkPolicies = false, progress, ...options }: BuildingOptions,
): Promise<Building<Platform>> {
  const images = await ensureBuildPlatformImages(progress);
  const { postgres, redis, sample } = await ensureImages(progress);
  const cluster = await startCluster({
    pods: 'on',
    userNamespaces: true,
    auditLog,
    nodes,
    networkPolicies,
    images: [...nodeImages(images), postgres, redis, sample],
    progress,
  });
  try {
    const stores = { postgres: postgres.name, redis: redis.name };
    const builds = await start(cluster, { ...options, images, stores, progress });
    const stop = (): Promise<void> => builds.stop().finally(() => cluster.stop());
    return { cluster, builds, stop };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** As the demo deploys folders, for a tenant that is made now. Resolves when the API knows it and its rights. */
export async function folderStage({ cluster, builds }: Building<PlatformThatBuilds>): Promise<BuildingStage> {
  const { platform } = builds;
  const tenant = await platform.makeTenant(TEAM);
  const stopping = new AbortController().signal;
  const stage = { platform, tenant, cluster: { directory: cluster.runDir }, stopping };
  await eventually(() => call(stage, 'GET', '/v2/deployments'));
  return stage;
}

export async function prepareGround({ auditLog = false, pollSeconds = 3, progress }: GroundOptions): Promise<Ground> {
  const tools = await ensureTools(['kubernetes', 'registry'], progress);
  const building = await startBuilding({ auditLog, pollSeconds, tenants: [TEAM], progress });
  const { cluster, builds } = building;
  let shell: Shell | undefined;
  async function stop(): Promise<void> {
    await shell?.close();
    await building.stop();
  }
  try {
    const team = await builds.platform.makeTenant(TEAM);
    const programs = {
      kubectl: toolPath(tools, 'kubernetes', 'kubectl'),
      crane: toolPath(tools, 'registry', 'crane'),
    };
    shell = await openShell(cluster.kubeconfig, programs, BUILT_WITHIN_MS);
    await writePlugin(shell.folder);
    const kubeconfig = join(shell.folder, 'kubeconfig');
    await copyFile(cluster.kubeconfig, kubeconfig);
    await cluster.kubectl(['config', 'set-context', '--current', `--namespace=${TEAM}`, '--kubeconfig', kubeconfig]);
    return made({ cluster, builds, team, shell, kubeconfig, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function made(parts: {
  readonly cluster: Cluster;
  readonly builds: BuildPlatform;
  readonly team: Tenant;
  readonly shell: Shell;
  readonly kubeconfig: string;
  readonly stop: () => Promise<void>;
}): Promise<Ground> {
  const { cluster, builds, team, kubeconfig } = parts;
  const { apiUrl } = builds.platform;
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', TEAM, ...args]);

  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { 'x-api-key': team.token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
  // A tenant that was just made is known to the API a moment later, and so are its rights.
  await eventually(() => call('GET', '/v2/deployments'));

  return {
    ...parts,
    variables: {
      ...builds.variables,
      GITEA: builds.gitea.signedIn,
      API: apiUrl,
      TOKEN: team.token,
      PLUGIN_KUBECONFIG: kubeconfig,
      GIT_AUTHOR_NAME: 'Somebody',
      GIT_AUTHOR_EMAIL: 'somebody@team.example',
      GIT_COMMITTER_NAME: 'Somebody',
      GIT_COMMITTER_EMAIL: 'somebody@team.example',
    },
    kubectl,
    get: async <T>(...args: readonly string[]) => JSON.parse(await kubectl('get', ...args, '-o', 'json')) as T,
    call,
    async ask(name) {
      const address = await kubectl('get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}');
      return (await fetch(`http://${address}/`, { signal: AbortSignal.timeout(10_000) })).text();
    },
    async clear() {
      await kubectl('delete', 'appd', '--all', '--timeout=180s');
    },
  };
}
