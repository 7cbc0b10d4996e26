// What a workload is played on: a record of one namespace, and what can be seen of it.

import type { ApiClient } from '../../../cluster/api-client.ts';
import { pause } from '../../../cluster/api-client.ts';
import type { Census, Seen } from '../object-history.ts';

export const RECORD = 'shop';

/** The other one in `pair` and `undone`. */
export const SECOND = `${RECORD}-two`;

export const IMAGES = ['registry.example/shop:1', 'registry.example/shop:2', 'registry.example/shop:3'] as const;

export const MERGE = 'application/merge-patch+json';

/** What can be looked at and waited for. */
export interface Scene {
  readonly api: ApiClient;
  readonly census: Census;
  readonly namespace: string;
  /** How long a phase may take until it counts as never ending. */
  readonly patienceMs: number;
  /** How long, within that, nothing may change in the namespace. */
  readonly quietMs?: number;
}

export interface Stage extends Scene {
  /** The writes from now on belong to this phase. */
  enter(phase: string): void;
  /** What is done to the cluster between the record's making and the workload's own phase. */
  interlude?(): Promise<void>;
  /** Another Davit comes in the place of the one that runs. */
  upgrade?(): Promise<void>;
  /** The controller is frozen when it next asks for this write, such as `apply deployments shop`, which is sent on. */
  leaveAt?(write: string): Absence;
  /** What is done instead, where something is built. */
  performBuilds?(): Promise<void>;
  /** A client with the rights of an editor of the namespace, as this person. */
  person?(name: string): Promise<ApiClient>;
  /** What others do before the record is made. */
  prepare(): Promise<void>;
}

export interface Absence {
  isAway(): boolean;
  /** Lets it go on, after its lease has run out. */
  back(): Promise<void>;
}

/** A phase that did not come to its end. */
export class NotConverged extends Error {}

export async function until(stage: Scene, what: string, holds: () => boolean): Promise<void> {
  const { census, namespace, patienceMs, quietMs = patienceMs } = stage;
  const begin = Date.now();
  let changedAt = begin;
  let count = census.count(namespace);
  while (!holds()) {
    const now = Date.now();
    if (census.count(namespace) !== count) {
      count = census.count(namespace);
      changedAt = now;
    }
    if (now - begin > patienceMs || now - changedAt > quietMs)
      throw new NotConverged(`${what}, not in ${((now - begin) / 1000).toFixed(1)} s: ${told(stage)}`);
    await pause(20);
  }
}

/** What was asked for last has been seen, and runs. */
export function isRolledOut(scene: Scene, asked: Seen | undefined): boolean {
  const isSeen = recordIn(scene)?.status?.observedGeneration === asked?.metadata.generation;
  return isSeen && hasCondition(scene, 'WorkloadsReady', 'Serving');
}

export function told(stage: Scene): string {
  const conditions = (recordIn(stage)?.status?.conditions ?? []) as { type: string; status: string; message: string }[];
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready ? `Ready is ${ready.status}, ${ready.message}` : 'nothing is said of the record';
}

export function recordIn(scene: Scene, name = RECORD): Seen | undefined {
  return childIn(scene, 'AppDeployment', name);
}

export function childIn({ census, namespace }: Scene, kind: string, name: string): Seen | undefined {
  return census.current(namespace).find((one) => one.kind === kind && one.object.metadata.name === name)?.object;
}

export function hasCondition(
  scene: Scene,
  type: string,
  reason: string,
  status = 'True',
  name: string = RECORD,
): boolean {
  const conditions = (recordIn(scene, name)?.status?.conditions ?? []) as {
    type: string;
    status: string;
    reason: string;
  }[];
  return conditions.some((one) => one.type === type && one.status === status && one.reason === reason);
}

/** The record's, the oldest first. */
export function revisionsIn({ census, namespace }: Scene): readonly Seen[] {
  const revisions = census.current(namespace).filter(({ kind }) => kind === 'AppRevision');
  return revisions
    .map(({ object }) => object)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}

export function record(namespace: string, spec: object = {}, name = RECORD): object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace },
    // By default a database stays, and another record of the name waits for somebody to say what becomes of it.
    spec: {
      source: 'external_docker',
      databaseDeletionPolicy: 'Delete',
      sourceRevisionConfig: { imageUri: IMAGES[0] },
      ...spec,
    },
  };
}
