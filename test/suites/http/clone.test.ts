// POST /v2/deployments/{id}/clone over an in-memory API server.

import { beforeEach, expect, it } from 'vitest';
import { Deployment } from '../../../src/deployments/http/payloads.ts';
import { SECRETS } from '../../../src/lib/kube/api-resources.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { type Answer, aBody, type Facade, makeFacade } from './facade.ts';

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
    at: null,
    archive: null,
    backup: BACKUP,
  });
  expect(stored('copy')?.spec.secrets).toEqual(stored('shop')?.spec.secrets);
  expect(facade.kube.objects(SECRETS)).toHaveLength(1);
});

it.each([
  ['no name', {}, 422, 'name'],
  ['a time that is none', { name: 'copy', at: 'yesterday' }, 422, 'at'],
  ['two choices', { name: 'copy', at: '2026-02-02T00:00:00Z', backup: BACKUP }, 422, 'set at or backup, not both'],
  ['a name that is taken', { name: 'shop', backup: BACKUP }, 409, 'already exists'],
  ['a deployment without a known backup', { name: 'copy' }, 409, 'There is no data to begin with'],
])('refuses %s', async (_what, body, wanted, words) => {
  const { status, body: answer } = await clone(body);
  expect(status).toBe(wanted);
  expect(JSON.stringify(answer)).toContain(words);
  expect(facade.kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
});

it('finds no deployment of another tenant, and none that is not there', async () => {
  expect((await clone({ name: 'copy', backup: BACKUP }, undefined, MISSING)).status).toBe(404);
});
