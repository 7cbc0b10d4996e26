// What a hub and a listener's cluster promise, held against what both API servers have had. Pure.

import {
  LISTENER_COPY_LABEL as LISTENER_COPY,
  ORIGIN_GENERATION_ANNOTATION as ORIGIN_GENERATION,
  ORIGIN_ID_ANNOTATION as ORIGIN_ID,
} from '../../../src/kinds/meta.ts';
import type { Violation } from './invariants.ts';
import type { ListenerPlan } from './listener-plans.ts';
import type { Seen, Sighting } from './object-history.ts';
import type { TracedWrite } from './proxy/trace.ts';

/** What there was when a phase had ended. */
export interface Checkpoint {
  readonly phase: string;
  readonly hub: readonly Sighting[];
  readonly remote: readonly Sighting[];
}

/** Times are milliseconds of `performance.now()`. */
export interface ListenerRun {
  readonly plan: ListenerPlan;
  /** The tenant's namespace on the hub, that of the Listener there, and that of the listener's cluster. */
  readonly tenant: string;
  readonly hubNamespace: string;
  readonly place: string;
  readonly checkpoints: readonly Checkpoint[];
  /** Of the tenant's namespace and the Listener's. */
  readonly hubHistory: readonly Sighting[];
  readonly remoteHistory: readonly Sighting[];
  /** What an agent with the credentials of this one has made in another cluster. */
  readonly cloned: readonly Sighting[];
  /** uid of a record → when its deletion was asked for. */
  readonly deletions: ReadonlyMap<string, number>;
  /** uids of the records that were given up: they may be gone before their copies. */
  readonly abandoned: ReadonlySet<string>;
  /** The agent could not reach the hub from then on. */
  readonly silence?: { readonly from: number; readonly to: number; readonly allowedMs: number } | undefined;
  /** When the agent's token was revoked; API servers remember a token for some seconds. */
  readonly revoked?: { readonly at: number; readonly forgottenAfterMs: number } | undefined;
  /** Of the agent, on the hub. */
  readonly linkWrites: readonly Pick<TracedWrite, 'label' | 'at' | 'status'>[];
  /** Of the agent, in its own cluster. */
  readonly remoteWrites: readonly Pick<TracedWrite, 'label' | 'verb' | 'resource' | 'body'>[];
  /** Of the hub's controller and of the agent. */
  readonly bodies: readonly { readonly resource: string; readonly body: unknown }[];
  readonly log: string;
  readonly stuck: string | undefined;
  readonly restless: string | undefined;
  readonly accidents: number;
}

/** What the cluster has of its own: a record and a Secret of this name. */
export const OWN = 'own';
/** Values: two of the record's `secrets`, one of the cluster's own Secret, one of the hub's Secret of the same name. */
export const VALUES = {
  first: 'canary-crosses-first-41b7',
  second: 'canary-crosses-second-9ce0',
  remoteOwn: 'canary-of-the-cluster-5d12',
  hubOwn: 'canary-of-the-tenant-c83f',
} as const;
/** Two watches tell of two clusters: one may be so much later. */
const LATE_MS = 1500;

export function judgeListener(run: ListenerRun): Violation[] {
  const found: Violation[] = [];
  const blame = (invariant: string, what: string | undefined): void => {
    if (what !== undefined) found.push({ invariant, what });
  };
  blame('I1 converges', run.stuck);
  blame('I2 stable', run.restless);
  blame('I3 counts', twoCopies(run) ?? notOneEach(run));
  blame('I4 no theft', tookOwn(run) ?? deletedUnasked(run) ?? deletedBlindly(run) ?? clonedWork(run));
  blame('I4 no leak', leftOver(run) ?? staleSecret(run));
  blame('I6 honest', readyTooEarly(run) ?? readyInSilence(run) ?? goneTooEarly(run) ?? lostTombstone(run));
  blame('I7 exactly once', otherIds(run));
  blame('I8 no secret elsewhere', crossed(run) ?? valueOutside(run));
  blame('S1 revoked', wroteRevoked(run));
  blame('I13 no accident', run.accidents > 0 ? 'a process ended on its own' : undefined);
  return found;
}

function ofKind(sightings: readonly Sighting[], kind: string): Seen[] {
  return sightings.filter((one) => one.kind === kind).map(({ object }) => object);
}

function isForListener({ spec }: Seen): boolean {
  return spec?.sourceConfig?.listenerId !== undefined;
}

function originOf({ metadata }: Seen): string | undefined {
  return metadata.annotations?.[ORIGIN_ID];
}

function recordsOf(checkpoint: Checkpoint): Seen[] {
  return ofKind(checkpoint.hub, 'AppDeployment').filter(isForListener);
}

function conditionOf(object: Seen, type: string): { status: string; reason: string } | undefined {
  const conditions = (object.status?.conditions ?? []) as { type: string; status: string; reason: string }[];
  return conditions.find((one) => one.type === type);
}

/** A record has one copy in its whole life. */
export function twoCopies({ remoteHistory }: ListenerRun): string | undefined {
  const uids = new Map<string, string | undefined>();
  for (const copy of ofKind(remoteHistory, 'AppDeployment')) {
    const origin = originOf(copy);
    if (origin === undefined) continue;
    const before = uids.get(origin);
    if (before !== undefined && before !== copy.metadata.uid) return `record ${origin} was copied twice`;
    uids.set(origin, copy.metadata.uid);
  }
  return undefined;
}

/** When a phase has ended each record has its copy, and each copy its record. */
export function notOneEach({ checkpoints }: ListenerRun): string | undefined {
  for (const checkpoint of checkpoints) {
    const copies = ofKind(checkpoint.remote, 'AppDeployment').filter((copy) => originOf(copy) !== undefined);
    const records = recordsOf(checkpoint);
    for (const { metadata } of records) {
      const mine = copies.filter((copy) => originOf(copy) === metadata.uid);
      if (mine.length !== 1) return `${checkpoint.phase}: ${metadata.name} has ${mine.length} copies`;
      const generation = mine[0]?.metadata.annotations?.[ORIGIN_GENERATION];
      if (generation !== String(metadata.generation))
        return `${checkpoint.phase}: the copy of ${metadata.name} has generation ${generation}, not ${metadata.generation}`;
    }
    const orphan = copies.find((copy) => !records.some(({ metadata }) => metadata.uid === originOf(copy)));
    if (orphan) return `${checkpoint.phase}: the copy ${orphan.metadata.name} has no record`;
  }
  return undefined;
}

/** The cluster's own record and Secret stay as they were, and foreign ones of the record's name too. */
export function tookOwn({ remoteHistory }: ListenerRun): string | undefined {
  const first = new Map<string, Sighting>();
  for (const sighting of remoteHistory) {
    const { kind, object, gone } = sighting;
    const key = `${kind} ${object.metadata.name}`;
    const isOwn = object.metadata.name === OWN || object.metadata.annotations?.['test/foreign'] !== undefined;
    if ((kind !== 'AppDeployment' && kind !== 'Secret') || (!isOwn && !first.has(key))) continue;
    const before = first.get(key);
    if (before === undefined) first.set(key, sighting);
    else if (gone || before.object.metadata.uid !== object.metadata.uid) return `${key} of the cluster was deleted`;
    else if (contentOf(before.object) !== contentOf(object)) return `${key} of the cluster was changed`;
  }
  return undefined;
}

function contentOf({ metadata, spec, data }: Seen): string {
  return JSON.stringify([metadata.labels, metadata.annotations, spec, data]);
}

/** A copy is deleted because its record is, and for no other reason. */
export function deletedUnasked({ remoteHistory, deletions }: ListenerRun): string | undefined {
  for (const { kind, object, gone, at } of remoteHistory) {
    const origin = originOf(object);
    if (kind !== 'AppDeployment' || origin === undefined) continue;
    if (!gone && object.metadata.deletionTimestamp === undefined) continue;
    if (at < (deletions.get(origin) ?? Infinity))
      return `the copy ${object.metadata.name} of ${origin} was deleted, and nobody had deleted the record`;
  }
  return undefined;
}

export function deletedBlindly({ remoteWrites }: ListenerRun): string | undefined {
  const blind = remoteWrites.find(({ verb, body }) => {
    const { preconditions } = body as { preconditions?: { uid?: string } };
    return verb === 'delete' && (preconditions?.uid ?? '') === '';
  });
  return blind && `${blind.label} has no uid`;
}

export function clonedWork({ cloned }: ListenerRun): string | undefined {
  const made = cloned.find(
    ({ kind, object }) =>
      (kind === 'AppDeployment' && originOf(object) !== undefined) ||
      (kind === 'Secret' && object.metadata.labels?.[LISTENER_COPY] !== undefined),
  );
  return made && `a clone of the cluster was given ${made.kind} ${made.object.metadata.name}`;
}

/** After a deletion neither side has anything of the record. */
export function leftOver({ checkpoints }: ListenerRun): string | undefined {
  for (const checkpoint of checkpoints) {
    const there = new Set(recordsOf(checkpoint).map(({ metadata }) => metadata.uid));
    for (const { kind, object } of [...checkpoint.hub, ...checkpoint.remote]) {
      const { name, labels } = object.metadata;
      const owner =
        kind === 'ListenerWork' ? name : kind === 'Secret' ? labels?.[LISTENER_COPY] : (originOf(object) ?? undefined);
      if (owner !== undefined && !there.has(owner)) return `${checkpoint.phase}: ${kind} ${name} is left`;
    }
    if (there.size > 0) continue;
    const workload = checkpoint.remote.find(
      ({ kind, object }) => ['Deployment', 'StatefulSet'].includes(kind) && object.metadata.name.startsWith('shop'),
    );
    if (workload) return `${checkpoint.phase}: ${workload.kind} ${workload.object.metadata.name} is left`;
  }
  return undefined;
}

interface NamesSecrets {
  readonly secrets?: readonly { readonly secretName: string }[];
}

function secretsIn({ secrets = [] }: NamesSecrets): string[] {
  return secrets.map(({ secretName }) => secretName);
}

/** The cluster has the Secrets that the record names, and no other copy than those that a stored revision names. */
export function staleSecret({ checkpoints }: ListenerRun): string | undefined {
  for (const checkpoint of checkpoints) {
    for (const record of recordsOf(checkpoint)) {
      const named = new Set(secretsIn(record.spec as NamesSecrets));
      const stored = ofKind(checkpoint.remote, 'AppRevision').map(({ spec }) => (spec.requested ?? {}) as NamesSecrets);
      const used = new Set([...named, ...stored.flatMap(secretsIn)]);
      const copies = ofKind(checkpoint.remote, 'Secret')
        .filter(({ metadata }) => metadata.labels?.[LISTENER_COPY] === record.metadata.uid)
        .map(({ metadata }) => metadata.name);
      const stale = copies.find((name) => !used.has(name));
      if (stale !== undefined) return `${checkpoint.phase}: the copy of Secret ${stale} is not used any more`;
      const missing = [...named].find((name) => !copies.includes(name));
      if (missing !== undefined) return `${checkpoint.phase}: Secret ${missing} was not copied`;
    }
  }
  return undefined;
}

/** Ready on the hub at a generation only after the copy was ready at it. */
export function readyTooEarly({ hubHistory, remoteHistory }: ListenerRun): string | undefined {
  for (const { kind, object, gone, at } of hubHistory) {
    if (kind !== 'AppDeployment' || gone || !isForListener(object)) continue;
    if (conditionOf(object, 'Ready')?.status !== 'True') continue;
    const observed = object.status?.observedGeneration ?? 0;
    const wasReady = remoteHistory.some(
      (there) =>
        there.kind === 'AppDeployment' &&
        originOf(there.object) === object.metadata.uid &&
        Number(there.object.metadata.annotations?.[ORIGIN_GENERATION]) >= observed &&
        conditionOf(there.object, 'Ready')?.status === 'True' &&
        there.object.status?.observedGeneration === there.object.metadata.generation &&
        there.at <= at + LATE_MS,
    );
    if (!wasReady) return `${object.metadata.name} was Ready at generation ${observed} before its copy was`;
  }
  return undefined;
}

/** Once the allowed time is over, a record whose cluster is silent is not READY until the link is back. */
export function readyInSilence({ hubHistory, silence }: ListenerRun): string | undefined {
  if (silence === undefined) return undefined;
  const deadline = silence.from + silence.allowedMs;
  if (silence.to < deadline) return undefined;
  const records = hubHistory.filter(({ kind, object }) => kind === 'AppDeployment' && isForListener(object));
  const atDeadline = records.findLast(({ at }) => at <= deadline);
  const later = records.filter(({ at }) => at > deadline && at < silence.to);
  const claims = [...(atDeadline ? [atDeadline] : []), ...later].find(({ object }) => object.status?.state === 'READY');
  return claims && `${claims.object.metadata.name} is READY ${silence.allowedMs} ms after the link was cut`;
}

/** A record that was not given up is gone after its copy. */
export function goneTooEarly({ hubHistory, remoteHistory, abandoned }: ListenerRun): string | undefined {
  for (const { kind, object, gone, at } of hubHistory) {
    const { uid = '', name } = object.metadata;
    if (kind !== 'AppDeployment' || !gone || abandoned.has(uid)) continue;
    const of = remoteHistory.filter((there) => there.kind === 'AppDeployment' && originOf(there.object) === uid);
    if (of.length > 0 && !of.some((there) => there.gone && there.at <= at + LATE_MS))
      return `${name} was gone before its copy`;
  }
  return undefined;
}

/** The work of a record that was given up is there until the copy is gone. */
export function lostTombstone({ hubHistory, remoteHistory, abandoned }: ListenerRun): string | undefined {
  for (const uid of abandoned) {
    const isGone = (kind: string, is: (object: Seen) => boolean) => (one: Sighting) =>
      one.kind === kind && one.gone && is(one.object);
    const work = hubHistory.find(isGone('ListenerWork', ({ metadata }) => metadata.name === uid));
    const copy = remoteHistory.find(isGone('AppDeployment', (object) => originOf(object) === uid));
    if (work && (copy === undefined || copy.at > work.at + LATE_MS))
      return `the work of ${uid} was gone before its copy`;
  }
  return undefined;
}

/** Revisions have the same ids on both sides. Those of a record that is gone are deleted by the garbage collection in its own time. */
export function otherIds({ checkpoints }: ListenerRun): string | undefined {
  for (const { phase, hub, remote } of checkpoints) {
    const records = new Map(ofKind(hub, 'AppDeployment').map(({ metadata }) => [metadata.name, metadata.uid]));
    const owners = new Set(records.values());
    const there = new Set(ofKind(remote, 'AppRevision').map(({ spec }) => spec.id as string));
    const other = ofKind(hub, 'AppRevision').find(
      ({ metadata, spec }) =>
        metadata.ownerReferences?.some(({ uid }) => owners.has(uid)) && !there.has(spec.id as string),
    );
    if (other !== undefined) return `${phase}: the cluster has no revision ${other.spec.id as string}`;
    for (const { metadata, spec } of ofKind(remote, 'Deployment')) {
      const uid = records.get(metadata.labels?.['davit.dev/deployment'] ?? '');
      const variables = (spec.template.spec.containers[0]?.env ?? []) as { name: string; value?: string }[];
      const id = variables.find(({ name }) => name === 'DAVIT_DEPLOYMENT_ID')?.value;
      if (uid !== undefined && id !== uid) return `${phase}: the pods of ${metadata.name} are told ${id}, not ${uid}`;
    }
  }
  return undefined;
}

/** What a SecretReference names stays where it is. */
export function crossed({ hubHistory, remoteHistory, hubNamespace, bodies }: ListenerRun): string | undefined {
  const inSecret = (sightings: readonly Sighting[], value: string, namespace?: string): Sighting | undefined =>
    sightings.find(
      ({ kind, object }) =>
        kind === 'Secret' &&
        (namespace === undefined || object.metadata.namespace === namespace) &&
        Object.values(object.data ?? {}).includes(base64(value)),
    );
  if (inSecret(hubHistory, VALUES.remoteOwn)) return "a value of the cluster's own Secret is on the hub";
  if (inSecret(hubHistory, VALUES.hubOwn, hubNamespace) ?? inSecret(remoteHistory, VALUES.hubOwn))
    return 'the Secret of the tenant that has the name of a referenced one was copied';
  const sent = bodies.some(({ body }) => isIn(VALUES.remoteOwn, JSON.stringify(body)));
  return sent ? "a value of the cluster's own Secret was sent" : undefined;
}

/** Values are in Secrets and nowhere else. */
export function valueOutside({ hubHistory, remoteHistory, bodies, log }: ListenerRun): string | undefined {
  const isAny = (text: string): boolean => Object.values(VALUES).some((value) => isIn(value, text));
  if (isAny(log)) return 'a value is in a log';
  const teller = [...hubHistory, ...remoteHistory].find(
    ({ kind, object }) => kind !== 'Secret' && isAny(JSON.stringify(object)),
  );
  if (teller) return `a value is in ${teller.kind} ${teller.object.metadata.name}`;
  const sent = bodies.find(({ resource, body }) => resource !== 'secrets' && isAny(JSON.stringify(body)));
  return sent && `a value was sent to ${sent.resource}`;
}

function isIn(value: string, text: string): boolean {
  return text.includes(value) || text.includes(base64(value));
}

function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}

export function wroteRevoked({ revoked, linkWrites }: ListenerRun): string | undefined {
  if (revoked === undefined) return undefined;
  const late = linkWrites.find(({ at, status }) => at > revoked.at + revoked.forgottenAfterMs && status < 400);
  return late && `${late.label} was accepted after the token was revoked`;
}
