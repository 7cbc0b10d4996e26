// Which images of the platform's registry a tenant must not name: those of other tenants. Wherever an image is named this is the
// only rule: the HTTP API, the controller and the plan step of a build ask it, and the chart's policy davit-foreign-images says the same in CEL.

import { asArray, asObject } from '../runtime/json-value.ts';

/** The registry, as the settings name it (builds.registry). */
export interface RegistryArea {
  readonly host: string;
  readonly insecure?: boolean | undefined;
  readonly repository?: string | undefined;
  readonly tokens?: boolean | undefined;
}

/** Repositories of the platform's base images, which everybody may use. */
export const BASE_REPOSITORIES = 'base';

const NUMBER = '([0-9]+|0[xX][0-9a-fA-F]*)';
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const PORT = '(:[0-9]*)?';

/**
 * Names that may mean the platform's registry, or an image on a node, though their text does not say so. Regular expressions that
 * mean the same to JavaScript and to CEL. Chart and TypeScript use these.
 */
export const ODD_SPELLINGS = {
  odd: [
    // The id of an image, which a node that has the image resolves.
    '^sha[0-9]+:[0-9a-fA-F]+$',
    '^[0-9a-fA-F]{64}$',
    // A port that is empty or begins with 0.
    '^[^/]*:(0[0-9]*)?/',
    // A dot at the end of the host.
    `^[^/]*[.]${PORT}/`,
    // An IPv6 address: it has many spellings, also of IPv4 addresses.
    '^[[]',
    // The Service of the chart's registry.
    `^[dD][aA][vV][iI][tT]-[rR][eE][gG][iI][sS][tT][rR][yY][.][^/.:]+[.][sS][vV][cC]([.][^/:]*)?${PORT}/`,
  ].join('|'),
  /** A host of numbers. One number alone, without a port, is a user of Docker Hub. */
  numeric: `^${NUMBER}([.]${NUMBER})+${PORT}/|^${NUMBER}:[0-9]*/|^0X[0-9a-fA-F]*/`,
  /** The normal form of such a host. */
  quad: `^(${OCTET}[.]){3}${OCTET}${PORT}/`,
} as const;

const ODD = new RegExp(ODD_SPELLINGS.odd);
const NUMERIC = new RegExp(ODD_SPELLINGS.numeric);
const QUAD = new RegExp(ODD_SPELLINGS.quad);

/** The registry's host, as the settings write it, is never odd. */
function isOddlySpelled(image: string, { host }: RegistryArea): boolean {
  if (image.toLowerCase().startsWith(`${host.toLowerCase()}/`)) return false;
  return ODD.test(image) || (NUMERIC.test(image) && !QUAD.test(image));
}

/**
 * Whether `image` is in a part of the registry that is not for the tenant. `own`: path of the tenant's repositories. With tokens that is
 * everything but its own repositories and `base/`. Without them the registry may hold images of others beside those of
 * tenants, so it is the path below which tenants have theirs, or what is named as a tenant's. An image whose name is not in normal
 * form counts as such.
 */
export function isForeignImage(image: string, registry: RegistryArea, own: string): boolean {
  if (isOddlySpelled(image, registry)) return true;
  const slash = image.indexOf('/');
  const path = image.slice(slash + 1);
  if (slash < 0 || hostOf(image.slice(0, slash), registry) !== hostOf(registry.host, registry)) return false;
  if ([own, BASE_REPOSITORIES].some((allowed) => path.startsWith(`${allowed}/`))) return false;
  if (registry.tokens === true) return true;
  return registry.repository === undefined ? TENANTS.test(path) : path.startsWith(`${registry.repository}/`);
}

/** As deploy/record/registry-names.ts names a tenant: the namespace and the beginning of its uid. */
const TENANTS = /^[^/]+-[0-9a-f]{8}\//;

/** Without the port that a client assumes. */
function hostOf(host: string, { insecure = false }: RegistryArea): string {
  return host.toLowerCase().replace(insecure ? /:80$/ : /:443$/, '');
}

export const ODD_SPELLING_MESSAGE =
  'not for this tenant, because its name is an image id, or its host is not in normal form. Write HOST[:PORT]/REPOSITORY:TAG, where HOST is a name or an IPv4 address of four decimal numbers, without additional zeros or dots, and not the Service of the registry';

export function foreignImageMessage(image: string, registry: RegistryArea, own: string): string {
  if (isOddlySpelled(image, registry)) return `${image} is ${ODD_SPELLING_MESSAGE}`;
  const { host } = registry;
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
