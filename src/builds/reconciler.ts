// Reconciles one build: observe, decide, report, act. It writes only status.build of the AppRevision and objects in the
// builds' namespace.

import { isDeepStrictEqual } from 'node:util';
import { buildName } from '../deployments/record/names.ts';
import { abortable } from '../lib/controller/clients/abortable.ts';
import { overlayWrite } from '../lib/controller/cluster.ts';
import type { Reconcile, Result } from '../lib/controller/controller.ts';
import type { EventRecorder } from '../lib/controller/events.ts';
import { refOf } from '../lib/controller/keys.ts';
import { NotFound, ServerError } from '../lib/errors.ts';
import { JOBS, SECRETS } from '../lib/kube/api-resources.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import { APP_REVISIONS, type AppRevision } from '../schema/app-revision.ts';
import { type BuildStatus, FINAL_PHASES } from '../schema/build.ts';
import { rfc3339 } from '../schema/conditions.ts';
import { BUILD_FIELD_MANAGER } from '../schema/meta.ts';
import { quoted, shortened } from '../schema/text.ts';
import type { BuildCaches } from './caches.ts';
import { type BuildToDo, observeBuild } from './observe.ts';
import type { ObservedJob } from './observed-job.ts';
import { type BuildHindrance, isHindrance } from './source-access.ts';
import { type StartOptions, startBuild, startHindrance } from './start.ts';
import { ended, nextBuildStep, queuedAgain, WAITING } from './step.ts';

export interface BuildReconcilerOptions extends StartOptions {
  readonly builds: BuildCaches;
  readonly events: EventRecorder;
  readonly now: () => Date;
}

/** Time by which startedAt may precede the Job. */
const LONG_AGO_MS = 10_000;
/** Delay before a retry after a temporary failure. */
const RETRY_MS = 15_000;

/** Returns a reconciler whose keys are `namespace/revision id`, with the id in lower case. */
export function makeBuildReconciler(options: BuildReconcilerOptions): Reconcile {
  const { settings, sources, builds, now, events } = options;
  const { caches } = options.shell;
  const forgotten = new Set<string>();
  const inTurn = makeLock();

  const report = (build: BuildToDo, status: BuildStatus, client: KubeClient): Promise<AppRevision> =>
    writeStatus(build, status, { client, caches, events });

  /** Deletes the credentials of a finished Job, once per process and Job. */
  async function forgetCredentials(job: ObservedJob, revisionId: string, client: KubeClient): Promise<void> {
    const { uid = '' } = job.metadata;
    if (forgotten.has(uid)) return;
    await removeCredentials(job, revisionId, client);
    forgotten.add(uid);
  }

  /** Reports why a build cannot proceed. Ends the build unless a retry may help. */
  async function hindered(build: BuildToDo, failure: BuildHindrance, client: KubeClient): Promise<Result> {
    const before = build.revision.status?.build;
    const { reason, message, retry, retryAfterMs = RETRY_MS, retryForMs = Infinity } = failure;
    const isOver = now().getTime() - Date.parse(before?.queuedAt ?? '') >= retryForMs;
    if (!retry || isOver || !before) {
      await report(build, ended(before, 'Failed', reason, message, now()), client);
      return {};
    }
    // It gives its place to others while it waits.
    await report(build, queuedAgain(before, reason, message), client);
    return { requeueAfterMs: retryAfterMs };
  }

  /** Reports that nothing hinders the build: it lacks its turn alone. */
  async function waits(build: BuildToDo, more: Partial<BuildStatus>, client: KubeClient): Promise<void> {
    const { startedAt: _tried, ...before } = build.revision.status?.build ?? { phase: 'Queued' as const };
    await report(build, { ...before, ...more, reason: 'WaitingForTurn', message: WAITING.WaitingForTurn }, client);
  }

  /** The limits of a build begin with its Job, not with earlier attempts to start it. */
  async function startedNow(build: BuildToDo, client: KubeClient): Promise<void> {
    const { build: status } = build.revision.status ?? {};
    const isEarlier = now().getTime() - Date.parse(status?.startedAt ?? '') >= LONG_AGO_MS;
    if (status && isEarlier) await report(build, { ...status, startedAt: rfc3339(now()) }, client);
  }

  /** Reports what the API server says against the Job or its Secrets. Throws the error again: the key is retried with backoff. */
  async function reportRefusal(build: BuildToDo, error: unknown, client: KubeClient): Promise<never> {
    const before = build.revision.status?.build;
    if (before && error instanceof ServerError && error.serverMessage !== undefined) {
      const message = `The API server refuses the Job of the build or its Secrets: ${quoted(error.serverMessage)}. Davit tries again.`;
      await report(build, { ...before, reason: 'PodRefused', message }, client);
    }
    throw error;
  }

  return async function reconcile(key, signal) {
    const client = abortable(options.shell.client, signal);
    const shell = { ...options.shell, client };
    const { namespace, name: id } = refOf(key);
    // Serialized: otherwise two builds could observe the same free slot and both take it.
    const { build, step } = await inTurn(async () => {
      const seen = observeBuild(namespace, id, { ...options, caches });
      if ('orphan' in seen) {
        if (seen.orphan && seen.orphan.metadata.deletionTimestamp === undefined && !settings.paused)
          await removeJob(seen.orphan, { client, builds, caches });
        return {};
      }
      const decided = nextBuildStep(seen, now());
      const revision = decided.status ? await report(seen, decided.status, client) : seen.revision;
      return { build: { ...seen, revision }, step: decided };
    }).catch(ignoreGone);
    if (!build || !step) return {};
    const { act, requeueAfterMs } = step;
    if (act === 'resolve') {
      const commit = await sources.commit(build.record);
      if (isHindrance(commit)) return hindered(build, commit, client);
      await waits(build, commit, client);
      return {};
    }
    if (act === 'prove') {
      const failure = await startHindrance(build, options);
      if (failure) return hindered(build, failure, client);
      await waits(build, {}, client);
      return {};
    }
    if (act === 'start') {
      const failure = await startBuild(build, { ...options, shell }).catch((error: unknown) =>
        reportRefusal(build, error, client),
      );
      if (failure) return hindered(build, failure, client);
      await startedNow(build, client);
    }
    if (act === 'removeJob' && build.job) await removeJob(build.job, { client, builds, caches });
    if (act === 'forgetCredentials' && build.job) await forgetCredentials(build.job, id, client);
    const { phase } = build.revision.status?.build ?? {};
    const isWaiting = requeueAfterMs !== undefined && !(phase && FINAL_PHASES.has(phase) && act === undefined);
    return isWaiting ? { requeueAfterMs } : {};
  };
}

interface StatusWriting extends Pick<BuildReconcilerOptions, 'events'> {
  readonly client: KubeClient;
  readonly caches: StartOptions['shell']['caches'];
}

/** Writes status.build unless it is so already, and an Event when the build has ended. Returns the revision as written. */
async function writeStatus(
  build: BuildToDo,
  status: BuildStatus,
  { client, caches, events }: StatusWriting,
): Promise<AppRevision> {
  const { revision, record } = build;
  const before = revision.status?.build;
  const wanted = { ...status, message: shortened(status.message ?? '') };
  if (isDeepStrictEqual(before, wanted)) return revision;
  const { apiVersion, kind, metadata } = revision;
  const { name, namespace = '', uid = '' } = metadata;
  const written = await client.apply<AppRevision>(
    APP_REVISIONS,
    { apiVersion, kind, metadata: { name, namespace, uid }, status: { build: wanted } } as unknown as AppRevision,
    { fieldManager: BUILD_FIELD_MANAGER, force: true, subresource: 'status' },
  );
  overlayWrite(caches, written);
  if (before?.phase !== wanted.phase && (wanted.phase === 'Built' || wanted.phase === 'Failed'))
    events.record({
      regarding: record,
      type: wanted.phase === 'Built' ? 'Normal' : 'Warning',
      reason: wanted.phase === 'Built' ? 'BuildSucceeded' : 'BuildFailed',
      action: 'Build',
      note: `Revision ${revision.spec.id}: ${wanted.message}`,
    });
  return written;
}

interface JobRemoval extends Pick<BuildReconcilerOptions, 'builds'>, Pick<StatusWriting, 'client' | 'caches'> {}

async function removeJob({ metadata }: ObservedJob, { client, builds, caches }: JobRemoval): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  try {
    const left = await client.remove(JOBS, { namespace, name }, { uid, propagationPolicy: 'Background' });
    if (left) overlayWrite(caches, left);
    else builds.jobs.overlayDeleted(uid, resourceVersion);
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    builds.jobs.overlayDeleted(uid, resourceVersion);
  }
}

/** Deletes the credentials of a finished Job. */
async function removeCredentials({ metadata }: ObservedJob, revisionId: string, client: KubeClient): Promise<void> {
  const { namespace = '' } = metadata;
  for (const part of ['source', 'push']) {
    const ref = { namespace, name: `${buildName(revisionId)}-${part}` };
    try {
      // oxlint-disable-next-line no-await-in-loop -- only two Secrets
      const { metadata } = await client.get(SECRETS, ref, { metadataOnly: true });
      // oxlint-disable-next-line no-await-in-loop -- as above
      await client.remove(SECRETS, ref, {
        uid: metadata.uid ?? '',
        resourceVersion: metadata.resourceVersion ?? '',
      });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
  }
}

/**
 * The revision was deleted during the reconcile. Its deletion has enqueued the build again, which then is an orphan.
 */
function ignoreGone(error: unknown): { build?: undefined; step?: undefined } {
  if (error instanceof NotFound) return {};
  throw error;
}

/** Returns a function that runs async tasks one at a time, in order. */
function makeLock(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
