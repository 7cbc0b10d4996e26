// Who a caller is, is found out first: what a wrong token costs the API server, whom it holds up, and what it tells.

import { beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Forbidden, Unauthorized } from '../../../src/runtime/errors.ts';
import { NAMESPACES } from '../../../src/runtime/kube/api-resources.ts';
import { type Answer, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

const http = { ...defaultSettings().http, requestsPerMinute: 5 };
const LIST = '/v2/deployments';
const UNKNOWN_TOKEN = 'The Kubernetes API server does not accept this token, or it has expired. Send another one.';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ http });
  for (let n = 0; n < 18; n += 1) facade.kube.seed(NAMESPACES, aTenant(n));
  facade.tenants.fill();
  facade.kube.know((token) => (token.startsWith('made-up') ? undefined : `user-of-${token}`));
});

function aTenant(n: number): Parameters<Facade['kube']['seed']>[1] {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: `more-${n}`, uid: `uid-${n}`, labels: { 'davit.dev/tenant': 'true' } },
  };
}
function as(token: string, url = LIST, headers: Record<string, string> = {}): Promise<Answer> {
  return facade.call('GET', url, undefined, { 'x-api-key': token, ...headers });
}
const asked = (kind = ''): number => facade.kube.writes.filter((one) => one.kind.includes(kind)).length;
const inTurn = async <T>(times: number, work: (n: number) => Promise<T>): Promise<T[]> => {
  const results: T[] = [];
  for (let n = 0; n < times; n += 1) results.push(await work(n));
  return results;
};

describe('invalid tokens', () => {
  it('are limited by address: of 200 the API server reviews only as many as the limit, once each', async () => {
    const answers = await inTurn(200, (n) => as(`made-up-${n}`, LIST, { 'x-tenant-id': '' }));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 200 }, (_, n) => (n < 5 ? 401 : 429)));
    expect(answers[0]?.body).toEqual({ detail: UNKNOWN_TOKEN });
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0);
    expect(asked()).toBe(5);
  });

  it('do not delay callers whose token was valid recently', async () => {
    expect((await as(TOKEN)).status).toBe(200);
    await inTurn(20, (n) => as(`made-up-${n}`));
    expect((await as(TOKEN)).status).toBe(200);
    facade.clock.ms += 30_000;
    expect((await as(TOKEN)).status).toBe(200);
  });

  it('are limited also without a rate limit, and in the other header', async () => {
    facade = await makeFacade({ http: { ...http, requestsPerMinute: 0 } });
    facade.kube.know(() => undefined);
    const answers = await inTurn(400, (n) => as(`made-up-${n}`));
    expect(asked()).toBe(300);
    expect(answers.at(-1)?.status).toBe(429);
    expect(answers.at(-1)?.body.detail).toMatch(
      /^More than 300 unknown tokens came from this address in a minute\. .* Try again in \d+ s\.$/,
    );
  });

  it('get the message of the limit that they reached, and do not affect pages without a token', async () => {
    await inTurn(20, (n) => as(`made-up-${n}`));
    expect((await as('new-and-good')).body.detail).toMatch(
      /^More than 5 requests in a minute came from this address with unknown tokens, or without one\. Try again in \d+ s\.$/,
    );
    for (const page of ['/', '/openapi.json', '/livez']) expect((await facade.app.inject(page)).statusCode).toBe(200);
  });

  it('tokens that prove valid do not count, however many come from one address', async () => {
    facade = await makeFacade();
    const answers = await inTurn(400, (n) => as(`good-${n}`));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('do not delay callers whose token was valid an hour ago, even while reviews are running', async () => {
    facade.kube.know((token) => token);
    expect((await as(TOKEN)).status).toBe(200);
    facade.clock.ms += 3_600_000;
    let answerFlood: () => void = () => undefined;
    const answered = new Promise<undefined>((resolve) => (answerFlood = () => resolve(undefined)));
    facade.kube.failOn(({ kind, token }) =>
      kind === 'SelfSubjectReview' && token?.startsWith('made-up') ? answered : undefined,
    );
    const flood = Array.from({ length: 40 }, (_, n) => as(`made-up-${n}`));
    expect((await as(TOKEN)).status).toBe(200);
    answerFlood();
    await Promise.all(flood);
  });

  it('are not reviewed again for ten seconds', async () => {
    facade = await makeFacade();
    facade.kube.know(() => undefined);
    await inTurn(10, () => as('made-up'));
    expect(asked()).toBe(1);
    facade.clock.ms += 10_000;
    await as('made-up');
    expect(asked()).toBe(2);
  });

  it('use only a few concurrent reviews, and the queue is limited', async () => {
    facade = await makeFacade();
    let underWay = 0;
    let most = 0;
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    facade.kube.failOn(async ({ kind }) => {
      if (kind !== 'SelfSubjectReview') return undefined;
      underWay += 1;
      most = Math.max(most, underWay);
      await answered;
      underWay -= 1;
      return new Unauthorized('review');
    });
    const sent = Array.from({ length: 200 }, (_, n) =>
      facade.app.inject({
        url: LIST,
        headers: { 'x-api-key': `made-up-${n}` },
        remoteAddress: `192.0.2.${n % 50}`,
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    const statuses = (await Promise.all(sent)).map(({ statusCode }) => statusCode);
    expect(most).toBe(8);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(statuses.filter((status) => status === 401).length).toBe(8 + 64);
  });
});

describe('a valid token', () => {
  it('is reviewed once for concurrent requests, and then not for ten minutes', async () => {
    await Promise.all([as(TOKEN), as(TOKEN), as(TOKEN)]);
    expect([asked('SelfSubjectReview'), asked('SelfSubjectAccessReview')]).toEqual([1, 1]);
    facade.clock.ms += 60_000;
    await as(TOKEN);
    expect([asked('SelfSubjectReview'), asked('SelfSubjectAccessReview')]).toEqual([1, 2]);
  });

  it('is counted for its user, also after a new token was issued', async () => {
    facade.kube.know(() => 'one and the same');
    await inTurn(4, () => as(TOKEN));
    expect((await as('renewed')).status).toBe(200);
    expect((await as('renewed')).status).toBe(429);
    expect((await as(TOKEN)).status).toBe(429);
  });

  it('is invalid after it was revoked', async () => {
    facade = await makeFacade();
    expect((await as(TOKEN)).status).toBe(200);
    facade.kube.know(() => undefined);
    facade.clock.ms += 10_000;
    const before = asked();
    const answers = await inTurn(5, () => as(TOKEN));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect(asked() - before).toBe(1);
  });

  it('is accepted if its user lacks the right to a SelfSubjectReview', async () => {
    facade.kube.failOn(({ kind }) => (kind === 'SelfSubjectReview' ? new Forbidden('no') : undefined));
    expect((await as(TOKEN)).status).toBe(200);
  });

  it('without any right causes few requests, whichever tenant it names', async () => {
    facade.kube.allow(() => false);
    const post = (tenant: string): Promise<Answer> =>
      facade.call('POST', LIST, {}, { 'x-tenant-id': tenant, 'x-api-key': 'right-less' });
    expect((await post(TENANT.id)).status).toBe(403);
    expect(asked()).toBe(3);
    expect((await post('')).status).toBe(403);
    // Twenty tenants, each asked about once, and one of them before.
    expect(asked()).toBe(3 + 19);
    expect((await post('')).status).toBe(403);
    expect(asked()).toBe(3 + 19);
  });
});

describe('the address', () => {
  const forwarded = { 'x-forwarded-for': '198.51.100.7' };
  const strangers = async (headers: Record<string, string>): Promise<number[]> =>
    (await inTurn(6, (n) => as(`made-up-${n}`, LIST, { ...headers }))).map(({ status }) => status);

  it('is that of the connection: X-Forwarded-For is ignored', async () => {
    expect(await strangers(forwarded)).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await as('made-up', LIST, { 'x-forwarded-for': '198.51.100.8' })).status).toBe(429);
  });

  it('is taken from a trusted proxy', async () => {
    facade = await makeFacade({ http: { ...http, trustedProxies: ['127.0.0.0/8'] } });
    facade.kube.know(() => undefined);
    expect(await strangers(forwarded)).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await as('made-up', LIST, { 'x-forwarded-for': '198.51.100.8' })).status).toBe(401);
    expect((await as('made-up', LIST, { 'x-forwarded-for': '198.51.100.8, 198.51.100.7' })).status).toBe(429);
  });
});
