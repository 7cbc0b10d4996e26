// A machine may be busy with other work: no test that only computes ends because of that.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import config from '../../../vitest.config.ts';

const root = join(import.meta.dirname, '../../..');
/** So much more than a unit test takes that load alone does not reach it. */
const PATIENT_MS = 60_000;

const unit = (config.test?.projects ?? [])
  .map((project) => (typeof project === 'object' && 'test' in project ? project.test : undefined))
  .find((project) => project?.name === 'unit');

const files = globSync(unit?.include ?? [], { cwd: root }).filter((file) => !unit?.exclude?.includes(file));
const number = (text: string): number => Number(text.replaceAll('_', ''));

it('the limit of unit tests and their hooks is patient', () => {
  expect(unit?.testTimeout).toBeGreaterThanOrEqual(PATIENT_MS);
  expect(unit?.hookTimeout).toBeGreaterThanOrEqual(PATIENT_MS);
  expect(unit?.expect?.poll?.timeout).toBeGreaterThanOrEqual(PATIENT_MS);
});

it('no unit test has a limit or waits for a time that a busy machine takes', () => {
  const findings = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const limits = [...text.matchAll(/\n *\},(?: |\n *)(\d[\d_]{4,})(?:,\n *)?\);|timeout: (\d[\d_]{2,})/g)]
      .filter(([, after = '', named = after]) => number(named) < PATIENT_MS)
      .map(([found]) => found.trim());
    // The default is a second.
    const waits = [...text.matchAll(/vi\.wait(?:For|Until)\(.*\);$/gm)]
      .map(([found]) => found)
      .filter((found) => number(/(?:, |timeout: )(\d[\d_]+)(?:,.*\})?\);$/.exec(found)?.[1] ?? '0') < PATIENT_MS)
      .filter((found) => !/timeout: 60_000/.test(found));
    return [...limits, ...waits].map((found) => `${file}: ${found}`);
  });
  expect(findings).toEqual([]);
});

it('what a unit test measures is the time of the processor, or far from its limit', () => {
  const findings = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /(?:performance|Date)\.now\(\) - \w+\)[^;]*toBeLessThan\(([\d_]+)\)/g,
      ),
    ]
      .filter(([, ms = '']) => number(ms) < 5000)
      .map(([found]) => `${file}: ${found}`),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(findings).toEqual([]);
});
