// Finds the current commit of each branch with build_on_push. It asks the code host at an interval, and at once after a
// signed webhook, whose content is not used. It writes nothing: wanted-revision.ts of deploy/record decides whether the commit
// makes a revision.

import { pausedBy } from '../deploy/assess/pause.ts';
import type { Caches } from '../deploy/cluster/caches.ts';
import type { Commit } from '../deploy/record/build-source.ts';
import { repositoryOfUrl } from '../deploy/record/code-host.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { isPaused } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Reconcile, Result } from '../runtime/controller/controller.ts';
import { keyOf, refOf } from '../runtime/controller/keys.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import { isHindrance, type SourceAccess } from './source-access.ts';

interface Asked {
  /** Integration, repository and ref that the code host was asked for, as JSON. */
  readonly what: string;
  readonly commit: Commit | undefined;
  /** When the code host was asked for `commit`, on the clock of `elapsed`. */
  readonly askedAt: number;
  /** When to ask again without a webhook, on the clock of `elapsed`. Infinity: never. */
  readonly dueAt: number;
  /** Time of the repository's latest webhook at the request (RFC 3339). */
  readonly notice: string | undefined;
}

/** Delay before a question that got no commit is asked again, also where nothing is polled. */
const UNANSWERED_MS = 60_000;

/** What is known of each record's branch, by the record's uid. */
export type KnownCommits = Map<string, Asked>;

/** The latest commit of the record's branch. Undefined if the record has no build_on_push or no commit is known yet. */
export function pushedCommit(known: KnownCommits, record: AppDeployment): Commit | undefined {
  const asked = known.get(record.metadata.uid ?? '');
  return asked?.what === askedOf(record) ? asked.commit : undefined;
}

/**
 * The same sources. They also write each commit that they return to `known`: the last poll may have an older one than a build, which would
 * then look like a push after it. `onPush` is called with the key of a record whose branch has a new commit.
 */
export function notingCommits(
  sources: SourceAccess,
  known: KnownCommits,
  elapsed: () => number,
  onPush: (key: string) => void,
): SourceAccess {
  return {
    ...sources,
    async commit(record) {
      const askedAt = elapsed();
      const commit = await sources.commit(record);
      const { uid = '', namespace, name } = record.metadata;
      const before = known.get(uid);
      // Another question, asked later, may be answered sooner.
      const isOutdated = before !== undefined && before.askedAt > askedAt;
      if (isHindrance(commit) || !asksForPushes(record) || isOutdated) return commit;
      const what = askedOf(record);
      const last = before?.what === what ? before : undefined;
      known.set(uid, { dueAt: 0, notice: undefined, ...last, what, commit, askedAt });
      if (commit.commit !== last?.commit?.commit) onPush(keyOf(namespace, name));
      return commit;
    },
  };
}

/** Returns a reconciler whose keys are those of records: `namespace/name`. `sources` writes to `known`. */
export function makePushWatch(options: {
  readonly known: KnownCommits;
  readonly caches: Caches;
  readonly sources: SourceAccess;
  readonly settings: Settings;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}): Reconcile {
  const { known, caches, sources, settings, elapsed } = options;
  const pollMs = settings.builds.pollSeconds * 1000;

  return async function reconcile(key) {
    const record = caches.records.get(refOf(key));
    if (!record || !asksForPushes(record) || pausedBy(record, settings) !== undefined) {
      if (record?.metadata.uid !== undefined) known.delete(record.metadata.uid);
      return {};
    }
    const { uid = '' } = record.metadata;
    const [what, notice] = [askedOf(record), noticeFor(record, caches)];
    const before = known.get(uid);
    const isSame = before?.what === what && before.notice === notice;
    const wait = isSame ? before.dueAt - elapsed() : 0;
    if (wait > 0) return requeueAfter(wait);
    const commit = await sources.commit(record);
    const asked = known.get(uid);
    const last = asked?.what === what ? asked : undefined;
    const nextMs = isHindrance(commit) ? Math.max(pollMs, commit.retryAfterMs ?? UNANSWERED_MS) : pollMs || Infinity;
    known.set(uid, { commit: undefined, askedAt: 0, ...last, what, dueAt: elapsed() + nextMs, notice });
    return requeueAfter(nextMs);
  };
}

function requeueAfter(ms: number): Result {
  return ms === Infinity ? {} : { requeueAfterMs: ms };
}

function asksForPushes({ spec, metadata }: AppDeployment): boolean {
  return spec.sourceConfig.buildOnPush === true && metadata.deletionTimestamp === undefined;
}

function askedOf({ spec: { sourceConfig, sourceRevisionConfig } }: AppDeployment): string {
  return JSON.stringify([sourceConfig.integrationId, sourceConfig.repoUrl, sourceRevisionConfig.repoRef]);
}

/** Repositories with a webhook that `before` does not show. */
function pushedSince(now: CodeHostIntegration, before: CodeHostIntegration): string[] {
  const known = new Map((before.status?.pushes ?? []).map(({ repository, at }) => [repository, at]));
  return (now.status?.pushes ?? [])
    .filter(({ repository, at }) => known.get(repository) !== at)
    .map(({ repository }) => repository);
}

/** Time of the latest webhook of the record's repository (RFC 3339). */
function noticeFor({ spec: { sourceConfig } }: AppDeployment, caches: Caches): string | undefined {
  const integration = caches.integrations.byUid(sourceConfig.integrationId?.toLowerCase() ?? '');
  const repository = repositoryOfUrl(sourceConfig.repoUrl ?? '');
  return integration?.status?.pushes?.find((push) => push.repository === repository)?.at;
}

/**
 * Enqueues all records with build_on_push, and from then on each whose spec, pause or integration changes, or which has it no
 * longer. Returns a function that unsubscribes.
 */
export function wakePushes(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: AppDeployment): void => queue.add(keyOf(metadata.namespace, metadata.name));
  /** After a webhook those of its repository alone. Tenants are those that the integration lists. */
  const wakeThose = (now: CodeHostIntegration, before: CodeHostIntegration | undefined): void => {
    const isSame = before !== undefined && before.metadata.generation === now.metadata.generation;
    const pushed = new Set(isSame ? pushedSince(now, before) : []);
    if (isSame && pushed.size === 0) return;
    now.spec.tenants
      .flatMap((tenant) => caches.records.list(tenant))
      .filter(({ spec: { sourceConfig } }) => sourceConfig.integrationId?.toLowerCase() === now.metadata.uid)
      .filter(
        (record) =>
          asksForPushes(record) &&
          (!isSame || pushed.has(repositoryOfUrl(record.spec.sourceConfig.repoUrl ?? '') ?? '')),
      )
      .forEach(wake);
  };
  const subscriptions = [
    caches.records.onChange(({ object, previous }) => {
      // Status changes do not affect the branch.
      const isNews =
        object.metadata.generation !== previous?.metadata.generation ||
        isPaused(object.metadata.annotations) !== isPaused(previous?.metadata.annotations);
      if (isNews && (asksForPushes(object) || (previous && asksForPushes(previous)))) wake(object);
    }),
    caches.integrations.onChange(({ object, previous }) => wakeThose(object, previous)),
  ];
  caches.records.list().filter(asksForPushes).forEach(wake);
  return endAll(subscriptions);
}
