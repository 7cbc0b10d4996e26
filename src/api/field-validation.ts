// The query parameter fieldValidation, as in Kubernetes: how unknown fields of a body are handled. It applies to every route with a
// body, by the route's schemas.

import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { FieldError } from '../runtime/http/http-error.ts';
import { type RouteSchemas, unknownFields } from '../runtime/http/unknown-fields.ts';
import { FURTHER_FINDINGS } from './validation.ts';

const FieldValidation = z.object({
  fieldValidation: z.enum(['Ignore', 'Warn', 'Strict']).default('Warn').meta({
    default: 'Warn',
    description:
      'How unknown fields of the body are handled. Warn: the answer lists them in warnings. Strict: the request is rejected with 422. Ignore: they are ignored.',
  }),
});

const WARNINGS: unique symbol = Symbol('warnings');

declare module 'fastify' {
  interface FastifyRequest {
    [WARNINGS]: readonly FieldError[] | undefined;
  }
}

/** Call it before the routes are registered. */
export function registerFieldValidation(app: FastifyInstance): void {
  app.decorateRequest(FURTHER_FINDINGS, undefined);
  app.decorateRequest(WARNINGS, undefined);
  app.addHook('onRoute', (route) => {
    const schemas = schemasOf(route.schema);
    if (schemas === undefined) return;
    const { querystring } = route.schema ?? {};
    const query = querystring instanceof z.ZodObject ? querystring.extend(FieldValidation.shape) : FieldValidation;
    route.schema = { ...route.schema, querystring: query };
    // After the route's own hooks, which rename aliases, and before the schema, which drops unknown fields.
    route.preValidation = [...[route.preValidation ?? []].flat(), checkBy(schemas)];
    route.preSerialization = [...[route.preSerialization ?? []].flat(), showWarnings];
  });
}

/** Adds warnings to the answer of a request with a body. */
export function addWarnings(request: FastifyRequest, warnings: readonly FieldError[]): void {
  request[WARNINGS] = [...(request[WARNINGS] ?? []), ...warnings];
}

function schemasOf({ body, response }: FastifySchema = {}): RouteSchemas | undefined {
  const good = Object.entries((response ?? {}) as Readonly<Record<string, unknown>>).find(([status]) =>
    status.startsWith('2'),
  )?.[1];
  return body instanceof z.ZodType ? { body, answer: good instanceof z.ZodType ? good : undefined } : undefined;
}

type Done = (error: null, payload?: unknown) => void;

function checkBy(schemas: RouteSchemas): (request: FastifyRequest, reply: unknown, done: () => void) => void {
  return (request, _reply, done) => {
    const { fieldValidation } = request.query as { readonly fieldValidation?: unknown };
    if (fieldValidation !== 'Ignore') {
      const unknown = unknownFields(schemas, request.body);
      request[fieldValidation === 'Strict' ? FURTHER_FINDINGS : WARNINGS] = unknown;
    }
    done();
  };
}

/** Errors get warnings too: a misspelt field may be the cause. */
function showWarnings(
  { [WARNINGS]: warnings = [] }: FastifyRequest,
  _reply: unknown,
  payload: unknown,
  done: Done,
): void {
  done(null, warnings.length === 0 ? payload : { ...(payload as object), warnings });
}
