// Idempotency-Key: a POST that is sent again gives what the first one made.

import { beforeEach, describe, expect, it } from 'vitest';
import { Forbidden, Unavailable } from '../../../src/lib/errors.ts';
import { SECRETS } from '../../../src/lib/kube/api-resources.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, SOMEBODY } from './facade.ts';

const KEY = '6f1c2b3a-0000-4000-8000-000000000001';
let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

const post = (body: unknown, key: string = KEY, headers: Record<string, string> = {}): Promise<Answer> =>
  facade.call('POST', '/v2/deployments', body, { 'idempotency-key': key, ...headers });
const records = (): readonly AppDeployment[] => facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);

describe('a repeated request', () => {
  const body = { ...aBody(), secrets: [{ name: 'API_KEY', value: 'canary' }] };

  it('returns the deployment of the first one, with its current values', async () => {
    const first = await post(body);
    const second = await post(body);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect(second.headers['etag']).toBe(first.headers['etag']);
    expect([records().length, facade.kube.objects(SECRETS).length]).toEqual([1, 1]);
  });

  it('also if the cache does not contain the record yet', async () => {
    const first = await post(body);
    facade.records.drop(first.body.id);
    const second = await post(body);
    expect([second.status, second.body.id, records().length]).toEqual([201, first.body.id, 1]);
    expect(facade.kube.objects(SECRETS)).toHaveLength(1);
  });

  it('many at once create one deployment', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(body)));
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.id}`)).size).toBe(1);
    expect([records().length, facade.kube.objects(SECRETS).length]).toEqual([1, 1]);
  });

  it('after an outage during which the first one succeeded', async () => {
    facade.kube.failAfter(({ kind, dryRun }) =>
      kind === 'AppDeployment' && dryRun !== true ? new Unavailable('no answer') : undefined,
    );
    expect((await post(body)).status).toBe(503);
    facade.kube.failAfter(undefined);
    expect((await post(body)).status).toBe(201);
    expect(records()).toHaveLength(1);
  });

  it('of somebody else with the same key is another one', async () => {
    const first = await post(body);
    facade.kube.know(() => 'anna');
    const anna = { ...SOMEBODY, 'x-api-key': 'token-of-anna' };
    expect((await post(body, KEY, anna)).status).toBe(409);
    const other = await post({ ...body, name: 'other' }, KEY, anna);
    expect([other.status, other.body.id === first.body.id, records().length]).toEqual([201, false, 2]);
  });

  it('with another order of its keys is the same', async () => {
    const first = await post(body);
    const { status, body: again } = await post(Object.fromEntries(Object.entries(body).toReversed()));
    expect([status, again.id]).toEqual([201, first.body.id]);
  });

  it('shows later changes', async () => {
    const { body: made } = await post(body);
    await facade.call('PATCH', `/v2/deployments/${made.id}`, {
      source_revision_config: { image_uri: 'x.example/y:2' },
    });
    expect((await post(body)).body.image_version).toBe('2');
  });
});

describe('the same key', () => {
  it('with another body is 422, and names the deployment', async () => {
    await post(aBody());
    for (const body of [
      { ...aBody(), name: 'other' },
      { ...aBody(), source_revision_config: { image_uri: 'a/b:2' } },
    ]) {
      const { status, body: answer } = await post(body);
      expect(status).toBe(422);
      expect(answer.detail).toEqual([
        {
          loc: ['header', 'Idempotency-Key'],
          msg: `was used for another request, which created deployment "${String(aBody()['name'])}". Send a new key with a new request`,
          type: 'value_error',
        },
      ]);
    }
    expect(records()).toHaveLength(1);
  });

  it('is independent in another tenant', async () => {
    await post(aBody());
    const { status } = await post(aBody(), KEY, { 'x-tenant-id': OTHER_TENANT.id });
    expect([status, records().length]).toEqual([201, 2]);
  });

  it('is required: without it, or with another key, the name is taken', async () => {
    await post(aBody());
    expect((await facade.call('POST', '/v2/deployments', aBody())).status).toBe(409);
    expect((await post(aBody(), 'another')).status).toBe(409);
  });

  it('shows no values to a caller who may not read them', async () => {
    const body = { ...aBody(), secrets: [{ name: 'API_KEY', value: 'canary' }] };
    await post(body);
    facade.kube.failOn(({ verb, kind }) => (verb === 'get' && kind === 'Secret' ? new Forbidden('no') : undefined));
    expect(JSON.stringify((await post(body)).body)).not.toContain('canary');
  });
});

it('stores neither the key nor a part of a value on the record', async () => {
  await post({ ...aBody(), secrets: [{ name: 'API_KEY', value: 'canary' }] });
  const other = await makeFacade();
  await other.call(
    'POST',
    '/v2/deployments',
    { ...aBody(), secrets: [{ name: 'API_KEY', value: 'robin' }] },
    { 'idempotency-key': KEY },
  );
  const [annotations] = records().map(({ metadata }) => metadata.annotations);
  expect(JSON.stringify(annotations)).not.toContain(KEY);
  expect(other.kube.objects(APP_DEPLOYMENTS)[0]?.metadata.annotations).toEqual(annotations);
});

it.each(['', ' ', 'a b', 'ü', 'x'.repeat(256)])('rejects the key %j', async (key) => {
  const { status, body } = await post(aBody(), key);
  expect([status, body.detail[0].loc, records()]).toEqual([422, ['header', 'Idempotency-Key'], []]);
});
