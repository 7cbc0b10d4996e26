// What is in the builder's image, held against the table of docs/build-platform.md. It needs no cluster.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureBuilderImage } from '../../cluster/images/builder.ts';

const documented = readFileSync(join(import.meta.dirname, '../../../docs/build-platform.md'), 'utf8');

interface File {
  readonly mode: string;
  readonly owner: string;
  readonly hasCapability: boolean;
}

let folder: string;
let user: string;
/** By absolute path, as the last layer that has it. */
const files = new Map<string, File>();

beforeAll(async () => {
  const { archive, digest } = await ensureBuilderImage((line) => void process.stderr.write(`  ${line}\n`));
  folder = mkdtempSync(join(tmpdir(), 'davit-builder-'));
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  const blob = (of: string): string => join(folder, 'blobs', of.replace(':', '/'));
  const json = (of: string): unknown => JSON.parse(readFileSync(blob(of), 'utf8'));
  const manifest = json(digest) as { config: { digest: string }; layers: { digest: string; size: number }[] };
  ({
    config: { User: user },
  } = json(manifest.config.digest) as { config: { User: string } });
  for (const layer of manifest.layers) readLayer(blob(layer.digest));
  const megabytes = manifest.layers.reduce((sum, { size }) => sum + size, 0) / 1e6;
  process.stderr.write(`  builder image: ${files.size} files, ${megabytes.toFixed(0)} MB packed\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function readLayer(archive: string): void {
  const args = ['--xattrs', '--xattrs-include=*', '--numeric-owner', '-tvvzf', archive];
  let path = '';
  for (const line of execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 1e9 }).split('\n')) {
    const [, mode = '', owner = '', name = ''] = /^(\S{10})\S* +(\S+) +\S+ +\S+ \S+ (.*?)(?: -> .*)?$/.exec(line) ?? [];
    if (mode !== '') {
      path = `/${name.replace(/\/$/, '')}`;
      files.set(path, { mode, owner, hasCapability: false });
    } else if (line.includes('security.capability')) {
      const file = files.get(path);
      if (file) files.set(path, { ...file, hasCapability: true });
    }
  }
}

const those = (is: (file: File, path: string) => boolean): string[] =>
  [...files].flatMap(([path, file]) => (is(file, path) ? [path] : [])).toSorted();
const list = (paths: readonly string[]): string => paths.map((path) => `\`${path}\``).join(', ') || 'none';

it.each<[string, () => string]>([
  ['user', () => `\`${user}\``],
  ['files with setuid or setgid', () => list(those(({ mode }) => /^-(..s|.....s)/i.test(mode)))],
  ['files with capabilities', () => list(those(({ hasCapability }) => hasCapability))],
  [
    'programs of BuildKit',
    () => list(those(({ mode }, path) => mode.startsWith('-') && path.startsWith('/usr/local/bin/'))),
  ],
  [
    'what its user or everybody may write',
    () => list(those(({ mode, owner }) => !mode.startsWith('l') && (owner === '1000/1000' || mode[8] === 'w'))),
  ],
])('docs/build-platform.md tells its %s', (fact, value) => {
  expect(documented).toContain(`| ${fact} | ${value()} |`);
});
