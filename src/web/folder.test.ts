// What the page packs of a folder is what the plugin packs of it.

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listSource, pack } from '../cli/folder/pack.ts';
import { configFailure, folderOf, packed, selectionOf } from './folder.ts';

const MEBIBYTE = 1024 * 1024;
const NOTHING = (): void => undefined;

type Files = Readonly<Record<string, string>>;

function chosen(files: Files, name = 'agent'): File[] {
  return Object.entries(files).map(([path, text]) =>
    Object.defineProperty(new File([text], path.split('/').at(-1) ?? ''), 'webkitRelativePath', {
      value: `${name}/${path}`,
    }),
  );
}

async function taken(files: Files, config = 'langgraph.json'): Promise<string[]> {
  return selectionOf(await folderOf(chosen(files)), config).taken.map(({ path }) => path);
}

const FOLDER: Files = {
  'langgraph.json': '{}',
  'app.py': 'print()',
  'run.sh': '#!/bin/sh\n',
  'ä/ö.txt': 'umlaut',
  [`${'long/'.repeat(40)}file.py`]: 'deep',
  'dist/app.js': '',
  'data/big.bin': 'x'.repeat(3 * MEBIBYTE),
  'data/keep.bin': 'kept',
  'notes.txt': '',
  '.env': 'SECRET=1',
  '.git/config': '',
  'node_modules/x/index.js': '',
  'lib/node_modules/y.js': '',
  '.gitignore': 'dist/\n*.bin\n!keep.bin\n',
  '.dockerignore': '*.txt\n!dist/\n!ä/*\n',
};

describe('a folder', () => {
  it('is packed to the same bytes as by the plugin', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-page-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const [path, text] of Object.entries(FOLDER)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text, { mode: path === 'run.sh' ? 0o755 : 0o644 });
    }
    const source = await listSource(folder, 'langgraph.json');
    const selection = selectionOf(await folderOf(chosen(FOLDER)), 'langgraph.json');
    expect(selection.taken.map(({ path }) => path)).toEqual(source.entries.map(({ path }) => path));
    const byPlugin = await pack(source, 10 * MEBIBYTE);
    onTestFinished(byPlugin.remove);
    const byPage = join(folder, 'page.tar.gz');
    await writeFile(byPage, Buffer.from(await (await packed(selection, 10 * MEBIBYTE, NOTHING)).arrayBuffer()));
    const unzipped = (path: string): Buffer => execFileSync('gzip', ['-dc', path], { maxBuffer: 100 * MEBIBYTE });
    expect(unzipped(byPage).equals(unzipped(byPlugin.path))).toBe(true);
    expect((await readFile(byPage)).length).toBeGreaterThan(0);
  });

  it('says what is left out, a folder once', async () => {
    const { left } = selectionOf(await folderOf(chosen({ ...FOLDER, '.git/HEAD': '' })), 'langgraph.json');
    expect(Object.fromEntries(left)).toEqual({
      '.env': 1,
      '.git/': 2,
      'data/big.bin': 1,
      'lib/node_modules/': 1,
      'node_modules/': 1,
      'notes.txt': 1,
    });
  });

  it('has its configuration file in any case, and says what is built', async () => {
    const files = { 'deploy/app.json': '{}', Dockerfile: '', '.dockerignore': 'deploy\n' };
    expect(await taken(files, 'deploy/app.json')).toEqual(['.dockerignore', 'Dockerfile', 'deploy/app.json']);
    expect(await folderOf(chosen({ ...files, 'davit.yaml': 'name: a\n' }))).toMatchObject({
      name: 'agent',
      builtFrom: 'Dockerfile',
      davitFile: 'name: a\n',
    });
  });

  it('of 5,000 files is read at once', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`src/${at % 50}/f${at}.py`, `${at}`]));
    const selection = selectionOf(await folderOf(chosen({ ...many, 'langgraph.json': '{}' })), 'langgraph.json');
    expect(selection.taken).toHaveLength(5001);
    let bytes = 0;
    await packed(selection, 10 * MEBIBYTE, (done) => {
      bytes = done;
    });
    expect(bytes).toBe(selection.size);
  });
});

describe('what is refused', () => {
  it.each(['../outside', 'a/../../b', '/etc/passwd', 'a//b', './a', 'a\nb', 'a\u0007', 'a/..', '..'])(
    'a file called %j',
    async (path) => {
      const { failure } = selectionOf(await folderOf(chosen({ 'langgraph.json': '', [path]: '' })), 'langgraph.json');
      expect(failure).toMatch(/ cannot be packed: rename it, or name it in \.dockerignore\.$/);
      expect(failure).not.toMatch(/[\n\u0007]/);
    },
  );

  it('no file, and no configuration file', async () => {
    const failureOf = async (files: Files): Promise<string | undefined> => {
      const selection = selectionOf(await folderOf(chosen(files)), 'langgraph.json');
      return selection.failure ?? configFailure(selection, 'langgraph.json');
    };
    expect(await failureOf({ '.env': '' })).toBe(
      'agent has no file to deploy, or its ignore files exclude all of them.',
    );
    expect(await failureOf({ 'app.py': '' })).toMatch(/^agent has no file langgraph\.json\. Name the /);
    expect(await failureOf({ 'langgraph.json': '' })).toBeUndefined();
  });

  it('more than the platform takes', async () => {
    const noise = Array.from({ length: 20_000 }, (_, at) => Math.sin(at)).join('');
    const selection = selectionOf(
      await folderOf(chosen({ 'langgraph.json': '', 'model.bin': noise })),
      'langgraph.json',
    );
    await expect(packed(selection, 10_000, NOTHING)).rejects.toThrow(
      /^agent has more than 9\.8 KiB when it is packed, .* Largest: model\.bin \(\d+\.\d KiB\), langgraph\.json \(0 B\)\.$/,
    );
  });

  it.each([
    ['is shorter', (file: File) => ({ size: 3, slice: () => file })],
    [
      'cannot be read',
      () => ({ size: 3, slice: () => ({ arrayBuffer: () => Promise.reject(new Error('NotReadable')) }) }),
    ],
  ])('a file that %s by now', async (_name, made) => {
    const { name, left, size } = selectionOf(await folderOf([]), 'a');
    const file = made(new File(['a'], 'a')) as unknown as File;
    const selection = { name, left, size, taken: [{ path: 'a', file }] };
    await expect(packed(selection, MEBIBYTE, NOTHING)).rejects.toThrow(
      'a changed while it was packed, or cannot be read. Choose the folder again.',
    );
  });
});
