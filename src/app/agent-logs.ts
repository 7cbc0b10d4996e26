// Answers the hub's requests for the logs of pods of the agent's cluster.

import { revisionsOf } from '../deployments/record/revisions.ts';
import { startController } from '../lib/controller/controller.ts';
import type { RuntimeMetrics } from '../lib/controller/metrics.ts';
import { makeWorkQueue } from '../lib/controller/work-queue.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { Logger } from '../lib/logger.ts';
import type { AgentCaches } from '../listeners/agent/caches.ts';
import { type AgentLogsOptions, makeLogReconciler, wakeLogs } from '../listeners/agent/logs.ts';
import { MOST_BYTES_OF_CROSSING_PAGE, makeLogBudget } from '../logs/budget.ts';
import { makePage } from '../logs/lines.ts';
import { DeployLogsQuery } from '../logs/payloads.ts';
import { podIdsIn, podsOf, readLogs } from '../logs/pods.ts';
import { DEPLOYMENT_LABEL } from '../schema/meta.ts';

export interface Answering extends Pick<AgentLogsOptions, 'requests' | 'namespace' | 'clusterId'> {
  readonly caches: AgentLogsOptions['caches'] & Pick<AgentCaches, 'revisions'>;
  readonly hubClient: KubeClient;
  readonly local: KubeClient;
}

/** Begins to answer, until `stop` is called. */
export function answerLogs(
  { log, metrics, backoffMs }: { readonly log: Logger; readonly metrics: RuntimeMetrics; readonly backoffMs: number },
  { hubClient, local, ...rest }: Answering,
): { stop(): Promise<void> } {
  const budget = makeLogBudget();
  const queue = makeWorkQueue({ name: 'listener-logs', baseDelayMs: backoffMs, metrics });
  const asleep = wakeLogs(rest.requests, queue);
  const reconcile = makeLogReconciler({
    ...rest,
    hub: hubClient,
    async readPage(copy, revision, query, signal) {
      const page = makePage(DeployLogsQuery.parse(query), MOST_BYTES_OF_CROSSING_PAGE);
      const { namespace = '', name } = copy.metadata;
      const revisions = revisionsOf(copy, rest.caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name));
      const pods = podsOf(copy, podIdsIn(revisions, revision));
      return JSON.stringify(
        page.done((await readLogs(local, pods, { page, budget, tenant: namespace, signal })) === true),
      );
    },
  });
  const controller = startController({ name: 'listener-logs', queue, workers: 2, log, metrics, reconcile });
  return {
    async stop() {
      asleep();
      controller.abort();
      await controller.stop();
    },
  };
}
