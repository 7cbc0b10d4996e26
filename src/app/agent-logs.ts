// Answers the hub's requests for the logs of pods of the agent's cluster.

import { revisionsOf } from '../deployments/record/revisions.ts';
import type { ControllerDefinition } from '../lib/controller/definition.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { AgentCaches } from '../listeners/agent/caches.ts';
import { type AgentLogsOptions, makeLogReconciler, wakeLogs } from '../listeners/agent/logs.ts';
import { MOST_BYTES_OF_CROSSING_PAGE, makeLogBudget } from '../logs/budget.ts';
import { readTargetLogs } from '../logs/kept-lines.ts';
import { makePage } from '../logs/lines.ts';
import { DeployLogsQuery } from '../logs/payloads.ts';
import { DEPLOYMENT_LABEL } from '../schema/meta.ts';

export interface Answering extends Pick<AgentLogsOptions, 'hub' | 'requests' | 'namespace' | 'clusterId'> {
  readonly caches: AgentLogsOptions['caches'] & Pick<AgentCaches, 'revisions'>;
  readonly local: KubeClient;
}

export function logAnswers({ local, ...rest }: Answering): ControllerDefinition<undefined> {
  const budget = makeLogBudget();
  const readPage: AgentLogsOptions['readPage'] = async (copy, revision, query, signal) => {
    const wanted = DeployLogsQuery.parse(query);
    const page = makePage(wanted, { mostBytes: MOST_BYTES_OF_CROSSING_PAGE });
    const { namespace = '', name } = copy.metadata;
    const revisions = revisionsOf(copy, rest.caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name));
    const target = { record: copy, revisions, revisionId: revision, query: wanted };
    return JSON.stringify(page.done(await readTargetLogs(local, target, { page, budget, tenant: namespace, signal })));
  };
  return {
    name: 'listener-logs',
    workers: 2,
    begin: (_context, queue) => ({
      reconcile: makeLogReconciler({ ...rest, readPage }),
      wake: () => wakeLogs(rest.requests, queue),
    }),
  };
}
