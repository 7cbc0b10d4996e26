// What the text of the repository must not contain: references to files that do not exist, and expressions that
// CONTRIBUTING.md ("Prose") replaces.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

const texts = execFileSync('git', ['ls-files', '-z', '--', 'src', 'test', 'charts', 'docs', '*.md'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 << 20,
})
  .split('\0')
  .filter((path) => /\.(ts|mjs|md|tpl|yaml|txt)$/.test(path) && existsSync(join(root, path)))
  .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n') }));

function found(pattern: RegExp, isExempt: (path: string) => boolean = () => false): string[] {
  return texts
    .filter(({ path }) => !isExempt(path))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim().slice(0, 120)}`] : [])),
    );
}

describe('files that the text names', () => {
  /** Sample workspaces, which name files of their own. */
  const SAMPLES = ['test/suites/plan/corpus.ts'];

  it('exist, if they are Markdown', () => {
    const ours = texts.filter(({ path }) => !SAMPLES.includes(path));
    const missing = ours.flatMap(({ path, lines }) =>
      lines.flatMap((line, i) =>
        [...line.matchAll(/(?<![\w:/.-])(?:[\w.-]+\/)*[\w-]+\.md\b/g)]
          .map(([name]) => name)
          .filter(
            (name) => ![root, join(root, 'docs'), join(root, dirname(path))].some((at) => existsSync(join(at, name))),
          )
          .map((name) => `${path}:${i + 1} names ${name}`),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('exist, if they are decision records', () => {
    const numbers = execFileSync('git', ['ls-files', 'docs/adr'], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .flatMap((path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] ?? [])
      .map(Number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, i) => i + 1));
    const missing = texts.flatMap(({ path, lines }) =>
      lines.flatMap((line, i) =>
        [...line.matchAll(/\bADR (\d+)/g)]
          .filter(([, number]) => !numbers.includes(Number(number)))
          .map(([name]) => `${path}:${i + 1} names ${name}`),
      ),
    );
    expect(missing).toEqual([]);
  });
});

// Spelt in parts, or this file would be the first finding.
it.each([
  { expression: 'ane' + 'w', instead: 'again, re- (recreated, regenerated, reopened), new' },
  { expression: 'by itsel' + 'f', instead: 'automatically, on its own' },
  { expression: 'by themselve' + 's', instead: 'automatically, on their own' },
])('no text says "$expression": write $instead', ({ expression }) => {
  expect(found(new RegExp(`\\b${expression}\\b`, 'i'))).toEqual([]);
});
