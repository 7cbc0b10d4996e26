// A page of the logs of a deployment that a listener's cluster runs: asked for in the hub's namespace of the Listener, where the
// agent of the cluster reads the request and writes the answer. Nothing of it is kept.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { throwAsOurs } from '../api/organization-secrets.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { Listener } from '../kinds/listener.ts';
import { LISTENER_LOGS, type ListenerLog } from '../kinds/listener-log.ts';
import { hubNamespace } from '../kinds/listener-names.ts';
import { API_VERSION, FACADE_FIELD_MANAGER } from '../kinds/meta.ts';
import { NotFound } from '../runtime/errors.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { DeployLogs, type DeployLogsQuery, MOST_LINES } from './payloads.ts';

/** Longer than the cluster reads. */
const ANSWERED_WITHIN_MS = 25_000;
const LOOK_EVERY_MS = 250;

export interface RemoteLogs {
  /** The facade's own credentials: callers have no rights in the Listener's namespace. */
  readonly kube: KubeClient;
  readonly listener: Listener;
  readonly record: AppDeployment;
  readonly revision: string | undefined;
  readonly query: DeployLogsQuery;
}

/** Throws HttpError 504 while the cluster does not report or answer, 502 if it cannot. */
export async function readRemoteLogs(
  { kube, listener, record, revision, query }: RemoteLogs,
  signal: AbortSignal,
): Promise<DeployLogs> {
  const { uid = '', name } = listener.metadata;
  const clusterId = listener.status?.clusterId;
  const isConnected = conditionOf(listener.status?.conditions, 'Connected')?.status === 'True';
  if (clusterId === undefined || !isConnected)
    throw new HttpError(504, `The logs are in the cluster of listener "${name}", which is not connected.`);
  const place = { namespace: hubNamespace(uid), name: randomUUID() };
  const request: ListenerLog = {
    apiVersion: API_VERSION,
    kind: 'ListenerLog',
    metadata: place,
    spec: {
      clusterId,
      deployment: record.metadata.uid ?? '',
      ...(revision !== undefined && { revision }),
      query,
    },
  };
  const made = await kube
    .create(LISTENER_LOGS, request, { fieldManager: FACADE_FIELD_MANAGER, signal })
    .catch(throwAsOurs);
  try {
    return pageOf(await answerTo(kube, place, signal), name);
  } finally {
    // The agent deletes it if this fails.
    await kube.remove(LISTENER_LOGS, place, { uid: made.metadata.uid ?? '' }).catch(() => undefined);
  }
}

async function answerTo(
  kube: KubeClient,
  place: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<ListenerLog['status']> {
  const end = performance.now() + ANSWERED_WITHIN_MS;
  while (performance.now() < end) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    try {
      const { status } = await kube.get<ListenerLog>(LISTENER_LOGS, place, { signal });
      if (status !== undefined) return status;
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throwAsOurs(error);
    }
  }
  return undefined;
}

function pageOf(status: ListenerLog['status'], listener: string): DeployLogs {
  if (status?.error !== undefined) throw new HttpError(502, status.error);
  if (status?.page === undefined)
    throw new HttpError(
      504,
      `The cluster of listener "${listener}" did not answer within ${ANSWERED_WITHIN_MS / 1000} s. Its Davit may be too old.`,
    );
  try {
    const page = JSON.parse(status.page) as { readonly logs?: unknown };
    // The schema looks at every line, also of those that nobody can have asked for.
    if (!Array.isArray(page.logs) || page.logs.length > MOST_LINES) throw new RangeError('not a page');
    return DeployLogs.parse(page);
  } catch {
    throw new HttpError(502, `The answer of the cluster of listener "${listener}" is not valid.`);
  }
}
