// The way to a registry, and to what it names, through a company's proxy.

import type { Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRegistryTransport, type RegistryTransport } from '../../../src/runtime/outbound/registry-transport.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.ts';
import { type FakeRegistry, startFakeRegistry } from '../../support/fake-registry.ts';
import { close, listen } from '../../support/http-servers.ts';

const authority = makeAuthority('registry');
const signal = (): AbortSignal => AbortSignal.timeout(5000);
let proxy: ConnectProxy;
let registry: FakeRegistry;
let secure: Server;
let port: number;
let opened: RegistryTransport[];
beforeEach(async () => {
  opened = [];
  proxy = await startConnectProxy();
  registry = await startFakeRegistry();
  const { certificate, key } = authority.serving('registry.example', ['registry.example']);
  secure = createServer({ cert: certificate, key }, (request, response) => response.end(`${request.method} here`));
  await listen(secure, 0, '127.0.0.1');
  ({ port } = secure.address() as AddressInfo);
});
afterEach(async () => {
  await Promise.all(opened.map((transport) => transport.close()));
  await Promise.all([proxy.close(), registry.close(), close(secure)]);
});

function transport(origin: string, noProxy: readonly string[] = []): RegistryTransport {
  const made = makeRegistryTransport({
    origin,
    ca: authority.certificate,
    proxies: { httpProxy: proxy.url, httpsProxy: proxy.url, noProxy },
    lookup: () => Promise.reject(new Error('Davit has resolved a name.')),
    connectTimeoutMs: 300,
    answerTimeoutMs: 300,
  });
  opened.push(made);
  return made;
}
async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < 20; n += 1) yield Buffer.alloc(10_000);
}
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    ({ why, message }: { why: string; message: string }) => [why, message],
  );

describe('the registry itself', () => {
  it('is reached by CONNECT, with its own authorities', async () => {
    const origin = `https://registry.example:${port}`;
    const { body } = await transport(origin).request(new URL(`${origin}/v2/`), { signal: signal() });
    expect(await text(body)).toBe('GET here');
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT registry.example:${port}`]);
  });

  it('takes uploads as they come', async () => {
    const origin = `https://registry.example:${port}`;
    const sent = { method: 'PATCH', body: pieces(), signal: signal() } as const;
    const { body } = await transport(origin).request(new URL(`${origin}/v2/`), sent);
    expect(await text(body)).toBe('PATCH here');
  });

  it('is asked for through the proxy also over plain HTTP', async () => {
    const origin = registry.origin.replace('127.0.0.1', 'registry.example');
    const { statusCode, body } = await transport(origin).request(new URL(`${origin}/v2/`), { signal: signal() });
    await body.dump();
    expect(statusCode).toBeLessThan(500);
    expect(proxy.seen).toEqual([`GET ${origin}/v2/`]);
    expect(registry.seen).toEqual(['GET /v2/']);
  });

  it('is connected to directly where noProxy names it', async () => {
    const { statusCode, body } = await transport(registry.origin, ['127.0.0.1']).request(
      new URL(`${registry.origin}/v2/`),
      { signal: signal() },
    );
    await body.dump();
    expect(statusCode).toBeLessThan(500);
    expect([proxy.seen, registry.seen]).toEqual([[], ['GET /v2/']]);
  });

  it('that the proxy does not reach is said so', async () => {
    proxy.fault = 403;
    const origin = `https://registry.example:${port}`;
    expect(await failure(transport(origin).request(new URL(origin), { signal: signal() }))).toEqual([
      'unreachable',
      "The platform's proxy refused the connection: it answered 403. Try again later.",
    ]);
  });
});

describe('what a registry names', () => {
  it('goes through the proxy, and is trusted only by the authorities of the system', async () => {
    const elsewhere = new URL(`https://blobs.example:${port}/x`);
    expect(await failure(transport(registry.origin).request(elsewhere, { signal: signal() }))).toMatchObject({
      0: 'unreachable',
    });
    expect(proxy.seen).toEqual([`CONNECT blobs.example:${port}`]);
  });

  it.each([
    'https://169.254.169.254/latest',
    'https://10.0.0.1/',
    'https://[fd00::1]/',
    'https://2130706433/',
    'http://blobs.example/',
    'https://user@blobs.example/',
  ])('is not asked for at %s', async (url) => {
    expect(await failure(transport(registry.origin).request(new URL(url), { signal: signal() }))).toMatchObject({
      0: 'malformed',
    });
    expect(proxy.seen).toEqual([]);
  });

  it('is resolved and checked where noProxy names it', async () => {
    const direct = transport(registry.origin, ['.example']);
    const elsewhere = new URL('https://blobs.example/x');
    expect(await failure(direct.request(elsewhere, { signal: signal() }))).toMatchObject({ 0: 'unreachable' });
    expect(proxy.seen).toEqual([]);
  });
});
