// What the forms for a new deployment and for a new version ask the HTTP API for.

import type { AppliedFile, ApplyFile } from '../deploy/http/file-payloads.ts';
import type { Api } from './api.ts';

export type Ask = Pick<Api, 'ask' | 'upload'>;

/** Creates a deployment, or changes the one of this name if it may be there. The answer has no values of secrets. */
export function apply({ ask }: Ask, body: ApplyFile, mayBeThere: boolean): Promise<AppliedFile> {
  const headers: Readonly<Record<string, string>> = mayBeThere ? {} : { 'if-none-match': '*' };
  return ask('POST', 'v2/deployments/file?secrets=names', body, headers);
}

interface UploadUrl {
  readonly upload_url: string;
  readonly object_path: string;
  readonly upload_headers: Readonly<Record<string, string>>;
}

/** Uploads source code and has it deployed. Rejects with the API's words. */
export async function deployArchive(
  api: Ask,
  id: string,
  archive: Blob,
  body: ApplyFile,
  onSent: (bytes: number) => void,
): Promise<void> {
  const wanted = { supports_upload_headers: true };
  const target = await api.ask<UploadUrl>('POST', `v2/deployments/${id}/upload-url`, wanted);
  await api.upload(target.upload_url, archive, target.upload_headers, onSent);
  await apply(api, { ...body, source_tarball_path: target.object_path }, true);
}
