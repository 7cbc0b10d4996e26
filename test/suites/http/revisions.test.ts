// /v2/deployments/{id}/revisions over an in-memory API server.

import { beforeEach, describe, expect, it } from 'vitest';
import { Revision, RevisionDiff, RevisionList } from '../../../src/deploy/http/revisions/payloads.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { type Answer, aBody, type Facade, makeFacade, SOMEBODY } from './facade.ts';

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  await make();
});

const MISSING = '12345678-1234-4234-8234-123456789012';
const image = (tag: string): object => ({ source_revision_config: { image_uri: `registry.example/app:${tag}` } });
const DEPLOYED = {
  state: 'DEPLOYED',
  message: 'The rollout of this revision has finished.',
  stateChangedAt: '2026-01-01T00:10:00Z',
} as const;

async function make(more: object = {}): Promise<void> {
  const { status, body } = await facade.call('POST', '/v2/deployments', aBody(more));
  expect(status).toBe(201);
  id = body.id;
  facade.kube.writes.splice(0);
}
const patch = (body: unknown): Promise<Answer> => facade.call('PATCH', `/v2/deployments/${id}`, body);
const get = (rest = ''): Promise<Answer> => facade.call('GET', `/v2/deployments/${id}/revisions${rest}`);
const post = (rest = '', body?: unknown): Promise<Answer> =>
  facade.call('POST', `/v2/deployments/${id}/revisions${rest}`, body);
const serial = (n: number): string => serialRevisionId(id, n);
const stored = (): AppDeployment | undefined => facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0];

async function states(rest = ''): Promise<string> {
  const { status, body } = await get(rest);
  expect(status).toBe(200);
  expect(RevisionList.parse(body)).toEqual(body);
  const told = body.resources.map((one: Revision) => {
    const n = Array.from({ length: 200 }, (_, at) => at).find((at) => serial(at) === one.id);
    return `${n ?? 'edit'} ${one.status}`;
  });
  return `${told.join(', ')} | ${body.offset}`;
}

it('a body of null is not a missing body: nothing is deployed', async () => {
  const { status, body } = await post('', 'null');
  expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc: ['body'], msg: 'must be an object' })]]);
  expect(facade.kube.writes.filter(({ kind }) => kind === 'AppDeployment')).toEqual([]);
});

describe('list and get', () => {
  it("shows a revision that the controller has not created, with the record's values", async () => {
    const { body } = await get();
    const config = {
      repo_ref: null,
      workflow_config_path: null,
      image_uri: 'registry.example/app:1',
      source_tarball_path: null,
      davit_file: null,
      repo_commit_sha: null,
    };
    const waiting = {
      id: serial(1),
      name: `shop--${serial(1).slice(0, 8)}`,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      status: 'CREATING',
      status_message: 'The controller has not created this revision yet.',
      requested_by: 'somebody',
      interrupted_by: null,
      commit_author: null,
      commit_message: null,
      source: 'external_docker',
      source_revision_config: config,
      image: null,
      rollback_to: null,
      changes: null,
      from_file: null,
    };
    expect(body).toEqual({ resources: [waiting], offset: 1 });
    expect((await get(`/${serial(1).toUpperCase()}`)).body).toEqual(waiting);
    facade.snapshot(DEPLOYED);
    expect((await get(`/${serial(1)}`)).body).toEqual({
      ...waiting,
      updated_at: DEPLOYED.stateChangedAt,
      status: 'DEPLOYED',
      status_message: DEPLOYED.message,
      image: 'registry.example/app:1',
    });
  });

  it('newest first: waiting, created, and never created, by page and by status', async () => {
    facade.snapshot(DEPLOYED);
    await patch(image('2'));
    facade.snapshot();
    await patch(image('3'));
    await patch(image('4'));
    facade.snapshot({ state: 'DEPLOYING' });
    await patch(image('5'));
    expect(await states()).toBe('5 CREATING, 4 DEPLOYING, 3 SKIPPED, 2 CREATING, 1 DEPLOYED | 5');
    expect(await states('?limit=2')).toBe('5 CREATING, 4 DEPLOYING | 2');
    expect(await states('?limit=2&offset=3')).toBe('2 CREATING, 1 DEPLOYED | 5');
    expect(await states('?offset=9')).toBe(' | 9');
    expect(await states('?status=DEPLOYED,%20SKIPPED')).toBe('3 SKIPPED, 1 DEPLOYED | 2');
    expect(await states('?status=DEPLOYED&status=SKIPPED&limit=1')).toBe('3 SKIPPED | 1');
    const { body } = await get(`/${serial(3)}`);
    expect(Revision.parse(body)).toEqual(body);
    expect(body).toMatchObject({ status: 'SKIPPED', source_revision_config: { image_uri: null } });
  });

  it('has what each changed, where it is asked for', async () => {
    const first = facade.snapshot(DEPLOYED);
    await patch(image('2'));
    facade.snapshot(DEPLOYED);
    await patch(image('3'));
    const { body } = await get('?changes=true');
    const field = { field: 'source_revision_config.image_uri', kind: 'changed' };
    const [from, to] = ['registry.example/app:1', 'registry.example/app:2'];
    expect(body.resources.map((one: Revision) => one.changes)).toEqual([
      null,
      { since: first.spec.id, may_lack_earlier: false, fields: [{ ...field, from, to }] },
      { since: null, may_lack_earlier: false, fields: [] },
    ]);
    expect((await get('?changes=true&limit=1&offset=1')).body.resources).toEqual([body.resources[1]]);
    expect((await get()).body.resources[1].changes).toBeNull();
  });

  it('an edit with kubectl is a revision too', async () => {
    facade.snapshot(DEPLOYED);
    const record = stored();
    if (record === undefined) throw new Error('no record');
    facade.records.put({
      ...record,
      metadata: { ...record.metadata, generation: 7 },
      spec: { ...record.spec, sourceRevisionConfig: { imageUri: 'registry.example/app:9' } },
    });
    expect(await states()).toBe('edit CREATING, 1 DEPLOYED | 2');
  });

  it('skipped serials do not make the list endless', async () => {
    facade.snapshot(DEPLOYED);
    const record = stored();
    if (record === undefined) throw new Error('no record');
    facade.records.put({ ...record, spec: { ...record.spec, revisionSerial: Number.MAX_SAFE_INTEGER } });
    expect((await get('?limit=100')).body.resources.length).toBe(100);
    expect((await get('?limit=100&offset=100')).body.resources.length).toBe(2);
  });

  it('is empty before the first image is pushed', async () => {
    facade = await makeFacade({ hosting: 'cloud' });
    await make({ source: 'internal_docker', source_revision_config: {} });
    expect(await states()).toBe(' | 0');
    await patch(image('1'));
    expect(await states()).toBe('1 CREATING | 1');
  });

  it.each([
    [`/${MISSING}`, 404, `Revision ID ${MISSING} not found.`],
    ['/x', 422, [{ loc: ['path', 'revision_id'], msg: 'must be a UUID', type: 'string_pattern_mismatch' }]],
    ['?limit=0', 422, [{ loc: ['query', 'limit'], msg: 'must be at least 1', type: 'greater_than_equal' }]],
    ['?status=', 422, [{ loc: ['query', 'status'], msg: 'must not be empty', type: 'too_short' }]],
    [
      '?limit=1&limit=2',
      422,
      [{ loc: ['query', 'limit'], msg: 'must not be given more than once', type: 'value_error' }],
    ],
    [
      '?status=DEPLOYED,ready',
      422,
      [
        {
          loc: ['query', 'status', 1],
          msg: 'must be one of CREATING, QUEUED, AWAITING_BUILD, BUILDING, AWAITING_DEPLOY, DEPLOYING, DEPLOYED, CREATE_FAILED, BUILD_FAILED, DEPLOY_FAILED, SKIPPED, INTERRUPTED, UNKNOWN',
          type: 'enum',
        },
      ],
    ],
  ])('%s', async (rest, status, detail) => {
    const answer = await get(rest);
    expect([answer.status, answer.body]).toEqual([status, { detail }]);
  });

  it('of a missing deployment is 404', async () => {
    id = MISSING;
    expect((await get()).body).toEqual({ detail: `Deployment ID ${MISSING} not found.` });
  });
});

describe('a new revision', () => {
  it.each<[string, unknown, object]>([
    ['of the same', {}, {}],
    ['without a body', undefined, {}],
    ['of a new image', image('2'), { sourceRevisionConfig: { imageUri: 'registry.example/app:2' } }],
    ['of a new address', { source_config: { custom_url: 'a.example' } }, { sourceConfig: { customUrl: 'a.example' } }],
  ])('%s', async (_name, body, spec) => {
    facade.snapshot(DEPLOYED);
    const answer = await post('', body);
    expect([answer.status, answer.body]).toMatchObject([201, { id: serial(2), status: 'CREATING' }]);
    expect(stored()?.spec).toMatchObject({ ...spec, revisionSerial: 2 });
    expect(facade.writes().map(({ verb, dryRun }) => [verb, dryRun])).toEqual([['patch', undefined]]);
    expect(await states()).toBe('2 CREATING, 1 DEPLOYED | 2');
  });

  it('without an image or source is 409', async () => {
    facade = await makeFacade({ hosting: 'cloud' });
    await make({ source: 'internal_docker', source_revision_config: {} });
    const answer = await post('', {});
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      'The deployment has no image or source yet, so there is nothing to deploy. First push an image or upload a source.',
    ]);
    expect((await post('', image('1'))).body.id).toBe(serial(1));
  });

  it.each<[string, unknown, string, string]>([
    ['another name', { name: 'x' }, 'body.name', 'cannot be changed after creation'],
    ['a list', [], 'body', 'must be an object'],
    [
      'an image that is none',
      image('a b'),
      'body.source_revision_config.image_uri',
      'must be an image reference such as registry.example.com/team/app:1.2, with the path in lower case',
    ],
  ])('with %s', async (_name, body, where, msg) => {
    const answer = await post('', body);
    expect([
      answer.status,
      answer.body.detail.map((one: { loc: string[]; msg: string }) => [one.loc.join('.'), one.msg]),
    ]).toEqual([422, [[where, msg]]]);
    expect(facade.kept()).toEqual([]);
  });
});

describe('diff', () => {
  it('has the fields that a rollback would change, under the names of the API, and no value of a secret', async () => {
    await patch({ secrets: [{ name: 'API_KEY', value: 'one-canary' }] });
    const old = facade.snapshot(DEPLOYED);
    await patch({
      ...image('2'),
      secrets: [{ name: 'API_KEY', value: 'two-canary' }],
      source_config: {
        resource_spec: { db_storage_gi: 20, max_scale: 4, labels: { costCenter: 'a' } },
        runtime: {
          server: { health_path: '/live' },
          workers: { jobs: { command: ['jobs'], memory_mb: 256 } },
          env_names: { MY_DB: 'postgres_uri' },
        },
        tasks: [{ name: 'clean', command: ['clean'], timeout_seconds: 60 }],
      },
    });
    const newest = facade.snapshot(DEPLOYED);
    const { status, body } = await get(`/${old.spec.id}/diff`);
    expect([status, body.from, body.to]).toEqual([200, newest.spec.id, old.spec.id]);
    expect(RevisionDiff.parse(body)).toEqual(body);
    expect(body.changes).toEqual([
      { field: 'parts', kind: 'changed', from: 'server, jobs', to: 'server' },
      { field: 'resource_spec.db_storage_gi', kind: 'removed', from: '20', to: null },
      { field: 'resource_spec.labels.costCenter', kind: 'removed', from: 'a', to: null },
      { field: 'runtime.env_names.MY_DB', kind: 'removed', from: 'postgres_uri', to: null },
      { field: 'runtime.server.health_path', kind: 'removed', from: '/live', to: null },
      { field: 'runtime.workers.jobs.command', kind: 'removed', from: '["jobs"]', to: null },
      { field: 'runtime.workers.jobs.memory_mb', kind: 'removed', from: '256', to: null },
      { field: 'secrets.API_KEY', kind: 'changed', from: null, to: null },
      {
        field: 'source_revision_config.image_uri',
        kind: 'changed',
        from: 'registry.example/app:2',
        to: 'registry.example/app:1',
      },
      { field: 'tasks[clean].command', kind: 'removed', from: '["clean"]', to: null },
      { field: 'tasks[clean].timeout_seconds', kind: 'removed', from: '60', to: null },
    ]);
    expect(JSON.stringify(body)).not.toContain('canary');
    const back = await get(`/${newest.spec.id}/diff?from=${old.spec.id}`);
    expect(back.body.changes).toHaveLength(11);
    expect((await get(`/${newest.spec.id}/diff`)).body.changes).toEqual([]);
  });

  it('of a revision that was never created is 409, and of an unknown one 404', async () => {
    const never = await get(`/${serial(1)}/diff`);
    expect([never.status, never.body.detail]).toEqual([
      409,
      `Revision ID ${serial(1)} is CREATING and was never created, so it has no values to compare.`,
    ]);
    const made = facade.snapshot(DEPLOYED);
    expect((await get(`/${MISSING}/diff`)).status).toBe(404);
    expect((await get(`/${made.spec.id}/diff?from=${MISSING}`)).status).toBe(404);
    expect((await get(`/${made.spec.id}/diff?from=x`)).status).toBe(422);
  });
});

describe('rollback', () => {
  const rollback = (): Promise<Answer> => facade.call('GET', `/v2/deployments/${id}/rollback`);

  it('is the revision that it takes by default, with what it changes', async () => {
    const old = facade.snapshot(DEPLOYED);
    expect(await rollback()).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/^No earlier revision was deployed\. .* --to REVISION$/) },
    });
    await patch(image('2'));
    const newest = facade.snapshot(DEPLOYED);
    const { status, body } = await rollback();
    expect([status, RevisionDiff.parse(body)]).toMatchObject([200, { from: newest.spec.id, to: old.spec.id }]);
    expect(body).toEqual((await get(`/${old.spec.id}/diff`)).body);
  });
});

describe('redeploy', () => {
  it('writes the old requested values, rollbackTo and a new serial', async () => {
    await patch({ secrets: [{ name: 'KEY', value: 'one' }] });
    const old = facade.snapshot(DEPLOYED);
    await patch({
      ...image('2'),
      secrets: [{ name: 'KEY', value: 'two' }],
      source_config: { custom_url: 'a.example', resource_spec: { cpu: 2 } },
    });
    facade.snapshot(DEPLOYED);
    const { status, body } = await post(`/${old.spec.id}/redeploy`);
    expect([status, body.detail]).toEqual([200, undefined]);
    expect(body).toMatchObject({
      latest_revision_id: serial(4),
      image_version: '1',
      secrets: [{ name: 'KEY', value: 'one' }],
      source_config: { custom_url: 'https://a.example', resource_spec: { cpu: 0.25 } },
    });
    expect(stored()?.spec).toMatchObject({
      sourceConfig: { customUrl: 'a.example' },
      rollbackTo: old.spec.id,
      revisionSerial: 4,
      secrets: old.spec.requested.secrets,
    });
    expect(facade.snapshot().spec.resolved).toEqual(old.spec.resolved);
  });

  it('takes no fields: one that is sent is named, or refused before anything is written', async () => {
    const old = facade.snapshot(DEPLOYED);
    const path = `/${old.spec.id}/redeploy`;
    const before = facade.writes().length;
    const strict = await post(`${path}?fieldValidation=Strict`, { secrets: [] });
    const finding = { loc: ['body', 'secrets'], msg: 'is read-only', type: 'read_only' };
    expect([strict.status, strict.body.detail, facade.writes().length]).toEqual([422, [finding], before]);
    expect((await post(path, { secrets: [] })).body.warnings).toEqual([finding]);
    expect((await post(path, {})).body.warnings).toBeUndefined();
  });

  it('of one that was never created is 409', async () => {
    const waiting = await post(`/${serial(1)}/redeploy`);
    expect([waiting.status, waiting.body.detail]).toEqual([
      409,
      `Revision ID ${serial(1)} is CREATING and was never created, so it has no values to roll back to.`,
    ]);
  });

  it.each([
    [`/${MISSING}/redeploy`, 404],
    ['/x/redeploy', 422],
  ])('%s', async (rest, status) => {
    expect((await post(rest)).status).toBe(status);
    expect(facade.writes()).toEqual([]);
  });
});

describe('who asked for it', () => {
  const claim = (): string | undefined => stored()?.metadata.annotations?.['davit.dev/requested-by'];

  it('is the caller of the write that makes the revision', async () => {
    expect(claim()).toBe('new 1 somebody');
    facade.snapshot(DEPLOYED);
    expect((await get(`/${serial(1)}`)).body).toMatchObject({ requested_by: 'somebody' });
    facade.kube.know(() => 'anna');
    const headers = { ...SOMEBODY, 'x-api-key': 'token-of-anna' };
    const { status } = await facade.call('PATCH', `/v2/deployments/${id}`, image('2'), headers);
    expect(status).toBe(200);
    expect(claim()).toBe(`${id} 2 anna`);
    facade.snapshot(DEPLOYED);
    const { body } = await get();
    expect(body.resources.map((one: Revision) => one.requested_by)).toEqual(['anna', 'somebody']);
  });

  it('is not the caller of an earlier write where a change does not say it', async () => {
    facade.snapshot(DEPLOYED);
    const record = stored();
    if (record === undefined) throw new Error('no record');
    const { metadata, spec } = record;
    const changed = { ...spec, sourceRevisionConfig: { imageUri: 'registry.example/app:3' } };
    facade.seed({ metadata: { ...metadata, generation: 2 }, spec: changed });
    facade.records.fill();
    const { body } = await get();
    expect(body.resources.map((one: Revision) => one.requested_by)).toEqual([null, 'somebody']);
  });

  it('is not known of a caller whose name the API server does not say', async () => {
    facade.kube.know(() => '');
    const headers = { ...SOMEBODY, 'x-api-key': 'token-without-a-name' };
    expect((await facade.call('PATCH', `/v2/deployments/${id}`, image('2'), headers)).status).toBe(200);
    expect(claim()).toBe('new 1 somebody');
  });
});
