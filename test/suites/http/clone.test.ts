// POST /v2/deployments/{id}/clone over an in-memory API server.

import { beforeEach, expect, it } from 'vitest';
import { Deployment } from '../../../src/deploy/http/payloads.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { type Answer, aBody, type Facade, makeFacade, TENANT } from './facade.ts';

const BACKUP = '20260202T000000Z-0123abcd';
const MISSING = '12345678-1234-4234-8234-123456789012';
let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  const { body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: [{ name: 'KEY', value: 'canary' }] }));
  id = body.id;
  facade.kube.writes.splice(0);
});

const clone = (body: unknown, headers?: Record<string, string>, of = id): Promise<Answer> =>
  facade.call('POST', `/v2/deployments/${of}/clone`, body, headers);
const stored = (name: string): AppDeployment | undefined =>
  facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS).find(({ metadata }) => metadata.name === name);

it('answers with the new deployment, whose values are those of the old one, in the same Secret', async () => {
  const { status, body, headers } = await clone({ name: 'copy', backup: BACKUP });
  expect(status).toBe(201);
  expect(headers['etag']).toBeDefined();
  const { warnings: _warnings, ...deployment } = body;
  expect(Deployment.parse(deployment)).toEqual(deployment);
  expect(body).toMatchObject({ name: 'copy', secrets: [{ name: 'KEY', value: 'canary' }] });
  expect(body.source_config.database.restore).toEqual({
    from: stored('shop')?.metadata.name,
    namespace: null,
    at: null,
    archive: null,
    backup: BACKUP,
  });
  expect(stored('copy')?.spec.secrets).toEqual(stored('shop')?.spec.secrets);
  expect(facade.kube.objects(SECRETS)).toHaveLength(1);
});

/** As the controller reports what the store has. */
async function list(...newest: readonly object[]): Promise<void> {
  const place = { namespace: TENANT.namespace, name: 'shop' };
  const status = {
    databaseBackups: { listedAt: '2026-02-02T00:00:09Z', count: newest.length, newest },
    databaseDrivers: [{ driver: 'pod', postgresVersion: 17 }],
  };
  const writing = { fieldManager: 'controller', subresource: 'status' } as const;
  await facade.kube.mergePatch(APP_DEPLOYMENTS, place, { status }, writing);
  facade.records.fill();
  facade.kube.writes.splice(0);
}
const LISTED = { name: BACKUP, takenAt: '2026-02-02T00:00:00Z', sizeBytes: 2048, number: 1, databases: 3, roles: 4 };

it('shows the backups that the store has, and clones the one that a time means', async () => {
  await list(LISTED);
  const { body: shown } = await facade.call('GET', `/v2/deployments/${id}`);
  expect(Deployment.parse(shown)).toEqual(shown);
  expect(shown.database_backups).toMatchObject({
    listed_at: '2026-02-02T00:00:09Z',
    count: 1,
    newest: [{ name: BACKUP, size_bytes: 2048, number: 1, databases: 3, roles: 4, verified: null, by_hand: null }],
  });
  const { status, body } = await clone({ name: 'copy', at: '2026-02-03T00:00:00Z' });
  expect([status, body.source_config.database.restore]).toMatchObject([
    201,
    { from: 'shop', backup: BACKUP, at: null },
  ]);
});

it('keeps the driver of the database, and refuses a new deployment of another one', async () => {
  await list(LISTED);
  const place = { namespace: TENANT.namespace, name: 'shop' };
  const writing = { fieldManager: 'controller', subresource: 'status' } as const;
  await facade.kube.mergePatch(APP_DEPLOYMENTS, place, { status: { databaseDriver: 'cloudnative-pg' } }, writing);
  facade.records.fill();
  const cloned = await clone({ name: 'copy', backup: BACKUP });
  expect([cloned.status, cloned.body.source_config.database.driver]).toEqual([201, 'cloudnative-pg']);
  const source_config = { database: { restore: { from: 'shop', backup: BACKUP } } };
  const made = await facade.call('POST', '/v2/deployments', { ...aBody(), name: 'other', source_config });
  expect([made.status, made.body.detail]).toEqual([
    422,
    [
      {
        loc: ['body', 'source_config', 'database', 'driver'],
        msg: 'does not fit the backup. The database of shop has driver cloudnative-pg, but this one has driver pod. A backup can be loaded only into a database with the same driver: set source_config.database.driver of a new deployment to cloudnative-pg.',
        type: 'value_error',
      },
    ],
  ]);
});

it.each([
  ['a backup that is not there', { backup: '20260101T000000Z-0123abcd' }, LISTED, 'The store has no backup 20260101'],
  ['a time before the first', { at: '2026-01-01T00:00:00Z' }, LISTED, 'The earliest is from 2026-02-02T00:00:00Z'],
  ['one of a newer PostgreSQL', { backup: BACKUP }, { ...LISTED, postgresVersion: 18 }, 'was made by PostgreSQL 18'],
])('refuses %s at once, and so does a new deployment that asks for it', async (_what, which, listed, words) => {
  await list(listed);
  const cloned = await clone({ name: 'copy', ...which });
  expect([cloned.status, JSON.stringify(cloned.body)]).toEqual([409, expect.stringContaining(words)]);
  const restore = { from: 'shop', ...which };
  const source_config = { database: { restore } };
  const made = await facade.call('POST', '/v2/deployments', { ...aBody(), name: 'other', source_config });
  expect([made.status, made.body]).toMatchObject([
    422,
    {
      detail: [
        {
          loc: ['body', 'source_config', 'database', 'restore', Object.keys(which)[0]],
          msg: expect.stringContaining(`cannot be loaded. `) as string,
        },
      ],
    },
  ]);
  expect(JSON.stringify(made.body)).toContain(words);
  expect(facade.kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
});

it.each([
  ['no name', {}, 422, 'name'],
  ['a time that is none', { name: 'copy', at: 'yesterday' }, 422, 'at'],
  ['two choices', { name: 'copy', at: '2026-02-02T00:00:00Z', backup: BACKUP }, 422, 'set at or backup, not both'],
  ['a name that is taken', { name: 'shop', backup: BACKUP }, 409, 'already exists'],
  ['a deployment without a known backup', { name: 'copy' }, 409, 'needs a backup'],
])('refuses %s', async (_what, body, wanted, words) => {
  const { status, body: answer } = await clone(body);
  expect(status).toBe(wanted);
  expect(JSON.stringify(answer)).toContain(words);
  expect(facade.kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
});

it('finds no deployment of another tenant, and none that is not there', async () => {
  expect((await clone({ name: 'copy', backup: BACKUP }, undefined, MISSING)).status).toBe(404);
});
