// What is in the image, and what is not.

import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureDavitImage } from '../../../image/davit-image.ts';
import { say, whyNoPods } from './installed.ts';

const run = promisify(execFile);
// It is built as pods are run: by root, on Linux.
const noPods = await whyNoPods();

interface Entry {
  readonly mode: string;
  readonly owner: string;
  readonly size: number;
  readonly path: string;
}

describe.skipIf(noPods !== undefined)('the image', () => {
  let archive: string;
  let entries: readonly Entry[];
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an image's configuration
  let configuration: any;

  beforeAll(async () => {
    ({ archive } = await ensureDavitImage(say));
    // oxlint-disable-next-line no-explicit-any -- as above
    const blob = async (digest: string): Promise<any> => JSON.parse(await tar('-xOf', archive, blobPath(digest)));
    const index = JSON.parse(await tar('-xOf', archive, 'index.json')) as { manifests: { digest: string }[] };
    const manifest = await blob(index.manifests[0]?.digest ?? '');
    configuration = (await blob(manifest.config.digest)).config;
    const layers = manifest.layers as { digest: string }[];
    entries = (await Promise.all(layers.map(({ digest }) => entriesOf(archive, digest)))).flat();
  });

  it('has no shell, no package manager and nothing else to run but Node', () => {
    const programs = entries.filter(({ mode, path }) => /^-..x/.test(mode) && /(^|\/)s?bin\/[^/]+$/.test(path));
    expect(programs.map(({ path }) => path)).toEqual(['nodejs/bin/node']);
    const names = new Set(['sh', 'bash', 'dash', 'ash', 'busybox', 'apt-get', 'dpkg', 'apk', 'npm', 'npx', 'corepack']);
    expect(entries.map(({ path }) => path).filter((path) => names.has(path.split('/').at(-1) ?? ''))).toEqual([]);
  });

  it('runs as nobody, and leaves him nothing to write', () => {
    expect(configuration).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/nodejs/bin/node', '--max-semi-space-size=8', 'dist/main.js'],
      WorkingDir: '/davit',
    });
    expect([...new Set(entries.map(({ owner }) => owner))]).toEqual(['0/0']);
    const writable = entries.filter(({ mode }) => !mode.startsWith('l') && mode[8] === 'w').map(({ path }) => path);
    expect(writable.filter((path) => !/^(var\/)?tmp\/$/.test(path))).toEqual([]);
    expect(entries.filter(({ mode }) => /[sS]/.test(mode)).map(({ path }) => path)).toEqual([]);
  });

  it('holds the bundle, its bill and the licences, and no package', async () => {
    const paths = entries.map(({ path }) => path).filter((path) => /^davit\/.*[^/]$/.test(path));
    const others = paths.filter((path) => !/^davit\/dist\/(?:page\/)?[\w-]+\.(?:js|css|svg)$/.test(path));
    expect(others.toSorted()).toEqual([
      'davit/LICENSE',
      'davit/THIRD-PARTY-NOTICES',
      'davit/package.json',
      'davit/sbom.cdx.json',
    ]);
    expect(paths).toContain('davit/dist/main.js');
    expect(paths.filter((path) => path.startsWith('davit/dist/page/')).length).toBeGreaterThan(4);
  });

  it('is of a reasonable size', async () => {
    const unpacked = entries.reduce((sum, { size }) => sum + size, 0) / 1e6;
    const packed = (await stat(archive)).size / 1e6;
    const node = (entries.find(({ path }) => path === 'nodejs/bin/node')?.size ?? 0) / 1e6;
    const rounded = [packed, unpacked, node].map(Math.round);
    say(`The image is ${rounded[0]} MB packed, ${rounded[1]} MB unpacked, ${rounded[2]} MB of it Node`);
    const own = entries.filter(({ path }) => path.startsWith('davit/')).reduce((sum, { size }) => sum + size, 0) / 1e6;
    say(`${own.toFixed(1)} MB of it are Davit and the packages that it contains`);
    expect(packed).toBeLessThan(80);
    expect(own).toBeLessThan(8);
  });
});

async function tar(...args: readonly string[]): Promise<string> {
  return (await run('tar', args, { maxBuffer: 256 << 20 })).stdout;
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/** `-rw-r--r-- 0/0 1234 2024-01-01 00:00 davit/package.json`, one a line. */
async function entriesOf(archive: string, digest: string): Promise<Entry[]> {
  const script = 'set -o pipefail; tar -xOf "$1" "$2" | tar -tvz --numeric-owner';
  const { stdout } = await run('bash', ['-c', script, 'list', archive, blobPath(digest)], { maxBuffer: 256 << 20 });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [mode = '', owner = '', size = '', , , ...rest] = line.split(/\s+/);
      return { mode, owner, size: Number(size), path: rest.join(' ').split(' -> ')[0]?.replace(/^\.\//, '') ?? '' };
    });
}
