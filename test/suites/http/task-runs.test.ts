// GET /v2/deployments/{id}/tasks over an in-memory API server.

import { beforeEach, expect, it } from 'vitest';
import { TaskStatusList } from '../../../src/deployments/http/task-runs/payloads.ts';
import { APP_DEPLOYMENTS } from '../../../src/schema/app-deployment.ts';
import type { TaskStatus } from '../../../src/schema/tasks.ts';
import { aBody, type Facade, makeFacade, OTHER_TENANT, TENANT } from './facade.ts';

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
});

const TASK: TaskStatus = {
  name: 'clean',
  state: 'Scheduled',
  schedule: '@hourly',
  runs: [
    { job: 'shop--clean-1', state: 'Failed', startedAt: '2099-01-01T00:00:00Z', exitCode: 3, message: 'no table' },
  ],
};

it('has the tasks of the status with their runs; null where nothing is known', async () => {
  expect((await facade.call('GET', `/v2/deployments/${id}/tasks`)).body).toEqual({ resources: [] });
  const before = await facade.call('GET', `/v2/deployments/${id}`);
  await facade.kube.mergePatch(
    APP_DEPLOYMENTS,
    { namespace: TENANT.namespace, name: 'shop' },
    { status: { tasks: [TASK] } },
    { fieldManager: 'davit-controller', subresource: 'status' },
  );
  facade.records.fill();
  const { status, body } = await facade.call('GET', `/v2/deployments/${id}/tasks`);
  expect(status).toBe(200);
  expect(TaskStatusList.parse(body)).toEqual(body);
  expect(body).toEqual({
    resources: [
      {
        name: 'clean',
        state: 'Scheduled',
        message: null,
        schedule: '@hourly',
        time_zone: null,
        runs: [
          {
            job: 'shop--clean-1',
            state: 'Failed',
            revision_id: null,
            started_at: '2099-01-01T00:00:00Z',
            finished_at: null,
            exit_code: 3,
            reason: null,
            message: 'no table',
          },
        ],
      },
    ],
  });
  // A run is no change that somebody else could overwrite.
  const after = await facade.call('GET', `/v2/deployments/${id}`);
  expect([after.headers['etag'], after.body.updated_at]).toEqual([before.headers['etag'], before.body.updated_at]);
});

it('another tenant sees no tasks', async () => {
  const { uid } = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata;
  expect((await facade.call('GET', `/v2/deployments/${uid}/tasks`)).status).toBe(404);
});
