// The routes of logs of a deployment's pods and builds: /v1/projects/{id}/…, and two that read the same by GET.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { failures } from '../api/openapi.ts';
import type { App } from '../api/validation.ts';
import { RevisionPath } from '../deploy/http/revisions/payloads.ts';
import { shownRevisionIds } from '../deploy/record/api-view.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { makeLogBudget } from './budget.ts';
import { type LogNeeds, makeLogPages } from './page-reader.ts';
import {
  DeployLogs,
  DeployLogsQuery,
  LogEntries,
  LogEntriesQuery,
  ProjectPath,
  ProjectRevisionPath,
  RevisionLogsQuery,
} from './payloads.ts';

const tags = ['logs'];
const failed = failures(401, 403, 404, 422, 502, 504);
const body = DeployLogsQuery.prefault({});
const response = { 200: DeployLogs, ...failures(400, 413, 415), ...failed };

interface Posted<Path> extends Record<'body', typeof body>, Record<'response', typeof response> {
  readonly tags: string[];
  readonly operationId: string;
  readonly summary: string;
  readonly params: Path;
}

function posted<Path extends z.ZodType>(operationId: string, summary: string, params: Path): Posted<Path> {
  return { tags, operationId, summary, params, body, response };
}

type Read = (request: FastifyRequest, reply: FastifyReply, id: string, query: DeployLogsQuery) => Promise<DeployLogs>;

interface Reads {
  ofPods(revisionId?: string): Read;
  ofBuild(revisionId: string): Read;
}

export function registerLogs(app: App, context: LogNeeds): void {
  const { auth } = context;
  const pages = makeLogPages(context, makeLogBudget());
  const onRequest = auth.as('get');
  const ofPods: Reads['ofPods'] = (revisionId) => (request, reply, id, query) =>
    whileWanted(reply, (signal) => pages.ofPods(auth.admitted(request), id, revisionId, query, signal));
  const ofBuild: Reads['ofBuild'] = (revisionId) => (request, reply, id, query) =>
    whileWanted(reply, (signal) => pages.ofBuild(auth.admitted(request), { id, revisionId }, query, signal));

  app.post('/v1/projects/:project_id/deploy_logs', {
    onRequest,
    schema: posted('listDeployLogs', "Read the logs of a deployment's pods", ProjectPath),
    handler: async (request, reply) => ofPods()(request, reply, request.params.project_id, request.body),
  });

  app.post('/v1/projects/:project_id/revisions/:revision_id/deploy_logs', {
    onRequest,
    schema: posted('listRevisionDeployLogs', "Read the logs of a revision's pods", ProjectRevisionPath),
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      return ofPods(revisionId)(request, reply, id, request.body);
    },
  });

  const summary = "Read the log of a revision's build, while it runs and afterwards";
  app.post('/v1/projects/:project_id/revisions/:revision_id/build_logs', {
    onRequest,
    schema: posted('listBuildLogs', summary, ProjectRevisionPath),
    handler: async (request, reply) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      return ofBuild(revisionId)(request, reply, id, request.body);
    },
  });
  registerGets(app, context, { ofPods, ofBuild });
}

function registerGets(app: App, { auth, deployments }: LogNeeds, { ofPods, ofBuild }: Reads): void {
  const onRequest = auth.as('get');
  app.get('/v2/deployments/:deployment_id/revisions/:revision_id/logs', {
    onRequest,
    schema: {
      tags,
      operationId: 'getRevisionLogs',
      summary: "Read the logs of a revision's build or pods",
      params: RevisionPath,
      querystring: RevisionLogsQuery,
      response: { 200: DeployLogs, ...failed },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, revision_id: revisionId } = request.params;
      const { type, ...query } = request.query;
      return (type === 'build' ? ofBuild : ofPods)(revisionId)(request, reply, id, query);
    },
  });

  app.get('/v2/deployment-logs', {
    onRequest,
    schema: {
      tags,
      operationId: 'listLogEntries',
      summary: "Read the logs of a deployment's build or pods",
      querystring: LogEntriesQuery,
      response: { 200: LogEntries, ...failed },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, revision_id: revision, log_type: type, ...rest } = request.query;
      const { sort_order: order, page_size: limit, cursor: offset, ...filters } = rest;
      const record = await deployments.find(auth.admitted(request), id);
      const newest = shownRevisionIds(record, deployments.revisionsOf(record)).latest;
      const read = type === 'BUILD' ? ofBuild(revision ?? newest ?? id) : ofPods(revision);
      const { logs, next_offset } = await read(request, reply, id, { ...filters, order, limit, offset });
      return { items: logs, next_cursor: next_offset };
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
