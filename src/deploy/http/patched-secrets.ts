// What a request makes of a record's `secrets`: a list that replaces the set or is merged into it, or one variable. Pure.

import type { AppDeploymentSpec, SecretReference } from '../../kinds/app-deployment.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import type { PatchDeployment } from './payloads.ts';
import { LARGEST_VALUES_BYTES } from './rules.ts';
import { sameSet } from './same-request.ts';

/** The part of a change that concerns `secrets`. */
export interface SecretPatch extends Pick<PatchDeployment, 'secrets' | 'secrets_mode'> {
  /** One variable that is set, to any text, or removed (null). */
  readonly variable?: { readonly name: string; readonly value: string | null };
}

export interface PatchedSecrets {
  readonly secrets: SecretReference[];
  /** The values of the new Secret by name. */
  readonly values: ReadonlyMap<string, string>;
  readonly warnings: readonly FieldError[];
}

/** What a request says of one name. undefined keeps its value. */
type Wanted = ReadonlyMap<string, string | undefined>;

/**
 * A name that exists keeps its Secret, unless its value differs or cannot be read. `known`: values of the record that the caller
 * may read. Throws HttpError 404 for a variable that cannot be removed because it does not exist.
 */
export function patchedSecrets(
  { secrets, secretReferences = [] }: AppDeploymentSpec,
  patch: SecretPatch,
  known: ReadonlyMap<string, string>,
  secretName: string,
): PatchedSecrets {
  const before = new Map(secrets.map((reference) => [reference.name, reference]));
  const { variable } = patch;
  if (variable?.value === null && !before.has(variable.name)) throw noVariable(variable.name, secretReferences);
  const wanted = wantedSet(patch, before);
  if (wanted === undefined) {
    const isEmptied = patch.secrets?.length === 0 && patch.secrets_mode !== 'merge' && secrets.length > 0;
    return { secrets, values: new Map(), warnings: isEmptied ? [NOT_EMPTIED] : [] };
  }
  const values = new Map(
    [...wanted].flatMap(([name, value]) => (value === undefined || known.get(name) === value ? [] : [[name, value]])),
  );
  const after = [...wanted.keys()].map((name) => {
    const kept = values.has(name) ? undefined : before.get(name);
    return kept ?? { name, secretName, secretKey: name };
  });
  return {
    secrets: sameSet(secrets, after) ? secrets : after,
    values,
    warnings: warningsOf(patch, before, wanted),
  };
}

/** Every name of the set after the change. Undefined if the request changes nothing. */
function wantedSet(patch: SecretPatch, before: ReadonlyMap<string, unknown>): Wanted | undefined {
  const { variable, secrets: sent } = patch;
  const kept = new Map<string, string | undefined>([...before.keys()].map((name) => [name, undefined]));
  if (variable !== undefined) {
    if (variable.value === null) kept.delete(variable.name);
    else kept.set(variable.name, variable.value);
    return kept;
  }
  if (sent === undefined || sent === null || sent.length === 0) return undefined;
  const wanted = patch.secrets_mode === 'merge' ? kept : new Map<string, string | undefined>();
  for (const { name, value } of sent) {
    if (value === null) wanted.delete(name);
    // "" keeps the value of a name that exists.
    else wanted.set(name, value === '' && before.has(name) ? undefined : value);
  }
  return wanted;
}

const NOT_EMPTIED: FieldError = {
  loc: ['body', 'secrets'],
  msg: 'an empty list changes nothing. To remove a variable, send DELETE /v2/deployments/{deployment_id}/secrets/{secret_name}, or secrets_mode merge and null as its value',
  type: 'unchanged',
};

/** Names in one message. */
const MOST_NAMED = 20;

function warningsOf(patch: SecretPatch, before: ReadonlyMap<string, unknown>, wanted: Wanted): FieldError[] {
  if (patch.secrets_mode === 'merge')
    return (patch.secrets ?? []).flatMap(({ name, value }, index) =>
      value !== null || before.has(name)
        ? []
        : [{ loc: ['body', 'secrets', index, 'name'], msg: 'has no value to remove', type: 'unchanged' }],
    );
  if (patch.variable !== undefined) return [];
  const removed = [...before.keys()].filter((name) => !wanted.has(name));
  if (removed.length === 0) return [];
  const more = removed.length > MOST_NAMED ? ` and ${removed.length - MOST_NAMED} more` : '';
  const msg = `removed ${removed.slice(0, MOST_NAMED).join(', ')}${more}: the list replaces the whole set. Send secrets_mode merge to keep what it does not name`;
  return [{ loc: ['body', 'secrets'], msg, type: 'removed' }];
}

function noVariable(name: string, references: readonly SecretReference[]): HttpError {
  const elsewhere = references.some((reference) => reference.name === name)
    ? ' It is in secret_references, which a PATCH changes.'
    : '';
  return new HttpError(404, `Secret ${name} not found.${elsewhere}`);
}

/** Values that are kept count as well, as far as the caller may read them. */
export function* sizeFindings(
  after: AppDeploymentSpec,
  known: ReadonlyMap<string, string>,
  values: ReadonlyMap<string, string>,
): Generator<FieldError> {
  if (values.size === 0) return;
  const bytes = after.secrets.map(({ name }) => Buffer.byteLength(values.get(name) ?? known.get(name) ?? ''));
  if (bytes.reduce((sum, size) => sum + size, 0) > LARGEST_VALUES_BYTES)
    yield { loc: ['secrets'], msg: 'must be at most 512 KiB together', type: 'too_long' };
}
