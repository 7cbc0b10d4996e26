// Reads what the pods of a record wrote, through the API server, with the caller's own token.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, REVISION_LABEL, ROLES } from '../../api/meta.ts';
import { Invalid, NotFound } from '../../errors.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { PODS } from '../../kube/resources.ts';
import type { Written } from './lines.ts';

interface PodObject extends KubeObject {
  readonly status?: {
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}
interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  /** Empty while it has not been started. */
  readonly containerID?: string;
}

/** Of so many pods, the newest, is read; and of each container its last lines, before and after its last restart. */
const MOST_PODS = 20;
const LAST_LINES = 1000;
const MOST_BYTES = 4 * 1024 * 1024;

export interface Reading {
  readonly revisionId?: string;
  /** Whole seconds are enough: the page is cut exactly afterwards. */
  readonly since?: string;
}

export async function readLogs(
  kube: KubeClient,
  { metadata }: AppDeployment,
  { revisionId, since }: Reading,
): Promise<Written[]> {
  const { namespace = '', name, uid = '' } = metadata;
  const labelSelector = [
    `${DEPLOYMENT_LABEL}=${name}`,
    `${DEPLOYMENT_UID_LABEL}=${uid}`,
    `${COMPONENT_LABEL} in (${ROLES.join(',')})`,
    ...(revisionId === undefined ? [] : [`${REVISION_LABEL}=${revisionId}`]),
  ].join(',');
  const { items } = await kube.listAll<PodObject>(PODS, { namespace, labelSelector });
  const newest = items.toSorted((a, b) => (bornAt(a) < bornAt(b) ? 1 : -1)).slice(0, MOST_PODS);
  const read = await Promise.all(
    newest.flatMap((pod) => streamsOf(pod).map((stream) => readStream(kube, pod, stream, since))),
  );
  return read.filter((written) => written !== undefined);
}

function bornAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}

interface Stream {
  readonly container: string;
  readonly previous: boolean;
}

function streamsOf({ status }: PodObject): Stream[] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.flatMap(({ name, restartCount = 0, containerID = '' }) => [
    ...(containerID === '' ? [] : [{ container: name, previous: false }]),
    ...(restartCount > 0 ? [{ container: name, previous: true }] : []),
  ]);
}

async function readStream(
  kube: KubeClient,
  { metadata }: PodObject,
  { container, previous }: Stream,
  since: string | undefined,
): Promise<Written | undefined> {
  const query = new URLSearchParams({
    container,
    timestamps: 'true',
    tailLines: String(LAST_LINES),
    limitBytes: String(MOST_BYTES),
    ...(previous && { previous: 'true' }),
    ...(since !== undefined && { sinceTime: `${new Date(since).toISOString().slice(0, 19)}Z` }),
  });
  try {
    const text = await kube.text(
      `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log?${query.toString()}`,
    );
    return { by: `${metadata.name}/${container}${previous ? '/previous' : ''}`, text };
  } catch (error) {
    // Gone meanwhile, or not started, or what it wrote before has been cleared away: it says nothing.
    if (error instanceof NotFound || error instanceof Invalid) return undefined;
    throw error;
  }
}
