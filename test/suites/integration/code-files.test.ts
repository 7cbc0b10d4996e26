// A davit.yaml of a repository before a real API server and a real code host over TLS, and what a Notifier tells that host of its commits,
// and a webhook of the deployment. Nothing is built: no node runs the pods of builds.

import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { ORGANIZATION_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { type Answer, eventually } from '../../support/running-davit.ts';
import { type Host, json, startHost, TOKEN } from '../codehost/host.ts';

const [A, B] = ['a', 'b'].map((digit) => digit.repeat(40)) as [string, string];
const FILE = 'resource_spec: {cpu: 2, memory_mb: 512, min_scale: 3}\nenv: [{name: LEVEL, value: info}]\n';

let host: Host;
let davit: Davit;
let tenant: Tenant;
let repository: string;
let integration: string;
/** What the repository has. */
const there = { commit: A, files: new Map([[A, FILE]]), isDown: false };
/** Statuses of commits as `pending aaaa`, and requests to the webhook. */
const told: { readonly statuses: string[]; readonly events: { headers: IncomingHttpHeaders; body: string }[] } = {
  statuses: [],
  events: [],
};
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** Takes what Davit tells. */
function listen(request: IncomingMessage, response: ServerResponse, take: (body: string) => void): true {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    take(body);
    json(response, 201, {});
  });
  return true;
}

beforeAll(async () => {
  host = await startHost('localhost');
  host.fault = (request, response) => {
    const url = new URL(request.url ?? '/', 'https://x');
    if (url.pathname === '/hook')
      return listen(request, response, (body) => told.events.push({ headers: request.headers, body }));
    const path = url.pathname.replace('/api/v1/repos/team/shop', '');
    if (path === url.pathname) return false;
    if (there.isDown) return json(response, 503, { message: 'not today' });
    if (request.headers.authorization !== `token ${TOKEN}`) return json(response, 401, {});
    if (path === '') return json(response, 200, { id: 1 });
    const [, commit = ''] = /^\/statuses\/([0-9a-f]+)$/.exec(path) ?? [];
    if (commit !== '')
      return listen(request, response, (body) => {
        const { state, context } = JSON.parse(body) as { state: string; context: string };
        told.statuses.push(`${state} ${commit.slice(0, 4)} ${context}`);
      });
    const author = { name: 'Ada', email: 'ada@example.com' };
    if (path === '/commits')
      return json(response, 200, [{ sha: there.commit, commit: { author, message: 'Adds it\n' } }]);
    const text = path === '/contents/davit.yaml' ? there.files.get(url.searchParams.get('ref') ?? '') : undefined;
    if (text === undefined) return json(response, 404, { message: 'no such file' });
    const content = Buffer.from(text).toString('base64');
    return json(response, 200, { type: 'file', encoding: 'base64', size: text.length, content });
  };
  davit = await startDavit('apiserver', {
    values: {
      'settings.hosting': 'cloud',
      'settings.codeHosts': [{ host: `localhost:${host.port}`, addresses: ['127.0.0.1', '::1'], ca: host.ca }],
      'settings.webhooks.hosts': [{ host: `localhost:${host.port}`, addresses: ['127.0.0.1', '::1'], ca: host.ca }],
      'settings.builds.registry': { host: 'registry.example.com', tokens: true },
      'settings.builds.images': { builder: 'registry.example.com/builder:1', davit: 'registry.example.com/davit:1' },
    },
  });
  tenant = await davit.knownTenant('files');
  repository = `https://localhost:${host.port}/team/shop`;
  integration = await integrate();
}, 900_000);
afterAll(async () => {
  await davit?.stop();
  await host?.close();
}, 60_000);

async function integrate(): Promise<string> {
  const metadata = { name: 'git', namespace: ORGANIZATION_NAMESPACE };
  const apply = (object: object): Promise<string> =>
    davit.cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: TOKEN } });
  await apply({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata,
    spec: { kind: 'gitea', apiUrl: host.gitea, credentialsRef: { name: 'git' }, tenants: [tenant.namespace] },
  });
  const uid = ['get', 'chi', 'git', '-n', ORGANIZATION_NAMESPACE, '-o', 'jsonpath={.metadata.uid}'];
  const id = await davit.cluster.kubectl(uid);
  await eventually(async () => {
    const { body } = await davit.call(tenant, 'GET', '/v1/integrations/forge/codehost/install');
    expect(body.map((one: { id: string }) => one.id)).toContain(id);
  });
  return id;
}

const deployments = (method: string, path: string, body?: object): Promise<Answer> =>
  davit.call(tenant, method, `/v2/deployments${path}`, body);
async function newest(): Promise<AppRevision> {
  const listed = await davit.cluster.kubectl(['get', 'appr', '-n', tenant.namespace, '-o', 'json']);
  const { items } = JSON.parse(listed) as { items: AppRevision[] };
  const [found] = items.toSorted((a, b) => (b.spec.revisionSerial ?? 0) - (a.spec.revisionSerial ?? 0));
  return found ?? expect.fail('there is no revision');
}

it('gives a revision what the record does not set, fails one, and delays one', async () => {
  const made = await deployments('POST', '?fieldValidation=Strict', {
    name: 'shop',
    source: 'codehost',
    source_config: { integration_id: integration, repo_url: repository, resource_spec: { cpu: 0.5 } },
    source_revision_config: { repo_ref: 'main', workflow_config_path: 'davit.json', davit_file: 'davit.yaml' },
    secrets: [],
  });
  expect([made.status, made.body.source_revision_config?.davit_file]).toEqual([201, 'davit.yaml']);
  const { id } = made.body;
  const apply = ['apply', '-n', tenant.namespace, '-f', '-'];
  const metadata = { name: 'us' };
  await davit.cluster.kubectl(apply, {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { secret: SECRET } }),
  });
  const webhook = { url: `https://localhost:${host.port}/hook`, secretRef: { name: 'us' } };
  const notifier = { apiVersion: 'davit.dev/v1alpha1', kind: 'Notifier', metadata };
  await davit.cluster.kubectl(apply, {
    input: JSON.stringify({ ...notifier, spec: { webhook, commitStatuses: true } }),
  });
  const nobody = JSON.stringify({ ...notifier, metadata: { name: 'nobody' }, spec: {} });
  await expect(davit.cluster.kubectl(apply, { input: nobody })).rejects.toThrow('set webhook, or commitStatuses');
  await eventually(async () => {
    const { spec } = await newest();
    expect(spec).toMatchObject({
      commit: A,
      commitAuthor: 'Ada',
      file: {
        path: 'davit.yaml',
        fields: ['resourceSpec.memoryMb', 'env.LEVEL'],
        notTaken: ['resource_spec.min_scale'],
      },
      requested: { resourceSpec: { cpu: 0.5, memoryMb: 512 }, env: [{ name: 'LEVEL', value: 'info' }] },
      resolved: { server: { cpu: 0.5, memoryMb: 512 } },
    });
    expect(spec.resolved.server.minScale).not.toBe(3);
  }, 60_000);
  const first = await newest();
  const forged = ['patch', 'appr', first.metadata.name, '-n', tenant.namespace, '--type=merge'];
  await expect(davit.cluster.kubectl([...forged, '-p', '{"spec": {"file": {"path": "x"}}}'])).rejects.toThrow(
    /snapshot/,
  );
  const shown = (await deployments('GET', `/${id}/revisions/${first.spec.id}`)).body;
  expect(shown).toMatchObject({
    commit_author: 'Ada',
    commit_message: 'Adds it',
    from_file: {
      path: 'davit.yaml',
      fields: [
        { field: 'env.LEVEL', value: 'info' },
        { field: 'resource_spec.memory_mb', value: '512' },
      ],
      not_taken: ['resource_spec.min_scale'],
    },
  });

  there.commit = B;
  there.files.set(B, 'env: []\nresource_spec:\n  cpu: many\n');
  const wrong = (await deployments('POST', `/${id}/revisions`, {})).body.id;
  await eventually(async () => {
    const { body } = await deployments('GET', `/${id}/revisions/${wrong}`);
    expect([body.status, body.status_message]).toEqual([
      'BUILD_FAILED',
      expect.stringContaining('davit.yaml:3:8: resource_spec.cpu '),
    ]);
  }, 60_000);
  expect((await newest()).status?.build).toMatchObject({ reason: 'FileInvalid', commit: B });
  const context = `davit/${tenant.namespace}/shop`;
  const isOfWrong = ({ body }: { readonly body: string }): boolean =>
    body.includes('build.failed') && body.includes(wrong);
  await eventually(async () => {
    await Promise.resolve();
    // No pod builds the first commit: its build fails, or the second one takes its place. States between are told as they are seen.
    expect(told.statuses[0]).toBe(`pending aaaa ${context}`);
    expect(told.statuses.findLast((one) => one.includes(' aaaa '))).toMatch(/^(?:error|failure) aaaa /);
    expect(told.statuses.at(-1)).toBe(`failure bbbb ${context}`);
    expect(new Set(told.statuses).size).toBe(told.statuses.length);
    expect(told.events.find(isOfWrong)).toBeDefined();
  }, 60_000);
  const { headers, body } = told.events.find(isOfWrong) ?? expect.fail('no event');
  expect(JSON.parse(body)).toMatchObject({
    type: 'build.failed',
    data: { namespace: tenant.namespace, name: 'shop', id, revision_id: wrong, reason: 'FileInvalid' },
  });
  const [id_, at] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])];
  const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(`${id_}.${at}.${body}`).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  const wait = ['wait', 'notifier/us', '-n', tenant.namespace, '--timeout=60s'];
  for (const type of ['WebhookSent', 'CommitStatusesSent'])
    await davit.cluster.kubectl([...wait, `--for=condition=${type}`]);

  there.isDown = true;
  const late = (await deployments('POST', `/${id}/revisions`, {})).body.id;
  await eventually(async () => {
    const { conditions } = (await deployments('GET', `/${id}`)).body;
    const ready = conditions.find(({ type }: { type: string }) => type === 'Ready');
    expect([ready.reason, ready.message]).toEqual(['FileUnread', expect.stringContaining('503')]);
  }, 60_000);
  there.isDown = false;
  there.files.set(B, FILE);
  await eventually(async () => expect((await newest()).spec.id).toBe(late), 60_000);
  // The file of a commit does not change, and it was not valid.
  expect((await newest()).spec.file).toMatchObject({ failure: { reason: 'FileInvalid' } });

  const outside = await deployments('PATCH', `/${id}`, { source_revision_config: { davit_file: '../davit.yaml' } });
  expect(outside.status).toBe(422);
  const without = await deployments('PATCH', `/${id}`, { source_revision_config: { davit_file: '' } });
  expect([without.status, without.body.source_revision_config.davit_file]).toEqual([200, null]);
  await eventually(async () => expect((await newest()).spec).not.toHaveProperty('file'), 60_000);
}, 400_000);
