// Which way a request takes, held against curl, which git uses too, and Helm, a program of Go as BuildKit is: none of them may differ
// from Davit.

import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureTools, toolPath } from '../../../test/cluster/tools.ts';
import { type ConnectProxy, startConnectProxy } from '../../../test/support/connect-proxy.ts';
import { proxyFor } from './proxy.ts';

let proxy: ConnectProxy;
let helm: string;
beforeAll(async () => {
  helm = toolPath(await ensureTools(['helm'], () => undefined), 'helm', 'helm');
  proxy = await startConnectProxy();
  proxy.fault = 403;
});
afterAll(() => proxy.close());

/** Whether curl asks the proxy. A direct connection ends at once: nothing listens on port 1 of this machine. */
async function curlIsProxied(url: string, noProxy: readonly string[]): Promise<boolean> {
  const before = proxy.seen.length;
  const env = { PATH: process.env['PATH'], https_proxy: proxy.url, no_proxy: noProxy.join(',') };
  const child = spawn('curl', ['-s', '--max-time', '20', '--connect-to', '::127.0.0.1:1', url], {
    env,
    stdio: 'ignore',
  });
  await new Promise((resolve) => child.once('close', resolve));
  return proxy.seen.length > before;
}

/** Whether a program of Go asks the proxy. A direct connection ends where the name is not resolved. */
async function goIsProxied(host: string, noProxy: readonly string[]): Promise<boolean> {
  const before = proxy.seen.length;
  const env = { HOME: tmpdir(), HTTPS_PROXY: proxy.url, NO_PROXY: noProxy.join(',') };
  const child = spawn(helm, ['show', 'chart', `https://${host}:1/x.tgz`], { env, stdio: 'ignore', timeout: 60_000 });
  await new Promise((resolve) => child.once('close', resolve));
  return proxy.seen.length > before;
}

describe('noProxy', () => {
  const LIST = ['internal.example', '.svc', '.cluster.local', '10.1.2.3', '10.96.0.0/12', 'fd00::/8', 'localhost'];
  it.each([
    ['github.com', true],
    ['internal.example', false],
    ['git.internal.example', false],
    ['notinternal.example', true],
    ['internal.example.com', true],
    ['davit-registry.davit-system.svc', false],
    ['notsvc', true],
    ['kubernetes.default.svc.cluster.local', false],
    ['10.1.2.3', false],
    ['10.1.2.30', true],
    ['10.96.0.1', false],
    ['10.111.255.255', false],
    ['10.112.0.1', true],
    ['[2606:4700::1111]', true],
    ['localhost', false],
  ])('%s goes through the proxy: %s', async (host, isProxied) => {
    const url = `https://${host}/`;
    expect(proxyFor(new URL(url), { httpsProxy: proxy.url, noProxy: LIST })).toBe(isProxied ? proxy.url : undefined);
    expect(await curlIsProxied(url, LIST)).toBe(isProxied);
    // A private address that is connected to directly may keep a connection waiting.
    if (isProxied || !/^[0-9[]/.test(host)) expect(await goIsProxied(host, LIST)).toBe(isProxied);
  });
});

it('noProxy has ranges of IPv6 too, which curl 7.88 does not have', () => {
  const proxies = { httpsProxy: 'http://s:1', noProxy: ['fd00::/8'] };
  expect(proxyFor(new URL('https://[fd00::1]/'), proxies)).toBeUndefined();
  expect(proxyFor(new URL('https://[fe80::1]/'), proxies)).toBe('http://s:1');
});

it.each([
  ['https://a.example/', 'http://s:1'],
  ['http://a.example/', 'http://h:1'],
])('%s has the proxy of its scheme', (url, wanted) => {
  const proxies = { httpProxy: 'http://h:1', httpsProxy: 'http://s:1', noProxy: [] };
  expect(proxyFor(new URL(url), proxies)).toBe(wanted);
  expect(proxyFor(new URL(url), { noProxy: [] })).toBeUndefined();
  expect(proxyFor(new URL(url), undefined)).toBeUndefined();
});
