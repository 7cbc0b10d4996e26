// Reads the logs of a record's pods through the API server with the caller's token: a few streams at a time, until all are read or
// a limit is reached.

import type { IContainerStatus } from 'kubernetes-models/v1/ContainerStatus';
import type { IPod } from 'kubernetes-models/v1/Pod';
import { partsOf } from '../deploy/record/parts.ts';
import { podsIdOf } from '../deploy/record/shared-pods.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  MIGRATION,
  REVISION_LABEL,
  STORE_PARTS,
  TASK,
} from '../kinds/meta.ts';
import { Invalid, NotFound, Unavailable } from '../runtime/errors.ts';
import { tooManyLogs } from '../runtime/http/http-error.ts';
import { PODS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, Read } from '../runtime/kube/client.ts';
import { type ContainerLog, logPath } from '../runtime/kube/log-path.ts';
import { youngestFirst } from '../runtime/kube/youngest-first.ts';
import {
  LONGEST_MS,
  type LogBudget,
  MOST_BYTES,
  MOST_BYTES_OF_STREAM,
  MOST_PODS,
  MOST_STREAMS,
  PODS_AT_ONCE,
  STREAMS_AT_ONCE,
} from './budget.ts';
import { byOf, type Page } from './lines.ts';
import { pushInTurns } from './push-in-turns.ts';

export type PodObject = Read<IPod>;

export interface Reading {
  readonly page: Omit<Page, 'done'>;
  readonly budget: LogBudget;
  /** The namespace whose share of the limits is used. */
  readonly tenant: string;
  /** Aborts when the page is no longer needed. */
  readonly signal: AbortSignal;
  /** Whether to read from the beginning of the logs instead of their last lines. */
  readonly fromStart?: boolean;
}

export interface PodsToRead {
  readonly namespace: string;
  readonly labelSelector: string;
  /** Whether a pod with these labels is read; if absent, all are. A selector cannot pair parts with revisions. */
  readonly isMeant?: (pod: PodObject) => boolean;
  /** Whether this log of a container is read; if absent, all are. */
  readonly isRead?: (log: ContainerLog) => boolean;
}

/** The ids on the pods of one revision. */
export interface PodIds {
  /** The id on the pods of a component. */
  readonly of: (component: string) => string;
  readonly all: readonly string[];
}

/** Ids of the pods of a revision, which may share pods of earlier ones. */
export function podIdsIn(revisions: readonly AppRevision[], revisionId: string | undefined): PodIds | undefined {
  if (revisionId === undefined) return undefined;
  const id = revisionId.toLowerCase();
  const revision = revisions.find(({ spec }) => spec.id === id);
  if (!revision) return { of: () => id, all: [id] };
  const of = (component: string): string => podsIdOf(revision, component);
  return { of, all: [...new Set([...partsOf(revision.spec.resolved), MIGRATION].map(of))] };
}

/** All pods with the record's image, or those of one revision, or of one part. */
export function podsOf({ metadata }: AppDeployment, ids: PodIds | undefined, component?: string | null): PodsToRead {
  const { namespace = '', name, uid = '' } = metadata;
  // The pods of a Cluster have no uid, and no store has a revision.
  if (STORE_PARTS.some((part) => part === component))
    return { namespace, labelSelector: `${DEPLOYMENT_LABEL}=${name},${COMPONENT_LABEL}=${component}` };
  const labelSelector = [
    `${DEPLOYMENT_LABEL}=${name}`,
    `${DEPLOYMENT_UID_LABEL}=${uid}`,
    component
      ? `${COMPONENT_LABEL}=${component}`
      : `${COMPONENT_LABEL},${COMPONENT_LABEL} notin (${[...STORE_PARTS, TASK].join(',')})`,
    ...(ids ? [`${REVISION_LABEL} in (${ids.all.join(',')})`] : []),
  ].join(',');
  if (!ids) return { namespace, labelSelector };
  const isMeant = ({ metadata: { labels } }: PodObject): boolean =>
    ids.of(labels?.[COMPONENT_LABEL] ?? '') === labels?.[REVISION_LABEL];
  return { namespace, labelSelector, isMeant };
}

export async function listPods(
  kube: KubeClient,
  { namespace, labelSelector, isMeant }: PodsToRead,
  signal: AbortSignal,
): Promise<readonly PodObject[]> {
  const { items } = await kube.listAll<PodObject>(PODS, { namespace, labelSelector, limit: PODS_AT_ONCE, signal });
  return isMeant ? items.filter(isMeant) : items;
}

/**
 * Reads logs into the page. Resolves to whether lines may be missing because of a limit or a node that did not answer. Undefined
 * if there is no pod.
 */
export async function readLogs(kube: KubeClient, pods: PodsToRead, reading: Reading): Promise<boolean | undefined> {
  const items = await listPods(kube, pods, reading.signal);
  if (items.length === 0) return undefined;
  const newest = youngestFirst(items).slice(0, MOST_PODS);
  const streams = newest.flatMap(streamsOf).filter((log) => pods.isRead?.(log) !== false);
  const wanted = streams.slice(0, MOST_STREAMS).filter((log) => !reading.page.hasAll(byOf(log), log.starts));
  const isWhole = await readAll(kube, wanted, { ...reading, namespace: pods.namespace });
  return !isWhole || items.length > newest.length || streams.length > MOST_STREAMS;
}

/** The log of one start of a container. */
interface StartLog extends ContainerLog {
  /** Ids of this start of the container and of the next one. */
  readonly starts: readonly string[];
  readonly hasEnded: boolean;
}

function streamsOf({
  metadata,
  status: { initContainerStatuses = [], containerStatuses = [] } = {},
}: PodObject): StartLog[] {
  return [...initContainerStatuses, ...containerStatuses].flatMap((status) => {
    const { name, restartCount, containerID = '', state, lastState } = status;
    const isBetween = waitsToBeRestarted(status);
    const log = { pod: metadata.name, container: name };
    const before = lastState?.terminated?.containerID;
    const now = { ...log, previous: false, starts: [containerID], hasEnded: state?.terminated !== undefined };
    const earlier = { ...log, previous: true, starts: before ? [before, containerID] : [], hasEnded: true };
    return [...(containerID === '' || isBetween ? [] : [now]), ...(restartCount > 0 || isBetween ? [earlier] : [])];
  });
}

/** The node then gives the log before the restart for both. */
function waitsToBeRestarted({ state, lastState }: IContainerStatus): boolean {
  const hasNone = state?.running === undefined && !state?.terminated?.containerID;
  return hasNone && lastState?.terminated !== undefined;
}

/** Resolves to whether everything that the page needs was read. */
async function readAll(
  kube: KubeClient,
  streams: readonly StartLog[],
  { page, budget, tenant, signal, fromStart = false, namespace }: Reading & { readonly namespace: string },
): Promise<boolean> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const timer = setTimeout(() => over.abort(), LONGEST_MS);
  let left = MOST_BYTES;
  let isWhole = true;
  let answered = 0;
  const failed: Unavailable[] = [];

  async function read(stream: StartLog): Promise<void> {
    const giveBack = await (budget.streams.take(tenant, stop) ?? tooManyLogs());
    try {
      const by = byOf(stream);
      const sink = page.sink(by);
      let bytes = 0;
      let goesOn = true;
      const [since, last] = [page.since(by), fromStart ? undefined : page.lastLines(by)];
      const path = logPath(namespace, stream, {
        ...(last !== undefined && { tailLines: String(last) }),
        limitBytes: String(MOST_BYTES_OF_STREAM),
        ...(since !== undefined && { sinceTime: since }),
      });
      for await (const piece of kube.stream(path, { signal: stop })) {
        bytes += piece.length;
        left -= piece.length;
        goesOn = await pushInTurns(sink, piece);
        if (left <= 0) over.abort();
        if (!goesOn || left <= 0) break;
        await budget.pace(piece.length, stop);
      }
      answered += 1;
      // A stream that ended within a line was truncated.
      if (bytes >= MOST_BYTES_OF_STREAM) {
        isWhole &&= !goesOn;
        page.skip(by);
      } else if (goesOn && left > 0) {
        sink.end();
        if (stream.hasEnded && stream.starts[0] !== undefined) page.readToEnd(by, stream.starts[0]);
      }
    } finally {
      giveBack();
    }
  }

  async function attempt(stream: StartLog): Promise<void> {
    try {
      await read(stream);
    } catch (error) {
      if (stop.aborted) return;
      // The pod is gone, the container has not started, or its previous log was removed: there are no lines.
      if (error instanceof NotFound || error instanceof Invalid) answered += 1;
      else if (error instanceof Unavailable) failed.push(error);
      else throw error;
    }
  }

  async function work(queue: Iterator<StartLog>): Promise<void> {
    for (let next = queue.next(); next.done !== true && !stop.aborted; next = queue.next()) {
      await attempt(next.value);
    }
  }

  try {
    const queue = streams.values();
    await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, () => work(queue)));
    signal.throwIfAborted();
    // A node that does not answer does not prevent the answer with the lines of other nodes' pods.
    if (answered === 0 && failed[0] !== undefined) throw failed[0];
    return isWhole && !over.signal.aborted && failed.length === 0;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
