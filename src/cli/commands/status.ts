// Shows one deployment with all its parts (text/tree.ts), or lists all deployments.

import type { DeploymentPod } from '../../deploy/http/events/payloads.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import { API_FLAGS, type Command, type Context, OUTPUT, print, printList, withFlags } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { amountsOf, isMade, type Parts, podState, treeOf } from '../text/tree.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { needDeployment, PAGE, readDeployments, readEvents, readRevisions } from './build-log.ts';

export const statusCommand: Command = {
  name: 'status',
  purpose: 'show one deployment: address, conditions, revisions, pods and events; or list all deployments',
  words: [{ word: 'NAME', names: 'deployment', need: 'optional' }],
  flags: [OUTPUT, ...API_FLAGS],
  about: `Without NAME, it prints one line for each deployment. !! marks a problem, with its reason and what to do. Pods need davit-editor or ClusterRole view in the namespace. Without
that role, the last line names what is not shown.`,
  async run(context) {
    const [name] = context.words;
    const api = await context.api();
    if (name === undefined) return list(context, api);
    const parts = await readParts(api, name);
    print(context, viewOf(parts), () => treeOf(parts).map((line) => withFlags(line, context.suggested)));
    return 0;
  },
};

async function list(context: Context, api: HttpApi): Promise<number> {
  const all = await readDeployments<Deployment>(api);
  const place = api.namespace === undefined ? '' : ` in namespace ${api.namespace}`;
  printList(
    context,
    all.map((one) => headOf(one, api.namespace)),
    () => tableOf([['NAME', 'STATE', 'REVISION', 'AGE', 'ADDRESS'], ...all.map(rowOf)]),
    `No deployments${place} yet.\nTo deploy a folder: ${PROGRAM} deploy FOLDER\nTo deploy an image: ${PROGRAM} deploy --image IMAGE --name NAME`,
  );
  return 0;
}

function rowOf({ name, status, phase, created_at: createdAt, source_config: config }: Deployment): string[] {
  return [name, status, phase ?? '-', ageOf(createdAt, Date.now()), config.custom_url ?? '-'];
}

async function readParts(api: HttpApi, name: string): Promise<Parts> {
  const deployment = await needDeployment<Deployment>(api, name);
  const [revisions, reported] = await Promise.all([
    readRevisions(api, deployment.id, PAGE),
    readEvents(api, deployment.id),
  ]);
  const hidden = reported === undefined ? ['events', 'pods'] : reported.pods === null ? ['pods'] : [];
  const { pods, resources: events = [] } = reported ?? {};
  return { deployment, namespace: api.namespace, revisions, pods: pods ?? [], events, hidden };
}

/** What the list and the view of one have, as data. Times are RFC 3339. */
function headOf(deployment: Deployment, namespace: string | undefined): object {
  return {
    name: deployment.name,
    namespace: namespace ?? null,
    state: deployment.status,
    /** State of the latest revision. */
    revision: deployment.phase,
    createdAt: deployment.created_at,
    /** Whether the rest is about the latest change. */
    observed: deployment.processed,
    address: deployment.source_config.custom_url,
    internalUrl: deployment.internal_url,
    changedBy: deployment.changed_by,
    conditions: deployment.conditions.map(({ last_transition_time: lastTransitionTime, ...one }) => ({
      ...one,
      lastTransitionTime,
    })),
  };
}

/** One with its parts, as data. Numbers of pods are counts. */
function viewOf({ deployment, namespace, revisions, pods, events, hidden }: Parts): object {
  const { active_revision_id: active, latest_revision_id: latest } = deployment;
  const made = pods.filter(isMade);
  return {
    ...headOf(deployment, namespace),
    image: revisions.find(({ id }) => id === (active ?? latest))?.image ?? null,
    revisions: revisions.map(({ id, name, status, status_message: message, image }) => ({
      name,
      id,
      status,
      message,
      active: id === active,
      image,
    })),
    pods: made.map(podView),
    /** Others have its labels, and nothing that makes pods has made them. */
    foreignPods: pods.length - made.length,
    events: events.map(({ last_at: time, type, reason, object, count: times, message, over }) => ({
      time,
      type,
      reason,
      object,
      times,
      message,
      /** A warning of a pod that has become ready since. */
      over,
    })),
    notShown: hidden,
  };
}

function podView(pod: DeploymentPod): object {
  return {
    component: pod.part,
    name: pod.name,
    state: podState(pod),
    restarts: pod.restarts,
    revisionId: pod.revision_id,
    startedForRevisionId: pod.started_for_revision_id,
    usage: pod.usage && amountsOf(pod.usage),
    limits: amountsOf(pod.limits),
    problem: pod.problem,
  };
}
