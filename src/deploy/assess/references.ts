// Is every Secret and key there from which a container takes a variable? All that is missing is named at once.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { listed } from '../../kinds/text.ts';
import { type ReadAtStart, readAtStart } from '../record/secret-references.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';
import { failureAt, type ObservedRecord, type ObservedSecrets } from './observed.ts';

type Seen = ObservedRecord & ObservedSecrets;

const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  secretNotFixed,
  somethingMissing,
  hasTooManyKeys,
  notRead,
];

export function checkReferences(seen: Seen): Entry {
  return firstOf(CHECKS, seen) ?? pass('AllResolved', 'Every Secret and key that variables of the record name exists.');
}

function secretNotFixed({ unfixedSecrets: [unfixed], record }: Seen): Entry | undefined {
  return unfixed === undefined ? undefined : stalled('SecretNotFixed', notFixed(unfixed, record));
}

function somethingMissing({ record, ...secrets }: Seen): Entry | undefined {
  const { spec } = record;
  const reads = readAtStart(spec, spec.sourceConfig.resourceSpec).filter(({ optional }) => !optional);
  const missing = reads.flatMap((read) => missingOf(read, secrets) ?? []);
  if (missing.length === 0) return undefined;
  const list = listed([...new Set(missing.map(({ what }) => what))].toSorted());
  return stalled(
    missing.some(({ isSecret }) => isSecret) ? 'SecretMissing' : 'SecretKeyMissing',
    `Missing: ${list}. ${todoOf(missing, record)}`,
  );
}

/** What to do about missing Secrets. Only Davit creates those with the prefix `NAME--vars-`, and it keeps their values nowhere else. */
function todoOf(missing: readonly Missing[], { metadata: { name, namespace } }: AppDeployment): string {
  const own = missing.flatMap(({ what, variable }) =>
    variable !== undefined && what.includes(`Secret ${name}--vars-`) ? [variable] : [],
  );
  if (own.length === 0) return "Create it in the deployment's namespace; the deployment then continues automatically.";
  const commands = listed(own.toSorted().map((key) => `kubectl davit secrets ${name} set ${key} -n ${namespace}`));
  return `Davit created ${name}--vars-… from values that it keeps nowhere else. Set them again: ${commands}. Create the others in the deployment's namespace.`;
}

interface Missing {
  readonly what: string;
  /** The record's variable that it is the value of; undefined if an init container or a sidecar names it. */
  readonly variable: string | undefined;
  /** The whole Secret, not a key of it. */
  readonly isSecret: boolean;
}

/** Undefined also where it is not known: the Secret could not be read. */
function missingOf(
  { variable, secretName, secretKey }: ReadAtStart,
  { secretKeys, unread = [] }: ObservedSecrets,
): Missing | undefined {
  if (failureAt({ kind: 'Secret', name: secretName }, unread)) return undefined;
  const keys = Object.hasOwn(secretKeys, secretName) ? secretKeys[secretName] : undefined;
  if (keys === null || keys === undefined) return { what: `Secret ${secretName}`, variable, isSecret: true };
  return secretKey === undefined || keys.includes(secretKey)
    ? undefined
    : { what: `key ${secretKey} in Secret ${secretName}`, variable, isSecret: false };
}

function hasTooManyKeys({ tooLargeSecrets: [name] = [] }: Seen): Entry | undefined {
  const cause = `Secret ${name} has more than 1,000 keys, and a container gets all of them as variables (envFrom).`;
  return name === undefined
    ? undefined
    : stalled('SecretTooLarge', `${cause} Name the keys that it needs under env, or name a smaller Secret.`);
}

function notRead({ unread: [first] = [] }: ObservedSecrets): Entry | undefined {
  return first && fail(first.reason, first.message);
}

/** A Secret with such a name could contain anything, including a service account's token, so no pod gets it. */
function notFixed(secretName: string, { metadata: { name, namespace } }: AppDeployment): string {
  return `Editors may use Secret ${secretName} in this deployment without the right to read it, so it must be of type Opaque and immutable. If it is Opaque and its values are correct: kubectl patch secret ${secretName} -n ${namespace} -p '{"immutable":true}'. Otherwise name a Secret whose name does not begin with ${name}--vars-.`;
}
