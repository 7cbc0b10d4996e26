// One caller's loop is told to wait, and nobody else is.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { type Facade, makeFacade } from './facade.ts';

let facade: Facade;
beforeAll(async () => {
  facade = await makeFacade({ http: { ...defaultSettings().http, requestsPerMinute: 5 } });
  facade.kube.know((token) => token);
});
afterAll(() => facade.app.close());

const list = '/v2/deployments';

it('rejects the sixth request of a minute without a request to the API server', async () => {
  for (let n = 0; n < 5; n += 1) {
    expect((await facade.call('GET', list)).status).toBe(200);
  }
  const asked = facade.kube.writes.length;
  // Another name of the header, the same caller.
  const refused = await facade.call('GET', list, undefined, {
    'x-api-key': '',
    authorization: 'Bearer token-of-somebody-canary',
  });
  expect(refused.status).toBe(429);
  expect(refused.body.detail).toMatch(/^More than 5 requests in a minute\. Try again in \d+ s\.$/);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
  expect(refused.headers['x-request-id']).toBeDefined();
  expect(facade.kube.writes).toHaveLength(asked);
});

it('counts each caller separately, and unknown callers by address', async () => {
  expect((await facade.call('GET', list, undefined, { 'x-api-key': 'somebody-else' })).status).toBe(200);
  const nobody = { 'x-api-key': '' };
  // Both callers were strangers once.
  for (let n = 0; n < 3; n += 1) {
    expect((await facade.call('GET', list, undefined, nobody)).status).toBe(401);
  }
  expect((await facade.call('GET', '/nowhere', undefined, nobody)).status).toBe(429);
});

it('counts requests for tokens separately: an agent sends them for many people', async () => {
  const busy = await makeFacade({ http: { ...defaultSettings().http, requestsPerMinute: 5 } });
  expect((await busy.call('GET', list)).status).toBe(200);
  const ask = (): Promise<{ status: number; body: { detail: string } }> =>
    busy.call('POST', '/v2/auth/authenticate', { provider: 'tracker', scopes: [] });
  for (let n = 0; n < 5; n += 1) {
    expect((await ask()).status).toBe(424);
  }
  const refused = await ask();
  expect([refused.status, refused.body.detail]).toEqual([
    429,
    expect.stringMatching(/^More than 5 requests in a minute for tokens\. Try again in \d+ s\.$/),
  ]);
  expect((await busy.call('GET', list)).status).toBe(200);
  await busy.app.close();
});

it('never counts probes', async () => {
  for (let n = 0; n < 20; n += 1) {
    expect((await facade.call('GET', '/livez')).status).toBe(200);
  }
});

it('is disabled by 0', async () => {
  const free = await makeFacade({ http: { ...defaultSettings().http, requestsPerMinute: 0 } });
  for (let n = 0; n < 20; n += 1) {
    expect((await free.call('GET', list)).status).toBe(200);
  }
  await free.app.close();
});
