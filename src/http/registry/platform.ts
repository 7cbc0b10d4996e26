// What the endpoints of uploads, pushes and builds have in common: the platform's registry, a deployment's place in it, and
// the exercise of a caller's right to change a deployment where nothing of it is written.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { Settings } from '../../api/settings.ts';
import type { Source } from '../../api/source-rules.ts';
import { imageRepository, type RegistrySettings, repositoryOf } from '../../record/registry-names.ts';
import type { PlatformRegistry } from '../../registry/platform-registry.ts';
import { HttpError } from '../core/http-error.ts';
import type { Deployments } from '../deployments/repository.ts';
import type { RequestContext } from '../plugins/auth.ts';

/** The registry of the settings, and the deployment's repository there. */
export interface Place {
  readonly registry: PlatformRegistry;
  readonly settings: RegistrySettings;
  /** As the registry names it. */
  readonly repository: string;
  /** With the registry's host before it. */
  readonly image: string;
}

export interface BuildPlatform {
  readonly settings: Settings;
  readonly registry: PlatformRegistry | undefined;
}

/** Refuses with 409 where the platform has no registry. `tenantId` is the uid of the record's namespace. */
export function placeOf(
  { settings, registry }: BuildPlatform,
  { metadata }: Pick<AppDeployment, 'metadata'>,
  tenantId: string,
): Place {
  const { registry: where } = settings.builds;
  if (where === undefined || registry === undefined)
    throw new HttpError(
      409,
      'This platform has no registry to build or push to: its people can give it one with setting builds.registry.',
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
 * The deployment, after its caller's right to change it was exercised by a dry run. Refuses with 400 one of another source
 * than `source`; `what` is what is available for that source alone.
 */
export async function changeableOf(
  deployments: Deployments,
  admitted: RequestContext,
  id: string,
  { source, what }: { readonly source: Source; readonly what: string },
): Promise<AppDeployment> {
  const found = await deployments.find(admitted, id);
  if (found.spec.source !== source)
    throw new HttpError(
      400,
      `${what} are only available for '${source}' source deployments; this one has source '${found.spec.source}'.`,
    );
  const { record } = await deployments.change(admitted, id, ({ spec }) => ({ spec, values: new Map() }));
  return record;
}
