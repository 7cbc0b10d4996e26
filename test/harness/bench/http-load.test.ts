import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { run } from './http-load.ts';

it('takes each client through its steps, one after the other, and counts whole answers of either form', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${body}`);
      if (request.url === '/whole') return void response.end('x'.repeat(200_000));
      // In two parts, and without saying how long it is.
      response.statusCode = 201;
      response.write('some');
      setTimeout(() => response.end('more'), 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const loaded = await run({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    steps: [{ path: '/whole' }, { method: 'POST', path: '/parts', body: 'number {n}' }],
    headers: {},
    clients: 1,
    seconds: 30,
    turns: 5,
  });
  server.close();
  expect([loaded.turns, loaded.statuses, loaded.perClient]).toEqual([5, { 200: 5, 201: 5 }, [5, 5]]);
  expect(loaded.bytes).toBeGreaterThan(1_000_000);
  expect(seen.slice(0, 10)).toEqual([0, 1, 2, 3, 4].flatMap((turn) => ['GET /whole ', `POST /parts number ${turn}`]));
  expect(loaded.maxMs).toBeGreaterThanOrEqual(loaded.p50Ms);
});

it('takes the next step each time where they alternate, whichever client it is', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url);
    response.end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const steps = ['/a', '/b', '/c'].map((path) => ({ path }));
  const loaded = await run({ url, steps, alternate: true, headers: {}, clients: 1, seconds: 30, turns: 6 });
  server.close();
  expect([loaded.turns, seen.slice(0, 6)]).toEqual([6, ['/a', '/b', '/c', '/a', '/b', '/c']]);
});

it('a server that hangs up is an error, not a result', async () => {
  const server = createServer((request) => request.socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const load = { steps: [{ path: '/' }], headers: {}, clients: 2, seconds: 30 };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(run({ ...load, url })).rejects.toThrow(/closed a connection|ECONNRESET/);
  server.close();
});
