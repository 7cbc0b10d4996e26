// What the status of a record has on its own PostgreSQL and Redis: the image in force, what the running server says about itself, and
// which image a patch would bring.

import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { DatastoreStatus } from '../../kinds/database.ts';
import { STORE_PARTS, type StorePart } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';
import { isOlderImage, isSameLine } from '../record/image.ts';
import { platformImage } from '../record/resolve.ts';
import { isOfCluster, isPrimary, readyInstances } from './database-cluster.ts';
import type { Observed, ObservedChildren, Pod } from './observed.ts';
import { isReadyPod, living } from './pod-failures.ts';
import { storePodsOf } from './stores.ts';

/** The container of a server has the name of its part, also in the pods of CloudNativePG. */
export interface Server {
  readonly part: StorePart;
  readonly pod: Pod;
  /** RFC 3339. */
  readonly startedAt: string;
}

/**
 * Images of the servers of a datastore, one for each pod that is not being deleted. Undefined for each instance that a Cluster lacks: CloudNativePG
 * deletes one after the other, and creates it again.
 */
export function serverImages(observed: ObservedChildren, part: StorePart): readonly (string | undefined)[] {
  const images = serverPods(observed, part).map((pod) => imageOfServer(pod, part));
  const wanted = part === 'postgres' ? readyInstances(observed).wanted : 0;
  return [...images, ...Array.from({ length: Math.max(0, wanted - images.length) }, () => undefined)];
}

function serverPods(observed: ObservedChildren, part: StorePart): readonly Pod[] {
  return living(storePodsOf(observed, part)).filter((pod) => imageOfServer(pod, part) !== undefined);
}

function imageOfServer({ spec }: Pod, part: StorePart): string | undefined {
  return spec?.containers?.find(({ name }) => name === part)?.image;
}

/** The server that answers, in a Cluster its primary. Undefined while none with this image does. */
function serverOf(observed: ObservedChildren, part: StorePart, image: string): Server | undefined {
  const pod = serverPods(observed, part).find(
    (one) =>
      isReadyPod(one) &&
      imageOfServer(one, part) === image &&
      (!isOfCluster(one, observed.names.postgres) || isPrimary(one)),
  );
  const startedAt = pod?.status?.containerStatuses?.find(({ name }) => name === part)?.state?.running?.startedAt;
  return pod && startedAt !== undefined ? { part, pod, startedAt } : undefined;
}

/** Servers whose version the status does not have yet. */
export function serversToAsk(observed: ObservedChildren): readonly Server[] {
  const { record, revisions } = observed;
  return STORE_PARTS.flatMap((part) => {
    const image = revisions[0]?.spec.resolved[part]?.image;
    const server = image === undefined ? undefined : serverOf(observed, part, image);
    const known = record.status?.datastores?.[part];
    return server && !(known?.version !== undefined && known.since === server.startedAt) ? [server] : [];
  });
}

const STARTS: Readonly<Record<StorePart, RegExp>> = {
  postgres: /starting PostgreSQL (\d{1,3}(?:\.\d{1,3}){0,2})/,
  redis: /(?:Redis|Valkey) version=(\d{1,3}(?:\.\d{1,3}){1,3})/,
};

/** The version that a server writes into its log when it starts. */
export function versionInLog(part: StorePart, text: string): string | undefined {
  return STARTS[part].exec(text)?.[1];
}

/** What the status has on the datastores of the newest revision. */
export function datastoresOf(
  observed: Observed,
  { spec: { resolved } }: AppRevision,
  settings: Settings,
): AppDeploymentStatus['datastores'] {
  const all = STORE_PARTS.flatMap((part) => {
    const { image } = resolved[part] ?? {};
    if (image === undefined) return [];
    const known = observed.record.status?.datastores?.[part];
    const before = known?.image === image ? known : undefined;
    const since = serverOf(observed, part, image)?.startedAt ?? before?.since;
    const version = observed.versions?.[part] ?? (before?.since === since ? before?.version : undefined);
    const platform = platformImage(part, resolved.postgres?.driver, settings);
    const isNewer = platform !== image && isSameLine(platform, image) && !isOlderImage(platform, image);
    const status: DatastoreStatus = {
      image,
      ...(version !== undefined && { version }),
      ...(since !== undefined && { since }),
      ...(isNewer && { available: platform }),
    };
    return [[part, status] as const];
  });
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}
