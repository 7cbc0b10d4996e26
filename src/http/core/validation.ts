// zod between Fastify and the handlers: requests are parsed by their route's zod schemas, all findings of all parts
// come back at once as one 422, answers are typed by them and sent as they are.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  FastifySerializerCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from 'fastify';
import { z } from 'zod';
import { NAME_PATTERN } from '../../api/app-deployment.ts';
import { HTTPS_URL_PATTERN, PROVIDER_ID_PATTERN } from '../../api/oauth-provider.ts';
import {
  DNS_LABEL_PATTERN,
  DNS_SUBDOMAIN_PATTERN,
  HOST_URL_OR_EMPTY_PATTERN,
  HOST_URL_PATTERN,
  IMAGE_PATTERN,
  PRINTABLE_PATTERN,
  UUID_PATTERN,
  VARIABLE_NAME_PATTERN,
} from '../../api/primitives.ts';
import { HEALTH_PATH_PATTERN, RUNTIME_PARTS } from '../../api/runtime.ts';
import { type FieldError, HttpError } from './http-error.ts';

export interface ZodTypeProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
  readonly serializer: this['schema'] extends z.ZodType ? Sent<z.input<this['schema']>> : unknown;
}

/** Fastify whose routes are typed by their zod schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** No answer is no text either. */
type Sent<T> = undefined extends T ? T : T | JsonText<T>;

/** An answer of type T that is JSON already, as it is to be sent; bytes are UTF-8. */
export class JsonText<T> {
  declare readonly of: T;
  readonly text: Buffer | string;
  constructor(text: Buffer | string) {
    this.text = text;
  }
}

/** What became of a part of a request that is wrong, until the other parts have been looked at too. */
class Findings {
  readonly list: readonly FieldError[];
  constructor(list: readonly FieldError[]) {
    this.list = list;
  }
}

/** Fastify stops at the first part that is refused; so a wrong part passes here, as its findings, and refuseFindings refuses. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = { params: 'path', querystring: 'query' }[httpPart ?? ''] ?? httpPart ?? 'body';
  return (data: unknown) => {
    const findings: FieldError[] = [];
    if (part === 'body') clean(data, [part], findings);
    const parsed = schema.safeParse(data ?? undefined, { reportInput: true });
    if (!parsed.success) findings.push(...findingsOfError(parsed.error, [part], schema));
    return { value: findings.length > 0 ? new Findings(findings) : parsed.data };
  };
};

/** What is wrong with a body that its schema does not find (field-validation.ts). */
export const FURTHER_FINDINGS: unique symbol = Symbol('further findings');

declare module 'fastify' {
  interface FastifyRequest {
    [FURTHER_FINDINGS]: readonly FieldError[] | undefined;
  }
}

/** preHandler: one 422 with everything that is wrong with path, query and body. */
export function refuseFindings(request: FastifyRequest, _reply: FastifyReply, done: (error?: HttpError) => void): void {
  const parts: unknown[] = [request.params, request.query, request.body];
  const ofSchemas = parts.flatMap((part) => (part instanceof Findings ? part.list : []));
  const findings = [...ofSchemas, ...(request[FURTHER_FINDINGS] ?? [])];
  done(findings.length > 0 ? new HttpError(422, findings.slice(0, MOST_FINDINGS)) : undefined);
}

/** Answers are typed by their schema; tests check them against it. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> = () => (data) =>
  // Fastify sends a Buffer as it is; only its types don't know.
  data instanceof JsonText ? (data.text as unknown as string) : JSON.stringify(data);

/** A body of nothing but mistakes must not make an answer larger than itself. */
const MOST_FINDINGS = 100;

/** In what is merged field by field null sets a field back; everywhere else null and absent are the same. */
const MERGED: ReadonlySet<string> = new Set([
  'body.source_config.resource_spec',
  'body.source_config.runtime',
  ...Object.keys(RUNTIME_PARTS).map((part) => `body.source_config.runtime.${part}`),
]);

function isMerged(loc: readonly (string | number)[]): boolean {
  return loc.length <= 4 && MERGED.has(loc.join('.'));
}

/**
 * Takes nulls that say nothing out of a parsed body and keys that would be a prototype, and finds text that cannot be
 * stored. The body's depth is limited where it is parsed (strict-json.ts).
 */
function clean(value: unknown, loc: readonly (string | number)[], findings: FieldError[]): void {
  if (typeof value === 'string') {
    if (!isText(value))
      findings.push({
        loc,
        msg: 'must be text without NUL characters and broken surrogate pairs',
        type: 'string_unicode',
      });
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => clean(item, [...loc, index], findings));
    return;
  }
  const object = value as Record<string, unknown>;
  const keepsNulls = isMerged(loc);
  for (const key of Object.keys(object)) {
    if (key === '__proto__' || (object[key] === null && !keepsNulls)) delete object[key];
    else if (!isText(key))
      findings.push({
        loc,
        msg: 'must not have a key with NUL characters or broken surrogate pairs',
        type: 'string_unicode',
      });
    else clean(object[key], [...loc, key], findings);
  }
}

function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}

/** What a value of each pattern looks like, for people. */
const PATTERNS: Readonly<Record<string, string>> = {
  [NAME_PATTERN]:
    'must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit',
  [UUID_PATTERN]: 'must be a UUID',
  [IMAGE_PATTERN]: 'must be an image reference such as registry.example.com/team/app:1.2',
  [HOST_URL_PATTERN]: 'must be https://host or a bare host in lower case, without path, port or user',
  [HOST_URL_OR_EMPTY_PATTERN]:
    'must be https://host or a bare host in lower case, without path, port or user, or "" to take it away',
  [VARIABLE_NAME_PATTERN]:
    'must be the name of an environment variable: letters, digits and _, not beginning with a digit',
  [DNS_LABEL_PATTERN]: 'must be lower-case letters, digits and -, beginning and ending with a letter or digit',
  [DNS_SUBDOMAIN_PATTERN]: 'must be lower-case letters, digits, - and ., beginning and ending with a letter or digit',
  [HTTPS_URL_PATTERN]: 'must be an absolute https URL without user, password and fragment',
  [PROVIDER_ID_PATTERN]:
    'must be lower-case letters, digits and single hyphens, beginning and ending with a letter or digit',
  [PRINTABLE_PATTERN]: 'must not contain control characters',
  [HEALTH_PATH_PATTERN]: 'must be a path such as /ok: it begins with / and has no spaces and no #',
};

/** Places of a deployment's id, where people send its name. */
const OF_DEPLOYMENT: readonly string[] = ['path.deployment_id', 'path.project_id'];
const BY_NAME = '; GET /v2/deployments?name=NAME finds a deployment by its name';

const TYPES: Readonly<Record<string, readonly [msg: string, type: string]>> = {
  string: ['must be a string', 'string_type'],
  int: ['must be an integer', 'int_type'],
  number: ['must be a number', 'float_type'],
  boolean: ['must be true or false', 'bool_type'],
  array: ['must be an array', 'list_type'],
  object: ['must be an object', 'dict_type'],
  record: ['must be an object', 'dict_type'],
};

/** What is wrong with `value`, in the words of the API. `loc` is where it stands in the request. */
export function findingsIn(schema: z.ZodType, value: unknown, loc: FieldError['loc']): FieldError[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  return parsed.success ? [] : findingsOfError(parsed.error, loc, schema);
}

function findingsOfError(error: z.ZodError, loc: FieldError['loc'], schema: z.ZodType): FieldError[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? unknownParameters(issue.keys, schema, loc) : findingsOf(issue, loc),
  );
}

/** An ignored filter widens a list, and whoever sent it takes what comes for what was asked for. */
function unknownParameters(keys: readonly string[], schema: z.ZodType, loc: FieldError['loc']): FieldError[] {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const msg = `is no parameter: this list takes ${known.length > 0 ? known.join(', ') : 'none'}`;
  return keys.map((key) => ({ loc: [...loc, key.slice(0, 100)], msg, type: 'extra_forbidden' }));
}

/** One zod issue in the words of the API. Nothing of the input is repeated: it may be a secret. */
function findingsOf(issue: z.core.$ZodIssue, prefix: readonly (string | number)[]): FieldError[] {
  const loc = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  const finding = (msg: string, type: string): FieldError[] => [{ loc, msg, type }];
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return finding('is required', 'missing');
      // A query has no other numbers, and what is no number at all fails as one.
      const expected = issue.expected === 'number' && prefix[0] === 'query' ? 'int' : issue.expected;
      const [msg, type] = TYPES[expected] ?? [`must be of type ${issue.expected}`, 'value_error'];
      return finding(msg, type);
    }
    case 'invalid_value':
      if (issue.input === undefined) return finding('is required', 'missing');
      return finding(`must be one of ${issue.values.map(String).join(', ')}`, 'enum');
    case 'too_small':
      if (issue.origin === 'string')
        return finding(
          issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`,
          'string_too_short',
        );
      if (issue.origin === 'array') return finding(`must have at least ${issue.minimum} items`, 'too_short');
      return finding(`must be at least ${issue.minimum}`, 'greater_than_equal');
    case 'too_big':
      if (issue.origin === 'string') return finding(`must have at most ${issue.maximum} characters`, 'string_too_long');
      if (issue.origin === 'array') return finding(`must have at most ${issue.maximum} items`, 'too_long');
      return finding(`must be at most ${issue.maximum}`, 'less_than_equal');
    case 'invalid_format': {
      if (issue.format === 'datetime')
        return finding('must be a time such as 2026-01-01T00:00:00Z', 'datetime_parsing');
      const pattern = issue.pattern?.replace(/^\/(.*)\/[a-z]*$/s, '$1').replaceAll('\\/', '/') ?? '';
      const hint = pattern === UUID_PATTERN && OF_DEPLOYMENT.includes(loc.join('.')) ? BY_NAME : '';
      return finding(`${PATTERNS[pattern] ?? `must match ${pattern}`}${hint}`, 'string_pattern_mismatch');
    }
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) => findingsOf({ ...inner, path: [...issue.path, ...inner.path] }, prefix));
    case 'invalid_union':
      return finding('is of none of the types that it may be', 'value_error');
    case 'custom':
      return finding(issue.message, typeof issue.params?.['type'] === 'string' ? issue.params['type'] : 'value_error');
    default:
      return finding(issue.message, 'value_error');
  }
}

/** A rule over a whole payload: finds what is wrong with one that may not even have the right types. */
export type Rule = (draft: Draft) => Iterable<FieldError>;
export type Draft = Readonly<Record<string, unknown>>;

/** Makes rules part of a schema, so that what they find comes together with what the schema finds. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule[]): Schema {
  const check = z.core._check<z.output<Schema>>((payload) => {
    const draft = asObject(payload.value);
    for (const { loc, msg, type } of rules.flatMap((rule) => [...rule(draft)])) {
      payload.issues.push({ code: 'custom', path: [...loc], message: msg, params: { type }, input: payload.value });
    }
  });
  // Without this a rule waits until the rest is right, and people get their findings one at a time.
  check._zod.def.when = () => true;
  return schema.check(check) as Schema;
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
