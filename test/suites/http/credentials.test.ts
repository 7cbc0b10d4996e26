// Who shares the limits of an address. Behind a proxy that nobody has named, one address is everybody: what carries a credential of its
// own, which pulls, builds, uploads and webhooks do, is counted by that credential, once it is known to be good.

import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OAUTH_PROVIDERS } from '../../../src/kinds/oauth-provider.ts';
import { defaultSettings, Settings } from '../../../src/kinds/settings.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import { aBody, anIntegration, type Facade, listen, ORGANIZATION } from './facade.ts';

const PER_MINUTE = 20;
const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const SECRET = 'webhook-secret-canary';

let setup: FacadeWithRegistry;
let facade: Facade;
beforeEach(async () => {
  const http = { ...defaultSettings().http, requestsPerMinute: PER_MINUTE, publicUrl: 'https://davit.example' };
  const { oauth } = Settings.parse({ oauth: { hosts: [{ host: 'idp.example' }] } });
  setup = await makeFacadeWithRegistry({ http, oauth });
  ({ facade } = setup);
  anIntegration(facade, INTEGRATION);
  const hosts = { authUrl: 'https://idp.example/auth', tokenUrl: 'https://idp.example/token' };
  const place = { name: 'idp', namespace: ORGANIZATION.namespace };
  facade.providers.put(facade.kube.seed(OAUTH_PROVIDERS, anOAuthProvider({ name: 'IdP', ...hosts }, place)));
  const data = { 'webhook-secret': Buffer.from(SECRET).toString('base64') };
  const metadata = { name: 'git', namespace: ORGANIZATION.namespace };
  facade.kube.seed<KubeObject & { data: object }>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data });
});
afterEach(() => setup.close());

type Send = () => Promise<number>;

async function times(count: number, send: Send): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < count; n += 1) statuses.push(await send());
  return statuses;
}

async function made(name: string, source: string): Promise<string> {
  const body = aBody({ name, source, source_revision_config: {} });
  return (await facade.call('POST', '/v2/deployments', body)).body.id;
}

const anonymous: Send = async () => (await facade.app.inject('/v2/deployments')).statusCode;

async function pullWith(password: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`davit:${password}`).toString('base64')}`;
  const url = '/v1/registry/token?service=davit-registry';
  return (await facade.app.inject({ url, headers: { authorization } })).statusCode;
}
async function password(name: string): Promise<string> {
  const id = await made(name, 'internal_docker');
  return (await facade.call('POST', `/v2/deployments/${id}/push-token`)).body.token;
}

const ARCHIVE = gzipSync('source');
async function uploadTo(url: string): Promise<number> {
  const headers = { 'content-type': 'application/gzip', 'content-length': String(ARCHIVE.length) };
  return (await facade.app.inject({ method: 'PUT', url, headers, payload: ARCHIVE })).statusCode;
}
async function address(id: string): Promise<string> {
  const { upload_url: url } = (await facade.call('POST', `/v2/deployments/${id}/upload-url`)).body;
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

const BODY = JSON.stringify({ repository: { full_name: 'team/shop' } });
const signature = (body = BODY, secret = SECRET): string => createHmac('sha256', secret).update(body).digest('hex');
const WEBHOOK = `/v1/integrations/forge/codehost/${INTEGRATION}/webhook`;
async function deliver(signed = signature(), url = WEBHOOK, payload: string | Buffer = BODY): Promise<number> {
  const headers = { 'x-gitea-event': 'push', 'x-gitea-signature': signed, 'content-type': 'application/json' };
  return (await facade.app.inject({ method: 'POST', url, headers, payload })).statusCode;
}

/** A good request of each kind, which can be repeated. */
const GOOD: readonly [name: string, make: () => Promise<Send>][] = [
  [
    'a page of consent',
    async () => {
      const body = { provider: 'idp', scopes: [], user_id: 'ada' };
      const { url } = (await facade.call('POST', '/v2/auth/authenticate', body)).body;
      return async () => (await facade.app.inject({ url: new URL(url).pathname })).statusCode;
    },
  ],
  [
    'a pull',
    async () => {
      const token = await password('shop');
      return () => pullWith(token);
    },
  ],
  [
    'an upload',
    async () => {
      const id = await made('source', 'internal_source');
      const urls = [await address(id), await address(id), await address(id)];
      return async () => uploadTo(urls.shift() ?? '');
    },
  ],
  ['a webhook', async () => () => deliver()],
];

describe('an address whose limit strangers have used up', () => {
  it.each(GOOD)('does not stop %s', async (_name, make) => {
    const send = await make();
    expect((await times(PER_MINUTE + 5, anonymous)).slice(-5)).toEqual([429, 429, 429, 429, 429]);
    for (const status of await times(3, send)) expect(status).toBeOneOf([200, 201, 204]);
    expect(await anonymous()).toBe(429);
  });
});

describe('wrong credentials are counted by address, so that guessing ends:', () => {
  it.each<[name: string, guess: () => Promise<Send>]>([
    ['passwords', async () => () => pullWith(`davit-registry-1.${Buffer.from('{}').toString('base64url')}.x`)],
    [
      'signatures of uploads',
      async () => {
        const url = await address(await made('source', 'internal_source'));
        return () => uploadTo(url.replace(/signature=.*/, `signature=${'x'.repeat(43)}`));
      },
    ],
    ['signatures of webhooks', async () => () => deliver(signature(BODY, 'other'))],
    [
      'links of agents',
      async () => () =>
        facade.app
          .inject({ url: `/v2/auth/consent/00000000-0000-8000-a000-000000000000.${'x'.repeat(43)}` })
          .then(({ statusCode }) => statusCode),
    ],
    ['integrations', async () => () => deliver(signature(), WEBHOOK.replace('0a6b', '0000'))],
    ['nothing at all', async () => () => deliver('')],
  ])('%s', async (_name, guess) => {
    const statuses = await times(PER_MINUTE + 3, await guess());
    expect(statuses.slice(0, 3).every((status) => [401, 403, 404].includes(status))).toBe(true);
    expect(statuses.slice(-3)).toEqual([429, 429, 429]);
    expect(await anonymous()).toBe(429);
    expect(await deliver()).toBe(204);
  });
});

describe('a credential has a limit of its own:', () => {
  it('a password by its repository', async () => {
    const [one, other] = [await password('shop'), await password('other')];
    expect((await times(PER_MINUTE + 1, () => pullWith(one))).slice(-2)).toEqual([200, 429]);
    expect([await pullWith(other), await anonymous()]).toEqual([200, 401]);
    // Another password for the same repository is no way around it.
    facade.clock.ms += 5000;
    const id = facade.records.list().find(({ metadata }) => metadata.name === 'shop')?.metadata.uid;
    expect(await pullWith((await facade.call('POST', `/v2/deployments/${id}/push-token`)).body.token)).toBe(429);
  });

  it('a webhook by its integration', async () => {
    expect((await times(PER_MINUTE + 1, () => deliver())).slice(-2)).toEqual([204, 429]);
    expect(await anonymous()).toBe(401);
  });

  it('an upload by its deployment', async () => {
    const url = await address(await made('source', 'internal_source'));
    expect((await times(PER_MINUTE + 1, () => uploadTo(url))).slice(-2)).toEqual([409, 429]);
    expect(await anonymous()).toBe(401);
  });
});

it('unsigned webhooks that never end do not stop a signed one of the same address', async () => {
  const origin = new URL(await listen(facade));
  const sockets = Array.from({ length: 60 }, () => {
    const socket = connect(Number(origin.port), origin.hostname);
    socket.on('error', () => undefined);
    socket.write(
      `POST ${WEBHOOK} HTTP/1.1\r\nHost: x\r\nX-Gitea-Event: push\r\nX-Gitea-Signature: ${'0'.repeat(64)}\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n{`,
    );
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await deliver()).toBe(204);
  for (const socket of sockets) socket.destroy();
});

it('large webhooks are counted by their address before they are read', async () => {
  const large = (size: number): Promise<number> => deliver(signature(BODY, 'other'), WEBHOOK, Buffer.alloc(size));
  expect(new Set(await times(PER_MINUTE, () => large(100_000)))).toEqual(new Set([401]));
  // A body of this size gets 413 once it is read.
  expect(await large(11 * 1024 * 1024)).toBe(429);
  expect(await deliver()).toBe(204);
});

it('a Secret that cannot be read is asked for once a second, however many webhooks come', async () => {
  let reads = 0;
  facade.kube.failOn(({ verb, kind }) => {
    if (verb !== 'get' || kind !== 'Secret') return undefined;
    reads += 1;
    return new Error('the right is missing');
  });
  expect(new Set(await times(10, () => deliver()))).toEqual(new Set([500]));
  expect(reads).toBe(1);
  facade.kube.failOn(() => undefined);
  facade.clock.ms += 1000;
  expect(await deliver()).toBe(204);
});
