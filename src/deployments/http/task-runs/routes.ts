// GET /v2/deployments/{id}/tasks: what the record's status says of its tasks.

import type { Auth } from '../../../organization/facade/auth.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import { NoParameters } from '../../../organization/facade/payload-fields.ts';
import type { App } from '../../../organization/facade/validation.ts';
import { DeploymentPath } from '../payloads.ts';
import type { Deployments } from '../repository.ts';
import { presentTaskRuns, TaskStatusList } from './payloads.ts';

export function registerTaskRuns(app: App, { auth, deployments }: { auth: Auth; deployments: Deployments }): void {
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
      return presentTaskRuns(record.status?.tasks);
    },
  });
}
