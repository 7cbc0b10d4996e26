// Rules of a new deployment that JSON Schema cannot express. They equal the CRD's rules, so one answer contains all errors, and the
// API and kubectl accept the same records.

import { fromSnake, snake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject, isSet } from '../../lib/json-value.ts';
import type { Draft, Rule } from '../../organization/facade/validation.ts';
import { UPLOAD_MESSAGE, UPLOAD_PATTERN } from '../../schema/app-deployment.ts';
import { EXTERNAL_VARIABLES, PLATFORM_VARIABLES, STORE_FIELDS } from '../../schema/meta.ts';
import { IMPOSSIBLE_NAME } from '../../schema/name-patterns.ts';
import { RESERVED_NAMES_MESSAGE } from '../../schema/plain-variables.ts';
import { type PodPolicy, podPolicyBreaches } from '../../schema/pod-policy.ts';
import { type ReachRules, reachBreaches } from '../../schema/pod-reach.ts';
import { ResourceSpec } from '../../schema/resource-spec.ts';
import { Runtime } from '../../schema/runtime.ts';
import type { Settings } from '../../schema/settings.ts';
import {
  isSourceTaken,
  SOURCE_CONFIG_FIELDS,
  SOURCE_REVISION_FIELDS,
  SOURCE_RULES,
  SOURCES,
  type Source,
} from '../../schema/source-rules.ts';
import {
  duplicates,
  plainVariableBreaches,
  podBreaches,
  type SpecBreach,
  sizeBreaches,
  workerContainerBreaches,
} from '../../schema/spec-rules.ts';
import { apiTokenProblem } from '../record/api-access.ts';
import { limitViolations, missingExternal, workerViolations } from '../record/limits.ts';

export const TAG_IS_NEVER_PUSHED = 'build_on_push must be false for a tag';
export const IN_BOTH_LISTS = 'a name may be in secrets or in secret_references, not in both';

const LARGEST_VALUE_BYTES = 32 * 1024;
export const LARGEST_VALUES_BYTES = 512 * 1024;

function wrong(loc: FieldError['loc'], msg: string, type = 'value_error'): FieldError {
  return { loc, msg, type };
}

const UPLOAD = new RegExp(UPLOAD_PATTERN);

export function* nameRule({ name }: Draft): Generator<FieldError> {
  if (typeof name === 'string' && name.includes('--'))
    yield wrong(['name'], 'must not contain --, which names of child objects use', 'string_pattern_mismatch');
  if (name === IMPOSSIBLE_NAME)
    yield wrong(
      ['name'],
      `must not be ${IMPOSSIBLE_NAME}: its child objects would begin with ${IMPOSSIBLE_NAME}--, as encoded domains do`,
      'string_pattern_mismatch',
    );
}

function sourceOf(draft: Readonly<Record<string, unknown>>): Source | undefined {
  return SOURCES.find((source) => source === draft['source']);
}

export function hostingRule(hosting: Settings['hosting']): Rule {
  return function* (draft) {
    const source = sourceOf(draft);
    const hasListener = isSet(asObject(draft['source_config'])['listener_id']);
    if (source === undefined || isSourceTaken(source, hosting, hasListener)) return;
    // Answered with 400 when the rest of the body is valid (listenerMissing).
    if (source === 'external_docker') return;
    const allowed = SOURCES.filter((other) => isSourceTaken(other, hosting, false));
    yield wrong(
      ['source'],
      `source ${source} is not available: setting hosting is ${hosting}, which allows ${allowed.join(', ')}`,
    );
  };
}

/** Rules about the fields of each source. */
export function* sourceRules(draft: Draft): Generator<FieldError> {
  const source = sourceOf(draft);
  if (source === undefined) return;
  const rule = SOURCE_RULES[source];
  const config = asObject(draft['source_config']);
  const revision = asObject(draft['source_revision_config']);
  for (const field of rule.requiredConfig) {
    if (!isSet(config[snake(field)]))
      yield wrong(['source_config', snake(field)], `source ${source} needs ${snake(field)}`, 'missing');
  }
  for (const field of rule.requiredRevision) {
    if (!isSet(revision[snake(field)]))
      yield wrong(['source_revision_config', snake(field)], `source ${source} needs ${snake(field)}`, 'missing');
  }
  yield* foreignRules(source, draft);
  if (source === 'internal_template' && !isSet(revision['image_uri']) && !isSet(config['repo_url'])) {
    yield wrong(
      ['source_revision_config', 'image_uri'],
      'source internal_template needs image_uri or repo_url of a template',
      'missing',
    );
  }
  if (source === 'external_docker') yield* listenerRule(config);
  if (
    source === 'codehost' &&
    config['build_on_push'] === true &&
    String(revision['repo_ref']).startsWith('refs/tags/')
  ) {
    yield wrong(['source_config', 'build_on_push'], TAG_IS_NEVER_PUSHED);
  }
}

/** Fields that do not apply to this source. */
export function* foreignRules(source: Source, draft: Draft): Generator<FieldError> {
  const rule = SOURCE_RULES[source];
  const config = asObject(draft['source_config']);
  const revision = asObject(draft['source_revision_config']);
  for (const field of SOURCE_CONFIG_FIELDS.filter((other) => !rule.config.includes(other))) {
    if (isSet(config[snake(field)]))
      yield wrong(['source_config', snake(field)], `${snake(field)} does not apply to source ${source}`);
  }
  for (const field of SOURCE_REVISION_FIELDS.filter((other) => !rule.revision.includes(other))) {
    if (isSet(revision[snake(field)]))
      yield wrong(['source_revision_config', snake(field)], `${snake(field)} does not apply to source ${source}`);
  }
  if (!rule.secretReferences && asArray(draft['secret_references']).length > 0) {
    yield wrong(['secret_references'], 'secret_references apply only to source external_docker');
  }
  const upload = revision['source_tarball_path'];
  if (source === 'internal_source' && isSet(upload) && !(typeof upload === 'string' && UPLOAD.test(upload))) {
    yield wrong(['source_revision_config', 'source_tarball_path'], UPLOAD_MESSAGE);
  }
}

/** listener-rules.ts checks whether the listener belongs to the tenant. */
function* listenerRule(config: Readonly<Record<string, unknown>>): Generator<FieldError> {
  const namespace = asObject(config['listener_config'])['k8s_namespace'];
  if (isSet(config['listener_id']) !== isSet(namespace))
    yield wrong(['source_config', 'listener_config'], 'listener_id and listener_config must be given together');
}

/** The platform's limits. */
export function platformRule(settings: Settings): Rule {
  const { database, limits } = settings;
  return function* (draft) {
    const { resource_spec: spec, runtime, listener_id: listener } = asObject(draft['source_config']);
    if (asObject(runtime)['api_token'] === true) yield* apiTokenFindings(isSet(listener), settings);
    const resourceSpec = fromSnake(ResourceSpec, spec);
    yield* limitFindings(resourceSpec, limits);
    yield* workerLimitFindings({ runtime: fromSnake(Runtime, runtime), resourceSpec }, limits);
    const variables = [...asArray(draft['secrets']), ...asArray(draft['secret_references'])];
    if (!database.own)
      yield* externalFindings(
        variables.map((variable) => asObject(variable)['name']),
        runtime,
      );
  };
}

/** `before`: the record's present values, which are not checked again. */
export function* limitFindings(
  spec: ResourceSpec,
  limits: Settings['limits'],
  before: ResourceSpec = {},
): Generator<FieldError> {
  for (const { field, of, most } of limitViolations(spec, limits, before))
    yield wrong(
      ['source_config', 'resource_spec', snake(field)],
      `${of === undefined ? '' : `${of} `}must be at most ${most} on this platform`,
      'less_than_equal',
    );
}

/** The same of the named workers. `asked` has the custom resource's names. */
export function* workerLimitFindings(
  asked: Parameters<typeof workerViolations>[0],
  limits: Settings['limits'],
  before: Parameters<typeof workerViolations>[2] = {},
): Generator<FieldError> {
  for (const { worker, field, of, most } of workerViolations(asked, limits, before))
    yield wrong(
      ['source_config', 'runtime', 'workers', worker, snake(field)],
      `${of === undefined ? '' : `${of} `}must be at most ${most} on this platform`,
      'less_than_equal',
    );
}

/** A worker must not have the name of a container of the record. */
export function* workerContainerRule(draft: Draft): Generator<FieldError> {
  const { runtime, resource_spec: spec } = asObject(draft['source_config']);
  const resourceSpec = fromSnake(ResourceSpec, spec);
  for (const { at, message } of workerContainerBreaches({ workers: asObject(runtime)['workers'] }, resourceSpec))
    yield wrong(['source_config', 'runtime', ...at], message);
}

/** Rules of a platform that provides no databases. `names`: the names of all variables. */
export function* externalFindings(names: Iterable<unknown>, runtime: unknown): Generator<FieldError> {
  for (const part of missingExternal(names, runtime)) {
    const msg = `this platform provides no databases: set ${EXTERNAL_VARIABLES[part]}, or ${STORE_FIELDS[part]} of runtime to none`;
    yield wrong(['secrets'], msg, 'missing');
  }
}

/** A token for the HTTP API, where the pods can get and use one. */
export function* apiTokenFindings(isRemote: boolean, settings: Settings): Generator<FieldError> {
  const problem = apiTokenProblem(isRemote, settings);
  if (problem !== undefined) yield wrong(['source_config', 'runtime', 'api_token'], problem);
}

/** A limit must not be below its request. */
export function* sizeRule(draft: Draft): Generator<FieldError> {
  yield* podFindings(sizeBreaches(resourceSpecOf(draft), snake));
}

/** Volumes, mounts and containers. */
export function* podRules(draft: Draft): Generator<FieldError> {
  yield* podFindings(podBreaches(resourceSpecOf(draft)));
  const config = asObject(draft['source_revision_config']);
  for (const field of ['workflow_config_path', 'davit_file']) {
    const path = config[field];
    if (typeof path === 'string' && path.split('/').includes('..'))
      yield wrong(['source_revision_config', field], 'must stay inside the repository: no ..');
  }
}

/** Violations of the pod policy. */
export function policyRule(policy: PodPolicy): Rule {
  return function* (draft) {
    yield* podFindings(podPolicyBreaches(resourceSpecOf(draft), policy));
  };
}

/** Fields with an effect beyond the pods of a new deployment. */
export function reachRule(rules: ReachRules): Rule {
  return function* (draft) {
    yield* reachFindings(resourceSpecOf(draft), rules);
  };
}

/** The same for the fields that a change adds to `before`. Both have the custom resource's names. */
export function* reachFindings(
  spec: Readonly<Record<string, unknown>>,
  rules: ReachRules,
  before: Readonly<Record<string, unknown>> = {},
): Generator<FieldError> {
  yield* podFindings(reachBreaches(spec, rules, before));
}

/** The fields that are set, under the custom resource's names. */
function resourceSpecOf(draft: Draft): Readonly<Record<string, unknown>> {
  return fromSnake(ResourceSpec, asObject(draft['source_config'])['resource_spec']);
}

function* podFindings(breaches: Iterable<SpecBreach>): Generator<FieldError> {
  for (const { at, message } of breaches) {
    const [field, ...rest] = at;
    yield wrong(['source_config', 'resource_spec', snake(String(field)), ...rest], message);
  }
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

/** Plain variables, among themselves and beside the others of the record. */
export function* plainVariableRule(draft: Draft): Generator<FieldError> {
  const { env, runtime } = asObject(draft['source_config']);
  const variables = [...asArray(draft['secrets']), ...asArray(draft['secret_references'])];
  const names = new Set(variables.map((variable) => asObject(variable)['name']));
  const envNames = asObject(runtime)['env_names'];
  for (const { at, message } of plainVariableBreaches(env, names, { envNames }))
    yield wrong(['source_config', 'env', ...at], message);
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
