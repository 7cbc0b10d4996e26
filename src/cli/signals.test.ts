// Signals end the command together with each kubectl that it has started to last.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { aRecord } from '../../test/support/cli-world.ts';

const CONDITIONS = [{ type: 'Ready', status: 'True' }];
const CONTAINERS = [{ name: 'server', image: 'app:1', state: { running: {} } }];
const POD = { metadata: { name: 'shop-1' }, status: { conditions: CONDITIONS, containerStatuses: CONTAINERS } };
const SERVICE = { spec: { ports: [{ name: 'http', port: 80 }] } };
const CONFIG = {
  'current-context': 'c',
  contexts: [{ name: 'c', context: { user: 'u' } }],
  users: [{ name: 'u', user: { token: 't' } }],
};

/** The one that lasts opens a port that leads nowhere, or never ends what it prints, and holds the pipe `alive` until it ends. */
const KUBECTL = `#!/bin/sh
cd "$(dirname "$0")"
case "$1 $2" in
  "get appdeployments"*) echo '${JSON.stringify(aRecord())}'; exit ;;
  "get pods") echo '${JSON.stringify({ items: [POD] })}'; exit ;;
  "get service") echo '${JSON.stringify(SERVICE)}'; exit ;;
  "config view") echo '${JSON.stringify(CONFIG)}'; exit ;;
esac
exec 9> alive
echo begun >&9
echo "Forwarding from 127.0.0.1:$(cat port) -> 8000"
exec sleep 1000
`;
const MOST_MS = 240_000;

// Each starts a process, which takes long on a busy machine.
it.each<[string, NodeJS.Signals, number | NodeJS.Signals]>([
  ['open shop', 'SIGTERM', 'SIGTERM'],
  ['open shop', 'SIGINT', 130],
  ['logs shop --follow', 'SIGHUP', 'SIGHUP'],
  ['logs shop --follow', 'SIGINT', 130],
  ['platform', 'SIGTERM', 'SIGTERM'],
  ['platform', 'SIGINT', 130],
])('%s leaves no kubectl behind when %s ends it', { timeout: MOST_MS }, async (words, signal, end) => {
  const folder = await mkdtemp(join(tmpdir(), 'davit-signals-'));
  // It never answers.
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  await writeFile(join(folder, 'port'), `${(server.address() as AddressInfo).port}`);
  await writeFile(join(folder, 'kubectl'), KUBECTL);
  await chmod(join(folder, 'kubectl'), 0o755);
  execFileSync('mkfifo', [join(folder, 'alive')]);
  const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...words.split(' ')], {
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, DAVIT_SERVER: '' },
    stdio: 'ignore',
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    program.once('exit', (code, by) => resolve(code ?? by));
  });
  const alive = createReadStream(join(folder, 'alive'));
  const childEnded = once(alive, 'end');
  await once(alive, 'data');
  program.kill(signal);
  expect(await ended).toBe(end);
  await childEnded;
  server.close();
  await rm(folder, { recursive: true });
});

it('ends with 130 at Ctrl-C before a question', { timeout: MOST_MS }, async () => {
  const script = `import { makeTerminal } from ${JSON.stringify(join(import.meta.dirname, 'line/prompt.ts'))};
await makeTerminal().ask('Really? ').catch((error) => process.exit(error.exitCode));`;
  const program = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  program.stderr.once('data', () => program.stdin.write('\u0003'));
  expect(await once(program, 'exit')).toEqual([130, null]);
});
