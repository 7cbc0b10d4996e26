// Shows one deployment with all its parts, or lists all deployments.

import { podFailure } from '../deployments/assess/pod-failures.ts';
import { requesterOf } from '../deployments/record/requester.ts';
import { imageOf } from '../deployments/record/revision-image.ts';
import { lastTime } from '../schema/event-time.ts';
import { type Amounts, limitsOf, usageOf } from '../schema/pod-usage.ts';
import { type Command, type Context, OUTPUT, print, withFlags } from './command.ts';
import { isOfThePast, timesOf } from './events.ts';
import { needTenant } from './not-found.ts';
import { PROGRAM } from './program.ts';
import { RECORDS, readParts } from './records.ts';
import { componentOf, internalUrlOf, type Parts, podState, restartsOf, revisionsOnPod, treeOf } from './tree.ts';

export const statusCommand: Command = {
  name: 'status',
  purpose: 'show one deployment: address, conditions, revisions, pods and events; or list all deployments',
  words: [{ word: 'NAME', names: 'deployment', need: 'optional' }],
  flags: [OUTPUT],
  about: `Of all deployments it prints one line each; status NAME says why one is not up to date. !! marks what is wrong, with its reason and what to do. Workloads and pods need ClusterRole view in the namespace; without
it the last line names what is not shown.`,
  run: status,
};

const NONE = `To deploy a folder: ${PROGRAM} deploy FOLDER\nTo deploy an image: ${PROGRAM} deploy --image IMAGE --name NAME`;

async function status(context: Context): Promise<number> {
  const { kubectl, words } = context;
  const [name] = words;
  if (name === undefined) return list(context);
  const parts = await readParts(kubectl, name);
  print(context, viewOf(parts), () => treeOf(parts).map((line) => withFlags(line, context.suggested)));
  return 0;
}

/** Throws Failure where there is none because of the namespace. The table is that of kubectl. */
async function list(context: Context): Promise<number> {
  const { kubectl, flags, say, report, warn, suggested } = context;
  if (flags.text('output') === 'json') {
    const found = JSON.parse(await kubectl(['get', RECORDS, '-o', 'json'])) as { readonly items: readonly unknown[] };
    if (found.items.length === 0) await needTenant(context);
    report(found);
    return 0;
  }
  const table = (await kubectl(['get', RECORDS])).trimEnd();
  if (table !== '') {
    for (const line of table.split('\n')) say(line);
    return 0;
  }
  const namespace = await needTenant(context);
  warn(`There is no deployment${namespace === undefined ? '' : ` in namespace ${namespace}`} yet.`);
  warn(withFlags(NONE, suggested));
  return 0;
}

/** The same as data. Numbers of pods are counts; times are RFC 3339. */
function viewOf(parts: Parts): object {
  const { record, revisions, workloads, pods, metrics, events = [], hidden = [] } = parts;
  const { metadata, status: own } = record;
  const now = Date.now();
  const made = pods.filter(({ metadata: { ownerReferences } }) =>
    ownerReferences?.some(({ controller }) => controller),
  );
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? null,
    state: metadata.deletionTimestamp ? 'AWAITING_DELETE' : (own?.state ?? null),
    /** Whether the rest is about the latest change. */
    observed: (own?.observedGeneration ?? 0) >= (metadata.generation ?? 0),
    address: own?.url ?? null,
    internalUrl: internalUrlOf(record) ?? null,
    image: own?.image ?? null,
    changedBy: requesterOf(record) ?? null,
    conditions: own?.conditions ?? [],
    revisions: revisions.map((revision) => ({
      name: revision.metadata.name,
      id: revision.spec.id,
      status: revision.status?.state ?? 'CREATING',
      message: revision.status?.message ?? null,
      active: revision.spec.id === own?.activeRevisionId,
      image: imageOf(revision) ?? null,
    })),
    workloads: workloads.map((workload) => ({
      component: componentOf(workload),
      kind: workload.kind,
      name: workload.metadata.name,
      wanted: workload.spec?.replicas ?? 1,
      ready: workload.status?.readyReplicas ?? 0,
    })),
    pods: made.map((pod) => {
      const { runs, startedFor } = revisionsOnPod(pod, parts);
      return {
        component: componentOf(pod),
        name: pod.metadata.name,
        state: podState(pod),
        restarts: restartsOf(pod),
        revisionId: runs,
        startedForRevisionId: startedFor,
        usage: usageIn(metrics, pod.metadata.name),
        limits: limitsOf(pod.spec),
        problem: podFailure([pod]) ?? null,
      };
    }),
    /** Others have its labels, and nothing that makes pods has made them. */
    foreignPods: pods.length - made.length,
    events: events.map((event) => ({
      time: lastTime(event, now) ?? null,
      type: event.type ?? 'Normal',
      reason: event.reason ?? null,
      object: `${event.involvedObject?.kind}/${event.involvedObject?.name}`,
      times: timesOf(event),
      message: event.message ?? '',
      /** A warning of a pod that has become ready since. */
      over: isOfThePast(event, pods, now),
    })),
    notShown: hidden,
  };
}

/** Null where it is not known. */
function usageIn(metrics: Parts['metrics'], pod: string): Amounts | null {
  const found = metrics?.get(pod);
  return found ? usageOf(found) : null;
}
