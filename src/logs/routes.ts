// The routes of /v1/projects/{id}/…: logs of a deployment's pods and builds.

import type { FastifyReply } from 'fastify';
import { failures } from '../api/openapi.ts';
import type { App } from '../api/validation.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { makeLogBudget } from './budget.ts';
import { type LogNeeds, makeLogPages } from './page-reader.ts';
import { DeployLogs, DeployLogsQuery, ProjectPath, ProjectRevisionPath } from './payloads.ts';

export function registerLogs(app: App, context: LogNeeds): void {
  const { auth } = context;
  const body = DeployLogsQuery.prefault({});
  const response = { 200: DeployLogs, ...failures(400, 401, 403, 404, 413, 415, 422, 502, 504) };
  const budget = makeLogBudget();
  const pages = makeLogPages(context, budget);

  app.post('/v1/projects/:project_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listDeployLogs',
      summary: "Read the logs of a deployment's pods",
      params: ProjectPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id } = request.params;
      const { body: query } = request;
      return whileWanted(reply, (signal) => pages.ofPods(auth.admitted(request), id, undefined, query, signal));
    },
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listRevisionDeployLogs',
      summary: "Read the logs of a revision's pods",
      params: ProjectRevisionPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      const { body: query } = request;
      return whileWanted(reply, (signal) => pages.ofPods(auth.admitted(request), id, revisionId, query, signal));
    },
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['logs'],
      operationId: 'listBuildLogs',
      summary: "Read the log of a revision's build, while it runs and afterwards",
      params: ProjectRevisionPath,
      body,
      response,
    },
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      const { body: query } = request;
      return whileWanted(reply, (signal) => pages.ofBuild(auth.admitted(request), { id, revisionId }, query, signal));
    },
  });
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
