// Shared by the endpoints of uploads, pushes and builds: the platform's registry, a deployment's repository, and a check of the
// caller's right to change a deployment without a write.

import type { RequestContext } from '../../../api/auth.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import type { Deployments } from '../../../deploy/http/repository.ts';
import { imageRepository, type RegistrySettings, repositoryOf } from '../../../deploy/record/registry-names.ts';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import type { Settings } from '../../../kinds/settings.ts';
import { SOURCES, type SourceUse, uses } from '../../../kinds/source-rules.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { PlatformRegistry } from '../../registry/platform-registry.ts';

/** The platform's registry and the deployment's repository. */
export interface Place {
  readonly registry: PlatformRegistry;
  readonly settings: RegistrySettings;
  /** The name within the registry. */
  readonly repository: string;
  /** The name with the registry's host. */
  readonly image: string;
}

export interface BuildPlatform {
  readonly settings: Settings;
  readonly registry: PlatformRegistry | undefined;
}

/** What the collections of builds need besides what all share. */
export interface BuildContext extends FacadeContext {
  readonly deployments: Deployments;
  readonly platform: BuildPlatform;
}

/** Throws HttpError 409 if the platform has no registry. `tenantId` is the uid of the record's namespace. */
export function placeOf(
  { settings, registry }: BuildPlatform,
  { metadata }: Pick<AppDeployment, 'metadata'>,
  tenantId: string,
): Place {
  const { registry: where } = settings.builds;
  if (where === undefined || registry === undefined)
    throw new HttpError(
      409,
      'This platform has no registry to build or push to. The platform team can configure one in setting builds.registry.',
    );
  const tenant = { namespace: metadata.namespace ?? '', tenantId };
  return {
    registry,
    settings: where,
    repository: repositoryOf(where, tenant, metadata.name),
    image: imageRepository(where, tenant, metadata.name),
  };
}

/**
 * The deployment, after a dry run has checked the caller's right to change it. Throws HttpError 400 if its source has no `use`.
 * `what` names the feature that needs it.
 */
export async function changeableOf(
  deployments: Deployments,
  admitted: RequestContext,
  id: string,
  { use, what }: { readonly use: SourceUse; readonly what: string },
): Promise<AppDeployment> {
  const found = await deployments.find(admitted, id);
  if (!uses(found.spec.source, use))
    throw new HttpError(
      400,
      `${what} are only available for '${SOURCES.filter((source) => uses(source, use)).join("', '")}' source deployments; this one has source '${found.spec.source}'.`,
    );
  const { record } = await deployments.change(admitted, id, ({ spec }) => ({ spec, values: new Map() }));
  return record;
}
