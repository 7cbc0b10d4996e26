// Where in the platform's registry things are: images, uploads, caches and logs of a deployment are all in one repository,
// so that a token for one repository is a token for one deployment.

import type { BuildSettings } from '../../kinds/settings.ts';

export type RegistrySettings = NonNullable<BuildSettings['registry']>;

/** A tenant, by the name and the uid of its namespace: one of the same name that is made later has another repository. */
export interface TenantIdentity {
  readonly namespace: string;
  readonly tenantId: string;
}

/** `team-a-1f2e3d4c`, below the registry's own path: every repository of the tenant begins so. */
export function tenantRepositories(registry: RegistrySettings, { namespace, tenantId }: TenantIdentity): string {
  const tenant = `${namespace}-${tenantId.slice(0, 8).toLowerCase()}`;
  return registry.repository === undefined ? tenant : `${registry.repository}/${tenant}`;
}

/** `davit/team-a-1f2e3d4c/shop`: the repository of one deployment, as the registry names it. */
export function repositoryOf(registry: RegistrySettings, tenant: TenantIdentity, deployment: string): string {
  // A hyphen at the end, and two in a row but these, are no part of a record's name.
  return `${tenantRepositories(registry, tenant)}/${deployment}`;
}

/** With the registry's host before it: what `docker push` and a pod name. */
export function imageRepository(registry: RegistrySettings, tenant: TenantIdentity, deployment: string): string {
  return `${registry.host}/${repositoryOf(registry, tenant, deployment)}`;
}

/** Tag of the image that the build of a revision pushes. */
export function revisionTag(revisionId: string): string {
  return `revision-${revisionId.toLowerCase()}`;
}

/** Tag of the manifest whose only layer is the upload that sourceTarballPath names: `uploads/ID` has `upload-ID`. */
export function uploadTag(sourceTarballPath: string): string {
  return `upload-${sourceTarballPath.slice('uploads/'.length)}`;
}

/** Tag that keeps an image while something names it by digest: the registry's garbage collection deletes what has no tag. */
export function keepTag(digest: string): string {
  return `keep-${digest.slice('sha256:'.length)}`;
}

/** A reference to an image of this registry, in parts. Undefined for an image of another registry. */
export interface ImageName {
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

export function imageIn({ host }: Pick<RegistrySettings, 'host'>, image: string): ImageName | undefined {
  if (!image.startsWith(`${host}/`)) return undefined;
  const [, repository = '', tag, digest] =
    /^([^:@]+)(?::([^:@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(image.slice(host.length + 1)) ?? [];
  if (repository === '') return undefined;
  return { repository, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) };
}

const REPOSITORY_NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
/** As Distribution limits it, with the registry's host. */
const LONGEST_REPOSITORY = 255;

/**
 * Whether this is the name of a repository (OCI Distribution Specification 1.1, Pulling Manifests). Other text, such as
 * `base/../team`, may become the name of another repository where a path is normalized.
 */
export function isRepositoryName(name: string): boolean {
  return name.length <= LONGEST_REPOSITORY && REPOSITORY_NAME.test(name);
}

/** The reverse of `repositoryOf`. Undefined for a repository that is no deployment's, such as `base/python`. */
export function deploymentIn(
  { repository: path }: Pick<RegistrySettings, 'repository'>,
  repository: string,
): { readonly namespace: string; readonly tenantStart: string; readonly name: string } | undefined {
  const below = path === undefined ? '' : `${path}/`;
  if (!repository.startsWith(below)) return undefined;
  const [, namespace = '', tenantStart = '', name = ''] =
    /^([^/]+)-([0-9a-f]{8})\/([a-z0-9][a-z0-9-]{0,39})$/.exec(repository.slice(below.length)) ?? [];
  return name === '' ? undefined : { namespace, tenantStart, name };
}

/** A repository that is never pushed to. A request for it shows whether the registry answers. */
export function probeRepository({ repository: path }: Pick<RegistrySettings, 'repository'>): string {
  return path === undefined ? 'davit-probe' : `${path}/davit-probe`;
}

/** Tag of BuildKit's cache. */
export const CACHE_TAG = 'cache';

/** Tag of the manifest whose only layer is the log of a revision's build, gzip of JSON lines. */
export function logTag(revisionId: string): string {
  return `log-${revisionId.toLowerCase()}`;
}

/** Types of that manifest and its layer. */
export const LOG_ARTIFACT_TYPE = 'application/vnd.davit.log.v1';
export const LOG_LAYER_TYPE = 'application/vnd.davit.log.v1+gzip';
