// What kubectl says of a Job that a command has made.

import type { ObservedCondition, Pod } from '../deployments/assess/observed.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { Kubectl } from './kubectl.ts';
import { FIELD_MANAGER } from './records.ts';

interface Job extends KubeObject {
  readonly status?: { readonly conditions?: readonly ObservedCondition[] };
}

/** Returns the name that the API server has given it. */
export async function createJob(kubectl: Kubectl, manifest: object): Promise<string> {
  const made = await kubectl(['create', FIELD_MANAGER, '-o', 'json', '-f', '-'], JSON.stringify(manifest));
  return (JSON.parse(made) as KubeObject).metadata.name;
}

/** The conditions that are true. */
export async function conditionsOfJob(kubectl: Kubectl, job: string): Promise<readonly ObservedCondition[]> {
  const { status } = JSON.parse(await kubectl(['get', 'jobs.batch', job, '-o', 'json'])) as Job;
  return (status?.conditions ?? []).filter((condition) => condition.status === 'True');
}

export async function podsOfJob(kubectl: Kubectl, job: string): Promise<readonly Pod[]> {
  const text = await kubectl(['get', 'pods', '--selector', `batch.kubernetes.io/job-name=${job}`, '-o', 'json']);
  return (JSON.parse(text) as { readonly items: Pod[] }).items;
}
