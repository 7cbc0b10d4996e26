// P15: what a person's token costs an agent. The time of `authenticate` with a live token, by its slowest hundredth, against a bare GET
// of the same Secret; how often the OAuth server is asked when a thousand callers want a hundred expired tokens; and the memory with
// ten thousand tokens, against the same number of requests for a hundred.

import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import type { OAuthProvider } from '../../../../src/kinds/oauth-provider.ts';
import { loadKubeConfigFile } from '../../../../src/runtime/kube/config.ts';
import { type HttpKubeClient, makeKubeClient } from '../../../../src/runtime/kube/http-client.ts';
import { makeKeys } from '../../../../src/tokens/oauth/keys.ts';
import { entryName, idOf, type Subject } from '../../../../src/tokens/oauth/names.ts';
import { makeTokenStore } from '../../../../src/tokens/oauth/token-store.ts';
import { makeVault } from '../../../../src/tokens/oauth/vault.ts';
import { makeAuthority } from '../../../cluster/certificates.ts';
import { DAVIT_NAMESPACE, makeTenant, ORGANIZATION_NAMESPACE, type Tenant } from '../../../support/platform.ts';
import { davit } from '../contenders/davit.ts';
import { inTurns, putUnder, type Serving, startFacade } from '../facade.ts';
import type { Figure } from '../figures.ts';
import type { Loaded } from '../http-load.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';
import { rssMiB } from '../processes.ts';

const VAULT = 'davit-oauth';
const PROVIDER = 'tracker';
const WRITERS = 16;

export const facadeTokens: Measure = {
  key: 'P15',
  goal: { atMost: 1.5 },
  async run(bench) {
    await davit({ workers: bench.workers }).prepare?.(bench.say);
    const issuer = await startIssuer();
    const hosts = [{ host: issuer.host, addresses: ['127.0.0.1'], ca: issuer.ca }];
    const values = { 'settings.http.publicUrl': 'https://davit.example', 'settings.oauth.hosts': hosts };
    try {
      return await bench.onFreshServer({ tenants: [], values }, (server) => onServer(bench, server, issuer));
    } finally {
      issuer.close();
    }
  },
};

/** An OAuth server that refreshes every token, and counts. */
interface Issuer {
  readonly host: string;
  readonly ca: string;
  readonly refreshed: () => number;
  close(): void;
}

async function startIssuer(): Promise<Issuer> {
  const authority = makeAuthority('issuer of the bench');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  let refreshed = 0;
  const server: Server = createServer({ cert: certificate, key }, (request, response) => {
    request.resume();
    request.once('end', () => {
      refreshed += 1;
      const answer = { access_token: `new-${refreshed}`, token_type: 'bearer', expires_in: 3600, refresh_token: 'r' };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificate,
    refreshed: () => refreshed,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function onServer(bench: Bench, server: BenchServer, issuer: Issuer): Promise<Figure[]> {
  const { cluster } = server;
  const tenant = await makeTenant(cluster, 'agents');
  const binding = 'create rolebinding agent -n agents --clusterrole=davit-agent --serviceaccount=agents:team';
  await cluster.kubectl(binding.split(' '));
  const provider = await makeProvider(server, issuer);
  const kube = makeKubeClient({
    access: await loadKubeConfigFile({ path: cluster.kubeconfig }),
    userAgent: 'davit/bench',
  });
  const facade = await startFacade(bench, server);
  const needs: Needs = { bench, server, tenant, facade, keep: makeKeep(kube, tenant, provider) };
  try {
    return [
      await measureTime(needs),
      await measureRefreshes(needs, issuer),
      // Last: it fills the namespace.
      await measureMemory(needs),
    ];
  } finally {
    await facade.stop();
    await kube.close();
  }
}

interface Needs {
  readonly bench: Bench;
  readonly server: BenchServer;
  readonly tenant: Tenant;
  readonly facade: Serving;
  /** Keeps a token of this person, as a consent does. Resolves to the name of its Secret. */
  readonly keep: (user: string, expiresAt: Date) => Promise<string>;
}

async function makeProvider({ cluster }: BenchServer, { host }: Issuer): Promise<OAuthProvider> {
  const provider = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'OAuthProvider',
    metadata: { name: PROVIDER, namespace: ORGANIZATION_NAMESPACE },
    spec: {
      name: 'Tracker',
      clientId: 'bench',
      authUrl: `https://${host}/auth`,
      tokenUrl: `https://${host}/token`,
      usesPkce: true,
      tokenEndpointAuthMethod: 'none',
    },
  };
  const made = await cluster.kubectl(['create', '-f', '-', '-o', 'json'], { input: JSON.stringify(provider) });
  return JSON.parse(made) as OAuthProvider;
}

function makeKeep(kube: HttpKubeClient, { id: tenantId }: Tenant, provider: OAuthProvider): Needs['keep'] {
  const now = (): Date => new Date();
  const keys = makeKeys({ kube, namespace: DAVIT_NAMESPACE, now, log: pino({ level: 'silent' }) });
  const vault = makeVault({ kube, namespace: VAULT, keys });
  const store = makeTokenStore(vault);
  return async (user, expiresAt) => {
    const subject: Subject = { tenant: 'agents', tenantId, provider: PROVIDER, user, slot: '' };
    const id = idOf(await keys(), 'token', subject);
    const time = now().toISOString();
    const about = {
      scopes: ['a'],
      createdAt: time,
      updatedAt: time,
      expiresAt: expiresAt.toISOString(),
      isDefault: true,
      providerUid: provider.metadata.uid ?? '',
      metadata: {},
    };
    const values = { accessToken: `access-of-${user}`, refreshToken: 'r' };
    await vault.create(await store.sealed({ kind: 'token', id, subject, about }, provider, values));
    return entryName('token', id);
  };
}

const inAnHour = (): Date => new Date(Date.now() + 3_600_000);

function askingFor(user: string): string {
  return JSON.stringify({ provider: PROVIDER, scopes: ['a'], user_id: user });
}

function headersOf({ token, id }: Tenant): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'x-tenant-id': id };
}

async function measureTime({ bench, server, tenant, facade, keep }: Needs): Promise<Figure> {
  const secret = await keep('ada', inAnHour());
  const load = { clients: 1, turns: bench.quick ? 300 : 2000, seconds: 60, warmUpSeconds: 1 };
  const tokens = (): Promise<Loaded> =>
    putUnder({
      ...load,
      url: facade.url,
      headers: headersOf(tenant),
      steps: [{ method: 'POST', path: '/v2/auth/authenticate', body: askingFor('ada') }],
    });
  const { cluster } = server;
  const bare = (): Promise<Loaded> =>
    putUnder({
      ...load,
      url: cluster.server,
      ca: cluster.ca,
      headers: { authorization: `Bearer ${cluster.adminToken}` },
      steps: [{ path: `/api/v1/namespaces/${VAULT}/secrets/${secret}` }],
    });
  const samples: number[] = [];
  let absolutes = {};
  for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
    const [ours, theirs] = await inTurns(repeat, tokens, bare);
    samples.push(ours.p99Ms / theirs.p99Ms);
    absolutes = {
      p50Ms: Number(ours.p50Ms.toFixed(2)),
      p99Ms: Number(ours.p99Ms.toFixed(2)),
      bareP50Ms: Number(theirs.p50Ms.toFixed(2)),
      bareP99Ms: Number(theirs.p99Ms.toFixed(2)),
      perSecond: Math.round(ours.perSecond),
    };
  }
  return { key: 'P15.time', goal: { atMost: 1.5 }, samples, absolutes };
}

async function measureRefreshes({ bench, tenant, facade, keep }: Needs, issuer: Issuer): Promise<Figure> {
  const [people, callers] = [100, 1000];
  const samples: number[] = [];
  let again = 0;
  let ms = 0;
  for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
    const users = Array.from({ length: people }, (_, n) => `late-${repeat}-${n}`);
    await Promise.all(users.map((user) => keep(user, new Date(Date.now() - 1000))));
    const before = issuer.refreshed();
    const begun = performance.now();
    const ask = async (user: string): Promise<void> => {
      const answer = await fetch(`${facade.url}/v2/auth/authenticate`, {
        method: 'POST',
        headers: { ...headersOf(tenant), 'content-type': 'application/json' },
        body: askingFor(user),
      });
      const { status, token } = (await answer.json()) as { status?: string; token?: string };
      // Whoever has waited too long for the one that refreshes is told to come again.
      if (answer.status === 503) {
        again += 1;
        await ask(user);
      } else if (answer.status !== 200 || token?.startsWith('new-') !== true)
        throw new Error(`a caller got ${answer.status} ${status ?? ''}`);
    };
    await Promise.all(Array.from({ length: callers }, (_, n) => ask(users[n % people] ?? '')));
    samples.push(issuer.refreshed() - before);
    ms = performance.now() - begun;
  }
  return {
    key: 'P15.refreshes',
    goal: { atMost: people },
    samples,
    absolutes: { callers, tokens: people, askedAgain: again, ms: Math.round(ms) },
  };
}

async function measureMemory({ bench, tenant, facade, keep }: Needs): Promise<Figure> {
  const [few, many] = bench.quick ? [50, 500] : [100, 10_000];
  const users = Array.from({ length: many }, (_, n) => `kept-${n}`);
  const left = users.values();
  const write = async (): Promise<void> => {
    for (const user of left) await keep(user, inAnHour());
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  /** The memory after as many requests as there are tokens, for so many of them. */
  const after = async (people: number): Promise<number> => {
    const body = askingFor('kept-{n}');
    const steps = Array.from({ length: many }, (_, n) => ({
      method: 'POST' as const,
      path: '/v2/auth/authenticate',
      body: body.replace('{n}', String(n % people)),
    }));
    const load = { url: facade.url, headers: headersOf(tenant), clients: 10, turns: many, seconds: 600 };
    // An argument of a process has at most 128 KiB.
    for (let from = 0; from < many; from += 500)
      await putUnder({ ...load, steps: steps.slice(from, from + 500), turns: 500, alternate: true });
    return rssMiB(facade.pid);
  };
  const samples: number[] = [];
  let absolutes = {};
  // A process that has just begun grows with whatever it does.
  await after(few);
  for (let repeat = 0; repeat < (bench.quick ? 1 : 2); repeat += 1) {
    const [withFew, withMany] = [await after(few), await after(many)];
    samples.push(withMany / withFew);
    absolutes = { tokens: many, rssMiB: Math.round(withMany), rssOfFewMiB: Math.round(withFew), few };
  }
  return { key: 'P15.memory', goal: { atMost: 1.1 }, samples, absolutes };
}
