// Who may use which tenant: a table of tokens, headers and rights, and how often the API server is asked.

import { beforeEach, describe, expect, it } from 'vitest';
import { Unauthorized, Unavailable } from '../../../src/runtime/errors.ts';
import { NAMESPACES } from '../../../src/runtime/kube/api-resources.ts';
import { type Facade, makeFacade, OTHER_TENANT, TENANT } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

function serviceAccountToken(namespace: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [part({ alg: 'RS256' }), part({ 'kubernetes.io': { namespace } }), 'c2ln'].join('.');
}

function reviews(): string[] {
  return facade.kube.writes
    .filter(({ kind }) => kind === 'SelfSubjectAccessReview')
    .map(
      ({ body }) =>
        (body as { spec: { resourceAttributes: { verb: string; namespace: string } } }).spec.resourceAttributes,
    )
    .map(({ verb, namespace }) => `${verb} ${namespace}`);
}

const NO_TENANT =
  "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use. If you have no role in its namespace, ask for davit-viewer or davit-editor there first.";
const NOT_THAT_TENANT =
  'X-Tenant-Id does not name a tenant that you may use. Send the id of a tenant or the name of its namespace, or ask for the role davit-viewer or davit-editor in that namespace.';
const own = serviceAccountToken('team-b');

describe('the tenant', () => {
  it.each([
    { name: 'by id', header: TENANT.id, may: ['team-a', 'team-b'], want: 'team-a' },
    { name: 'by id in upper case', header: TENANT.id.toUpperCase(), may: ['team-a'], want: 'team-a' },
    { name: 'by name', header: 'team-b', may: ['team-a', 'team-b'], want: 'team-b' },
    { name: 'one that the caller may not use', header: TENANT.id, may: ['team-b'], want: undefined },
    { name: 'one that is not there', header: 'team-z', may: ['team-b'], want: undefined },
    { name: 'a namespace that is no tenant', header: 'no-tenant', may: ['no-tenant', 'team-a'], want: undefined },
    { name: 'a prototype', header: '__proto__', may: ['team-a'], want: undefined },
    { name: 'none sent, one usable', header: undefined, may: ['team-b'], want: 'team-b' },
    { name: 'an empty header is none', header: '', may: ['team-b'], want: 'team-b' },
    { name: 'none sent, two usable', header: undefined, may: ['team-a', 'team-b'], want: undefined },
    { name: 'none sent, none usable', header: undefined, may: [], want: undefined },
    { name: "the token's own namespace", header: undefined, token: own, may: ['team-a', 'team-b'], want: 'team-b' },
    {
      name: "the header wins over the token's own",
      header: 'team-a',
      token: own,
      may: ['team-a', 'team-b'],
      want: 'team-a',
    },
    { name: "the token's own is a hint, not a right", header: undefined, token: own, may: ['team-a'], want: 'team-a' },
    {
      name: 'a token from elsewhere',
      header: undefined,
      token: serviceAccountToken('kube-system'),
      may: ['team-a', 'team-b'],
      want: undefined,
    },
    { name: 'a token that only looks like one', header: undefined, token: 'a.b.c', may: ['team-a'], want: 'team-a' },
    {
      name: 'claims that are no text',
      header: undefined,
      token: serviceAccountToken({ toString: 1 }),
      may: ['team-a'],
      want: 'team-a',
    },
  ])('$name', async ({ header, token = 'opaque', may, want }) => {
    for (const { namespace } of [TENANT, OTHER_TENANT])
      facade.seed({ metadata: { name: `in-${namespace}`, namespace } });
    facade.kube.allow(({ namespace }) => may.some((one) => one === namespace));
    const answer = await facade.app.inject({
      url: '/v2/deployments',
      headers: { authorization: `Bearer ${token}`, ...(header !== undefined && { 'x-tenant-id': header }) },
    });
    const refusal = header === undefined ? NO_TENANT : NOT_THAT_TENANT;
    if (want === undefined) expect([answer.statusCode, answer.json()]).toEqual([403, { detail: refusal }]);
    else
      expect(answer.json<{ resources: { name: string }[] }>().resources.map(({ name }) => name)).toEqual([
        `in-${want}`,
      ]);
  });

  it('is not chosen automatically among more than 20', async () => {
    for (let n = 0; n < 19; n += 1)
      facade.tenants.put({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: `t${n}`, uid: `uid-${n}`, labels: { 'davit.dev/tenant': 'true' } },
      });
    facade.kube.allow(({ namespace }) => namespace === 'team-a');
    expect((await facade.call('GET', '/v2/deployments', undefined, { 'x-tenant-id': '' })).status).toBe(403);
    expect(reviews()).toEqual([]);
  });

  it("is neither the organization's namespace nor one outside of the configured namespaces", async () => {
    facade = await makeFacade({ namespaces: ['team-a'], organizationNamespace: 'no-tenant' });
    facade.kube.seed(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'no-tenant', labels: { 'davit.dev/tenant': 'true' } },
    });
    facade.tenants.fill();
    const status = async (tenant: string): Promise<number> =>
      (await facade.call('GET', '/v2/deployments', undefined, { 'x-tenant-id': tenant })).status;
    expect([await status('team-a'), await status('team-b'), await status('no-tenant')]).toEqual([200, 403, 403]);
  });
});

describe('the right', () => {
  const remove = (id = 'not-a-uuid'): ReturnType<Facade['call']> => facade.call('DELETE', `/v2/deployments/${id}`);

  it('to write suffices to write, and a caller who may only read learns which right is missing', async () => {
    facade.kube.allow(({ verb }) => verb === 'delete');
    expect((await remove()).status).toBe(422);
    facade.clock.ms += 60_000;
    facade.kube.allow(({ verb }) => verb === 'list');
    expect(await remove()).toMatchObject({
      status: 403,
      body: {
        detail:
          'You cannot delete resource "appdeployments" in API group "davit.dev" in the namespace "team-a". Ask for a role that allows it.',
      },
    });
    expect((await facade.call('GET', '/v2/deployments/not-a-uuid')).status).toBe(403);
  });

  it('to change is told by HEAD, before anything is changed', async () => {
    const { metadata } = facade.seed({ metadata: { name: 'shop' } });
    const allow = async (path: string): Promise<unknown> => {
      facade.clock.ms += 60_000;
      return (await facade.app.inject({ method: 'HEAD', url: path, headers })).headers['allow'];
    };
    const headers = { authorization: 'Bearer opaque', 'x-tenant-id': TENANT.id };
    const [one, all] = [`/v2/deployments/${metadata.uid}?secrets=names`, '/v2/deployments'];
    const retained = '/v2/retained-databases';
    expect([await allow(one), await allow(all)]).toEqual(['GET, HEAD, PATCH, DELETE', 'GET, HEAD, POST']);
    expect(await allow(retained)).toBe('GET, HEAD, DELETE');
    facade.kube.allow(({ verb }) => verb === 'get' || verb === 'list');
    expect([await allow(one), await allow(all)]).toEqual(['GET, HEAD', 'GET, HEAD']);
    facade.kube.allow(({ verb, name }) => verb === 'get' || verb === 'list' || (verb === 'patch' && name === 'shop'));
    expect(await allow(one)).toBe('GET, HEAD, PATCH');
    facade.kube.allow(({ verb, resource }) => verb === 'list' || resource === 'appdeployments');
    expect(await allow(retained)).toBe('GET, HEAD');
  });

  it('to read objects that are not Davit’s own is named to whoever may list the deployments', async () => {
    facade.kube.allow(({ resource }) => resource === 'appdeployments');
    expect((await facade.call('GET', '/v2/retained-databases')).body.detail).toMatch(
      /^You cannot list resource "persistentvolumeclaims" in API group "" in the namespace "team-a"\./,
    );
    facade.clock.ms += 60_000;
    facade.kube.allow(() => false);
    expect((await facade.call('GET', '/v2/retained-databases')).body.detail).toMatch(/X-Tenant-Id/);
  });

  it('may be limited to one record', async () => {
    const [one, other] = ['one', 'other'].map((name) => facade.seed({ metadata: { name } }).metadata.uid ?? '');
    facade.kube.allow(({ verb, name }) => verb === 'list' || name === 'one');
    expect((await remove(one)).status).toBe(204);
    expect((await remove(other)).status).toBe(403);
    expect((await remove()).status).toBe(403);
  });

  it('is reviewed once for concurrent requests, and cached for ten seconds', async () => {
    const list = (token = 'one'): Promise<unknown> =>
      facade.call('GET', '/v2/deployments', undefined, { 'x-api-key': token });
    await Promise.all([list(), list(), list()]);
    facade.clock.ms += 9999;
    await list();
    expect(reviews()).toEqual(['list team-a']);
    facade.clock.ms += 1;
    await list();
    await list('two');
    expect(reviews().length).toBe(3);
  });

  it('is reviewed again after a failure', async () => {
    facade.kube.failOn(() => new Unauthorized('review'));
    const refused = await facade.call('GET', '/v2/deployments');
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    facade.kube.failOn(undefined);
    expect((await facade.call('GET', '/v2/deployments')).status).toBe(401);
    facade.clock.ms += 10_000;
    expect((await facade.call('GET', '/v2/deployments')).status).toBe(200);
  });

  it('is reviewed again immediately after an outage', async () => {
    for (const review of ['SelfSubjectReview', 'SelfSubjectAccessReview']) {
      facade.kube.failOn(({ kind }) => (kind === review ? new Unavailable('review') : undefined));
      expect((await facade.call('GET', '/v2/deployments')).status).toBe(503);
    }
    facade.kube.failOn(undefined);
    expect((await facade.call('GET', '/v2/deployments')).status).toBe(200);
  });
});

describe('the token', () => {
  const HOW = 'Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".';
  it.each([
    { name: 'Bearer', headers: { authorization: 'Bearer abc' }, want: 'abc' },
    { name: 'bearer in lower case', headers: { authorization: 'bearer  abc ' }, want: 'abc' },
    { name: 'X-Api-Key', headers: { 'x-api-key': 'abc' }, want: 'abc' },
    { name: 'both: Bearer wins', headers: { authorization: 'Bearer abc', 'x-api-key': 'def' }, want: 'abc' },
    {
      name: "a proxy's Basic beside X-Api-Key",
      headers: { authorization: 'Basic eA==', 'x-api-key': 'def' },
      want: 'def',
    },
    { name: 'none', headers: {}, want: HOW },
    { name: 'empty', headers: { authorization: 'Bearer ', 'x-api-key': '' }, want: HOW },
    { name: 'another scheme', headers: { authorization: 'Basic eA==' }, want: HOW },
    { name: 'two words', headers: { authorization: 'Bearer a b' }, want: `The credentials are not a token. ${HOW}` },
    { name: 'not ASCII', headers: { 'x-api-key': 'tökén' }, want: `The credentials are not a token. ${HOW}` },
  ])('$name', async ({ headers, want }) => {
    const answer = await facade.app.inject({
      url: '/v2/deployments',
      headers: { 'x-tenant-id': TENANT.id, ...headers },
    });
    if (answer.statusCode === 401) expect(answer.json()).toEqual({ detail: want });
    else expect(new Set(facade.kube.writes.map(({ token }) => token))).toEqual(new Set([want]));
  });

  it('is checked before anything is read', async () => {
    const answer = await facade.app.inject({
      method: 'POST',
      url: '/v2/deployments',
      payload: 'not json',
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.statusCode).toBe(401);
  });
});
