// Tokens over an in-memory API server: what is left of a refresh that fails, and what the platform answers without settings.
// oauth-flow.test.ts has the whole flow with an OAuth server.

import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { SecretObject } from '../../../src/runtime/kube/client.ts';
import { FLOW_MS, type Flows, makeFlows } from '../../../src/tokens/oauth/flow.ts';
import { ROTATED_AFTER_MS } from '../../../src/tokens/oauth/key-ring.ts';
import { makeKeys } from '../../../src/tokens/oauth/keys.ts';
import { idOf, type Subject } from '../../../src/tokens/oauth/names.ts';
import { type Grant, GrantFailed, type OAuthServer } from '../../../src/tokens/oauth/server.ts';
import { CLAIM_MS } from '../../../src/tokens/oauth/token.ts';
import { makeTokenStore, type TokenEntry } from '../../../src/tokens/oauth/token-store.ts';
import { makeTokens, type Tokens } from '../../../src/tokens/oauth/tokens.ts';
import { makeVault } from '../../../src/tokens/oauth/vault.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { makeFacade, SOMEBODY } from './facade.ts';

const SUBJECT: Subject = { tenant: 'team-a', tenantId: 'u', provider: 'tracker', user: 'ada', slot: '' };
const PROVIDER = anOAuthProvider({ revocationUrl: 'https://a.example/revoke' });
const grant = (name: string, expiresIn = 3600): Grant => ({
  accessToken: `access-${name}`,
  refreshToken: `refresh-${name}`,
  scope: undefined,
  expiresIn,
});

let kube: FakeKube;
let clock: number;
let asked: string[];
let tokens: Tokens;
let flows: Flows;
let entry: TokenEntry;
/** What the trail was told. */
let noted: string[];
/** Seconds that the next token lives. */
let lifetime: number;
/** What happens while the OAuth server answers. */
let meanwhile: () => Promise<void>;

const server: OAuthServer = {
  exchange: () => Promise.reject(new Error('not asked here')),
  async refresh(_client, refreshToken) {
    asked.push(refreshToken);
    await meanwhile();
    return grant(String(asked.length), lifetime);
  },
  async revoke(_client, { refreshToken }) {
    asked.push(`revoke ${refreshToken}`);
  },
  async unregister(uri, token) {
    asked.push(`unregister ${uri} ${token}`);
  },
};

beforeEach(async () => {
  clock = Date.parse('2026-01-01T00:00:00Z');
  kube = makeFakeKube({ now: () => clock });
  asked = [];
  lifetime = 3600;
  meanwhile = async () => undefined;
  const now = (): Date => new Date(clock);
  const keys = makeKeys({ kube, namespace: 'davit-system', now, log: pino({ level: 'silent' }) });
  const vault = makeVault({ kube, namespace: 'davit-oauth', keys });
  const clientOf = async (provider: OAuthProvider): Promise<{ provider: OAuthProvider; secret: undefined }> => ({
    provider,
    secret: undefined,
  });
  noted = [];
  const note = async (event: string): Promise<number> => noted.push(event);
  tokens = makeTokens({ store: makeTokenStore(vault), server, clientOf, holder: 'here', now, note });
  flows = makeFlows({ vault, keys, providerOf: () => PROVIDER, now, onRefused: () => note('refused') });
  const time = now().toISOString();
  const about = { scopes: ['a'], createdAt: time, updatedAt: time, isDefault: true, metadata: {} };
  const id = idOf(await keys(), 'token', SUBJECT);
  entry = await tokens.keep({ id, subject: SUBJECT, about }, PROVIDER, grant('0', 1));
  // It has expired.
  clock += 1000;
});

async function obtained(): Promise<string> {
  const present = await tokens.read(entry.id);
  if (present === undefined) return 'gone';
  const result = await tokens.obtain(present, PROVIDER, ['a']);
  return result.kind === 'token' ? result.token : result.kind;
}

describe('a refresh', () => {
  it('is written although the API server does not answer for a moment', async () => {
    meanwhile = async () => {
      let failures = 0;
      kube.failOn(({ verb }) => (verb === 'update' && (failures += 1) <= 2 ? new Unavailable('down') : undefined));
    };
    expect(await obtained()).toBe('access-1');
    expect([asked, noted]).toEqual([['refresh-0'], ['refreshed']]);
  });

  it('of a token that lives for half a minute is asked for once', async () => {
    lifetime = 30;
    expect(await obtained()).toBe('access-1');
    expect(await obtained()).toBe('access-1');
    expect(asked).toEqual(['refresh-0']);
  });

  it('goes on if its claim was written and the answer about that was lost', async () => {
    let lost = 0;
    kube.failAfter(({ verb }) => (verb === 'update' && (lost += 1) === 1 ? new Unavailable('reset') : undefined));
    expect(await obtained()).toBe('access-1');
    expect(asked).toEqual(['refresh-0']);
  });

  it('is not begun if its claim was not written', async () => {
    let lost = 0;
    kube.failOn(({ verb }) => (verb === 'update' && (lost += 1) === 1 ? new Unavailable('down') : undefined));
    await expect(obtained()).rejects.toThrow('down');
    expect(asked).toEqual([]);
    expect(await obtained()).toBe('access-1');
  });

  it('whose answer cannot be written is lost, and its refresh token is not sent again', async () => {
    meanwhile = async () => kube.failOn(({ verb }) => (verb === 'update' ? new Unavailable('down') : undefined));
    await expect(obtained()).rejects.toThrow('down');
    kube.failOn(undefined);
    clock += CLAIM_MS;
    expect(await obtained()).toBe('expired');
    expect(asked).toEqual(['refresh-0']);
  });

  it.each([Number.MAX_VALUE, 0])('is kept for a lifetime of %d seconds', async (expiresIn) => {
    const kept = await tokens.keep(entry, PROVIDER, grant('0', expiresIn));
    expect(kept.about.expiresAt).toMatch(/^20[23]\d-/);
  });

  it('keeps what others write meanwhile', async () => {
    meanwhile = async () => void (await tokens.describe(entry.id, { account: 'b' }));
    expect(await obtained()).toBe('access-1');
    expect((await tokens.read(entry.id))?.about).toMatchObject({ metadata: { account: 'b' }, scopes: ['a'] });
  });

  it.each([
    ['replaces nothing', undefined],
    ['ends nothing where it is refused', new GrantFailed('denied', 'no')],
  ])('of a token to which the person consents again meanwhile %s', async (_what, failure) => {
    meanwhile = async () => {
      const about = { ...entry.about, scopes: ['a', 'b'] };
      await tokens.keep({ ...entry, about }, PROVIDER, grant('new'));
      if (failure) throw failure;
    };
    expect(await obtained()).toBe('access-new');
    expect((await tokens.read(entry.id))?.about.scopes).toEqual(['a', 'b']);
    expect([asked, noted]).toEqual([['refresh-0'], []]);
  });

  it('of a token that is deleted meanwhile is revoked', async () => {
    meanwhile = async () => kube.erase(SECRETS, { namespace: 'davit-oauth', name: `token-${entry.id}` });
    expect(await obtained()).toBe('expired');
    expect(asked).toEqual(['refresh-0', 'revoke refresh-1']);
  });
});

it('a token that is used is sealed with the newest key, once', async () => {
  const sealedWith = (): string => {
    const [secret] = kube.objects<SecretObject>(SECRETS).filter(({ metadata }) => metadata.name.startsWith('token-'));
    return (
      Buffer.from(secret?.data?.['sealed'] ?? '', 'base64')
        .toString()
        .split('.')[1] ?? ''
    );
  };
  expect(await obtained()).toBe('access-1');
  const before = sealedWith();
  clock += ROTATED_AFTER_MS;
  const first = await tokens.read(entry.id);
  // It has expired by then, so that it is refreshed; the next use only reads.
  expect((first && (await tokens.obtain(first, PROVIDER, [])).kind) ?? '').toBe('token');
  expect(sealedWith()).not.toBe(before);
  const writes = kube.writes.length;
  expect(await obtained()).toBe('access-2');
  expect(kube.writes.length).toBe(writes);
});

describe('authorizations that nobody finishes', () => {
  const stored = (): number => kube.objects(SECRETS).filter(({ metadata }) => metadata.name.startsWith('flow-')).length;
  const begin = (user: string): Promise<unknown> =>
    flows.begin({ ...SUBJECT, user }, PROVIDER, { scopes: [], requester: { username: 'r' }, isDefault: true });

  it('are deleted by the next one after ten minutes, and have a limit for each tenant', async () => {
    for (let n = 0; n < 500; n += 1) {
      await begin(`user-${n}`);
    }
    await expect(begin('one-more')).rejects.toThrow('500 unfinished authorizations');
    // The same one is no further one.
    await begin('user-0');
    expect(stored()).toBe(500);
    clock += FLOW_MS;
    await begin('one-more');
    expect(stored()).toBe(401);
  });
});

describe('a platform', () => {
  const facade = makeFacade();
  afterAll(async () => (await facade).app.close());

  it('whose settings list no host of an OAuth server says so', async () => {
    const { app } = await facade;
    const body = { provider: 'tracker', scopes: [] };
    const answer = await app.inject({ method: 'POST', url: '/v2/auth/authenticate', headers: SOMEBODY, payload: body });
    expect([answer.statusCode, answer.json()]).toEqual([
      424,
      { detail: 'This platform issues no tokens: setting oauth.hosts lists no host of an OAuth server.' },
    ]);
    expect((await app.inject('/v2/auth/consent/x')).statusCode).toBe(424);
  });
});
