// A tenant's page that confirms who a person is before a token is stored: docs/agents.md. oidc-provider is the OAuth server.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { FLOW_MS } from '../../../src/tokens/oauth/flow.ts';
import type { Visited } from '../../support/cookie-browser.ts';
import { type OAuthTestServer, startOAuthServer } from '../../support/oauth-server.ts';
import { callsOf, leaked, makePeople, type People } from '../../support/people.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, callsTo } from '../../support/running-davit.ts';
import { type Facade, listen, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const PUBLIC = 'https://davit.example';
const VERIFIER = 'https://portal.example/who?lang=en';
const tenant: Tenant = { ...TENANT, token: TOKEN };
const other: Tenant = { ...OTHER_TENANT, token: TOKEN };

let server: OAuthTestServer;
let facade: Facade;
let call: ReturnType<typeof callsTo>;
let people: People;
const { authenticate, consent } = callsOf(() => people);

beforeAll(async () => {
  server = await startOAuthServer([`${PUBLIC}/v2/auth/callback/idp`]);
  const settings = defaultSettings();
  facade = await makeFacade({
    oauth: { ...settings.oauth, hosts: [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }] },
    http: { ...settings.http, publicUrl: PUBLIC },
  });
  const apiUrl = await listen(facade);
  call = callsTo(apiUrl);
  people = makePeople({ publicUrl: PUBLIC, apiUrl, call, tenant, server });
  await people.provider('idp');
});
afterAll(async () => {
  await facade?.app.close();
  await server?.close();
});
beforeEach(() => {
  server.grants.length = 0;
  server.isRefusing = false;
  people.next();
  verifier(VERIFIER);
});

/** As an administrator annotates the tenant's namespace. The requests of these tests are sent by somebody. */
function verifier(url: string | undefined, account: string | undefined = 'somebody'): void {
  const [namespace] = facade.kube.objects<KubeObject>(NAMESPACES).filter(({ metadata }) => metadata.uid === TENANT.id);
  if (namespace === undefined) throw new Error('the tenant is gone');
  const annotations = {
    ...(url !== undefined && { 'davit.dev/oauth-verifier-url': url }),
    ...(account !== undefined && { 'davit.dev/oauth-verifier-account': account }),
  };
  facade.kube.seed(NAMESPACES, { ...namespace, metadata: { ...namespace.metadata, annotations } });
  facade.tenants.fill();
}

/** The tenant's page says who sits there, and leads the browser back. */
async function back({ confirmation }: { readonly confirmation: string }, using = people.browser): Promise<Visited> {
  const { status, body } = await confirm({ confirmation, user_id: people.user });
  expect([status, body.status]).toEqual([200, 'confirmed']);
  const name = body.url.split('.').at(-1);
  people.secrets.add(name);
  return using.open(body.url);
}

const confirm = (body: object, as: Tenant = tenant): Promise<Answer> => call(as, 'POST', '/v2/auth/confirm', body);

/** Where the page leads that follows the provider's answer. */
function ledTo(page: string): URL {
  const [, address = ''] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(page) ?? [];
  return new URL(address.replaceAll(/&#(\d+);/g, (_match, code: string) => String.fromCharCode(Number(code))));
}

/** From an agent's link to the tenant's page. */
async function verifying(more?: object): Promise<{ confirmation: string; at: URL; authId: string }> {
  const { body } = await authenticate(more);
  const page = await people.browser.open(await consent(body.url));
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('portal.example')]);
  const at = ledTo(page.body);
  const confirmation = at.searchParams.get('confirmation') ?? '';
  people.secrets.add(confirmation.split('.')[1] ?? '');
  return { confirmation, at, authId: body.auth_id };
}

const kept = (kind: string): KubeObject[] =>
  facade.kube.objects<KubeObject>(SECRETS).filter(({ metadata }) => metadata.name.startsWith(`${kind}-`));

describe('a tenant with a page that confirms people', () => {
  it('gets the token when the page has named the person for whom the agent asked', async () => {
    const { confirmation, at, authId } = await verifying();
    expect([at.origin, at.pathname, at.searchParams.get('lang')]).toEqual(['https://portal.example', '/who', 'en']);
    // Nothing was asked of the provider yet, and who waits goes on waiting.
    expect([server.grants, (await authenticate()).body.status]).toEqual([[], 'pending']);
    const waiting = call(tenant, 'GET', `/v2/auth/wait/${authId}?timeout=60`);
    const end = await back({ confirmation });
    expect([end.status, end.body]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
    expect((await waiting).body).toMatchObject({ status: 'completed', token: expect.any(String) });
    expect([(await authenticate()).body.status, server.grants]).toEqual(['completed', ['authorization_code']]);
    expect([kept('confirmation'), kept('state')]).toEqual([[], []]);
  });

  it('is named on the page of consent', async () => {
    const { body } = await authenticate();
    const page = await people.browser.open(body.url);
    expect(page.body).toContain(`<strong>portal.example</strong> confirms that you are ${people.user}`);
  });

  it('gets no token of another person, who has followed a link that was sent to her', async () => {
    const { confirmation, authId } = await verifying();
    const before = kept('token').length;
    expect((await confirm({ confirmation, user_id: 'victim' })).body).toEqual({
      status: 'wrong_person',
      url: null,
      message: 'The agent asked for somebody else\'s access, not "victim"\'s. Nothing was stored.',
    });
    expect([kept('token').length, server.grants]).toEqual([before, []]);
    expect((await call(tenant, 'GET', `/v2/auth/wait/${authId}?timeout=60`)).body.status).toBe('not_found');
    // It has ended, also for the right name.
    expect((await confirm({ confirmation, user_id: people.user })).status).toBe(404);
    expect(server.grants).toEqual([]);
  });

  it('confirms once, however often it says so', async () => {
    const { confirmation } = await verifying();
    const answers = await Promise.all([0, 1, 2].map(() => confirm({ confirmation, user_id: people.user })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
    const url = answers.find(({ status }) => status === 200)?.body.url;
    people.secrets.add(url.split('.').at(-1));
    const ends = await Promise.all([0, 1, 2].map(() => people.browser.open(url)));
    expect(ends.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
    expect(server.grants).toEqual(['authorization_code']);
  });

  it('stores nothing of somebody who has consented, and sends the victim to be confirmed', async () => {
    const { confirmation } = await verifying();
    const victim = people.newBrowser();
    expect((await back({ confirmation }, victim)).status).toBe(403);
    expect([server.grants, (await authenticate()).body.token]).toEqual([[], null]);
    // Another browser that has a cookie of its own is another browser.
    const again = await verifying();
    await victim.open((await authenticate()).body.url);
    expect((await back(again, victim)).status).toBe(403);
    expect(server.grants).toEqual([]);
  });

  it('takes the last of several who consent on one link, and nobody after the end', async () => {
    const { body } = await authenticate();
    const mallory = people.newBrowser();
    const led = async (using: typeof mallory): Promise<string> => {
      const page = await using.open(await consent(body.url, using));
      return ledTo(page.body).searchParams.get('confirmation') ?? '';
    };
    const [first, held] = [await led(mallory), await consent(body.url, mallory)];
    const second = await led(people.browser);
    expect((await confirm({ confirmation: first, user_id: people.user })).status).toBe(404);
    expect((await back({ confirmation: second })).status).toBe(200);
    expect((await mallory.open(held)).status).toBe(404);
    expect(server.grants).toEqual(['authorization_code']);
  });

  it('that has heard of another person ends the link for all', async () => {
    const { body } = await authenticate();
    const held = await consent(body.url);
    const { confirmation } = await verifying();
    expect((await confirm({ confirmation, user_id: 'victim' })).body.status).toBe('wrong_person');
    expect((await people.browser.open(held)).status).toBe(404);
    expect(server.grants).toEqual([]);
  });

  it('is asked about no refusal: the person reads it at once', async () => {
    server.isRefusing = true;
    const { body } = await authenticate();
    const page = await people.browser.open(await consent(body.url));
    expect(page.body).toContain('answered access_denied');
    expect(page.body).not.toContain('portal.example');
  });

  it('is asked about no answer in another browser', async () => {
    const { body } = await authenticate();
    const page = await people.newBrowser().open(await consent(body.url));
    expect([page.status, kept('confirmation')]).toEqual([403, []]);
  });

  it.each([
    ['another tenant', async (confirmation: string) => confirm({ confirmation, user_id: people.user }, other)],
    [
      'an agent, which has the same right and has consented as itself',
      async (confirmation: string) => {
        facade.kube.know((token) => (token === 'agent' ? 'system:serviceaccount:team-a:agent' : 'somebody'));
        return confirm({ confirmation, user_id: people.user }, { ...tenant, token: 'agent' });
      },
    ],
    ['somebody who guesses', async () => confirm({ confirmation: 'a'.repeat(43), user_id: people.user })],
    [
      'somebody who has a state',
      async () => {
        const { body } = await authenticate({ agent_id: 'another' });
        const state = new URL(await consent(body.url)).searchParams.get('state');
        return confirm({ confirmation: state, user_id: people.user });
      },
    ],
  ])('is not played by %s', async (_who, attack) => {
    const { confirmation } = await verifying();
    const { status, body } = await attack(confirmation);
    expect([status, body.detail]).toEqual([404, expect.stringContaining('Confirmation not found.')]);
    expect(server.grants).toEqual([]);
    expect((await back({ confirmation })).status).toBe(200);
  });

  it('has ten minutes', async () => {
    const { confirmation } = await verifying();
    facade.clock.ms += FLOW_MS;
    expect((await confirm({ confirmation, user_id: people.user })).status).toBe(404);
  });

  it('leads back to what the provider did not give', async () => {
    const { confirmation } = await verifying();
    server.fault = (request, response) => {
      if (request.url !== '/token') return false;
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    const end = await back({ confirmation });
    server.fault = undefined;
    expect([end.status, end.body]).toEqual([502, expect.stringContaining('Nothing was stored.')]);
  });

  it.each([{}, { confirmation: '', user_id: 'ada' }, { confirmation: 'x', user_id: '' }, { confirmation: 'x' }])(
    'hears what is wrong with %j',
    async (body) => {
      expect((await confirm(body)).status).toBe(422);
    },
  );
});

describe('an address that is none for browsers', () => {
  it.each([
    'http://portal.example/who',
    'portal.example',
    'javascript:alert(1)',
    'https://user:secret@portal.example/',
    'https://portal.example/#who',
    '',
  ])('%s gives nobody a link, and says why', async (url) => {
    verifier(url);
    const { status, body } = await authenticate();
    expect([status, body.detail]).toEqual([
      424,
      'Annotation davit.dev/oauth-verifier-url of namespace team-a must be an https URL without credentials or fragment. Until then, nobody can give a token to this tenant.',
    ]);
  });

  it('without an account gives nobody a link either', async () => {
    verifier(VERIFIER, '');
    const { status, body } = await authenticate();
    expect([status, body.detail]).toEqual([
      424,
      'Namespace team-a has annotation davit.dev/oauth-verifier-url, but not davit.dev/oauth-verifier-account. Until it names the account of the page, nobody can give a token to this tenant: kubectl annotate namespace team-a davit.dev/oauth-verifier-account=system:serviceaccount:NAMESPACE:NAME',
    ]);
  });

  it('confirms nobody where it was taken away meanwhile', async () => {
    const { confirmation } = await verifying();
    verifier(undefined);
    expect((await confirm({ confirmation, user_id: people.user })).status).toBe(404);
  });

  it('takes no token from those who have one', async () => {
    const { confirmation } = await verifying();
    await back({ confirmation });
    verifier('none');
    expect((await authenticate()).body.status).toBe('completed');
  });

  it('ends what has begun without a token', async () => {
    const { body } = await authenticate();
    const back = await consent(body.url);
    verifier('none');
    const page = await people.browser.open(back);
    expect([page.status, page.body]).toEqual([502, expect.stringContaining('must be an https URL')]);
    expect(server.grants).toEqual([]);
  });

  it('may be one of this machine, for trials', async () => {
    verifier('http://localhost:3000/who');
    expect((await authenticate()).body.status).toBe('pending');
  });
});

it('what leads to a token is in no object, log, error and page but the one that leads to the verifier', async () => {
  const pages = people.told.filter((page) => !page.includes('http-equiv="refresh"'));
  const objects = JSON.stringify(facade.kube.objects(SECRETS));
  expect([people.secrets.size > 10, pages.length > 5]).toEqual([true, true]);
  expect(leaked(people.secrets, { objects, log: facade.log(), pages: pages.join('') })).toEqual([]);
});
