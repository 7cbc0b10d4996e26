// First step of `npm run demo`, `npm test` and the like, from a clean clone: plain JavaScript without dependencies
// that any Node from 20 on can run. Installs the packages when they aren't there, or are older than the lockfile,
// bundles the page, then hands over to the pinned Node 24 among them.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NEEDED_MAJOR = 24;

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** npm keeps what it has installed, once it has finished, in a lockfile of its own: it must hold ours, version by version. */
function installed() {
  try {
    const read = (...path) => JSON.parse(readFileSync(join(root, ...path), 'utf8')).packages;
    const there = read('node_modules', '.package-lock.json');
    // What is optional may be left out on this platform.
    return Object.entries(read('package-lock.json')).every(([path, { version, optional }]) => path === '' || optional || there[path]?.version === version);
  } catch {
    return false;
  }
}

function install() {
  process.stderr.write('Installing packages (npm ci), about a minute the first time ...\n');
  // On Windows npm is a script; everywhere else this is npm itself.
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], shell: process.platform === 'win32' });
  if (done.error) fail(`npm could not be started: ${done.error.message}. It comes with Node.js.`);
  if (done.status !== 0) fail('npm ci failed; its words are above. Check the network and try again.');
}

function pinnedNode() {
  const pinned = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(pinned) && statSync(pinned).isFile()) return pinned;
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) return process.execPath;
  return fail(`Davit needs Node ${NEEDED_MAJOR}. For ${process.platform} ${process.arch} no package brings it: install it from your platform's packages or nodejs.org, then run this again.`);
}

/** `davit api` serves the page at `/` from dist, also where it is started from source. */
function bundlePage() {
  const done = spawnSync(pinnedNode(), [join(root, 'src/tools/page.ts')], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0) fail('The page could not be bundled; the words are above.');
}

if (!installed()) install();
bundlePage();
const [script, ...args] = process.argv.slice(2);
// Without a script that is all that was asked for.
if (script === undefined) process.exit(0);
const path = `${join(root, 'node_modules', '.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH ?? ''}`;
const child = spawn(pinnedNode(), [join(root, script), ...args], { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: path } });
// Ctrl-C reaches the child by the terminal; what is sent to this process alone is passed on. This one stays until the
// child has cleaned up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// npm passes a signal on to a shell at most; if that dies without a word, this process must not stay behind alone.
const parent = process.ppid;
if (process.env.npm_lifecycle_event) {
  setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 500).unref();
}
child.on('error', (error) => fail(`Node could not be started: ${error.message}`));
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
