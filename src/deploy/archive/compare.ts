// Compares a restored backup with its manifest. It is verified only if it has everything that the database had.

import { dirname, join } from 'node:path';
import { rfc3339 } from '../../kinds/conditions.ts';
import type { VerificationReport } from '../../kinds/database.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { ArchiveManifest, DUMP, pathOf, ROLES } from './archive.ts';
import { contentsOf, missingContents, rowsOf, toldDifferences } from './contents.ts';
import { Unusable } from './fetch.ts';
import { fileText } from './send.ts';

/** `folder`: with `manifest`, and `contents` of each restored database. Throws Unusable if they differ. */
export async function compareBackup(folder: string, now: Date): Promise<VerificationReport> {
  const manifest = ArchiveManifest.safeParse(jsonOf(await fileText(join(folder, 'manifest')))).data;
  if (manifest === undefined) throw new Error('The restore did not report what it restored.');
  const { name, takenAt, contentsProblem } = manifest;
  const all: string[] = [];
  let [tables, rows, isCounted] = [0, 0, true];
  for (const { name: file, database, contents } of manifest.files) {
    if (file === ROLES) continue;
    const restored = contentsOf((await fileText(join(folder, dirname(pathOf(file)), 'contents'))) ?? '');
    if (restored === undefined) throw new Error('The restore did not report what it restored.');
    tables += restored.tables.length;
    rows += rowsOf(restored);
    if (contents === undefined) isCounted = false;
    else {
      const missing = missingContents(contents, restored);
      all.push(...(file === DUMP ? missing : missing.map((one) => `in database ${database}, ${one}`)));
    }
  }
  const report = { name, takenAt, comparedAt: rfc3339(now), tables, rows };
  if (all.length > 0)
    throw new Unusable(`Backup ${name} was restored, but differs from its database: ${toldDifferences(all)}.`);
  return isCounted ? report : { ...report, uncompared: whyUncounted(name, contentsProblem) };
}

function whyUncounted(name: string, problem: string | undefined): string {
  const why = problem === undefined ? 'verification was off when it was made' : `counting failed: ${problem}`;
  return `Backup ${name} has no counts in its manifest: ${why}`;
}
