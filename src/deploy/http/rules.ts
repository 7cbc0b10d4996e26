// Rules of a record that the API server does not judge, or whose element its answer does not name: settings of the platform, elements of
// lists, and values of secrets. All others are in the custom resource (src/kinds), and the API server's answer is the caller's.

import type { Draft } from '../../api/validation.ts';
import { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { EXTERNAL_VARIABLES, PLATFORM_VARIABLES, STORE_FIELDS } from '../../kinds/meta.ts';
import { RESERVED_NAMES_MESSAGE } from '../../kinds/plain-variables.ts';
import { podPolicyBreaches } from '../../kinds/pod-policy.ts';
import { reachBreaches } from '../../kinds/pod-reach.ts';
import type { Settings } from '../../kinds/settings.ts';
import { isSourceTaken, SOURCES, uses } from '../../kinds/source-rules.ts';
import { duplicates, elementBreaches, type SpecBreach } from '../../kinds/spec-rules.ts';
import { sentPath } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { asArray, asObject, isSet } from '../../runtime/json-value.ts';
import { apiTokenProblem } from '../record/api-access.ts';
import { limitViolations, missingExternal, placementBreaches } from '../record/limits.ts';
import { referencesOf } from '../record/secret-references.ts';

export const IN_BOTH_LISTS = 'a name may be in secrets or in secret_references, not in both';

const LARGEST_VALUE_BYTES = 32 * 1024;
export const LARGEST_VALUES_BYTES = 512 * 1024;

function wrong(loc: FieldError['loc'], msg: string, type = 'value_error'): FieldError {
  return { loc, msg, type };
}

/** `at`: a path in the spec. */
function wrongAt(at: SpecBreach['at'], msg: string, type?: string): FieldError {
  return wrong(['body', ...sentPath(AppDeploymentSpec, at)], msg, type);
}

/** What is wrong with a spec, and was not with `before`: absent for a new record. */
export function* specFindings(
  spec: AppDeploymentSpec,
  settings: Settings,
  before?: AppDeploymentSpec,
): Generator<FieldError> {
  if (before === undefined) yield* hostingFindings(spec, settings.hosting);
  yield* settingsFindings(spec, settings, before);
  const known = new Set(before && Array.from(partBreaches(before, settings), asText));
  for (const breach of partBreaches(spec, settings))
    if (!known.has(asText(breach))) yield wrongAt(breach.at, breach.message);
}

function asText(breach: SpecBreach): string {
  return JSON.stringify(breach);
}

function* partBreaches(spec: AppDeploymentSpec, { pods }: Settings): Generator<SpecBreach> {
  const ofPods = podPolicyBreaches(spec.sourceConfig.resourceSpec ?? {}, pods.policy);
  for (const { at, message } of ofPods) yield { at: ['sourceConfig', 'resourceSpec', ...at], message };
  yield* elementBreaches({ ...spec });
}

function* hostingFindings(
  { source, sourceConfig }: AppDeploymentSpec,
  hosting: Settings['hosting'],
): Generator<FieldError> {
  // What needs a listener is answered with 400 if nothing else is wrong (needListener).
  if (uses(source, 'listener') || isSourceTaken(source, hosting, sourceConfig.listenerId !== undefined)) return;
  const allowed = SOURCES.filter((other) => isSourceTaken(other, hosting, false));
  yield wrongAt(
    ['source'],
    `source ${source} is not available: setting hosting is ${hosting}, which allows ${allowed.join(', ')}`,
  );
}

function* settingsFindings(
  spec: AppDeploymentSpec,
  settings: Settings,
  before?: AppDeploymentSpec,
): Generator<FieldError> {
  const { limits, database, pods } = settings;
  const { runtime, resourceSpec = {}, listenerId } = spec.sourceConfig;
  const old = before?.sourceConfig ?? {};
  const most = (of: string | undefined, number: string | number): string =>
    `${of === undefined ? '' : `${of} `}must be at most ${number} on this platform`;
  if (runtime?.apiToken === true && old.runtime?.apiToken !== true) {
    const problem = apiTokenProblem(listenerId !== undefined, settings);
    if (problem !== undefined) yield wrongAt(['sourceConfig', 'runtime', 'apiToken'], problem);
  }
  for (const { worker, field, of, most: number } of limitViolations(spec.sourceConfig, limits, old)) {
    const at = worker === undefined ? ['resourceSpec', field] : ['runtime', 'workers', worker, field];
    yield wrongAt(['sourceConfig', ...at], most(of, number), 'less_than_equal');
  }
  for (const { at, message } of placementBreaches(spec.sourceConfig, settings, old)) yield wrongAt(at, message);
  for (const { at, message } of reachBreaches(resourceSpec, pods, old.resourceSpec ?? {}))
    yield wrongAt(['sourceConfig', 'resourceSpec', ...at], message);
  const isMissing = (one: AppDeploymentSpec): ReturnType<typeof missingExternal> =>
    missingExternal(
      referencesOf(one).map(({ name }) => name),
      one.sourceConfig.runtime,
    );
  if (database.own || (before && isMissing(before).length > 0)) return;
  for (const part of isMissing(spec))
    yield wrongAt(
      ['secrets'],
      `this platform provides no databases: set ${EXTERNAL_VARIABLES[part]}, or ${STORE_FIELDS[part]} of runtime to none`,
      'missing',
    );
}

/** Rules about secrets and references: unique names that the platform does not set, and sizes of values. */
export function* variableRules(draft: Draft): Generator<FieldError> {
  const secrets = asArray(draft['secrets']);
  const references = asArray(draft['secret_references']);
  for (const { at, message } of [...duplicates(secrets, ['secrets']), ...duplicates(references, ['secret_references'])])
    yield wrong(at, message);
  yield* reserved(secrets, ['secrets']);
  yield* reserved(references, ['secret_references']);
  const set = secrets.map(asObject).filter(({ value }) => value !== null);
  const names = new Set(set.map(({ name }) => name));
  for (const [index, reference] of references.entries()) {
    const { name } = asObject(reference);
    if (isSet(name) && names.has(name)) yield wrong(['secret_references', index, 'name'], IN_BOTH_LISTS);
  }
  yield* removals(secrets, draft['secrets_mode']);
  const sizes = secrets
    .map((secret) => asObject(secret)['value'])
    .map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0));
  for (const [index, size] of sizes.entries()) {
    if (size > LARGEST_VALUE_BYTES)
      yield wrong(['secrets', index, 'value'], 'must be at most 32 KiB', 'string_too_long');
  }
  if (sizes.reduce((sum, size) => sum + size, 0) > LARGEST_VALUES_BYTES)
    yield wrong(['secrets'], 'must be at most 512 KiB together', 'too_long');
}

/** A PATCH may remove variables by null, if its list does not replace the set anyway. */
function* removals(secrets: readonly unknown[], mode: unknown): Generator<FieldError> {
  if (mode === 'merge') return;
  for (const [index, secret] of secrets.entries())
    if (asObject(secret)['value'] === null)
      yield wrong(
        ['secrets', index, 'value'],
        'must be a string: null removes a variable only with secrets_mode merge',
        'string_type',
      );
}

function* reserved(list: readonly unknown[], loc: FieldError['loc']): Generator<FieldError> {
  for (const [index, item] of list.entries()) {
    const { name } = asObject(item);
    if (PLATFORM_VARIABLES.some((variable) => variable === name))
      yield wrong([...loc, index, 'name'], RESERVED_NAMES_MESSAGE);
  }
}
