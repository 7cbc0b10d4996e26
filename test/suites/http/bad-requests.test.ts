// Requests that are wrong in their schema, in values of secrets, or in what the API server's answer cannot name, and the exact answer to each.
// None of them may reach the API server as a write. test/suites/integration has the rules that it judges.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aBody, type Facade, makeFacade } from './facade.ts';

let facade: Facade;
let cloud: Facade;
beforeAll(async () => {
  facade = await makeFacade();
  cloud = await makeFacade({ hosting: 'cloud' });
});
afterAll(async () => {
  await facade.app.close();
  await cloud.app.close();
});

type Row = readonly [name: string, body: unknown, findings: readonly [where: string, msg: string, type: string][]];

const uuid = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
const spec = (fields: object): object => aBody({ source_config: { resource_spec: fields } });
const config = (fields: object): object => aBody({ source_config: fields });
const at = 'body.source_config.resource_spec';
const NAME =
  'must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit';
const PLATFORM =
  'these names are set by the platform: PORT, POSTGRES_URI, DATABASE_URI, REDIS_URI, DAVIT_ROLE, DAVIT_DEPLOYMENT_NAME, DAVIT_DEPLOYMENT_ID, DAVIT_REVISION_ID, DAVIT_TENANT_ID, N_JOBS_PER_WORKER, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_ENDPOINT';
const RESERVED =
  'keys with these prefixes are reserved for Davit and Kubernetes: davit.dev/, tag.davit.dev/, app.kubernetes.io/, kubernetes.io/, k8s.io/';
const RESERVED_ANNOTATIONS = `${RESERVED}, container.apparmor.security.beta.kubernetes.io/, seccomp.security.alpha.kubernetes.io/`;
const VARIABLE = 'must be the name of an environment variable: letters, digits and _, not beginning with a digit';
const HOST = 'must be https://host or a bare host in lower case, without path, port or user';
const IMAGE = 'must be an image reference such as registry.example.com/team/app:1.2, with the path in lower case';
const PATTERN = 'string_pattern_mismatch';

const rows: Row[] = [
  [
    'an empty body',
    {},
    [
      ['body.name', 'is required', 'missing'],
      [
        'body.source',
        'is required: one of codehost, external_docker, internal_docker, internal_source, internal_template',
        'missing',
      ],
      ['body.source_config', 'is required: send "source_config": {} for defaults', 'missing'],
      [
        'body.source_revision_config',
        'is required: send "source_revision_config": {} where the source needs nothing, and {"image_uri": IMAGE} for an image',
        'missing',
      ],
      ['body.secrets', 'is required: send "secrets": [] for none', 'missing'],
    ],
  ],
  ['no body at all', undefined, [['body', 'is required', 'missing']]],
  ['a body of null', 'null', [['body', 'must be an object', 'dict_type']]],
  ['a body that is a list', [], [['body', 'must be an object', 'dict_type']]],
  ['a body that is a string', '"x"', [['body', 'must be an object', 'dict_type']]],
  [
    'null where a value is needed',
    aBody({ name: null, secrets: null }),
    [
      ['body.name', 'is required', 'missing'],
      ['body.secrets', 'is required: send "secrets": [] for none', 'missing'],
    ],
  ],
  ['a name that is a number', aBody({ name: 7 }), [['body.name', 'must be a string', 'string_type']]],
  [
    'an empty name',
    aBody({ name: '' }),
    [
      ['body.name', 'must not be empty', 'string_too_short'],
      ['body.name', NAME, PATTERN],
    ],
  ],
  ['a name in upper case', aBody({ name: 'Shop' }), [['body.name', NAME, PATTERN]]],
  ['a name beginning with a digit', aBody({ name: '1shop' }), [['body.name', NAME, PATTERN]]],
  ['a name ending with a newline', aBody({ name: 'shop\n' }), [['body.name', NAME, PATTERN]]],
  [
    'a name that is too long',
    aBody({ name: 'a'.repeat(41) }),
    [['body.name', 'must have at most 40 characters', 'string_too_long']],
  ],
  [
    'an unknown source',
    aBody({ source: 'gitlab' }),
    [
      [
        'body.source',
        'must be one of codehost, external_docker, internal_docker, internal_source, internal_template',
        'enum',
      ],
    ],
  ],
  [
    'a source of the other hosting mode',
    aBody({ source: 'internal_docker' }),
    [
      [
        'body.source',
        'source internal_docker is not available: setting hosting is self-hosted, which allows external_docker',
        'value_error',
      ],
    ],
  ],
  [
    'an image that is none',
    aBody({ source_revision_config: { image_uri: 'has space:1' } }),
    [['body.source_revision_config.image_uri', IMAGE, PATTERN]],
  ],
  [
    'an image of half a megabyte',
    aBody({ source_revision_config: { image_uri: `${'a'.repeat(500_000)}!` } }),
    [
      ['body.source_revision_config.image_uri', 'must have at most 512 characters', 'string_too_long'],
      ['body.source_revision_config.image_uri', IMAGE, PATTERN],
    ],
  ],
  [
    'a listener id that is no UUID',
    config({ listener_id: 'x', listener_config: { k8s_namespace: 'ns' } }),
    [['body.source_config.listener_id', 'must be a UUID', PATTERN]],
  ],
  ['cpu too small', spec({ cpu: 0.005 }), [[`${at}.cpu`, 'must be at least 0.01', 'greater_than_equal']]],
  ['cpu too large', spec({ cpu: 65 }), [[`${at}.cpu`, 'must be at most 64', 'less_than_equal']]],
  ['cpu as text', spec({ cpu: '1' }), [[`${at}.cpu`, 'must be a number', 'float_type']]],
  ['memory with a fraction', spec({ memory_mb: 100.5 }), [[`${at}.memory_mb`, 'must be an integer', 'int_type']]],
  [
    'an amount of a container with a fraction',
    spec({ sidecars: [{ name: 'a', image: 'a', resources: { limits: { cpu: 0.5 } } }] }),
    [[`${at}.sidecars.0.resources.limits.cpu`, 'must be an integer or text such as "500m"', 'value_error']],
  ],
  [
    'too little memory',
    spec({ redis_memory_mb: 63 }),
    [[`${at}.redis_memory_mb`, 'must be at least 64', 'greater_than_equal']],
  ],
  ['a negative scale', spec({ min_scale: -1 }), [[`${at}.min_scale`, 'must be at least 0', 'greater_than_equal']]],
  ['too large a scale', spec({ max_scale: 101 }), [[`${at}.max_scale`, 'must be at most 100', 'less_than_equal']]],
  [
    'a number beyond all numbers',
    '{"name":"shop","source":"external_docker","source_config":{"resource_spec":{"cpu":1e999}},"source_revision_config":{"image_uri":"a/b:1"},"secrets":[]}',
    [[`${at}.cpu`, 'must be a number', 'float_type']],
  ],
  ['a label that is no string', spec({ labels: { a: 1 } }), [[`${at}.labels.a`, 'must be a string', 'string_type']]],
  ...['davit.dev/deployment', 'tag.davit.dev/x', 'app.kubernetes.io/name', 'kubernetes.io/os', 'k8s.io/x'].map(
    (key): Row => [
      `the reserved key ${key}`,
      spec({ labels: { [key]: 'x', 'team.k8s.example/x': 'y' }, annotations: { [key]: 'x' } }),
      [
        [`${at}.labels.${key}`, RESERVED, 'value_error'],
        [`${at}.annotations.${key}`, RESERVED_ANNOTATIONS, 'value_error'],
      ],
    ],
  ),
  ...['container.apparmor.security.beta.kubernetes.io/server', 'seccomp.security.alpha.kubernetes.io/pod'].map(
    (key): Row => [
      `the reserved annotation ${key}`,
      spec({ annotations: { [key]: 'x', 'kubectl.kubernetes.io/default-container': 'true' } }),
      [[`${at}.annotations.${key}`, RESERVED_ANNOTATIONS, 'value_error']],
    ],
  ),
  ['a sidecar of null', spec({ sidecars: [null] }), [[`${at}.sidecars.0`, 'must be an object', 'dict_type']]],
  [
    'a custom URL with a path',
    config({ custom_url: 'https://host.example/path' }),
    [['body.source_config.custom_url', HOST, PATTERN]],
  ],
  [
    'a custom URL over http',
    config({ custom_url: 'http://host.example' }),
    [['body.source_config.custom_url', HOST, PATTERN]],
  ],
  [
    'an unknown deployment type',
    config({ deployment_type: 'huge' }),
    [['body.source_config.deployment_type', 'must be one of dev_free, dev, prod, dev_zero', 'enum']],
  ],
  ['secrets that are no list', aBody({ secrets: {} }), [['body.secrets', 'must be an array', 'list_type']]],
  [
    'too many secrets',
    aBody({ secrets: Array.from({ length: 101 }, (_, n) => ({ name: `S${n}`, value: '' })) }),
    [['body.secrets', 'must have at most 100 items', 'too_long']],
  ],
  [
    'a map with so many keys that nothing else is judged',
    spec({ labels: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`davit.dev/${n}`, 'x'])), cpu: 0 }),
    [[`${at}.labels`, 'must have at most 1000 keys', 'too_long']],
  ],
  ['a secret without value', aBody({ secrets: [{ name: 'A' }] }), [['body.secrets.0.value', 'is required', 'missing']]],
  [
    'a secret that no shell can name',
    aBody({
      secrets: [
        { name: 'A-B', value: '' },
        { name: '1', value: '' },
      ],
    }),
    [
      ['body.secrets.0.name', VARIABLE, PATTERN],
      ['body.secrets.1.name', VARIABLE, PATTERN],
    ],
  ],
  [
    "a secret of a prototype's name is a name like any other, twice is too often",
    aBody({
      secrets: [
        { name: 'constructor', value: '' },
        { name: 'constructor', value: '' },
      ],
    }),
    [['body.secrets.1.name', 'this name is a duplicate', 'value_error']],
  ],
  [
    'a secret that the platform sets',
    aBody({ secrets: [{ name: 'PORT', value: '1' }] }),
    [['body.secrets.0.name', PLATFORM, 'value_error']],
  ],
  [
    'a secret that is too large',
    aBody({ secrets: [{ name: 'A', value: 'é'.repeat(16_385) }] }),
    [['body.secrets.0.value', 'must be at most 32 KiB', 'string_too_long']],
  ],
  [
    'secrets too large together',
    aBody({ secrets: Array.from({ length: 17 }, (_, n) => ({ name: `S${n}`, value: 'x'.repeat(32_000) })) }),
    [['body.secrets', 'must be at most 512 KiB together', 'too_long']],
  ],
  [
    'a value with a NUL',
    aBody({ secrets: [{ name: 'A', value: 'a\0b' }] }),
    [['body.secrets.0.value', 'must be text without NUL characters or broken surrogate pairs', 'string_unicode']],
  ],
  [
    'half a surrogate pair',
    '{"name":"shop","source":"external_docker","source_config":{},"source_revision_config":{"image_uri":"a/b:1"},"secrets":[{"name":"A","value":"\\ud800"}]}',
    [['body.secrets.0.value', 'must be text without NUL characters or broken surrogate pairs', 'string_unicode']],
  ],
  [
    'a reference to a Secret of no possible name',
    aBody({ secret_references: [{ name: 'A', secret_name: 'X/../Y', secret_key: 'k' }] }),
    [
      [
        'body.secret_references.0.secret_name',
        'must be lower-case letters, digits, - and ., beginning and ending with a letter or digit',
        PATTERN,
      ],
    ],
  ],
  [
    'a name in secrets and in references',
    aBody({
      secrets: [{ name: 'A', value: '' }],
      secret_references: [{ name: 'A', secret_name: 's', secret_key: 'k' }],
    }),
    [['body.secret_references.0.name', 'a name may be in secrets or in secret_references, not in both', 'value_error']],
  ],
  [
    'findings of the schema, and of values, at once',
    aBody({
      name: 'X',
      source_config: { resource_spec: { cpu: 0, memory_mb: 'a', cpu_limit: -1 } },
      source_revision_config: {},
      secrets: [{ name: 'PORT', value: '' }],
    }),
    [
      ['body.name', NAME, PATTERN],
      [`${at}.cpu`, 'must be at least 0.01', 'greater_than_equal'],
      [`${at}.cpu_limit`, 'must be at least 0.1', 'greater_than_equal'],
      [`${at}.memory_mb`, 'must be a number', 'float_type'],
      ['body.secrets.0.name', PLATFORM, 'value_error'],
    ],
  ],
];

async function expectRefused(to: Facade, body: unknown, findings: Row[2]): Promise<void> {
  const answer = await to.call('POST', '/v2/deployments', body);
  const said = (answer.body.detail as { loc: unknown[]; msg: string; type: string }[]).map(({ loc, msg, type }) => [
    loc.join('.'),
    msg,
    type,
  ]);
  expect(said).toEqual(findings);
  expect(answer.status).toBe(422);
  expect(to.kept()).toEqual([]);
}

describe('POST /v2/deployments', () => {
  it.each(rows)('%s', (_name, body, findings) => expectRefused(facade, body, findings));

  it('a body with many errors gets an answer of limited size', async () => {
    const { status, body } = await facade.call(
      'POST',
      '/v2/deployments',
      spec({ labels: Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`l${n}`, n])) }),
    );
    expect([status, body.detail.length]).toEqual([422, 100]);
  });

  it('accepts the documented depth, and rejects one level more', async () => {
    // The body itself and five levels of it down to the value: 64 with the last.
    const nested = (levels: number): string => {
      const deep = `${'{"a":'.repeat(levels - 5)}1${'}'.repeat(levels - 5)}`;
      const body = JSON.stringify(spec({ volumes: [{ name: 'v', emptyDir: 'DEEP' }] }));
      return body.replace('"DEEP"', deep);
    };
    expect((await facade.call('POST', '/v2/deployments', nested(64))).body).not.toHaveProperty('detail');
    const { status, body } = await facade.call('POST', '/v2/deployments', nested(65).replace('"shop"', '"more"'));
    expect([status, body.detail]).toEqual([400, 'The body is nested more than 64 deep.']);
  });

  it.each([
    [
      'not JSON',
      '{"name": shop}',
      {},
      400,
      'The body is not valid JSON at line 1, column 10: "s" is not expected here.',
    ],
    [
      'cut off',
      '{"name": "sh',
      {},
      400,
      'The body is not valid JSON at line 1, column 10: the string that begins here has no closing quote.',
    ],
    [
      'nested so deep that it would exhaust whoever walks it',
      `{"name":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
      {},
      400,
      'The body is nested more than 64 deep.',
    ],
    [
      'a key twice, of which every reader takes another',
      '{"name":"first","name":"shop"}',
      {},
      400,
      'The body has the key "name" twice in one object.',
    ],
    [
      '__proto__',
      '{"__proto__":{"x":1},"name":"shop"}',
      {},
      400,
      'The body has the key "__proto__", which is not a field.',
    ],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'The body is not valid UTF-8.'],
    [
      'a form',
      'name=shop',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'Send the body as JSON, with the header Content-Type: application/json.',
    ],
    [
      'of no type',
      'name',
      { 'content-type': '' },
      415,
      'Send the body as JSON, with the header Content-Type: application/json.',
    ],
    [
      'too large',
      aBody({ secrets: [{ name: 'A', value: 'x'.repeat(1024 * 1024) }] }),
      {},
      413,
      'The body is larger than 1 MiB.',
    ],
  ])('a body that is %s', async (_name, body, headers, status, detail) => {
    const answer = await facade.call('POST', '/v2/deployments', body, headers);
    expect([answer.status, answer.body]).toEqual([status, { detail }]);
  });
});

/** Schemas that the custom resource has too: kubectl is told the same. */
describe('values with a special meaning for git, a shell or a file system', () => {
  const good = {
    source_config: { integration_id: uuid, repo_url: 'https://host/team/repo' },
    source_revision_config: { repo_ref: 'main', workflow_config_path: 'deploy/davit.json' },
  };
  const rows: [part: keyof typeof good, field: string, values: string[]][] = [
    [
      'source_config',
      'repo_url',
      [
        '-oProxyCommand=id',
        '--upload-pack=id',
        'ext::sh -c id',
        'file:///etc/passwd',
        'git@host:team/repo',
        'ssh://host/team/repo',
        'http://host/team/repo',
        '/srv/repo',
        'https://host/\nrepo',
        'https://',
      ],
    ],
    ['source_revision_config', 'repo_ref', ['-x', '--exec=id', '../main', 'a b', 'a~1', 'a^', 'a:b', 'a\nb', '']],
    [
      'source_revision_config',
      'workflow_config_path',
      ['/etc/passwd', '-x', '~/x', '$HOME/x', 'a\\..\\b', 'a\u0000b', ''],
    ],
    ['source_revision_config', 'source_tarball_path', ['/etc/passwd', 'file:///etc', '']],
  ];
  const cases = rows.flatMap(([part, field, values]) => values.map((value) => [part, field, value] as const));

  it.each(cases)('%s.%s %j', async (part, field, value) => {
    const body = aBody({ source: 'codehost', ...good, [part]: { ...good[part], [field]: value } });
    const answer = await cloud.call('POST', '/v2/deployments', body);
    const places = answer.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'));
    expect([answer.status, [...new Set(places)]]).toEqual([422, [`body.${part}.${field}`]]);
    expect(cloud.writes()).toEqual([]);
  });
});

describe('ignored values', () => {
  it.each([
    ['unknown keys', aBody({ color: 'red', source_config: { fog: 1, resource_spec: { rain: { a: 1 } } } })],
    [
      'null for whatever may be absent',
      aBody({
        secret_references: null,
        source_config: {
          resource_spec: null,
          listener_config: null,
          custom_url: null,
          listener_id: null,
          build_on_push: null,
        },
        source_revision_config: { image_uri: 'registry.example/app:1', repo_ref: null },
      }),
    ],
    [
      'nulls and empty lists inside resource_spec',
      spec({ cpu: null, labels: {}, volumes: [], sidecars: [], listener_config: {} }),
    ],
    ['a constructor of no meaning', aBody({ constructor: { prototype: {} } })],
  ])('%s', async (_name, body) => {
    const own = await makeFacade();
    const { status } = await own.call('POST', '/v2/deployments?whatever=1', body);
    expect(status).toBe(201);
    const [made] = own.writes();
    expect(made).toMatchObject({ kind: 'AppDeployment', ref: { name: 'shop' } });
    const spec = {
      source: 'external_docker',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      secrets: [],
      revisionSerial: 1,
    };
    expect(made?.body).toEqual({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: {
        name: 'shop',
        namespace: 'team-a',
        finalizers: ['davit.dev/teardown'],
        annotations: { 'davit.dev/requested-by': 'new 1 somebody' },
      },
      spec,
    });
  });
});

describe('queries and paths', () => {
  const states = 'must be one of AWAITING_DATABASE, READY, UNUSED, AWAITING_DELETE, UNKNOWN';
  it.each([
    ['limit=0', 'query.limit', 'must be at least 1', 'greater_than_equal'],
    ['limit=101', 'query.limit', 'must be at most 100', 'less_than_equal'],
    ['limit=ten', 'query.limit', 'must be an integer', 'int_type'],
    ['limit=1.5', 'query.limit', 'must be an integer', 'int_type'],
    ['limit=', 'query.limit', 'must be an integer', 'int_type'],
    ['offset=-1', 'query.offset', 'must be at least 0', 'greater_than_equal'],
    ['offset=9007199254740992', 'query.offset', 'must be at most 9007199254740991', 'less_than_equal'],
    ['offset=1e3', 'query.offset', 'must be an integer', 'int_type'],
    ['offset=%00', 'query.offset', 'must be an integer', 'int_type'],
    ...[
      'limit=1&limit=0',
      'offset=0&offset=0',
      'status=READY&status=UNUSED',
      'name=a&name=b',
      'name_contains=&name_contains=',
    ]
      .concat('image_version=1&image_version=2', 'remote_reconciled=true&remote_reconciled=1')
      .concat('deployment_type=dev&deployment_type=prod')
      .map((query): [string, string, string, string] => [
        query,
        `query.${query.split('=', 1)[0]}`,
        'must not be given more than once',
        'value_error',
      ]),
    ...['name', 'image_version'].map((name): [string, string, string, string] => [
      `${name}=`,
      `query.${name}`,
      'must not be empty',
      'string_too_short',
    ]),
    ...['deployment_ids=', 'deployment_ids=,', 'tag_value_ids=', 'tag_value_ids=&tag_value_ids='].map(
      (query): [string, string, string, string] => [
        query,
        `query.${query.split('=', 1)[0]}`,
        'must not be empty',
        'too_short',
      ],
    ),
    ['status=READY,UNUSED', 'query.status', states, 'enum'],
    ['status=ready', 'query.status', states, 'enum'],
    ['remote_reconciled=maybe', 'query.remote_reconciled', 'must be true or false', 'bool_type'],
    ['deployment_type=large', 'query.deployment_type', 'must be one of dev_free, dev, prod', 'enum'],
    [`deployment_ids=${uuid},x`, 'query.deployment_ids.1', 'must be a UUID', PATTERN],
    ['tag_value_ids=x', 'query.tag_value_ids.0', 'must be a UUID', PATTERN],
  ])('%s', async (query, where, msg, type) => {
    const { status, body } = await facade.call('GET', `/v2/deployments?${query}`);
    expect([
      status,
      body.detail.map((finding: { loc: unknown[] }) => ({ ...finding, loc: finding.loc.join('.') })),
    ]).toEqual([422, [{ loc: where, msg, type }]]);
  });

  it('reports the errors of all parts of a request at once', async () => {
    const { status, body } = await facade.call('DELETE', '/v2/deployments/not-a-uuid?delete_tracing_project=perhaps');
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ['path', 'deployment_id'],
          msg: 'must be a UUID; GET /v2/deployments?name=NAME finds a deployment by its name',
          type: PATTERN,
        },
        { loc: ['query', 'delete_tracing_project'], msg: 'must be true or false', type: 'bool_type' },
      ],
    ]);
  });

  it.each([
    ['GET', '/v2/deployments/not-a-uuid', 422],
    ['GET', '/v2/deployment', 404],
    ['DELETE', '/v2/deployment/x', 404],
    ['PATCH', '/v2/deployments', 405],
    ['GET', '/%zz', 400],
    ['GET', `/v2/deployments/${'a'.repeat(300)}`, 414],
  ] as const)('%s %s', async (method, url, status) => {
    const answer = await facade.call(method, url);
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body)).toEqual(['detail']);
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['PATCH', '/v2/deployments', 'GET, HEAD, POST'],
    ['POST', `/v2/deployments/${uuid}`, 'DELETE, GET, HEAD, PATCH'],
    ['DELETE', `/v2/deployments/${uuid}/revisions/${uuid}/`, 'GET, HEAD'],
    ['DELETE', '/openapi.json', 'GET, HEAD'],
    ['OPTIONS', '/v2/deployments', 'GET, HEAD, POST'],
    ['PUT', '/v2/auth/providers/tracker', 'DELETE, GET, HEAD, PATCH'],
  ] as const)('%s %s lists the allowed methods', async (method, url, allow) => {
    const answer = await facade.call(method, url, undefined, { 'content-type': 'application/json' });
    expect([answer.status, answer.headers['allow'], answer.body.detail]).toEqual([
      405,
      allow,
      `${url} accepts ${allow}, not ${method}.`,
    ]);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });
});
