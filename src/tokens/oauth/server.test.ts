// What is sent to OAuth servers, and what of their answers is taken although no RFC says so.

import { describe, expect, it } from 'vitest';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import type { GuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import { discoverMcp } from './discovery.ts';
import { makeServer, type RequestOptions, requestsOver } from './server.ts';
import type { TokenValues } from './token.ts';

const PROVIDER: OAuthProvider = {
  apiVersion: 'davit.dev/v1alpha1',
  kind: 'OAuthProvider',
  metadata: { name: 'tracker' },
  spec: {
    name: 'Tracker',
    clientId: 'of-davit',
    authUrl: 'https://idp.example/auth',
    tokenUrl: 'https://idp.example/token',
    revocationUrl: 'https://idp.example/revoke',
    usesPkce: true,
    tokenEndpointAuthMethod: 'client_secret_basic',
    isDynamicClient: false,
  },
};

interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Requests that are answered by `answer`, and what was sent. */
function over(answer: (url: string, body: string) => [number, object]): {
  options: () => RequestOptions;
  sent: Sent[];
} {
  const sent: Sent[] = [];
  const fetch: GuardedFetch['fetch'] = async (url, { headers = {}, body: asked = '' }) => {
    sent.push({ url, headers: headers as Record<string, string>, body: String(asked) });
    const [status, body] = answer(url, String(asked));
    const answered = new Headers({ 'content-type': 'application/json' });
    return { status, url, headers: answered, body: JSON.stringify(body) };
  };
  return { options: requestsOver({ fetch, close: async () => undefined }), sent };
}

describe('a client secret in a header', () => {
  it.each([
    ['AZaz09-_.~', 'AZaz09-_.%7E'],
    ['a+b/c=:%', 'a%2Bb%2Fc%3D%3A%25'],
    ['ä ö', '%C3%A4+%C3%B6'],
  ])('%s is encoded as in forms and no more: many servers decode nothing', async (secret, encoded) => {
    const { options, sent } = over(() => [200, { access_token: 'a', token_type: 'bearer' }]);
    await makeServer(options).refresh({ provider: PROVIDER, secret }, 'r0');
    const basic = Buffer.from(`of-davit:${encoded}`).toString('base64');
    expect(sent).toMatchObject([{ url: 'https://idp.example/token', headers: { authorization: `Basic ${basic}` } }]);
  });
});

describe('a token that is revoked', () => {
  const revoked = async (
    answers: Readonly<Record<string, [number, object]>>,
    values: TokenValues,
  ): Promise<string[]> => {
    const { options, sent } = over((_url, body) => answers[new URLSearchParams(body).get('token') ?? ''] ?? [200, {}]);
    await makeServer(options).revoke({ provider: PROVIDER, secret: 's' }, values);
    return sent.map(({ body }) => new URLSearchParams(body).get('token') ?? '');
  };
  const both = { accessToken: 'a', refreshToken: 'r' };
  const error = (name: string): [number, object] => [400, { error: name }];

  it('is revoked with its refresh token, which comes first: not every server ends one with the other', async () => {
    expect(await revoked({}, both)).toEqual(['r', 'a']);
    expect(await revoked({}, { accessToken: 'a' })).toEqual(['a']);
  });

  it('has gone if the server does not know it any more', async () => {
    expect(await revoked({ r: error('invalid_token'), a: error('invalid_token') }, both)).toEqual(['r', 'a']);
    expect(await revoked({ a: error('invalid_request') }, both)).toEqual(['r', 'a']);
  });

  it('is kept if the server refuses', async () => {
    await expect(revoked({ r: error('invalid_client') }, both)).rejects.toThrow('answered invalid_client');
    await expect(revoked({ a: error('invalid_client') }, { accessToken: 'a' })).rejects.toThrow('invalid_client');
  });
});

it.each([200, 204, 401, 404])('a client that is deleted has gone with an answer %d', async (status) => {
  const { options, sent } = over(() => [status, {}]);
  await makeServer(options).unregister('https://idp.example/reg/c', 't');
  expect(sent).toMatchObject([{ url: 'https://idp.example/reg/c', headers: { authorization: 'Bearer t' } }]);
});

describe('a client that is registered', () => {
  const issuer = 'https://idp.example';
  const discovered = (status: number): ReturnType<typeof discoverMcp> => {
    const { options } = over((url) => {
      if (url.includes('oauth-protected-resource'))
        return [200, { resource: 'https://mcp.example/mcp', authorization_servers: [issuer] }];
      if (url === `${issuer}/reg`) return [status, { client_id: 'c', client_secret: 's', client_secret_expires_at: 0 }];
      const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
      const more = { registration_endpoint: `${issuer}/reg`, code_challenge_methods_supported: ['S256'] };
      return [200, { issuer, ...endpoints, ...more }];
    });
    const redirectUri = 'https://davit.example/v2/auth/callback/notes';
    return discoverMcp({ mcpServerUrl: 'https://mcp.example/mcp', redirectUri, clientName: 'Davit' }, options);
  };

  it.each([201, 200])('is taken from an answer with status %d', async (status) => {
    expect(await discovered(status)).toMatchObject({ clientId: 'c', secret: 's' });
  });

  it.each([202, 204, 400])('is not taken from an answer with status %d', async (status) => {
    await expect(discovered(status)).rejects.toThrow('did not register a client');
  });
});
