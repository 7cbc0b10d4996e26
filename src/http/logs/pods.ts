// Reads the logs of a record's pods through the API server with the caller's token: a few streams at a time, until all are read or
// a limit is reached.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  IMAGE_COMPONENTS,
  REVISION_LABEL,
} from '../../api/meta.ts';
import { Invalid, NotFound, Unavailable } from '../../errors.ts';
import { PODS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { podsIdOf } from '../../record/shared-pods.ts';
import { tooManyLogs } from '../core/http-error.ts';
import {
  LAST_LINES,
  LONGEST_MS,
  type LogBudget,
  MOST_BYTES,
  MOST_BYTES_OF_STREAM,
  MOST_PODS,
  MOST_STREAMS,
  PODS_AT_ONCE,
  STREAMS_AT_ONCE,
} from './budget.ts';
import type { Page } from './lines.ts';
import { pushInTurns } from './push-in-turns.ts';

export interface PodObject extends KubeObject {
  readonly status?: {
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}
interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  /** Empty until the container has started. */
  readonly containerID?: string;
  readonly state?: { readonly running?: object; readonly terminated?: { readonly containerID?: string } };
  readonly lastState?: { readonly terminated?: object };
}

export interface Reading {
  readonly page: Pick<Page, 'sink' | 'since' | 'enough'>;
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
}

/** The id on the pods of a revision, which may share those of an earlier one. */
export function podsIdIn(revisions: readonly AppRevision[], revisionId: string | undefined): string | undefined {
  const id = revisionId?.toLowerCase();
  const revision = revisions.find(({ spec }) => spec.id === id);
  return revision ? podsIdOf(revision) : id;
}

/** `podsId`: the id on the pods of one revision. */
export function podsOf({ metadata }: AppDeployment, podsId: string | undefined): PodsToRead {
  const { namespace = '', name, uid = '' } = metadata;
  const labelSelector = [
    `${DEPLOYMENT_LABEL}=${name}`,
    `${DEPLOYMENT_UID_LABEL}=${uid}`,
    `${COMPONENT_LABEL} in (${IMAGE_COMPONENTS.join(',')})`,
    ...(podsId === undefined ? [] : [`${REVISION_LABEL}=${podsId}`]),
  ].join(',');
  return { namespace, labelSelector };
}

/**
 * Reads logs into the page. Resolves to whether lines may be missing because of a limit or a node that did not answer. Undefined
 * if there is no pod.
 */
export async function readLogs(
  kube: KubeClient,
  { namespace, labelSelector }: PodsToRead,
  reading: Reading,
): Promise<boolean | undefined> {
  const { items } = await kube.listAll<PodObject>(PODS, {
    namespace,
    labelSelector,
    limit: PODS_AT_ONCE,
    signal: reading.signal,
  });
  if (items.length === 0) return undefined;
  const newest = items.toSorted((a, b) => (bornAt(a) < bornAt(b) ? 1 : -1)).slice(0, MOST_PODS);
  const streams = newest.flatMap(streamsOf);
  const isWhole = await readAll(kube, streams.slice(0, MOST_STREAMS), { ...reading, namespace });
  return !isWhole || items.length > newest.length || streams.length > MOST_STREAMS;
}

export function bornAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}

interface Stream {
  readonly pod: string;
  readonly container: string;
  readonly previous: boolean;
}

function streamsOf({
  metadata,
  status: { initContainerStatuses = [], containerStatuses = [] } = {},
}: PodObject): Stream[] {
  return [...initContainerStatuses, ...containerStatuses].flatMap((status) => {
    const { name, restartCount = 0, containerID = '' } = status;
    const isBetween = waitsToBeRestarted(status);
    return [
      ...(containerID === '' || isBetween ? [] : [{ pod: metadata.name, container: name, previous: false }]),
      ...(restartCount > 0 || isBetween ? [{ pod: metadata.name, container: name, previous: true }] : []),
    ];
  });
}

/** The node then gives the log before the restart for both. */
function waitsToBeRestarted({ state, lastState }: ContainerStatus): boolean {
  const hasNone = state?.running === undefined && !state?.terminated?.containerID;
  return hasNone && lastState?.terminated !== undefined;
}

/** Resolves to whether everything that the page needs was read. */
async function readAll(
  kube: KubeClient,
  streams: readonly Stream[],
  { page, budget, tenant, signal, fromStart = false, namespace }: Reading & { readonly namespace: string },
): Promise<boolean> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const timer = setTimeout(() => over.abort(), LONGEST_MS);
  let left = MOST_BYTES;
  let isWhole = true;
  let answered = 0;
  const failed: Unavailable[] = [];

  async function read(stream: Stream): Promise<void> {
    const giveBack = await (budget.streams.take(tenant, stop) ?? tooManyLogs());
    try {
      const sink = page.sink(`${stream.pod}/${stream.container}${stream.previous ? '/previous' : ''}`);
      let bytes = 0;
      let goesOn = true;
      for await (const piece of kube.stream(pathOf(namespace, stream, page, fromStart), { signal: stop })) {
        bytes += piece.length;
        left -= piece.length;
        // oxlint-disable-next-line no-await-in-loop -- one piece after the other
        goesOn = await pushInTurns(sink, piece);
        if (left <= 0) over.abort();
        if (!goesOn || left <= 0) break;
        await budget.pace(piece.length, stop);
      }
      answered += 1;
      // A stream that ended within a line was truncated.
      if (bytes >= MOST_BYTES_OF_STREAM) isWhole &&= !goesOn;
      else if (goesOn && left > 0) sink.end();
    } finally {
      giveBack();
    }
  }

  async function attempt(stream: Stream): Promise<void> {
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

  async function work(queue: Iterator<Stream>): Promise<void> {
    for (let next = queue.next(); next.done !== true && !stop.aborted; next = queue.next()) {
      // oxlint-disable-next-line no-await-in-loop -- each worker reads one after another
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

function pathOf(
  namespace: string,
  { pod, container, previous }: Stream,
  page: Reading['page'],
  fromStart: boolean,
): string {
  const since = page.since();
  const query = new URLSearchParams({
    container,
    timestamps: 'true',
    ...(!fromStart && { tailLines: String(Math.min(LAST_LINES, page.enough ?? LAST_LINES)) }),
    limitBytes: String(MOST_BYTES_OF_STREAM),
    ...(previous && { previous: 'true' }),
    ...(since !== undefined && { sinceTime: since }),
  });
  return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query.toString()}`;
}
