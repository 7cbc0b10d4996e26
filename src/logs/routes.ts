// The routes of /v1/projects/{id}/…: logs of a deployment's pods and builds.

import type { FastifyReply } from 'fastify';
import type { BuildContext } from '../builds/http/registry/platform.ts';
import { presentRevisions } from '../deployments/http/revisions/presenter.ts';
import { HttpError, tooManyLogs } from '../lib/http/http-error.ts';
import type { Listeners } from '../listeners/http/repository.ts';
import type { RequestContext } from '../organization/facade/auth.ts';
import { failures } from '../organization/facade/openapi.ts';
import type { App } from '../organization/facade/validation.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { type BuildStatus, isUnderWay } from '../schema/build.ts';
import type { Listener } from '../schema/listener.ts';
import { makeLogBudget } from './budget.ts';
import { readBuildLog } from './build-log.ts';
import { makePage } from './lines.ts';
import { DeployLogs, DeployLogsQuery, ProjectPath, ProjectRevisionPath } from './payloads.ts';
import { podIdsIn, podsOf, readLogs } from './pods.ts';
import { readRemoteLogs } from './remote.ts';
import { BUILD_LOG_EVENTS, LOG_EVENTS, makeLogStreams } from './streams.ts';

export interface LogNeeds extends BuildContext {
  readonly listeners: Listeners;
}

export function registerLogs(app: App, context: LogNeeds): void {
  const { auth, deployments, listeners, kube, platform, streams } = context;
  const body = DeployLogsQuery.prefault({});
  const response = { 200: DeployLogs, ...failures(400, 401, 403, 404, 413, 415, 422, 502, 504) };

  const budget = makeLogBudget();

  async function recordOf(admitted: RequestContext, id: string, revisionId?: string): Promise<AppDeployment> {
    const record = await deployments.find(admitted, id);
    const known = presentRevisions(record, deployments.revisionsOf(record));
    if (revisionId !== undefined && !known.some((one) => one.id === revisionId.toLowerCase()))
      throw new HttpError(404, `Revision ID ${revisionId} not found.`);
    return record;
  }

  /** The Listener whose cluster runs the record. */
  async function listenerOf(admitted: RequestContext, record: AppDeployment): Promise<Listener | undefined> {
    const { listenerId } = record.spec.sourceConfig;
    return listenerId === undefined ? undefined : listeners.find(admitted, listenerId);
  }

  function buildOf(record: AppDeployment, revision: string): BuildStatus | undefined {
    return deployments.revisionsOf(record).find(({ spec }) => spec.id === revision)?.status?.build;
  }

  async function logsOf(
    admitted: RequestContext,
    id: string,
    revisionId: string | undefined,
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs> {
    // Rejects an invalid offset before anything is read.
    const page = makePage(query);
    const record = await recordOf(admitted, id, revisionId);
    const listener = await listenerOf(admitted, record);
    if (listener !== undefined) await auth.needLogs(admitted.caller, admitted.tenant);
    const giveBack = await (budget.requests.take(admitted.tenant.namespace, signal) ?? tooManyLogs());
    try {
      if (listener !== undefined) {
        const revision = revisionId?.toLowerCase();
        return await readRemoteLogs({ kube, listener, record, revision, query }, signal);
      }
      const pods = podsOf(record, podIdsIn(deployments.revisionsOf(record), revisionId));
      const reading = { page, budget, tenant: admitted.tenant.namespace, signal };
      return page.done((await readLogs(admitted.caller.kube, pods, reading)) === true);
    } finally {
      giveBack();
    }
  }

  async function buildLogsOf(
    { caller, tenant }: RequestContext,
    { id, revisionId }: { readonly id: string; readonly revisionId: string },
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs> {
    const page = makePage(query);
    const record = await recordOf({ caller, tenant }, id, revisionId);
    const revision = revisionId.toLowerCase();
    // Tenants have no rights in the namespace of the builds' pods, so the log needs the right to logs in the tenant's namespace.
    await auth.needLogs(caller, tenant);
    const status = buildOf(record, revision);
    const isOver = !isUnderWay(status);
    const giveBack = await (budget.requests.take(tenant.namespace, signal) ?? tooManyLogs());
    try {
      const reading = { page, budget, tenant: tenant.namespace, signal, fromStart: query.order === 'asc' };
      const whole = page.done(await readBuildLog({ kube, platform, record, tenant, revision, status }, reading));
      // A caller that follows the build continues after the last line.
      if (whole.next_offset !== null || isOver || query.order !== 'asc') return whole;
      return { ...whole, next_offset: whole.logs.at(-1)?.id ?? query.offset ?? null };
    } finally {
      giveBack();
    }
  }

  /** Runs `work` and aborts it when the connection closes or another handler has answered. */
  async function whileWanted<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const gone = new AbortController();
    const onClose = (): void => gone.abort(new HttpError(503, 'The request was aborted.'));
    reply.raw.once('close', onClose);
    try {
      return await work(gone.signal);
    } finally {
      reply.raw.off('close', onClose);
    }
  }

  const logStreams = makeLogStreams({
    auth,
    deployments,
    kube,
    platform,
    streams,
    budget,
    recordOf,
    buildOf,
  });

  app.post('/v1/projects/:project_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listDeployLogs',
      summary: "Read the logs of a deployment's pods",
      events: LOG_EVENTS,
      params: ProjectPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id } = request.params;
      const { body: query } = request;
      return whileWanted<DeployLogs | FastifyReply>(reply, (signal) =>
        streams.isAskedFor(request)
          ? logStreams.ofPods(request, reply, { id, query, signal })
          : logsOf(auth.admitted(request), id, undefined, query, signal),
      );
    },
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listRevisionDeployLogs',
      summary: "Read the logs of a revision's pods",
      events: LOG_EVENTS,
      params: ProjectRevisionPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      const { body: query } = request;
      return whileWanted<DeployLogs | FastifyReply>(reply, (signal) =>
        streams.isAskedFor(request)
          ? logStreams.ofPods(request, reply, { id, revisionId, query, signal })
          : logsOf(auth.admitted(request), id, revisionId, query, signal),
      );
    },
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listBuildLogs',
      summary: "Read the log of a revision's build, while it runs and afterwards",
      events: BUILD_LOG_EVENTS,
      params: ProjectRevisionPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      const { body: query } = request;
      return whileWanted<DeployLogs | FastifyReply>(reply, (signal) =>
        streams.isAskedFor(request)
          ? logStreams.ofBuild(request, reply, { id, revisionId, query, signal })
          : buildLogsOf(auth.admitted(request), { id, revisionId }, query, signal),
      );
    },
  });
}
