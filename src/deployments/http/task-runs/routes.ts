// /v2/deployments/{id}/tasks: what the record's status says of its tasks, and a run of one of them now.

import { JOBS } from '../../../lib/kube/api-resources.ts';
import type { Auth } from '../../../organization/facade/auth.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import { NoParameters } from '../../../organization/facade/payload-fields.ts';
import { requestKey } from '../../../organization/facade/request-key.ts';
import type { App } from '../../../organization/facade/validation.ts';
import { DeploymentPath } from '../payloads.ts';
import type { Deployments } from '../repository.ts';
import { NoFields } from '../revisions/payloads.ts';
import { presentTaskRun, presentTaskRuns, TaskPath, TaskRunResponse, TaskStatusList } from './payloads.ts';

export interface TaskRunRoutesOptions {
  readonly auth: Auth;
  readonly deployments: Deployments;
  readonly now: () => Date;
}

export function registerTaskRuns(app: App, { auth, deployments, now }: TaskRunRoutesOptions): void {
  app.get('/v2/deployments/:deployment_id/tasks', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['deployments'],
      operationId: 'listTasks',
      summary: 'List the tasks of the active revision with their last runs',
      params: DeploymentPath,
      querystring: NoParameters,
      response: { 200: TaskStatusList, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const record = await deployments.find(auth.admitted(request), request.params.deployment_id);
      return presentTaskRuns(record.status?.tasks, now().getTime());
    },
  });

  app.post('/v2/deployments/:deployment_id/tasks/:task_name/runs', {
    // What else it takes, such as the right to list ReplicaSets, the API server decides.
    onRequest: auth.as('create', JOBS),
    schema: {
      tags: ['deployments'],
      operationId: 'runTask',
      summary: 'Run a task of the active revision now',
      isKeyed: true,
      params: TaskPath,
      body: NoFields.prefault({}),
      response: { 201: TaskRunResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, task_name: task } = request.params;
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, id);
      auth.concerns(request, record.metadata.name);
      const run = await deployments.runTask(admitted, record, task, requestKey(request, admitted.caller.username));
      reply.code(201);
      return presentTaskRun(run);
    },
  });
}
