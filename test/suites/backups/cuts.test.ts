// Backups and their verifications, cut at random, with a PostgreSQL that really runs: nothing is claimed that is not so, and no data is touched.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { VERIFICATION_SEEDS } from '../../harness/faults/verification-seeds.ts';
import { startLocalPostgres } from '../../support/local-postgres.ts';
import type { Summary } from './cuts.ts';

const run = promisify(execFile);
const CUTS = join(import.meta.dirname, 'cuts.ts');
const MUTANT = join(import.meta.dirname, '../../harness/faults/mutant.ts');
/** Hours: only a program that hangs reaches it. */
const LONG = 7_200_000;

const postgres = await startLocalPostgres();
await postgres?.stop();
const skipped = postgres ? '' : ' (skipped: PostgreSQL is not installed)';

async function cut(args: readonly string[], seededBugs = ''): Promise<Summary> {
  const { stdout } = await run(process.execPath, ['--import', MUTANT, CUTS, ...args], {
    env: { ...process.env, SEEDED_BUGS: seededBugs },
  });
  return JSON.parse(stdout) as Summary;
}

describe.skipIf(!postgres)(`cuts${skipped}`, () => {
  it(
    'of 210 backups and verifications lead to no wrong claim, and touch no data',
    async () => {
      const { cuts, violations } = await cut(['210', String(Date.now() % 1_000_000)]);
      expect(violations).toEqual([]);
      const all = Object.values(cuts);
      expect(all.reduce((sum, { made }) => sum + made, 0)).toBe(210);
      // A judge who is told of verifications alone has not seen a cut, and one who is told of none has not seen a claim.
      const unverified = all.filter(({ made, verified }) => verified < made).length;
      expect([unverified > 15, all.filter(({ verified }) => verified > 0).length > 2]).toEqual([true, true]);
      process.stderr.write(`  ${JSON.stringify(cuts)}\n`);
    },
    LONG,
  );

  it.each(Object.entries(VERIFICATION_SEEDS))(
    'find the seeded bug %s',
    async (name, { cut: shows, violation }) => {
      const { violations } = await cut(['4', '7', shows], name);
      expect(violations.join('\n')).toMatch(violation);
    },
    LONG,
  );
});
