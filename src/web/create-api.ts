// What the forms for a new deployment and for a pushed image ask the HTTP API for.

import type { AppliedFile, ApplyFile } from '../deploy/http/file-payloads.ts';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import type { Api } from './api.ts';

export type Ask = Pick<Api, 'ask' | 'upload'>;

export function platform({ ask }: Ask): Promise<Platform> {
  return ask('GET', 'v2/platform');
}

export interface Repository {
  readonly name: string;
  readonly owner: string;
  readonly url: string;
  readonly default_branch: string;
}

/** By owner and name. */
export function repositories({ ask }: Ask, integrationId: string): Promise<readonly Repository[]> {
  return ask('GET', `v1/integrations/forge/codehost/${integrationId}/repos`);
}

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

/** Uploads source code. Resolves to the path that names it. Rejects with the API's words. */
export async function uploaded(
  { ask, upload }: Ask,
  id: string,
  archive: Blob,
  onSent: (bytes: number) => void,
): Promise<string> {
  const target = await ask<UploadUrl>('POST', `v2/deployments/${id}/upload-url`, { supports_upload_headers: true });
  await upload(target.upload_url, archive, target.upload_headers, onSent);
  return target.object_path;
}

export interface PushToken {
  readonly token: string;
  readonly username: string;
  /** Without a tag. */
  readonly repository_url: string;
  readonly expires_at: string;
}

export function deployment({ ask }: Ask, id: string): Promise<Deployment> {
  return ask('GET', `v2/deployments/${id}?secrets=names`);
}

/** A password of the registry for the deployment's own repository. Rejects with the API's words. */
export function pushToken({ ask }: Ask, id: string): Promise<PushToken> {
  return ask('POST', `v2/deployments/${id}/push-token`, {});
}

/** Deploys what was pushed. `image`: with its digest. */
export function deployImage({ ask }: Ask, id: string, image: string): Promise<Deployment> {
  return ask('PATCH', `v2/deployments/${id}?secrets=names`, { source_revision_config: { image_uri: image } });
}
