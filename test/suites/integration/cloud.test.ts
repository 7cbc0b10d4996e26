// The four sources of hosting mode cloud at both doors, on a cluster of their own: the mode is one for a whole cluster.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { ORGANIZATION_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { type Attached, eventually } from '../../support/running-davit.ts';

let davit: Davit;
let cluster: Cluster;
let tenant: Tenant;
let call: Attached['call'];
/** Id of an integration that lists the tenant. */
let integration: string;
beforeAll(async () => {
  davit = await startDavit('apiserver', { values: { 'settings.hosting': 'cloud' } });
  ({ cluster, call } = davit);
  tenant = await davit.knownTenant('cloud');
  integration = await integrate('code');
}, 900_000);
afterAll(async () => {
  await davit?.stop();
}, 60_000);

type Call = ReturnType<Attached['call']>;
const get = (path: string): Call => call(tenant, 'GET', `/v2/deployments${path}`);
const patch = (id: string, body: object): Call => call(tenant, 'PATCH', `/v2/deployments/${id}`, body);
function post(name: string, source: string, config: object = {}, revision: object = {}, more: object = {}): Call {
  return call(tenant, 'POST', '/v2/deployments', {
    name,
    source,
    source_config: config,
    source_revision_config: revision,
    secrets: [],
    ...more,
  });
}
async function integrate(name: string): Promise<string> {
  const object = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name, namespace: ORGANIZATION_NAMESPACE },
    spec: {
      kind: 'gitea',
      apiUrl: 'https://code.example/api/v1',
      credentialsRef: { name },
      tenants: [tenant.namespace],
    },
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const uid = ['get', 'chi', name, '-n', ORGANIZATION_NAMESPACE, '-o', 'jsonpath={.metadata.uid}'];
  const id = await cluster.kubectl(uid);
  await eventually(async () => {
    const { body } = await call(tenant, 'GET', '/v1/integrations/forge/codehost/install');
    expect(body.map((one: { id: string }) => one.id)).toContain(id);
  });
  return id;
}
const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', tenant.namespace, ...args]);

async function apply(name: string, spec: object): Promise<void> {
  const metadata = { name, namespace: tenant.namespace };
  const record = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', metadata, spec };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(record) });
}
async function untilReady(name: string): Promise<void> {
  await kubectl('wait', '--for=condition=Ready', `appd/${name}`, '--timeout=180s');
}
async function reasonOf(name: string, type = 'Stalled'): Promise<string> {
  return kubectl('get', 'appd', name, '-o', `jsonpath={.status.conditions[?(@.type=="${type}")].reason}`);
}
/** Everything that was made for it, as `kind/name`. */
async function madeFor(name: string): Promise<string[]> {
  const kinds = 'deployments,statefulsets,services,secrets,pvc,networkpolicies,hpa,pdb,appr,trp';
  const listed = await kubectl('get', kinds, '-l', `davit.dev/deployment=${name}`, '-o', 'name');
  return listed
    .trim()
    .split('\n')
    .map((line) => line.replace(/\.[a-z.0-9]*\//, '/'))
    .toSorted();
}
const STORES = (name: string): string[] =>
  [
    ...['networkpolicy', 'secret', 'service', 'statefulset'].flatMap((kind) => [
      `${kind}/${name}--postgres`,
      `${kind}/${name}--redis`,
    ]),
    `persistentvolumeclaim/${name}--postgres`,
    `tracingproject/${name}`,
    expect.stringMatching(`^apprevision/${name}--`) as string,
  ].toSorted();

describe('internal_docker', () => {
  it('is UNUSED with only a tracing project until a PATCH sets the image, then complete', async () => {
    const config = { custom_url: 'pushed.example.com', resource_spec: { cpu: 0.5 } };
    const { status, body } = await post(
      'pushed',
      'internal_docker',
      config,
      {},
      { secrets: [{ name: 'K', value: 'v' }] },
    );
    expect([status, body.detail]).toEqual([201, undefined]);
    expect(body).toMatchObject({
      status: 'UNUSED',
      latest_revision_id: null,
      active_revision_id: null,
      image_version: null,
      source_config: { custom_url: 'https://pushed.example.com', resource_spec: { cpu: 0.5 } },
      source_revision_config: { image_uri: null },
      secrets: [{ name: 'K', value: 'v' }],
    });
    await eventually(async () => expect(await reasonOf('pushed')).toBe('WaitingForImage'));
    expect(await madeFor('pushed')).toEqual([expect.stringMatching(/^secret\/pushed--vars-/), 'tracingproject/pushed']);
    expect((await get(`/${body.id}`)).body.status).toBe('UNUSED');
    expect((await get(`/${body.id}/revisions`)).body.resources).toEqual([]);

    const image = { source_revision_config: { image_uri: 'registry.example/pushed:1' } };
    const { body: patched } = await patch(body.id, image);
    expect(patched).toMatchObject({ image_version: '1', latest_revision_id: expect.any(String) as string });
    await untilReady('pushed');
    await eventually(async () =>
      expect((await get(`/${body.id}`)).body).toMatchObject({
        status: 'READY',
        active_revision_id: patched.latest_revision_id,
      }),
    );
    const made = await madeFor('pushed');
    expect(made).toEqual(expect.arrayContaining([...STORES('pushed'), 'deployment/pushed', 'service/pushed']));
    expect(
      await kubectl('get', 'deployment', 'pushed', '-o', 'jsonpath={.spec.template.spec.containers[0].image}'),
    ).toBe('registry.example/pushed:1');
  });

  it('the same with kubectl', async () => {
    await apply('applied', { source: 'internal_docker' });
    await eventually(async () => expect(await reasonOf('applied')).toBe('WaitingForImage'));
    expect((await get('?name=applied')).body.resources).toMatchObject([{ status: 'UNUSED', latest_revision_id: null }]);
    await apply('applied', {
      source: 'internal_docker',
      sourceRevisionConfig: { imageUri: 'registry.example/pushed:1' },
    });
    await untilReady('applied');
  });
});

describe('internal_source', () => {
  it('stays UNUSED, and stores its configuration until the upload', async () => {
    const config = { install_command: 'npm ci', build_command: 'npm run build', resource_spec: { max_scale: 3 } };
    const { status, body } = await post('uploaded', 'internal_source', config, {
      workflow_config_path: 'app/davit.json',
    });
    expect([status, body.detail]).toEqual([201, undefined]);
    await eventually(async () => expect(await reasonOf('uploaded')).toBe('WaitingForImage'));
    expect((await get(`/${body.id}`)).body).toMatchObject({
      status: 'UNUSED',
      latest_revision_id: null,
      source_config: config,
      source_revision_config: { workflow_config_path: 'app/davit.json', source_tarball_path: null },
    });
    expect(await madeFor('uploaded')).toEqual(['tracingproject/uploaded']);
    const changed = await patch(body.id, { source_config: { build_command: 'make' } });
    expect([changed.status, changed.body.source_config.build_command]).toEqual([200, 'make']);
    expect(changed.body.latest_revision_id).toBe(null);
  });

  it('a path that is not from an upload is rejected over HTTP and with kubectl', async () => {
    const { status, body } = await post('forged', 'internal_source', {}, { source_tarball_path: 'uploads/1.tgz' });
    expect([status, body.detail[0].msg]).toEqual([422, 'is not a path that the upload endpoint returned']);
    await expect(
      apply('forged', { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: 'uploads/1.tgz' } }),
    ).rejects.toThrow('is not a path that the upload endpoint returned');
  });
});

describe('codehost', () => {
  const config = (): object => ({
    integration_id: integration,
    repo_url: 'https://code.example/team/shop',
    build_on_push: true,
  });
  const revision = { repo_ref: 'main', workflow_config_path: 'davit.json' };

  it('waits for a builder, with database and Redis but without workloads', async () => {
    const { status, body } = await post('built', 'codehost', { ...config(), install_command: 'npm ci' }, revision);
    expect([status, body.detail]).toEqual([201, undefined]);
    await eventually(async () =>
      expect((await get(`/${body.id}/revisions/${body.latest_revision_id}`)).body).toMatchObject({
        status: 'AWAITING_BUILD',
        status_message: expect.stringContaining('no builder is configured') as string,
        source_revision_config: { ...revision, image_uri: null, repo_commit_sha: null },
      }),
    );
    await eventually(async () => expect(await reasonOf('built', 'DatabaseReady')).toBe('Answering'));
    expect(await reasonOf('built')).toBe('BuilderNotConfigured');
    expect(await madeFor('built')).toEqual(STORES('built'));
    expect((await get(`/${body.id}`)).body).toMatchObject({
      status: 'UNKNOWN',
      active_revision_id: null,
      source_config: { ...config(), install_command: 'npm ci', build_command: null },
    });
  });

  it('creates a revision only if a change needs one, and rejects changes of immutable fields', async () => {
    const [before] = (await get('?name=built')).body.resources;
    const same = await patch(before.id, { source_config: { build_on_push: false } });
    expect([same.status, same.body.latest_revision_id]).toEqual([200, before.latest_revision_id]);
    const other = await patch(before.id, { source_revision_config: { repo_ref: 'next' } });
    expect(other.status).toBe(200);
    expect(other.body.latest_revision_id).not.toBe(before.latest_revision_id);
    await eventually(async () =>
      expect((await get(`/${before.id}/revisions`)).body.resources).toMatchObject([
        { status: 'AWAITING_BUILD' },
        { status: 'SKIPPED' },
      ]),
    );
    const fixed = await patch(before.id, { source_config: { repo_url: 'https://code.example/other' } });
    expect([fixed.status, fixed.body.detail[0].loc]).toEqual([422, ['body', 'source_config', 'repo_url']]);
    await expect(
      kubectl(
        'patch',
        'appd',
        'built',
        '--type=merge',
        '-p',
        '{"spec":{"sourceConfig":{"repoUrl":"https://code.example/other"}}}',
      ),
    ).rejects.toThrow('repoUrl cannot be changed after creation');
  });

  it('an integration of another tenant is rejected over HTTP, and a condition with kubectl', async () => {
    const stranger = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
    const refused = await post('stray', 'codehost', { ...config(), integration_id: stranger }, revision);
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'source_config', 'integration_id']]);
    await apply('stray', {
      source: 'codehost',
      sourceConfig: { integrationId: stranger, repoUrl: 'https://code.example/team/shop' },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
    });
    await eventually(async () => expect(await reasonOf('stray', 'PolicyAccepted')).toBe('IntegrationNotFound'));
    await kubectl('delete', 'appd', 'stray');
  });

  it('the same with kubectl', async () => {
    await apply('built-too', {
      source: 'codehost',
      sourceConfig: { integrationId: integration, repoUrl: 'https://code.example/team/shop' },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
    });
    await eventually(async () => expect(await reasonOf('built-too')).toBe('BuilderNotConfigured'));
    expect(await madeFor('built-too')).toEqual(STORES('built-too'));
  });

  it('is deleted completely', async () => {
    const [{ id }] = (await get('?name=built')).body.resources;
    expect((await call(tenant, 'DELETE', `/v2/deployments/${id}?delete_tracing_project=true`)).status).toBe(204);
    await eventually(async () => expect((await get(`/${id}`)).status).toBe(404));
    expect(await madeFor('built')).toEqual(['']);
  });
});

describe('internal_template', () => {
  const REPOSITORY = 'https://code.example/templates/chat';
  async function offer(name: string, spec: object): Promise<void> {
    const metadata = { name, namespace: 'davit-org' };
    const template = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppTemplate', metadata, spec };
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(template) });
  }

  it('deploys an image of the catalogue, and rejects others', async () => {
    await offer('chat', { displayName: 'Chat', imageUri: 'registry.example/chat:1' });
    expect(await cluster.kubectl(['get', 'apt', '-n', 'davit-org'])).toMatch(/chat +Chat +registry.example\/chat:1/);
    const wrong = await post('chat', 'internal_template', {}, { image_uri: 'registry.example/other:1' });
    expect([wrong.status, wrong.body.detail?.[0]]).toMatchObject([
      422,
      { loc: ['body', 'source_revision_config', 'image_uri'] },
    ]);
    const { status, body } = await eventually(async () => {
      const answer = await post('chat', 'internal_template', {}, { image_uri: 'registry.example/chat:1' });
      expect(answer.status).not.toBe(422);
      return answer;
    });
    expect([status, body.detail]).toEqual([201, undefined]);
    await untilReady('chat');
    expect(await madeFor('chat')).toEqual(expect.arrayContaining(['deployment/chat', ...STORES('chat')]));
  });

  it('with kubectl, an image outside of the catalogue is a condition until it is added', async () => {
    await apply('late', {
      source: 'internal_template',
      sourceConfig: { repoUrl: REPOSITORY },
      sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
    });
    await eventually(async () => expect(await reasonOf('late')).toBe('TemplateNotFound'));
    expect(await kubectl('get', 'appr', '-l', 'davit.dev/deployment=late', '-o', 'name')).toBe('');
    await offer('chat-source', { repoUrl: REPOSITORY, repoRef: 'main' });
    await eventually(async () => expect(await reasonOf('late')).toBe('BuilderNotConfigured'));
    expect(await madeFor('late')).toEqual(STORES('late'));
  });

  it('a template is an image or a repository, and a team may read the catalogue but not write it', async () => {
    await expect(offer('both', { imageUri: 'a:1', repoUrl: REPOSITORY })).rejects.toThrow('either imageUri or repoUrl');
    await expect(offer('none', { displayName: 'None' })).rejects.toThrow('either imageUri or repoUrl');
    await expect(offer('ref', { imageUri: 'a:1', repoRef: 'main' })).rejects.toThrow('repoRef belongs to a repository');
    const may = (verb: string): Promise<string> =>
      cluster
        .kubectl(['auth', 'can-i', verb, 'apptemplates', '-n', 'davit-org', '--as', 'system:serviceaccount:cloud:team'])
        .catch(() => 'no\n');
    expect([await may('list'), await may('create')]).toEqual(['yes\n', 'no\n']);
  });
});

it('external_docker is rejected over HTTP and with kubectl', async () => {
  const { status, body } = await post('outside', 'external_docker', {}, { image_uri: 'registry.example/app:1' });
  expect([status, body.detail]).toEqual([400, expect.stringContaining("'listener_id' is required")]);
  await expect(
    apply('outside', { source: 'external_docker', sourceRevisionConfig: { imageUri: 'registry.example/app:1' } }),
  ).rejects.toThrow('hosting mode self-hosted');
});

describe("the rules of a source, under the names of the request's fields", () => {
  const config = 'body.source_config';
  const revision = 'body.source_revision_config';
  const OURS = 'https://code.example/team/shop';

  it.each<[name: string, source: string, sent: [object?, object?, object?], errors: string[]]>([
    [
      'a repository without its particulars',
      'codehost',
      [],
      [
        `${config}.integration_id: source codehost needs integration_id`,
        `${config}.repo_url: source codehost needs repo_url`,
        `${revision}.repo_ref: source codehost needs repo_ref`,
        `${revision}.workflow_config_path: source codehost needs workflow_config_path`,
      ],
    ],
    [
      'a tag that is to be pushed to, and paths out of the repository',
      'codehost',
      [
        { integration_id: 'OURS', repo_url: OURS, build_on_push: true },
        { repo_ref: 'refs/tags/v1', workflow_config_path: '../davit.json', davit_file: 'a/..' },
      ],
      [
        `${config}.build_on_push: build_on_push must be false for a tag, which does not change`,
        `${revision}.davit_file: must stay inside the repository: remove ..`,
        `${revision}.workflow_config_path: must stay inside the repository: remove ..`,
      ],
    ],
    [
      'references to Secrets',
      'internal_docker',
      [{}, {}, { secret_references: [{ name: 'A', secret_name: 's', secret_key: 'k' }] }],
      ['body.secret_references: secret_references apply only to source external_docker'],
    ],
    [
      'a template without image or repository',
      'internal_template',
      [],
      [`${revision}.image_uri: source internal_template needs image_uri or repo_url of a template`],
    ],
    [
      'a path that leaves the repository further in',
      'codehost',
      [
        { integration_id: 'OURS', repo_url: OURS },
        { repo_ref: 'main', workflow_config_path: 'a/../../b' },
      ],
      [`${revision}.workflow_config_path: must stay inside the repository: remove ..`],
    ],
    ...['../up.tgz', 'a/../../b.tgz'].map((path): [string, string, [object, object], string[]] => [
      `an upload that was never made: ${path}`,
      'internal_source',
      [{}, { source_tarball_path: path }],
      [`${revision}.source_tarball_path: is not a path that the upload endpoint returned`],
    ]),
  ])('%s', async (_name, source, [sent = {}, of = {}, more = {}], errors) => {
    const named = 'integration_id' in sent ? { ...sent, integration_id: integration } : sent;
    expect(saidOf(await post('refused', source, named, of, more))).toEqual([422, errors.toSorted()]);
  });

  it('a change of what is fixed, and of the branch to a tag', async () => {
    const fixed = { integration_id: integration, repo_url: OURS, build_on_push: true };
    const made = await post('fixed', 'codehost', fixed, { repo_ref: 'main', workflow_config_path: 'w.json' });
    const answer = await patch(made.body.id, {
      source_config: { integration_id: made.body.id, repo_url: `${OURS}-2` },
      source_revision_config: { repo_ref: 'refs/tags/v1' },
      secret_references: [{ name: 'T', secret_name: 'mine', secret_key: 't' }],
    });
    const errors = [
      'body.secret_references: secret_references apply only to source external_docker',
      `${config}.build_on_push: build_on_push must be false for a tag, which does not change`,
      `${config}.integration_id: integration_id cannot be changed after creation`,
      `${config}.integration_id: is not an integration of this tenant. GET /v1/integrations/forge/codehost/install lists them`,
      `${config}.repo_url: repo_url cannot be changed after creation`,
    ];
    expect(saidOf(answer)).toEqual([422, errors]);
    await kubectl('delete', 'appd', 'fixed', '--timeout=180s');
  });

  function saidOf({ status, body }: Awaited<Call>): unknown {
    const detail = body.detail as readonly { loc: unknown[]; msg: string }[];
    return [status, detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).toSorted()];
  }
});
