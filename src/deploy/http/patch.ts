// Applies a PATCH to a record. Pure: returns the new spec, and the same object if nothing changes. A sent value that equals the value
// in force leaves its field unchanged, so sending back an answer pins no default.

import { isDeepStrictEqual } from 'node:util';
import { findingsIn } from '../../api/validation.ts';
import {
  type AppDeployment,
  type AppDeploymentSpec,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
} from '../../kinds/app-deployment.ts';
import type { DatabaseDriver } from '../../kinds/database.ts';
import type { DeletionPolicy } from '../../kinds/database-names.ts';
import { DISPLAY_NAME_ANNOTATION } from '../../kinds/meta.ts';
import { UUID_PATTERN } from '../../kinds/primitives.ts';
import { ResourceSpec } from '../../kinds/resource-spec.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { FIXED_FIELDS } from '../../kinds/source-rules.ts';
import { fromSnake, snake, toSnake } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { isSet } from '../../runtime/json-value.ts';
import { driverFixedMessage } from '../record/database-driver.ts';
import { hostOf } from '../record/hostnames.ts';
import { requestedOf, sameRequested } from '../record/requested.ts';
import { mergedConfig } from './merged-config.ts';
import { patchedSecrets, type SecretPatch, sizeFindings } from './patched-secrets.ts';
import { MOST_SECRETS, type PatchDeployment, ResourceSpecPayload } from './payloads.ts';
import { IN_BOTH_LISTS } from './rules.ts';
import { ASKS_NOTHING, sameSet } from './same-request.ts';
import { displayNameOf, patchedTags } from './tags.ts';

/** The values in force that a patch is compared with. */
export interface InForce {
  readonly resourceSpec: ResourceSpec;
  readonly sourceRevisionConfig: SourceRevisionConfig;
  readonly url: string | null;
  readonly databaseDeletion: DeletionPolicy;
  /** The effective numbers of a spec, defaults included. */
  readonly numbersOf: (spec: AppDeploymentSpec) => Readonly<Record<string, number>>;
  /** Values of `secrets` by name, without those that the caller may not read. */
  readonly values: ReadonlyMap<string, string>;
}

/** The result of a change. */
export interface Change {
  readonly spec: AppDeploymentSpec;
  /** The values of the new Secret by name. If empty, no Secret is created. */
  readonly values: ReadonlyMap<string, string>;
  /** A merge patch of the record's labels. */
  readonly labels?: Readonly<Record<string, string | null>>;
  /** Annotations to set on the record. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** What the caller may not have meant. The answer contains them. */
  readonly warnings?: readonly FieldError[];
  /** Why nothing of it is written. */
  readonly findings?: readonly FieldError[];
}

/** The body of a PATCH, or one variable. */
export type Patch = PatchDeployment & SecretPatch;

/** `secretName`: the Secret of the new values. */
export function applyPatch(record: AppDeployment, patch: Patch, now: InForce, secretName: string): Change {
  const { spec } = record;
  const labels = patchedTags(record, patch.tag_value_ids);
  const { secrets, values, warnings } = patchedSecrets(spec, patch, now.values, secretName);
  const { secretReferences: _before, ...rest } = spec;
  const secretReferences = patchedReferences(spec, patch);
  const { database_deletion_policy: policy, display_name: name } = patch;
  const isPolicyChanged = policy && policy !== now.databaseDeletion;
  return {
    spec: {
      ...rest,
      sourceConfig: patchedConfig(spec, patch, now),
      sourceRevisionConfig: patchedRevisionConfig(spec, patch, now),
      secrets,
      ...(secretReferences !== undefined && { secretReferences }),
      ...(isPolicyChanged && { databaseDeletionPolicy: policy }),
    },
    values,
    warnings,
    ...(labels && { labels }),
    ...(typeof name === 'string' &&
      name !== (displayNameOf(record) ?? '') && { annotations: { [DISPLAY_NAME_ANNOTATION]: name } }),
  };
}

function patchedRevisionConfig(
  { sourceRevisionConfig: before }: AppDeploymentSpec,
  patch: PatchDeployment,
  now: InForce,
): SourceRevisionConfig {
  const sent = fromSnake(SourceRevisionConfig, patch.source_revision_config);
  const { davitFile, ...after } = { ...before, ...newFields(sent, before, now.sourceRevisionConfig) };
  // null means unchanged, so an empty string unsets it.
  return { ...after, ...(davitFile !== undefined && davitFile !== '' && { davitFile }) };
}

function patchedConfig(spec: AppDeploymentSpec, patch: PatchDeployment, now: InForce): SourceConfig {
  const before = spec.sourceConfig;
  const { custom_url: url, resource_spec: _ofItsOwn, ...others } = patch.source_config ?? {};
  const isAnotherUrl = url === '' || (isSet(url) && hostOf(url ?? '') !== hostOf(before.customUrl ?? now.url ?? ''));
  const sent = { ...others, ...(isAnotherUrl && { custom_url: url }) };
  const there: Readonly<Record<string, unknown>> = toSnake(SourceConfig, before);
  const fixed = new Set<string>(FIXED_FIELDS.map(snake));
  // The API server refuses another value of a field that cannot change.
  const changes = Object.fromEntries(
    Object.entries(sent).filter(([field, value]) => !fixed.has(field) || isAnother(value, there[field])),
  );
  const { runtime: after, resourceSpec: _replaced, ...rest } = mergedConfig(before, changes);
  const runtime = sameRuntime(before.runtime, after) ? before.runtime : after;
  const resourceSpec = patchedResourceSpec(spec, patch, now);
  return { ...rest, ...(runtime && { runtime }), ...(resourceSpec && { resourceSpec }) };
}

/**
 * Merges field by field: null resets a field to its default, a list or map replaces the previous one, and an empty one removes
 * it.
 */
function patchedResourceSpec(spec: AppDeploymentSpec, patch: PatchDeployment, now: InForce): ResourceSpec | undefined {
  const before = spec.sourceConfig.resourceSpec;
  const sent = patch.source_config?.resource_spec;
  if (sent === undefined || sent === null) return before;
  const given: Readonly<Record<string, unknown>> = sent;
  const setBack = new Set(Object.keys(ResourceSpec.shape).filter((field) => given[snake(field)] === null));
  const kept = Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => !setBack.has(field)));
  const named = fromSnake(ResourceSpec, sent);
  const set = newFields(named, before ?? {}, now.resourceSpec);
  const after: ResourceSpec = withoutEmpty({ ...kept, ...set });
  const same = sameRequested(
    requestedOf({ ...ASKS_NOTHING, sourceConfig: { resourceSpec: withoutEmpty(before ?? {}) } }),
    requestedOf({ ...ASKS_NOTHING, sourceConfig: { resourceSpec: after } }),
  );
  if (same) return before;
  // Who sends back all values in force asks for none of them.
  const isReadBack = Object.keys(now.numbersOf(spec)).every((field) => isSet(given[snake(field)]));
  if (isReadBack) return Object.keys(after).length > 0 ? after : undefined;
  // A value in force may be a default that depends on another value of this patch.
  const becomes = now.numbersOf({ ...spec, sourceConfig: { ...spec.sourceConfig, resourceSpec: after } });
  const lost = Object.entries(named).filter(
    ([field, value]) => typeof value === 'number' && becomes[field] !== undefined && becomes[field] !== value,
  );
  const whole = { ...after, ...Object.fromEntries(lost) };
  return Object.keys(whole).length > 0 ? whole : undefined;
}

function sameRuntime(a: Runtime | undefined, b: Runtime | undefined): boolean {
  const requested = (runtime: Runtime | undefined): ReturnType<typeof requestedOf> =>
    requestedOf({ ...ASKS_NOTHING, sourceConfig: { ...(runtime && { runtime }) } });
  return sameRequested(requested(a), requested(b));
}

/** The sent fields, without those that the record leaves unset and whose value in force was sent. */
function newFields<T extends object>(sent: T, before: object, now: object): T {
  const [unset, inForce]: Readonly<Record<string, unknown>>[] = [{ ...before }, { ...now }];
  return Object.fromEntries(
    Object.entries(sent).filter(([field, value]) => unset?.[field] !== undefined || inForce?.[field] !== value),
  ) as T;
}

/** An empty list or map means the same as an absent one. It is removed, so that sending back an answer is not a change. */
export function withoutEmpty<T extends object>(spec: T): T {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => typeof value !== 'object' || Object.keys(value as object).length > 0),
  ) as T;
}

function patchedReferences(
  { secretReferences }: AppDeploymentSpec,
  patch: PatchDeployment,
): SecretReference[] | undefined {
  const sent = patch.secret_references;
  if (sent === undefined || sent === null) return secretReferences;
  const after = sent.map((one) => fromSnake(SecretReference, one) as SecretReference);
  if (sameSet(secretReferences ?? [], after)) return secretReferences;
  return after.length > 0 ? after : undefined;
}

/**
 * What is wrong with a patch of this record, besides what is wrong with any record (rules.ts). `known`: values of the record that the
 * caller may read.
 */
export function patchFindings(
  record: AppDeployment,
  patch: Patch,
  { spec: after, values }: Change,
  known: ReadonlyMap<string, string>,
): FieldError[] {
  const findings = [...findPatch(record, patch, after), ...sizeFindings(after, known, values)];
  return findings.map((finding) => ({ ...finding, loc: ['body', ...finding.loc] }));
}

function* findPatch(record: AppDeployment, patch: Patch, after: AppDeploymentSpec): Generator<FieldError> {
  const { metadata, spec } = record;
  const fixed = (...loc: FieldError['loc']): FieldError => ({
    loc,
    msg: 'cannot be changed after creation',
    type: 'frozen_field',
  });
  if (isAnother(patch.name, metadata.name)) yield fixed('name');
  if (isAnother(patch.source, spec.source)) yield fixed('source');
  if (isAnother(patch.revision_source, spec.source)) yield fixed('revision_source');
  yield* findingsIn(ResourceSpecPayload, toSnake(ResourceSpec, changedFields(spec, after)), [
    'source_config',
    'resource_spec',
  ]);
  yield* otherDriver(record, after.sourceConfig.database?.driver);
  yield* inBothLists(patch, after);
  if (after.secrets.length > Math.max(MOST_SECRETS, spec.secrets.length))
    yield { loc: ['secrets'], msg: `must have at most ${MOST_SECRETS} items`, type: 'too_long' };
}

/** Checks only the values that the patch adds: existing values were checked when they were added. */
function changedFields(before: AppDeploymentSpec, after: AppDeploymentSpec): ResourceSpec {
  const [old, { resourceSpec = {} }] = [before.sourceConfig.resourceSpec, after.sourceConfig];
  const fields = Object.entries(resourceSpec).filter(
    ([field, value]) => !isDeepStrictEqual(value, (old as Readonly<Record<string, unknown>> | undefined)?.[field]),
  );
  return Object.fromEntries(fields);
}

/** The payload's schema checks names that the patch itself has in both lists. Here the other list is the record's. */
function* inBothLists(patch: Patch, after: AppDeploymentSpec): Generator<FieldError> {
  const [secrets, references] = [patch.secrets ?? [], patch.secret_references ?? []];
  const sent = new Set(secrets.map(({ name }) => name));
  const taken = new Set(references.length > 0 ? [] : after.secretReferences?.map(({ name }) => name));
  const named = new Set(after.secrets.map(({ name }) => name).filter((name) => !sent.has(name)));
  for (const [index, { name, value }] of secrets.entries())
    if (taken.has(name) && value !== null)
      yield { loc: ['secrets', index, 'name'], msg: IN_BOTH_LISTS, type: 'value_error' };
  for (const [index, { name }] of references.entries())
    if (named.has(name)) yield { loc: ['secret_references', index, 'name'], msg: IN_BOTH_LISTS, type: 'value_error' };
  const { name } = patch.variable ?? {};
  if (name !== undefined && after.secretReferences?.some((reference) => reference.name === name))
    yield { loc: [], msg: IN_BOTH_LISTS, type: 'value_error' };
}

/** Compares UUIDs case-insensitively. An empty object names no value. */
function isAnother(sent: unknown, before: unknown): boolean {
  if (sent === undefined || sent === null || isDeepStrictEqual(sent, {})) return false;
  if (typeof sent === 'string' && typeof before === 'string') {
    return sent !== before && !(new RegExp(UUID_PATTERN).test(sent) && sent.toLowerCase() === before.toLowerCase());
  }
  return !isDeepStrictEqual(sent, before);
}

/** A driver that cannot change because there is data. `before`: the record. */
function* otherDriver(
  { metadata: { name }, spec, status }: AppDeployment,
  asked: DatabaseDriver | undefined,
): Generator<FieldError> {
  if (asked === undefined || asked === spec.sourceConfig.database?.driver) return;
  const has = status?.databaseDriver ?? 'pod';
  if (asked === has || status?.databaseVolumeUid === undefined) return;
  yield {
    loc: ['source_config', 'database', 'driver'],
    msg: driverFixedMessage(name, has, asked),
    type: 'frozen_field',
  };
}
