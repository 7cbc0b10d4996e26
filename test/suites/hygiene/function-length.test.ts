// A function has at most 80 lines (oxlint's max-lines-per-function). The files that are excluded have longer ones from earlier.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

interface Override {
  readonly excludeFiles?: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

it('few files are excluded from the limit of a function, and each of them exists', () => {
  const { overrides } = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as { overrides: Override[] };
  const limits = overrides.filter(({ rules }) => 'max-lines-per-function' in rules);
  expect(limits.map(({ rules }) => rules['max-lines-per-function'])).toEqual([['error', 80]]);
  const excluded = limits.flatMap(({ excludeFiles = [] }) => excludeFiles).filter((file) => !file.includes('*'));
  // Lower it when a file is taken off the list; never raise it.
  expect(excluded.length).toBeLessThanOrEqual(10);
  expect(excluded.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
