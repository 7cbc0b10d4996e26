import * as oauth from 'oauth4webapi';
import { expect, it } from 'vitest';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import { makeAskIssuer } from './issuer.ts';

const ISSUER = 'https://idp.example';
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/auth`,
  token_endpoint: `${ISSUER}/token`,
};

function provider(more: object = {}): OAuthProvider {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: 'idp' },
    spec: {
      name: 'IdP',
      clientId: 'a',
      authUrl: `${ISSUER}/auth`,
      tokenUrl: `${ISSUER}/token`,
      issuer: ISSUER,
      usesPkce: true,
      tokenEndpointAuthMethod: 'none',
      isDynamicClient: false,
      ...more,
    },
  };
}

/** What the server answers at each path; 404 elsewhere. */
function serving(answers: Readonly<Record<string, object | Error>>): ReturnType<typeof makeAskIssuer> {
  return makeAskIssuer(() => ({
    signal: AbortSignal.timeout(1000),
    async [oauth.customFetch](url) {
      const answer = answers[new URL(url).pathname];
      if (answer instanceof Error) throw answer;
      return answer ? Response.json(answer) : new Response('', { status: 404 });
    },
  }));
}

const OAUTH = '/.well-known/oauth-authorization-server';
const OIDC = '/.well-known/openid-configuration';

it.each<[name: string, answers: Record<string, object | Error>, more: object, want: string]>([
  ['metadata of OAuth', { [OAUTH]: METADATA }, {}, 'True MetadataFound'],
  ['metadata of OpenID Connect alone', { [OIDC]: METADATA }, {}, 'True MetadataFound'],
  ['no metadata', {}, {}, 'False IssuerUnknown'],
  ['another issuer', { [OAUTH]: { ...METADATA, issuer: 'https://evil.example' } }, {}, 'False IssuerUnknown'],
  ['another token endpoint', { [OAUTH]: METADATA }, { tokenUrl: 'https://evil.example/token' }, 'False IssuerUnknown'],
  ['no answer', { [OAUTH]: new CodeHostFailed('timeout', 'It took too long.') }, {}, 'False IssuerUnknown'],
])('a server with %s', async (_name, answers, more, want) => {
  const found = await serving(answers)(provider(more));
  expect(`${found?.status} ${found?.reason}`).toBe(want);
  expect([found?.type, found?.message]).toEqual(['IssuerKnown', expect.stringMatching(/\.$/)]);
});

it('is not asked for a provider without an issuer', async () => {
  const { issuer: _none, ...spec } = provider().spec;
  expect(await serving({})({ ...provider(), spec })).toBeUndefined();
});
