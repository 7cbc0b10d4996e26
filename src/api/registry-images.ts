// Which images of the platform's registry a tenant must not name: those of other tenants. Wherever an image is named this is the
// only rule: the HTTP API, the controller and the plan step of a build ask it, and the chart's policy davit-foreign-images says the same in CEL.

import { asArray, asObject } from './json-value.ts';

/** The registry, as the settings name it (builds.registry). */
export interface RegistryArea {
  readonly host: string;
  readonly insecure?: boolean | undefined;
  readonly repository?: string | undefined;
  readonly tokens?: boolean | undefined;
}

/** Repositories of the platform's base images, which everybody may use. */
export const BASE_REPOSITORIES = 'base';

/**
 * Whether `image` is in a part of the registry that is not for the tenant. `own`: path of the tenant's repositories. With tokens that is
 * everything but its own repositories and `base/`. Without them the registry may hold images of others beside those of
 * tenants, so it is the path below which tenants have theirs, or what is named as a tenant's.
 */
export function isForeignImage(image: string, registry: RegistryArea, own: string): boolean {
  const slash = image.indexOf('/');
  const path = image.slice(slash + 1);
  if (slash < 0 || hostOf(image.slice(0, slash), registry) !== hostOf(registry.host, registry)) return false;
  if ([own, BASE_REPOSITORIES].some((allowed) => path.startsWith(`${allowed}/`))) return false;
  if (registry.tokens === true) return true;
  return registry.repository === undefined ? TENANTS.test(path) : path.startsWith(`${registry.repository}/`);
}

/** As record/registry-names.ts names a tenant: the namespace and the beginning of its uid. */
const TENANTS = /^[^/]+-[0-9a-f]{8}\//;

/** Without the port that a client assumes. */
function hostOf(host: string, { insecure = false }: RegistryArea): string {
  return host.toLowerCase().replace(insecure ? /:80$/ : /:443$/, '');
}

export function foreignImageMessage(image: string, { host }: RegistryArea, own: string): string {
  return `${image} is not for this tenant. Use an image of ${host}/${own}/ or ${host}/${BASE_REPOSITORIES}/, or of another registry`;
}

/** An image that a record names, and the path of its field below `spec`. */
export interface NamedImage {
  readonly at: readonly (string | number)[];
  readonly image: string;
}

/** All images of a record's spec, which may be older than the schema, or not validated yet. */
export function* imagesOf(spec: Readonly<Record<string, unknown>>): Generator<NamedImage> {
  const { imageUri } = asObject(spec['sourceRevisionConfig']) as { readonly imageUri?: unknown };
  if (typeof imageUri === 'string') yield { at: ['sourceRevisionConfig', 'imageUri'], image: imageUri };
  const resourceSpec = asObject(asObject(spec['sourceConfig'])['resourceSpec']);
  for (const list of ['initContainers', 'sidecars'] as const)
    for (const [index, container] of asArray(resourceSpec[list]).entries()) {
      const { image } = asObject(container) as { readonly image?: unknown };
      if (typeof image === 'string') yield { at: ['sourceConfig', 'resourceSpec', list, index, 'image'], image };
    }
}

/** Images of a record that are not for its tenant, without those that it named `before`. */
export function* foreignImages(
  spec: Readonly<Record<string, unknown>>,
  registry: RegistryArea,
  own: string,
  before: Readonly<Record<string, unknown>> = {},
): Generator<NamedImage> {
  const known = new Set(Array.from(imagesOf(before), ({ image }) => image));
  for (const named of imagesOf(spec))
    if (!known.has(named.image) && isForeignImage(named.image, registry, own)) yield named;
}
