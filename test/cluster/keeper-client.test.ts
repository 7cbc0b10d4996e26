// A process that waits for nothing but its keeper. The runner of tests waits for other things too, so the process is one of its own.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('a released keeper answers a process that waits for nothing else, and holds it no longer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'davit-keeper-'));
  mkdirSync(join(folder, 'logs'));
  const program = join(folder, 'program.ts');
  writeFileSync(
    program,
    `import { forkKeeper } from ${JSON.stringify(join(import.meta.dirname, 'keeper-client.ts'))};
const keeper = await forkKeeper(${JSON.stringify(folder)}, (message) => console.log(message));
keeper.release();
const { pid } = await keeper.start({ name: 'sleeper', command: '/bin/sleep', args: ['600'] });
console.log(pid > 0 ? 'started' : 'not started');
await keeper.stop('sleeper');
console.log('stopped');
`,
  );
  try {
    // Without its keeper the program ends too, and with it the keeper's process.
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(stdout).toBe('started\nstopped\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
