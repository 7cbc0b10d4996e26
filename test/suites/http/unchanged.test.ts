// ETag and If-None-Match: a caller that asks again gets a body only if it would be another one.

import { beforeEach, describe, expect, it } from 'vitest';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT } from './facade.ts';

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  facade.snapshot();
});

const get = (path: string, known?: string, more: Record<string, string> = {}): Promise<Answer> =>
  facade.call('GET', path.replace('ID', id), undefined, {
    ...(known !== undefined && { 'if-none-match': known }),
    ...more,
  });
const tagOf = (answer: Answer | undefined): string => answer?.headers['etag'] as string;
function becomesReady(): void {
  const [record] = facade.records.list();
  if (record !== undefined) facade.seed({ ...record, status: { state: 'READY' } });
}

describe.each(['/v2/deployments', '/v2/deployments/ID', '/v2/deployments/ID/revisions'])('GET %s', (path) => {
  it('answers 304 without a body until something changes', async () => {
    const first = await get(path);
    const etag = tagOf(first);
    const again = await get(path, etag);
    expect([again.status, again.body, again.headers['etag']]).toEqual([304, undefined, etag]);
    expect(again.headers).not.toHaveProperty('content-length');
    expect(again.headers).not.toHaveProperty('content-type');

    await facade.call('PATCH', `/v2/deployments/${id}`, {
      source_revision_config: { image_uri: 'registry.example/app:2' },
    });
    const changed = await get(path, etag);
    expect([changed.status, changed.headers['etag'] === etag]).toEqual([200, false]);
    expect(changed.body).not.toEqual(first.body);
    expect((await get(path, tagOf(changed))).status).toBe(304);
  });

  it('takes lists of tags, weak ones and *, and no others', async () => {
    const etag = tagOf(await get(path));
    const statuses = await Promise.all(
      [`"x", ${etag}`, `W/${etag}`, '*', '"x"', 'x', ''].map(async (known) => (await get(path, known)).status),
    );
    expect(statuses).toEqual([304, 304, 304, 200, 200, 200]);
  });

  it('says nothing to a caller who has lost the right', async () => {
    const etag = tagOf(await get(path));
    facade.kube.allow(() => false);
    facade.clock.ms += 11_000;
    expect((await get(path, etag)).status).toBe(403);
  });

  it('logs such an answer at debug, and counts it', async () => {
    const etag = tagOf(await get(path));
    facade.answers.splice(0);
    await get(path, etag);
    expect(facade.answers.map(({ code }) => code)).toEqual([304]);
    expect(facade.log()).toMatch(/\{"level":20,[^\n]*"status":304,/);
  });
});

it('changes with the status, and is the same in every process', async () => {
  const other = await makeFacade();
  const [record] = facade.records.list();
  if (record !== undefined) other.seed(record);
  for (const revision of facade.revisions.list()) other.revisions.put(revision);
  for (const path of ['/v2/deployments', `/v2/deployments/${id}`, `/v2/deployments/${id}/revisions`]) {
    const etag = tagOf(await get(path));
    expect((await other.call('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304);
  }
  const [list, one] = await Promise.all(['/v2/deployments', '/v2/deployments/ID'].map((path) => get(path)));
  becomesReady();
  expect((await get('/v2/deployments', tagOf(list))).status).toBe(200);
  expect((await get('/v2/deployments/ID', tagOf(one))).status).toBe(200);
});

it('of a list is of the page that the query asks for', async () => {
  await facade.call('POST', '/v2/deployments', aBody({ name: 'other' }));
  const answers = await Promise.all(
    ['', '?limit=1', '?limit=1&offset=1', '?name=shop', '?name=other', '?name=none', '?name=none&offset=1'].map(
      (query) => get(`/v2/deployments${query}`),
    ),
  );
  const bodies = new Set(answers.map(({ body }) => JSON.stringify(body)));
  expect(bodies.size).toBe(6);
  expect(new Set(answers.map(({ headers }) => headers['etag'])).size).toBe(6);
});

it('of a deployment with values of secrets is of no use to If-None-Match', async () => {
  await facade.call('PUT', `/v2/deployments/${id}/secrets/TOKEN`, { value: 'sesame' });
  const whole = await get('/v2/deployments/ID');
  expect((await get('/v2/deployments/ID', tagOf(whole))).status).toBe(200);
  const names = await get('/v2/deployments/ID?secrets=names');
  expect((await get('/v2/deployments/ID?secrets=names', tagOf(names))).status).toBe(304);
  expect((await get('/v2/deployments/ID', tagOf(names))).body.secrets[0].value).toBe('sesame');
});

it('of one tenant says nothing to another', async () => {
  const etag = tagOf(await get('/v2/deployments/ID'));
  const elsewhere = await get('/v2/deployments/ID', etag, { 'x-tenant-id': OTHER_TENANT.id });
  expect(elsewhere.status).toBe(404);
});
