import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { followFile } from './follow-file.ts';

let directory = '';
let file = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'davit-follow-'));
  file = join(directory, 'log');
});
afterEach(() => rmSync(directory, { recursive: true }));

it('tells whole lines, from where it was told, in whatever pieces they come', async () => {
  writeFileSync(file, 'before\n');
  const lines: string[] = [];
  const following = followFile(file, 7, (line) => lines.push(line));
  const words = Buffer.from('häuser\nzwei\n');
  appendFileSync(file, words.subarray(0, 2));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(lines).toEqual([]);
  appendFileSync(file, words.subarray(2));
  await vi.waitFor(() => expect(lines).toEqual(['häuser', 'zwei']), 60_000);
  appendFileSync(file, 'last\nhalf');
  following.end();
  following.end();
  expect(lines).toEqual(['häuser', 'zwei', 'last']);
});

it('may be ended by what it tells', async () => {
  writeFileSync(file, 'one\ntwo\n');
  const lines: string[] = [];
  const following = followFile(file, 0, (line) => {
    lines.push(line);
    following.end();
  });
  await vi.waitFor(() => expect(lines).toContain('two'), 60_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(lines).toEqual(['one', 'two']);
});
