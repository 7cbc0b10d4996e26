// /v2/deployments/{id}/tasks and /runs: what the record's status says of its tasks, and runs of tasks and commands now.

import { failures } from '../../../api/openapi.ts';
import { NoParameters } from '../../../api/payload-fields.ts';
import { requestKey } from '../../../api/request-key.ts';
import type { App } from '../../../api/validation.ts';
import { JOBS } from '../../../runtime/kube/api-resources.ts';
import { DeploymentPath } from '../payloads.ts';
import type { DeploymentNeeds } from '../route-needs.ts';
import {
  presentTaskRun,
  presentTaskRuns,
  RunCommandBody,
  RunPath,
  RunResponse,
  RunTaskBody,
  TaskPath,
  TaskRunResponse,
  TaskStatusList,
} from './payloads.ts';
import { readRun } from './read.ts';

export function registerTaskRuns(app: App, { auth, deployments, now }: DeploymentNeeds): void {
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
      body: RunTaskBody.prefault({}),
      response: { 201: TaskRunResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { deployment_id: id, task_name: task } = request.params;
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, id);
      auth.concerns(request, record.metadata.name);
      const asked = { task, seconds: request.body.timeout_seconds ?? undefined };
      const run = await deployments.run(admitted, record, asked, requestKey(request, admitted.caller.username));
      reply.code(201);
      return presentTaskRun(run);
    },
  });
}

export function registerRuns(app: App, { auth, deployments }: DeploymentNeeds): void {
  app.post('/v2/deployments/:deployment_id/runs', {
    onRequest: auth.as('create', JOBS),
    schema: {
      tags: ['deployments'],
      operationId: 'runCommand',
      summary: 'Run a command once, in a pod like those of the active revision',
      params: DeploymentPath,
      body: RunCommandBody,
      response: { 201: TaskRunResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, request.params.deployment_id);
      auth.concerns(request, record.metadata.name);
      const { command, timeout_seconds: seconds } = request.body;
      reply.code(201);
      return presentTaskRun(
        await deployments.run(admitted, record, { command, seconds: seconds ?? undefined }, undefined),
      );
    },
  });

  app.get('/v2/deployments/:deployment_id/runs/:run_name', {
    onRequest: auth.as('get'),
    schema: {
      tags: ['deployments'],
      operationId: 'getRun',
      summary: 'Get a run of a command or a task, until its Job is deleted, an hour after its end',
      params: RunPath,
      response: { 200: RunResponse, ...failures(401, 403, 404, 422) },
    },
    handler: async (request) => {
      const { deployment_id: id, run_name: name } = request.params;
      const admitted = auth.admitted(request);
      const record = await deployments.find(admitted, id);
      const { run, pod = null } = await readRun(
        admitted.caller.kube,
        { record, revisions: deployments.revisionsOf(record) },
        name,
      );
      return { ...presentTaskRun(run), pod };
    },
  });
}
