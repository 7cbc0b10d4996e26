// People with browsers, and agents that ask Davit for their tokens: the way from a link to a token, and what was secret on it.

import { expect } from 'vitest';
import { type Browser, makeBrowser, type Visited } from './cookie-browser.ts';
import { type OAuthTestServer, providerPayload } from './oauth-server.ts';
import type { Tenant } from './platform.ts';
import type { Answer, Attached } from './running-davit.ts';

export interface PeopleOptions {
  readonly publicUrl: string;
  /** Where the HTTP API is. */
  readonly apiUrl: string;
  readonly call: Attached['call'];
  readonly tenant: Tenant;
  /** Has the provider `idp`. */
  readonly server: OAuthTestServer;
}

export interface People {
  /** The person whom agents name unless told otherwise. */
  user: string;
  /** Hers. */
  browser: Browser;
  /** All that was ever secret: it must be in no log. */
  readonly secrets: Set<string>;
  /** Davit's pages, and its answers that are errors: no secret may be there either. */
  readonly told: string[];
  /** Another person, with another browser. */
  next(): void;
  newBrowser(server?: OAuthTestServer): Browser;
  provider(id: string, more?: object): Promise<void>;
  /** An agent asks for a token of `idp`. */
  authenticate(more?: object, by?: { readonly as?: Tenant; readonly at?: Attached['call'] }): Promise<Answer>;
  /** From the link of an agent to the provider's answer, which is not delivered. */
  consent(url: string, using?: Browser): Promise<string>;
  /** Gives a token to an agent, which does not ask for it yet. */
  give(more?: object): Promise<void>;
  /** A token that the person has given. */
  connected(more?: object): Promise<string>;
}

export function makePeople({ publicUrl, apiUrl, call, tenant, server }: PeopleOptions): People {
  let number = 0;
  const note = (secret: string | null | undefined): void => {
    if (secret) people.secrets.add(secret);
  };

  function newBrowser({ ca } = server): Browser {
    const made = makeBrowser({ [publicUrl]: apiUrl }, ca);
    const noted = async (visit: Promise<Visited>): Promise<Visited> => {
      const visited = await visit;
      if (!visited.url.startsWith(publicUrl)) return visited;
      note(/=([^;]*)/.exec(String(visited.headers['set-cookie'] ?? ''))?.[1]);
      // A redirect that was not followed is the provider's.
      if (visited.headers['location'] === undefined) people.told.push(visited.body);
      return visited;
    };
    return {
      open: (...args) => noted(made.open(...args)),
      submit: (...args) => noted(made.submit(...args)),
      send: made.send,
      close: made.close,
    };
  }

  const people: People = {
    user: '',
    browser: newBrowser(),
    secrets: new Set(),
    told: [],
    newBrowser,
    next() {
      people.user = `person-${(number += 1)}`;
      people.browser = newBrowser();
    },
    async provider(id, more = {}) {
      const answer = await call(tenant, 'POST', '/v2/auth/providers', {
        ...providerPayload(server, id, `Provider <${id}>`),
        ...more,
      });
      expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    },
    async authenticate(more = {}, { as = tenant, at = call } = {}) {
      const body = { provider: 'idp', scopes: ['api:read'], user_id: people.user, ...more };
      const answer = await at(as, 'POST', '/v2/auth/authenticate', body);
      note(answer.body.token);
      if (answer.status !== 200) people.told.push(JSON.stringify(answer.body));
      // Whoever has it can open the page.
      note(answer.body.auth_id?.split('.')[1]);
      return answer;
    },
    async consent(url, using = people.browser) {
      const page = await using.open(url);
      expect([page.status, page.headers['cache-control'], page.headers['referrer-policy']]).toEqual([
        200,
        'no-store',
        'no-referrer',
      ]);
      const { url: back } = await using.submit(url, (next) => next.startsWith(publicUrl));
      for (const name of ['code', 'state']) note(new URL(back).searchParams.get(name));
      return back;
    },
    async give(more) {
      const { body } = await people.authenticate(more);
      const end = await people.browser.open(await people.consent(body.url));
      expect([end.status, end.body]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
    },
    async connected(more) {
      await people.give(more);
      const { body: got } = await people.authenticate(more);
      expect(got).toMatchObject({ status: 'completed', url: null, user_id: people.user, token: expect.any(String) });
      return got.token;
    },
  };
  return people;
}

type Calls = Pick<People, 'provider' | 'authenticate' | 'consent' | 'connected'>;

/** What the people of a test do who are made before its tests, and after its file is read. */
export function callsOf(people: () => People): Calls {
  return {
    provider: (...args) => people().provider(...args),
    authenticate: (...args) => people().authenticate(...args),
    consent: (...args) => people().consent(...args),
    connected: (...args) => people().connected(...args),
  };
}

/** Which of these texts has which secret, also in base64 and hexadecimal: none should. */
export function leaked(secrets: Iterable<string>, texts: Readonly<Record<string, string>>): string[] {
  return [...secrets].flatMap((secret) => {
    const forms = [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')];
    return Object.entries(texts).flatMap(([where, text]) =>
      forms.some((form) => text.includes(form)) ? [`${where}: ${secret}`] : [],
    );
  });
}
