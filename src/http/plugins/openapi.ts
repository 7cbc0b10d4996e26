// The OpenAPI 3.1 document, made from the routes' zod schemas, and the page to try it at. Works without a network.

import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';

const Problem = z
  .object({ detail: z.string().describe('One sentence that says what to do.') })
  .meta({ id: 'Problem', examples: [{ detail: 'A deployment named "shop" already exists.' }] });

const Finding = z.object({
  loc: z.array(z.union([z.string(), z.int()])).describe('Where: path, query or body, then the field.'),
  msg: z.string().describe('What is wrong, for people.'),
  type: z.string().describe('What is wrong, as a word for machines.'),
});

/** Part of what every route with a body answers (field-validation.ts). */
const Warned = z
  .object({
    warnings: z
      .array(Finding)
      .optional()
      .describe('Fields of the body that were ignored, with what was probably meant; absent where there is none.'),
  })
  .meta({
    id: 'Warned',
    examples: [
      {
        warnings: [
          {
            loc: ['body', 'source_config', 'resource_spec', 'max_scal'],
            msg: 'is not a known field: did you mean max_scale?',
            type: 'extra_forbidden',
          },
        ],
      },
    ],
  });

const ValidationProblem = z.object({ detail: z.array(Finding) }).meta({
  id: 'ValidationProblem',
  examples: [
    {
      detail: [
        {
          loc: ['body', 'source_config', 'resource_spec', 'cpu'],
          msg: 'must be at least 0.1',
          type: 'greater_than_equal',
        },
      ],
    },
  ],
});

const MEANINGS = {
  400: 'The body is not JSON.',
  401: 'No token, or one that the cluster does not know.',
  403: 'Not allowed, or no tenant chosen (X-Tenant-Id).',
  404: 'There is no such thing for this caller.',
  409: 'The name is taken, or somebody else changed it meanwhile.',
  412: 'The deployment has changed since its ETag was read.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  422: 'What is wrong, all of it at once.',
  424: 'The code host refused the credentials, or may not be asked.',
  429: 'Too many requests; see Retry-After.',
  500: 'Something went wrong inside Davit; its log has more under the x-request-id.',
  502: 'The code host or the registry cannot be reached, or its answer makes no sense.',
  503: 'The Kubernetes API server does not answer; see Retry-After.',
  504: 'The code host or the registry did not answer in time.',
} as const;
type Failure = Exclude<keyof typeof MEANINGS, 422>;

/** What such an answer says, for instance. */
const SENTENCES: Readonly<Record<Failure, string>> = {
  400: 'The body is not valid JSON at line 3, column 12.',
  401: 'Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".',
  403: "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use.",
  404: 'Deployment ID 99999999-0000-4000-8000-000000000009 not found.',
  409: 'A deployment named "shop" already exists.',
  412: 'Deployment "shop" is no longer the version that If-Match names. Read it, and send its present ETag.',
  413: 'The body is larger than 1 MiB.',
  415: 'Send the body as JSON, with the header Content-Type: application/json.',
  424: "The code host refused the integration's credentials.",
  429: 'More than 600 requests in a minute. Try again in 12 s.',
  500: 'Something went wrong inside Davit. Its log has more under the x-request-id of this answer.',
  502: 'The code host cannot be reached.',
  503: 'The Kubernetes API server does not answer, or asks to be left alone. Try again in 1 s.',
  504: 'The code host did not answer in time.',
};

type Failures<Status extends keyof typeof MEANINGS> = {
  [Code in Status]: Code extends Failure ? typeof Problem : typeof ValidationProblem;
};

/** Every route can answer these, whatever it does. */
const ALWAYS = [429, 500, 503] as const;
type Always = (typeof ALWAYS)[number];

/** The failures that a route can answer with, for its `response`; those that every route can are added. */
export function failures<Status extends Exclude<keyof typeof MEANINGS, Always>>(
  ...statuses: Status[]
): Failures<Status | Always> {
  return Object.fromEntries(
    [...statuses, ...ALWAYS].map((status) => [status, status === 422 ? ValidationProblem : Problem]),
  ) as Failures<Status | Always>;
}

/** What a stranger needs before the first request; the page shows it on top. */
const ABOUT = `Deployments on a Kubernetes cluster of your own.

**Who you are**: a Kubernetes token, for example of \`kubectl create token ACCOUNT -n TEAM --duration=1h\`. Davit does with it
what its owner may do, and nothing else. Press *Authorize* and give it as \`bearer\` or as \`apiKey\`; either will do.

**For whom**: \`X-Tenant-Id\` with a tenant's id or its namespace's name. Who may use only one tenant can leave it out.

**What goes wrong** is told as \`{"detail": "One sentence."}\`, and with 422 as a list of all findings, each with its place.
Every answer carries an \`x-request-id\`, by which Davit's log can be searched; one that you send is kept.

Unknown fields of a body are named in \`warnings\` of the answer, with the field that was probably meant. With
\`?fieldValidation=Strict\` they are refused with 422, with \`Ignore\` nothing is said of them.

Unknown query parameters are ignored, but for those of a list: they are refused with 422,
for an ignored filter would widen the list. So would one of two values, or an empty one: a parameter given twice is refused, but
for lists, which are joined, and an empty filter is, but for \`name_contains\`.`;

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Direction = 'input' | 'output';

/** The JSON Schema of a zod schema. Schemas with an id go to `named` and are referred to. */
function describe(schema: z.ZodType, io: Direction, named: Map<string, JsonSchema>): JsonSchema {
  const made = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => simplify(jsonSchema) });
  const moved = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _dialect, $defs: definitions = {}, ...root } = JSON.parse(moved) as JsonSchema;
  for (const [id, definition] of Object.entries(definitions)) named.set(id, definition as JsonSchema);
  return root;
}

/** For people: what may be null is of two types, no choice between two schemas; a bound that says only that numbers are exact is none. */
function simplify(schema: JsonSchema): void {
  // Rules for the API server's own validation are no part of this API.
  for (const key of Object.keys(schema)) if (key.startsWith('x-kubernetes-')) delete schema[key];
  // Answers may gain fields. Beside a $ref there is no type to tell an object by.
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const [one, other, ...more] = schema.anyOf ?? [];
  if (one?.type === undefined || other?.type !== 'null' || more.length > 0) return;
  delete schema.anyOf;
  const type = [one.type, 'null'] as never;
  Object.assign(schema, { ...one, ...schema, type, ...(one.enum && { enum: [...one.enum, null] }) });
}

/** What belongs to the organization has no tenant to choose. */
const ORGANIZATION_TAGS: readonly string[] = ['providers'];

const TENANT_HEADER = {
  'X-Tenant-Id': {
    type: 'string',
    description: "Tenant: its id, or its namespace's name. Needed by whoever may use more than one.",
  },
};

const IF_MATCH = {
  type: 'string',
  description:
    'ETag of an earlier answer. The request is refused with 412 where the deployment has been changed since.',
};
const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'A name for this request, such as a UUID. The same request with the same key gives what the first one made, never a second one.',
};
const ETAG = {
  type: 'string',
  description:
    'Version of what callers can change, for If-Match. It stays while only the status changes, so it is none for a cache.',
};
const RETRY_AFTER = { type: 'integer', description: 'Seconds until it is worth trying again.' };
const RETRIED: readonly string[] = ['429', '503'];

/** A route's schema for the document: JSON Schema instead of zod, failures with their meaning. */
function documented(schema: FastifySchema, named: Map<string, JsonSchema>): FastifySchema {
  const { body, params, querystring, response, ...rest } = schema;
  const described = (part: unknown, io: Direction): JsonSchema | undefined =>
    part instanceof z.ZodType ? describe(part, io, named) : undefined;
  const answers = Object.entries((response ?? {}) as Record<string, z.ZodType>).map(([status, answer]) => {
    const sentence = (SENTENCES as Readonly<Record<string, string>>)[status];
    const description = (MEANINGS as Readonly<Record<string, string>>)[status] ?? answer.description ?? 'Done.';
    if (answer instanceof z.ZodUndefined) return [status, { description, type: 'null' }] as const;
    return [
      status,
      {
        description,
        ...(RETRIED.includes(status) && { headers: { 'Retry-After': RETRY_AFTER } }),
        ...(answer.meta()?.id === 'Deployment' && { headers: { ETag: ETAG } }),
        content: {
          'application/json': {
            schema:
              body instanceof z.ZodType && status.startsWith('2')
                ? { allOf: [describe(answer, 'output', named), describe(Warned, 'output', named)] }
                : describe(answer, 'output', named),
            ...(sentence !== undefined && { example: { detail: sentence } }),
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
        // What can find another version takes the one that is meant.
        ...(rest.operationId === 'createDeployment' && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
        ...(answers.some(([status]) => status === '412') && { 'If-Match': IF_MATCH }),
      },
    },
    response: Object.fromEntries(answers),
  };
}

function takesNoBody({ body }: FastifySchema): boolean {
  return body instanceof z.ZodType && body.safeParse(undefined).success;
}

/** Before the routes: what is registered later is in the document. Routes with `schema.hide` are not. */
export async function registerOpenApi(app: FastifyInstance, basePath: string): Promise<void> {
  const named = new Map<string, JsonSchema>();
  /** Operations; of itself the document would say of every body that it is required. */
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
        { name: 'deployments', description: 'What is to run, and how it is.' },
        { name: 'revisions', description: 'What of it has been deployed, and how that went.' },
        { name: 'builds', description: 'What is uploaded to be built, or pushed to be run.' },
        { name: 'logs', description: 'What its pods wrote.' },
        { name: 'repositories', description: 'What a code host has that could be deployed.' },
        { name: 'providers', description: 'OAuth providers of the organization.' },
      ],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A Kubernetes token: Davit does with it what its owner may do.',
          },
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Api-Key',
            description: 'The same token, for clients that send it so.',
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

/** The page comes from here whole; its scripts set styles. It must work over plain HTTP on loopback too. */
const PAGE_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'";

/** The document, and the page to try the endpoints at. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json').send(JSON.stringify(app.swagger())),
  );
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    transformStaticCSP: () => PAGE_POLICY,
    uiConfig: { tryItOutEnabled: true, persistAuthorization: false, docExpansion: 'list', deepLinking: true },
    theme: {
      title: 'Davit API',
      // The bar shows the page's maker and a box for other documents: there is one document here.
      css: [{ filename: 'davit.css', content: '.swagger-ui .topbar { display: none }' }],
    },
  });
}
