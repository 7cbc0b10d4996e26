// Answers requests of the hub for log lines of the deployments that this cluster runs for it.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { LISTENER_LOGS, type ListenerLog, LONGEST_LOG_PAGE } from '../../kinds/listener-log.ts';
import { ORIGIN_ID_ANNOTATION } from '../../kinds/meta.ts';
import { quoted } from '../../kinds/text.ts';
import { abortable } from '../../runtime/controller/clients/wrap-client.ts';
import type { Reconcile } from '../../runtime/controller/controller.ts';
import type { Reflector } from '../../runtime/controller/reflector.ts';
import type { WorkQueue } from '../../runtime/controller/work-queue.ts';
import { undefinedIfNotFound } from '../../runtime/errors.ts';
import type { KubeClient, KubeObject } from '../../runtime/kube/client.ts';
import type { AgentCaches } from './caches.ts';

export interface AgentLogsOptions {
  readonly hub: KubeClient;
  readonly caches: Pick<AgentCaches, 'works' | 'copies'>;
  /** The requests in the hub's namespace of the Listener. */
  readonly requests: Reflector<ListenerLog>;
  readonly namespace: string;
  readonly clusterId: string;
  /** A page of lines of the copy's pods, as JSON. `query`: as the hub sent it. Rejects with an error for people. */
  readonly readPage: (
    copy: AppDeployment,
    revision: string | undefined,
    query: object,
    signal: AbortSignal,
  ) => Promise<string>;
}

/** The HTTP API deletes a request when it has the answer. If it cannot, the agent does, after this time. */
const LEFT_MS = 60_000;

/** Answers one request, by its name. */
export function makeLogReconciler(options: AgentLogsOptions): Reconcile {
  const { caches, requests, namespace, clusterId, readPage } = options;
  const answered = new Set<string>();

  return async function reconcile(key, signal) {
    const hub = abortable(options.hub, signal);
    const asked = requests.get({ namespace, name: key });
    if (asked === undefined) answered.delete(key);
    if (asked === undefined || asked.spec.clusterId !== clusterId) return {};
    if (answered.has(key)) {
      const uid = asked.metadata.uid ?? '';
      await hub.remove(LISTENER_LOGS, { namespace, name: key }, { uid }).catch(undefinedIfNotFound);
      return {};
    }
    if (asked.status === undefined) await answer(asked, await statusFor(asked, signal), hub);
    answered.add(key);
    return { requeueAfterMs: LEFT_MS };
  };

  async function statusFor({ spec }: ListenerLog, signal: AbortSignal): Promise<NonNullable<ListenerLog['status']>> {
    const work = caches.works.get({ namespace, name: spec.deployment });
    const copy = work && caches.copies.get({ namespace: work.spec.namespace, name: work.spec.name });
    if (copy?.metadata.annotations?.[ORIGIN_ID_ANNOTATION] !== spec.deployment)
      return { error: 'The cluster does not run this deployment.' };
    try {
      const page = await readPage(copy, spec.revision, spec.query, signal);
      return page.length > LONGEST_LOG_PAGE ? { error: 'The page is too long. Request fewer lines.' } : { page };
    } catch (error) {
      if (signal.aborted) throw error;
      return { error: `The cluster could not read the logs: ${quoted(error instanceof Error ? error.message : '')}` };
    }
  }

  async function answer(
    { apiVersion, kind, metadata: { name, uid } }: ListenerLog,
    status: NonNullable<ListenerLog['status']>,
    hub: KubeClient,
  ): Promise<void> {
    const metadata = { name, namespace, ...(uid !== undefined && { uid }) };
    await hub
      .apply<KubeObject>(LISTENER_LOGS, { apiVersion, kind, metadata, status } as KubeObject, {
        fieldManager: 'davit-listener',
        force: true,
        subresource: 'status',
      })
      .catch(undefinedIfNotFound);
  }
}

/** Whether it is answered is all that is kept of the answer. */
export function withoutPage(request: ListenerLog): ListenerLog {
  return request.status === undefined ? request : { ...request, status: {} };
}

/** Adds the names of requests to the queue. Returns a function that stops it. */
export function wakeLogs(requests: Reflector<ListenerLog>, queue: WorkQueue): () => void {
  const unsubscribe = requests.onChange(({ type, object, previous }) => {
    if (type === 'deleted' || previous === undefined) queue.add(object.metadata.name);
  });
  for (const { metadata } of requests.list()) queue.add(metadata.name);
  return unsubscribe;
}
