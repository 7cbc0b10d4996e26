// What every route answers to what no route can use. The routes are those of the OpenAPI document, so that a new one is
// here on its own.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBody, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const facade = await makeFacade();
const MISSING = '99999999-0000-4000-8000-000000000009';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly format?: string; readonly pattern?: string };
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean };
  readonly responses: Readonly<Record<string, { readonly content: { readonly 'application/json': Content } }>>;
}

interface Content {
  readonly schema?: { readonly type?: string; readonly $ref?: string };
}

interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly operation: Operation;
}

interface Shape {
  readonly properties: Readonly<Record<string, { readonly type?: string | readonly string[] }>>;
}

const { paths, components } = (await facade.app.inject('/openapi.json')).json<{
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Shape> };
}>();
const routes: Route[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase() as Route['method'],
    path,
    operation,
  })),
);
/** The path with this id, and with a name where it takes one. */
function withId(path: string, id: string): string {
  return path
    .replaceAll('{secret_name}', 'KEY')
    .replaceAll('{task_name}', 'clean')
    .replaceAll('{operation_name}', 'shop-1')
    .replaceAll('{run_name}', 'shop--run-1')
    .replaceAll(/\{\w+\}/g, id);
}
/** Whose answer has many of one kind. */
function isList({ operation }: Route): boolean {
  const schema = operation.responses['200']?.content['application/json'].schema;
  return schema?.type === 'array' || /(List|Logs|LogEntries)$/.test(schema?.$ref ?? '');
}
const reads = routes.filter(({ method }) => method === 'GET');
const withBody = routes.filter(({ operation }) => operation.requestBody);
/** Of one deployment: what is beside them belongs to the organization, and has rows of its own. */
const ofDeployments = routes.filter(({ path }) => /^\/v2\/deployments|^\/v1\/projects/.test(path));
const ofTenants = routes.filter(({ path }) => !path.startsWith('/v2/auth/'));
const NO_TENANT =
  "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use. If you have no role in its namespace, ask for davit-viewer or davit-editor there first.";
const NOT_THAT_TENANT =
  'X-Tenant-Id does not name a tenant that you may use. Send the id of a tenant or the name of its namespace, or ask for the role davit-viewer or davit-editor in that namespace.';
const ofOne = ofDeployments.filter(({ path }) => path.includes('{'));

let foreign: string;
let own: string;
beforeAll(() => {
  foreign = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata.uid ?? '';
  own = facade.seed({ metadata: { name: 'own' } }).metadata.uid ?? '';
});
afterAll(() => facade.app.close());

interface Sent {
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Buffer;
}

interface Answer {
  readonly detail: unknown;
  readonly warnings?: readonly { readonly msg: string }[];
}

async function send(route: Route, sent: Sent = {}): Promise<unknown[]> {
  const [status, { detail }] = await answerTo(route, sent);
  return [status, detail];
}

async function answerTo(
  { method, path }: Route,
  { id = own, headers = {}, payload }: Sent = {},
): Promise<[status: number, body: Answer]> {
  const before = facade.writes().length;
  const answer = await facade.app.inject({
    method,
    url: withId(path, id),
    headers: {
      'x-api-key': TOKEN,
      'x-tenant-id': TENANT.id,
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(payload !== undefined && { payload }),
  });
  expect(facade.writes()).toHaveLength(before);
  expect(answer.headers['x-request-id']).toBeDefined();
  return [answer.statusCode, answer.json<Answer>()];
}

it('finds the routes', () => {
  expect(routes.length).toBeGreaterThan(10);
  expect(withBody.length).toBeGreaterThan(4);
});

it('looks at the body of whatever writes: nothing that is sent is passed over in silence', () => {
  const writes = routes.filter(({ method }) => method === 'POST' || method === 'PUT' || method === 'PATCH');
  expect(writes.filter((route) => !withBody.includes(route)).map(({ name }) => name)).toEqual([]);
});

describe.each(routes)('$name', (route) => {
  it.each([
    [
      'no token',
      { 'x-api-key': '' },
      [401, 'Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".'],
    ],
    [
      'a token that is none',
      { authorization: 'Bearer tökén' },
      [
        401,
        'The credentials are not a token. Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".',
      ],
    ],
  ])('%s', async (_name, headers, answer) => {
    expect(await send(route, { headers })).toEqual(answer);
  });

  it('the document has what every route can answer', () => {
    const { responses } = route.operation;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '429', '500', '503']));
  });
});

describe.each(reads)('$name', ({ path }) => {
  const headers = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id };

  it('HEAD gets the same answer without a body', async () => {
    const get = await facade.app.inject({ method: 'GET', url: path.replaceAll(/\{\w+\}/g, own), headers });
    const head = await facade.app.inject({ method: 'HEAD', url: path.replaceAll(/\{\w+\}/g, own), headers });
    expect([head.statusCode, head.body]).toEqual([get.statusCode, '']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });
});

const UNKNOWN = '?fog=1&fog=2&toString=%00&agent_id=a&__proto__=x';

async function ask({ path, operation }: Route, query: string): Promise<[status: number, body: unknown]> {
  const needed = (operation.parameters ?? []).filter((one) => one.in === 'query' && one.required);
  const id = needed.map(({ name }) => `${name}=${own}&`).join('');
  const answer = await facade.app.inject({
    url: `${path.replaceAll(/\{\w+\}/g, own)}?${id}${query.slice(1)}`,
    headers: { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id },
  });
  return [answer.statusCode, answer.json()];
}

describe.each(reads.filter(isList))('the list of $name', (route) => {
  it('rejects unknown parameters, and names the known ones', async () => {
    const { operation } = route;
    const known = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
    const takes = known.length > 0 ? `its parameters are ${known.join(', ')}` : 'its parameters are none';
    const finding = (name: string): object => ({
      loc: ['query', name],
      msg: `is not a parameter of this list; ${takes}`,
      type: 'extra_forbidden',
    });
    const findings = ['fog', 'toString', 'agent_id', '__proto__'].map(finding);
    expect(await ask(route, UNKNOWN)).toEqual([422, { detail: findings }]);
    if (known.includes('limit'))
      expect(await ask(route, '?limit=0&fog=1')).toEqual([
        422,
        { detail: [expect.objectContaining({ loc: ['query', 'limit'] }), finding('fog')] },
      ]);
    expect(Object.keys(operation.responses)).toContain('422');
  });
});

describe.each(reads.filter((route) => !isList(route)))('$name', (route) => {
  it('ignores unknown parameters', async () => {
    expect(await ask(route, UNKNOWN)).toEqual(await ask(route, ''));
  });
});

it('lists are distinguished from other routes', () => {
  expect(reads.filter(isList).map(({ name }) => name)).toEqual([
    'GET /v2/deployments',
    'GET /v2/deployments/{deployment_id}/revisions',
    'GET /v2/deployments/{deployment_id}/tasks',
    'GET /v2/deployments/{deployment_id}/operations',
    'GET /v2/retained-databases',
    'GET /v2/listeners',
    'GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs',
    'GET /v2/deployment-logs',
    'GET /v1/integrations/forge/codehost/install',
    'GET /v1/integrations/forge/codehost/{integration_id}/repos',
    'GET /v2/auth/providers',
    'GET /v2/auth/tokens',
    'GET /v2/auth/token-events',
  ]);
});

describe.each(withBody)('the body of $name', (route) => {
  it.each([
    ['', ['is not a known field']],
    ['?fieldValidation=Warn', ['is not a known field']],
    ['?fieldValidation=Ignore', undefined],
    ['?fieldValidation=Strict', undefined],
  ])('with an unknown field and %s', async (query, warnings) => {
    const path = `${route.path}${query}`;
    const [status, body] = await answerTo({ ...route, path }, { id: MISSING, payload: '{"xyzzy":1}' });
    expect(body.warnings?.map(({ msg }) => msg)).toEqual(warnings);
    if (query.endsWith('Strict')) {
      expect(status).toBe(422);
      expect(body.detail).toContainEqual({
        loc: ['body', 'xyzzy'],
        msg: 'is not a known field',
        type: 'extra_forbidden',
      });
    }
  });

  it('documents fieldValidation, and rejects an unknown mode', async () => {
    expect(route.operation.parameters).toContainEqual(
      expect.objectContaining({ name: 'fieldValidation', in: 'query' }),
    );
    const path = `${route.path}?fieldValidation=strict`;
    const [status, detail] = await send({ ...route, path }, { payload: '{}' });
    expect(status).toBe(422);
    expect(detail).toContainEqual({
      loc: ['query', 'fieldValidation'],
      msg: 'must be one of Ignore, Warn, Strict',
      type: 'enum',
    });
  });

  it.each<[string, Sent, unknown[]]>([
    ['text', { payload: 'name=shop', headers: { 'content-type': 'text/plain' } }, [415, expect.stringMatching(/JSON/)]],
    [
      'half of JSON',
      { payload: '{"a":' },
      [400, 'The body is not valid JSON at line 1, column 6: the text ends too early.'],
    ],
    [
      'packed',
      { payload: '{}', headers: { 'content-encoding': 'gzip' } },
      [415, 'Send the body uncompressed, without Content-Encoding.'],
    ],
    ['not UTF-8', { payload: Buffer.from([0x22, 0xff, 0x22]) }, [400, 'The body is not valid UTF-8.']],
    ['a key twice', { payload: '{"a":1,"a":2}' }, [400, 'The body has the key "a" twice in one object.']],
    ['__proto__', { payload: '{"__proto__":{}}' }, [400, 'The body has the key "__proto__", which is not a field.']],
    [
      'endless nesting',
      { payload: '['.repeat(300_000) + ']'.repeat(300_000) },
      [400, 'The body is nested more than 64 deep.'],
    ],
    ['more than a megabyte', { payload: `"${'x'.repeat(1024 * 1024)}"` }, [413, 'The body is larger than 1 MiB.']],
    ['a list', { payload: '[]' }, [422, [{ loc: ['body'], msg: 'must be an object', type: 'dict_type' }]]],
    [
      'a number beyond all numbers',
      { payload: '1e999' },
      [422, [{ loc: ['body'], msg: 'must be an object', type: 'dict_type' }]],
    ],
  ])('%s', async (_name, sent, answer) => {
    expect(await send(route, sent)).toEqual(answer);
  });
});

describe.each(ofDeployments)('$name', (route) => {
  it.each([
    ['that is not there', MISSING],
    ['that is a namespace, but no tenant', 'no-tenant'],
    ['that is a path', '../team-b'],
  ])('a tenant %s', async (_name, tenant) => {
    expect(await send(route, { headers: { 'x-tenant-id': tenant }, payload: '{}' })).toEqual([403, NOT_THAT_TENANT]);
  });
});

describe.each(ofTenants)('$name', (route) => {
  const wrong = { 'x-api-key': 'made-up' };
  const rightLess = { 'x-api-key': 'right-less' };
  const tenants = [TENANT.id, TENANT.namespace, MISSING, 'no-tenant', 'nowhere'];
  const answers = async (token: Record<string, string>): Promise<Set<string>> => {
    const told = await Promise.all(
      tenants.map((tenant) => send(route, { headers: { ...token, 'x-tenant-id': tenant }, payload: '{}' })),
    );
    return new Set(told.map((one) => JSON.stringify(one)));
  };

  it('does not reveal which tenants exist', async () => {
    facade.kube.know((token) => (token === 'made-up' ? undefined : token));
    facade.kube.allow((_attributes, token) => token !== 'right-less');
    const unknown = 'The Kubernetes API server does not accept this token, or it has expired. Send another one.';
    expect(await answers(wrong)).toEqual(new Set([JSON.stringify([401, unknown])]));
    expect(await answers(rightLess)).toEqual(new Set([JSON.stringify([403, NOT_THAT_TENANT])]));
    expect(await send(route, { headers: { ...rightLess, 'x-tenant-id': '' }, payload: '{}' })).toEqual([
      403,
      NO_TENANT,
    ]);
  });

  it('sends the API server the same requests for an existing and a missing tenant', async () => {
    facade.kube.know((token) => token);
    facade.kube.allow(() => false);
    for (const [n, tenant] of tenants.entries()) {
      const asked = facade.kube.writes.length;
      const headers = { 'x-api-key': `${route.name} ${n}`.replaceAll(/\W/g, '-'), 'x-tenant-id': tenant };
      await send(route, { headers, payload: '{}' });
      const kinds = facade.kube.writes.slice(asked).map(({ kind }) => kind);
      const right = ['SelfSubjectAccessReview'];
      const isRead = route.operation.responses['200'] !== undefined && route.method === 'GET';
      // What is not Davit's own is asked about twice: the second answer decides in which words it is refused.
      const isOnce = (isRead && route.path !== '/v2/retained-databases') || route.path.includes('_logs');
      expect(kinds.slice(1)).toEqual(isOnce ? right : [...right, ...right]);
    }
    facade.kube.allow(() => true);
  });
});

const CLONE = '/v2/deployments/{deployment_id}/clone';
const RUN_TASK = '/v2/deployments/{deployment_id}/tasks/{task_name}/runs';
const RUN = '/v2/deployments/{deployment_id}/runs';
const OPERATE = '/v2/deployments/{deployment_id}/operations';
const CREATES: ReadonlySet<string> = new Set(['/v2/deployments', '/v2/listeners', CLONE, RUN_TASK, RUN, OPERATE]);

/** What a write needs a right to. */
function resourceOf(path: string): string {
  if (path === RUN_TASK || path === RUN) return '"jobs" in API group "batch"';
  if (path === OPERATE) return '"datastoreoperations" in API group "davit.dev"';
  return `"${path.startsWith('/v2/listeners') ? 'listeners' : 'appdeployments'}" in API group "davit.dev"`;
}

describe.each(withBody.filter((route) => ofTenants.includes(route) && !route.path.includes('_logs')))(
  'the body of $name',
  (route) => {
    it('is not parsed for a caller who may only read', async () => {
      facade.kube.know((token) => token);
      facade.kube.allow(({ verb }, token) => token !== 'viewer' || verb === 'list' || verb === 'get');
      const headers = { 'x-api-key': 'viewer' };
      const verb = CREATES.has(route.path) ? 'create' : 'patch';
      const words = `You cannot ${verb} resource ${resourceOf(route.path)} in the namespace "team-a". Ask for a role that allows it.`;
      for (const payload of ['{"a":', '[]', '{}'])
        expect(await send(route, { headers, payload })).toEqual([403, words]);
    });
  },
);

describe.each(ofOne)('the id of $name', (route) => {
  // The least body that is valid.
  const least =
    { [CLONE]: '{"name":"copy"}', [RUN]: '{"command":["ls"]}', [OPERATE]: '{"action":"Backup"}' }[route.path] ?? '{}';
  const payload = route.operation.requestBody && { payload: route.method === 'PUT' ? '{"value":"1"}' : least };
  const ids = [...route.path.matchAll(/\{(\w+_id)\}/g)].map(([, name]) => name);

  it("another tenant's gets the same answer as a missing one", async () => {
    const [status, words] = await send(route, { id: foreign, ...payload });
    const [missing, missingWords] = await send(route, { id: MISSING, ...payload });
    expect([status, missing]).toEqual([404, 404]);
    expect(String(words).replace(foreign, MISSING)).toBe(missingWords);
    expect(missingWords).toBe(`Deployment ID ${MISSING} not found.`);
  });

  it('may be in upper case and percent-encoded', async () => {
    const { method, path } = route;
    const headers = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id, 'content-type': 'application/json' };
    const encoded = MISSING.toUpperCase().replaceAll(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`);
    const answers = await Promise.all(
      [MISSING, encoded].map((id) => facade.app.inject({ method, url: withId(path, id), headers, ...payload })),
    );
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404]);
    expect(answers[1]?.body.toLowerCase()).toBe(answers[0]?.body.toLowerCase());
  });

  it.each(['x', '..%2f..', '%00', `${MISSING.slice(1)}g`])('%s', async (id) => {
    expect(await send(route, { id, ...payload })).toEqual([
      422,
      ids.map((name) => ({
        loc: ['path', name],
        msg: `must be a UUID${name === 'revision_id' ? '' : '; GET /v2/deployments?name=NAME finds a deployment by its name'}`,
        type: 'string_pattern_mismatch',
      })),
    ]);
  });
});

describe('a control character', () => {
  const strings = ['SourceConfigRequest', 'SourceRevisionConfigRequest'].flatMap((name) =>
    Object.entries(components.schemas[name]?.properties ?? {})
      .filter(([, { type = [] }]) => [type].flat().includes('string'))
      .map(([field]) => [name === 'SourceConfigRequest' ? 'source_config' : 'source_revision_config', field] as const),
  );

  it('has locations to test', () => {
    expect(strings.length).toBeGreaterThan(8);
  });

  it.each(strings)('in %s.%s', async (part, field) => {
    for (const value of ['a\u0000b', 'a\u001b[31mb', 'a\nb', 'a\u007fb']) {
      const answer = await facade.call('POST', '/v2/deployments', aBody({ [part]: { [field]: value } }));
      const places = answer.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'));
      expect([answer.status, places]).toEqual([422, expect.arrayContaining([`body.${part}.${field}`])]);
    }
  });
});
