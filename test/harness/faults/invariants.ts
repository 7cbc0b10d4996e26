// Whether a run kept every promise. Each function is one promise of docs/promises.md and reports violations.

import { canonicalJson } from '../../../src/runtime/json-value.ts';
import { misattributed } from './author-invariants.ts';
import { buildProblems, isCredentialOfBuild, leftOfBuilds } from './build-invariants.ts';
import { deletedByOperations, usedWrongly, userOf } from './database-invariants.ts';
import type { Run } from './evidence.ts';
import { meddlerOf } from './interference.ts';
import { migratedWrongly } from './migration-invariants.ts';
import type { Seen, Sighting } from './object-history.ts';
import { dishonest } from './ready-truthfulness.ts';
import { leaks } from './secret-leaks.ts';
import { RECORD, SECOND } from './workloads/stage.ts';
import { DECOY } from './workloads.ts';

export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

export interface Reference {
  /** The end state, with what is random masked. */
  readonly end: readonly string[];
  /** `create PersistentVolumeClaim shop--postgres` → how often. */
  readonly counts: ReadonlyMap<string, number>;
  readonly requests: number;
  /** How long an undisturbed run takes here and now, set-up and quiet end included. */
  readonly seconds: number;
  readonly labels: readonly string[];
  /** What was there at the end and was Davit's. */
  readonly children: readonly Sighting[];
}

/** Less than the lease, which it takes where nothing is handed over; and the lease, a retry and a busy machine. */
const MOST_HANDOVER_MS = 1400;
const MOST_TAKEOVER_MS = 4000;

/** What Kubernetes and the test put there, or what Kubernetes derives from the children. */
const NOT_OURS: ReadonlySet<string> = new Set(['ReplicaSet', 'Pod']);

export function referenceOf(run: Run, again: Run): Reference {
  const second = new Set(again.trace.writes.map(({ label }) => label));
  return {
    end: endState(run),
    counts: countsOf(run),
    requests: Math.max(run.trace.requests, again.trace.requests),
    seconds: Math.max(run.seconds, again.seconds),
    labels: run.trace.writes.map(({ label }) => label).filter((label) => second.has(label)),
    children: run.current.filter(isDavits),
  };
}

/** A reference that differs from itself would make every verdict worthless. */
export function referencesDiffer(run: Run, again: Run): string | undefined {
  return firstDifference(endState(run), endState(again)) ?? countsDiffer(countsOf(run), countsOf(again));
}

export function judge(run: Run, reference: Reference): Violation[] {
  const found: Violation[] = [];
  const blame = (invariant: string, what: string | undefined): void => {
    if (what !== undefined) found.push({ invariant, what });
  };
  blame('I1 converges', run.stuck ?? firstDifference(reference.end, endState(run)));
  blame('I2 stable', run.restless ? `still writing: ${lastWrites(run)}` : undefined);
  const isDoomed = run.plan.workload === 'doomed';
  // What was not made yet when the namespace went is never made.
  const isCutShort = run.plan.fault.kind === 'namespace-deleted';
  if (run.stuck === undefined && !isCutShort)
    blame('I3 counts', countsDiffer(expectedCounts(run, reference), countsOf(run)));
  if (run.meddled) blame(run.meddled.invariant, run.meddled.message);
  blame('I4 no theft', deletedBlindly(run) ?? (isDoomed ? undefined : tookOthers(run)));
  blame('I4 no leak', leaked(run));
  blame('I5 one writer', run.trace.withoutLease[0] && `wrote without a lease: ${run.trace.withoutLease.join(', ')}`);
  blame('I5 one writer', slowHandover(run));
  // The namespace takes everything with it, in an order that is nobody's.
  if (!isDoomed) blame('I6 honest', dishonest(run) ?? unlatched(run) ?? silent(run));
  if (run.plan.workload === 'claims') blame('I6 honest', misattributed(run.history));
  blame('I7 exactly once', twoRevisions(run));
  blame('I8 no secret elsewhere', leaks(run));
  blame('I7 exactly once', rolledTwice(run) ?? migratedWrongly(run.history));
  blame('I9 no storm', storms(run, reference) ?? hammers(run) ?? asksTooOften(run));
  if (!isDoomed)
    blame('I11 data', lostData(run) ?? lostValues(run) ?? tornDownTooEarly(run) ?? usedWrongly(run.history));
  for (const { invariant, what } of buildProblems(run)) blame(invariant, what);
  blame('I13 no accident', run.accidents > 0 ? `the process ended on its own, see ${run.log}` : undefined);
  blame('I13 no accident', run.stopMs > 5000 ? `took ${Math.round(run.stopMs)} ms to stop` : undefined);
  return found;
}

function lastWrites(run: Run): string {
  const labels = run.trace.writes.slice(-4).map(({ label }) => label);
  return labels.join(', ');
}

/** Objects that Davit makes, of the workload's records; not what stands beside them, nor what a neighbour has. */
function isDavits({ kind, object }: Sighting): boolean {
  return !NOT_OURS.has(kind) && object.metadata.name.startsWith(RECORD);
}

/** Of the record that was deleted as soon as it was made: how much of it was made by then is a matter of luck. */
function isUndone({ plan }: Run, { object }: Sighting): boolean {
  return plan.workload === 'undone' && object.metadata.name.startsWith(SECOND);
}

function endState(run: Run): string[] {
  const children = run.current.filter((sighting) => {
    // In a hurry a revision may be passed over, or not: both are right.
    if (sighting.kind === 'AppRevision' && run.plan.workload === 'hasty') return false;
    // What outlives a deployment is there if it came so far.
    if (sighting.kind === 'TracingProject' && isUndone(run, sighting)) return false;
    return isDavits(sighting) || sighting.object.metadata.name === DECOY;
  });
  const pods = run.current.filter(({ kind, object }) => kind === 'Pod' && object.metadata.name.startsWith(RECORD));
  const running = Map.groupBy(pods, ({ object }) => object.metadata.labels?.['davit.dev/component'] ?? '');
  return [
    ...leftOfBuilds(run),
    ...children.map((sighting) => masked({ ...sighting, object: pastState(run, sighting) }, run.namespace)),
    ...[...running].map(([component, group]) => `Pod ${component} × ${group.length}`),
  ].toSorted();
}

/** After a crash nobody may know any more whether a revision that was overtaken has served: both are right. */
function pastState(run: Run, { kind, object }: Sighting): Seen {
  const { deploymentUid, deploymentGeneration } = object.spec ?? {};
  const isOvertaken = run.current.some(
    ({ kind: other, object: { spec } }) =>
      other === 'AppRevision' &&
      spec.deploymentUid === deploymentUid &&
      spec.deploymentGeneration > deploymentGeneration,
  );
  const isPast = ['DEPLOYED', 'SKIPPED'].includes(object.status?.state);
  return kind === 'AppRevision' && isOvertaken && isPast
    ? { ...object, status: { ...object.status, state: 'PAST' } }
    : object;
}

function masked({ kind, object }: Pick<Sighting, 'kind' | 'object'>, namespace: string): string {
  const { metadata, spec, data, status } = object;
  const conditions = (status?.conditions ?? []) as { type: string; status: string; reason: string }[];
  const annotations = Object.keys(metadata.annotations ?? {}).filter((name) => name.startsWith('davit.dev/'));
  const shown = {
    labels: metadata.labels,
    annotations: annotations.toSorted(),
    finalizers: metadata.finalizers,
    owners: metadata.ownerReferences?.map((owner) => owner.kind),
    spec,
    keys: Object.keys(data ?? {}).toSorted(),
    ...(kind.startsWith('App') && {
      state: status?.state,
      image: status?.image,
      build: status?.build && [status.build.phase, status.build.reason, status.build.digest],
      replicas: status?.replicas,
      // What the cluster's own autoscaler has to say comes up to 15 s later, or not before the end.
      conditions: conditions
        .filter(({ type }) => type !== 'AutoscalingReady')
        .map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)
        .toSorted(),
    }),
  };
  const text = canonicalJson(shown)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replaceAll(/--(migrate-)?[0-9a-f]{8}\b/g, '--$1REV')
    .replaceAll(/"[0-9a-z]+\.[0-9a-f]{32}"/g, '"DIGEST"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"\d{1,3}(\.\d{1,3}){3}"/g, '"IP"')
    .replaceAll(/"installation":"run\d+"/g, '"installation":"RUN"')
    .replaceAll(/"port":\d{5}\b/g, '"port":PORT')
    .replaceAll(namespace, 'NAMESPACE')
    .replaceAll(/NAMESPACE-[0-9a-f]{8}\b/g, 'TENANT')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');
  return `${kind} ${maskedName(metadata.name)} ${text}`;
}

function maskedName(name: string): string {
  return name.replace(/--(migrate-)?[0-9a-f]{8}$/, '--$1REV');
}

function firstDifference(wanted: readonly string[], actual: readonly string[]): string | undefined {
  const missing = wanted.find((line) => !actual.includes(line));
  const surplus = actual.find((line) => !wanted.includes(line));
  if (missing === undefined && surplus === undefined)
    return wanted.length === actual.length ? undefined : `${actual.length} objects, not ${wanted.length}`;
  if (missing === undefined || surplus === undefined)
    return `${missing === undefined ? 'too much' : 'missing'}: ${cut(missing ?? surplus ?? '')}`;
  let at = 0;
  while (at < missing.length && missing[at] === surplus[at]) at += 1;
  const from = Math.max(0, at - 60);
  return `${missing.split(' ', 2).join(' ')}: wanted …${missing.slice(from, at + 80)}…, is …${surplus.slice(from, at + 80)}…`;
}

function cut(text: string): string {
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
}

/** Creates and deletes of every object, by uid, as the census saw them. */
function countsOf(run: Run): Map<string, number> {
  const uids = new Map<string, Set<string>>();
  for (const sighting of run.history.filter(isDavits)) {
    if (isUndone(run, sighting)) continue;
    const what = `${sighting.gone ? 'delete' : 'create'} ${sighting.kind} ${maskedName(sighting.object.metadata.name)}`;
    const set = uids.get(what) ?? new Set();
    uids.set(what, set.add(sighting.object.metadata.uid ?? ''));
  }
  return new Map([...uids].map(([what, set]) => [what, set.size]));
}

/** A child that a meddler takes away is made and gone once more. */
function expectedCounts(run: Run, { counts }: Reference): ReadonlyMap<string, number> {
  const { remade } = meddlerOf(run.plan.fault);
  if (remade === undefined) return counts;
  const actual = countsOf(run);
  const expected = new Map(counts);
  for (const what of [`create ${remade}`, `delete ${remade}`]) {
    const once = (counts.get(what) ?? 0) + 1;
    // An object that a person recreates, and perhaps Davit before, is counted once or twice more.
    const twice = run.plan.fault.kind === 'edit' && run.plan.fault.edit === 'remade' && actual.get(what) === once + 1;
    expected.set(what, twice ? once + 1 : once);
  }
  return expected;
}

function countsDiffer(wanted: ReadonlyMap<string, number>, actual: ReadonlyMap<string, number>): string | undefined {
  for (const what of new Set([...wanted.keys(), ...actual.keys()])) {
    // In a hurry a revision may be passed over, or not: both are right.
    if (what.includes('AppRevision')) continue;
    if ((wanted.get(what) ?? 0) !== (actual.get(what) ?? 0))
      return `${what}: ${actual.get(what) ?? 0} times, ${wanted.get(what) ?? 0} undisturbed`;
  }
  return undefined;
}

function deletedBlindly(run: Run): string | undefined {
  const blind = run.trace.writes.find(({ verb, body }) => {
    const uid = (body['preconditions'] as { uid?: string } | undefined)?.uid;
    return verb === 'delete' && (uid === undefined || uid === '');
  });
  const unseen = run.trace.writes.find(({ verb, resource, actor, body, label }) => {
    // It is made again for each build.
    if (isCredentialOfBuild(label)) return false;
    const version = (body['preconditions'] as { resourceVersion?: string } | undefined)?.resourceVersion;
    const isData = resource === 'secrets' || resource === 'persistentvolumeclaims';
    return verb === 'delete' && actor !== 'facade' && isData && !version;
  });
  if (unseen) return `${unseen.label} carries no resourceVersion`;
  return blind && `${blind.label} carries no uid`;
}

/** A webhook that fails is a matter for people: the record has to say so, in its words, while it lasts. */
function silent(run: Run): string | undefined {
  const { fault } = run.plan;
  if (fault.kind !== 'denied' || fault.status !== 500 || !run.trace.fired) return undefined;
  const isSaid = run.history.some(
    ({ kind, object }) => kind === 'AppDeployment' && JSON.stringify(object.status ?? {}).includes('not-today.example'),
  );
  return isSaid ? undefined : `requests for ${fault.resource} failed, and no status ever said so`;
}

function tookOthers(run: Run): string | undefined {
  const others = run.history.filter(
    ({ kind, object }) =>
      object.metadata.name === DECOY ||
      (run.plan.workload === 'taken' && kind === 'Service' && object.metadata.name === RECORD),
  );
  for (const [what, sightings] of Map.groupBy(others, ({ kind, object }) => `${kind} ${object.metadata.name}`)) {
    if (new Set(sightings.map(({ version }) => version)).size > 1 || sightings.some(({ gone }) => gone))
      return `${what} is somebody else's and was touched`;
  }
  return undefined;
}

/** Workloads at whose end nothing of the record is left. */
const ENDING: ReadonlySet<string> = new Set(['delete', 'moves-deleted', 'claims']);

function leaked(run: Run): string | undefined {
  if (run.stuck !== undefined || !ENDING.has(run.plan.workload)) return undefined;
  const left = run.current.filter(({ object }) => object.metadata.name.startsWith(RECORD));
  const surplus = left.find(({ kind }) => kind !== 'TracingProject');
  return surplus && `${surplus.kind} ${surplus.object.metadata.name} is left`;
}

/** The leader's own word that it could not renew its lease in time, as happens to a process that the machine starves. */
const LOST = /"lost":true[^\n]*"msg":"No longer leading"/;

/**
 * A leader that is asked to stop gives its lease back. One that was killed, or had lost the lease to time before it
 * could give it back, is waited for until the lease is over.
 */
function slowHandover({ plan: { fault }, trace: { firedAt, holders, releases }, said }: Run): string | undefined {
  if (fault.kind !== 'leader-stopped' && fault.kind !== 'leader-killed') return undefined;
  if (firedAt === undefined) return undefined;
  const next = holders.find(({ at }) => at > firedAt);
  if (!next) return 'nobody took the lease';
  const took = Math.round(next.at - firedAt);
  if (took > MOST_TAKEOVER_MS) return `took ${took} ms until another held the lease`;
  if (fault.kind === 'leader-killed') return undefined;
  const releasedAt = releases.find((at) => at > firedAt && at < next.at);
  if (releasedAt === undefined)
    return said.some(({ where, text }) => where === 'the log' && LOST.test(text))
      ? undefined
      : 'the leader that was asked to stop did not give its lease back';
  const waited = Math.round(next.at - releasedAt);
  return waited > MOST_HANDOVER_MS ? `took ${waited} ms from the release until another held the lease` : undefined;
}

function lastBefore(history: readonly Sighting[], kind: string, name: string): Seen | undefined {
  const last = history.findLast((one) => one.kind === kind && one.object.metadata.name === name);
  return last?.gone === true ? undefined : last?.object;
}

function unlatched(run: Run): string | undefined {
  const deployed = new Set<string>();
  for (const { kind, object } of run.history) {
    if (kind !== 'AppRevision') continue;
    const uid = object.metadata.uid ?? '';
    if (object.status?.state === 'DEPLOYED') deployed.add(uid);
    else if (deployed.has(uid)) return `${object.metadata.name} was DEPLOYED and became ${object.status?.state}`;
  }
  return undefined;
}

function twoRevisions(run: Run): string | undefined {
  const made = new Map<string, string>();
  for (const { kind, object } of run.history) {
    if (kind !== 'AppRevision') continue;
    // A push or an operation makes a further one, which has a number.
    const { deploymentUid, deploymentGeneration, pushSerial } = object.spec;
    const of = `${deploymentUid} generation ${deploymentGeneration}${pushSerial === undefined ? '' : ` push ${pushSerial}`}`;
    const before = made.get(of);
    if (before !== undefined && before !== object.metadata.uid) return `two revisions of ${of}`;
    made.set(of, object.metadata.uid ?? '');
  }
  return undefined;
}

function storms(run: Run, reference: Reference): string | undefined {
  // Whoever starts again looks at everything again.
  const most = 3 * reference.requests + 10 * run.kills;
  return run.trace.requests > most ? `${run.trace.requests} requests, ${reference.requests} undisturbed` : undefined;
}

/** So long a key may be tried more often than once a second. */
const IMPATIENT_MS = 3000;

/** What is refused again and again is tried less and less often. */
function hammers({ trace }: Run): string | undefined {
  const refused = trace.writes
    .filter(({ status }) => status === 403 || status === 422 || status >= 500)
    .map(({ label, at }) => ({ what: label.split('#')[0], at }));
  for (const [what, tries] of Map.groupBy([...refused, ...trace.refused], (one) => one.what)) {
    const first = tries[0]?.at ?? 0;
    const late = tries.filter(({ at }) => at > first + IMPATIENT_MS);
    const seconds = Math.max(0, (late.at(-1)?.at ?? first) - first - IMPATIENT_MS) / 1000;
    // One more for what a change of another object may call for.
    if (late.length > seconds + 2) return `${what} was tried ${late.length} times in ${seconds.toFixed(1)} s`;
  }
  return undefined;
}

/** Somewhat less than Davit leaves between two lists of one pod's events. */
const EVENTS_APART_MS = 4000;

/** Events are listed live, but rarely, however often their record is reconciled. A restarted process lists them again. */
function asksTooOften({ trace, kills }: Run): string | undefined {
  for (const [of, lists] of Map.groupBy(trace.eventLists, (one) => one.of)) {
    const soon = lists.filter(({ at }, index) => at - (lists[index - 1]?.at ?? -Infinity) < EVENTS_APART_MS);
    if (soon.length > kills + trace.holders.length)
      return `events of ${of} were listed ${lists.length} times, ${soon.length} of them within ${EVENTS_APART_MS / 1000} s`;
  }
  return undefined;
}

/** New values of a referenced Secret roll the pods once. */
function rolledTwice(run: Run): string | undefined {
  if (run.plan.workload !== 'referenced') return undefined;
  const sets = run.history.filter(
    ({ kind, object }) => kind === 'ReplicaSet' && object.metadata.name.startsWith(RECORD),
  );
  const count = new Set(sets.map(({ object }) => object.metadata.uid)).size;
  return count > 2 ? `its pods were rolled ${count - 1} times` : undefined;
}

/**
 * By the name of the record: from when on somebody has asked for its end. One that is deleted while it gets its finalizer
 * may be gone without a deletionTimestamp (kubernetes/kubernetes#77988).
 */
function endsOf({ history }: Run): ReadonlyMap<string, bigint> {
  const ends = new Map<string, bigint>();
  for (const { kind, gone, object, version } of history) {
    const { name, deletionTimestamp } = object.metadata;
    if (kind === 'AppDeployment' && (gone || deletionTimestamp) && !ends.has(name)) ends.set(name, version);
  }
  return ends;
}

/** As long as nobody has asked for the record's deletion, its volume and passwords are what they were. */
function lostData(run: Run): string | undefined {
  const ends = endsOf(run);
  const deleted = deletedByOperations(run.history);
  const first = new Map<string, string>();
  for (const sighting of run.history) {
    const { kind, object, version, gone } = sighting;
    if (!isDavits(sighting)) continue;
    if (kind !== 'PersistentVolumeClaim' && kind !== 'Secret') continue;
    const { 'davit.dev/deployment': record, 'davit.dev/deployment-uid': uid } = object.metadata.labels ?? {};
    // Somebody else's of that name, or one whose labels a person took off.
    if (record === undefined || uid === undefined) continue;
    const end = ends.get(record);
    if (end !== undefined && version >= end) continue;
    if (deleted.has(object.metadata.name)) continue;
    const what = `${kind} ${object.metadata.name}`;
    // What a person has taken away is brought back, as it was, by the same.
    const isTakenAway = meddlerOf(run.plan.fault).remade === what;
    if (!isTakenAway && (gone || object.metadata.deletionTimestamp)) return `${what} was deleted, and nobody asked`;
    const content = JSON.stringify([isTakenAway ? '' : object.metadata.uid, object.data]);
    if ((first.get(what) ?? content) !== content) return `${what} is not what it was`;
    first.set(what, content);
  }
  return undefined;
}

/** The values that a record names stay, whichever record they were made for. */
function lostValues({ history }: Run): string | undefined {
  const naming = new Map<string, { readonly name: string; readonly secrets: ReadonlySet<string> }>();
  for (const { kind, object, gone } of history) {
    const { uid = '', name, deletionTimestamp } = object.metadata;
    if (kind === 'AppDeployment') {
      const secrets = (object.spec.secrets ?? []) as readonly { readonly secretName: string }[];
      if (gone || deletionTimestamp) naming.delete(uid);
      else naming.set(uid, { name, secrets: new Set(secrets.map(({ secretName }) => secretName)) });
    }
    const user = kind === 'Secret' && gone && [...naming.values()].find(({ secrets }) => secrets.has(name));
    if (user) return `Secret ${name} was deleted while ${user.name} names it`;
  }
  return undefined;
}

/** Workloads whose record lets go of a store and lives on. */
const LET_GO: ReadonlySet<string> = new Set(['external', 'moves', 'moves-kept', 'moves-deleted']);

/** Workloads, then the database, then its volume: nothing may still be using what goes. */
function tornDownTooEarly(run: Run): string | undefined {
  const ended = new Set<string>();
  for (const [index, { kind, object, gone }] of run.history.entries()) {
    const { deletionTimestamp, name, labels } = object.metadata;
    if (kind === 'AppDeployment' && (gone || deletionTimestamp !== undefined)) ended.add(object.metadata.uid ?? '');
    if (deletionTimestamp === undefined || !name.startsWith(`${RECORD}--`)) continue;
    if (kind !== 'PersistentVolumeClaim' && kind !== 'StatefulSet') continue;
    // A worker that is a singleton has no data.
    if (!['postgres', 'redis'].includes(labels?.['davit.dev/component'] ?? '')) continue;
    // A workload that a person has recreated with another selector must be deleted.
    if (meddlerOf(run.plan.fault).remade === `${kind} ${name}`) continue;
    const before = run.history.slice(0, index);
    const uid = labels?.['davit.dev/deployment-uid'];
    // Its record stays, and uses another one.
    if (LET_GO.has(run.plan.workload) && !ended.has(uid ?? '')) {
      const pod = userOf(before, name);
      if (pod) return `${kind} ${name} was deleted while pod ${pod.metadata.name} used it`;
      continue;
    }
    const users = [lastBefore(before, 'Deployment', RECORD)];
    if (kind === 'PersistentVolumeClaim') users.push(lastBefore(before, 'StatefulSet', name));
    const still = users.find((one) => one?.metadata.labels?.['davit.dev/deployment-uid'] === uid);
    if (still) return `${kind} ${name} was deleted while ${still.metadata.name} was there`;
  }
  return undefined;
}
