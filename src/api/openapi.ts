// The OpenAPI 3.1 document, generated from the routes' zod schemas.

import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import { type JsonSchema, simplify } from './json-schema.ts';

const Problem = z
  .object({ detail: z.string().describe('One sentence with the cause and what to do.') })
  .meta({ id: 'Problem' });

const Finding = z.object({
  loc: z.array(z.union([z.string(), z.int()])).describe('Location: path, query or body, then the field.'),
  msg: z.string().describe('The error, for people.'),
  type: z.string().describe('The error, as a code for programs.'),
  line: z.int().optional().describe('Line in the text of a file, from 1.'),
  column: z.int().optional().describe('Column in that line, from 1.'),
});

/** Part of the answer of every route with a body (field-validation.ts). */
const Warned = z
  .object({
    warnings: z
      .array(Finding)
      .optional()
      .describe(
        'Fields of the body that were ignored, each with the field that was probably meant, and variables that a PATCH removed. Absent if there are none.',
      ),
  })
  .meta({
    id: 'Warned',
  });

const ValidationProblem = z.object({ detail: z.array(Finding) }).meta({
  id: 'ValidationProblem',
});

const MEANINGS = {
  400: 'The body is not valid JSON.',
  401: 'No token, or an invalid one.',
  403: 'The caller lacks the right, or named no tenant (X-Tenant-Id).',
  404: 'The object does not exist, or belongs to another tenant.',
  409: 'The name is taken, or the object was changed by another request meanwhile.',
  412: 'The deployment has changed since its ETag was read.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  422: 'The request is not valid. The answer lists the errors.',
  424: 'The code host or OAuth server rejected the credentials, or the platform does not allow the host.',
  429: 'Too many requests. See Retry-After.',
  500: "Internal error. Davit's log has the details under the x-request-id.",
  502: "The code host, the OAuth server, the registry or the listener's cluster cannot be reached, or its answer is not valid.",
  503: 'The Kubernetes API server does not answer. See Retry-After.',
  504: "The code host, the OAuth server, the registry or the listener's cluster did not answer in time.",
} as const;

/** The answer to a caller that has the present version. */
export const UNCHANGED = z
  .undefined()
  .describe('The answer has not changed since the ETag that was sent. It has no body.');

type Failures<Status extends keyof typeof MEANINGS> = {
  [Code in Status]: Code extends 422 ? typeof ValidationProblem : typeof Problem;
};

/** Errors that every route can answer with. */
const ALWAYS = [429, 500, 503] as const;
type Always = (typeof ALWAYS)[number];

/** The errors of a route for its `response`, with those that every route can answer with. */
export function failures<Status extends Exclude<keyof typeof MEANINGS, Always>>(
  ...statuses: Status[]
): Failures<Status | Always> {
  return Object.fromEntries(
    [...statuses, ...ALWAYS].map((status) => [status, status === 422 ? ValidationProblem : Problem]),
  ) as Failures<Status | Always>;
}

/** Introduction of the document, which the page shows at the top. */
const ABOUT = `Deployments on a Kubernetes cluster of your own.

**Authentication**: a Kubernetes token, for example from \`kubectl create token ACCOUNT -n TEAM --duration=1h\`. Davit acts
with the rights of its owner only. Send it as \`Authorization: Bearer TOKEN\` or as \`X-Api-Key: TOKEN\`. The answer to \`HEAD\` of the
deployments, or of one deployment, lists in \`Allow\` the methods that you may use.

**Tenant**: the header \`X-Tenant-Id\` with a tenant's id or its namespace's name. A caller who may use only one tenant can omit it.

**Errors** are \`{"detail": "One sentence."}\`. For 422, \`detail\` lists all errors of the schema, or else all errors of the rules, each with its location.
Every answer has an \`x-request-id\`, which is also in Davit's log. An id that you send is kept.

Unknown fields of a body are listed in \`warnings\` of the answer, each with the field that was probably meant. With
\`?fieldValidation=Strict\` they are rejected with 422, with \`Ignore\` they are ignored.

Unknown query parameters are ignored, except by lists, which reject them with 422, because an ignored filter would widen the list.
For the same reason lists reject an empty filter, other than \`name_contains\`, and a filter that is given twice, unless it takes several values.`;

declare module 'fastify' {
  interface FastifySchema {
    /** Whether the route takes an Idempotency-Key. */
    readonly isKeyed?: true;
  }
}

type Direction = 'input' | 'output';

/** The JSON Schema of a zod schema. Schemas with an id are added to `named` and referenced. */
function describe(schema: z.ZodType, io: Direction, named: Map<string, JsonSchema>): JsonSchema {
  const made = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => simplify(jsonSchema) });
  const moved = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _dialect, $defs: definitions = {}, ...root } = JSON.parse(moved) as JsonSchema;
  for (const [id, definition] of Object.entries(definitions)) named.set(id, definition as JsonSchema);
  return root;
}

/** Endpoints of the organization have no tenant. */
const ORGANIZATION_TAGS: readonly string[] = ['providers'];

const TENANT_HEADER = {
  'X-Tenant-Id': {
    type: 'string',
    description: "Tenant: its id, or its namespace's name. Required if the caller may use more than one.",
  },
};

const IF_MATCH = {
  type: 'string',
  description: 'ETag of an earlier answer. The request is rejected with 412 if the deployment was changed since.',
};
const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'A unique key of this request, such as a UUID. A repeated request with the same key returns the object that the first one created.',
};
const IF_NONE_MATCH = {
  type: 'string',
  description: 'ETag of an earlier answer. If it is still the present one, the answer is 304 without a body.',
};
const ETAG = { type: 'string', description: 'Version of the answer, for If-None-Match.' };
const DEPLOYMENT_ETAG = {
  type: 'string',
  description:
    'Version of the deployment, for If-Match. For a GET without values of secrets, also for If-None-Match: it then changes with the status too, which If-Match ignores.',
};
const RETRY_AFTER = { type: 'integer', description: 'Seconds until the next attempt.' };
const RETRIED: readonly string[] = ['429', '503'];

/** A route's schema for the document: JSON Schema instead of zod, and a description of each error. */
function documented(schema: FastifySchema, named: Map<string, JsonSchema>): FastifySchema {
  const { body, params, querystring, response, isKeyed, ...rest } = schema;
  const described = (part: unknown, io: Direction): JsonSchema | undefined =>
    part instanceof z.ZodType ? describe(part, io, named) : undefined;
  const isConditional = response !== undefined && '304' in (response as object);
  const answers = Object.entries((response ?? {}) as Record<string, z.ZodType>).map(([status, answer]) => {
    const description = (MEANINGS as Readonly<Record<string, string>>)[status] ?? answer.description ?? 'Done.';
    if (answer instanceof z.ZodUndefined) return [status, { description, type: 'null' }] as const;
    return [
      status,
      {
        description,
        ...(RETRIED.includes(status) && { headers: { 'Retry-After': RETRY_AFTER } }),
        ...(answer.meta()?.id === 'Deployment'
          ? { headers: { ETag: DEPLOYMENT_ETAG } }
          : status === '200' && isConditional && { headers: { ETag: ETAG } }),
        content: {
          'application/json': {
            schema:
              body instanceof z.ZodType && status.startsWith('2')
                ? { allOf: [describe(answer, 'output', named), describe(Warned, 'output', named)] }
                : describe(answer, 'output', named),
          },
        },
      },
    ] as const;
  });
  return {
    ...rest,
    ...(body !== undefined && { body: described(body, 'input') }),
    ...(params !== undefined && { params: described(params, 'input') }),
    ...(querystring !== undefined && { querystring: described(querystring, 'input') }),
    headers: {
      type: 'object',
      properties: {
        ...(rest.tags?.some((tag) => ORGANIZATION_TAGS.includes(tag)) !== true && TENANT_HEADER),
        ...(isKeyed && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
        // Every route that can answer 412 accepts If-Match.
        ...(answers.some(([status]) => status === '412') && { 'If-Match': IF_MATCH }),
        ...(isConditional && { 'If-None-Match': IF_NONE_MATCH }),
      },
    },
    response: Object.fromEntries(answers),
  };
}

function takesNoBody({ body }: FastifySchema): boolean {
  return body instanceof z.ZodType && body.safeParse(undefined).success;
}

/** Call it before the routes are registered. Routes with `schema.hide` are not in the document. */
export async function registerOpenApi(app: FastifyInstance, basePath: string): Promise<void> {
  const named = new Map<string, JsonSchema>();
  /** Operations without a required body. By default the document declares every body as required. */
  const bodyOptional = new Set<string>();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Davit',
        version: '1',
        description: ABOUT,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: basePath === '' ? '/' : basePath }],
      security: [{ bearer: [] }, { apiKey: [] }],
      tags: [
        { name: 'deployments', description: 'Deployments and their status.' },
        { name: 'revisions', description: 'The revisions of a deployment and their rollouts.' },
        { name: 'builds', description: 'Uploads of sources, and pushes of images.' },
        { name: 'listeners', description: 'Further clusters that deployments may run in.' },
        { name: 'logs', description: 'Logs of pods and builds.' },
        { name: 'platform', description: 'What the platform offers.' },
        { name: 'repositories', description: 'Repositories of code hosts that can be deployed.' },
        { name: 'providers', description: 'OAuth providers of the organization.' },
        { name: 'tokens', description: 'Tokens for agents on behalf of people.' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A Kubernetes token. Davit acts with the rights of its owner.',
          },
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Api-Key',
            description: 'The same token, for clients that send this header.',
          },
        },
      },
    },
    transform: ({ schema, url }) => {
      if (schema === undefined || schema.hide === true) return { schema, url };
      if (takesNoBody(schema)) bodyOptional.add(schema.operationId ?? '');
      return { schema: documented(schema, named), url };
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject;
      const { openapiObject } = document;
      for (const path of Object.values(openapiObject.paths ?? {})) {
        const { post } = path ?? {};
        if (post?.requestBody && 'content' in post.requestBody && bodyOptional.has(post.operationId ?? ''))
          post.requestBody.required = false;
      }
      return {
        ...openapiObject,
        components: { ...openapiObject.components, schemas: Object.fromEntries(named) },
      } as typeof openapiObject;
    },
  });
}

export function registerDocument(app: FastifyInstance): void {
  // One buffer for all answers, however many wait to be read.
  let document: Buffer | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(app.swagger()));
    return reply.type('application/json').send(document);
  });
}
