// Forms of names that the schema and kubectl-davit have in common: nothing of zod.

/** Names of records and of workers, which become parts of host names. */
export const NAME_PATTERN = '^[a-z]([a-z0-9-]*[a-z0-9])?$';
/** What every door says of a name in another form. */
export const NAME_MESSAGE =
  'must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit';
/** Maximum length of a record's name. A StatefulSet's name derived from it must be at most 52, or labels of its pods are too long. */
export const NAME_MAX_LENGTH = 40;
export const NAME_LENGTH_MESSAGE = `must have at most ${NAME_MAX_LENGTH} characters`;
/** Not allowed as a record's name: its children's names would begin with `xn--`, the prefix of an encoded domain name. */
export const IMPOSSIBLE_NAME = 'xn';
export const IMPOSSIBLE_NAME_MESSAGE = `the name ${IMPOSSIBLE_NAME} is reserved: its children's names would begin with ${IMPOSSIBLE_NAME}--, the prefix of encoded domain names`;
export const DOUBLE_HYPHEN_MESSAGE = "a name must not contain --, which separates the parts of children's names";
/** C identifier: the form of variable names that a shell can use. */
export const VARIABLE_NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_]*$';
export const VARIABLE_NAME_MESSAGE =
  'must be the name of an environment variable: letters, digits and _, not beginning with a digit';
/** RFC 1123 subdomain: the form of names of Secrets, claims and service accounts. */
export const DNS_SUBDOMAIN_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
/** The form of a Secret's keys. */
export const SECRET_KEY_PATTERN = '^[-._a-zA-Z0-9]+$';
/**
 * An image reference: [registry/]path[:tag][@digest]. Source: the grammar of github.com/distribution/reference, with
 * the digest narrowed to sha256. Capital letters may be in the registry and in the tag.
 */
export const IMAGE_PATTERN =
  '^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$';
export const IMAGE_MESSAGE =
  'must be an image reference such as registry.example.com/team/app:1.2, with the path in lower case';
export const IMAGE_MAX_LENGTH = 512;
