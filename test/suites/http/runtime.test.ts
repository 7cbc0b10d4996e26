// source_config.runtime over HTTP: what is stored, shown and merged, and when a revision is asked for.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/deploy/http/payloads.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { type Answer, aBody, type Facade, makeFacade } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

const RUNTIME = {
  port: 2026,
  health_path: '/health',
  server: { command: ['serve'], args: ['--port', '$(PORT)'], termination_grace_period_seconds: 60 },
  queue: { args: ['worker'], port: 2027, health_path: '/live', pre_stop: { exec: { command: ['drain'] } } },
  migrate: { command: ['migrate'], timeout_seconds: 60 },
  queue_depth: { query: 'SELECT 1', per_pod: 5 },
  workers: { mailer: { command: ['mail'], max_scale: 2 }, 'scheduler-1': { args: ['tick'], singleton: true } },
  env_names: { DATABASE_URL: 'postgres_uri', WORKER_COUNT: 'jobs' },
  without: ['N_JOBS_PER_WORKER'],
};
const STORED = {
  port: 2026,
  healthPath: '/health',
  server: { command: ['serve'], args: ['--port', '$(PORT)'], terminationGracePeriodSeconds: 60 },
  queue: { args: ['worker'], port: 2027, healthPath: '/live', preStop: { exec: { command: ['drain'] } } },
  migrate: { command: ['migrate'], timeoutSeconds: 60 },
  queueDepth: { query: 'SELECT 1', perPod: 5 },
  workers: { mailer: { command: ['mail'], maxScale: 2 }, 'scheduler-1': { args: ['tick'], singleton: true } },
  envNames: { DATABASE_URL: 'postgres_uri', WORKER_COUNT: 'jobs' },
  without: ['N_JOBS_PER_WORKER'],
};
const NO_HEALTH = {
  health_command: null,
  heartbeat_file: null,
  heartbeat_max_age_seconds: null,
  health_period_seconds: null,
  health_timeout_seconds: null,
  health_failure_threshold: null,
  health_restart: null,
};
const NO_WORKER = {
  placement: null,
  command: null,
  args: null,
  port: null,
  health_path: null,
  ...NO_HEALTH,
  termination_grace_period_seconds: null,
  pre_stop: null,
  min_scale: null,
  max_scale: null,
  singleton: null,
  cpu: null,
  cpu_limit: null,
  memory_mb: null,
  memory_limit_mb: null,
};
const SHOWN = {
  api_token: null,
  postgres_uri_scheme: null,
  database: null,
  redis: null,
  ...RUNTIME,
  server: { ...RUNTIME.server, placement: null, port: null, health_path: null, ...NO_HEALTH, pre_stop: null },
  queue: { command: null, placement: null, ...NO_HEALTH, termination_grace_period_seconds: null, ...RUNTIME.queue },
  migrate: { ...RUNTIME.migrate, args: null },
  orchestrator: null,
  executor: null,
  workers: {
    mailer: { ...NO_WORKER, ...RUNTIME.workers.mailer },
    'scheduler-1': { ...NO_WORKER, ...RUNTIME.workers['scheduler-1'] },
  },
};

async function made(runtime?: object, more: object = {}): Promise<Answer> {
  const answer = await facade.call('POST', '/v2/deployments', aBody({ source_config: { runtime }, ...more }));
  facade.kube.writes.splice(0);
  return answer;
}
function patch(id: string, runtime: unknown, more: object = {}): Promise<Answer> {
  return facade.call('PATCH', `/v2/deployments/${id}`, { source_config: { runtime }, ...more });
}
function stored(): AppDeployment['spec'] {
  const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  if (record === undefined) throw new Error('no record');
  return record.spec;
}

describe('create', () => {
  it("stores it with the custom resource's names, and shows it with the API's", async () => {
    const { status, body } = await made(RUNTIME);
    expect([status, body.detail]).toEqual([201, undefined]);
    expect(stored().sourceConfig.runtime).toEqual(STORED);
    expect(body.source_config.runtime).toEqual(SHOWN);
    expect(Deployment.safeParse(body).error).toBeUndefined();
  });
  it.each([undefined, null, {}, { port: null, server: { command: [] }, env_names: {} }])(
    '%j is none',
    async (given) => {
      const { body } = await made(given ?? undefined);
      expect(body.source_config.runtime).toBeNull();
      expect(stored().sourceConfig).not.toHaveProperty('runtime');
    },
  );
  const page = readFileSync(join(import.meta.dirname, '../../../docs/porting.md'), 'utf8');
  const examples = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => text);
  it('takes every example of docs/porting.md strictly', async () => {
    expect(examples.length).toBeGreaterThan(2);
    for (const [index, text] of examples.entries()) {
      const { source_config: config } = JSON.parse(text) as { source_config: object };
      const body = aBody({ name: `example-${index}`, source_config: config });
      const { status, body: answer } = await facade.call('POST', '/v2/deployments?fieldValidation=Strict', body);
      expect([status, answer.detail], text).toEqual([201, undefined]);
    }
  });
  it('names the field that was probably meant', async () => {
    const { body } = await made({ healthpath: '/x', server: { cmd: [], terminationGracePeriodSeconds: 4 } });
    expect(body.warnings.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc.join('.'), msg])).toEqual([
      ['body.source_config.runtime.healthpath', 'is not a known field: did you mean health_path?'],
      ['body.source_config.runtime.server.cmd', expect.stringContaining('is not a known field')],
      [
        'body.source_config.runtime.server.terminationGracePeriodSeconds',
        'is not a known field: did you mean termination_grace_period_seconds?',
      ],
    ]);
  });
});

describe('a change', () => {
  it.each<[name: string, sent: unknown, after: object | undefined]>([
    ['nothing', undefined, STORED],
    ['null', null, STORED],
    ['an empty one', {}, STORED],
    ['what was read', SHOWN, STORED],
    ['one field', { port: 3000 }, { ...STORED, port: 3000 }],
    ['a scheme', { postgres_uri_scheme: 'postgres' }, { ...STORED, postgresUriScheme: 'postgres' }],
    ['null for a field', { health_path: null }, without('healthPath')],
    ['one field of a part', { server: { args: ['-v'] } }, { ...STORED, server: { ...STORED.server, args: ['-v'] } }],
    ['null in a part', { server: { args: null } }, { ...STORED, server: { ...STORED.server, args: undefined } }],
    [
      'a health command in place of a path',
      { queue: { health_path: null, health_command: ['ping'] } },
      { ...STORED, queue: { ...STORED.queue, healthPath: undefined, healthCommand: ['ping'] } },
    ],
    [
      'a heartbeat in place of a path',
      {
        queue: { health_path: null, heartbeat_file: '/tmp/alive', heartbeat_max_age_seconds: 30, health_restart: true },
      },
      {
        ...STORED,
        queue: {
          ...STORED.queue,
          healthPath: undefined,
          heartbeatFile: '/tmp/alive',
          heartbeatMaxAgeSeconds: 30,
          healthRestart: true,
        },
      },
    ],
    ['null for a part', { queue: null }, without('queue')],
    [
      'null for all of a part',
      { queue: { args: null, port: null, health_path: null, pre_stop: null } },
      without('queue'),
    ],
    ['an empty part', { queue: {} }, STORED],
    [
      'a field of a worker',
      { workers: { mailer: { cpu: 2 } } },
      { ...STORED, workers: { ...STORED.workers, mailer: { ...STORED.workers.mailer, cpu: 2 } } },
    ],
    [
      'null in a worker',
      { workers: { 'scheduler-1': { singleton: null, min_scale: 2 } } },
      { ...STORED, workers: { ...STORED.workers, 'scheduler-1': { args: ['tick'], minScale: 2 } } },
    ],
    [
      'null for a worker, and a new one that is called what every object inherits',
      { workers: { mailer: null, constructor: { command: ['build'] } } },
      {
        ...STORED,
        workers: { 'scheduler-1': STORED.workers['scheduler-1'], constructor: { command: ['build'] } },
      },
    ],
    ['null for all workers', { workers: null }, without('workers')],
    ['null for each of them', { workers: { mailer: null, 'scheduler-1': null } }, without('workers')],
    ['no workers', { workers: {} }, STORED],
    ['another map', { env_names: { A: 'role' } }, { ...STORED, envNames: { A: 'role' } }],
    ['an empty map', { env_names: {} }, without('envNames')],
    ['another list', { without: ['PORT'] }, { ...STORED, without: ['PORT'] }],
    [
      'null for everything',
      {
        port: null,
        health_path: null,
        server: null,
        queue: null,
        workers: null,
        migrate: null,
        queue_depth: null,
        env_names: null,
        without: null,
      },
      undefined,
    ],
  ])('%s', async (_name, sent, after) => {
    const { body } = await made(RUNTIME);
    const changed = await patch(body.id, sent);
    expect([changed.status, changed.body.detail]).toEqual([200, undefined]);
    expect(stored().sourceConfig.runtime).toEqual(after);
    expect(stored().revisionSerial).toBe(after === STORED ? 1 : 2);
  });
  function without(field: keyof typeof STORED): object {
    return Object.fromEntries(Object.entries(STORED).filter(([name]) => name !== field));
  }

  it('the same set in another order is no change', async () => {
    const { body } = await made({ without: ['PORT', 'REDIS_URI'] });
    await patch(body.id, { without: ['REDIS_URI', 'PORT'] });
    expect(stored().revisionSerial).toBe(1);
  });

  it('a secret with the name of a value is refused, and so is a value with the name of a secret', async () => {
    const { body } = await made(RUNTIME, { secrets: [{ name: 'KEY', value: 'v' }] });
    const secrets = [{ name: 'DATABASE_URL', value: 'v' }];
    for (const answer of [
      await facade.call('PATCH', `/v2/deployments/${body.id}`, { secrets }),
      await patch(body.id, { env_names: { KEY: 'role' } }),
    ])
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [expect.objectContaining({ msg: expect.stringContaining('is also in secrets') })],
      ]);
    expect((await patch(body.id, { env_names: { OTHER: 'role' } }, { secrets })).status).toBe(200);
  });

  it('another scale of a worker asks for no revision', async () => {
    const { body } = await made(RUNTIME);
    const { status } = await patch(body.id, { workers: { mailer: { min_scale: 2, max_scale: 4 } } });
    expect([status, stored().revisionSerial]).toEqual([200, 1]);
    expect(stored().sourceConfig.runtime?.workers?.['mailer']).toMatchObject({ minScale: 2, maxScale: 4 });
  });

  it('a worker and a sidecar of one name are refused, whichever comes later', async () => {
    const { body } = await made(RUNTIME);
    const sidecars = [{ name: 'mailer', image: 'helper:1' }];
    const answer = await facade.call('PATCH', `/v2/deployments/${body.id}`, {
      source_config: { resource_spec: { sidecars } },
    });
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      [
        {
          loc: ['body', 'source_config', 'runtime', 'workers', 'mailer'],
          msg: 'a sidecar or init container has the name of this worker: rename one of them',
          type: 'value_error',
        },
      ],
    ]);
  });

  it('a migration is changed field by field', async () => {
    const { body } = await made(RUNTIME);
    expect((await patch(body.id, { migrate: { timeout_seconds: 90 } })).status).toBe(200);
    expect((await patch(body.id, { migrate: { command: null, args: ['up'], timeout_seconds: 60 } })).status).toBe(200);
    expect(stored().sourceConfig.runtime?.migrate).toEqual({ args: ['up'], timeoutSeconds: 60 });
  });

  it('a query can be changed alone', async () => {
    const { body } = await made(RUNTIME);
    expect((await patch(body.id, { queue_depth: { per_pod: null } })).status).toBe(200);
    expect(stored().sourceConfig.runtime?.queueDepth).toEqual({ query: 'SELECT 1' });
  });

  it('a rollback brings the old one back', async () => {
    const { body } = await made(RUNTIME);
    const old = facade.snapshot({ state: 'DEPLOYED' });
    await patch(body.id, { port: 3000, queue: null });
    facade.snapshot({ state: 'DEPLOYED' });
    const back = await facade.call('POST', `/v2/deployments/${body.id}/revisions/${old.spec.id}/redeploy`);
    expect([back.status, back.body.source_config.runtime]).toEqual([200, SHOWN]);
    expect(stored().sourceConfig.runtime).toEqual(STORED);
    // Its migration has run.
    expect(facade.snapshot().spec.resolved).toEqual({ ...old.spec.resolved, migrated: true });
  });
});
