import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PackageIndex, startPackageIndex } from './package-index.ts';

let upstream: Server;
let files: Server;
let index: PackageIndex;

async function listen(answer: (path: string) => readonly [type: string, body: string] | undefined): Promise<Server> {
  const server = createServer((request, response) => {
    const [type, body] = answer(request.url ?? '') ?? [];
    response.writeHead(type === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  files = await listen((path) => (path === '/a/shop-1.whl' ? ['application/zip', 'a wheel'] : undefined));
  upstream = await listen((path) => {
    if (path === '/simple/shop/') return ['text/html', `<a href="${urlOf(files)}/a/shop-1.whl">shop</a>`];
    if (path === '/shop')
      return ['application/json', JSON.stringify({ tarball: `${urlOf(upstream)}/shop/-/shop-1.tgz` })];
    if (path === '/shop/-/shop-1.tgz') return ['application/octet-stream', 'a tarball'];
    return undefined;
  });
  index = await startPackageIndex('127.0.0.1', {
    pip: `${urlOf(upstream)}/simple`,
    npm: `${urlOf(upstream)}/`,
    files: [urlOf(files)],
  });
});
afterAll(async () => {
  await index?.close();
  upstream?.close();
  files?.close();
});

it("leads from pip's page to its file, all by way of this machine", async () => {
  const page = await (await fetch(`${index.pip}/shop/`)).text();
  const [, link = ''] = /href="([^"]+)"/.exec(page) ?? [];
  expect(new URL(link).origin).toBe(new URL(index.pip).origin);
  expect(await (await fetch(link)).text()).toBe('a wheel');
});

it("leads from npm's page to its file", async () => {
  const { tarball } = (await (await fetch(`${index.npm}/shop`)).json()) as { tarball: string };
  expect(new URL(tarball).origin).toBe(new URL(index.npm).origin);
  expect(await (await fetch(tarball)).text()).toBe('a tarball');
});

it('leads nowhere else', async () => {
  const { origin } = new URL(index.pip);
  for (const path of ['/', '/9/simple', '/0', '/x/simple']) {
    expect((await fetch(`${origin}${path}`)).status).toBe(404);
  }
  expect((await fetch(`${index.pip}/shop/`, { method: 'POST' })).status).toBe(404);
});
