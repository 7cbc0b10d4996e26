// One line of a davit.yaml, which whoever can push to a repository writes, takes little time.

import { expect, it } from 'vitest';
import { readText } from './deployment-file-text.ts';

it.each<[string, string, string]>([
  ['a directive', '%', 'x\n---\nname: shop'],
  ['a tag', 'name: !', '! shop'],
  ['the head of a text', 'name: |', 'x'],
  ['what stands after a list', 'name: ]', 'x'],
])('%s of 60,000 dots', (_name, start, end) => {
  const begin = process.cpuUsage();
  const read = readText(`${start}${'.'.repeat(60_000)}${end}`, 'davit.yaml');
  expect('errors' in read && read.errors[0]).toMatch(/^davit\.yaml:1:/);
  expect(process.cpuUsage(begin).user / 1000).toBeLessThan(500);
});
