// GET /v2/deployments/{id}/events: read from the API server with the caller's token.

import { failures } from '../../../api/openapi.ts';
import type { App } from '../../../api/validation.ts';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import { lastTime, lastTimeMs } from '../../../kinds/event-time.ts';
import { listedEvents, runsBeside } from '../../../kinds/listed-events.ts';
import { COMPONENT_LABEL, REVISION_LABEL } from '../../../kinds/meta.ts';
import { limitsOf, type PodMetrics, usageOf } from '../../../kinds/pod-usage.ts';
import { ServerError } from '../../../runtime/errors.ts';
import { EVENTS } from '../../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../../runtime/kube/client.ts';
import type { EventObject } from '../../../runtime/kube/event-object.ts';
import type { Pod } from '../../assess/observed.ts';
import { isReadyPod, podFailure } from '../../assess/pod-failures.ts';
import { shownRevisionIds } from '../../record/api-view.ts';
import { names } from '../../record/names.ts';
import { revisionsOf } from '../../record/revisions.ts';
import { revisionIdOnPods } from '../../record/shared-pods.ts';
import { exitsOf, listMetrics, listPods, presentAmounts, restartsOf } from '../own-pods.ts';
import { DeploymentPath } from '../payloads.ts';
import type { DeploymentNeeds } from '../route-needs.ts';
import { isOver } from './event-over.ts';
import {
  type DeploymentEvent,
  DeploymentEvents,
  type DeploymentPod,
  MOST_EVENTS,
  MOST_EVENTS_OF_RUNS,
  MOST_PODS,
} from './payloads.ts';

/** Events of a namespace that are read at most, in pages: the API server selects them by no label. */
const MOST_READ = 2000;
const PAGE = 500;

export function registerEvents(app: App, { auth, deployments }: DeploymentNeeds): void {
  app.get('/v2/deployments/:deployment_id/events', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['deployments'],
      operationId: 'getDeploymentEvents',
      summary: "Get the newest events of a deployment's objects, and its pods with their restarts",
      params: DeploymentPath,
      response: { 200: DeploymentEvents, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      const { kube } = admitted.caller;
      const [pods, metrics, { items, isWhole }] = await Promise.all([
        listPods(kube, record),
        metricsByPod(kube, record),
        eventsIn(kube, record),
      ]);
      const now = Date.now();
      const isOwn = ownedBy(record, pods ?? [], now);
      const own = items.filter(isOwn).toSorted((a, b) => lastTimeMs(b, now) - lastTimeMs(a, now));
      const bounds = { most: MOST_EVENTS, mostOfRuns: MOST_EVENTS_OF_RUNS };
      const listed = listedEvents(own, ofRuns(record, pods ?? []), bounds);
      const revisions = revisionsOf(record, deployments.revisionsOf(record));
      const { active } = shownRevisionIds(record, revisions);
      const revisionOf: RevisionOf = (component, id) => revisionIdOnPods(revisions, active, { component, id });
      const shown = pods
        ?.map((pod) => presentPod(pod, metrics.get(pod.metadata.name), revisionOf))
        .toSorted((a, b) => placeAmongPods(a) - placeAmongPods(b));
      return {
        resources: listed.map((event) => presentEvent(event, record, pods ?? [], now)),
        pods: shown?.slice(0, MOST_PODS) ?? null,
        truncated: !isWhole,
      };
    },
  });
}

/** Copies that people have made come last: they say nothing about the deployment. */
function placeAmongPods({ made_by: maker, problem }: DeploymentPod): number {
  return maker === null ? 2 : problem === null ? 1 : 0;
}

/** None where the cluster serves no metrics, or not now, or not to this caller: the rest of the answer is worth having. */
async function metricsByPod(kube: KubeClient, record: AppDeployment): Promise<ReadonlyMap<string, PodMetrics>> {
  try {
    return new Map((await listMetrics(kube, record)).map((one) => [one.metadata.name, one]));
  } catch (error) {
    if (error instanceof ServerError) return new Map();
    throw error;
  }
}

async function eventsIn(
  kube: KubeClient,
  { metadata: { namespace = '' } }: AppDeployment,
): Promise<{ readonly items: readonly EventObject[]; readonly isWhole: boolean }> {
  const items: EventObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await kube.list<EventObject>(EVENTS, {
      namespace,
      limit: PAGE,
      ...(continueToken !== undefined && { continueToken }),
    });
    items.push(...page.items);
    ({ continueToken } = page);
  } while (continueToken !== undefined && items.length < MOST_READ);
  return { items, isWhole: continueToken === undefined };
}

/** Whether an event is about a run of the deployment: its pod, its Job, or the CronJob of backups. */
function ofRuns({ metadata: { name } }: AppDeployment, pods: readonly Pod[]): (event: EventObject) => boolean {
  const runs = pods.filter(({ metadata }) => runsBeside(metadata.labels?.[COMPONENT_LABEL]));
  const uids = new Set(
    runs.flatMap(({ metadata }) => [metadata.uid, ...(metadata.ownerReferences ?? []).map((owner) => owner.uid)]),
  );
  const { backup, verification } = names(name);
  return ({ regarding: { uid, name: about } = {} }) =>
    (uid !== undefined && uids.has(uid)) || about === backup || about === verification;
}

/** Whether an event is about the record, one of its pods, what made these, or a child. An event of an earlier record is not. */
function ownedBy(record: AppDeployment, pods: readonly Pod[], now: number): (event: EventObject) => boolean {
  const { name, uid = '', creationTimestamp = '' } = record.metadata;
  const uids = new Set([
    uid,
    ...pods.flatMap(({ metadata }) => [metadata.uid, ...(metadata.ownerReferences ?? []).map((owner) => owner.uid)]),
  ]);
  // What makes the pods exists, so another object of its kind and name does not any more.
  const makers = new Set(pods.flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(objectKey)));
  const children = new Set(Object.values(names(name)).flatMap((one) => (typeof one === 'string' ? [one] : [])));
  return (event) => {
    const { regarding = {} } = event;
    if (regarding.uid !== undefined && uids.has(regarding.uid)) return true;
    if (regarding.uid !== undefined && makers.has(objectKey(regarding))) return false;
    // Other kinds may have these names: the record's own name is common, and its uid decides there.
    const isChild = regarding.name !== undefined && children.has(regarding.name) && regarding.kind !== record.kind;
    return isChild && lastTimeMs(event, now) >= Date.parse(creationTimestamp);
  };
}

function objectKey({ kind = '', name = '' }: { readonly kind?: string; readonly name?: string }): string {
  return `${kind}/${name}`;
}

/** `pods`: those of the deployment, as far as the caller may see them. `now` in milliseconds since 1970. */
function presentEvent(
  event: EventObject,
  { status }: AppDeployment,
  pods: readonly Pod[],
  now: number,
): DeploymentEvent {
  const { type = 'Normal', reason = '', note = '', regarding, series, deprecatedCount } = event;
  const at = lastTime(event, now);
  return {
    type,
    reason,
    message: note,
    object: `${regarding?.kind ?? ''}/${regarding?.name ?? ''}`,
    count: Math.max(1, series?.count ?? deprecatedCount ?? 1),
    last_at: at ?? null,
    over: isOver({ type, reason, kind: regarding?.kind, name: regarding?.name, at }, pods, status?.conditions),
  };
}

/** Which revision runs on pods that have the id of a revision. `component`: that of the pods. */
type RevisionOf = (component: string, id: string) => string;

/** `metrics` are those of the pod, if there are any. */
function presentPod(pod: Pod, metrics: PodMetrics | undefined, revisionOf: RevisionOf): DeploymentPod {
  const { metadata, spec, status = {} } = pod;
  const maker = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const { [COMPONENT_LABEL]: part = '', [REVISION_LABEL]: startedFor } = metadata.labels ?? {};
  return {
    name: metadata.name,
    part,
    revision_id: startedFor === undefined ? null : revisionOf(part, startedFor),
    started_for_revision_id: startedFor ?? null,
    made_by: maker === undefined ? null : `${maker.kind}/${maker.name}`,
    phase: status.phase ?? 'Unknown',
    ending: metadata.deletionTimestamp !== undefined,
    ready: isReadyPod(pod),
    restarts: restartsOf(pod),
    problem: podFailure([pod]) ?? null,
    last_exit: exitsOf(pod)[0] ?? null,
    usage: metrics ? presentAmounts(usageOf(metrics)) : null,
    limits: presentAmounts(limitsOf(spec)),
    created_at: metadata.creationTimestamp ?? null,
  };
}
