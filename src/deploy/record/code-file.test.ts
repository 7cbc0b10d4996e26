import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevisionSpec, Requested } from '../../kinds/app-revision.ts';
import { Migrate } from '../../kinds/migrate.ts';
import { NUMBER_FIELDS, ResourceSpec } from '../../kinds/resource-spec.ts';
import { Runtime } from '../../kinds/runtime.ts';
import { RuntimePart } from '../../kinds/runtime-part.ts';
import { canonical } from './canonical.ts';
import { fileBreaches, fileIn, RUNTIME_TAKEN, revisionFileOf, SIZES_TAKEN, specWith, takenFrom } from './code-file.ts';
import { type FileValues, isFromFile, ownRequested, withFile } from './file-values.ts';
import { requestedOf } from './requested.ts';

/** Any subset of these fields. */
const some = <T extends object>(fields: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<Partial<T>> =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>;
const command = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 });
const part = some({
  command,
  args: command,
  healthPath: fc.constant('/x'),
  healthCommand: command,
  port: fc.constant(1),
});
const NAMES = ['A', 'B', 'C', 'D'];
const named = <T extends object>(value: fc.Arbitrary<T>, most = 4): fc.Arbitrary<(T & { name: string })[]> =>
  fc.uniqueArray(
    fc.tuple(fc.constantFrom(...NAMES), value).map(([name, rest]) => ({ name, ...rest })),
    { selector: ({ name }) => name, maxLength: most },
  );
const values: fc.Arbitrary<FileValues> = some({
  resourceSpec: some({ cpu: fc.constantFrom(1, 2), memoryMb: fc.constantFrom(512, 1024), queueCpu: fc.constant(1) }),
  runtime: some({
    port: fc.constantFrom(1, 2),
    without: fc.constantFrom([], ['PORT']),
    server: part,
    queue: part,
    envNames: fc.dictionary(fc.constantFrom(...NAMES), fc.constant('postgres_uri')),
  }),
  env: named(fc.constantFrom({ value: '1' }, { value: '2' })),
  tasks: named(fc.constantFrom({ command: ['x'] }, { command: ['y'] })),
  installCommand: fc.constantFrom('i', 'j'),
  buildCommand: fc.constantFrom('k', 'l'),
}) as fc.Arbitrary<FileValues>;
const secret = fc.constant({ secretName: 's', secretKey: 'k' });
const records: fc.Arbitrary<Requested> = fc
  .tuple(
    values,
    named(secret, 2),
    some({ minScale: fc.constant(2), maxScale: fc.constant(3), labels: fc.constant({ a: 'b' }) }),
  )
  .map(([own, secrets, more]) =>
    canonical({
      sourceRevisionConfig: { repoRef: 'main' },
      ...own,
      // No record has a variable twice.
      env: (own.env ?? []).filter(({ name }) => !secrets.some((one) => one.name === name)),
      resourceSpec: { ...own.resourceSpec, ...more },
      secrets,
      secretReferences: [],
    } as Requested),
  );

describe('a record with the values of a file', () => {
  it('keeps each of its own values, and what it asked for is known again', () => {
    fc.assert(
      fc.property(records, values.map(takenFrom), (own, given) => {
        const { requested, fields } = withFile(own, given);
        const spec = { requested, file: { path: 'davit.yaml', fields: [...fields] } };
        expect(ownRequested(spec)).toEqual(own);
        // The values of the record stand in the whole as they are, in their order.
        const { env = [], tasks = [], ...rest } = own;
        expect(requested).toMatchObject(rest);
        const kept = new Set(env.map(({ name }) => name));
        expect((requested.env ?? []).filter(({ name }) => kept.has(name))).toEqual(env);
        expect(requested.tasks ?? []).toEqual(expect.arrayContaining(tasks));
        // No variable is there twice.
        const names = [...(requested.env ?? []), ...requested.secrets, ...requested.secretReferences].map(
          ({ name }) => name,
        );
        expect(new Set(names).size).toBe(names.length);
        // A second look adds nothing.
        expect(withFile(requested, given)).toEqual({ requested, fields: [] });
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, Partial<Requested>, FileValues, string[]]>([
    ['a size', {}, { resourceSpec: { cpu: 2 } }, ['resourceSpec.cpu']],
    [
      'no size that the record sets',
      { resourceSpec: { cpu: 1 } },
      { resourceSpec: { cpu: 2, memoryMb: 512 } },
      ['resourceSpec.memoryMb'],
    ],
    [
      'no variable that the record has as a secret',
      { secrets: [{ name: 'A', secretName: 's', secretKey: 'A' }] },
      { env: [{ name: 'A', value: 'x' }] },
      [],
    ],
    [
      'no variable that the record names in envNames',
      { runtime: { envNames: { A: 'postgres_uri' } } },
      { env: [{ name: 'A', value: 'x' }] },
      [],
    ],
    [
      'no name that is a variable of the record',
      { env: [{ name: 'A', value: 'x' }] },
      { runtime: { envNames: { A: 'postgres_uri' } } },
      [],
    ],
    [
      'no value under another name that the record withholds',
      { runtime: { without: ['POSTGRES_URI', 'DATABASE_URI'] } },
      {
        runtime: {
          envNames: { A: 'postgres_uri', B: 'postgres_password', C: 'redis_uri', POSTGRES_URI: 'postgres_uri' },
        },
      },
      ['runtime.envNames.C'],
    ],
    [
      'a value of which the record withholds only one name',
      { runtime: { without: ['POSTGRES_URI'] } },
      { runtime: { envNames: { A: 'postgres_uri' } } },
      ['runtime.envNames.A'],
    ],
    [
      'no arguments for a command of the record',
      { runtime: { server: { command: ['a'] } } },
      { runtime: { server: { args: ['b'], port: 1 } } },
      ['runtime.server.port'],
    ],
    [
      'no other kind of health check',
      { runtime: { queue: { healthPath: '/a' } } },
      { runtime: { queue: { healthCommand: ['b'] } } },
      [],
    ],
    [
      'a task',
      { tasks: [{ name: 'a', command: ['x'] }] },
      {
        tasks: [
          { name: 'a', command: ['y'] },
          { name: 'b', command: ['y'] },
        ],
      },
      ['tasks[b]'],
    ],
  ])('takes %s', (_what, own, given, want) => {
    const record = canonical({ sourceRevisionConfig: {}, secrets: [], secretReferences: [], ...own } as Requested);
    expect(withFile(record, given).fields).toEqual(want);
  });

  it('names what came from the file, and what is below it', () => {
    const spec = { file: { path: 'davit.yaml', fields: ['runtime.server', 'tasks[a]', 'env.LEVEL'] } };
    const asked = [
      'runtime.server',
      'runtime.server.command',
      'runtime.serverX',
      'tasks[a].command',
      'tasks[ab]',
      'env.LEVEL',
      'env.LEVEL2',
    ];
    expect(asked.filter((field) => isFromFile(spec, field))).toEqual([
      'runtime.server',
      'runtime.server.command',
      'tasks[a].command',
      'env.LEVEL',
    ]);
  });
});

describe('of a file nothing is taken', () => {
  it('but values of a list: a new field of a schema is not among them', () => {
    expect(
      Object.keys(ResourceSpec.shape)
        .filter((field) => !SIZES_TAKEN.includes(field))
        .toSorted(),
    ).toEqual([
      'annotations',
      'dbStorageGi',
      'imagePullSecrets',
      'initContainers',
      'labels',
      'maxScale',
      'minScale',
      'orchestratorMaxScale',
      'orchestratorMinScale',
      'queueMaxScale',
      'queueMinScale',
      'serviceAccountName',
      'sidecars',
      'volumeMounts',
      'volumes',
    ]);
    expect(SIZES_TAKEN.every((field) => NUMBER_FIELDS.some((number) => number.field === field))).toBe(true);
    expect(
      Object.keys(Runtime.shape)
        .filter((field) => !RUNTIME_TAKEN.includes(field))
        .toSorted(),
    ).toEqual(['apiToken', 'database', 'queueDepth', 'redis', 'workers']);
    // Parts are taken whole. A field that names a Secret, an account or another object may not come into them.
    const inParts = [...Object.keys(RuntimePart.shape), ...Object.keys(Migrate.shape)];
    expect(inParts.filter((field) => /secret|account|volume|host|image|namespace|context/i.test(field))).toEqual([]);
  });

  it('whatever it has', () => {
    const taken = takenFrom({
      integrationId: 'x',
      repoUrl: 'https://evil.example/x',
      buildOnPush: true,
      customUrl: 'evil.example',
      listenerId: 'x',
      listenerConfig: { k8sNamespace: 'x' },
      deploymentType: 'prod',
      secrets: [{ name: 'A' }],
      secretReferences: [{ name: 'A' }],
      sourceRevisionConfig: { imageUri: 'evil' },
      resourceSpec: {
        cpu: 2,
        minScale: 9,
        dbStorageGi: 900,
        serviceAccountName: 'admin',
        imagePullSecrets: [{ name: 'x' }],
        sidecars: [{ name: 'x', image: 'evil' }],
        labels: { a: 'b' },
      },
      runtime: { port: 1, database: 'none', redis: 'none', queueDepth: { query: 'DROP TABLE x' } },
    });
    expect(taken).toEqual({ resourceSpec: { cpu: 2 }, runtime: { port: 1 } });
  });

  it.each<unknown>([
    undefined,
    'no JSON',
    '[]',
    'null',
    '{"resourceSpec": {"sidecars": [{"name": "x"}]}, "secrets": 7}',
  ])('of a snapshot with %s', (given) => {
    const file = fileIn({ path: 'davit.yaml', ...(given !== undefined && { given: given as string }) });
    expect(file?.values ?? {}).toEqual({});
  });
});

describe('a file and a record', () => {
  const spec = (
    sourceConfig: AppDeploymentSpec['sourceConfig'] = {},
    more: Partial<AppDeploymentSpec> = {},
  ): AppDeploymentSpec => aRecord({ sourceConfig, ...more }).spec;
  const judge = (record: AppDeploymentSpec, given: FileValues, secrets: string[] = [], limits: object = {}): string[] =>
    fileBreaches(
      record,
      requestedOf(record),
      { values: given, secrets },
      { limits: { ...SETTINGS.limits, ...limits }, placement: SETTINGS.placement },
    ).map(({ at, message }) => `${at.join('.')}: ${message}`);

  it.each<[string, AppDeploymentSpec, FileValues, RegExp[]]>([
    ['that fit', spec({ resourceSpec: { cpu: 1 } }), { resourceSpec: { cpu: 9, cpuLimit: 2 } }, []],
    [
      'with a limit below a request',
      spec({ resourceSpec: { cpuLimit: 1 } }),
      { resourceSpec: { cpu: 2 } },
      [/^sourceConfig\.resourceSpec\.cpuLimit: /],
    ],
    [
      'with too many tasks',
      spec({ tasks: Array.from({ length: 15 }, (_, at) => ({ name: `a${at}`, command: ['x'] })) }),
      { tasks: Array.from({ length: 15 }, (_, at) => ({ name: `b${at}`, command: ['x'] })) },
      [/^sourceConfig\.tasks: /],
    ],
    [
      'with a scheme for an external database',
      spec({}, { secrets: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 's', secretKey: 'k' }] }),
      { runtime: { postgresUriScheme: 'postgres' } },
      [/postgresUriScheme/],
    ],
    [
      'with nodes that the platform does not list',
      spec(),
      { runtime: { server: { placement: { nodeSelector: { pool: 'gpu' } } } } },
      [/^sourceConfig\.runtime\.server\.placement\.nodeSelector\.pool: must be absent on this platform/],
    ],
  ])('%s', (_what, record, given, want) => {
    const found = judge(record, given);
    expect(found).toHaveLength(want.length);
    for (const [at, pattern] of want.entries()) expect(found[at]).toMatch(pattern);
  });

  it('keep within the limits of the platform, and the record within its own', () => {
    const limits = { cpu: 4 };
    expect(judge(spec(), { resourceSpec: { cpu: 5 } }, [], limits)).toEqual([
      'sourceConfig.resourceSpec.cpu: must be at most 4 on this platform',
    ]);
    // The record is older than the limit.
    expect(judge(spec({ resourceSpec: { cpu: 5 } }), { resourceSpec: { memoryMb: 512 } }, [], limits)).toEqual([]);
  });

  it('need the secrets that the file names', () => {
    const record = spec({}, { secrets: [{ name: 'A', secretName: 's', secretKey: 'A' }] });
    expect(judge(record, {}, ['A', 'B'])).toEqual([
      'secrets.1: names B, which the deployment lacks: set its value, for example with kubectl davit secrets',
    ]);
  });

  it('are what the snapshot has of them', () => {
    const record = spec({ env: [{ name: 'A', value: 'x' }] });
    const file = {
      path: 'davit.yaml',
      values: { env: [{ name: 'B', value: 'y' }] },
      secrets: ['S'],
      notTaken: ['custom_url'],
    };
    const { requested, fields } = withFile(requestedOf(record), file.values);
    const stored = revisionFileOf(file, fields);
    expect(stored).toMatchObject({ path: 'davit.yaml', fields: ['env.B'], notTaken: ['custom_url'] });
    expect(fileIn(stored)).toEqual(file);
    expect(specWith(record, requested).sourceConfig.env).toEqual([
      { name: 'B', value: 'y' },
      { name: 'A', value: 'x' },
    ]);
    const failure = { reason: 'FileInvalid', message: 'No.' };
    expect(revisionFileOf({ ...file, failure }, fields)).toEqual({
      path: 'davit.yaml',
      notTaken: ['custom_url'],
      failure,
    });
    expect(ownRequested({ requested } as AppRevisionSpec)).toBe(requested);
  });
});
