// Repositories before a real API server and a real code host over TLS: integrations made with kubectl, whose credentials
// only the facade reads.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { ORGANIZATION_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';
import { APP, TOKEN } from '../codehost/host.ts';

const PATH = '/v1/integrations/forge/codehost';
const davit: Attached = attach(inject('davit'));
const { codeHost } = davit;
if (codeHost === undefined) throw new Error('the set-up of these tests starts a code host');
let tenant: Tenant;
let other: Tenant;

async function integration(name: string, spec: object, data: Record<string, string>): Promise<string> {
  await davit.kubectl(['apply', '-f', '-'], {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${name}-credentials`, namespace: ORGANIZATION_NAMESPACE },
    stringData: data,
  });
  await davit.kubectl(['apply', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name, namespace: ORGANIZATION_NAMESPACE },
    spec: { credentialsRef: { name: `${name}-credentials` }, tenants: [tenant.namespace], ...spec },
  });
  const uid = ['get', 'chi', name, '-n', ORGANIZATION_NAMESPACE, '-o', 'jsonpath={.metadata.uid}'];
  const id = await davit.kubectl(uid);
  await eventually(async () => {
    const { body } = await davit.call(tenant, 'GET', `${PATH}/install`);
    expect(body.map((one: { id: string }) => one.id)).toContain(id);
  });
  return id;
}
const repos = (id: string, who = tenant): Promise<Answer> => davit.call(who, 'GET', `${PATH}/${id}/repos`);

beforeAll(async () => {
  [tenant, other] = [await davit.tenant('repositories'), await davit.tenant('repositories-other')];
});

describe('an integration', () => {
  it('with Gitea lists all pages, for the tenants that it names', async () => {
    const id = await integration('gitea', { kind: 'gitea', apiUrl: codeHost.gitea }, { token: TOKEN });
    const { status, body } = await repos(id);
    expect([status, body.length, body.at(-1)]).toEqual([
      200,
      120,
      {
        host_integration_id: id,
        id: 120,
        name: 'repo-0120',
        owner: 'team',
        url: 'https://code.example/team/repo-0120',
        default_branch: 'main',
      },
    ]);
    const refused = await repos(id, other);
    expect([refused.status, refused.body.detail]).toEqual([404, `Integration ID ${id} not found.`]);
    expect((await davit.call(other, 'GET', `${PATH}/install`)).body).toEqual([]);
    const mine = (await davit.call(tenant, 'GET', `${PATH}/install`)).body;
    expect(mine).toEqual([{ id, installation_id: null, name: 'gitea' }]);
  });

  it('with a GitHub App lists all pages of its installation', async () => {
    const spec = { kind: 'github', apiUrl: codeHost.github, app: APP };
    const id = await integration('app', spec, { 'private-key': codeHost.privateKey });
    expect((await repos(id)).body.length).toBe(120);
  });

  it('with wrong credentials, or a host that the platform does not allow, is 424', async () => {
    const wrong = await integration('wrong', { kind: 'gitea', apiUrl: codeHost.gitea }, { token: 'wrong' });
    expect(await repos(wrong)).toMatchObject({
      status: 424,
      body: { detail: "The code host refused the integration's credentials." },
    });
    const inside = { kind: 'gitea', apiUrl: davit.server };
    expect(await repos(await integration('inside', inside, { token: TOKEN }))).toMatchObject({
      status: 424,
      body: { detail: expect.stringContaining("is not one of the platform's code hosts") },
    });
  });

  it('has its credentials only in its Secret', async () => {
    const kinds = await davit.kubectl(['get', 'oap,chi,appd,configmaps,events', '-A', '-o', 'yaml']);
    expect(kinds).toContain('gitea-credentials');
    expect(kinds).not.toMatch(/canary|PRIVATE KEY/);
  });
});
