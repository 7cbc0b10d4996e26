// Reads the objects of one deployment with kubectl.

import type { Pod, Workload } from '../deployments/assess/observed.ts';
import { revisionsOf } from '../deployments/record/revisions.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { DEPLOYMENT_LABEL, GROUP } from '../schema/meta.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import type { Parts } from './tree.ts';

export const RECORDS = `appdeployments.${GROUP}`;

/** Throws Failure with kubectl's message if there is none of that name. */
export async function readRecord(kubectl: Kubectl, name: string): Promise<AppDeployment> {
  return parsed<AppDeployment>(await kubectl(['get', RECORDS, name, '-o', 'json']));
}

/** The record's revisions, newest first. */
export async function readRevisions(kubectl: Kubectl, record: AppDeployment): Promise<AppRevision[]> {
  const all = await listOf<AppRevision>(kubectl, `apprevisions.${GROUP}`, record.metadata.name);
  return revisionsOf(record, all);
}

export async function readParts(kubectl: Kubectl, name: string): Promise<Parts> {
  const record = await readRecord(kubectl, name);
  const hidden: string[] = [];
  /** davit-editor alone may read the record and pods, and no workloads. */
  async function allowed<T extends KubeObject>(resource: string): Promise<T[]> {
    try {
      return await listOf<T>(kubectl, resource, name);
    } catch (error) {
      if (!(error instanceof Failure) || !error.message.includes('(Forbidden)')) throw error;
      hidden.push(resource);
      return [];
    }
  }
  const [revisions, deployments, statefulSets, pods] = await Promise.all([
    readRevisions(kubectl, record),
    allowed<Workload>('deployments.apps'),
    allowed<Workload>('statefulsets.apps'),
    allowed<Pod>('pods'),
  ]);
  return { record, revisions, workloads: [...deployments, ...statefulSets], pods, hidden: hidden.toSorted() };
}

/** The objects of one deployment that have these labels too. */
export async function listOf<T extends KubeObject>(
  kubectl: Kubectl,
  resource: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const selector = Object.entries({ [DEPLOYMENT_LABEL]: name, ...labels }).map(([label, value]) => `${label}=${value}`);
  const text = await kubectl(['get', resource, '--selector', selector.join(','), '-o', 'json']);
  return parsed<{ readonly items: T[] }>(text).items;
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Failure(`kubectl printed invalid JSON: ${String(error)}`);
  }
}
