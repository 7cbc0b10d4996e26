// What differs between two revisions: the values as written in the record, the image and the commit. Values of secrets are not
// read, and values of variables of init containers and sidecars are not shown. Pure.

import type { SecretReference } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { workerNames } from '../../kinds/worker-parts.ts';
import { commitOf } from './build-source.ts';
import { canonical } from './canonical.ts';
import { isFromFile } from './file-values.ts';
import { withoutScale } from './requested-scale.ts';
import { imageOf } from './revision-image.ts';

export interface FieldChange {
  /** Path of the field, such as resourceSpec.sidecars[proxy].image. */
  readonly field: string;
  readonly kind: 'added' | 'removed' | 'changed';
  /** Absent where the field was not there, and for a hidden value. */
  readonly from?: string;
  readonly to?: string;
}

/** A variable of an init container or sidecar, where people write passwords although they should not. */
const HIDDEN = /\.env\[[^[\]]*\]\.value$|^secrets\./;
/** Characters of a shown value. */
const LONGEST_VALUE = 60;

/** Ordered by field. The scale is not part of a revision, so it is not compared. */
export function differences(from: AppRevision, to: AppRevision): FieldChange[] {
  return changesBetween(fieldsOf(from), fieldsOf(to));
}

/** What differs between a revision and the one before it. */
export interface Change {
  /** The next older revision that is kept; undefined for the oldest one. */
  readonly since: AppRevision | undefined;
  /** Whether others, between the two or before the oldest one, may no longer be kept. */
  readonly mayLack: boolean;
  /** Null without one to compare with. */
  readonly changes: readonly FieldChange[] | null;
}

/** What changed in each revision. `revisions`: all that are kept, newest first. `kept`: how many of the newest are always kept. */
export function changesOf(revisions: readonly AppRevision[], kept: number): Change[] {
  return revisions.map((revision, at) => {
    const since = revisions[at + 1];
    const generation = (since?.spec.deploymentGeneration ?? 0) + 1;
    // One that was made of the next generation has none before it, and neither has the last of fewer than are kept.
    const mayLack = at + 1 >= kept && revision.spec.deploymentGeneration !== generation;
    return { since, mayLack, changes: since ? differences(since, revision) : null };
  });
}

/** The values of a revision that come from the davit.yaml of its commit, ordered by field. */
export function fieldsFromFile(revision: AppRevision): { readonly field: string; readonly value: string }[] {
  return [...fieldsOf(revision)]
    .filter(([field]) => isFromFile(revision.spec, field))
    .map(([field, value]) => ({ field, value }))
    .toSorted((a, b) => (a.field < b.field ? -1 : 1));
}

/** The fields of two objects that differ. Their values are shown, except those that `differences` hides. */
export function objectChanges(from: object, to: object): FieldChange[] {
  return changesBetween(new Map(flattened(from, '')), new Map(flattened(to, '')));
}

function changesBetween(was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): FieldChange[] {
  const [before, after] = [withoutFilled(was, is), withoutFilled(is, was)];
  const changes = [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((field): FieldChange[] => {
    const [old, value] = [before.get(field), after.get(field)];
    if (old === value) return [];
    const kind = old === undefined ? 'added' : value === undefined ? 'removed' : 'changed';
    if (HIDDEN.test(field) || old === THERE || value === THERE) return [{ field, kind }];
    return [{ field, kind, ...(old !== undefined && { from: old }), ...(value !== undefined && { to: value }) }];
  });
  // The fields of an element that came or went say so themselves.
  const isSaid = ({ field, kind }: FieldChange): boolean =>
    field.endsWith(']') &&
    changes.some(
      (one) => one.kind === kind && /^[.[]/.test(one.field.slice(field.length)) && one.field.startsWith(field),
    );
  return changes.filter((change) => !isSaid(change));
}

/** Without the empty objects in which the other one has something: what is in there says it. */
function withoutFilled(fields: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): Map<string, string> {
  const isFilled = (path: string): boolean =>
    [...others.keys()].some((other) => other.startsWith(`${path}.`) || other.startsWith(`${path}[`));
  return new Map([...fields].filter(([path, value]) => value !== EMPTY || !isFilled(path)));
}

/** How an object without a field is shown: `backup: {}` asks for something, too. */
const EMPTY = '{}';

/** Value of an element of a list, in addition to its fields. */
const THERE = 'there';

/** A change as the API has it, where null is a value that is absent. */
export type ShownChange = Pick<FieldChange, 'field' | 'kind'> & {
  readonly from?: string | null;
  readonly to?: string | null;
};

/** One line for each change. */
export function changeLine({ kind, from = null, to = null }: ShownChange): string {
  if (from !== null && to !== null) return `${shortValue(from)} -> ${shortValue(to)}`;
  const value = from ?? to;
  return value === null ? kind : `${kind}: ${shortValue(value)}`;
}

function shortValue(value: string): string {
  return value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;
}

/** What is deployed, which is named before how. */
const CONTENT = /^(image$|commit$|source_revision_config\.)/;

/** The path of an upload says nothing to people. */
const UPLOAD = 'source_revision_config.source_tarball_path';
const SIGNS = { added: '+', removed: '-', changed: '' } as const;

/** The names of the changed fields as the API has them, shortened: `image_uri, +secrets.API_KEY, 2 more`. */
export function summaryOf(changes: readonly ShownChange[], most = 3): string {
  const isContent = ({ field }: ShownChange): boolean => CONTENT.test(field);
  const ordered = [...changes.filter(isContent), ...changes.filter((change) => !isContent(change))];
  const fields = ordered.map(({ field, kind }) =>
    field === UPLOAD ? 'upload' : `${SIGNS[kind]}${field.replace(/^source_revision_config\./, '')}`,
  );
  const more = fields.length - most;
  return [...fields.slice(0, most), ...(more > 0 ? [`${more} more`] : [])].join(', ') || 'nothing';
}

function fieldsOf(revision: AppRevision): Map<string, string> {
  // Older versions of Davit have stored empty maps that mean the same as none.
  const { env = [], secrets, secretReferences, parts, ...values } = withoutScale(canonical(revision.spec.requested));
  const image = imageOf(revision);
  const commit = commitOf(revision);
  return new Map<string, string>([
    ...flattened(values, ''),
    ...env.map(({ name, value }) => [`env.${name}`, value] as const),
    ...referenced('secrets', secrets),
    ...referenced('secretReferences', secretReferences),
    ...(image !== undefined && values.sourceRevisionConfig.imageUri === undefined ? [['image', image] as const] : []),
    ...(commit === undefined ? [] : [['commit', commit] as const]),
    ['parts', [...parts, ...workerNames(values.runtime)].join(', ')],
  ]);
}

function referenced(list: string, references: readonly SecretReference[]): [string, string][] {
  return references.map(({ name, secretName, secretKey }) => [
    `${list}.${name}`,
    `Secret ${secretName}, key ${secretKey}`,
  ]);
}

/** Each leaf by its path. An element of a list is found by its name or mount path, and a list of plain values is one leaf. */
function flattened(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  if (!Array.isArray(value)) {
    const inner = Object.entries(value);
    if (inner.length === 0 && path !== '') return [[path, EMPTY]];
    return inner.flatMap(([key, one]) => flattened(one, path === '' ? key : `${path}.${key}`));
  }
  const elements = value as readonly unknown[];
  const keyed = elements.flatMap(byKey);
  if (keyed.length < elements.length) return [[path, JSON.stringify(value)]];
  return keyed.flatMap(([key, rest]) => [
    [`${path}[${key}]`, THERE] as [string, string],
    ...(Object.keys(rest).length === 0 ? [] : flattened(rest, `${path}[${key}]`)),
  ]);
}

/** The key of an element and its other fields; empty if it has no key. Several mounts may have the name of one volume. */
function byKey(element: unknown): [string, object][] {
  if (typeof element !== 'object' || element === null) return [];
  const fields: Readonly<Record<string, unknown>> = { ...element };
  const field = 'mountPath' in fields ? 'mountPath' : 'name';
  const { [field]: key, ...rest } = fields;
  return typeof key === 'string' ? [[key, rest]] : [];
}
