// Repositories over HTTP: which integrations a tenant sees, whose credentials are used, and what each failure of a code
// host becomes.

import { beforeEach, describe, expect, it } from 'vitest';
import {
  CODE_HOST_INTEGRATIONS,
  type CodeHostIntegration,
  type CodeHostIntegrationSpec,
} from '../../../src/kinds/code-host-integration.ts';
import { CodeHostFailed, Forbidden } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, type Facade, makeFacade, ORGANIZATION, OTHER_TENANT, TENANT } from './facade.ts';

const PATH = '/v1/integrations/forge/codehost';
const CANARY = 'canary-token-of-a-host';
const UNKNOWN = '99999999-0000-4000-8000-000000000009';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

function seed(name: string, spec: Partial<CodeHostIntegrationSpec> = {}): string {
  const integration = facade.kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name, namespace: ORGANIZATION.namespace },
    spec: {
      kind: 'gitea',
      apiUrl: 'https://git.example/api/v1',
      credentialsRef: { name: 'git-token' },
      tenants: [TENANT.namespace],
      ...spec,
    },
  });
  facade.integrations.put(integration);
  return integration.metadata.uid ?? '';
}
function seedSecret(value = CANARY, namespace: string = ORGANIZATION.namespace): void {
  facade.kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'git-token', namespace },
    data: { token: Buffer.from(value).toString('base64') },
  } as KubeObject);
}
const repos = (id: string, headers?: Record<string, string>): Promise<Answer> =>
  facade.call('GET', `${PATH}/${id}/repos`, undefined, headers);

describe('the repositories of an integration', () => {
  it('are a bare array with the fields of a deployment', async () => {
    const id = seed('git');
    seedSecret();
    facade.repositories = () =>
      Promise.resolve([
        { id: 1, owner: 'a', name: 'x', url: 'https://git.example/a/x', defaultBranch: 'main' },
        { id: 2, owner: 'b', name: 'y', url: 'https://git.example/b/y', defaultBranch: 'trunk' },
      ]);
    const { status, body } = await repos(id.toUpperCase());
    expect([status, body]).toEqual([
      200,
      [
        {
          host_integration_id: id,
          id: 1,
          owner: 'a',
          name: 'x',
          url: 'https://git.example/a/x',
          default_branch: 'main',
        },
        {
          host_integration_id: id,
          id: 2,
          owner: 'b',
          name: 'y',
          url: 'https://git.example/b/y',
          default_branch: 'trunk',
        },
      ],
    ]);
    expect(
      facade.accounts.map(({ spec, credential }) => [spec.apiUrl, credential('token'), credential('private-key')]),
    ).toEqual([['https://git.example/api/v1', CANARY, undefined]]);
  });

  it('are requested again with new credentials, or another integration', async () => {
    const id = seed('git');
    seedSecret();
    await repos(id);
    await repos(id);
    seedSecret('another');
    await repos(id);
    seed('git', { apiUrl: 'https://other.example' });
    await repos(id);
    const keys = facade.accounts.map(({ key }) => key);
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(3);
  });

  it.each([
    ['one that is not there', () => UNKNOWN],
    ['one for other tenants', () => seed('theirs', { tenants: [OTHER_TENANT.namespace] })],
    ['one for nobody', () => seed('nobodys', { tenants: [] })],
  ])('of %s get the same 404', async (_name, make) => {
    const id = make();
    const { status, body } = await repos(id);
    expect([status, body.detail]).toEqual([404, `Integration ID ${id} not found.`]);
    expect(facade.accounts).toEqual([]);
  });

  it('of an invalid id get 422', async () => {
    expect(await repos('git')).toMatchObject({ status: 422, body: { detail: [{ loc: ['path', 'integration_id'] }] } });
  });

  it.each([
    ['refused', 424, undefined],
    ['forbidden', 424, undefined],
    ['limited', 429, '17'],
    ['unreachable', 502, undefined],
    ['malformed', 502, undefined],
    ['timeout', 504, undefined],
  ] as const)('%s is %i', async (why, status, wait) => {
    const id = seed('git');
    facade.repositories = () =>
      Promise.reject(new CodeHostFailed(why, `It is ${why}.`, { ...(why === 'limited' && { retryAfterSeconds: 17 }) }));
    const answer = await repos(id);
    expect([answer.status, answer.body, answer.headers['retry-after']]).toEqual([
      status,
      { detail: `It is ${why}.` },
      wait,
    ]);
  });

  it('without the Secret, or with the one of a tenant, have no credentials', async () => {
    const id = seed('git');
    seedSecret(CANARY, TENANT.namespace);
    await repos(id);
    expect(facade.accounts[0]?.credential('token')).toBeUndefined();
  });

  it('never contain the credentials', async () => {
    const id = seed('git');
    seedSecret();
    facade.repositories = () => Promise.reject(new Error('surprise'));
    expect((await repos(id)).status).toBe(500);
    expect(facade.log()).not.toContain('canary-token');
  });
});

describe('the integrations of a tenant', () => {
  it('are those that list it, by name', async () => {
    const app = { id: 7, installationId: 70 };
    const [b, a] = [seed('b', { kind: 'github', app, tenants: [OTHER_TENANT.namespace, TENANT.namespace] }), seed('a')];
    seed('theirs', { tenants: [OTHER_TENANT.namespace] });
    expect((await facade.call('GET', `${PATH}/install`)).body).toEqual([
      { id: a, installation_id: null, name: 'a' },
      { id: b, installation_id: 70, name: 'b' },
    ]);
  });
});

describe('the right', () => {
  it.each(['install', `${UNKNOWN}/repos`])(
    'to read %s is the right to list deployments of the tenant',
    async (rest) => {
      facade.kube.allow(
        ({ verb, resource, namespace }) => `${verb} ${resource} ${namespace}` === 'list appdeployments team-b',
      );
      expect((await facade.call('GET', `${PATH}/${rest}`)).status).toBe(403);
      facade.clock.ms += 60_000;
      const other = await facade.call('GET', `${PATH}/${rest}`, undefined, { 'x-tenant-id': OTHER_TENANT.id });
      expect([200, 404]).toContain(other.status);
    },
  );

  it("is checked before the Secret is read with the facade's own account", async () => {
    const id = seed('git');
    seedSecret();
    const tokens: (string | undefined)[] = [];
    facade.kube.failOn(({ kind, token }) => {
      if (kind === 'Secret') tokens.push(token);
      return undefined;
    });
    facade.kube.allow(() => false);
    expect((await repos(id)).status).toBe(403);
    expect(tokens).toEqual([]);
    facade.clock.ms += 60_000;
    facade.kube.allow(() => true);
    expect((await repos(id)).status).toBe(200);
    expect(tokens).toEqual([undefined]);
  });

  it("of the facade's own account that is missing is not reported as the caller's", async () => {
    const id = seed('git');
    facade.kube.failOn(({ kind }) =>
      kind === 'Secret' ? new Forbidden('x', { serverMessage: 'davit-api cannot' }) : undefined,
    );
    expect((await repos(id)).status).toBe(500);
  });
});

it('answers 503 while its cache is not filled', async () => {
  facade.integrations.synced = false;
  expect((await facade.call('GET', `${PATH}/install`)).status).toBe(503);
  expect((await repos(UNKNOWN)).status).toBe(503);
});
