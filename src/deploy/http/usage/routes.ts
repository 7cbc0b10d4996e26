// GET /v2/deployments/{id}/usage: nothing is asked before the caller may get the deployment. Pods, their metrics and operations are read with
// the caller's token.

import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import type { AppRevision } from '../../../kinds/app-revision.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../kinds/datastore-operation.ts';
import { COMPONENT_LABEL, STORE_PARTS } from '../../../kinds/meta.ts';
import { limitsOf, type PodMetrics, requestsOf, usageOf } from '../../../kinds/pod-usage.ts';
import { Forbidden, NotFound, ServerError } from '../../../runtime/errors.ts';
import type { KubeClient } from '../../../runtime/kube/client.ts';
import { createdAt } from '../../../runtime/kube/write-times.ts';
import type { Pod } from '../../assess/observed.ts';
import { isReadyPod, isUnended } from '../../assess/pod-failures.ts';
import { partsOf, sizeOf } from '../../record/parts.ts';
import { revisionsOf, runsNothing } from '../../record/revisions.ts';
import { exitsOf, listMetrics, listPods, presentAmounts, restartsOf } from '../own-pods.ts';
import { DeploymentPath } from '../payloads.ts';
import { presentRevisions } from '../revisions/presenter.ts';
import type { DeploymentNeeds } from '../route-needs.ts';
import type { Sample } from './history.ts';
import { MOST_MARKS, type PartUsage, Usage, UsageQuery } from './payloads.ts';

import { type Measured, podsOfParts, type Steps, stepsOf, type Window } from './queries.ts';
import type { UsageSources } from './sources.ts';

/** What the API server says of the deployment now. */
interface Seen {
  readonly record: AppDeployment;
  readonly revision: AppRevision | undefined;
  /** Undefined for a caller who may not list pods. */
  readonly pods: readonly Pod[] | undefined;
  readonly parts: readonly string[];
}

export function registerUsage(app: App, { auth, deployments, now }: DeploymentNeeds): void {
  app.get('/v2/deployments/:deployment_id/usage', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['deployments'],
      operationId: 'getDeploymentUsage',
      summary: 'Get what the parts of a deployment use over time, with its revisions, crashes and operations',
      params: DeploymentPath,
      querystring: UsageQuery,
      response: { 200: Usage, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      const { kube } = admitted.caller;
      const { window } = request.query;
      const at = Math.floor(now().getTime() / 1000);
      const steps = stepsOf(window, at);
      const all = deployments.revisionsOf(record);
      const [revision] = revisionsOf(record, all);
      const [pods, operations] = await Promise.all([listPods(kube, record), listOperations(kube, record)]);
      const seen = { record, revision, pods, parts: partNames(revision) };
      const { measured, ...found } = await measure(deployments.usage, kube, seen, { window, steps, at });
      const firsts = [...(measured?.values() ?? [])].flatMap(({ cpu, memory_mb: memory }) => [cpu[0], memory[0]]);
      const times = firsts.filter((point) => point !== undefined).map(([time]) => time);
      const inWindow = <Mark extends { readonly at: string }>(marks: readonly Mark[]): Mark[] =>
        marks.filter((mark) => Date.parse(mark.at) >= steps.start * 1000).slice(0, MOST_MARKS);
      return {
        ...found,
        since: times.length === 0 ? null : timeOf(Math.min(...times)),
        start: timeOf(steps.start),
        end: timeOf(steps.end),
        step_seconds: steps.step,
        parts: seen.parts.map((part) => presentPart(seen, part, measured)),
        revisions: inWindow(presentRevisions(record, all).map(({ id, created_at }) => ({ id, at: created_at }))),
        crashes: inWindow(crashesOf(pods)),
        operations: inWindow(operations),
      };
    },
  });
}

/** Names of the parts of the newest revision. */
function partNames(revision: AppRevision | undefined): string[] {
  if (revision === undefined) return ['server'];
  const { resolved } = revision.spec;
  return [...partsOf(resolved), ...STORE_PARTS.filter((store) => resolved[store] !== undefined)];
}

function componentOf({ metadata }: Pick<Pod, 'metadata'>): string | undefined {
  return metadata.labels?.[COMPONENT_LABEL];
}

interface Found extends Pick<Usage, 'source' | 'missing'> {
  readonly measured?: Measured;
}

interface Wanted {
  readonly window: Window;
  readonly steps: Steps;
  readonly at: number;
}

const ELSEWHERE = 'Its pods run in the cluster of a listener, so this cluster has no measurements of them.';
const INSTALL =
  'The cluster has no measurements of pods. Ask the platform team to install metrics-server, or to name a Prometheus in settings.http.prometheus.';

async function measure(
  { prometheus, history }: UsageSources,
  kube: KubeClient,
  seen: Seen,
  { window, steps, at }: Wanted,
): Promise<Found> {
  const { namespace = '', name, uid = '' } = seen.record.metadata;
  if ((seen.record.spec.sourceConfig.listenerId ?? '') !== '') return { source: null, missing: ELSEWHERE };
  const answer = await prometheus.ask({ namespace, pods: podsOfParts(name, seen.parts), window, steps });
  if (typeof answer === 'object') return { source: 'prometheus', missing: null, measured: answer };
  try {
    // Asked also where no sample is due: who may not list the metrics gets none of those that others have read.
    history.add(uid, at, samplesOf(seen, await listMetrics(kube, seen.record)));
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    return { source: null, missing: [answer, whyNoMetrics(error, namespace)].filter(Boolean).join(' ') };
  }
  const missing = answer === undefined ? null : `${answer} The last hour from metrics-server is shown.`;
  return { source: 'metrics-server', missing, measured: history.measured(uid, steps) };
}

function whyNoMetrics(error: ServerError, namespace: string): string {
  if (error instanceof NotFound) return INSTALL;
  if (error instanceof Forbidden)
    return `You may not list pods of metrics.k8s.io in namespace ${namespace}: ask for the role davit-editor there.`;
  return "The cluster's metrics server does not answer.";
}

function samplesOf({ pods, parts }: Seen, metrics: readonly PodMetrics[]): ReadonlyMap<string, Sample> {
  const sampleOf = (part: string): Sample => {
    const used = metrics.filter((one) => componentOf(one) === part).map(usageOf);
    const now = nowOf(pods, part);
    return {
      cpu: used.length === 0 ? null : used.reduce((sum, { cpu }) => sum + (cpu ?? 0), 0),
      memory_mb: used.length === 0 ? null : Math.max(...used.map(({ memoryMb }) => memoryMb ?? 0)),
      ready: now?.ready ?? null,
      restarts: now?.restarts ?? null,
    };
  };
  return new Map(parts.map((part) => [part, sampleOf(part)]));
}

function podsOf(pods: readonly Pod[] | undefined, part: string): readonly Pod[] | undefined {
  return pods?.filter((pod) => componentOf(pod) === part && isUnended(pod));
}

function nowOf(pods: readonly Pod[] | undefined, part: string): PartUsage['now'] {
  const own = podsOf(pods, part);
  if (own === undefined) return null;
  const restarts = own.reduce((sum, pod) => sum + restartsOf(pod), 0);
  return { pods: own.length, ready: own.filter(isReadyPod).length, restarts };
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function presentPart({ revision, pods }: Seen, part: string, measured: Measured | undefined): PartUsage {
  const own = podsOf(pods, part);
  const { cpu = [], memory_mb: memory = [], ready = [], restarts = [] } = measured?.get(part) ?? {};
  return {
    part,
    wanted: revision === undefined ? null : wantedPods(revision, part),
    now: nowOf(pods, part),
    request: presentAmounts(requestsOf(own?.[0]?.spec)),
    limit: presentAmounts(limitsOf(own?.[0]?.spec)),
    cpu: [...cpu],
    memory_mb: [...memory],
    // Whoever may not list pods does not learn how they are from what others have read.
    ready: pods === undefined ? [] : [...ready],
    restarts: pods === undefined ? [] : [...restarts],
  };
}

/** Null for a part that follows its load. */
function wantedPods(revision: AppRevision, part: string): number | null {
  const { resolved } = revision.spec;
  if (part === 'postgres') return resolved.postgres?.instances ?? 1;
  const size = sizeOf(resolved, part);
  if (size === undefined || !('minScale' in size)) return 1;
  if (runsNothing(revision)) return 0;
  return size.minScale === size.maxScale ? size.minScale : null;
}

function crashesOf(pods: readonly Pod[] = []): Usage['crashes'] {
  const crashes = pods.flatMap((pod) =>
    exitsOf(pod).flatMap(({ at, ...exit }) =>
      at === null || exit.exit_code === 0
        ? []
        : [{ at, part: componentOf(pod) ?? '', pod: pod.metadata.name, ...exit }],
    ),
  );
  return crashes.toSorted((a, b) => (a.at < b.at ? 1 : -1));
}

/** Newest first; none for a caller who may not list them. */
async function listOperations(kube: KubeClient, { metadata }: AppDeployment): Promise<Usage['operations']> {
  const { namespace = '', name } = metadata;
  const listing = { namespace, fieldSelector: `spec.deployment=${name}` };
  const { items } = await kube.listAll<DatastoreOperation>(DATASTORE_OPERATIONS, listing).catch((error: unknown) => {
    if (error instanceof ServerError) return { items: [] };
    throw error;
  });
  return items
    .map((one) => ({
      name: one.metadata.name,
      action: one.spec.action,
      at: one.status?.startedAt ?? createdAt(one),
      ended_at: one.status?.endedAt ?? null,
    }))
    .toSorted((a, b) => (a.at < b.at ? 1 : -1));
}
