// Which image a deployment may run whose images are pushed: one of its own repository in the platform's registry, by digest. The
// HTTP API, the controller and the chart's policy davit-images have this rule.

import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { uses } from '../../kinds/source-rules.ts';
import { imageRepository, type RegistrySettings, type TenantIdentity } from './registry-names.ts';

/** The digest of the image in the deployment's own repository; undefined for any other image. */
export function ownImageDigest(imageUri: string, repository: string): string | undefined {
  const digest = imageUri.startsWith(`${repository}@`) ? imageUri.slice(repository.length + 1) : '';
  return /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}

/** What is wrong with the image that the spec names; undefined if nothing is, or if there is no registry. */
export function ownImageProblem(
  { source, sourceRevisionConfig: { imageUri } }: Pick<AppDeploymentSpec, 'source' | 'sourceRevisionConfig'>,
  name: string,
  tenant: TenantIdentity,
  registry: RegistrySettings | undefined,
): string | undefined {
  if (!uses(source, 'push') || imageUri === undefined || registry === undefined) return undefined;
  const repository = imageRepository(registry, tenant, name);
  if (ownImageDigest(imageUri, repository) !== undefined) return undefined;
  return `${NOT_OWN_IMAGE}: ${repository}@sha256:…`;
}

export const NOT_OWN_IMAGE = "must be an image in this deployment's repository, by digest";
