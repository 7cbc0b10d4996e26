// A davit.yaml as its reader has it.

import type { DeploymentFile } from '../../src/deploy/http/deployment-file.ts';
import { readText } from '../../src/deploy/http/deployment-file-text.ts';
import { fileLine } from '../../src/kinds/file-finding.ts';

/** A line for each error, as of a file davit.yaml. */
export function fileErrors(text: string): string[] {
  const read = readText(text);
  return 'findings' in read ? read.findings.map((finding) => fileLine('davit.yaml', finding)) : [];
}

/** Throws its errors. */
export function fileFrom(text: string): DeploymentFile {
  const read = readText(text);
  if ('findings' in read) throw new Error(fileErrors(text).join('\n'));
  return read.file;
}
