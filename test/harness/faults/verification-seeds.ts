// Seeded bugs of backups and their verifications. The cuts of test/suites/backups/cuts.ts must find each. `from` must be in the file exactly once,
// after Node has stripped the types.

import type { Replacement } from './mutants.ts';

interface VerificationSeed {
  readonly replacements: readonly Replacement[];
  /** A cut that shows it. */
  readonly cut: string;
  /** What is said then. */
  readonly violation: RegExp;
}

export const VERIFICATION_SEEDS: Readonly<Record<string, VerificationSeed>> = {
  // What the manifest says is compared with itself.
  VERIFIED_WITHOUT_A_RESTORE: {
    replacements: [
      {
        file: 'src/deploy/archive/compare.ts',
        from: "contentsOf((await fileText(join(folder, dirname(pathOf(file)), 'contents'))) ?? '')",
        to: 'contents',
      },
    ],
    cut: 'an older dump is in its place',
    violation: /what was restored is something else/,
  },
  VERIFIED_WITHOUT_COUNTS: {
    replacements: [
      {
        file: 'src/deploy/archive/compare.ts',
        from: 'isCounted ? report : { ...report, uncompared: whyUncounted(name, contentsProblem) }',
        to: 'report',
      },
    ],
    cut: 'an older dump is in its place, and the manifest has no counts',
    violation: /what was restored is something else/,
  },
  // The newest backup is gone, and the one before is verified instead.
  MISSING_BACKUP_UNNOTICED: {
    replacements: [
      {
        file: 'src/deploy/archive/fetch.ts',
        from: 'if (missing !== undefined) throw new Unusable(missing);',
        to: '',
      },
    ],
    cut: 'an object is missing',
    violation: /is verified, and .* is not there/,
  },
  RESTORED_OVER_LIVE_DATA: {
    replacements: [
      {
        file: 'src/deploy/children/database/verification.ts',
        from: 'inOwnServer(job, RESTORE_CONTAINER,',
        to: '((...of) => ({ ...inOwnServer(...of), env: of[3] }))(job, RESTORE_CONTAINER,',
      },
      {
        file: 'src/deploy/children/database/load-scripts.ts',
        from: 'pg_restore -f - --single',
        to: 'pg_restore -f - --clean --if-exists --single',
      },
      {
        file: 'src/deploy/children/database/load-scripts.ts',
        from: 'loaded ]; then\nempty\n',
        to: 'loaded ]; then\n',
      },
    ],
    cut: 'nothing',
    violation: /the live database has changed/,
  },
  // Retention takes the backups of all lives for its own.
  OLD_LIFE_OVERWRITTEN: {
    replacements: [
      {
        file: 'src/deploy/archive/retention.ts',
        from: '.filter((one) => one.owner.uid === owner.uid)',
        to: '.toSorted((a, b) => (a.owner.uid < b.owner.uid ? 1 : -1))',
      },
    ],
    cut: 'no room for the counts',
    violation: /of another life is gone/,
  },
  RETENTION_DELETES_THE_LAST_VERIFIED: {
    replacements: [{ file: 'src/deploy/archive/retention.ts', from: 'name !== verified && ', to: '' }],
    cut: 'no room for the counts',
    violation: /of the last verified backup is gone/,
  },
};
