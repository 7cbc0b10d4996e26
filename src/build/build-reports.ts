// What is reported of a build: status.build of its AppRevision, whether a hindrance ends it, and an Event when it has ended.

import { isDeepStrictEqual } from 'node:util';
import type { Caches } from '../deploy/cluster/caches.ts';
import { APP_REVISIONS, type AppRevision } from '../kinds/app-revision.ts';
import type { BuildStatus } from '../kinds/build.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import { BUILD_FIELD_MANAGER } from '../kinds/meta.ts';
import { quoted, shortened, steadyMessage } from '../kinds/text.ts';
import { overlayWrite } from '../runtime/controller/cluster.ts';
import type { Result } from '../runtime/controller/controller.ts';
import type { EventRecorder } from '../runtime/controller/events.ts';
import { ServerError } from '../runtime/errors.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { BuildToDo } from './observe.ts';
import type { BuildHindrance } from './source-access.ts';
import { ended, queuedAgain, WAITING } from './step.ts';

/** Time by which startedAt may precede the Job. */
const LONG_AGO_MS = 10_000;
/** Delay before a retry after a temporary failure. */
const RETRY_MS = 15_000;
/** A code host may ask for a day, and new credentials end the wait. */
const LONGEST_RETRY_MS = 15 * 60_000;

export interface BuildReporting {
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly now: () => Date;
}

export interface BuildReports {
  /** Writes the status unless it is so already. Returns the revision as written. */
  report(build: BuildToDo, status: BuildStatus, client: KubeClient): Promise<AppRevision>;
  /** Why a build cannot proceed. Ends the build unless a retry may help. */
  hindered(build: BuildToDo, failure: BuildHindrance, client: KubeClient): Promise<Result>;
  /** Nothing hinders the build: it lacks its turn alone. */
  waits(build: BuildToDo, more: Partial<BuildStatus>, client: KubeClient): Promise<Result>;
  /** The limits of a build begin with its Job, not with earlier attempts to start it. */
  startedNow(build: BuildToDo, client: KubeClient): Promise<void>;
  /** What the API server says against a request for the build. Throws the error again: the key is retried with backoff. */
  refused(build: BuildToDo, error: unknown, client: KubeClient): Promise<never>;
}

export function makeBuildReports({ caches, events, now }: BuildReporting): BuildReports {
  async function report(build: BuildToDo, status: BuildStatus, client: KubeClient): Promise<AppRevision> {
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

  return {
    report,

    async hindered(build, failure, client) {
      const before = build.revision.status?.build;
      const { reason, message, retry, retryAfterMs = RETRY_MS, retryForMs = Infinity } = failure;
      const isOver = now().getTime() - Date.parse(before?.queuedAt ?? '') >= retryForMs;
      if (!retry || isOver || !before) {
        await report(build, ended(before, 'Failed', reason, message, now()), client);
        return {};
      }
      // It gives its turn to others while it waits.
      await report(build, queuedAgain(before, reason, steadyMessage(message, before.message)), client);
      return { requeueAfterMs: Math.min(retryAfterMs, LONGEST_RETRY_MS) };
    },

    async waits(build, more, client) {
      const { startedAt: _tried, ...before } = build.revision.status?.build ?? { phase: 'Queued' as const };
      await report(build, { ...before, ...more, reason: 'WaitingForTurn', message: WAITING.WaitingForTurn }, client);
      return {};
    },

    async startedNow(build, client) {
      const { build: status } = build.revision.status ?? {};
      const isEarlier = now().getTime() - Date.parse(status?.startedAt ?? '') >= LONG_AGO_MS;
      if (status && isEarlier) await report(build, { ...status, startedAt: rfc3339(now()) }, client);
    },

    async refused(build, error, client) {
      const before = build.revision.status?.build;
      if (before && error instanceof ServerError && error.serverMessage !== undefined) {
        const message = `The API server refuses what the build needs: ${quoted(error.serverMessage)}. Davit tries again.`;
        const status = { ...before, reason: 'PodRefused', message: steadyMessage(message, before.message) };
        await report(build, status, client);
      }
      throw error;
    },
  };
}
