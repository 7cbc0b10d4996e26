// What a run leaves for the invariants to judge.

import { readFile } from 'node:fs/promises';
import type { ApiClient } from '../../cluster/api-client.ts';
import type { BuildWorld } from './build-world.ts';
import type { Plan } from './fault.ts';
import type { Meddled } from './interference.ts';
import type { Sighting } from './object-history.ts';
import type { Trace } from './proxy/trace.ts';
import type { Cast } from './run-processes.ts';

export interface Run {
  readonly plan: Plan;
  readonly namespace: string;
  readonly trace: Trace;
  readonly history: readonly Sighting[];
  readonly current: readonly Sighting[];
  /** Of a workload of builds: what there was where they run, and what was really built. */
  readonly builds?: BuildsSeen | undefined;
  /** Why the workload did not come to its end. */
  readonly stuck: string | undefined;
  /** Writes that came after it should have been at rest. */
  readonly restless: boolean;
  /** How often a process ended that nobody had ended. */
  readonly accidents: number;
  /** What a meddler saw being broken. */
  readonly meddled: Meddled | undefined;
  readonly kills: number;
  /** Events, logs, metrics and ConfigMaps. */
  readonly said: readonly Utterance[];
  readonly stopMs: number;
  readonly seconds: number;
  readonly log: string;
}

export interface BuildsSeen extends Pick<BuildWorld, 'made' | 'wrong' | 'limits'> {
  readonly history: readonly Sighting[];
  readonly current: readonly Sighting[];
}

/** What was said in a place that is no object of the record's. */
export interface Utterance {
  readonly where: string;
  readonly text: string;
}

/** What the controller has said and what Kubernetes was told, before the process ends and the namespace goes. */
export async function gather(api: ApiClient, namespaces: readonly string[], cast: Cast): Promise<Utterance[]> {
  const read = async (where: string, text: Promise<string>): Promise<Utterance> => ({
    where,
    text: await text.catch(() => ''),
  });
  const metrics = fetch(`http://127.0.0.1:${cast.healthPort()}/metrics`).then((answer) => answer.text());
  return Promise.all([
    ...namespaces.flatMap((namespace) => [
      read('an event', api.read(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`)),
      read('a ConfigMap', api.read(`/api/v1/namespaces/${namespace}/configmaps`)),
    ]),
    read('the metrics', metrics),
    ...cast.logs.map((file) => read('the log', readFile(file, 'utf8'))),
  ]);
}
