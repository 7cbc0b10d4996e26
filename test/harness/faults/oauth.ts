// People's tokens through the facade, killed between any two of its writes or left without an answer: a person consents, fifty agents
// want the token when it has expired, and it is revoked. Beside that, what an attacker tries. The OAuth server is oidc-provider, which
// revokes everything if a refresh token comes twice.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Browser, makeBrowser, type Visited } from '../../support/cookie-browser.ts';
import { type OAuthTestServer, startOAuthServer } from '../../support/oauth-server.ts';
import { DAVIT_NAMESPACE, ORGANIZATION_NAMESPACE, TEAM_ACCOUNT, type Tenant } from '../../support/platform.ts';
import { type Attempt, facadeFaults, makeClient } from './facade.ts';
import type { Fault } from './fault.ts';
import { LEASE_MS, makeRunFolder, makeRunTenant } from './ground.ts';
import type { Violation } from './invariants.ts';
import type { Trace } from './proxy/trace.ts';
import { startProxy } from './proxy.ts';
import { type Cast, startCast } from './run-processes.ts';
import { startWith } from './seeded-start.ts';
import { NotConverged } from './workloads/stage.ts';

export interface OAuthPlan {
  readonly workload: 'oauth';
  readonly fault: Fault;
  /** A bug that is put into the facade for this plan (mutants.ts). */
  readonly seed?: string;
}

const PUBLIC = 'https://davit.example';
const VAULT = 'davit-oauth';
const VERIFIER = 'https://portal.example/who';
const PATIENCE_MS = 30_000;
const RETRY_MS = 150;
/** Asks at once for a token that has expired. */
const CALLERS = 20;
/** Seconds for which the first token lives, and the second. */
const LIFETIME_S = 3;
/** Phases of the person; the others are an attacker's. */
const DISTURBED = /^(ask|consent|callback|refresh|verify|end)\//;

interface Secret {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
}

interface OAuthRun {
  readonly fault: Fault;
  readonly trace: Trace;
  readonly cast: Cast;
  readonly attempts: readonly Attempt[];
  readonly stuck: string | undefined;
  /** What went wrong on the way. */
  readonly wrong: readonly Violation[];
  readonly grants: readonly string[];
  /** What must be sealed. */
  readonly secrets: readonly string[];
  /** The Secrets of the tenant, as they stood before the end and after it. */
  readonly kept: readonly Secret[];
  readonly left: readonly Secret[];
  readonly accidents: number;
  readonly told: string;
}

export function oauthPlans(labels: readonly string[]): OAuthPlan[] {
  const own = labels.filter((label) => DISTURBED.test(label));
  return facadeFaults(own).map((fault) => ({ workload: 'oauth', fault }));
}

/** The labels of the facade's writes in an undisturbed run, which must itself be without blame. */
export async function learnOAuth(cluster: Cluster): Promise<readonly string[]> {
  // The first one also makes the keys.
  await runOAuth({ workload: 'oauth', fault: { kind: 'none' } }, cluster);
  const run = await runOAuth({ workload: 'oauth', fault: { kind: 'none' } }, cluster);
  const wrong = judgeOAuth(run);
  if (wrong.length > 0) throw new Error(`undisturbed, tokens: ${wrong.map(({ what }) => what).join('; ')}`);
  return run.trace.writes.map(({ label }) => label);
}

export async function runOAuthPlan(
  plan: OAuthPlan,
  cluster: Cluster,
): Promise<{ readonly violations: Violation[]; readonly fired: boolean }> {
  const run = await runOAuth(plan, cluster);
  return { violations: judgeOAuth(run), fired: run.trace.fired };
}

let serial = 0;

async function runOAuth({ fault, seed }: OAuthPlan, cluster: Cluster): Promise<OAuthRun> {
  serial += 1;
  const namespace = `oauth-${process.pid}-${serial}`;
  const tenant = await makeRunTenant(cluster, namespace);
  await allowAgent(cluster, namespace);
  const server = await startOAuthServer([`${PUBLIC}/v2/auth/callback/${namespace}`]);
  await cluster.api.call('POST', providersPath(), providerOf(namespace, server));
  const proxy = await startProxy({
    server: cluster.server,
    ca: cluster.ca,
    fault,
    leaseMs: LEASE_MS,
    actors: ['facade'],
    kill: (actor, signal) => cast.kill(actor, signal),
    pause: (actor, ms) => cast.pause(actor, ms),
    atWrite: () => Promise.resolve(),
  });
  const folder = await makeRunFolder(cluster, { namespace, authority: proxy.ca });
  const cast = await startCast(['facade'], {
    cluster,
    proxy,
    namespace,
    // Where its keys are; it has no lease.
    leaseNamespace: DAVIT_NAMESPACE,
    settings: {
      http: { publicUrl: PUBLIC, requestsPerMinute: 100_000 },
      oauth: { hosts: [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }] },
    },
    directory: folder.directory,
    keys: await folder.keysOf('davit-api'),
    leaseMs: LEASE_MS,
    ...startWith({ seeds: ['SHORT_CLAIM', ...(seed === undefined ? [] : [seed])] }),
    letItEnd: false,
  });
  const attempts: Attempt[] = [];
  const stage = makeStage({ cluster, tenant, server, cast, attempts, enter: proxy.enter });
  let stuck: string | undefined;
  let kept: readonly Secret[] = [];
  try {
    kept = await play(stage);
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    stuck = error.message;
  }
  const accidents = cast.starts() - 1 - cast.kills();
  await cast.stop();
  proxy.close();
  await server.close();
  const logs = await Promise.all(cast.logs.map((log) => readFile(log, 'utf8')));
  const left = await secretsOf(cluster, namespace);
  const secrets = [...server.secrets, ...stage.secrets];
  await clear(cluster, namespace);
  await folder.remove();
  return {
    fault,
    trace: proxy.trace,
    cast,
    attempts,
    stuck,
    wrong: stage.wrong,
    grants: server.grants,
    secrets,
    kept,
    left,
    accidents,
    told: logs.join(''),
  };
}

const providersPath = (): string => `/apis/davit.dev/v1alpha1/namespaces/${ORGANIZATION_NAMESPACE}/oauthproviders`;
const vaultPath = (namespace: string): string =>
  `/api/v1/namespaces/${VAULT}/secrets?labelSelector=davit.dev/oauth-tenant%3D${namespace}`;

function providerOf(name: string, { issuer, publicClient }: OAuthTestServer): object {
  const spec = {
    name: 'Tracker',
    clientId: publicClient,
    authUrl: `${issuer}/auth`,
    tokenUrl: `${issuer}/token`,
    revocationUrl: `${issuer}/token/revocation`,
    issuer,
    usesPkce: true,
    tokenEndpointAuthMethod: 'none',
  };
  return { apiVersion: 'davit.dev/v1alpha1', kind: 'OAuthProvider', metadata: { name }, spec };
}

async function allowAgent({ api }: Cluster, namespace: string): Promise<void> {
  await api.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: 'agent' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'davit-agent' },
    subjects: [{ kind: 'ServiceAccount', name: 'team', namespace }],
  });
}

async function secretsOf({ api }: Cluster, namespace: string): Promise<readonly Secret[]> {
  return (await api.call<{ items: Secret[] }>('GET', vaultPath(namespace))).items;
}

/** Before the namespace goes: otherwise the facades of other runs would collect what is left of it, among their own writes. */
async function clear({ api }: Cluster, namespace: string): Promise<void> {
  await api.call('DELETE', vaultPath(namespace)).catch(() => undefined);
  await api.call('DELETE', `${providersPath()}/${namespace}`).catch(() => undefined);
  await api.call('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined);
}

interface StageNeeds {
  readonly cluster: Cluster;
  readonly tenant: Tenant;
  readonly server: OAuthTestServer;
  readonly cast: Cast;
  readonly attempts: Attempt[];
  readonly enter: (phase: string) => void;
}

interface Answer {
  readonly status: string;
  readonly url: string | null;
  readonly token: string | null;
}

/** What people, agents and attackers do. */
interface Stage extends StageNeeds {
  readonly secrets: Set<string>;
  readonly wrong: Violation[];
  readonly call: ReturnType<typeof makeClient>['call'];
  blame(invariant: string, what: string): void;
  authenticate(user: string, more?: object): Promise<Answer>;
  newBrowser(): Browser;
  /** Opens or sends until there is an answer below 500. */
  visit(go: () => Promise<Visited>): Promise<Visited>;
  /** From the link to the provider's answer, which is not delivered. */
  consent(user: string, browser: Browser, phases?: readonly [string, string]): Promise<string>;
}

function makeStage(needs: StageNeeds): Stage {
  const { cast, tenant, server, attempts, enter } = needs;
  const { call } = makeClient(cast, tenant, attempts);
  const secrets = new Set<string>();
  const wrong: Violation[] = [];
  const stage: Stage = {
    ...needs,
    secrets,
    wrong,
    call,
    blame: (invariant, what) => void wrong.push({ invariant, what }),
    async authenticate(user, more = {}) {
      const body = { provider: tenant.namespace, scopes: ['api:read'], user_id: user, ...more };
      const answer = await call('POST', '/v2/auth/authenticate', body);
      if (answer.status !== 200) throw new NotConverged(`authenticate was answered with ${answer.status}`);
      const got = answer.body as unknown as Answer;
      if (got.token !== null) secrets.add(got.token);
      return got;
    },
    newBrowser: () => makeBrowser({ [PUBLIC]: cast.facadeUrl() }, server.ca),
    visit: async (go) => {
      const end = performance.now() + PATIENCE_MS;
      while (performance.now() < end) {
        const visited = await go().catch(() => undefined);
        if (visited !== undefined && (visited.status < 500 || visited.status === 502)) return visited;
        await sleep(RETRY_MS);
      }
      throw new NotConverged(`no page in ${PATIENCE_MS / 1000} s`);
    },
    async consent(user, browser, [asking, consenting] = ['ask', 'consent']) {
      enter(asking);
      const { url } = await stage.authenticate(user);
      if (url === null) throw new NotConverged(`${user} is asked for nothing`);
      enter(consenting);
      await stage.visit(() => browser.open(url));
      const { url: back } = await stage.visit(() => browser.submit(url, (next) => next.startsWith(PUBLIC)));
      for (const name of ['code', 'state']) secrets.add(new URL(back).searchParams.get(name) ?? 'no such text');
      return back;
    },
  };
  return stage;
}

/** Returns what is kept of the tenant before the token is revoked. */
async function play(stage: Stage): Promise<readonly Secret[]> {
  const { server, cluster, tenant } = stage;
  server.lifetime = LIFETIME_S;
  await obtain(stage, 'ada');
  await refresh(stage, 'refresh', 1);
  server.lifetime = 3600;
  await refresh(stage, 'race', CALLERS);
  stage.enter('attack');
  await attack(stage);
  await moved(stage, 'ada');
  await verified(stage, 'vera');
  const kept = await secretsOf(cluster, tenant.namespace);
  await end(stage, 'ada');
  return kept;
}

const tokensOf = async ({ call }: Stage, user: string): Promise<readonly { readonly id: string }[]> =>
  (await call('GET', `/v2/auth/tokens?user_id=${user}`)).body as unknown as { id: string }[];

/** The person does it again until the token is there. */
async function obtain(stage: Stage, user: string): Promise<void> {
  for (let tries = 0; tries < 4; tries += 1) {
    const browser = stage.newBrowser();
    const back = await stage.consent(user, browser);
    stage.enter('callback');
    const { status } = await stage.visit(() => browser.open(back));
    stage.enter('replay');
    const again = await stage.visit(() => browser.open(back));
    if (again.status !== 404) stage.blame('I7 exactly once', `an answer of the provider counts again: ${again.status}`);
    const stored = (await tokensOf(stage, user)).length > 0;
    if (status === 200 && !stored) stage.blame('I6 honest', 'a page says Connected, and there is no token');
    if (stored) return;
  }
  throw new NotConverged(`${user} has consented four times, and there is no token`);
}

/** So many callers at once of a token that has expired. */
async function refresh(stage: Stage, phase: string, callers: number): Promise<void> {
  const { server } = stage;
  const user = 'ada';
  await sleep(LIFETIME_S * 1000);
  stage.enter(phase);
  const before = server.grants.length;
  const answers = await Promise.all(Array.from({ length: callers }, () => stage.authenticate(user)));
  const granted = server.grants.slice(before);
  const tokens = new Set(answers.flatMap(({ token }) => token ?? []));
  if (tokens.size > 1) stage.blame('I7 exactly once', `${callers} callers got ${tokens.size} tokens`);
  // A token of three seconds may have expired again before a facade that was killed is back.
  if (granted.length > 1 && server.lifetime > LIFETIME_S)
    stage.blame('I7 exactly once', `the OAuth server was asked ${granted.join(', ')}`);
  const isLost = answers.some(({ status }) => status !== 'completed');
  if (!isLost) return;
  // A refresh may have been sent by a process that was killed: it is not sent again, and the person is asked.
  if (stage.cast.kills() === 0)
    stage.blame('I11 data', `a token is lost, and nobody was killed: ${answers[0]?.status}`);
  await obtain(stage, user);
  const { status } = await stage.authenticate(user);
  if (status !== 'completed') stage.blame('I1 converges', `after a new consent: ${status}`);
}

async function attack(stage: Stage): Promise<void> {
  const { blame } = stage;
  const none = async (what: string, answer: Promise<Answer>): Promise<void> => {
    if ((await answer).token !== null) blame('attack', `${what} got a token`);
  };
  await none('another agent', stage.authenticate('ada', { agent_id: 'stranger' }));
  await none('another person', stage.authenticate('eve'));
  const victim = stage.newBrowser();
  const back = await stage.consent('eve', stage.newBrowser());
  stage.enter('attack');
  const elsewhere = await stage.visit(() => victim.open(back));
  if (elsewhere.status !== 403) blame('attack', `in another browser: ${elsewhere.status}`);
  const browser = stage.newBrowser();
  const foreign = new URL(await stage.consent('eve', browser));
  stage.enter('attack');
  foreign.searchParams.set('iss', 'https://evil.example');
  const mixedUp = await stage.visit(() => browser.open(foreign.href));
  if (mixedUp.status !== 502) blame('attack', `with another issuer: ${mixedUp.status}`);
  if ((await tokensOf(stage, 'eve')).length > 0) blame('attack', 'an attacker has made a token');
}

/** An editor leads the provider elsewhere: the token is not used for it, and is usable again when the change is taken back. */
async function moved(stage: Stage, user: string): Promise<void> {
  const { cluster, tenant, server } = stage;
  const change = (tokenUrl: string): Promise<unknown> =>
    cluster.api.call(
      'PATCH',
      `${providersPath()}/${tenant.namespace}`,
      { spec: { tokenUrl } },
      'application/merge-patch+json',
    );
  const until = async (wanted: boolean): Promise<void> => {
    const end = performance.now() + PATIENCE_MS / 3;
    while (((await stage.authenticate(user)).token !== null) !== wanted) {
      if (performance.now() > end) {
        stage.blame('attack', wanted ? 'a change that was taken back keeps a token' : 'a moved provider gets a token');
        return;
      }
      await sleep(RETRY_MS);
    }
  };
  await change(`${server.issuer}/elsewhere`);
  await until(false);
  await change(`${server.issuer}/token`);
  await until(true);
}

/** The tenant's page, which says who a person is: she, before her somebody who has followed a link, and one who confirms for another. */
async function verified(stage: Stage, user: string): Promise<void> {
  const { cluster, tenant, call, blame } = stage;
  await cluster.api.call(
    'PATCH',
    `/api/v1/namespaces/${tenant.namespace}`,
    {
      metadata: {
        annotations: {
          'davit.dev/oauth-verifier-url': VERIFIER,
          'davit.dev/oauth-verifier-account': `system:serviceaccount:${tenant.namespace}:${TEAM_ACCOUNT}`,
        },
      },
    },
    'application/merge-patch+json',
  );
  const hasTokens = async (): Promise<boolean> => (await tokensOf(stage, user)).length > 0;
  /** Where the browser is to go back to. */
  const confirmed = async (confirmation: string, who: string): Promise<string | undefined> => {
    const { body } = await call('POST', '/v2/auth/confirm', { confirmation, user_id: who });
    const { url } = body as { url?: string | null };
    stage.secrets.add(url?.split('.').at(-1) ?? 'no such text');
    return url ?? undefined;
  };
  const other = await toVerifier(stage, user);
  if ((await confirmed(other.confirmation, 'victim')) !== undefined) blame('attack', 'another person was confirmed');
  const foreign = await toVerifier(stage, user);
  const led = await confirmed(foreign.confirmation, user);
  if (led !== undefined) await stage.visit(() => stage.newBrowser().open(led));
  if (await hasTokens()) blame('attack', 'another browser was confirmed');
  for (let tries = 0; tries < 4; tries += 1) {
    const { confirmation, browser } = await toVerifier(stage, user);
    stage.enter('verify');
    const url = await confirmed(confirmation, user);
    if (url === undefined) continue;
    const { status } = await stage.visit(() => browser.open(url));
    stage.enter('replay');
    const again = await stage.visit(() => browser.open(url));
    if (again.status !== 404) blame('I7 exactly once', `a person is confirmed again: ${again.status}`);
    const ids = (await tokensOf(stage, user)).map(({ id }) => id);
    if (status === 200 && ids.length === 0) blame('I6 honest', 'a page says Connected, and there is no token');
    for (const id of ids) await call('DELETE', `/v2/auth/tokens/${id}?user_id=${user}`);
    if (ids.length > 0) return;
  }
  throw new NotConverged(`${user} was confirmed four times, and there is no token`);
}

interface Led {
  /** What the tenant's page gets in its address, when the person has consented. */
  readonly confirmation: string;
  readonly browser: Browser;
}

async function toVerifier(stage: Stage, user: string): Promise<Led> {
  for (let tries = 0; tries < 8; tries += 1) {
    const browser = stage.newBrowser();
    // The way there was disturbed for another person.
    const back = await stage.consent(user, browser, ['lead', 'lead']);
    stage.enter('verify');
    const { body } = await stage.visit(() => browser.open(back));
    const [, confirmation, secret] = /confirmation=([0-9a-f-]{36}\.([\w-]{43}))/.exec(body) ?? [];
    if (confirmation !== undefined && secret !== undefined) {
      stage.secrets.add(secret);
      return { confirmation, browser };
    }
    // A state that was taken by a process that was killed, or a cache that does not know the annotation yet.
    for (const { id } of await tokensOf(stage, user))
      await stage.call('DELETE', `/v2/auth/tokens/${id}?user_id=${user}`);
  }
  throw new NotConverged(`${user} is not led to the page of the tenant`);
}

async function end(stage: Stage, user: string): Promise<void> {
  const { server, call, blame } = stage;
  stage.enter('end');
  const revocations = (): number => server.seen.filter((path) => path === '/token/revocation').length;
  const before = revocations();
  for (const { id } of await tokensOf(stage, user)) await call('DELETE', `/v2/auth/tokens/${id}?user_id=${user}`);
  if (revocations() === before) blame('I7 exactly once', 'a token was deleted and not revoked');
  if ((await tokensOf(stage, user)).length > 0) throw new NotConverged('a token was deleted and is there');
}

function judgeOAuth(run: OAuthRun): Violation[] {
  const found: Violation[] = [];
  const blame = (invariant: string, what: string | undefined): void => {
    if (what !== undefined) found.push({ invariant, what: `${what}; see ${run.cast.logs.join(' ')}` });
  };
  blame('I1 converges', run.stuck);
  for (const { invariant, what } of run.wrong) blame(invariant, what);
  const refused = run.grants.find((grant) => grant.endsWith('refused'));
  blame('I7 exactly once', refused && `a code or token was sent twice: ${refused}`);
  const tokens = namesOf(run.kept, 'token');
  blame('I7 exactly once', tokens.length > 1 ? `a person has ${tokens.length} tokens` : undefined);
  blame('I4 no leak', run.stuck === undefined && namesOf(run.left, 'token').length > 0 ? 'a token is left' : undefined);
  blame('I6 honest', wrongAnswer(run));
  blame('I8 no secret outside Secrets', secretOutside(run));
  blame('I13 no accident', run.accidents > 0 ? 'a process ended on its own' : undefined);
  return found;
}

function namesOf(secrets: readonly Secret[], kind: string): string[] {
  return secrets.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(`${kind}-`));
}

/** Only who was not answered, or told to try again, may be told that it is gone already. */
function wrongAnswer({ attempts }: OAuthRun): string | undefined {
  for (const [index, { what, status }] of attempts.entries()) {
    if (status === 'no answer' || status < 300 || status >= 500) continue;
    const isAgain = attempts.slice(0, index).some((before) => before.what === what);
    const isOnce = what.startsWith('DELETE') || what.startsWith('POST /v2/auth/confirm');
    if (!isAgain || !isOnce || status !== 404) return `${what} was answered with ${status}`;
  }
  return undefined;
}

/** Nothing is readable, in the log or in what is stored. */
function secretOutside({ secrets, told, kept, left }: OAuthRun): string | undefined {
  const stored = [...kept, ...left].map((one) => {
    const values = Object.values(one.data ?? {}).map((value) => Buffer.from(value, 'base64').toString());
    return [JSON.stringify(one), ...values].join(' ');
  });
  const isIn = (text: string): boolean => secrets.some((secret) => text.includes(secret));
  if (isIn(told)) return 'a code or token is in a log';
  return stored.some(isIn) ? 'a code or token is readable in a Secret' : undefined;
}
