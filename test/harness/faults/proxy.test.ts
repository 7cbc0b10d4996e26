import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority } from '../../cluster/certificates.ts';
import { type Proxy, startProxy } from './proxy.ts';

const LEASES = '/apis/coordination.k8s.io/v1';

/** An API server whose watches tell nothing and which answers all else with its path and body. */
async function startBehind(leaseNamespace?: string): Promise<Proxy> {
  const authority = makeAuthority('api server');
  const { key, certificate: cert } = authority.serving('127.0.0.1', ['127.0.0.1']);
  const server = createServer({ key, cert }, async (asked, response) => {
    if (asked.url?.includes('watch')) return response.writeHead(200).flushHeaders();
    const body = asked.method === 'GET' ? undefined : await json(asked);
    return response.end(JSON.stringify({ path: asked.url, body }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy({
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificate,
    fault: { kind: 'none' },
    leaseMs: 1000,
    ...(leaseNamespace !== undefined && { leaseNamespace }),
    actors: ['a'],
    kill: () => undefined,
    pause: () => undefined,
    atWrite: () => Promise.resolve(),
  });
  onTestFinished(() => {
    proxy.close();
    server.closeAllConnections();
    server.close();
  });
  return proxy;
}

async function ask(proxy: Proxy, path: string, body?: object): Promise<IncomingMessage> {
  const method = body === undefined ? 'GET' : 'POST';
  const asked = request(`${proxy.urlFor('a')}${path}`, { ca: proxy.ca, method });
  asked.on('error', () => undefined).end(body && JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

test('A watch of Leases has its headers before its first event', async () => {
  const proxy = await startBehind();
  expect((await ask(proxy, `${LEASES}/leases?watch=1`)).statusCode).toBe(200);
});

test("A Lease of Davit's namespace is kept in that of the run", async () => {
  const proxy = await startBehind('run-1');
  const path = `${LEASES}/namespaces/davit-system/leases`;
  const lease = { metadata: { name: 'davit', namespace: 'davit-system' } };
  expect(await json(await ask(proxy, path, lease))).toEqual({
    path: `${LEASES}/namespaces/run-1/leases`,
    body: { metadata: { name: 'davit', namespace: 'run-1' } },
  });
  expect(await json(await ask(proxy, `${path}/davit`))).toEqual({ path: `${LEASES}/namespaces/run-1/leases/davit` });
});
