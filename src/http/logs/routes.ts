// /v1/projects/{id}/deploy_logs: what a deployment's pods wrote.

import type { FastifyReply } from 'fastify';
import { HttpError, tooManyLogs } from '../core/http-error.ts';
import type { App } from '../core/validation.ts';
import type { Deployments } from '../deployments/repository.ts';
import type { Auth, RequestContext } from '../plugins/auth.ts';
import { failures } from '../plugins/openapi.ts';
import { presentRevisions } from '../revisions/presenter.ts';
import { makeLogBudget } from './budget.ts';
import { makePage } from './lines.ts';
import { DeployLogs, DeployLogsQuery, ProjectPath, ProjectRevisionPath } from './payloads.ts';
import { readLogs } from './pods.ts';

export interface LogRoutesOptions {
  readonly auth: Auth;
  readonly deployments: Deployments;
}

export function registerLogs(app: App, { auth, deployments }: LogRoutesOptions): void {
  const body = DeployLogsQuery.prefault({});
  const response = { 200: DeployLogs, ...failures(400, 401, 403, 404, 413, 415, 422) };

  const budget = makeLogBudget();

  async function logsOf(
    admitted: RequestContext,
    id: string,
    revisionId: string | undefined,
    query: DeployLogsQuery,
    signal: AbortSignal,
  ): Promise<DeployLogs> {
    // A wrong offset is said before anything is read.
    const page = makePage(query);
    const record = await deployments.find(admitted, id);
    const revision = revisionId?.toLowerCase();
    const known = presentRevisions(record, deployments.revisionsOf(record));
    if (revision !== undefined && !known.some((one) => one.id === revision))
      throw new HttpError(404, `Revision ID ${revisionId} not found.`);
    const giveBack = await (budget.requests.take(admitted.tenant.namespace, signal) ?? tooManyLogs());
    try {
      return page.done(await readLogs(admitted.caller.kube, record, { revisionId: revision, page, budget, signal }));
    } finally {
      giveBack();
    }
  }

  /** Runs `work` until the caller has gone, or has been answered by somebody else. */
  async function whileWanted<T>(reply: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const gone = new AbortController();
    const onClose = (): void => gone.abort(new HttpError(503, 'The request was given up.'));
    reply.raw.once('close', onClose);
    try {
      return await work(gone.signal);
    } finally {
      reply.raw.off('close', onClose);
    }
  }

  app.post('/v1/projects/:project_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listDeployLogs',
      summary: "Read what a deployment's pods wrote",
      params: ProjectPath,
      body,
      response,
    },
    handler: (request, reply) =>
      whileWanted(reply, (signal) =>
        logsOf(auth.admitted(request), request.params.project_id, undefined, request.body, signal),
      ),
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listRevisionDeployLogs',
      summary: "Read what a revision's pods wrote",
      params: ProjectRevisionPath,
      body,
      response,
    },
    handler: (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      return whileWanted(reply, (signal) => logsOf(auth.admitted(request), id, revisionId, request.body, signal));
    },
  });
}
