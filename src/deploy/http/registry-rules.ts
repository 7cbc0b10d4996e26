// Checks the images and uploads that a deployment names: images of its own repository, by digest, and sources that were uploaded for
// it.

import { type AppDeployment, AppDeploymentSpec, UPLOAD_MESSAGE } from '../../kinds/app-deployment.ts';
import { foreignImageMessage, foreignImages, type NamedImage } from '../../kinds/registry-images.ts';
import type { BuildSettings } from '../../kinds/settings.ts';
import { uses } from '../../kinds/source-rules.ts';
import { sentPath } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { ownImageDigest, ownImageProblem } from '../record/own-image.ts';
import { imageRepository, keepTag, repositoryOf, tenantRepositories, uploadTag } from '../record/registry-names.ts';

/** What is asked of the platform's registry. Throws RegistryFailed, or the abort reason of `signal`. */
export interface ImageRegistry {
  readonly client: {
    /** Returns the digest of the manifest that `reference` (a tag or digest) names, or undefined if there is none. */
    digestOf(repository: string, reference: string, signal: AbortSignal): Promise<string | undefined>;
    /** Tags the manifest with this digest. Returns false if there is none. */
    tag(repository: string, digest: string, tag: string, signal: AbortSignal): Promise<boolean>;
  };
}

export interface RegistryRules {
  readonly builds: BuildSettings;
  readonly registry: ImageRegistry | undefined;
}

/** Longer than the time limit of requests to the registry. */
const LONGEST_MS = 40_000;

/** Checks only values that `before` does not contain. Throws RegistryFailed if the registry cannot be asked. */
export async function registryFindings(
  { metadata, spec }: Pick<AppDeployment, 'metadata' | 'spec'>,
  tenantId: string,
  { builds, registry }: RegistryRules,
  before?: AppDeploymentSpec,
): Promise<FieldError[]> {
  const { imageUri, sourceTarballPath } = spec.sourceRevisionConfig;
  const isNew = (field: 'imageUri' | 'sourceTarballPath'): boolean =>
    spec.sourceRevisionConfig[field] !== before?.sourceRevisionConfig[field];
  const tenant = { namespace: metadata.namespace ?? '', tenantId };
  const signal = AbortSignal.timeout(LONGEST_MS);
  const where = builds.registry;
  const own = where && tenantRepositories(where, tenant);

  async function isThere(reference: string): Promise<boolean> {
    if (where === undefined || registry === undefined) return false;
    const repository = repositoryOf(where, tenant, metadata.name);
    return (await registry.client.digestOf(repository, reference, signal)) !== undefined;
  }

  /** Before the record names the image, so that no garbage collection comes between. */
  async function isKept(digest: string): Promise<boolean> {
    if (where?.upkeep === undefined || registry === undefined) return isThere(digest);
    return registry.client.tag(repositoryOf(where, tenant, metadata.name), digest, keepTag(digest), signal);
  }

  if (where !== undefined && own !== undefined) {
    // The rule for pushed images below is stricter, and says more.
    const isJudgedBelow = ({ at }: NamedImage): boolean =>
      uses(spec.source, 'push') && at[0] === 'sourceRevisionConfig';
    const named = [...foreignImages(spec, where, own, before)].filter((image) => !isJudgedBelow(image));
    const foreign = named.map(({ at, image }) => ({
      loc: ['body', ...sentPath(AppDeploymentSpec, at)],
      msg: foreignImageMessage(image, where, own),
      type: 'value_error',
    }));
    if (foreign.length > 0) return foreign;
  }
  if (uses(spec.source, 'upload') && sourceTarballPath !== undefined && isNew('sourceTarballPath')) {
    // An image of another deployment is not found, because each has its own repository.
    if (!(await isThere(uploadTag(sourceTarballPath)))) return [finding('source_tarball_path', UPLOAD_MESSAGE)];
  }
  if (uses(spec.source, 'push') && imageUri !== undefined && where !== undefined && isNew('imageUri')) {
    const problem = ownImageProblem(spec, metadata.name, tenant, where);
    if (problem !== undefined) return [finding('image_uri', problem)];
    const digest = ownImageDigest(imageUri, imageRepository(where, tenant, metadata.name)) ?? '';
    if (!(await isKept(digest)))
      return [finding('image_uri', 'is not in the registry. Push it with a token from POST …/push-token')];
  }
  return [];
}

function finding(field: string, msg: string): FieldError {
  return { loc: ['body', 'source_revision_config', field], msg, type: 'value_error' };
}
