// Runs of CronJobs: what the controllers of CronJobs and Jobs and a kubelet do with them, whatever they run.

import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Event } from './event.ts';
import type { Scene } from './scene.ts';

export interface Run extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}

/** Name of the one Job that a CronJob has at a time. */
export const runOf = (cronJob: string): string => `${cronJob}-run`;
export const podOf = (job: string): string => `${job}-pod`;
export const isUnended = ({ status }: Run): boolean => status?.conditions === undefined;

/** Whether a CronJob may begin its next run. */
export function mayBegin(scene: Scene, namespace: string, { metadata }: KubeObject): boolean {
  const last = scene.get<Run>(JOBS, namespace, runOf(metadata.name));
  return metadata.deletionTimestamp === undefined && !(last && isUnended(last));
}

export function controlledBy(kind: 'CronJob' | 'Job', { metadata }: KubeObject): object {
  return { apiVersion: 'batch/v1', kind, name: metadata.name, uid: metadata.uid ?? '', controller: true };
}

/** The last run of a CronJob gives way to the next, as its history would let it. */
export function eraseRun(scene: Scene, namespace: string, job: string): void {
  const found = scene.get(JOBS, namespace, job);
  const pod = scene.get(PODS, namespace, podOf(job));
  if (pod) scene.erase(PODS, pod);
  if (found) scene.erase(JOBS, found);
}

export function endedPodGoes(runsIn: (scene: Scene, namespace: string) => readonly Run[]): Event {
  return {
    name: 'the pod of the ended run % goes',
    by: 'cluster',
    subjects: (scene, namespace) =>
      runsIn(scene, namespace)
        .filter((job) => !isUnended(job) && scene.get(PODS, namespace, podOf(job.metadata.name)))
        .map(({ metadata }) => metadata.name),
    happen(scene, namespace, subject) {
      const pod = scene.get(PODS, namespace, podOf(subject));
      if (pod) scene.erase(PODS, pod);
    },
  };
}
