// Reads and changes the objects of one deployment with kubectl.

import type { Pod, Workload } from '../deployments/assess/observed.ts';
import { isReadyPod, living } from '../deployments/assess/pod-failures.ts';
import { revisionsOf } from '../deployments/record/revisions.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { youngestFirst } from '../lib/kube/youngest-first.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { DEPLOYMENT_LABEL, GROUP } from '../schema/meta.ts';
import type { PodMetrics } from '../schema/pod-usage.ts';
import { type ClusterEvent, type Existing, eventsOf } from './events.ts';
import { Failure, isForbidden, type Kubectl } from './kubectl.ts';
import type { Parts } from './tree.ts';

export const RECORDS = `appdeployments.${GROUP}`;
/** Field manager of the plugin's writes. */
export const FIELD_MANAGER = '--field-manager=kubectl-davit';
/** Number of attempts after conflicts with a status write or another edit. */
const ATTEMPTS = 5;

/** Throws Failure with kubectl's message if there is none of that name. */
export async function readRecord(kubectl: Kubectl, name: string): Promise<AppDeployment> {
  return parsed<AppDeployment>(await kubectl(['get', RECORDS, name, '-o', 'json']));
}

/** The record's revisions, newest first. */
export async function readRevisions(kubectl: Kubectl, record: AppDeployment): Promise<AppRevision[]> {
  const all = await listOf<AppRevision>(kubectl, `apprevisions.${GROUP}`, record.metadata.name);
  return revisionsOf(record, all);
}

/** Those that can answer, newest first. */
export function readyPods(pods: readonly Pod[]): Pod[] {
  return youngestFirst(living(pods).filter(isReadyPod));
}

export async function readParts(kubectl: Kubectl, name: string): Promise<Parts> {
  const record = await readRecord(kubectl, name);
  const hidden: string[] = [];
  /** davit-editor alone may read the record and pods, and no workloads. */
  async function allowed<T extends KubeObject>(
    resource: string,
    list = listOf<T>(kubectl, resource, name),
  ): Promise<T[]> {
    try {
      return await list;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      hidden.push(resource);
      return [];
    }
  }
  const [revisions, deployments, statefulSets, pods, metrics, events] = await Promise.all([
    readRevisions(kubectl, record),
    allowed<Workload>('deployments.apps'),
    allowed<Workload>('statefulsets.apps'),
    allowed<Pod>('pods'),
    metricsOf(kubectl, name),
    allowed<ClusterEvent>('events', listAll<ClusterEvent>(kubectl, 'events')),
  ]);
  const workloads = [...deployments, ...statefulSets];
  const existing = [
    ...ofKind('AppDeployment', [record]),
    ...ofKind('AppRevision', revisions),
    ...ofKind('Deployment', deployments),
    ...ofKind('StatefulSet', statefulSets),
    ...ofKind('Pod', pods),
  ];
  const own = eventsOf(existing, events, Date.now());
  return { record, revisions, workloads, pods, metrics, events: own, hidden: hidden.toSorted() };
}

function ofKind(kind: string, objects: readonly KubeObject[]): Existing[] {
  return objects.map(({ metadata }) => ({ kind, metadata }));
}

/** By pod. None where the cluster serves no metrics, or not now, or not to the caller: nobody asked for them alone. */
async function metricsOf(kubectl: Kubectl, name: string): Promise<ReadonlyMap<string, PodMetrics>> {
  try {
    const all = await listOf<PodMetrics>(kubectl, 'pods.metrics.k8s.io', name);
    return new Map(all.map((one) => [one.metadata.name, one]));
  } catch (error) {
    if (error instanceof Failure) return new Map();
    throw error;
  }
}

/** Calls `write`, which starts from the current record, again after a conflict. */
export async function afterConflicts<T>(write: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- each attempt starts from the current record
      return await write();
    } catch (error) {
      if (attempts === ATTEMPTS || !(error instanceof Failure) || !error.message.includes('(Conflict)')) throw error;
    }
  }
}

/** The objects of one deployment that have these labels too. */
export async function listOf<T extends KubeObject>(
  kubectl: Kubectl,
  resource: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const selector = Object.entries({ [DEPLOYMENT_LABEL]: name, ...labels }).map(([label, value]) => `${label}=${value}`);
  return listAll<T>(kubectl, resource, ['--selector', selector.join(',')]);
}

/** The objects of the namespace that `flags` select. */
async function listAll<T>(kubectl: Kubectl, resource: string, flags: readonly string[] = []): Promise<T[]> {
  return parsed<{ readonly items: T[] }>(await kubectl(['get', resource, ...flags, '-o', 'json'])).items;
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Failure(`kubectl printed invalid JSON: ${String(error)}`);
  }
}
