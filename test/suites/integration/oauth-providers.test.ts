// OAuth providers before a real API server: whose rights count, where the client secret is, and two at once.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { ORGANIZATION_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';

const PATH = '/v2/auth/providers';
const CANARY = 'canary-client-5d1e';
const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('providers');
});

async function created(id: string, more: object = {}): Promise<Answer['body']> {
  const { status, body } = await davit.call(tenant, 'POST', PATH, {
    provider_id: id,
    name: id,
    client_id: 'abc',
    auth_url: 'https://tracker.example/authorize',
    token_url: 'https://tracker.example/token',
    ...more,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body;
}
const patch = (id: string, body: unknown, who = tenant): Promise<Answer> =>
  davit.call(who, 'PATCH', `${PATH}/${id}`, body);
const field = (id: string, path: string): Promise<string> =>
  davit.kubectl(['get', 'oap', id, '-n', ORGANIZATION_NAMESPACE, '-o', `jsonpath={${path}}`]);
async function secretsOf(id: string): Promise<string[]> {
  const names = await davit.kubectl(
    `get secrets -n ${ORGANIZATION_NAMESPACE} -l davit.dev/oauth-provider=${id} -o name`.split(' '),
  );
  return names.split('\n').filter((name) => name !== '');
}

describe('a provider', () => {
  it('is created, changed and deleted over HTTP and with kubectl', async () => {
    const made = await created('line', { client_secret: CANARY, uses_pkce: true });
    expect(made).toMatchObject({ provider_id: 'line', uses_pkce: true, code_challenge_method: 'S256' });
    expect(made.organization_id).toBe(
      await davit.kubectl(['get', 'namespace', ORGANIZATION_NAMESPACE, '-o', 'jsonpath={.metadata.uid}']),
    );
    expect(made.id).toBe(await field('line', '.metadata.uid'));
    expect((await patch('line', made)).body).toEqual(made);
    expect((await patch('line', { client_secret: CANARY })).body).toEqual(made);
    expect(await field('line', '.metadata.generation')).toBe('1');

    const off = await patch('line', { uses_pkce: false, name: 'Line' });
    expect([off.status, off.body]).toMatchObject([
      200,
      { name: 'Line', uses_pkce: false, code_challenge_method: null },
    ]);
    await davit.kubectl([
      ...`patch oap line -n ${ORGANIZATION_NAMESPACE} --type=merge -p`.split(' '),
      JSON.stringify({ spec: { usesPkce: true, isDynamicClient: true } }),
    ]);
    await eventually(async () =>
      expect((await davit.call(tenant, 'GET', `${PATH}/line`)).body).toMatchObject({
        code_challenge_method: 'S256',
        is_dynamic_client: true,
      }),
    );
    expect((await davit.call(tenant, 'DELETE', `${PATH}/line`)).status).toBe(200);
    expect((await patch('line', { name: 'x' })).status).toBe(404);
  });

  it("the CRD's errors have the request's field names", async () => {
    await created('refused');
    const { status, body } = await patch('refused', { auth_url: 'https://a.example:65536/' });
    expect([status, body.detail]).toMatchObject([422, [{ loc: ['body', 'auth_url'] }]]);
  });

  it('concurrent changes are all applied', async () => {
    await created('crowded');
    // No address: after a new client secret, changing one needs the right to read that secret.
    const sent = [{ name: 'A' }, { client_id: 'B' }, { uses_pkce: true }, { client_secret: CANARY }];
    const answers = await Promise.all([...sent, ...sent].map((body) => patch('crowded', body)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await davit.call(tenant, 'GET', `${PATH}/crowded`)).body).toMatchObject({
      name: 'A',
      client_id: 'B',
      uses_pkce: true,
    });
    expect(await secretsOf('crowded')).toContain(`secret/${await field('crowded', '.spec.clientSecretRef.name')}`);
  });
});

describe('the client secret', () => {
  it('is only in its Secret', async () => {
    await created('secretive', { client_secret: CANARY });
    await patch('secretive', { client_secret: `${CANARY}-2` });
    const [kinds, all] = await Promise.all([
      davit.kubectl(['get', 'oap,chi,lsn,appd,configmaps,events', '-A', '-o', 'yaml', '--show-managed-fields']),
      davit.kubectl(['get', 'secrets', '-n', ORGANIZATION_NAMESPACE, '-o', 'yaml', '--show-managed-fields']),
    ]);
    expect(kinds).not.toContain(CANARY);
    expect(kinds).not.toContain(Buffer.from(CANARY).toString('base64').slice(0, 20));
    expect(all).toContain(Buffer.from(`${CANARY}-2`).toString('base64'));
  });
});

describe('rights', () => {
  it('are those of the caller on oauthproviders of the organization', async () => {
    await created('guarded', { client_secret: CANARY });
    const who = 'nobody';
    await davit.kubectl(['create', 'serviceaccount', who, '-n', tenant.namespace]);
    const nobody = { ...tenant, token: (await davit.kubectl(['create', 'token', who, '-n', tenant.namespace])).trim() };
    for (const [method, path, body] of [
      ['GET', PATH, undefined],
      ['GET', `${PATH}/guarded`, undefined],
      ['PATCH', `${PATH}/guarded`, { client_secret: 'x' }],
      ['DELETE', `${PATH}/guarded`, undefined],
    ] as const) {
      expect((await davit.call(nobody, method, path, body)).status).toBe(403);
    }
    await davit.kubectl(
      `create rolebinding ${who} -n ${ORGANIZATION_NAMESPACE} --clusterrole=davit-viewer --serviceaccount=${tenant.namespace}:${who}`.split(
        ' ',
      ),
    );
    await eventually(async () => expect((await davit.call(nobody, 'GET', `${PATH}/guarded`)).status).toBe(200));
    const refused = await patch('guarded', { client_secret: CANARY }, nobody);
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      expect.stringContaining('cannot patch resource "oauthproviders"'),
    ]);
    expect((await davit.call({ ...tenant, token: 'a.b.c' }, 'GET', PATH)).status).toBe(401);
  });
});
