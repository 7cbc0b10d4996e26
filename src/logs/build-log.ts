// Reads the log of a build: from its pod while there is one, and from the registry, which stores it when the build has ended.

import { type BuildPlatform, placeOf } from '../builds/http/registry/platform.ts';
import { canBuild } from '../deployments/record/build-source.ts';
import { logTag } from '../deployments/record/registry-names.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { Tenant } from '../organization/facade/authorization.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { type BuildStatus, isUnderWay } from '../schema/build.ts';
import { BUILD_LABEL } from '../schema/meta.ts';
import { LONGEST_MS } from './budget.ts';
import { logLayer, readKeptLog } from './kept-log.ts';
import { type PodsToRead, type Reading, readLogs } from './pods.ts';

export interface BuildToRead {
  /** The facade's own credentials. */
  readonly kube: KubeClient;
  readonly platform: BuildPlatform;
  readonly record: AppDeployment;
  readonly tenant: Tenant;
  readonly revision: string;
  /** What the controller reports of the build. Undefined for a revision that is not built. */
  readonly status: BuildStatus | undefined;
}

/** Reads the log of the build that made the revision's image into the page. Resolves to whether a limit truncated it. May throw RegistryFailed. */
export async function readBuildLog(build: BuildToRead, reading: Reading): Promise<boolean> {
  const { kube, status, platform } = build;
  // Whoever may push to the repository can store there what looks like a log, for any revision.
  if (status === undefined) return false;
  // A node may have truncated the log of the pod. The stored log of an ended build is more complete.
  const made = { ...build, revision: status.builtBy?.toLowerCase() ?? build.revision };
  const kept = isUnderWay(status) ? undefined : await readKept(made, reading);
  if (kept !== undefined) return kept;
  // Where nothing is built, the chart grants no right to logs of builds.
  if (!canBuild(platform.settings)) return false;
  return (await readLogs(kube, buildPods(made), reading)) ?? false;
}

function buildPods({ platform, revision }: Pick<BuildToRead, 'platform' | 'revision'>): PodsToRead {
  return { namespace: platform.settings.builds.namespace, labelSelector: `${BUILD_LABEL}=${revision}` };
}

/** Undefined if no log is stored. */
async function readKept(
  { platform, record, tenant, revision }: BuildToRead,
  reading: Reading,
): Promise<boolean | undefined> {
  if (platform.registry === undefined) return undefined;
  const { registry, repository } = placeOf(platform, record, tenant.id);
  const stop = AbortSignal.any([reading.signal, AbortSignal.timeout(LONGEST_MS)]);
  const manifest = await registry.client.manifest(repository, logTag(revision), stop);
  const layer = manifest && logLayer(manifest);
  const packed = layer && (await registry.client.blob(repository, layer.digest, stop));
  return packed && readKeptLog(packed, reading, stop);
}
