// Reconciles one build: observe, decide, report, act. It writes only status.build of the AppRevision and objects in the
// builds' namespace.

import type { Job } from '../deploy/assess/jobs.ts';
import { buildName } from '../deploy/record/names.ts';
import { FINAL_PHASES } from '../kinds/build.ts';
import { abortable } from '../runtime/controller/clients/wrap-client.ts';
import { overlayWrite } from '../runtime/controller/cluster.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { refOf } from '../runtime/controller/keys.ts';
import { NotFound } from '../runtime/errors.ts';
import { JOBS, SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { type BuildReporting, makeBuildReports } from './build-reports.ts';
import type { BuildCaches } from './caches.ts';
import { observeBuild } from './observe.ts';
import { isHindrance } from './source-access.ts';
import { type StartOptions, startBuild, startHindrance } from './start.ts';
import { nextBuildStep } from './step.ts';

export interface BuildReconcilerOptions extends StartOptions, Pick<BuildReporting, 'events' | 'now'> {
  readonly builds: BuildCaches;
}

/** Returns a reconciler whose keys are `namespace/revision id`, with the id in lower case. */
export function makeBuildReconciler(options: BuildReconcilerOptions): Reconcile {
  const { settings, sources, builds, now } = options;
  const { caches } = options.shell;
  const reports = makeBuildReports({ ...options, caches });
  const forgotten = new Set<string>();
  const inTurn = makeLock();

  /** Deletes the credentials of a finished Job, once per process and Job. */
  async function forgetCredentials(job: Job, revisionId: string, client: KubeClient): Promise<void> {
    const { uid = '' } = job.metadata;
    if (forgotten.has(uid)) return;
    await removeCredentials(job, revisionId, client);
    forgotten.add(uid);
  }

  return async function reconcile(key, signal) {
    const client = abortable(options.shell.client, signal);
    const shell = { ...options.shell, client };
    const { namespace, name: id } = refOf(key);
    // Serialized: otherwise two builds could observe the same free turn and both take it.
    const { build, step } = await inTurn(async () => {
      const seen = observeBuild(namespace, id, { ...options, caches });
      if ('orphan' in seen) {
        if (seen.orphan && seen.orphan.metadata.deletionTimestamp === undefined && !settings.paused)
          await removeJob(seen.orphan, { client, builds, caches });
        return {};
      }
      const decided = nextBuildStep(seen, now());
      const revision = decided.status ? await reports.report(seen, decided.status, client) : seen.revision;
      return { build: { ...seen, revision }, step: decided };
    }).catch(ignoreGone);
    if (!build || !step) return {};
    const { act, requeueAfterMs } = step;
    const refused = (error: unknown): Promise<never> => reports.refused(build, error, client);
    if (act === 'resolve') {
      const commit = await sources.commit(build.record).catch(refused);
      return isHindrance(commit) ? reports.hindered(build, commit, client) : reports.waits(build, commit, client);
    }
    if (act === 'prove') {
      const failure = await startHindrance(build, options).catch(refused);
      return failure ? reports.hindered(build, failure, client) : reports.waits(build, {}, client);
    }
    if (act === 'start') {
      const failure = await startBuild(build, { ...options, shell }).catch(refused);
      if (failure) return reports.hindered(build, failure, client);
      await reports.startedNow(build, client);
    }
    if (act === 'removeJob' && build.job) await removeJob(build.job, { client, builds, caches });
    if (act === 'forgetCredentials' && build.job) await forgetCredentials(build.job, id, client);
    const { phase } = build.revision.status?.build ?? {};
    const isWaiting = requeueAfterMs !== undefined && !(phase && FINAL_PHASES.has(phase) && act === undefined);
    return isWaiting ? { requeueAfterMs } : {};
  };
}

interface JobRemoval extends Pick<BuildReconcilerOptions, 'builds'>, Pick<BuildReporting, 'caches'> {
  readonly client: KubeClient;
}

async function removeJob({ metadata }: Job, { client, builds, caches }: JobRemoval): Promise<void> {
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
async function removeCredentials({ metadata }: Job, revisionId: string, client: KubeClient): Promise<void> {
  const { namespace = '' } = metadata;
  for (const part of ['source', 'push']) {
    const ref = { namespace, name: `${buildName(revisionId)}-${part}` };
    try {
      const { metadata } = await client.get(SECRETS, ref, { metadataOnly: true });
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
