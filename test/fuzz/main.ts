// `npm run fuzz`: schemathesis makes requests from the OpenAPI document, valid and not, against the facade on a real API
// server, and holds every answer against the document.
//
//   npm run fuzz -- --examples 200 --seed 7     more of them, and the same ones again

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from '../cluster/cluster.ts';
import { cacheRoot, withLock } from '../cluster/images/cache.ts';
import { startPlatform } from '../platform.ts';

/** What every answer is held against. Left out: `positive_data_acceptance` (a JSON Schema can't say which source goes with which field). */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'use_after_free',
  'ignored_auth',
];

const { values } = parseArgs({
  options: {
    examples: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

function say(line: string): void {
  process.stderr.write(`  ${line}\n`);
}

/** Path of the schemathesis program, installed once into the cache, by the hashes of requirements.txt. */
async function schemathesis(): Promise<string> {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const python = pythonVersion();
  const key = createHash('sha256')
    .update(await readFile(requirements))
    .update(python)
    .digest('hex')
    .slice(0, 16);
  const folder = join(cacheRoot(), 'tools', `schemathesis-${key}`);
  const program = join(folder, 'bin', 'schemathesis');
  await mkdir(join(cacheRoot(), 'tools'), { recursive: true });
  const wait = (): void => say('schemathesis: another process is installing it, waiting');
  await withLock(folder, wait, async () => {
    if (existsSync(program)) return;
    say('schemathesis: installing (once per machine and version)');
    // Programs in a virtual environment know its path: it is made where it stays, and whole once it has this name's mark.
    await rm(folder, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
    const install = ['-m', 'pip', 'install', '--quiet', '--require-hashes', '--requirement', requirements];
    execFileSync(join(folder, 'bin', 'python'), install, { stdio: 'inherit' });
  });
  return program;
}

function pythonVersion(): string {
  try {
    return execFileSync('python3', ['-c', 'import sys, venv, ensurepip; print(sys.version)'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString();
  } catch (cause) {
    throw new Error(
      'Python 3.10 or newer with venv is missing. On Debian and Ubuntu: apt-get install python3-venv; elsewhere get it from your distribution.',
      { cause },
    );
  }
}

const program = await schemathesis();
const cluster = await startCluster({ pods: 'off', progress: say });
let code = 1;
try {
  const platform = await startPlatform(cluster, {
    progress: say,
    values: { 'settings.http.requestsPerMinute': 0 },
  });
  const tenant = await platform.makeTenant('fuzz');
  say(`seed ${values.seed}`);
  const child = spawn(
    program,
    [
      'run',
      `${platform.apiUrl}/openapi.json`,
      `--url=${platform.apiUrl}`,
      `--header=Authorization: Bearer ${tenant.token}`,
      `--header=X-Tenant-Id: ${tenant.id}`,
      `--checks=${CHECKS.join(',')}`,
      `--max-examples=${values.examples}`,
      `--seed=${values.seed}`,
      // More would be faster, and trip over a fault of Python 3.11 when it compiles in threads.
      '--workers=1',
      '--continue-on-failure',
      '--output-sanitize=true',
      '--no-color',
    ],
    { stdio: 'inherit', cwd: cluster.runDir },
  );
  code = await new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
  await platform.stop();
} finally {
  await cluster.stop();
}
process.exit(code);
