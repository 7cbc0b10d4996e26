// I6: every Ready, and every revision's DEPLOYED, that was ever said is held against the spec and the children of that
// very moment.

import { databaseSuffix } from './database-invariants.ts';
import type { Run } from './evidence.ts';
import type { Seen, Sighting } from './object-history.ts';

/** What the judge looks at of a run. */
export type Judged = Pick<Run, 'plan' | 'history'>;

/** A person who edits a child is quicker than any report: then it is enough that it was true a moment ago. */
const MOMENT_MS = 3000;

/** What a record's revision has beside its main service, as the snapshot says. */
interface Snapshot {
  readonly image: string;
  readonly generation: number;
  readonly parts: readonly Part[];
}

interface Part {
  readonly kind: 'Deployment' | 'StatefulSet';
  readonly suffix: string;
  /** On its pods, which may be shared with an earlier revision. */
  readonly podsId: string;
  /** Where an autoscaler decides the number of pods, the fewest. */
  readonly fewest?: number;
}

const PARTS: Readonly<Record<string, Omit<Part, 'podsId'>>> = {
  server: { kind: 'Deployment', suffix: '' },
  queue: { kind: 'Deployment', suffix: '--queue' },
  orchestrator: { kind: 'Deployment', suffix: '--orchestrator' },
  executor: { kind: 'Deployment', suffix: '--executor' },
  postgres: { kind: 'StatefulSet', suffix: '--postgres' },
  redis: { kind: 'StatefulSet', suffix: '--redis' },
};

/** What was untrue, or nothing. */
export function dishonest(run: Judged): string | undefined {
  const images = new Map<string, string>();
  const snapshots = snapshotsIn(run);
  const said = new Map<string, string>();
  const outcomes = new Set<string>();
  for (const [index, sighting] of run.history.entries()) {
    const { kind, object, gone } = sighting;
    const { uid = '', generation = 0, deletionTimestamp } = object.metadata;
    const judgeOutcome = OUTCOMES[object.status?.state];
    if (kind === 'AppRevision' && judgeOutcome && !outcomes.has(uid)) {
      outcomes.add(uid);
      const wrong = judgeOutcome(sighting, snapshots, run, index);
      if (wrong !== undefined) return wrong;
    }
    if (kind !== 'AppDeployment' || gone) continue;
    images.set(`${uid}/${generation}`, object.spec.sourceRevisionConfig?.imageUri);
    const status = JSON.stringify(object.status ?? {});
    // Others' writes carry along what was said before.
    if (deletionTimestamp !== undefined || said.get(uid) === status) continue;
    said.set(uid, status);
    const wrong = untrue(sighting, images, snapshots, run, index) ?? unlike(sighting, snapshots, run, index);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function snapshotsIn(run: Judged): Map<string, Snapshot> {
  const snapshots = new Map<string, Snapshot>();
  for (const { kind, object } of run.history) {
    if (kind !== 'AppRevision') continue;
    const { requested, resolved } = object.spec;
    const parts = Object.entries(PARTS).flatMap(([part, made]) => {
      if (resolved[part] === undefined) return [];
      const ranges = [resolved[part], ...scalesOf(run, part)].filter(
        ({ minScale = 0, maxScale = 0 }) => maxScale > Math.max(1, minScale),
      );
      const fewest = Math.min(...ranges.map(({ minScale = 0 }) => Math.max(1, minScale)));
      const podsId = resolved.podsOfParts?.[part] ?? resolved.podsOf ?? object.spec.id;
      const suffix = part === 'postgres' ? databaseSuffix(resolved) : made.suffix;
      return [{ ...made, suffix, podsId, ...(ranges.length > 0 && { fewest }) }];
    });
    snapshots.set(object.spec.id, {
      image: requested.sourceRevisionConfig.imageUri,
      generation: object.spec.deploymentGeneration,
      parts,
    });
  }
  return snapshots;
}

interface ScaleAsked {
  readonly minScale?: number;
  readonly maxScale?: number;
}

/** What the record has asked for, which no revision is made for. */
function scalesOf(run: Judged, part: string): ScaleAsked[] {
  const field = (name: string): string =>
    part === 'server' ? name : `${part}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return run.history
    .filter(({ kind }) => kind === 'AppDeployment')
    .map(({ object }) => object.spec.sourceConfig?.resourceSpec ?? {})
    .map((spec) => ({ minScale: spec[field('minScale')], maxScale: spec[field('maxScale')] }));
}

/** Does the status fit the generation that it claims to have seen? */
function untrue(
  { object, version, at }: Sighting,
  images: ReadonlyMap<string, string>,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Judged,
  index: number,
): string | undefined {
  const { uid = '', name } = object.metadata;
  const observed = object.status?.observedGeneration as number | undefined;
  const asked = images.get(`${uid}/${observed}`);
  const latest = snapshots.get(object.status?.latestRevisionId);
  const image = asked ?? builtFor(object.status?.latestRevisionId, run.history.slice(0, index));
  if (latest !== undefined && latest.image !== asked) {
    const wrong = `${name}: generation ${observed} is said to be seen at ${version}, with a revision of ${latest.image}, not ${asked}`;
    // Where the new revision cannot be made, that is what the record says.
    if (!saysThatNoneIsMade(object, run)) return wrong;
    const before = run.history.slice(0, index);
    if (newerThan(latest.generation, uid, before).some((newer) => newer.at <= at - leewayOf(run)))
      return `${wrong}, though a newer one is there`;
  }
  if (isReady(object) && object.status.image !== image)
    return `${name}: Ready at ${version} (observed ${observed}) with image ${object.status.image}, not ${image}`;
  return undefined;
}

/** The image that the build of a revision has made, as far as it was said, or that the revision took over. */
function builtFor(id: string, before: readonly Sighting[]): string | undefined {
  const revision = before.findLast(({ kind, object }) => kind === 'AppRevision' && object.spec.id === id)?.object;
  return revision?.spec.resolved?.image ?? revision?.status?.build?.image;
}

const FAILURES: ReadonlySet<string> = new Set(['RequestFailed', 'ApplyRefused']);
/** Nothing is refused in these, and no answer is lost. */
const WITHOUT_FAILURES: ReadonlySet<string> = new Set(['none', 'quiet']);
/** The revision, or what comes before it: the finalizer of the record, and a pass as a whole. */
const MAKING = /\b(?:AppRevision|AppDeployment) /;

/** Does Ready say that the revision could not be made, or that nothing is? */
function saysThatNoneIsMade({ status }: Seen, { plan }: Judged): boolean {
  const ready = readyOf(status);
  if (ready?.status === 'False' && ready.reason === 'Paused') return true;
  if (WITHOUT_FAILURES.has(plan.fault.kind)) return false;
  return ready?.status === 'False' && FAILURES.has(ready.reason) && MAKING.test(ready.message);
}

/** The first sights of the record's revisions of later generations. Of one made a moment ago the answer may be lost. */
function newerThan(generation: number, uid: string, before: readonly Sighting[]): readonly Sighting[] {
  return before.filter(
    ({ kind, object: { spec } }) =>
      kind === 'AppRevision' && spec.deploymentUid === uid && spec.deploymentGeneration > generation,
  );
}

/** What is said may be as old as this: what was done in between was not seen yet. */
function leewayOf({ plan: { fault } }: Judged): number {
  return MOMENT_MS + (fault.ms ?? 0);
}

/** Is every part, stores included, of a revision that is DEPLOYED for the first time? One that was overtaken may have gone again. */
function deployedTooEarly(
  { object, version, at }: Sighting,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Judged,
  index: number,
): string | undefined {
  const { id, deploymentName, deploymentUid, deploymentGeneration } = object.spec;
  const before = run.history.slice(0, index);
  const isOvertaken = newerThan(deploymentGeneration, deploymentUid, before).length > 0;
  const wrong = isOvertaken ? undefined : misfit(deploymentName, id, snapshots, before, sinceWhen(run, at));
  return wrong && `${object.metadata.name}: DEPLOYED at ${version}, but ${wrong}`;
}

/** Do all children fit a Ready? Nothing is rolled back on its own: until the spec changes again, it must be so. */
function unlike(
  { object, version, at }: Sighting,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Judged,
  index: number,
): string | undefined {
  const { name, generation } = object.metadata;
  if (!isReady(object) || object.status.observedGeneration !== generation) return undefined;
  const before = run.history.slice(0, index);
  const wrong = misfit(name, object.status.latestRevisionId, snapshots, before, sinceWhen(run, at));
  return wrong && `${name}: Ready at ${version} (generation ${generation}), but ${wrong}`;
}

/** From when on it is enough that something was so for once. */
function sinceWhen(run: Judged, at: number): number {
  return isMeddledWith(run) ? at - leewayOf(run) : at;
}

/** A part of the revision that is not rolled out. */
function misfit(
  name: string,
  revision: string,
  snapshots: ReadonlyMap<string, Snapshot>,
  before: readonly Sighting[],
  sinceMs: number,
): string | undefined {
  const { parts = [] } = snapshots.get(revision) ?? {};
  for (const part of parts) {
    const { kind, suffix } = part;
    const childName = `${name}${suffix}`;
    const problems = statesOf(before, kind, childName, sinceMs).map((state) => problemOf(part, state));
    if (!problems.includes(undefined)) return `${kind} ${childName} ${problems.at(-1)}`;
  }
  return undefined;
}

/** What a report may be behind what it reports of, where nothing is disturbed. */
const BEHIND_MS = 1000;

/** Of what was rolled out whole before the next revision was made, an undisturbed controller knows it whenever it looks again. */
function skippedThoughItServed(
  { object, version }: Sighting,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Judged,
  index: number,
): string | undefined {
  if (!WITHOUT_FAILURES.has(run.plan.fault.kind)) return undefined;
  const { id, deploymentName, deploymentUid, deploymentGeneration } = object.spec;
  const [next] = newerThan(deploymentGeneration, deploymentUid, run.history.slice(0, index));
  if (!next) return undefined;
  const until = run.history.slice(0, run.history.indexOf(next));
  const before = until.filter(({ at }) => at <= next.at - BEHIND_MS);
  // A store has no label of a revision: one that was not yet changed then counts as whole, and is not when it has been.
  if ([before, until].some((seen) => misfit(deploymentName, id, snapshots, seen, next.at) !== undefined))
    return undefined;
  return `${object.metadata.name}: SKIPPED at ${version}, though it was rolled out whole before the next was made`;
}

type OutcomeJudge = (
  sighting: Sighting,
  snapshots: ReadonlyMap<string, Snapshot>,
  run: Judged,
  index: number,
) => string | undefined;

const OUTCOMES: Readonly<Record<string, OutcomeJudge>> = {
  DEPLOYED: deployedTooEarly,
  SKIPPED: skippedThoughItServed,
};

function isMeddledWith({ plan: { workload, fault } }: Judged): boolean {
  return (
    // An autoscaler is no other than a person who scales.
    workload === 'drift' ||
    workload === 'autoscaled' ||
    ['edit', 'second-manager', 'foreign', 'namespace-deleted', 'child-storm'].includes(fault.kind)
  );
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function readyOf(status: Seen['status']): Condition | undefined {
  const conditions = (status?.conditions ?? []) as readonly Condition[];
  return conditions.find(({ type }) => type === 'Ready');
}

function isReady({ status }: Seen): boolean {
  return readyOf(status)?.status === 'True';
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

function problemOf({ kind, fewest, podsId }: Part, child: Seen | undefined): string | undefined {
  if (!child) return 'is not there';
  const { spec, status = {}, metadata } = child;
  const behind = `has not been looked at (${status.observedGeneration} of ${metadata.generation})`;
  if (kind === 'Deployment') {
    if (spec.template.metadata.labels['davit.dev/revision'] !== podsId) return 'is of another revision';
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
