// Compares a restored backup with its manifest. It is verified only if it has everything that the database had.

import { join } from 'node:path';
import { jsonOf } from '../../lib/json-value.ts';
import { rfc3339 } from '../../schema/conditions.ts';
import type { VerificationReport } from '../../schema/database.ts';
import { ArchiveManifest } from './archive.ts';
import { contentsOf, missingContents, rowsOf, toldDifferences } from './contents.ts';
import { Unusable } from './fetch.ts';
import { fileText } from './send.ts';

/** `folder`: with `manifest`, and `contents` of the restored database. Throws Unusable if they differ. */
export async function compareBackup(folder: string, now: Date): Promise<VerificationReport> {
  const manifest = ArchiveManifest.safeParse(jsonOf(await fileText(join(folder, 'manifest')))).data;
  const restored = contentsOf((await fileText(join(folder, 'contents'))) ?? '');
  if (manifest === undefined || restored === undefined) throw new Error('The restore has not said what it restored.');
  const { name, takenAt, contents, contentsProblem } = manifest;
  const report = { name, takenAt, comparedAt: rfc3339(now), tables: restored.tables.length, rows: rowsOf(restored) };
  if (contents === undefined) return { ...report, uncompared: whyUncounted(name, contentsProblem) };
  const all = missingContents(contents, restored);
  if (all.length > 0)
    throw new Unusable(`Backup ${name} was restored, and differs from its database: ${toldDifferences(all)}.`);
  return report;
}

function whyUncounted(name: string, problem: string | undefined): string {
  const why = problem === undefined ? 'verification was off when it was made' : `they could not be made: ${problem}`;
  return `Backup ${name} has no counts in its manifest: ${why}`;
}
