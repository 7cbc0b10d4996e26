// Reading an image reference: [registry[:port]/]path[:tag][@digest]. Source: the grammar of
// github.com/distribution/reference.

export interface Image {
  /** Everything before the tag and the digest. */
  readonly repository: string;
  readonly tag?: string;
  /** With its algorithm, such as sha256:... */
  readonly digest?: string;
}

/** The parts of an image reference. A colon before the last slash belongs to the registry's port, not to a tag. */
export function parseImage(reference: string): Image {
  const at = reference.indexOf('@');
  const named = at < 0 ? reference : reference.slice(0, at);
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return {
    repository: colon < 0 ? named : named.slice(0, colon),
    ...(colon >= 0 && { tag: named.slice(colon + 1) }),
    ...(at >= 0 && { digest: reference.slice(at + 1) }),
  };
}

/** `reference` with `registry` (optionally with a path) instead of its own; unchanged if `registry` is absent. */
export function fromRegistry(registry: string | undefined, reference: string): string {
  if (registry === undefined) return reference;
  const slash = reference.indexOf('/');
  const first = reference.slice(0, Math.max(slash, 0));
  const namesRegistry = /[.:]/.test(first) || first === 'localhost';
  return `${registry}/${namesRegistry ? reference.slice(slash + 1) : reference}`;
}

/** A tag that begins with the version of an extension has the one of PostgreSQL as a word. */
const OF_POSTGRES = /(?:^|-)pg(\d{1,4})(?=-|$)/;

/**
 * Major version in an image's tag (`postgres:17.2-alpine` → 17, `pgvector:0.8.6-pg17-trixie` → 17, `valkey:8.1.10` → 8); undefined if the
 * tag has no such word and does not begin with a version.
 */
export function majorVersion(reference: string): number | undefined {
  return versionIn(reference)[0];
}

/** The version in an image's tag, its major version first: `postgres:17.2-alpine` → 17, 2; `pgvector:0.8.6-pg17` → 17, 0, 8, 6. */
function versionIn(reference: string): readonly number[] {
  const { tag = '' } = parseImage(reference);
  const words = [OF_POSTGRES.exec(tag)?.[1], /^v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![0-9A-Za-z])/.exec(tag)?.[1]];
  return words.flatMap((word) => word?.split('.').map(Number) ?? []);
}

/** Whether a datastore can have one image after the other on the same data: both have the same major version and base. */
export function isSameLine(one: string, other: string): boolean {
  const major = majorVersion(one);
  return major !== undefined && major === majorVersion(other) && imageBase(one) === imageBase(other);
}

/** Whether the tag of `one` has a lower version than the tag of `other`, or says less about it: 17 counts as lower than 17.2. */
export function isOlderImage(one: string, other: string): boolean {
  const has = versionIn(one);
  for (const [at, wanted] of versionIn(other).entries()) {
    const number = has[at] ?? -1;
    if (number !== wanted) return number < wanted;
  }
  return false;
}

/**
 * The base of an image according to its reference: the last part of its name, and the tag after the version
 * (`postgres:17.2-alpine3.20` → `postgres alpine`, `mirror.example/postgres:17-bookworm` → `postgres bookworm`). Equal for
 * two images with one base. A tag without a base does not reveal it.
 */
export function imageBase(reference: string): string {
  const { repository, tag = '' } = parseImage(reference);
  const name = repository.slice(repository.lastIndexOf('/') + 1);
  const words = tag.toLowerCase().replace(OF_POSTGRES, '').split('-').slice(1);
  // Alpine's C library sorts text in the same way in all releases. Debian's does not, and each release has a name.
  return [name, ...words.map((word) => (word.startsWith('alpine') ? 'alpine' : word))].join(' ');
}
