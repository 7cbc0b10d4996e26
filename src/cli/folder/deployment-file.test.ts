// Which files are read as a davit.yaml.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readFileText } from './deployment-file.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-file-'));
  path = join(folder, 'davit.yaml');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('is read as it is', async () => {
  await writeFile(path, 'nmae: x\n');
  expect(await readFileText(path)).toEqual({ path, text: 'nmae: x\n' });
});

it('that is not there is no error', async () => {
  expect(await readFileText(path)).toBeUndefined();
});

it.each([
  [
    'too large',
    `# ${'x'.repeat(65_536)}`,
    'is larger than 64 KiB, the limit for a file that describes one deployment.',
  ],
  ['no text', Buffer.from([0x6e, 0xff, 0xfe]), 'is not text in UTF-8. Save it as UTF-8.'],
])('that is %s is refused', async (_what, content, words) => {
  await writeFile(path, content);
  await expect(readFileText(path)).rejects.toThrow(`${path} ${words}`);
});
