import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { supervise, untilItAnswers } from './platform.ts';
import { eventually } from './running-davit.ts';

it('keeps what a process wrote before its exit and starts none after its stop', async () => {
  const log = join(await mkdtemp(join(tmpdir(), 'davit-supervise-')), 'log');
  const script =
    "require('node:child_process').spawn('sh', ['-c', 'sleep 0.3; echo late'], { stdio: 'inherit' }); setTimeout(() => { require('node:fs').writeSync(1, 'ends\\n'); process.exit(); }, 50)";
  const supervised = supervise({ args: ['-e', script], env: {}, log, onLine: () => ({}) });
  // Its next start is due in 0.2 s.
  await eventually(async () => expect(await readFile(log, 'utf8')).toContain('ends'), 10_000, 5);
  await sleep(50);
  await supervised.stop();
  await eventually(async () => expect(await readFile(log, 'utf8')).toBe('ends\nlate\n'));
  await sleep(400);
  expect(supervised.starts()).toBe(1);
});

it('waits for an API that serves before its caches are filled', async () => {
  const statuses = [503, 503, 200];
  const server = createServer((_request, response) => response.writeHead(statuses.shift() ?? 500).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await untilItAnswers((server.address() as AddressInfo).port);
  server.close();
  expect(statuses).toEqual([]);
});
