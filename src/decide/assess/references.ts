// Is every Secret and key there that the record names? All that is missing is named at once.

import type { SecretReference } from '../../api/app-deployment.ts';
import { listed } from '../../api/text.ts';
import { referencesOf } from '../../record/secret-references.ts';
import { failureAt, type Observed } from '../observed.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';

const CHECKS: readonly ((observed: Observed) => Entry | undefined)[] = [secretNotFixed, somethingMissing, notRead];

export function checkReferences(observed: Observed): Entry {
  return firstOf(CHECKS, observed) ?? pass('AllResolved', 'Every Secret and key that the record names is there.');
}

function secretNotFixed(observed: Observed): Entry | undefined {
  const [unfixed] = observed.unfixedSecrets;
  if (unfixed !== undefined) return stalled('SecretNotFixed', notFixed(unfixed, observed));
  return undefined;
}

function somethingMissing(observed: Observed): Entry | undefined {
  const missing = referencesOf(observed.record.spec).flatMap((reference) => missingOf(reference, observed) ?? []);
  if (missing.length === 0) return undefined;
  const list = listed([...new Set(missing.map(({ what }) => what))].toSorted());
  return stalled(
    missing.some(({ isSecret }) => isSecret) ? 'SecretMissing' : 'SecretKeyMissing',
    `Missing: ${list}. Make it in the deployment's namespace; the deployment goes on by itself.`,
  );
}

interface Missing {
  readonly what: string;
  /** The whole Secret, not a key of it. */
  readonly isSecret: boolean;
}

/** Undefined also where it is not known: the Secret could not be read. */
function missingOf(
  { secretName, secretKey }: SecretReference,
  { secretKeys, unread = [] }: Observed,
): Missing | undefined {
  if (failureAt({ kind: 'Secret', name: secretName }, unread)) return undefined;
  const keys = Object.hasOwn(secretKeys, secretName) ? secretKeys[secretName] : undefined;
  if (keys === null || keys === undefined) return { what: `Secret ${secretName}`, isSecret: true };
  return keys.includes(secretKey) ? undefined : { what: `key ${secretKey} in Secret ${secretName}`, isSecret: false };
}

function notRead({ unread: [first] = [] }: Observed): Entry | undefined {
  return first && fail(first.reason, first.message);
}

/** Of such a name it could be anything's, a service account's token among them: no pod gets it. */
function notFixed(secretName: string, { record }: Observed): string {
  const { name, namespace } = record.metadata;
  return `Secret ${secretName} has the name of values that editors of this deployment may use without reading them, so it must be of type Opaque and immutable. If it is Opaque and its values are right: kubectl patch secret ${secretName} -n ${namespace} -p '{"immutable":true}'. Otherwise name another Secret, without ${name}--vars-.`;
}
