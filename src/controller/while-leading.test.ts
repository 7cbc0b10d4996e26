import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { makeKubeClient } from '../kube/http-client.ts';
import { SERVICES } from '../kube/resources.ts';
import { whileLeading } from './while-leading.ts';

it('an apply that waits to be tried again is not sent after the lead is lost', async () => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(429, { 'retry-after': '1' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const access = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: () => Promise.resolve({ headers: {}, tls: {} }),
    refresh: () => undefined,
  };
  const real = makeKubeClient({ access, userAgent: 'test' });
  const leading = new AbortController();
  const client = whileLeading(real, leading.signal);
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop', namespace: 'team' } };
  const outcome = client.apply(SERVICES, service, { fieldManager: 'test' }).then(
    () => 'applied',
    () => 'given up',
  );
  while (asked === 0) await sleep(5);
  leading.abort();
  expect(await outcome).toBe('given up');
  await sleep(1500);
  expect(asked).toBe(1);
  await expect(client.apply(SERVICES, service, { fieldManager: 'test' })).rejects.toThrow('no longer leads');
  await real.close();
  server.close();
});
