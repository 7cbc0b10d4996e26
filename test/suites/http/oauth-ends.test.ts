// What is left of people's tokens when a provider, a tenant or a deployment goes, over an in-memory API server.

import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { CodeHostFailed, Unavailable } from '../../../src/runtime/errors.ts';
import { HttpError } from '../../../src/runtime/http/http-error.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { type Clients, makeClients } from '../../../src/tokens/oauth/clients.ts';
import { type Collector, makeCollector } from '../../../src/tokens/oauth/collector.ts';
import { makeConnections } from '../../../src/tokens/oauth/connections.ts';
import { makeKeys } from '../../../src/tokens/oauth/keys.ts';
import { agentSlot, idOf, type Subject } from '../../../src/tokens/oauth/names.ts';
import { GrantFailed, type OAuthServer } from '../../../src/tokens/oauth/server.ts';
import { makeTokenStore, type TokenEntry } from '../../../src/tokens/oauth/token-store.ts';
import { makeTokens, type Tokens } from '../../../src/tokens/oauth/tokens.ts';
import { makeVault } from '../../../src/tokens/oauth/vault.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { type Facade, makeFacade, ORGANIZATION, TENANT } from './facade.ts';

let facade: Facade;
let tokens: Tokens;
let clients: Clients;
let collector: Collector;
let ending: AbortController;
let running: Promise<void>;
let asked: string[];
let warnings: string[];
let clock: number;
let timers: FakeClock;
let failure: Error | undefined;
let clientFailure: Error | undefined;
let meanwhile: () => Promise<unknown>;
let keep: (subject: Partial<Subject>, providerUid?: string) => Promise<TokenEntry>;
let connect: (token: TokenEntry) => Promise<unknown>;

const server: Pick<OAuthServer, 'revoke' | 'unregister' | 'refresh' | 'exchange'> = {
  exchange: () => Promise.reject(new Error('not asked here')),
  refresh: () => Promise.reject(new Error('not asked here')),
  async revoke({ provider }, { refreshToken }) {
    asked.push(`revoke ${refreshToken} at ${provider.spec.revocationUrl}`);
    await meanwhile();
    if (failure) throw failure;
  },
  async unregister(uri, token) {
    asked.push(`unregister ${uri} with ${token}`);
    if (failure) throw failure;
  },
};

function aProvider(revocationUrl = 'https://idp.example/revoke'): OAuthProvider {
  const hosts = { authUrl: 'https://idp.example/auth', tokenUrl: 'https://idp.example/token', revocationUrl };
  const provider = facade.kube.seed(
    OAUTH_PROVIDERS,
    anOAuthProvider({ name: 'IdP', ...hosts }, { name: 'idp', namespace: ORGANIZATION.namespace }),
  );
  facade.providers.put(provider);
  return provider;
}

function removeProvider(): void {
  const [provider] = facade.providers.list();
  facade.kube.erase(OAUTH_PROVIDERS, { namespace: ORGANIZATION.namespace, name: 'idp' });
  facade.providers.drop(provider?.metadata.uid ?? '');
}

const left = (): string[] =>
  facade.kube
    .objects(SECRETS)
    .filter(({ metadata }) => metadata.namespace === 'davit-oauth')
    .map(({ metadata }) => metadata.name.split('-')[0] ?? '')
    .toSorted();

beforeEach(async () => {
  facade = await makeFacade();
  asked = [];
  warnings = [];
  failure = undefined;
  clientFailure = undefined;
  meanwhile = async () => undefined;
  clock = Date.parse('2026-01-01T00:00:00Z');
  timers = makeFakeClock();
  const { kube, providers, tenants, records } = facade;
  const provider = aProvider();
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) });
  const now = (): Date => new Date(clock);
  const keys = makeKeys({ kube, namespace: 'davit-system', now, log });
  const vault = makeVault({ kube, namespace: 'davit-oauth', keys });
  const store = makeTokenStore(vault);
  const clientOf = async (one: OAuthProvider): Promise<{ provider: OAuthProvider; secret: undefined }> => {
    if (clientFailure) throw clientFailure;
    return { provider: one, secret: undefined };
  };
  tokens = makeTokens({ store, server, clientOf, holder: 'here', now, note: async () => undefined });
  clients = makeClients({ vault, keys, server });
  collector = makeCollector({
    kube,
    vault,
    tokens,
    clients,
    caches: { providers, tenants, records },
    organizationNamespace: ORGANIZATION.namespace,
    now,
    clock: timers,
    log,
  });
  ending = new AbortController();
  // It hears of deletions from now on; most tests sweep themselves.
  running = collector.run(ending.signal);
  keep = async (more, providerUid = provider.metadata.uid) => {
    const subject = { tenant: TENANT.namespace, tenantId: TENANT.id, provider: 'idp', user: 'ada', slot: '', ...more };
    const time = now().toISOString();
    const about = { scopes: [], createdAt: time, updatedAt: time, isDefault: true, metadata: {} };
    const id = idOf(await keys(), 'token', subject);
    const named = { ...about, ...(providerUid !== undefined && { providerUid }) };
    const grant = { accessToken: 'access', refreshToken: `refresh-${subject.user}`, scope: undefined, expiresIn: 60 };
    return tokens.keep({ id, subject, about: named }, provider, grant);
  };
  const connections = makeConnections({ vault, keys, now });
  connect = (token) =>
    connections.connect(
      { tenant: { id: TENANT.id, namespace: TENANT.namespace }, user: 'ada' },
      { username: 'agent' },
      'triage',
      token,
    );
  return () => ending.abort();
});

it('nothing ends, and nothing is written, while all is there', async () => {
  await connect(await keep({}));
  await clients.keep(aProvider(), { uri: 'https://idp.example/reg/a', token: 'r' });
  facade.kube.clearWrites();
  expect(await collector.sweep()).toBe(false);
  expect(left()).toEqual(['client', 'connection', 'token']);
  expect([asked, facade.writes()]).toEqual([[], []]);
});

describe('a provider that is deleted', () => {
  it('takes its tokens along, revoked where it was, its client, and the connections', async () => {
    await connect(await keep({}));
    await clients.keep(facade.providers.list()[0] as OAuthProvider, { uri: 'https://idp.example/reg/a', token: 'r' });
    removeProvider();
    expect(await collector.sweep()).toBe(false);
    expect(asked.toSorted()).toEqual([
      'revoke refresh-ada at https://idp.example/revoke',
      'unregister https://idp.example/reg/a with r',
    ]);
    expect(left()).toEqual([]);
  });

  it('and made again under its name with other addresses gets none of them', async () => {
    await keep({});
    await clients.keep(facade.providers.list()[0] as OAuthProvider, { uri: 'https://idp.example/reg/a', token: 'r' });
    removeProvider();
    aProvider('https://evil.example/revoke');
    await collector.sweep();
    expect(asked.filter((one) => one.includes('evil'))).toEqual([]);
    expect(asked).toContain('revoke refresh-ada at https://idp.example/revoke');
    expect(left()).toEqual([]);
  });

  it('while no process ran takes them along, and nothing is sent anywhere', async () => {
    ending.abort();
    await keep({});
    removeProvider();
    aProvider('https://evil.example/revoke');
    await collector.sweep();
    expect([asked, left()]).toEqual([[], []]);
  });

  it('and made again keeps the token to which a person consents during the sweep', async () => {
    await keep({});
    await keep({ user: 'bob' });
    removeProvider();
    const { uid } = aProvider().metadata;
    clock += 1000;
    // Whichever is ended first, the other person consents.
    meanwhile = async () => {
      if (asked.length === 1) await keep({ user: asked[0]?.includes('ada') === true ? 'bob' : 'ada' }, uid);
    };
    await collector.sweep();
    expect([asked.length, left()]).toEqual([1, ['token']]);
  });

  it('and made again keeps the token to which the same person consents while theirs is revoked', async () => {
    await keep({});
    removeProvider();
    const { uid } = aProvider().metadata;
    clock += 1000;
    meanwhile = () => keep({}, uid);
    await collector.sweep();
    expect([asked.length, left()]).toEqual([1, ['token']]);
  });

  it('is confirmed by the API server: a cache that is behind ends nothing', async () => {
    await keep({});
    const [provider] = facade.providers.list();
    facade.providers.drop(provider?.metadata.uid ?? '');
    await collector.sweep();
    expect([asked, left()]).toEqual([[], ['token']]);
  });
});

it('a provider that is changed ends nothing: the change may be taken back', async () => {
  await keep({});
  const [provider] = facade.providers.list() as [OAuthProvider];
  const changed = { ...provider, spec: { ...provider.spec, tokenUrl: 'https://evil.example/token' } };
  facade.providers.put(facade.kube.seed(OAUTH_PROVIDERS, changed));
  await collector.sweep();
  expect([asked, left()]).toEqual([[], ['token']]);
});

it('a token that an agent gets while it is revoked goes all the same', async () => {
  const entry = await keep({});
  meanwhile = () => tokens.used(entry);
  await tokens.end(entry, aProvider());
  meanwhile = async () => undefined;
  expect(left()).toEqual([]);
});

it('a tenant that goes takes its tokens along, revoked, and those of a new namespace of its name stay', async () => {
  await keep({});
  await keep({ user: 'bob', tenantId: 'uid-of-next' });
  facade.kube.erase(NAMESPACES, { name: TENANT.namespace });
  facade.tenants.drop(TENANT.id);
  const metadata = { name: TENANT.namespace, uid: 'uid-of-next', labels: { 'davit.dev/tenant': 'true' } };
  facade.tenants.put(facade.kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata }));
  await collector.sweep();
  expect([asked, left()]).toEqual([['revoke refresh-ada at https://idp.example/revoke'], ['token']]);
});

it('a deployment that goes takes the tokens of its agents along, and no others', async () => {
  const { metadata } = facade.seed({ metadata: { name: 'shop' } });
  const { uid = '', name } = metadata;
  await keep({ slot: agentSlot({ username: 'a', deployment: { name, uid } }, 'triage') });
  await keep({ user: 'bob' });
  await collector.sweep();
  expect(asked).toEqual([]);
  facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name });
  facade.records.drop(uid);
  await collector.sweep();
  expect([asked, left()]).toEqual([['revoke refresh-ada at https://idp.example/revoke'], ['token']]);
});

describe('a provider that does not let it end', () => {
  it('is asked again while it does not answer, for an hour', async () => {
    await keep({});
    removeProvider();
    failure = new CodeHostFailed('timeout', 'too slow');
    expect(await collector.sweep()).toBe(true);
    expect(left()).toEqual(['token']);
    clock += 3_600_000;
    expect(await collector.sweep()).toBe(false);
    expect([asked.length, left()]).toEqual([2, []]);
  });

  it.each([
    ['whose client secret cannot be read for a moment', new Unavailable('down'), undefined, 1],
    ['whose client secret is deleted before it answers', undefined, new HttpError(424, 'no Secret'), 2],
  ])('is asked again: one %s', async (_what, first, second, requests) => {
    await keep({});
    removeProvider();
    failure = new CodeHostFailed('timeout', 'too slow');
    clientFailure = first;
    expect(await collector.sweep()).toBe(true);
    expect(left()).toEqual(['token']);
    failure = undefined;
    clientFailure = second;
    expect(await collector.sweep()).toBe(false);
    expect([asked.length, left()]).toEqual([requests, []]);
  });

  it('is not asked again if it refuses', async () => {
    await keep({});
    removeProvider();
    failure = new GrantFailed('refused', 'no');
    expect(await collector.sweep()).toBe(false);
    expect([asked.length, left()]).toEqual([1, []]);
  });
});

describe('a process that runs', () => {
  const SWEPT_MS = 600_000;
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  it('sweeps soon after something was deleted, now and then without it, and no more when it stops', async () => {
    await keep({});
    removeProvider();
    await timers.advance(4999);
    expect(left()).toEqual(['token']);
    await timers.advance(1);
    await expect.poll(left).toEqual([]);
    // Nobody told the process that this namespace went.
    await keep({ user: 'bob', tenantId: 'of-an-earlier-one' });
    await timers.advance(SWEPT_MS / 2);
    expect(left()).toEqual(['token']);
    await expect
      .poll(async () => {
        await timers.advance(SWEPT_MS);
        return left();
      })
      .toEqual([]);
    ending.abort();
    await running;
    await keep({ user: 'eve', tenantId: 'of-an-earlier-one' });
    await timers.advance(2 * SWEPT_MS);
    expect([left(), timers.pending]).toEqual([['token'], 0]);
  });

  it('asks again after a minute what does not answer', async () => {
    await keep({});
    removeProvider();
    failure = new CodeHostFailed('timeout', 'too slow');
    await timers.advance(5000);
    await expect.poll(() => warnings.join('')).toContain('Cannot revoke the tokens of providers yet');
    await turn();
    failure = undefined;
    await timers.advance(59_999);
    expect(asked).toHaveLength(1);
    await timers.advance(1);
    await expect.poll(left).toEqual([]);
  });
});
