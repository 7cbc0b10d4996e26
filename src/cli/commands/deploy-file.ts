// Sends a davit.yaml to the HTTP API, which judges and applies it, and says what is wrong as terminals and editors know it.

import { join } from 'node:path';
import type { AppliedFile } from '../../deploy/http/file-payloads.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import { fileLine } from '../../kinds/file-finding.ts';
import type { PlainVariable } from '../../kinds/plain-variables.ts';
import { FILE_NAME } from '../../kinds/source-files.ts';
import type { Source } from '../../kinds/source-rules.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { type FileText, readFileText } from '../folder/deployment-file.ts';
import type { SecretValue } from '../folder/secret-values.ts';
import type { SetByFlag } from '../folder/set-fields.ts';
import { type Flags, InvalidFile, Misuse } from '../line/command.ts';
import { findingLine, type HttpApi, Refused } from '../transport/http-api.ts';

/** The file that the flags select, by default that of the folder. Throws Misuse and InvalidFile. */
export async function selectedFile(folder: string | undefined, flags: Flags): Promise<FileText | undefined> {
  const named = flags.text('file');
  if (named !== undefined && flags.has('no-file')) throw new Misuse('Use either --file or --no-file, not both.');
  const path = named ?? (folder === undefined ? undefined : join(folder, FILE_NAME));
  const read = flags.has('no-file') || path === undefined ? undefined : await readFileText(path);
  if (read === undefined && named !== undefined) throw new Misuse(`File ${named} does not exist.`);
  return read;
}

/** What a deploy sends. */
export interface FileRequest {
  /** What it leaves out stays as the deployment has it. All others win over it. */
  readonly file?: FileText | undefined;
  /** Fields of the file. */
  readonly set: readonly SetByFlag[];
  /** By default the name in the file. */
  readonly name?: string | undefined;
  readonly default_name?: string | undefined;
  readonly source: Source;
  /** Plain variables to set; others of the deployment stay. */
  readonly env: readonly PlainVariable[];
  /** Secret variables to set; others of the deployment stay. */
  readonly secrets: readonly SecretValue[];
  /** What to do about a finding, by its place and type: `name missing`. */
  readonly hints: Readonly<Partial<Record<string, string>>>;
}

export interface Applied extends Omit<AppliedFile, 'deployment' | 'file'> {
  readonly file: { readonly workflow_config_path?: string | null };
  /** Null in a dry run where there is none. */
  readonly deployment: Deployment | null;
}

/** Throws InvalidFile for an error of the file or of the flags that set its fields. */
export async function applyFile(
  api: HttpApi,
  { file, set, hints, ...request }: FileRequest,
  { isDryRun = false, ...upload }: { readonly isDryRun?: boolean; readonly source_tarball_path?: string } = {},
): Promise<Applied> {
  const path = `/v2/deployments/file?secrets=names&dry_run=${isDryRun}`;
  const fields = set.map(({ field, value }) => ({ field, value }));
  try {
    return await api.call<Applied>('POST', path, {
      ...request,
      ...upload,
      ...(file && { file: file.text }),
      set: fields,
    });
  } catch (error) {
    if (!(error instanceof Refused) || !error.findings.some(isOfFile)) throw error;
    const lines = error.findings.map((finding) => lineOf(finding, file?.path ?? FILE_NAME, set));
    const more = error.findings.flatMap(({ loc, type }) => hints[`${loc.slice(1).join('.')} ${type}`] ?? []);
    throw new InvalidFile([...lines, ...more].join('\n'));
  }
}

const OF_FILE: readonly unknown[] = ['file', 'set', 'name', 'default_name'];

function isOfFile({ loc }: FieldError): boolean {
  return OF_FILE.includes(loc[1]);
}

function lineOf(finding: FieldError, path: string, set: readonly SetByFlag[]): string {
  const [, part, at] = finding.loc;
  if (part === 'file') return fileLine(path, { ...finding, loc: finding.loc.slice(2) });
  return part === 'set' ? `${set[Number(at)]?.flag}: ${finding.msg}` : findingLine(finding);
}
