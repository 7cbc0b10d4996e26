// What does not get hold of a token, and what does not lose one, over an in-memory API server: two replicas, stolen and restored Secrets.

import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OAuthProvider } from '../../../src/kinds/oauth-provider.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { SecretObject } from '../../../src/runtime/kube/client.ts';
import { type Asking, type Broker, makeBroker, type Outcome } from '../../../src/tokens/oauth/broker.ts';
import { makeConnections } from '../../../src/tokens/oauth/connections.ts';
import { makeFlows } from '../../../src/tokens/oauth/flow.ts';
import { ROTATED_AFTER_MS } from '../../../src/tokens/oauth/key-ring.ts';
import { makeKeys, OAUTH_KEYS_SECRET } from '../../../src/tokens/oauth/keys.ts';
import { type Grant, GrantFailed, type OAuthServer } from '../../../src/tokens/oauth/server.ts';
import { makeTokenStore } from '../../../src/tokens/oauth/token-store.ts';
import { makeTokens } from '../../../src/tokens/oauth/tokens.ts';
import { makeTrail } from '../../../src/tokens/oauth/trail.ts';
import { makeVault } from '../../../src/tokens/oauth/vault.ts';
import { anOAuthProvider } from '../../support/builders.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';

const PROVIDER = anOAuthProvider();
const ASKING: Asking = {
  tenant: { id: 'u', namespace: 'team-a' },
  user: 'ada',
  requester: { username: 'system:serviceaccount:team-a:agent' },
  scopes: ['a'],
  forceNew: false,
  isDefault: true,
};
const SUBJECT = { tenant: 'team-a', tenantId: 'u', provider: 'tracker', user: 'ada', slot: '' };
const NAMESPACE = 'davit-oauth';

/** Rotates refresh tokens, and revokes all if one comes twice. */
function strictServer(): OAuthServer & { readonly asked: string[] } {
  const asked: string[] = [];
  const spent = new Set<string>();
  const notHere = (): Promise<never> => Promise.reject(new Error('not asked here'));
  return {
    asked,
    exchange: notHere,
    revoke: notHere,
    unregister: notHere,
    async refresh(_client, refreshToken) {
      asked.push(refreshToken);
      // Others get their turn while it answers.
      await new Promise((resolve) => setImmediate(resolve));
      if (spent.has(refreshToken)) throw new GrantFailed('denied', 'The OAuth server answered invalid_grant.');
      spent.add(refreshToken);
      return { accessToken: `access-${asked.length}`, refreshToken: `r${asked.length}`, scope: 'a', expiresIn: 3600 };
    },
  };
}

let clock: number;
let kube: FakeKube;
let server: ReturnType<typeof strictServer>;
beforeEach(() => {
  clock = Date.parse('2026-01-01T00:00:00Z');
  kube = makeFakeKube({ now: () => clock });
  server = strictServer();
});
const now = (): Date => new Date(clock);

/** A replica of the HTTP API before this API server. */
function replica(on: FakeKube, holder: string, present: () => OAuthProvider = () => PROVIDER): Broker {
  const keys = makeKeys({ kube: on, namespace: 'davit-system', now, log: pino({ level: 'silent' }) });
  const vault = makeVault({ kube: on, namespace: NAMESPACE, keys });
  const clientOf = async (provider: OAuthProvider): Promise<{ provider: OAuthProvider; secret: undefined }> => ({
    provider,
    secret: undefined,
  });
  const tokens = makeTokens({
    store: makeTokenStore(vault),
    server,
    clientOf,
    holder,
    now,
    note: async () => undefined,
  });
  const flows = makeFlows({ vault, keys, providerOf: present, now, onRefused: async () => undefined });
  const trail = makeTrail({ vault, keys, hasTenant: () => true, now, log: pino({ level: 'silent' }) });
  return makeBroker({ vault, keys, flows, tokens, connections: makeConnections({ vault, keys, now }), trail, now });
}

async function consented(broker: Broker, expiresIn: number): Promise<void> {
  const grant: Grant = { accessToken: 'access-0', refreshToken: 'r0', scope: 'a', expiresIn };
  const { requester } = ASKING;
  await broker.keep(SUBJECT, PROVIDER, { scopes: ['a'], requester, isDefault: true }, grant);
}

const tokenOf = (outcome: Outcome): string => (outcome.status === 'completed' ? outcome.token : outcome.status);
const authenticate = async (broker: Broker, provider = PROVIDER, asking = ASKING): Promise<string> =>
  tokenOf(await broker.authenticate(asking, provider));

describe('fifty callers of a token that has expired', () => {
  it('get one new token, for which the provider was asked once', async () => {
    const replicas = [replica(kube, 'one'), replica(kube, 'two')] as const;
    await consented(replicas[0], 1);
    clock += 5000;
    const got = await Promise.all(Array.from({ length: 50 }, (_, n) => authenticate(replicas[n % 2 === 0 ? 0 : 1])));
    expect(new Set(got)).toEqual(new Set(['access-1']));
    expect(server.asked).toEqual(['r0']);
  });
});

describe('keys that are rotated while tokens are read', () => {
  it('lose none: one replica adds a key, and the other one opens what it has sealed', async () => {
    const [one, two] = [replica(kube, 'one'), replica(kube, 'two')];
    await consented(one, 10 * 365 * 24 * 3600);
    // The second replica has the ring of before.
    expect(await authenticate(two)).toBe('access-0');
    clock += ROTATED_AFTER_MS;
    const got = await Promise.all(Array.from({ length: 50 }, (_, n) => authenticate(n % 2 === 0 ? one : two)));
    expect(new Set(got)).toEqual(new Set(['access-0']));
    const [keys] = kube.objects<SecretObject>(SECRETS).filter(({ metadata }) => metadata.name === OAUTH_KEYS_SECRET);
    const ring = JSON.parse(Buffer.from(keys?.data?.['keys.json'] ?? '', 'base64').toString()) as {
      keys: { id: string }[];
    };
    expect(ring.keys).toHaveLength(2);
    expect(sealedWith()).toEqual([ring.keys[1]?.id]);
  });

  function sealedWith(): (string | undefined)[] {
    return ofVault().map(
      ({ data }) =>
        Buffer.from(data?.['sealed'] ?? '', 'base64')
          .toString()
          .split('.')[1],
    );
  }
});

const ofVault = (): SecretObject[] =>
  kube
    .objects<SecretObject>(SECRETS)
    .filter(({ metadata }) => metadata.namespace === NAMESPACE && metadata.name.startsWith('token-'));

/** Another cluster into which these Secrets were copied. */
function copied(secrets: readonly SecretObject[]): FakeKube {
  const other = makeFakeKube({ now: () => clock });
  for (const { metadata, ...rest } of secrets) {
    const { name, namespace = '', labels = {}, annotations = {} } = metadata;
    other.seed(SECRETS, { ...rest, metadata: { name, namespace, labels, annotations } });
  }
  return other;
}

describe('a stolen backup', () => {
  beforeEach(() => consented(replica(kube, 'one'), 3600));

  it('without the key ring has no token, and nothing can be found in it by name', async () => {
    const stolen = copied(ofVault());
    expect(await authenticate(replica(stolen, 'thief'))).toBe('pending');
    const keys = makeKeys({ kube: stolen, namespace: 'davit-system', now, log: pino({ level: 'silent' }) });
    const vault = makeVault({ kube: stolen, namespace: NAMESPACE, keys });
    const store = makeTokenStore(vault);
    for (const { metadata } of ofVault()) {
      const entry = await store.read(metadata.name.slice('token-'.length));
      expect(entry?.subject).toEqual(SUBJECT);
      expect(entry && (await store.valuesOf(entry, PROVIDER))).toBeUndefined();
    }
    expect(JSON.stringify(ofVault())).not.toMatch(/access-0|r0/);
  });

  it('with the key ring, in the same cluster, has them: whoever has both has all', async () => {
    expect(await authenticate(replica(copied(kube.objects<SecretObject>(SECRETS)), 'restored'))).toBe('access-0');
  });
});

describe('a restored cluster with new uids', () => {
  beforeEach(() => consented(replica(kube, 'one'), 3600));

  it.each<[string, OAuthProvider, Asking, string]>([
    ['of a tenant', PROVIDER, { ...ASKING, tenant: { id: 'new', namespace: 'team-a' } }, 'pending'],
    ['of a provider', { ...PROVIDER, metadata: { name: 'tracker', uid: 'new' } }, ASKING, 'connection_required'],
  ])('%s asks people again, and sends no token anywhere', async (_name, provider, asking, want) => {
    clock += 3_600_000;
    const restored = replica(copied(kube.objects<SecretObject>(SECRETS)), 'restored', () => provider);
    expect(await authenticate(restored, provider, asking)).toBe(want);
    expect(server.asked).toEqual([]);
  });
});
