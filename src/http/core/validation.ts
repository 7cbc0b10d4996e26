// Connects zod to Fastify: requests are validated by their route's zod schemas, and one 422 contains the errors of path, query and
// body. Answers are typed by the schemas, and sent without validation.

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
import { asObject } from '../../api/json-value.ts';
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
import { snake } from './casing.ts';
import { type FieldError, HttpError } from './http-error.ts';

export interface ZodTypeProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
  readonly serializer: this['schema'] extends z.ZodType ? Sent<z.input<this['schema']>> : unknown;
}

/** Fastify with routes that are typed by their zod schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** A route without an answer has no JSON text either. */
type Sent<T> = undefined extends T ? T : T | JsonText<T>;

/** An answer of type T that is serialized already. Bytes are UTF-8. */
export class JsonText<T> {
  declare readonly of: T;
  readonly text: Buffer | string;
  constructor(text: Buffer | string) {
    this.text = text;
  }
}

/** The errors of a part of a request, in place of its value until the other parts are validated too. */
class Findings {
  readonly list: readonly FieldError[];
  constructor(list: readonly FieldError[]) {
    this.list = list;
  }
}

/** Fastify stops at the first invalid part. So an invalid part passes here as Findings, and refuseFindings rejects the request. */
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

/** Errors of a body that its schema does not find (field-validation.ts). */
export const FURTHER_FINDINGS: unique symbol = Symbol('further findings');

declare module 'fastify' {
  interface FastifyRequest {
    [FURTHER_FINDINGS]: readonly FieldError[] | undefined;
  }
}

/** preHandler: rejects a request with one 422 that contains all errors of path, query and body. */
export function refuseFindings(request: FastifyRequest, _reply: FastifyReply, done: (error?: HttpError) => void): void {
  const parts: unknown[] = [request.params, request.query, request.body];
  const ofSchemas = parts.flatMap((part) => (part instanceof Findings ? part.list : []));
  const findings = [...ofSchemas, ...(request[FURTHER_FINDINGS] ?? [])];
  done(findings.length > 0 ? new HttpError(422, findings.slice(0, MOST_FINDINGS)) : undefined);
}

/** Answers are typed by their schema. Only tests validate them. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> = () => (data) =>
  // Fastify sends a Buffer unchanged, though its types do not allow one.
  data instanceof JsonText ? (data.text as unknown as string) : JSON.stringify(data);

/** Limits the size of an answer to a body with many errors. */
const MOST_FINDINGS = 100;

/** The objects that are merged field by field: null resets a field there. Elsewhere null means absent. */
const MERGED: ReadonlySet<string> = new Set([
  'body.source_config.resource_spec',
  'body.source_config.runtime',
  ...Object.keys(RUNTIME_PARTS).map((part) => `body.source_config.runtime.${snake(part)}`),
]);

function isMerged(loc: readonly (string | number)[]): boolean {
  // A variable of a list: null as its value removes it (secrets_mode merge), or is an error.
  const isVariable = loc.length === 3 && loc[1] === 'secrets';
  return isVariable || (loc.length <= 4 && MERGED.has(loc.join('.')));
}

/**
 * Removes nulls without a meaning and `__proto__` keys from a parsed body, and finds text that cannot be stored. The body's depth
 * is limited when it is parsed (strict-json.ts).
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

/** The message for a value that does not match the pattern. */
const PATTERNS: Readonly<Record<string, string>> = {
  [NAME_PATTERN]:
    'must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit',
  [UUID_PATTERN]: 'must be a UUID',
  [IMAGE_PATTERN]: 'must be an image reference such as registry.example.com/team/app:1.2',
  [HOST_URL_PATTERN]: 'must be https://host or a bare host in lower case, without path, port or user',
  [HOST_URL_OR_EMPTY_PATTERN]:
    'must be https://host or a bare host in lower case, without path, port or user, or "" to remove it',
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

/** Locations of a deployment's id, where people send its name. */
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

/** The errors of `value` as the API reports them. `loc` is its location in the request. */
export function findingsIn(schema: z.ZodType, value: unknown, loc: FieldError['loc']): FieldError[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  return parsed.success ? [] : findingsOfError(parsed.error, loc, schema);
}

function findingsOfError(error: z.ZodError, loc: FieldError['loc'], schema: z.ZodType): FieldError[] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? unknownParameters(issue.keys, schema, loc) : findingsOf(issue, loc),
  );
}

/** An ignored filter would widen a list without the caller's knowledge. */
function unknownParameters(keys: readonly string[], schema: z.ZodType, loc: FieldError['loc']): FieldError[] {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const msg = `is not a parameter of this list; its parameters are ${known.length > 0 ? known.join(', ') : 'none'}`;
  return keys.map((key) => ({ loc: [...loc, key.slice(0, 100)], msg, type: 'extra_forbidden' }));
}

/** Converts a zod issue. The message contains nothing of the input, which may be a secret. */
function findingsOf(issue: z.core.$ZodIssue, prefix: readonly (string | number)[]): FieldError[] {
  const loc = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  const finding = (msg: string, type: string): FieldError[] => [{ loc, msg, type }];
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return finding('is required', 'missing');
      // All numbers of a query are integers, and text that is not a number fails as number.
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
      return finding('has none of the allowed types', 'value_error');
    case 'custom':
      return finding(issue.message, typeof issue.params?.['type'] === 'string' ? issue.params['type'] : 'value_error');
    default:
      return finding(issue.message, 'value_error');
  }
}

/** A rule over a whole payload, whose fields may have wrong types. Yields its errors. */
export type Rule = (draft: Draft) => Iterable<FieldError>;
export type Draft = Readonly<Record<string, unknown>>;

/** Adds rules to a schema: their errors are reported together with those of the schema. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule[]): Schema {
  const check = z.core._check<z.output<Schema>>((payload) => {
    const draft = asObject(payload.value);
    for (const { loc, msg, type } of rules.flatMap((rule) => [...rule(draft)])) {
      payload.issues.push({ code: 'custom', path: [...loc], message: msg, params: { type }, input: payload.value });
    }
  });
  // Otherwise zod runs a rule only if the rest is valid, and callers would get the errors one at a time.
  check._zod.def.when = () => true;
  return schema.check(check) as Schema;
}
