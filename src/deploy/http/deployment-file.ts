// davit.yaml, one deployment beside its code: the fields of source_config and of source_revision_config stand at its top level, under
// the API's names. Its schema and its rules are those of a request, and it has no values of secrets.

import { z } from 'zod';
import { findingsIn } from '../../api/validation.ts';
import {
  type AppDeployment,
  AppDeploymentSpec,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
} from '../../kinds/app-deployment.ts';
import type { Finding } from '../../kinds/findings.ts';
import { DOUBLE_HYPHEN_MESSAGE, IMPOSSIBLE_NAME, IMPOSSIBLE_NAME_MESSAGE } from '../../kinds/name-patterns.ts';
import { listOf, oneOf, VariableName } from '../../kinds/primitives.ts';
import { FIXED_FIELDS, SOURCES, type Source } from '../../kinds/source-rules.ts';
import { ruleBreaches } from '../../kinds/spec-rules.ts';
import { fromSnake, merged, sentPath, snake, toSnake, withResets } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { unknownFields } from '../../runtime/http/unknown-fields.ts';
import { asArray, asObject, isObject, isSet } from '../../runtime/json-value.ts';
import { EMPTY_MAPS } from '../record/canonical.ts';
import { CreateDeploymentShape, MOST_SECRETS } from './payloads.ts';
import { variableRules } from './rules.ts';

/** Source of a file that names none: its folder is uploaded. */
export const DEFAULT_SOURCE: Source = 'internal_source';

const { name, secret_references } = CreateDeploymentShape.shape;
const CONFIG = CreateDeploymentShape.shape.source_config.shape;
// An upload names its own path, and a file does not name itself.
const {
  source_tarball_path: _ofUpload,
  davit_file: _itself,
  ...REVISION_CONFIG
} = CreateDeploymentShape.shape.source_revision_config.shape;

export const DeploymentFile = z
  .object({
    name: name.describe(`${name.description ?? ''} Default: the name of the folder.`).nullish(),
    source: oneOf(SOURCES)
      .describe(`Where the image comes from. Default: ${DEFAULT_SOURCE}: the folder is uploaded and built.`)
      .nullish(),
    ...REVISION_CONFIG,
    ...CONFIG,
    listener_config: CONFIG.listener_config.describe(SourceConfig.shape.listenerConfig.description ?? ''),
    secrets: listOf(VariableName, MOST_SECRETS)
      .describe('Names of the secret variables that the deployment needs. A file never has their values.')
      .nullish(),
    secret_references,
  })
  .describe(
    'Describes one deployment, in the folder of its code. Absent fields stay as they are in the deployment. In resource_spec and runtime, null resets a field to its default.',
  );
export type DeploymentFile = z.output<typeof DeploymentFile>;

/** The fields of a request to create or change a deployment that a file gives. Names of secrets are no part of it. */
export interface FileRequest {
  readonly source_config: Readonly<Record<string, unknown>>;
  readonly source_revision_config: Readonly<Record<string, unknown>>;
  readonly secret_references?: unknown;
}

export function requestOf(file: Readonly<Record<string, unknown>>): FileRequest {
  const of = (shape: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(file).filter(([field, value]) => Object.hasOwn(shape, field) && isSet(value)));
  return {
    source_config: of(CONFIG),
    source_revision_config: of(REVISION_CONFIG),
    ...of({ secret_references }),
  };
}

/**
 * The fields of source_config that change a deployment to what its file says. `there`: what it has now. A file that names one bound of a
 * scale wins over the other one, which somebody has set since: that goes back to its default.
 */
export function changeTo(config: FileRequest['source_config'], there: unknown): FileRequest['source_config'] {
  const { resource_spec: spec, runtime } = asObject(there);
  const { workers: _workers, ...ofRuntime } = asObject(config['runtime']);
  const workers = asObject(asObject(config['runtime'])['workers']);
  const hasWorkers = Object.keys(workers).length > 0;
  const present = asObject(asObject(runtime)['workers']);
  return {
    ...config,
    ...(isObject(config['resource_spec']) && { resource_spec: withFreeBounds(config['resource_spec'], spec) }),
    ...(hasWorkers && {
      runtime: {
        ...ofRuntime,
        workers: Object.fromEntries(
          Object.entries(workers).map(([worker, fields]) => [
            worker,
            isObject(fields) ? withFreeBounds(fields, present[worker]) : fields,
          ]),
        ),
      },
    }),
  };
}

/**
 * The request of a file that is the whole of its deployment: what `there`, the present file, has besides goes back to its default. What the
 * source needs stays, and so do secrets, whose values are in no file.
 */
export function wholeRequest(
  { source_config: config, ...rest }: FileRequest,
  there: Readonly<Record<string, unknown>>,
): FileRequest {
  const before = requestOf(there);
  const reset = Object.entries(asObject(withResets(SourceConfig, before.source_config, config)));
  return {
    ...rest,
    source_config: Object.fromEntries(
      reset.flatMap(([field, value]) => {
        if (value !== null) return [[field, value]];
        return FIXED.has(field) ? [] : [[field, emptyOf(before.source_config[field])]];
      }),
    ),
    ...(before.secret_references !== undefined && { secret_references: rest.secret_references ?? [] }),
  };
}

const FIXED: ReadonlySet<string> = new Set(FIXED_FIELDS.map(snake));

/** What a PATCH takes for none, as null changes nothing at its top. */
function emptyOf(before: unknown): unknown {
  if (typeof before === 'boolean') return false;
  return Array.isArray(before) ? [] : '';
}

function withFreeBounds(named: Readonly<Record<string, unknown>>, there: unknown): Readonly<Record<string, unknown>> {
  const bounds = Object.entries(named).flatMap(([field, value]) => {
    const other = field.replace(/(min|max)(?=_scale$)/, (bound) => (bound === 'min' ? 'max' : 'min'));
    const bound = asObject(there)[other];
    const isFree = other === field || named[other] !== undefined || typeof value !== 'number';
    if (isFree || typeof bound !== 'number') return [];
    return (field.endsWith('min_scale') ? bound < value : bound > value) ? [[other, null]] : [];
  });
  return { ...named, ...Object.fromEntries(bounds) };
}

/**
 * What is wrong with a file's content, by places in the file: with its schema, or else with its rules. Type extra_forbidden: its key is not
 * known. `sourceOf`: the source of a file that names none.
 */
export function fileFindings(
  content: unknown,
  sourceOf: (file: DeploymentFile) => Source = () => DEFAULT_SOURCE,
): Finding[] {
  const unknown = unknownFields({ body: DeploymentFile }, content).map(({ loc, ...rest }) => ({
    ...rest,
    loc: loc.slice(1),
  }));
  const ofSchema = findingsIn(DeploymentFile, content, []).map(namesAlone);
  return [...unknown, ...(ofSchema.length > 0 ? ofSchema : ruleFindings(content as DeploymentFile, sourceOf))];
}

function ruleFindings(file: DeploymentFile, sourceOf: (file: DeploymentFile) => Source): Finding[] {
  const secrets = (file.secrets ?? []).map((one) => ({ name: one }));
  const secretReferences = file.secret_references ?? [];
  const spec = {
    source: file.source ?? sourceOf(file),
    sourceConfig: fromSnake(SourceConfig, file),
    sourceRevisionConfig: fromSnake(SourceRevisionConfig, file),
    secrets,
    secretReferences,
  };
  // A file may leave out what its source needs: a deployment may have it.
  const ofSpec = Array.from(ruleBreaches(spec), ({ at, message }) => ({
    loc: sentPath(AppDeploymentSpec, at),
    msg: message,
    type: 'value_error',
  }));
  const ofVariables = variableRules({ secrets, secret_references: secretReferences });
  return [...nameFindings(file.name), ...ofSpec, ...ofVariables].map(({ loc, ...rest }) => ({
    ...rest,
    loc: placeInFile(loc, file),
  }));
}

function* nameFindings(given: unknown): Generator<Finding> {
  const type = 'string_pattern_mismatch';
  if (String(given).includes('--')) yield { loc: ['name'], msg: DOUBLE_HYPHEN_MESSAGE, type };
  if (given === IMPOSSIBLE_NAME) yield { loc: ['name'], msg: IMPOSSIBLE_NAME_MESSAGE, type };
}

/** The error for values of secrets in a file. */
function namesAlone(finding: Finding): Finding {
  const isOfSecrets = finding.loc[0] === 'secrets' && ['string_type', 'list_type'].includes(finding.type);
  if (!isOfSecrets) return finding;
  const at = finding.loc.length === 1 ? 'a list of names' : 'a name';
  return { ...finding, msg: `must be ${at}: the values of secrets do not belong in this file` };
}

/**
 * The place in the file of a place in a request. `lists`: the request's lists where they have more than those of the file, whose elements
 * are then found by their names.
 */
export function placeInFile(
  [first = '', ...rest]: FieldError['loc'],
  file: DeploymentFile,
  lists?: Readonly<Record<string, unknown>>,
): FieldError['loc'] {
  if (first === 'secrets') return [first, ...rest.slice(0, 1)];
  const [field = '', index, ...inner] = /^source_(?:revision_)?config$/.test(String(first)) ? rest : [first, ...rest];
  if (index === undefined) return field === '' ? [] : [field];
  const list = lists?.[field];
  if (typeof index !== 'number' || !Array.isArray(list)) return [field, index, ...inner];
  const { name: wanted } = asObject(list[index]);
  const at = asArray(asObject(file)[field]).findIndex((one) => asObject(one)['name'] === wanted);
  return at < 0 ? [field] : [field, at, ...inner];
}

/** What a file says of source_config, under the record's names. */
export function configIn(file: DeploymentFile): Readonly<Record<string, unknown>> {
  return { ...merged(SourceConfig, {}, file) };
}

/** The file that a record comes from: what it asks for, without defaults, and secrets by name. */
export function fileOf({ metadata, spec, status }: AppDeployment): Readonly<Record<string, unknown>> {
  const { sourceTarballPath: _ofUpload, davitFile: _itself, ...revision } = spec.sourceRevisionConfig;
  const { database, ...config } = toSnake(SourceConfig, spec.sourceConfig);
  // What was loaded is over: another deployment from this file begins empty.
  const restore = status?.databaseRestore?.restoredAt === undefined ? database?.restore : null;
  const asked = asObject(withoutNull({ ...database, restore }));
  const whole = {
    name: metadata.name,
    source: spec.source,
    ...toSnake(SourceRevisionConfig, revision),
    davit_file: undefined,
    ...config,
    tasks: config.tasks?.map(withoutUnset),
    secrets: spec.secrets.map((one) => one.name),
    secret_references: spec.secretReferences?.map((one) => toSnake(SecretReference, one)),
  };
  return { ...asObject(withoutUnset(whole)), ...(!isEmpty(asked) && { database: asked }) };
}

/** Leaves out null, and objects and lists that are empty without it. Elements of lists stay whole. */
export function withoutUnset(value: unknown): unknown {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).map(([field, inner]) => [field, withoutUnset(inner)] as const);
  return Object.fromEntries(kept.filter(([, inner]) => isSet(inner) && !isEmpty(inner)));
}

/** Removes null from an answer and the elements of its lists. Keeps empty objects that turn something on: `database: {backup: {}}`. */
export function withoutNull(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => withoutNull(one));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).map(([key, inner]) => [key, withoutNull(inner, key)] as const);
  const fields = Object.fromEntries(kept.filter(([, inner]) => isSet(inner)));
  return isEmpty(fields) && EMPTY_IS_NONE.has(field) ? undefined : fields;
}

const EMPTY_IS_NONE: ReadonlySet<string> = new Set([...EMPTY_MAPS].map(snake));

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
