// The commands of docs/api.md, run as they stand there by a shell that has curl, kubectl and nothing of ours.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Attached, attach } from '../attached.ts';

const davit: Attached = attach(inject('davit'));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-documents-'));
  await symlink(davit.kubectlPath, join(folder, 'kubectl'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The shell commands of a document's section, in their order. */
async function commandsOf(file: string, heading: string): Promise<string[]> {
  const text = await readFile(join(import.meta.dirname, '../..', file), 'utf8');
  const section = text.slice(text.indexOf(`\n${heading}\n`)).split(/\n## /)[1] ?? '';
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, commands = '']) => commands);
}

async function run(
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; out: string; err: string }> {
  const path = [folder, process.env['PATH']].join(delimiter);
  const child = spawn('bash', ['-euo', 'pipefail', '-s'], {
    env: { ...process.env, ...env, KUBECONFIG: davit.kubeconfig, PATH: path },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 150_000,
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.end(script);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}

it.skipIf(davit.node !== 'real')('a new user gets from nothing to a deployment, and back', async () => {
  const blocks = await commandsOf('docs/api.md', '## From nothing to a deployment, and back');
  expect(blocks.length).toBeGreaterThan(8);
  // What each block printed, apart from the others.
  const script = blocks.map((commands, n) => `printf '\\n== %s\\n' ${n}\n${commands}`).join('\n');
  const { code, out, err } = await run(script, { API: davit.apiUrl, IMAGE: davit.images.sample });
  expect(code, `${err}\n${out}`).toBe(0);
  const printed = out.split(/\n== \d+\n/);
  const list = printed.find((text) => text.startsWith('{"resources":[{'));
  expect(list).toMatch(/"name":"shop".*"value":""/);
  expect(list).not.toContain('correct horse');
  expect(out).toContain('"status":"DEPLOYED"');
  expect(out).toMatch(/\{"logs":\[\{"id":/);
});
