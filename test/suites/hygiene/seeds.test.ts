// The seeded bugs of the fault harness and the explorer replace exact text of the source: whoever edits such a line learns of it here.

import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXPLORER_SEEDS } from '../../harness/explore/seeds.ts';
import { SEEDS } from '../../harness/faults/mutants.ts';
import { VERIFICATION_SEEDS } from '../../harness/faults/verification-seeds.ts';

const root = join(import.meta.dirname, '../../..');

describe('seeded bugs', () => {
  it.each(Object.entries({ ...SEEDS, ...EXPLORER_SEEDS, ...VERIFICATION_SEEDS }))(
    '%s: what it replaces is there exactly once',
    (_name, { replacements }) => {
      for (const { file, from } of replacements) {
        const source = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'));
        expect(source.split(from).length - 1, `${file}: ${from}`).toBe(1);
      }
    },
  );
});
