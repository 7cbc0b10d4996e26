// OAuth providers over HTTP: what becomes of each field, of the client secret, of two at once, and who may.

import { beforeEach, describe, expect, it } from 'vitest';
import { PROVIDER_LABEL } from '../../../src/kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider, type OAuthProviderSpec } from '../../../src/kinds/oauth-provider.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, type Facade, makeFacade, ORGANIZATION, TOKEN } from './facade.ts';

const PATH = '/v2/auth/providers';
const CANARY = 'canary-client-secret';
const OTHER_CANARY = 'canary-another-secret';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

type Secret = KubeObject & { data: Record<string, string>; immutable?: boolean };
const secrets = (): Secret[] => facade.kube.objects<Secret>(SECRETS);
const stored = (): OAuthProvider => facade.kube.objects<OAuthProvider>(OAUTH_PROVIDERS)[0] as OAuthProvider;
const realWrites = (): string[] =>
  facade
    .writes()
    .filter(({ dryRun }) => dryRun !== true)
    .map(({ verb, kind }) => `${verb} ${kind}`);
const patch = (body: unknown, id = 'tracker'): Promise<Answer> => facade.call('PATCH', `${PATH}/${id}`, body);

function aPayload(more: object = {}): object {
  return {
    provider_id: 'tracker',
    name: 'Tracker',
    client_id: 'abc',
    auth_url: 'https://tracker.example/authorize',
    token_url: 'https://tracker.example/token?tenant=1',
    ...more,
  };
}
const SPEC: OAuthProviderSpec = {
  name: 'Tracker',
  clientId: 'abc',
  authUrl: 'https://tracker.example/authorize',
  tokenUrl: 'https://tracker.example/token?tenant=1',
  usesPkce: false,
  tokenEndpointAuthMethod: 'client_secret_post',
  isDynamicClient: false,
};
function seed(spec: Partial<OAuthProviderSpec> = {}): OAuthProvider {
  const provider = facade.kube.seed<OAuthProvider>(OAUTH_PROVIDERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: 'tracker', namespace: ORGANIZATION.namespace },
    spec: { ...SPEC, ...spec },
  });
  facade.providers.put(provider);
  return provider;
}
function seedSecret(name: string, value: string, labels: Record<string, string>): void {
  facade.kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: ORGANIZATION.namespace, labels },
    data: { 'client-secret': Buffer.from(value).toString('base64') },
  } as KubeObject);
}
const PKCE = { usesPkce: true, codeChallengeMethod: 'plain' } as const;

describe('POST', () => {
  it('creates a provider and its Secret, and the answer has every field but the secret', async () => {
    const { status, body } = await facade.call('POST', PATH, aPayload({ client_secret: CANARY, provider_type: null }));
    expect([status, body]).toEqual([
      200,
      {
        id: stored().metadata.uid,
        organization_id: ORGANIZATION.id,
        provider_id: 'tracker',
        name: 'Tracker',
        client_id: 'abc',
        auth_url: 'https://tracker.example/authorize',
        token_url: 'https://tracker.example/token?tenant=1',
        uses_pkce: false,
        code_challenge_method: null,
        created_at: '2026-01-01T00:00:00Z',
        updated_at: '2026-01-01T00:00:00Z',
        provider_type: null,
        mcp_server_url: null,
        token_endpoint_auth_method: 'client_secret_post',
        is_dynamic_client: false,
      },
    ]);
    expect(secrets()).toMatchObject([
      {
        metadata: {
          name: 'tracker--client-r4nd0m',
          namespace: ORGANIZATION.namespace,
          labels: { [PROVIDER_LABEL]: 'tracker' },
        },
        immutable: true,
        data: { 'client-secret': Buffer.from(CANARY).toString('base64') },
      },
    ]);
    expect(stored().spec.clientSecretRef).toEqual({ name: 'tracker--client-r4nd0m', key: 'client-secret' });
    expect((await facade.call('GET', PATH)).body).toEqual([body]);
    expect((await facade.call('GET', `${PATH}/tracker`)).body).toEqual(body);
  });

  it("writes the provider with the caller's token, the Secret with its own account, in this order", async () => {
    await facade.call('POST', PATH, aPayload({ client_secret: CANARY }));
    expect(facade.writes().map(({ kind, dryRun, token }) => [kind, dryRun === true, token])).toEqual([
      ['OAuthProvider', true, TOKEN],
      ['Secret', false, undefined],
      ['OAuthProvider', false, TOKEN],
    ]);
  });

  it.each([
    [{ uses_pkce: true }, 'S256'],
    [{ uses_pkce: true, code_challenge_method: 'plain' }, 'plain'],
    [{ uses_pkce: false }, null],
    [{ uses_pkce: null, code_challenge_method: null }, null],
  ])('%j has method %s', async (more, want) => {
    expect((await facade.call('POST', PATH, aPayload(more))).body.code_challenge_method).toBe(want);
  });

  it('of a taken id is 409 and leaves no Secret', async () => {
    seed();
    const { status, body } = await facade.call('POST', PATH, aPayload({ client_secret: CANARY }));
    expect([status, body.detail]).toEqual([409, 'An OAuth provider with the id "tracker" already exists.']);
    expect(secrets()).toEqual([]);
  });

  it('reports all errors at once, and repeats no secret', async () => {
    const { status, body } = await facade.call('POST', PATH, {
      provider_id: 'Tracker 1',
      name: '',
      client_secret: 7,
      auth_url: 'http://tracker.example',
      code_challenge_method: 'plain',
      token_endpoint_auth_method: 'tls_client_auth',
    });
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual(
      expect.arrayContaining([
        'body.provider_id',
        'body.name',
        'body.client_id',
        'body.client_secret',
        'body.auth_url',
        'body.token_url',
        'body.code_challenge_method',
        'body.token_endpoint_auth_method',
      ]),
    );
  });
});

describe('an id that no object can be named', () => {
  const ID = 'google_workspace';
  const NAME = 'google-workspace-cf112e7e';

  it('is kept in the provider, whose name and Secret follow from it', async () => {
    const { status, body } = await facade.call('POST', PATH, aPayload({ provider_id: ID, client_secret: CANARY }));
    expect([status, body.provider_id]).toEqual([200, ID]);
    expect(stored()).toMatchObject({ metadata: { name: NAME }, spec: { providerId: ID } });
    expect(secrets()[0]?.metadata).toMatchObject({
      name: `${NAME}--client-r4nd0m`,
      labels: { [PROVIDER_LABEL]: NAME },
    });
    expect((await facade.call('GET', PATH)).body).toEqual([body]);
    expect((await facade.call('GET', `${PATH}/${ID}`)).body).toEqual(body);
    const changed = await patch({ name: 'New', client_secret: OTHER_CANARY }, ID);
    expect([changed.status, changed.body]).toMatchObject([200, { provider_id: ID, name: 'New' }]);
    expect(stored().spec).toMatchObject({ providerId: ID, clientSecretRef: { name: `${NAME}--client-r4nd0m1` } });
    const again = await facade.call('POST', PATH, aPayload({ provider_id: ID }));
    expect([again.status, again.body.detail]).toEqual([409, `An OAuth provider with the id "${ID}" already exists.`]);
    const deleted = await facade.call('DELETE', `${PATH}/${ID}`);
    expect(deleted.body).toEqual({ message: `OAuth provider "${ID}" was deleted.` });
    expect(facade.kube.objects(OAUTH_PROVIDERS)).toEqual([]);
  });

  it('is the only one that finds it', async () => {
    await facade.call('POST', PATH, aPayload({ provider_id: ID }));
    for (const other of [NAME, 'Google_Workspace', 'google.workspace', 'google-workspace'])
      expect((await facade.call('GET', `${PATH}/${other}`)).status).toBe(404);
  });

  it('of an object with another name is not found, so that nobody takes its place', async () => {
    seed({ providerId: ID });
    expect((await facade.call('GET', PATH)).body).toEqual([]);
    for (const other of [ID, 'tracker']) expect((await facade.call('GET', `${PATH}/${other}`)).status).toBe(404);
  });

  it('needs the right to its object', async () => {
    await facade.call('POST', PATH, aPayload({ provider_id: ID }));
    facade.clock.ms += 60_000;
    facade.kube.allow(({ verb, name }) => verb === 'list' || name === NAME);
    expect((await patch({ name: 'New' }, ID)).status).toBe(200);
    expect((await patch({ name: 'New' }, 'other_one')).status).toBe(403);
  });
});

describe('PATCH', () => {
  it.each([
    { name: 'a name', given: {}, sent: { name: 'New' }, want: { name: 'New' } },
    { name: 'a client id', given: {}, sent: { client_id: 'x' }, want: { client_id: 'x' } },
    {
      name: 'an address',
      given: {},
      sent: { auth_url: 'https://b.example:8443/?a=b' },
      want: { auth_url: 'https://b.example:8443/?a=b' },
    },
    {
      name: 'another address',
      given: {},
      sent: { token_url: 'https://[2001:db8::1]/t' },
      want: { token_url: 'https://[2001:db8::1]/t' },
    },
    {
      name: 'PKCE means S256',
      given: {},
      sent: { uses_pkce: true },
      want: { uses_pkce: true, code_challenge_method: 'S256' },
    },
    {
      name: 'PKCE and a method',
      given: {},
      sent: { uses_pkce: true, code_challenge_method: 'plain' },
      want: { code_challenge_method: 'plain' },
    },
    {
      name: 'PKCE again keeps the method',
      given: PKCE,
      sent: { uses_pkce: true, name: 'N' },
      want: { code_challenge_method: 'plain' },
    },
    {
      name: 'a method alone, with PKCE',
      given: PKCE,
      sent: { code_challenge_method: 'S256' },
      want: { uses_pkce: true, code_challenge_method: 'S256' },
    },
    {
      name: 'no PKCE clears the method',
      given: PKCE,
      sent: { uses_pkce: false },
      want: { uses_pkce: false, code_challenge_method: null },
    },
    {
      name: 'PKCE after none is S256 again',
      given: {},
      sent: { uses_pkce: true, code_challenge_method: null },
      want: { code_challenge_method: 'S256' },
    },
  ])('$name', async ({ given, sent, want }) => {
    const before = seed(given);
    facade.clock.ms += 5000;
    const { status, body } = await patch(sent);
    expect([status, body]).toMatchObject([200, want]);
    expect(body.updated_at).toBe('2026-01-01T00:00:05Z');
    expect(Object.keys(stored().spec).toSorted()).toEqual(
      Object.keys({ ...before.spec, ...(stored().spec.codeChallengeMethod && { codeChallengeMethod: '' }) })
        .filter((field) => field !== 'codeChallengeMethod' || body.uses_pkce)
        .toSorted(),
    );
  });

  it.each([
    { name: 'nothing', given: {}, sent: {} },
    {
      name: 'nulls alone',
      given: PKCE,
      sent: {
        name: null,
        client_id: null,
        client_secret: null,
        auth_url: null,
        token_url: null,
        uses_pkce: null,
        code_challenge_method: null,
      },
    },
    {
      name: 'what it is already',
      given: PKCE,
      sent: { name: 'Tracker', client_id: 'abc', uses_pkce: true, code_challenge_method: 'plain' },
    },
    {
      name: 'a method that kubectl left out',
      given: { usesPkce: true },
      sent: { uses_pkce: true, code_challenge_method: 'S256' },
    },
    { name: 'no PKCE where there is none', given: {}, sent: { uses_pkce: false, code_challenge_method: null } },
    {
      name: 'fields that are unknown, or not to be changed here',
      given: {},
      sent: { provider_id: 'x', is_dynamic_client: true, surprise: 1 },
    },
  ])('$name changes nothing', async ({ given, sent }) => {
    seed(given);
    const { body: before } = await facade.call('GET', `${PATH}/tracker`);
    facade.clock.ms += 5000;
    expect(await patch(sent)).toMatchObject({ status: 200, body: before });
    expect(realWrites()).toEqual([]);
  });

  it('sending back an answer changes nothing', async () => {
    seed(PKCE);
    const { body: before } = await facade.call('GET', `${PATH}/tracker`);
    facade.clock.ms += 5000;
    expect((await patch(before)).body).toEqual(before);
    expect(realWrites()).toEqual([]);
  });

  it('takes optional addresses away with an empty string, and leaves them with null', async () => {
    seed({ issuer: 'https://tracker.example', revocationUrl: 'https://tracker.example/revoke' });
    expect((await patch({ issuer: null, revocation_url: null })).body).toMatchObject({
      issuer: 'https://tracker.example',
      revocation_url: 'https://tracker.example/revoke',
    });
    const { status, body } = await patch({ issuer: '', revocation_url: '' });
    expect([status, body.issuer, body.revocation_url]).toEqual([200, undefined, undefined]);
    expect(stored().spec).toEqual(SPEC);
    expect((await patch({ issuer: '' })).status).toBe(200);
    expect(realWrites()).toEqual(['patch OAuthProvider']);
  });

  const url = 'must be an absolute https URL without user, password or fragment';
  it.each([
    [{ name: '' }, 'name', 'must not be empty'],
    [{ client_id: '' }, 'client_id', 'must not be empty'],
    [{ client_secret: '' }, 'client_secret', 'must not be empty'],
    [{ auth_url: '' }, 'auth_url', url],
    [{ issuer: 'http://a.example' }, 'issuer', url],
    [{ token_url: '/token' }, 'token_url', url],
    [{ token_url: 'http://a.example/' }, 'token_url', url],
    [{ token_url: 'https://user:pw@a.example/' }, 'token_url', url],
    [{ token_url: 'https://user@a.example/' }, 'token_url', url],
    [{ token_url: 'https://a.example/#x' }, 'token_url', url],
    [{ token_url: 'https:///a' }, 'token_url', url],
    [{ token_url: 'https://a b/' }, 'token_url', url],
    [{ token_url: 'https://a.example\\@b.example/' }, 'token_url', url],
    [{ token_url: 'javascript:alert(1)' }, 'token_url', url],
    [{ token_url: 7 }, 'token_url', 'must be a string'],
    [{ uses_pkce: 'yes' }, 'uses_pkce', 'must be true or false'],
    [{ code_challenge_method: 's256' }, 'code_challenge_method', 'S256'],
    [{ code_challenge_method: '' }, 'code_challenge_method', 'S256'],
    [{ code_challenge_method: 'plain' }, 'code_challenge_method', 'code_challenge_method needs uses_pkce'],
    [{ uses_pkce: false, code_challenge_method: 'plain' }, 'code_challenge_method', 'needs uses_pkce'],
  ])('%j is 422', async (sent, field, says) => {
    seed();
    const { status, body } = await patch(sent);
    expect(status).toBe(422);
    expect(body.detail).toContainEqual({
      loc: ['body', field],
      msg: expect.stringContaining(says),
      type: expect.any(String),
    });
    expect(realWrites()).toEqual([]);
  });

  it.each(['unknown', 'Tracker', '..%2Fsecrets', '__proto__', 'a--', 'a%20b'])('of %s is 404', async (id) => {
    seed();
    const { status, body } = await patch({ name: 'New' }, id);
    expect([status, body.detail]).toEqual([404, `OAuth provider "${decodeURIComponent(id)}" not found.`]);
    expect(realWrites()).toEqual([]);
  });
});

describe('the client secret', () => {
  it('that is new gets a new Secret, which the provider then names', async () => {
    await facade.call('POST', PATH, aPayload({ client_secret: CANARY }));
    facade.kube.clearWrites();
    facade.clock.ms += 5000;
    const { body } = await patch({ client_secret: OTHER_CANARY });
    expect(body.updated_at).toBe('2026-01-01T00:00:05Z');
    expect(realWrites()).toEqual(['create Secret', 'patch OAuthProvider']);
    expect(stored().spec.clientSecretRef).toEqual({ name: 'tracker--client-r4nd0m1', key: 'client-secret' });
    expect(secrets().length).toBe(2);
  });

  it('that is the same changes nothing', async () => {
    const { body: made } = await facade.call('POST', PATH, aPayload({ client_secret: CANARY }));
    facade.kube.clearWrites();
    facade.clock.ms += 5000;
    expect((await patch({ client_secret: CANARY })).body).toEqual(made);
    expect(realWrites()).toEqual([]);
    expect((await patch({ client_secret: CANARY, name: 'New' })).body.name).toBe('New');
    expect(realWrites()).toEqual(['patch OAuthProvider']);
  });

  it("is read only after a dry run with the caller's token", async () => {
    seed({ clientSecretRef: { name: 'tracker--client-a', key: 'client-secret' } });
    seedSecret('tracker--client-a', CANARY, { [PROVIDER_LABEL]: 'tracker' });
    let looked = 0;
    facade.kube.failOn(({ verb, kind }) => {
      if (kind === 'Secret') looked += 1;
      return verb === 'patch' ? new Forbidden('no', { serverMessage: 'may not' }) : undefined;
    });
    for (const sent of [CANARY, OTHER_CANARY]) {
      expect(await patch({ client_secret: sent })).toMatchObject({ status: 403, body: { detail: 'may not' } });
    }
    expect(looked).toBe(0);
  });

  it('in a foreign Secret is compared only for a caller who may read it', async () => {
    seed({ clientSecretRef: { name: 'others', key: 'client-secret' } });
    seedSecret('others', CANARY, { [PROVIDER_LABEL]: 'another' });
    facade.kube.failOn(({ kind, token }) =>
      kind === 'Secret' && token === TOKEN ? new Forbidden('get secret') : undefined,
    );
    // It counts as new: whoever guesses right learns nothing.
    await patch({ client_secret: CANARY });
    expect(realWrites()).toEqual(['create Secret', 'patch OAuthProvider']);
    facade.kube.failOn(undefined);
    seed({ clientSecretRef: { name: 'others', key: 'client-secret' } });
    facade.kube.clearWrites();
    await patch({ client_secret: CANARY });
    expect(realWrites()).toEqual([]);
  });

  it('that is the same gets a new Secret for another address, for a caller who cannot read the old one', async () => {
    seedSecret('tracker--client-old', CANARY, { [PROVIDER_LABEL]: 'tracker' });
    seed({ clientSecretRef: { name: 'tracker--client-old', key: 'client-secret' } });
    const { status } = await patch({ client_secret: CANARY, token_url: 'https://other.example/token' });
    expect(status).toBe(200);
    expect(stored().spec).toMatchObject({ tokenUrl: 'https://other.example/token' });
    expect(stored().spec.clientSecretRef?.name).not.toBe('tracker--client-old');
    expect(secrets()).toHaveLength(2);
  });

  it('has to be sent with another address by a caller who may not read it', async () => {
    seedSecret('tracker--client-old', CANARY, { [PROVIDER_LABEL]: 'tracker' });
    seed({ clientSecretRef: { name: 'tracker--client-old', key: 'client-secret' } });
    facade.kube.failOn(({ verb, kind }) =>
      verb === 'get' && kind === 'Secret' ? new Forbidden('x', { serverMessage: 'no' }) : undefined,
    );
    const { status, body } = await patch({ auth_url: 'https://other.example/authorize' });
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ['body', 'client_secret'],
          msg: expect.stringMatching(
            /^is required with another auth_url, .*you may not read the current client secret$/,
          ),
          type: 'value_error',
        },
      ],
    ]);
    expect(realWrites()).toEqual([]);
  });

  it('is kept for another address by a caller who may read it, and bound to that address', async () => {
    const made = await facade.call('POST', PATH, aPayload({ client_secret: CANARY }));
    expect(made.status).toBe(200);
    const first = stored().spec.clientSecretRef?.name;
    const annotationsOf = (name?: string): unknown =>
      secrets().find(({ metadata }) => metadata.name === name)?.metadata.annotations;
    const bound = (...addresses: string[]): object => ({ 'davit.dev/sent-to': JSON.stringify(addresses) });
    expect(annotationsOf(first)).toEqual(bound(SPEC.authUrl, SPEC.tokenUrl));
    const other = 'https://other.example/token';
    expect((await patch({ token_url: other })).status).toBe(200);
    const second = stored().spec.clientSecretRef?.name;
    expect(second).not.toBe(first);
    expect(annotationsOf(second)).toEqual(bound(SPEC.authUrl, other));
    expect(secrets().map(({ data }) => data['client-secret'])).toEqual(
      Array.from({ length: 2 }, () => Buffer.from(CANARY).toString('base64')),
    );
  });

  it('is recreated if its Secret is gone', async () => {
    seed({ clientSecretRef: { name: 'tracker--client-gone', key: 'client-secret' } });
    await patch({ client_secret: CANARY });
    expect(realWrites()).toEqual(['create Secret', 'patch OAuthProvider']);
  });

  it('is only in the Secret', async () => {
    const answers = [
      await facade.call('POST', PATH, aPayload({ client_secret: CANARY })),
      await patch({ client_secret: OTHER_CANARY }),
      await patch({ client_secret: OTHER_CANARY, auth_url: 'no' }),
      await facade.call('GET', PATH),
      await facade.call('POST', PATH, aPayload({ client_secret: CANARY })),
    ];
    facade.kube.failOn(({ verb, kind }) =>
      verb === 'create' && kind === 'Secret' ? new Error(`told ${kind}`) : undefined,
    );
    answers.push(await patch({ client_secret: CANARY }));
    const everything = JSON.stringify([answers, facade.log(), facade.kube.objects(OAUTH_PROVIDERS)]);
    expect(everything).not.toMatch(/canary-(client|another)/);
    expect(everything).not.toContain(Buffer.from(CANARY).toString('base64'));
    expect(answers.at(-1)?.status).toBe(500);
  });

  it("a rejection of the facade's own account is not reported as the caller's", async () => {
    seed();
    facade.kube.failOn(({ kind }) =>
      kind === 'Secret' ? new Forbidden('x', { serverMessage: 'davit-api cannot' }) : undefined,
    );
    const { status, body } = await patch({ client_secret: CANARY });
    expect([status, body.detail]).toEqual([500, expect.stringContaining('Internal error')]);
  });
});

describe('concurrent changes', () => {
  it('are both applied, with one Secret for each client secret in use', async () => {
    seed();
    const answers = await Promise.all([
      patch({ name: 'New' }),
      patch({ client_id: 'new' }),
      patch({ client_secret: CANARY }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(stored().spec).toMatchObject({ name: 'New', clientId: 'new', clientSecretRef: { key: 'client-secret' } });
    expect(secrets().length).toBe(1);
  });

  it('an outdated cache does not hide a change', async () => {
    seed();
    facade.kube.seed(OAUTH_PROVIDERS, { ...stored(), spec: { ...SPEC, name: 'Other' } } as OAuthProvider);
    expect((await patch({ name: 'Tracker' })).body.name).toBe('Tracker');
    expect(stored().spec.name).toBe('Tracker');
  });

  it('a caller who may write but not read gets the first conflict', async () => {
    seed();
    facade.kube.seed(OAUTH_PROVIDERS, { ...stored(), spec: { ...SPEC, name: 'Other' } } as OAuthProvider);
    facade.kube.failOn(({ verb }) => (verb === 'get' ? new Forbidden('get') : undefined));
    expect((await patch({ name: 'New' })).status).toBe(409);
  });

  it('a provider that is deleted meanwhile is 404', async () => {
    const { metadata } = seed();
    facade.kube.erase(OAUTH_PROVIDERS, metadata);
    expect((await patch({ name: 'New' })).status).toBe(404);
    expect((await facade.call('GET', PATH)).body).toEqual([]);
  });

  it('a lost answer is 503, and the Secret stays because the provider may name it', async () => {
    seed();
    facade.kube.failAfter(({ verb, dryRun }) =>
      verb === 'patch' && dryRun !== true ? new Unavailable('patch: reset') : undefined,
    );
    expect((await patch({ client_secret: CANARY })).status).toBe(503);
    expect(stored().spec.clientSecretRef?.name).toBe(secrets()[0]?.metadata.name);
  });
});

describe('DELETE', () => {
  it('deletes the provider with a uid precondition', async () => {
    const { metadata } = seed();
    const { status, body } = await facade.call('DELETE', `${PATH}/tracker`);
    expect([status, body]).toEqual([200, { message: 'OAuth provider "tracker" was deleted.' }]);
    expect(facade.writes()).toMatchObject([{ verb: 'delete', body: { uid: metadata.uid }, token: TOKEN }]);
    expect((await facade.call('GET', `${PATH}/tracker`)).status).toBe(404);
    expect((await facade.call('DELETE', `${PATH}/tracker`)).status).toBe(404);
  });
});

describe('the right', () => {
  const rows = [
    ['GET', PATH, 'list', undefined],
    ['POST', PATH, 'create', aPayload()],
    ['GET', `${PATH}/tracker`, 'get', undefined],
    ['PATCH', `${PATH}/tracker`, 'patch', { name: 'New' }],
    ['DELETE', `${PATH}/tracker`, 'delete', undefined],
  ] as const;
  it.each(rows)('%s %s needs to %s oauthproviders of the organization', async (method, path, verb, body) => {
    if (method !== 'POST') seed();
    facade.kube.allow(
      (asked) =>
        asked['resource'] === 'oauthproviders' &&
        asked['namespace'] === ORGANIZATION.namespace &&
        asked['verb'] === verb,
    );
    // Whatever tenant is named, if any.
    expect((await facade.call(method, path, body, { 'x-tenant-id': 'nobody' })).status).toBe(200);
    facade.clock.ms += 60_000;
    facade.kube.allow((asked) => asked['resource'] === 'appdeployments');
    const refused = await facade.call(method, path, body);
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      `You cannot ${verb} resource "oauthproviders" in API group "davit.dev" in the namespace "davit-org". Ask for a role that allows it.`,
    ]);
    expect(JSON.stringify((await facade.app.inject({ method, url: path })).statusCode)).toBe('401');
  });

  it('a caller without the right to write is rejected before the body is read, except for a provider that its role names', async () => {
    seed();
    facade.kube.allow(({ verb }) => verb === 'list');
    const refused = await facade.call('PATCH', `${PATH}/tracker`, '{"half');
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('cannot patch resource')]);
    facade.clock.ms += 60_000;
    facade.kube.allow(({ verb, name }) => verb === 'list' || name === 'tracker');
    expect((await patch({ name: 'New' })).status).toBe(200);
  });
});

it('answers 503 while its cache is not filled', async () => {
  facade.providers.synced = false;
  expect((await facade.call('GET', PATH)).status).toBe(503);
  expect(await facade.call('GET', '/readyz')).toMatchObject({
    status: 503,
    body: { detail: 'Not ready: not listed yet: providers.' },
  });
});

it('finds a provider that another replica just created', async () => {
  facade.providers.drop(seed().metadata.uid ?? '');
  expect((await facade.call('GET', `${PATH}/tracker`)).status).toBe(200);
  facade.kube.failOn(({ verb }) => (verb === 'get' ? new Forbidden('get') : undefined));
  expect((await facade.call('GET', `${PATH}/other`)).status).toBe(404);
});

it('warns of a token endpoint to which the platform sends no requests', async () => {
  facade = await makeFacade({ oauth: { ...defaultSettings().oauth, hosts: [{ host: 'idp.example', addresses: [] }] } });
  const warning = {
    loc: ['body', 'token_url'],
    msg: 'This platform sends no requests to tracker.example (tokenUrl). Ask the platform team to add it to settings.oauth.hosts.',
    type: 'value_error',
  };
  const made = await facade.call('POST', PATH, aPayload());
  expect([made.status, made.body.warnings]).toEqual([200, [warning]]);
  expect((await patch({ name: 'T' })).body.warnings).toEqual([warning]);
  expect((await patch({ token_url: 'https://IDP.example/token' })).body.warnings).toBeUndefined();
});
