// The few files that the image runs: what they leave in node_modules is found, and what they contain works without its folder.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** Nobody listens there: the processes start all the same, and wait. */
const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'a', user: { token: 'none' } }],
  contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  'current-context': 'a',
});

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-bundle-'));
  await run('npm', ['run', '--silent', 'bundle:main', '--', '--dir', join(folder, 'dist')], { cwd: root });
  await run('npm', ['run', '--silent', 'bundle:page', '--', join(folder, 'dist/page')], { cwd: root });
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'kubeconfig'), KUBECONFIG);
  await writeFile(join(folder, 'settings.yaml'), 'http: {insecure: true}\n');
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the bundle', () => {
  it('plans without what the other commands load', async () => {
    const { stdout } = await run(process.execPath, [join(folder, 'dist/main.js'), 'plan', '--help']);
    expect(stdout).toContain('Usage: davit plan');
  });

  it('serves the HTTP API, the page and the assets of both pages, with the access of a kubeconfig', async () => {
    const { child, url } = await startApi();
    try {
      for (const [path, type] of [
        ['/openapi.json', 'application/json'],
        ['/docs', 'text/html'],
        ['/assets/docs.js', 'text/javascript'],
        ['/', 'text/html'],
        ['/assets/page.js', 'text/javascript'],
        ['/assets/page.css', 'text/css'],
      ]) {
        // oxlint-disable-next-line no-await-in-loop -- a few requests
        const answer = await fetch(url + path, { headers: { accept: `${type}, */*` } });
        expect([path, answer.status]).toEqual([path, 200]);
        expect(answer.headers.get('content-type')).toContain(type);
      }
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('starts the controller, whose metrics are served', async () => {
    const { child, line } = await start('controller', '"msg":"Started"');
    try {
      const answer = await fetch(`http://127.0.0.1:${(JSON.parse(line) as { health: number }).health}/metrics`);
      expect(await answer.text()).toContain('davit_leader');
    } finally {
      child.kill('SIGKILL');
    }
  });
});

async function startApi(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const { child, line } = await start('api', '"msg":"Serving the HTTP API"');
  return { child, url: (JSON.parse(line) as { url: string }).url };
}

/** Until it logs a line that contains `sign`. Throws what it has said if it ends before. */
async function start(command: string, sign: string): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const child = spawn(process.execPath, [join(folder, 'dist/main.js'), command], {
    env: {
      PATH: process.env['PATH'],
      DAVIT_KUBECONFIG: join(folder, 'kubeconfig'),
      DAVIT_SETTINGS: join(folder, 'settings.yaml'),
      DAVIT_HTTP_PORT: '0',
      DAVIT_HEALTH_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (data: Buffer) => said.push(data.toString()));
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    if (line.includes(sign)) return { child, line };
  }
  if (child.exitCode === null) await once(child, 'close');
  throw new Error(`davit ${command} ended with ${child.exitCode}: ${said.join('\n')}`);
}
