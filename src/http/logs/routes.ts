// /v1/projects/{id}/deploy_logs: what a deployment's pods wrote.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { Deployments } from '../deployments/repository.ts';
import type { Admitted, Auth } from '../plugins/auth.ts';
import { failures } from '../plugins/openapi.ts';
import { Refused } from '../refused.ts';
import { presentRevisions } from '../revisions/presenter.ts';
import type { ZodTypeProvider } from '../validation.ts';
import { pageOf } from './lines.ts';
import { DeployLogs, DeployLogsQuery, ProjectPath, ProjectRevisionPath } from './payloads.ts';
import { readLogs } from './pods.ts';

export interface LogRoutesOptions {
  readonly auth: Auth;
  readonly deployments: Deployments;
}

export function registerLogs(
  app: FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>,
  { auth, deployments }: LogRoutesOptions,
): void {
  const body = DeployLogsQuery.prefault({});
  const response = { 200: DeployLogs, ...failures(400, 401, 403, 404, 413, 415, 422) };

  async function logsOf(
    admitted: Admitted,
    id: string,
    revisionId: string | undefined,
    query: DeployLogsQuery,
  ): Promise<DeployLogs> {
    // A wrong offset is said before anything is read.
    pageOf([], query);
    const record = await deployments.find(admitted, id);
    const revision = revisionId?.toLowerCase();
    const known = presentRevisions(record, deployments.revisionsOf(record));
    if (revision !== undefined && !known.some((one) => one.id === revision))
      throw new Refused(404, `Revision ID ${revisionId} not found.`);
    const written = await readLogs(admitted.caller.kube, record, {
      ...(revision !== undefined && { revisionId: revision }),
      ...(typeof query.start_time === 'string' && { since: query.start_time }),
    });
    return pageOf(written, query);
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
    handler: (request) => logsOf(auth.admitted(request), request.params.project_id, undefined, request.body),
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
    handler: (request) => {
      const { project_id: id, revision_id: revisionId } = request.params;
      return logsOf(auth.admitted(request), id, revisionId, request.body);
    },
  });
}
