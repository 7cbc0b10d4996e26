// Pages of logs: of the pods of a deployment or of one of its revisions, on this cluster or a listener's, and of a build.

import type { RequestContext } from '../api/auth.ts';
import type { Tenant } from '../api/authorization.ts';
import { throwAsOurs } from '../api/organization-secrets.ts';
import { type BuildContext, type BuildPlatform, placeOf } from '../build/http/registry/platform.ts';
import { isUnfinished } from '../build/outcome.ts';
import type { Listeners } from '../clusters/http/repository.ts';
import type { Deployments } from '../deploy/http/repository.ts';
import { presentRevisions } from '../deploy/http/revisions/presenter.ts';
import { canBuild } from '../deploy/record/build-source.ts';
import { logTag } from '../deploy/record/registry-names.ts';
import { LOGGED_PARTS, unknownPart } from '../deploy/record/unknown-part.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { type BuildStatus, isUnderWay } from '../kinds/build.ts';
import type { Listener } from '../kinds/listener.ts';
import { BUILD_LABEL } from '../kinds/meta.ts';
import type { FairLimiter } from '../runtime/controller/fair-limiter.ts';
import { Forbidden } from '../runtime/errors.ts';
import { HttpError, tooManyLogs } from '../runtime/http/http-error.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { LONGEST_MS, type LogBudget } from './budget.ts';
import { readTargetLogs } from './kept-lines.ts';
import { BUILD_WRITERS, logLayer, readKeptLog } from './kept-log.ts';
import { makePage } from './lines.ts';
import type { DeployLogs, DeployLogsQuery } from './payloads.ts';
import { type Reading, readLogs } from './pods.ts';
import { readRemoteLogs } from './remote.ts';

export interface LogNeeds extends BuildContext {
  readonly listeners: Listeners;
}

export interface LogPages {
  ofPods(
    admitted: RequestContext,
    id: string,
    revisionId: string | undefined,
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs>;
  ofBuild(
    admitted: RequestContext,
    target: { readonly id: string; readonly revisionId: string },
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs>;
}

/** The record whose logs are read. Throws HttpError 404 for a missing deployment or revision. */
async function findTarget(
  deployments: Deployments,
  admitted: RequestContext,
  id: string,
  revisionId?: string,
): Promise<AppDeployment> {
  const record = await deployments.find(admitted, id);
  const known = presentRevisions(record, deployments.revisionsOf(record));
  if (revisionId !== undefined && !known.some((one) => one.id === revisionId.toLowerCase()))
    throw new HttpError(404, `Revision ID ${revisionId} not found.`);
  return record;
}

export function makeLogPages({ auth, deployments, listeners, kube, platform }: LogNeeds, budget: LogBudget): LogPages {
  /** A further read is short, and comes every two seconds. */
  const turnOf = ({ position }: DeployLogsQuery): FairLimiter => (position ? budget.further : budget.requests);

  /** The Listener whose cluster runs the record. */
  async function listenerOf(admitted: RequestContext, record: AppDeployment): Promise<Listener | undefined> {
    const { listenerId } = record.spec.sourceConfig;
    return listenerId === undefined ? undefined : listeners.find(admitted, listenerId);
  }

  async function ofPods(
    admitted: RequestContext,
    id: string,
    revisionId: string | undefined,
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs> {
    // Rejects an invalid offset before anything is read.
    const page = makePage(query);
    const record = await findTarget(deployments, admitted, id, revisionId);
    const unknown = query.component ? unknownPart(record, query.component, LOGGED_PARTS) : undefined;
    if (unknown !== undefined) throw new HttpError(404, unknown);
    const listener = await listenerOf(admitted, record);
    if (listener !== undefined) await auth.needLogs(admitted.caller, admitted.tenant);
    const giveBack = await (turnOf(query).take(admitted.tenant.namespace, signal) ?? tooManyLogs());
    try {
      if (listener !== undefined) {
        const revision = revisionId?.toLowerCase();
        return await readRemoteLogs({ kube, listener, record, revision, query }, signal);
      }
      const target = { record, revisions: deployments.revisionsOf(record), revisionId, query };
      const fromStart = Boolean(query.run) && !query.tail;
      const reading = { page, budget, tenant: admitted.tenant.namespace, signal, fromStart };
      return page.done(await readTargetLogs(admitted.caller.kube, target, reading));
    } catch (error) {
      // Instead of the API server's sentence about pods.
      if (error instanceof Forbidden) await auth.needLogs(admitted.caller, admitted.tenant);
      throw error;
    } finally {
      giveBack();
    }
  }

  async function ofBuild(
    { caller, tenant }: RequestContext,
    { id, revisionId }: { readonly id: string; readonly revisionId: string },
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs> {
    // A build has one pod, and its stored log does not name it.
    const page = makePage(query, { writerOf: (by) => by.split('/')[1] ?? by, writers: BUILD_WRITERS });
    const record = await findTarget(deployments, { caller, tenant }, id, revisionId);
    const revision = revisionId.toLowerCase();
    // Tenants have no rights in the namespace of the builds' pods, so the log needs the right to logs in the tenant's namespace.
    await auth.needLogs(caller, tenant);
    const found = deployments.revisionsOf(record).find(({ spec }) => spec.id === revision);
    const status = found?.status?.build;
    const giveBack = await (turnOf(query).take(tenant.namespace, signal) ?? tooManyLogs());
    try {
      const reading = { page, budget, tenant: tenant.namespace, signal, fromStart: query.order === 'asc' };
      return page.done(
        await readBuildLog({ kube, platform, record, tenant, revision, status }, reading),
        // Nobody may have made the revision yet.
        found !== undefined && !isUnfinished(found),
      );
    } finally {
      giveBack();
    }
  }

  return { ofPods, ofBuild };
}

interface BuildToRead {
  /** The facade's own credentials. */
  readonly kube: KubeClient;
  readonly platform: BuildPlatform;
  readonly record: AppDeployment;
  readonly tenant: Tenant;
  readonly revision: string;
  /** What the controller reports of the build. Undefined for a revision that is not built. */
  readonly status: BuildStatus | undefined;
}

/** Reads the log of the build that made the revision's image into the page. Resolves to whether a limit truncated it. May throw RegistryFailed. */
async function readBuildLog(build: BuildToRead, reading: Reading): Promise<boolean> {
  const { kube, status, platform } = build;
  // Whoever may push to the repository can store there what looks like a log, for any revision.
  if (status === undefined) return false;
  // A node may have truncated the log of the pod. The stored log of an ended build is more complete.
  const made = { ...build, revision: status.builtBy?.toLowerCase() ?? build.revision };
  const kept = isUnderWay(status) ? undefined : await readKept(made, reading);
  if (kept !== undefined) return kept;
  // Where nothing is built, the chart grants no right to logs of builds.
  if (!canBuild(platform.settings)) return false;
  const pods = { namespace: platform.settings.builds.namespace, labelSelector: `${BUILD_LABEL}=${made.revision}` };
  return (await readLogs(kube, pods, reading).catch(throwAsOurs)) ?? false;
}

/** Undefined if no log is stored. */
async function readKept(
  { platform, record, tenant, revision }: BuildToRead,
  reading: Reading,
): Promise<boolean | undefined> {
  if (platform.registry === undefined) return undefined;
  const { registry, repository } = placeOf(platform, record, tenant.id);
  const stop = AbortSignal.any([reading.signal, AbortSignal.timeout(LONGEST_MS)]);
  const manifest = await registry.client.manifest(repository, logTag(revision), stop);
  const layer = manifest && logLayer(manifest);
  const packed = layer && (await registry.client.blob(repository, layer.digest, stop));
  return packed && readKeptLog(packed, reading, stop);
}
