// The keeper of a cluster's processes, with small programs in their place.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forkKeeper } from './keeper-client.ts';
import { makeRun } from './run-folder.ts';

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('ends all processes though the holder of a node is stopped', async () => {
  const folder = await makeRun();
  await mkdir(join(folder, 'logs'), { recursive: true });
  const keeper = await forkKeeper(folder, () => undefined);
  const holder = await keeper.start({
    name: 'node',
    command: 'bash',
    args: ['-c', 'sleep 1000 & wait'],
    holdsNamespace: true,
  });
  const server = await keeper.start({ name: 'server', command: 'sleep', args: ['1000'] });
  process.kill(holder.pid, 'SIGSTOP');
  await keeper.end(false);
  expect([isThere(holder.pid), isThere(server.pid)]).toEqual([false, false]);
});
