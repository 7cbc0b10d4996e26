import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SERVICES } from '../../kube/api-resources.ts';
import { makeKubeClient } from '../../kube/http-client.ts';
import { leaderOnly } from './leader-only.ts';

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
  const client = leaderOnly(real, leading.signal, () => !leading.signal.aborted);
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

it('an apply that waits for a connection is not sent when the lease is over by the clock, though no timer has said so', async () => {
  const waiting: ServerResponse[] = [];
  const server = createServer((_, response) => void waiting.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const access = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: () => Promise.resolve({ headers: {}, tls: {} }),
    refresh: () => undefined,
  };
  const real = makeKubeClient({ access, userAgent: 'test', maxConnections: 1 });
  let holds = true;
  const client = leaderOnly(real, new AbortController().signal, () => holds);
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop', namespace: 'team' } };
  const first = client.apply(SERVICES, service, { fieldManager: 'test' });
  const second = client.apply(SERVICES, service, { fieldManager: 'test' }).catch((error: unknown) => error);
  while (waiting.length === 0) await sleep(5);
  // Frozen here, for longer than the lease.
  holds = false;
  waiting[0]?.end(JSON.stringify(service));
  await first;
  expect(await second).toMatchObject({ name: 'Unavailable', message: expect.stringContaining('before it was sent') });
  expect(waiting).toHaveLength(1);
  await expect(client.apply(SERVICES, service, { fieldManager: 'test' })).rejects.toThrow('no longer leads');
  // The connection is as good as before for what is wanted.
  const read = real.get(SERVICES, { namespace: 'team', name: 'shop' });
  while (waiting.length === 1) await sleep(5);
  waiting[1]?.end(JSON.stringify(service));
  await expect(read).resolves.toMatchObject({ metadata: { name: 'shop' } });
  await real.close();
  server.close();
});
