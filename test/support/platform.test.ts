import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { supervise } from './platform.ts';

it('keeps what a process wrote before its exit and starts none after its stop', async () => {
  const log = join(await mkdtemp(join(tmpdir(), 'davit-supervise-')), 'log');
  const script =
    "require('node:child_process').spawn('sh', ['-c', 'sleep 0.3; echo late'], { stdio: 'inherit' }); setTimeout(() => process.exit(), 50)";
  const supervised = supervise({ args: ['-e', script], env: {}, log, onLine: () => ({}) });
  // The process has ended, and its next start is due in 0.2 s.
  await sleep(200);
  await supervised.stop();
  await sleep(400);
  expect(await readFile(log, 'utf8')).toBe('late\n');
  expect(supervised.starts()).toBe(1);
});
