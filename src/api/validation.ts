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
import { SourceConfig } from '../kinds/app-deployment.ts';
import { patternOf, findingsOf as wordsOf } from '../kinds/findings.ts';
import { UUID_PATTERN } from '../kinds/primitives.ts';
import { isMergedAt } from '../runtime/http/casing.ts';
import { type FieldError, HttpError } from '../runtime/http/http-error.ts';
import { asObject } from '../runtime/json-value.ts';

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
  return (data: unknown) => ({ value: readPart(schema, data, part) });
};

function readPart<Schema extends z.ZodType>(schema: Schema, data: unknown, part: string): Findings | z.output<Schema> {
  const findings: FieldError[] = [];
  if (part === 'body') clean(data, [part], findings);
  // Rules judge keys one by one, which would take half a second for a body of a megabyte.
  if (findings.some(({ type }) => type === TOO_MANY)) return new Findings(findings);
  const parsed = schema.safeParse(data ?? undefined, { reportInput: true });
  if (!parsed.success) findings.push(...findingsOfError(parsed.error, [part], schema));
  return parsed.success && findings.length === 0 ? parsed.data : new Findings(findings);
}

/** A body that another request stands for, read as if it had been sent. Throws HttpError 422. */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: object): z.output<Schema> {
  const read = readPart(schema, structuredClone(body), 'body');
  if (read instanceof Findings) throw new HttpError(422, read.list);
  return read;
}

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

/** Keys of one object of a body. No schema allows more. */
const MOST_KEYS = 1000;
const TOO_MANY = 'too_long';

/** Limits the size of an answer to a body with many errors. */
const MOST_FINDINGS = 100;

/** Whether null has a meaning there: it resets a field, or removes a worker or a variable. Elsewhere null means absent. */
function keepsNulls([, list, ...below]: readonly (string | number)[]): boolean {
  if (below.length === 0) return false;
  if (list === 'set') return true;
  return list === 'secrets' ? below.length === 1 : list === 'source_config' && isMergedAt(SourceConfig, below);
}

/**
 * Removes nulls without a meaning and `__proto__` keys from a parsed body, and finds text that cannot be stored and objects with too many
 * keys. The body's depth
 * is limited when it is parsed (strict-json.ts).
 */
function clean(value: unknown, loc: readonly (string | number)[], findings: FieldError[]): void {
  if (typeof value === 'string') {
    if (!isText(value))
      findings.push({
        loc,
        msg: 'must be text without NUL characters or broken surrogate pairs',
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
  const hasMeaning = keepsNulls(loc);
  const keys = Object.keys(object);
  if (keys.length > MOST_KEYS) findings.push({ loc, msg: `must have at most ${MOST_KEYS} keys`, type: TOO_MANY });
  for (const key of keys.slice(0, MOST_KEYS)) {
    if (key === '__proto__' || (object[key] === null && !hasMeaning)) delete object[key];
    else if (!isText(key))
      findings.push({
        loc,
        msg: 'must not have keys with NUL characters or broken surrogate pairs',
        type: 'string_unicode',
      });
    else clean(object[key], [...loc, key], findings);
  }
}

function isText(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}

/** Locations of a deployment's id, where people send its name. */
const OF_DEPLOYMENT: readonly string[] = ['path.deployment_id', 'path.project_id'];
const BY_NAME = '; GET /v2/deployments?name=NAME finds a deployment by its name';

/** The errors of `value` as the API reports them. `loc` is its location in the request. */
export function findingsIn(schema: z.ZodType, value: unknown, loc: FieldError['loc']): FieldError[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  return parsed.success ? [] : findingsOfError(parsed.error, loc, schema);
}

function findingsOfError(error: z.ZodError, loc: FieldError['loc'], schema: z.ZodType): FieldError[] {
  const mistyped = new Set(error.issues.flatMap(({ code, path }) => (code === 'invalid_type' ? [String(path)] : [])));
  // A string has a length as well.
  const issues = error.issues.filter(({ code, path }) => !code.startsWith('too_') || !mistyped.has(String(path)));
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? unknownParameters(issue.keys, schema, loc) : findingsOf(issue, loc),
  );
}

/** An ignored filter would widen a list without the caller's knowledge. */
function unknownParameters(keys: readonly string[], schema: z.ZodType, loc: FieldError['loc']): FieldError[] {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const msg = `is not a parameter of this list; its parameters are ${known.length > 0 ? known.join(', ') : 'none'}`;
  return keys.map((key) => ({ loc: [...loc, key.slice(0, 100)], msg, type: 'extra_forbidden' }));
}

function findingsOf(issue: z.core.$ZodIssue, prefix: FieldError['loc']): FieldError[] {
  const findings = wordsOf(issue, prefix);
  if (issue.code !== 'invalid_format' || patternOf(issue) !== UUID_PATTERN) return findings;
  return findings.map((one) => (OF_DEPLOYMENT.includes(one.loc.join('.')) ? { ...one, msg: one.msg + BY_NAME } : one));
}

/** A rule over a whole payload, whose fields may have wrong types. Yields its errors. */
export type Rule = (draft: Draft) => Iterable<FieldError>;
export type Draft = Readonly<Record<string, unknown>>;

/** Adds rules to a schema: their errors are reported together with those of the schema. */
export function withRules<Schema extends z.ZodType>(schema: Schema, rules: readonly Rule[]): Schema {
  return schema.superRefine(
    (value, { addIssue }) => {
      const draft = asObject(value);
      for (const { loc, msg, type } of rules.flatMap((rule) => [...rule(draft)]))
        addIssue({ code: 'custom', path: [...loc], message: msg, params: { type } });
    },
    // Otherwise zod runs a rule only if the rest is valid, and callers would get the errors one at a time.
    { when: () => true },
  );
}
