// /v2/deployments over an in-memory API server: what is answered, and what reaches the API server, in which order.

import { beforeEach, describe, expect, it } from 'vitest';
import { fileFindings } from '../../../src/deploy/http/deployment-file.ts';
import { Deployment, DeploymentList } from '../../../src/deploy/http/payloads.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { AlreadyExists, Conflict, Forbidden, Invalid, Unauthorized, Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN, WRITES_AT_ONCE } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

const MISSING = '12345678-1234-4234-8234-123456789012';
const values = [
  { name: 'KEY', value: 'canary-of-a-value' },
  { name: 'EMPTY', value: '' },
];

function said(): string[] {
  return facade
    .writes()
    .map(({ verb, kind, dryRun, error }) =>
      [verb, kind, dryRun === true && 'dry run', error].filter(Boolean).join(' '),
    );
}

describe('create', () => {
  it('answers with the whole deployment', async () => {
    const { status, body } = await facade.call(
      'POST',
      '/v2/deployments',
      aBody({
        secrets: values,
        source_config: { custom_url: 'shop.example', resource_spec: { cpu: 0.5, queue_max_scale: 3 } },
        source_revision_config: { image_uri: 'host:5000/app:1.2' },
      }),
    );
    expect(status).toBe(201);
    expect(Deployment.parse(body)).toEqual(body);
    expect(body).toMatchObject({
      tenant_id: TENANT.id,
      name: 'shop',
      source: 'external_docker',
      secrets: values,
      secret_references: null,
      status: 'AWAITING_DATABASE',
      latest_revision_id: serialRevisionId(body.id, 1),
      active_revision_id: null,
      image_version: '1.2',
      tracing_project_deletion_policy: 'Retain',
      database_claim: null,
      internal_url: null,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      changed_by: 'somebody',
      source_revision_config: {
        repo_ref: null,
        workflow_config_path: null,
        image_uri: 'host:5000/app:1.2',
        source_tarball_path: null,
        repo_commit_sha: null,
      },
    });
    expect(body.source_config).toMatchObject({
      custom_url: 'https://shop.example',
      deployment_type: null,
      listener_config: null,
    });
    expect(body.source_config.resource_spec).toMatchObject({
      cpu: 0.5,
      cpu_limit: 1,
      memory_mb: 512,
      queue_cpu: 0.5,
      queue_max_scale: 3,
      executor_cpu: null,
      db_storage_gi: 10,
      labels: null,
      volumes: [],
      sidecars: [],
    });
  });

  it("dry-runs the record, then creates the Secret and the record, with the caller's token", async () => {
    await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    const [dryRun, secret, record] = facade.writes();
    expect(said()).toEqual(['create AppDeployment dry run', 'create Secret', 'create AppDeployment']);
    expect(facade.kube.writes.every(({ token }) => token === TOKEN)).toBe(true);
    expect(facade.writes().every(({ fieldManager }) => fieldManager === 'davit-api')).toBe(true);
    expect(secret?.body).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'shop--vars-r4nd0m',
        namespace: 'team-a',
        labels: { 'davit.dev/deployment': 'shop', 'davit.dev/variables': '' },
      },
      type: 'Opaque',
      immutable: true,
      data: { KEY: btoa('canary-of-a-value'), EMPTY: '' },
    });
    expect(record?.body).toEqual(dryRun?.body);
    expect(record?.body).toMatchObject({
      spec: {
        revisionSerial: 1,
        secrets: [
          { name: 'KEY', secretName: 'shop--vars-r4nd0m', secretKey: 'KEY' },
          { name: 'EMPTY', secretName: 'shop--vars-r4nd0m', secretKey: 'EMPTY' },
        ],
      },
    });
  });

  it('creates no Secret without values, and stores references, pod parts and extensions unchanged', async () => {
    const sidecars = [
      {
        name: 's',
        image: 'i',
        volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }],
        securityContext: { runAsNonRoot: true },
      },
    ];
    const body = aBody({
      source_config: {
        deployment_type: 'prod',
        resource_spec: {
          volumes: [{ name: 'v', emptyDir: {} }],
          sidecars,
          labels: { some_key: 'x' },
          service_account_name: 'runner',
        },
      },
      secret_references: [{ name: 'TOKEN', secret_name: 'mine', secret_key: 'token' }],
    });
    const { status, body: answer } = await facade.call('POST', '/v2/deployments', body);
    expect(status).toBe(201);
    // No value of a secret is sent, so no Secret could be left behind by what is refused.
    expect(said()).toEqual(['create AppDeployment']);
    expect(facade.writes()[0]?.body).toMatchObject({
      spec: {
        sourceConfig: {
          deploymentType: 'prod',
          resourceSpec: {
            volumes: [{ name: 'v', emptyDir: {} }],
            sidecars,
            labels: { some_key: 'x' },
            serviceAccountName: 'runner',
          },
        },
        secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }],
      },
    });
    expect(answer).toMatchObject({
      secret_references: body['secret_references'],
      source_config: { deployment_type: 'prod', resource_spec: { sidecars, cpu: 1, max_scale: 10 } },
    });
  });

  it('stores and returns deployment type dev_zero as dev', async () => {
    const { status, body } = await facade.call(
      'POST',
      '/v2/deployments',
      aBody({ source_config: { deployment_type: 'dev_zero' } }),
    );
    expect([status, body.source_config.deployment_type]).toEqual([201, 'dev']);
    expect(facade.writes()[0]?.body).toMatchObject({ spec: { sourceConfig: { deploymentType: 'dev' } } });
  });

  it('ignores a commit in the request', async () => {
    const source_revision_config = { image_uri: 'host:5000/app:1.2', repo_commit_sha: 'f'.repeat(40) };
    const { status, body } = await facade.call('POST', '/v2/deployments', aBody({ source_revision_config }));
    expect([status, body.source_revision_config.repo_commit_sha]).toEqual([201, null]);
  });

  it('a list immediately afterwards contains it', async () => {
    await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    const { body } = await facade.call('GET', '/v2/deployments');
    expect(body.resources).toMatchObject([
      {
        name: 'shop',
        secrets: [
          { name: 'KEY', value: '' },
          { name: 'EMPTY', value: '' },
        ],
      },
    ]);
  });

  it('a taken name is 409, whether the dry run or the write finds it', async () => {
    facade.seed({ metadata: { name: 'shop' } });
    const { status, body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    const detail =
      'A deployment named "shop" already exists. Choose another name. If the answer to an earlier request was lost, GET /v2/deployments?name=shop shows what it created.';
    expect([status, body]).toEqual([409, { detail }]);
    expect(facade.kube.objects(SECRETS)).toEqual([]);
  });

  it('a request that is repeated after its answer was lost creates nothing', async () => {
    facade.kube.failAfter(({ kind, dryRun }) =>
      kind === 'AppDeployment' && dryRun !== true ? new Unavailable('no answer') : undefined,
    );
    const repeated = (): ReturnType<Facade['call']> =>
      facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    expect((await repeated()).status).toBe(503);
    facade.kube.failAfter(undefined);
    const [first] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
    const secrets = facade.kube.objects(SECRETS);
    expect((await repeated()).status).toBe(409);
    expect(facade.kube.objects(APP_DEPLOYMENTS)).toEqual([first]);
    expect(facade.kube.objects(SECRETS)).toEqual(secrets);
  });

  it('also while the old one is being deleted', async () => {
    facade.seed({
      metadata: { name: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['davit.dev/teardown'] },
    });
    const { status, body } = await facade.call('POST', '/v2/deployments', aBody());
    expect([status, body]).toEqual([
      409,
      {
        detail:
          'A deployment named "shop" already exists. It is being deleted, and its name becomes free when the deletion is complete.',
      },
    ]);
  });

  it.each([
    ['AlreadyExists', new AlreadyExists('create', { serverMessage: 'taken' }), 409, true],
    ['Forbidden', new Forbidden('create', { serverMessage: 'exceeded quota' }), 403, true],
    [
      'Unavailable: the record may be there or be made yet',
      new Unavailable('create', { retryAfterMs: 2500 }),
      503,
      false,
    ],
  ])('deletes the Secret when the record is rejected: %s', async (_name, error, status, removed) => {
    facade.kube.failOn(({ kind, verb, dryRun }) =>
      kind === 'AppDeployment' && verb === 'create' && dryRun !== true ? error : undefined,
    );
    const answer = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    expect(answer.status).toBe(status);
    expect(facade.kube.objects(SECRETS).length).toBe(removed ? 0 : 1);
    if (removed)
      expect(facade.writes().at(-1)).toMatchObject({
        verb: 'delete',
        kind: 'Secret',
        body: { uid: expect.any(String), resourceVersion: expect.any(String) },
      });
    else expect(answer.headers['retry-after']).toBe('3');
  });

  it('a Secret that the caller may not delete is left for collection', async () => {
    facade.kube.failOn(({ kind, verb, dryRun }) =>
      (kind === 'AppDeployment' && dryRun !== true && verb === 'create') || verb === 'delete'
        ? new Forbidden('no', { serverMessage: 'no' })
        : undefined,
    );
    expect((await facade.call('POST', '/v2/deployments', aBody({ secrets: values }))).status).toBe(403);
    expect(facade.log()).toContain('Could not delete a Secret with values, the controller will delete it');
  });

  it.each([
    [
      'RBAC',
      new Forbidden('x', { serverMessage: 'appdeployments.davit.dev is forbidden: User "u" cannot create' }),
      403,
      'appdeployments.davit.dev is forbidden: User "u" cannot create',
    ],
    [
      'a rule of the CRD',
      new Invalid(
        'x',
        [
          {
            field: 'spec.sourceConfig.resourceSpec.memoryLimitMb',
            message: 'Invalid value: too low',
            reason: 'FieldValueInvalid',
          },
        ],
        { serverMessage: 'whole' },
      ),
      422,
      [
        {
          loc: ['body', 'source_config', 'resource_spec', 'memory_limit_mb'],
          msg: 'too low',
          type: 'value_error',
        },
      ],
    ],
    [
      'pod parts',
      new Invalid('x', [
        {
          field: 'spec.sourceConfig.resourceSpec.initContainers[2].volumeMounts[0].mountPath',
          message: 'm',
          reason: 'FieldValueRequired',
        },
      ]),
      422,
      [
        {
          loc: ['body', 'source_config', 'resource_spec', 'init_containers', 2, 'volumeMounts', 0, 'mountPath'],
          msg: 'm',
          type: 'missing',
        },
      ],
    ],
    [
      'the name',
      new Invalid('x', [{ field: 'metadata.name', message: 'm', reason: 'FieldValueInvalid' }]),
      422,
      [{ loc: ['body', 'name'], msg: 'm', type: 'value_error' }],
    ],
    [
      'an admission policy',
      new Invalid('x', [], { serverMessage: 'ValidatingAdmissionPolicy denied it: because' }),
      422,
      [{ loc: ['body'], msg: 'ValidatingAdmissionPolicy denied it: because', type: 'value_error' }],
    ],
    [
      'a token that is not known',
      new Unauthorized('x', { serverMessage: 'Unauthorized' }),
      401,
      'The Kubernetes API server does not accept this token, or it has expired. Send another one.',
    ],
    [
      'an outage',
      new Unavailable('create: connect ECONNREFUSED 10.0.0.1:6443'),
      503,
      'The Kubernetes API server does not answer or is overloaded. Try again in 1 s.',
    ],
    ['a conflict', new Conflict('x', { serverMessage: 'changed meanwhile' }), 409, 'changed meanwhile'],
    [
      'what nobody foresaw',
      new TypeError('secret inside at 10.0.0.1'),
      500,
      "Internal error. Davit's log has the details under the x-request-id of this answer.",
    ],
  ])("a dry run's rejection by %s is answered, and nothing is created", async (_name, error, status, detail) => {
    facade.kube.failOn(({ dryRun }) => (dryRun === true ? error : undefined));
    const answer = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    expect([answer.status, answer.body]).toEqual([status, { detail }]);
    expect(facade.kube.objects(SECRETS)).toEqual([]);
  });

  it.each([
    ['max_scale 0', aBody({ source_config: { resource_spec: { max_scale: 0 } } }), 'self-hosted', true],
    ['an image still to be pushed', aBody({ source: 'internal_docker', source_revision_config: {} }), 'cloud', false],
  ] as const)('is UNUSED with %s', async (_name, body, hosting, hasRevision) => {
    facade = await makeFacade({ hosting });
    const answer = await facade.call('POST', '/v2/deployments', body);
    expect(answer.body.status).toBe('UNUSED');
    expect(answer.body.latest_revision_id !== null).toBe(hasRevision);
  });

  it('of many at once, each finishes before the next one begins', async () => {
    const begun = new Set<string>();
    let most = 0;
    facade.kube.failOn(async ({ kind, dryRun, ref }) => {
      if (kind !== 'AppDeployment') return undefined;
      if (dryRun === true) begun.add(ref.name);
      most = Math.max(most, begun.size);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (dryRun !== true) begun.delete(ref.name);
      return undefined;
    });
    const names = Array.from({ length: 12 }, (_, index) => `shop-${index}`);
    const answers = await Promise.all(
      names.map((name) => facade.call('POST', '/v2/deployments', aBody({ name, secrets: values }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(most).toBe(WRITES_AT_ONCE);
  });
});

describe('list', () => {
  const uid = (n: number): string => `eeeeeeee-0000-4000-8000-0000000000${n}`;
  const tag = 'dddddddd-1111-4111-8111-111111111111';

  beforeEach(() => {
    const plain = { imageUri: 'r.example/a:1' };
    const base = {
      source: 'external_docker',
      secrets: [],
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
      revisionSerial: 1,
    } as const;
    const at = (n: number, name: string, time: string, more: object = {}): object => ({
      metadata: { name, uid: uid(n), creationTimestamp: `2026-01-01T00:00:0${time}Z`, ...more },
    });
    const add = (record: object, spec: object = {}, status?: object): void =>
      void facade.seed({
        ...record,
        spec: { ...base, sourceConfig: {}, sourceRevisionConfig: plain, ...spec },
        ...(status && { status }),
      } as never);
    add(at(10, 'oldest', '1'), {}, { state: 'READY' });
    add(at(13, 'tie-b', '2', { labels: { [`tag.davit.dev/${tag}`]: '' } }), {
      sourceConfig: { deploymentType: 'dev_zero' },
    });
    add(at(12, 'tie-a', '2'), { sourceConfig: { deploymentType: 'prod' } });
    add(at(14, 'leaving', '3', { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['davit.dev/teardown'] }));
    add(at(15, 'remote', '4'), { sourceConfig: { listenerId: uid(99), listenerConfig: { k8sNamespace: 'x' } } });
    add(at(16, 'newest', '5'), { sourceRevisionConfig: { imageUri: 'r.example/a@sha256:'.padEnd(83, 'a') } });
    facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } });
  });

  it.each([
    ['', 'newest remote leaving tie-a tie-b oldest', 6],
    ['limit=2', 'newest remote', 2],
    ['limit=2&offset=2', 'leaving tie-a', 4],
    ['offset=6', '', 6],
    ['offset=1000', '', 1000],
    ['offset=9007199254740991', '', Number.MAX_SAFE_INTEGER],
    ['name=oldest', 'oldest', 1],
    ['name=old', '', 0],
    ['name_contains=st', 'newest oldest', 2],
    ['name_contains=', 'newest remote leaving tie-a tie-b oldest', 6],
    ['status=READY', 'oldest', 1],
    ['status=AWAITING_DELETE', 'leaving', 1],
    ['status=AWAITING_DATABASE', 'newest tie-a tie-b', 3],
    ['status=UNKNOWN', 'remote', 1],
    ['remote_reconciled=true', 'remote', 1],
    ['remote_reconciled=false', 'newest leaving tie-a tie-b oldest', 5],
    [`tag_value_ids=${tag.toUpperCase()},${uid(10)}`, 'tie-b', 1],
    ['image_version=1', 'remote leaving tie-a tie-b oldest', 5],
    ['image_version=2', '', 0],
    ['deployment_type=prod', 'tie-a', 1],
    ['deployment_type=dev', 'tie-b', 1],
    ['deployment_type=dev_zero', 'tie-b', 1],
    [`deployment_ids=${uid(10)}, ${uid(16)},`, 'newest oldest', 2],
    [`deployment_ids=${uid(10)}&deployment_ids=${uid(16)}`, 'newest oldest', 2],
    ['name_contains=tie&deployment_type=prod', 'tie-a', 1],
  ])('?%s', async (query, names, offset) => {
    const { status, body } = await facade.call('GET', `/v2/deployments?${query}`);
    expect(status).toBe(200);
    expect([body.resources.map((one: { name: string }) => one.name).join(' '), body.offset]).toEqual([names, offset]);
    expect(DeploymentList.parse(body)).toEqual(body);
    expect(facade.writes()).toEqual([]);
  });

  it('shows later changes of a record, and each tenant its own', async () => {
    const query = '/v2/deployments?limit=100';
    const shown = async (): Promise<string[]> =>
      (await facade.call('GET', query)).body.resources.map((one: { name: string; status: string }) => one.status);
    expect(await shown()).toEqual(await shown());
    const record = facade.records.byUid(uid(10)) as AppDeployment;
    facade.records.put({ ...record, status: { state: 'UNKNOWN' } as never });
    expect((await shown()).at(-1)).toBe('UNKNOWN');
    facade.records.drop(uid(10));
    expect(await shown()).toHaveLength(5);
    const other = await facade.call('GET', query, undefined, { 'x-tenant-id': OTHER_TENANT.id });
    expect(other.body.resources.map((one: { name: string }) => one.name)).toEqual(['foreign']);
  });

  it('shows a revision that was created since the last list', async () => {
    const { body: made } = await facade.call('POST', '/v2/deployments', aBody());
    const first = async (): Promise<{ active_revision_id: string | null }> =>
      (await facade.call('GET', '/v2/deployments?name=shop')).body.resources[0];
    expect((await first()).active_revision_id).toBeNull();
    const record = facade.records.byUid(made.id) as AppDeployment;
    const wanted = wantedRevision(record, [], defaultSettings());
    if (!('create' in wanted)) throw new Error('nothing to make');
    facade.revisions.put({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppRevision',
      metadata: { name: 'r', uid: uid(50), namespace: TENANT.namespace, labels: { 'davit.dev/deployment': 'shop' } },
      spec: wanted.create,
      status: { state: 'DEPLOYED' } as never,
    });
    expect((await first()).active_revision_id).toBe(made.latest_revision_id);
  });

  it('is 503 while the cache is not filled', async () => {
    facade.records.synced = false;
    const { status, headers } = await facade.call('GET', '/v2/deployments');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
  });
});

describe('get', () => {
  it("reads the values with the caller's token", async () => {
    const { body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    const tokens: unknown[] = [];
    facade.kube.failOn(({ kind, token }) => void (kind === 'Secret' && tokens.push(token)));
    const { status, body: got } = await facade.call('GET', `/v2/deployments/${body.id}`);
    expect([status, got]).toEqual([200, body]);
    expect(tokens).toEqual([TOKEN]);
  });

  it('answers with the davit.yaml that it comes from, and with no value of a secret', async () => {
    const { body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    const file = await facade.call('GET', `/v2/deployments/${body.id}/file`);
    expect(file.status).toBe(200);
    expect(file.body).toMatchObject({ name: 'shop', source: 'external_docker', secrets: ['KEY', 'EMPTY'] });
    expect(fileFindings(file.body)).toEqual([]);
  });

  it('shows "" to a caller who may not read them', async () => {
    const { body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }));
    facade.kube.failOn(({ kind }) => (kind === 'Secret' ? new Forbidden('no') : undefined));
    const { body: got } = await facade.call('GET', `/v2/deployments/${body.id.toUpperCase()}`);
    expect(got.secrets).toEqual([
      { name: 'KEY', value: '' },
      { name: 'EMPTY', value: '' },
    ]);
  });

  it("another tenant's gets the same answer as a missing one", async () => {
    const foreign = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } });
    const answers = await Promise.all(
      [foreign.metadata.uid, MISSING].map((id) => facade.call('GET', `/v2/deployments/${id}`)),
    );
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [404, { detail: `Deployment ID ${foreign.metadata.uid} not found.` }],
      [404, { detail: `Deployment ID ${MISSING} not found.` }],
    ]);
  });

  it('finds a deployment that another replica just created, and lists it from then on', async () => {
    const made = facade.seed({ metadata: { name: 'shop' } });
    facade.records.drop(made.metadata.uid ?? '');
    expect((await facade.call('GET', `/v2/deployments/${made.metadata.uid}`)).status).toBe(200);
    expect((await facade.call('GET', '/v2/deployments')).body.resources.length).toBe(1);
  });

  it('lists at most once a second for a caller and tenant, and later lookups share the next list', async () => {
    let lists = 0;
    facade.kube.failOn(({ verb }) => void (verb === 'list' && (lists += 1)));
    const miss = (): Promise<unknown> => facade.call('GET', `/v2/deployments/${MISSING}`);
    await miss();
    expect([lists, facade.waits]).toEqual([1, []]);
    await Promise.all(Array.from({ length: 50 }, miss));
    expect([lists, facade.waits]).toEqual([2, [1000]]);
  });
});

describe('delete', () => {
  it('has a uid precondition, and the record is AWAITING_DELETE until it is gone', async () => {
    const record = facade.seed({ metadata: { name: 'shop', finalizers: ['davit.dev/teardown'] } });
    const path = `/v2/deployments/${record.metadata.uid}`;
    expect(await facade.call('DELETE', path, undefined, { 'content-type': 'application/json' })).toMatchObject({
      status: 204,
      body: undefined,
    });
    const { uid } = record.metadata;
    expect(facade.writes()).toMatchObject([
      { verb: 'delete', kind: 'AppDeployment', ref: { name: 'shop' }, body: { uid }, token: TOKEN },
    ]);
    expect((await facade.call('GET', path)).body).toMatchObject({ status: 'AWAITING_DELETE', changed_by: null });
    expect((await facade.call('DELETE', path)).status).toBe(204);
    facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
    expect((await facade.call('DELETE', path)).status).toBe(404);
    expect((await facade.call('GET', path)).status).toBe(404);
  });

  it('first requests the deletion of the tracing project', async () => {
    const record = facade.seed({ metadata: { name: 'shop' } });
    expect(
      (await facade.call('DELETE', `/v2/deployments/${record.metadata.uid}?delete_tracing_project=true`)).status,
    ).toBe(204);
    expect(facade.writes()).toMatchObject([
      {
        verb: 'patch',
        body: { metadata: { uid: record.metadata.uid }, spec: { tracingProjectDeletionPolicy: 'Delete' } },
        token: TOKEN,
      },
      { verb: 'delete' },
    ]);
    expect((await facade.call('GET', '/v2/deployments')).body.resources).toEqual([]);
  });

  it('leaves a new record of the same name alone', async () => {
    const old = facade.seed({ metadata: { name: 'shop' } });
    facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
    const recreated = facade.kube.seed<AppDeployment>(APP_DEPLOYMENTS, {
      ...old,
      metadata: { name: 'shop', namespace: TENANT.namespace },
    });
    expect((await facade.call('DELETE', `/v2/deployments/${old.metadata.uid}`)).status).toBe(404);
    expect(facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS).map(({ metadata }) => metadata.uid)).toEqual([
      recreated.metadata.uid,
    ]);
  });

  it("is rejected with the API server's message", async () => {
    const record = facade.seed({ metadata: { name: 'shop' } });
    facade.kube.failOn(({ verb }) =>
      verb === 'delete' ? new Forbidden('x', { serverMessage: 'User "u" cannot delete' }) : undefined,
    );
    const { status, body } = await facade.call('DELETE', `/v2/deployments/${record.metadata.uid}`);
    expect([status, body]).toEqual([403, { detail: 'User "u" cannot delete' }]);
  });

  it('deletes the version that it finds', async () => {
    const record = facade.seed({ metadata: { name: 'shop', finalizers: ['davit.dev/teardown'] } });
    // Somebody else changes it, and the cache does not know it yet.
    const spec = { ...record.spec, databaseDeletionPolicy: 'Retain' as const };
    facade.kube.seed(APP_DEPLOYMENTS, { ...record, spec });
    const path = `/v2/deployments/${record.metadata.uid}`;
    expect((await facade.call('DELETE', path)).status).toBe(204);
    expect((await facade.call('GET', path)).body).toMatchObject({ status: 'AWAITING_DELETE' });
  });
});

it('the log contains no token or value', async () => {
  const { body } = await facade.call('POST', '/v2/deployments', aBody({ secrets: values }), {
    authorization: 'Bearer bearer-canary',
  });
  await facade.call('GET', `/v2/deployments/${body.id}?token=query-canary`);
  facade.kube.failOn(() => new TypeError('broken'));
  await facade.call('POST', '/v2/deployments', aBody({ secrets: values }), { 'x-tenant-id': OTHER_TENANT.id });
  expect(facade.log()).toContain('"route":"/v2/deployments/:deployment_id"');
  expect(facade.log()).not.toMatch(/canary|Y2FuYXJ5/);
});

it('tags are labels of the record: set, replaced, removed and filtered by', async () => {
  const [one, two] = ['0B9F9A5E-2C55-4B0A-9D3A-6F8E2A5C7D11', '6f1d2c3b-4a5e-4f60-8b7a-9c8d7e6f5a40'];
  const label = (tag: string): string => `tag.davit.dev/${tag.toLowerCase()}`;
  const { body: made } = await facade.call('POST', '/v2/deployments', aBody({ tag_value_ids: [one] }));
  expect(made.tag_value_ids).toEqual([one.toLowerCase()]);
  const path = `/v2/deployments/${made.id}`;
  const stored = (): AppDeployment | undefined => facade.records.byUid(made.id);
  expect(stored()?.metadata.labels).toEqual({ [label(one)]: '' });
  const before = stored();
  for (const same of [{}, { tag_value_ids: null }, { tag_value_ids: [one] }])
    expect((await facade.call('PATCH', path, same)).status).toBe(200);
  expect(stored()).toEqual(before);
  const { body: moved } = await facade.call('PATCH', path, { tag_value_ids: [two] });
  expect([moved.tag_value_ids, moved.latest_revision_id]).toEqual([[two], made.latest_revision_id]);
  const found = async (tag: string): Promise<unknown> =>
    (await facade.call('GET', `/v2/deployments?tag_value_ids=${tag}`)).body.resources.length;
  expect([await found(one), await found(two)]).toEqual([0, 1]);
  expect((await facade.call('PATCH', path, { tag_value_ids: [] })).body.tag_value_ids).toEqual([]);
  const { status, body } = await facade.call('PATCH', path, { tag_value_ids: ['web'] });
  expect([status, body.detail[0].loc]).toEqual([422, ['body', 'tag_value_ids', 0]]);
});
