// Reconciles one Notifier: decides for each deployment of its namespace what is to be told, tells it, and then remembers that it did. A
// process that ends in between tells it again, with the same webhook-id.

import { createHash } from 'node:crypto';
import { isHindrance, type SourceAccess } from '../../build/source-access.ts';
import type { Caches } from '../../deploy/cluster/caches.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { type ConditionInput, mergeConditions } from '../../kinds/conditions.ts';
import { DEPLOYMENT_LABEL, FIELD_MANAGER } from '../../kinds/meta.ts';
import { MOST_TOLD, type Notifier, SIGNING_KEY, type Told } from '../../kinds/notifier.ts';
import { type Cluster, until } from '../../runtime/controller/cluster.ts';
import type { Reconcile } from '../../runtime/controller/controller.ts';
import { keyOf, refOf } from '../../runtime/controller/keys.ts';
import type { Reflector } from '../../runtime/controller/reflector.ts';
import { reportStatus } from '../../runtime/controller/report-status.ts';
import { endAll } from '../../runtime/controller/store.ts';
import type { WorkQueue } from '../../runtime/controller/work-queue.ts';
import { CodeHostFailed, NotFound, undefinedIfNotFound } from '../../runtime/errors.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { SecretObject } from '../../runtime/kube/client.ts';
import type { GuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import { decide, type Notice } from './decide.ts';
import { signedHeaders, signingKey } from './signature.ts';

export interface NotifierReconcilerOptions {
  readonly home: Cluster<Caches>;
  readonly notifiers: Reflector<Notifier>;
  readonly post: GuardedFetch['fetch'];
  /** Absent if the platform does not build. */
  readonly sources?: Pick<SourceAccess, 'status'> | undefined;
  readonly now: () => Date;
}

/** Notices of one pass. Between two passes it is remembered which were sent. */
const AT_ONCE = 20;
/** A pass sends nothing after this time, so that it remembers what it sent before its time limit aborts it. */
const SENDING_MS = 60_000;
const ANSWER_MS = 10_000;
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 3_600_000;

/** Why an event was not sent. */
interface Failure {
  readonly reason: string;
  readonly message: string;
}
/** One that is tried again. */
interface Waiting extends Failure {
  /** Failed attempts in a row. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly dueAt: number;
  /** The Notifier and its Secret as they were: changed ones are tried at once. */
  readonly of: string;
}
const CONDITIONS = { webhook: 'WebhookSent', commit: 'CommitStatusesSent' } as const;
type Way = Notice['to'];
/** What fails together: every event for the webhook, but only the commit statuses of one deployment. The name follows. */
type Target = Way | `commit ${string}`;

/** Returns a reconciler whose keys are those of Notifiers. */
export function makeNotifierReconciler(options: NotifierReconcilerOptions): Reconcile {
  const { home, notifiers, now } = options;
  const waiting = new Map<string, ReadonlyMap<Target, Waiting>>();

  return async function reconcile(key, signal) {
    const notifier = notifiers.get(refOf(key));
    if (!notifier || notifier.metadata.deletionTimestamp !== undefined) {
      waiting.delete(key);
      return {};
    }
    const within = until(home, signal);
    const of = `${notifier.metadata.uid} ${notifier.metadata.generation} ${secretVersion(notifier, home.caches)}`;
    const before = new Map([...(waiting.get(key) ?? [])].filter(([, one]) => one.of === of));
    const paused = new Map([...before].filter(([, one]) => one.dueAt > now().getTime()));
    const outcome = await tell(notifier, paused, { ...options, home: within }, signal);
    const { told, failures, lookAgainMs } = outcome;
    const next = new Map<Target, Waiting>();
    for (const [to, failure] of failures) next.set(to, paused.get(to) ?? again(failure, before.get(to), of));
    waiting.set(key, next);
    const generation = notifier.metadata.generation ?? 1;
    const status = {
      observedGeneration: generation,
      ...(Object.keys(told).length > 0 && { told }),
      conditions: mergeConditions(notifier.status?.conditions, conditionsOf(notifier, outcome), generation, now()),
    };
    try {
      await reportStatus(notifier, status, within, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      // Deleted during the reconcile.
      if (!(error instanceof NotFound)) throw error;
    }
    const waits = [...next.values()].map(({ dueAt }) => Math.max(1, dueAt - now().getTime()));
    const comes = Math.min(...waits, lookAgainMs ?? Infinity);
    return comes === Infinity ? {} : { requeueAfterMs: comes };
  };

  function again({ reason, message }: Failure, before: Waiting | undefined, of: string): Waiting {
    const attempts = (before?.attempts ?? 0) + 1;
    const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LAST_RETRY_MS);
    return { reason, message, attempts, dueAt: now().getTime() + pauseMs, of };
  }
}

interface Outcome {
  readonly told: Readonly<Record<string, Told>>;
  readonly failures: ReadonlyMap<Target, Failure>;
  readonly lookAgainMs?: number | undefined;
  /** How many there are; of those after MOST_TOLD nothing is told. */
  readonly deployments: number;
}

/** A target that is paused, or fails now, is not tried in this pass. */
async function tell(
  notifier: Notifier,
  paused: ReadonlyMap<Target, Failure>,
  options: NotifierReconcilerOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const { home, now } = options;
  const { namespace = '' } = notifier.metadata;
  const failures = new Map<Target, Failure>(paused);
  const told: Record<string, Told> = {};
  const waits: number[] = [];
  let sent = 0;
  const end = now().getTime() + SENDING_MS;
  const isEnough = (): boolean => sent >= AT_ONCE || now().getTime() >= end;
  const records = home.caches.records.list(namespace).filter((one) => one.metadata.deletionTimestamp === undefined);
  for (const record of records.toSorted(byName).slice(0, MOST_TOLD)) {
    const { name } = record.metadata;
    const latest = home.caches.revisions
      .byLabel(namespace, DEPLOYMENT_LABEL, name)
      .find(({ spec }) => spec.id === record.status?.latestRevisionId);
    const had = notifier.status?.told?.[name] ?? {};
    const { notices, keeps, lookAgainMs } = decide(notifier.spec, { record, latest, told: had }, now());
    const remembers: Record<string, string> = { ...keeps };
    if (lookAgainMs !== undefined) waits.push(lookAgainMs);
    for (const notice of notices) {
      const to: Target = notice.to === 'commit' ? `commit ${name}` : notice.to;
      if (isEnough() || failures.has(to)) continue;
      const failure = await send(notice, { notifier, record }, options, signal);
      if (failure) failures.set(to, failure);
      else remembers[notice.subject] = notice.value;
      sent += 1;
    }
    if (Object.keys(remembers).length > 0) told[name] = remembers;
  }
  if (isEnough()) waits.push(1);
  const lookAgainMs = waits.length > 0 ? Math.min(...waits) : undefined;
  return { told, failures, lookAgainMs, deployments: records.length };
}

function byName(a: AppDeployment, b: AppDeployment): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

interface About {
  readonly notifier: Notifier;
  readonly record: AppDeployment;
}

async function send(
  notice: Notice,
  about: About,
  options: NotifierReconcilerOptions,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  return notice.to === 'webhook'
    ? sendEvent(notice, about, options, signal)
    : sendStatus(notice, about.record, options.sources);
}

async function sendEvent(
  { type, at, subject, value, reason, message, task }: Extract<Notice, { to: 'webhook' }>,
  { notifier, record }: About,
  { home, post, now }: NotifierReconcilerOptions,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { url, secretRef } = notifier.spec.webhook ?? { url: '', secretRef: { name: '' } };
  const { namespace = '', name, uid = '' } = record.metadata;
  const secret = await home.client
    .get<SecretObject>(SECRETS, { namespace, name: secretRef.name })
    .catch(undefinedIfNotFound);
  const key = signingKey(Buffer.from(secret?.data?.[SIGNING_KEY] ?? '', 'base64').toString());
  if (key === undefined)
    return {
      reason: 'SecretMissing',
      message: `Secret ${secretRef.name} has no key ${SIGNING_KEY} of whsec_ and 24 to 64 bytes in base64. Create it in the same namespace.`,
    };
  const revision = record.status?.latestRevisionId;
  const data = { namespace, name, id: uid, revision_id: revision ?? null, task: task ?? null, reason, message };
  const body = JSON.stringify({ type, timestamp: at, data });
  const digest = createHash('sha256').update([notifier.metadata.uid, uid, subject, value, at].join('\n')).digest('hex');
  const signed = signedHeaders(key, `msg_${digest.slice(0, 32)}`, Math.floor(now().getTime() / 1000), body);
  const headers = { ...signed, 'content-type': 'application/json', 'user-agent': 'davit' };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    const { status } = await post(url, { method: 'POST', headers, body, signal: limit });
    if (status >= 200 && status <= 299) return undefined;
    return { reason: 'Refused', message: `The webhook answered ${status}. Davit retries, at least once an hour.` };
  } catch (error) {
    if (!(error instanceof CodeHostFailed)) throw error;
    const isForbidden = error.why === 'forbidden';
    return isForbidden
      ? { reason: 'HostNotAllowed', message: error.message }
      : { reason: 'Unreachable', message: `${error.message} Davit retries, at least once an hour.` };
  }
}

const NOT_PERMITTED =
  "The integration's account may not write commit statuses. Give its token or App that permission (docs/notices.md).";

async function sendStatus(
  { commit, state, description }: Extract<Notice, { to: 'commit' }>,
  record: AppDeployment,
  sources: NotifierReconcilerOptions['sources'],
): Promise<Failure | undefined> {
  if (!sources) return { reason: 'NoBuilds', message: 'This platform does not build images, so it has no code hosts.' };
  const { namespace, name } = record.metadata;
  const answer = await sources.status(record, { commit, state, description, context: `davit/${namespace}/${name}` });
  if (!isHindrance(answer)) return undefined;
  const { reason, message } = answer;
  return { reason, message: `Deployment ${name}: ${reason === 'CodeHostRefused' ? NOT_PERMITTED : message}` };
}

function conditionsOf({ spec }: Notifier, { failures, deployments }: Outcome): ConditionInput[] {
  const tooMany: Failure | undefined =
    deployments > MOST_TOLD
      ? {
          reason: 'TooManyDeployments',
          message: `The namespace has ${deployments} deployments. Davit sends the events of the first ${MOST_TOLD} by name. Move the others to another namespace.`,
        }
      : undefined;
  const ways: Way[] = [
    ...(spec.webhook ? (['webhook'] as const) : []),
    ...(spec.commitStatuses ? (['commit'] as const) : []),
  ];
  return ways.map((way) => {
    const [, failure = tooMany] = [...failures].find(([to]) => to.startsWith(way)) ?? [];
    return failure
      ? { type: CONDITIONS[way], status: 'False', reason: failure.reason, message: failure.message }
      : { type: CONDITIONS[way], status: 'True', reason: 'Sent', message: 'There is nothing to send.' };
  });
}

function secretVersion({ metadata: { namespace }, spec }: Notifier, { secrets }: Caches): string {
  const name = spec.webhook?.secretRef.name;
  const secret = name === undefined ? undefined : secrets.get({ ...(namespace !== undefined && { namespace }), name });
  return secret?.metadata.resourceVersion ?? '';
}

/** Enqueues all Notifiers first, and then those of a namespace in which something changes. Returns a function that stops it. */
export function wakeNotifiers(caches: Caches, notifiers: Reflector<Notifier>, queue: WorkQueue): () => void {
  const wake = ({ metadata: { namespace, name } }: Notifier): void => queue.add(keyOf(namespace, name));
  const wakeIn = (namespace = ''): void => {
    for (const notifier of notifiers.list(namespace)) wake(notifier);
  };
  for (const notifier of notifiers.list()) wake(notifier);
  return endAll([
    notifiers.onChange(({ object }) => wake(object)),
    caches.records.onChange(({ object }) => wakeIn(object.metadata.namespace)),
    caches.revisions.onChange(({ object }) => wakeIn(object.metadata.namespace)),
    caches.secrets.onChange(({ object: { metadata } }) => {
      for (const one of notifiers.list(metadata.namespace ?? ''))
        if (one.spec.webhook?.secretRef.name === metadata.name) wake(one);
    }),
  ]);
}
