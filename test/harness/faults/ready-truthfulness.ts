// I6: every Ready that was ever said is held against the spec and the children of that very moment.

import type { Seen, Sighting } from './object-history.ts';
import type { Run } from './run.ts';

/** A person who edits a child is quicker than any report: then it is enough that it was true a moment ago. */
const MOMENT_MS = 3000;

/** What a record's revision has beside its main service, as the snapshot says. */
interface Snapshot {
  readonly image: string;
  readonly parts: readonly Part[];
}

interface Part {
  readonly kind: 'Deployment' | 'StatefulSet';
  readonly suffix: string;
  /** Where an autoscaler decides the number of pods, the fewest. */
  readonly fewest?: number;
}

const PARTS: Readonly<Record<string, Part>> = {
  server: { kind: 'Deployment', suffix: '' },
  queue: { kind: 'Deployment', suffix: '--queue' },
  orchestrator: { kind: 'Deployment', suffix: '--orchestrator' },
  executor: { kind: 'Deployment', suffix: '--executor' },
  postgres: { kind: 'StatefulSet', suffix: '--postgres' },
  redis: { kind: 'StatefulSet', suffix: '--redis' },
};

/** What was untrue, or nothing. */
export function dishonest(run: Run): string | undefined {
  const images = new Map<string, string>();
  const snapshots = snapshotsIn(run);
  const said = new Map<string, string>();
  for (const [index, sighting] of run.history.entries()) {
    const { kind, object, gone } = sighting;
    if (kind !== 'AppDeployment' || gone) continue;
    const { uid = '', generation = 0, deletionTimestamp } = object.metadata;
    images.set(`${uid}/${generation}`, object.spec.sourceRevisionConfig?.imageUri);
    const status = JSON.stringify(object.status ?? {});
    // Others' writes carry along what was said before.
    if (deletionTimestamp !== undefined || said.get(uid) === status) continue;
    said.set(uid, status);
    const wrong = untrue(sighting, images, snapshots) ?? unlike(sighting, snapshots, run, index);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function snapshotsIn(run: Run): Map<string, Snapshot> {
  const snapshots = new Map<string, Snapshot>();
  for (const { kind, object } of run.history) {
    if (kind !== 'AppRevision') continue;
    const { requested, resolved } = object.spec;
    const parts = Object.entries(PARTS).flatMap(([part, made]) => {
      const { minScale = 0, maxScale = 0 } = resolved[part] ?? {};
      const isRange = maxScale > Math.max(1, minScale);
      if (resolved[part] === undefined) return [];
      return [{ ...made, ...(isRange && { fewest: Math.max(1, minScale) }) }];
    });
    snapshots.set(object.spec.id, { image: requested.sourceRevisionConfig.imageUri, parts });
  }
  return snapshots;
}

/** Does the status fit the generation that it claims to have seen? */
function untrue(
  { object, version }: Sighting,
  images: ReadonlyMap<string, string>,
  snapshots: ReadonlyMap<string, Snapshot>,
): string | undefined {
  const { uid = '', name } = object.metadata;
  const observed = object.status?.observedGeneration as number | undefined;
  const asked = images.get(`${uid}/${observed}`);
  const latest = snapshots.get(object.status?.latestRevisionId)?.image;
  // Where the new revision cannot be made, that is what the record says.
  if (latest !== undefined && latest !== asked && !saysWhatFailed(object))
    return `${name}: generation ${observed} is said to be seen at ${version}, with a revision of ${latest}, not ${asked}`;
  if (isReady(object) && object.status.image !== asked)
    return `${name}: Ready at ${version} (observed ${observed}) with image ${object.status.image}, not ${asked}`;
  return undefined;
}

const FAILURES: ReadonlySet<string> = new Set(['RequestFailed', 'ApplyRefused', 'NameConflict']);

function saysWhatFailed({ status }: Sighting['object']): boolean {
  const conditions = (status?.conditions ?? []) as readonly { readonly type: string; readonly reason: string }[];
  return conditions.some(({ type, reason }) => type === 'Ready' && FAILURES.has(reason));
}

/** Do all children fit a Ready? Nothing is rolled back on its own: until the spec changes again, it must be so. */
function unlike(
  { object, version, at }: Sighting,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Run,
  index: number,
): string | undefined {
  const { name, generation } = object.metadata;
  if (!isReady(object) || object.status.observedGeneration !== generation) return undefined;
  const revision = object.status.latestRevisionId as string;
  const sinceMs = isMeddledWith(run) ? at - MOMENT_MS - (run.plan.fault.ms ?? 0) : at;
  const before = run.history.slice(0, index);
  for (const part of snapshots.get(revision)?.parts ?? []) {
    const { kind, suffix } = part;
    const childName = `${name}${suffix}`;
    const states = statesOf(before, kind, childName, sinceMs);
    const problems = states.map((state) => problemOf(part, state, revision));
    if (!problems.includes(undefined))
      return `${name}: Ready at ${version} (generation ${generation}), but ${kind} ${childName} ${problems.at(-1)}`;
  }
  return undefined;
}

function isMeddledWith({ plan: { workload, fault } }: Run): boolean {
  return (
    // An autoscaler is no other than a person who scales.
    workload === 'drift' ||
    workload === 'autoscaled' ||
    ['edit', 'second-manager', 'foreign', 'namespace-deleted', 'child-storm'].includes(fault.kind)
  );
}

function isReady(object: Seen): boolean {
  const conditions = (object.status?.conditions ?? []) as { type: string; status: string }[];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** The last state, and all that there were since. */
function statesOf(before: readonly Sighting[], kind: string, name: string, sinceMs: number): (Seen | undefined)[] {
  const states: (Seen | undefined)[] = [];
  for (const sighting of before.toReversed()) {
    if (sighting.kind !== kind || sighting.object.metadata.name !== name) continue;
    states.unshift(sighting.gone ? undefined : sighting.object);
    if (sighting.at <= sinceMs) break;
  }
  return states.length === 0 ? [undefined] : states;
}

function problemOf({ kind, fewest }: Part, child: Seen | undefined, revision: string): string | undefined {
  if (!child) return 'is not there';
  const { spec, status = {}, metadata } = child;
  const behind = `has not been looked at (${status.observedGeneration} of ${metadata.generation})`;
  if (kind === 'Deployment') {
    if (spec.template.metadata.labels['davit.dev/revision'] !== revision) return 'is of another revision';
    if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return behind;
    const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
    // More pods that an autoscaler has asked for, and that still start, take nothing from those that run.
    const isWhole =
      fewest === undefined
        ? [replicas, updatedReplicas, availableReplicas].every((count) => count === spec.replicas)
        : updatedReplicas === replicas && availableReplicas >= fewest;
    return isWhole ? undefined : `has ${replicas}/${updatedReplicas}/${availableReplicas} of ${spec.replicas} replicas`;
  }
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return behind;
  if ((status.readyReplicas ?? 0) < spec.replicas) return 'has no ready pod';
  return status.currentRevision === status.updateRevision ? undefined : 'is still being rolled';
}
