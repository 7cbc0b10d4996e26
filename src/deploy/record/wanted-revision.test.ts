import { describe, expect, it } from 'vitest';
import { aRecord, aSpec, SETTINGS, UID } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { type AppRevision, AppRevisionSpec } from '../../kinds/app-revision.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import { Settings } from '../../kinds/settings.ts';
import type { MoveRequest } from './database-move.ts';
import { requestedOf, sameRequested } from './requested.ts';
import { resolve } from './resolve.ts';
import { generationRevisionId, operationRevisionId, serialRevisionId } from './revision-id.ts';
import { type WantedRevision, wantedRevision } from './wanted-revision.ts';

function made(record: AppDeployment, settings = SETTINGS, earlier: readonly AppRevision[] = []): AppRevision {
  const wanted = wantedRevision(record, earlier, settings);
  if (!('create' in wanted)) throw new Error('nothing to make');
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: { name: `shop--${wanted.create.id.slice(0, 8)}` },
    spec: wanted.create,
  };
}

const withImage = (imageUri: string, more: Partial<AppDeploymentSpec> = {}): Partial<AppDeploymentSpec> => ({
  sourceRevisionConfig: { imageUri },
  ...more,
});
const first = made(aRecord(withImage('a:1'), { generation: 1 }));
const edited = made(aRecord(withImage('a:2'), { generation: 2 }), SETTINGS, [first]);

it('makes the whole snapshot', () => {
  const record = aRecord(
    {
      secrets: [
        { name: 'B', secretName: 's', secretKey: 'b' },
        { name: 'A', secretName: 's', secretKey: 'a' },
      ],
    },
    { generation: 7 },
  );
  const wanted = wantedRevision(record, [], SETTINGS);
  expect(wanted).toEqual({
    create: {
      id: serialRevisionId(UID, 1),
      deploymentName: 'shop',
      deploymentUid: UID,
      deploymentGeneration: 7,
      revisionSerial: 1,
      source: 'external_docker',
      requested: {
        sourceRevisionConfig: { imageUri: 'registry.example/shop:1' },
        secrets: [
          { name: 'A', secretName: 's', secretKey: 'a' },
          { name: 'B', secretName: 's', secretKey: 'b' },
        ],
        secretReferences: [],
      },
      resolved: resolve(record.spec, SETTINGS),
    },
  });
  if ('create' in wanted) expect(AppRevisionSpec.parse(wanted.create)).toEqual(wanted.create);
});

const withoutSerial = (record: AppDeployment): AppDeployment => {
  const { revisionSerial: _, ...spec } = record.spec;
  return { ...record, spec };
};
const ofAnother: AppRevision = {
  ...first,
  spec: { ...first.spec, deploymentUid: '99999999-9999-4999-8999-999999999999' },
};

it.each<{ name: string; record: AppDeployment; revisions: AppRevision[]; want: string }>([
  { name: 'the first, with a serial', record: aRecord(), revisions: [], want: serialRevisionId(UID, 1) },
  {
    name: 'the first, by kubectl',
    record: withoutSerial(aRecord({}, { generation: 1 })),
    revisions: [],
    want: generationRevisionId(UID, 1),
  },
  {
    name: 'nothing changed',
    record: aRecord(withImage('a:1'), { generation: 4 }),
    revisions: [first],
    want: 'current',
  },
  {
    name: 'only what needs none changed',
    record: aRecord(withImage('a:1', { sourceConfig: { customUrl: 'a.example.org', buildOnPush: true } }), {
      generation: 4,
    }),
    revisions: [first],
    want: 'current',
  },
  {
    name: 'a new serial, nothing else',
    record: aRecord(withImage('a:1', { revisionSerial: 2 }), { generation: 4 }),
    revisions: [first],
    want: serialRevisionId(UID, 2),
  },
  {
    name: 'a kubectl edit',
    record: aRecord(withImage('a:3'), { generation: 5 }),
    revisions: [first],
    want: generationRevisionId(UID, 5),
  },
  {
    name: 'an edit taken back',
    record: aRecord(withImage('a:1'), { generation: 3 }),
    revisions: [first, edited],
    want: generationRevisionId(UID, 3),
  },
  {
    name: 'an edit that was snapshotted',
    record: aRecord(withImage('a:2'), { generation: 9 }),
    revisions: [first, edited],
    want: 'current',
  },
  {
    name: 'a new serial and an edit at once',
    record: aRecord(withImage('a:9', { revisionSerial: 2 }), { generation: 6 }),
    revisions: [first, edited],
    want: serialRevisionId(UID, 2),
  },
  {
    name: 'revisions of an earlier record of the name',
    record: aRecord(withImage('a:1')),
    revisions: [ofAnother],
    want: serialRevisionId(UID, 1),
  },
  {
    name: 'no image yet',
    record: aRecord({ source: 'internal_docker', sourceRevisionConfig: {} }),
    revisions: [],
    want: 'WaitingForImage',
  },
  {
    name: 'no source yet',
    record: aRecord({ source: 'internal_source', sourceRevisionConfig: {} }),
    revisions: [],
    want: 'WaitingForImage',
  },
  {
    name: 'its image was taken away',
    record: aRecord({ source: 'internal_docker', sourceRevisionConfig: {}, revisionSerial: 2 }),
    revisions: [first],
    want: 'current',
  },
  {
    name: 'a repository',
    record: aRecord({ source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } }),
    revisions: [],
    want: serialRevisionId(UID, 1),
  },
  {
    name: 'a template with a repository',
    record: aRecord({
      source: 'internal_template',
      sourceConfig: { repoUrl: 'https://x/y' },
      sourceRevisionConfig: {},
    }),
    revisions: [],
    want: serialRevisionId(UID, 1),
  },
])('$name', ({ record, revisions, want }) => {
  const wanted = wantedRevision(record, revisions, SETTINGS);
  expect(
    'create' in wanted ? wanted.create.id : 'current' in wanted ? 'current' : 'none' in wanted && wanted.none,
  ).toBe(want);
});

it.each<{ name: string; a: Partial<AppDeploymentSpec>; b: Partial<AppDeploymentSpec>; same: boolean }>([
  { name: 'an empty resourceSpec is none', a: { sourceConfig: { resourceSpec: {} } }, b: {}, same: true },
  { name: 'empty references are none', a: { secretReferences: [] }, b: {}, same: true },
  {
    name: 'the order of volumes means nothing',
    a: {
      sourceConfig: {
        resourceSpec: {
          volumes: [
            { name: 'a', emptyDir: {} },
            { name: 'b', emptyDir: {} },
          ],
        },
      },
    },
    b: {
      sourceConfig: {
        resourceSpec: {
          volumes: [
            { name: 'b', emptyDir: {} },
            { name: 'a', emptyDir: {} },
          ],
        },
      },
    },
    same: true,
  },
  {
    name: 'nor does that of keys',
    a: { sourceConfig: { resourceSpec: { labels: { a: '1', b: '2' } } } },
    b: { sourceConfig: { resourceSpec: { labels: { b: '2', a: '1' } } } },
    same: true,
  },
  {
    name: 'that of init containers does',
    a: {
      sourceConfig: {
        resourceSpec: {
          initContainers: [
            { name: 'a', image: 'x' },
            { name: 'b', image: 'x' },
          ],
        },
      },
    },
    b: {
      sourceConfig: {
        resourceSpec: {
          initContainers: [
            { name: 'b', image: 'x' },
            { name: 'a', image: 'x' },
          ],
        },
      },
    },
    same: false,
  },
  {
    name: 'an empty part of a volume is not none',
    a: { sourceConfig: { resourceSpec: { volumes: [{ name: 'a', emptyDir: {} }] } } },
    b: { sourceConfig: { resourceSpec: { volumes: [{ name: 'a', configMap: {} }] } } },
    same: false,
  },
  { name: 'a deployment type', a: { sourceConfig: { deploymentType: 'dev' } }, b: {}, same: false },
  { name: 'one that was not there', a: {}, b: { sourceConfig: { deploymentType: 'dev' } }, same: false },
  {
    name: 'dev_zero, which means dev',
    a: { sourceConfig: { deploymentType: 'dev_zero' } },
    b: { sourceConfig: { deploymentType: 'dev' } },
    same: true,
  },
  {
    name: 'one init container more',
    a: { sourceConfig: { resourceSpec: { initContainers: [{ name: 'a', image: 'x' }] } } },
    b: {
      sourceConfig: {
        resourceSpec: {
          initContainers: [
            { name: 'a', image: 'x' },
            { name: 'b', image: 'x' },
          ],
        },
      },
    },
    same: false,
  },
  { name: 'a build command', a: { sourceConfig: { buildCommand: 'make' } }, b: {}, same: false },
  ...['constructor', 'toString', '__proto__'].flatMap((key) => {
    const labels = {
      sourceConfig: {
        resourceSpec: {
          labels: Object.fromEntries([
            ['a', '1'],
            [key, ''],
          ]),
        },
      },
    };
    const without = { sourceConfig: { resourceSpec: { labels: { a: '1' } } } };
    return [
      { name: `a label ${key}, which every object inherits`, a: labels, b: without, same: false },
      { name: `no label ${key}`, a: without, b: labels, same: false },
      { name: `twice the label ${key}`, a: labels, b: structuredClone(labels), same: true },
    ];
  }),
])('compares what is requested: $name', ({ a, b, same }) => {
  expect(sameRequested(requestedOf(aSpec(a)), requestedOf(aSpec(b)))).toBe(same);
});

const other = Settings.parse({
  images: { postgres: 'pgvector:0.9.0-pg17-trixie', redis: 'redis:9' },
  pods: { port: 9000 },
});

it('takes the resolved values of the revision that is rolled back to', () => {
  const record = aRecord(withImage('a:1', { revisionSerial: 2, rollbackTo: first.spec.id.toUpperCase() }), {
    generation: 9,
  });
  // What waits and prepares is the platform's of today.
  const waitImages = { postgres: 'pgvector:0.9.0-pg17-trixie', redis: 'redis:9' };
  expect(wantedRevision(record, [first, edited], other)).toMatchObject({
    create: { resolved: { ...first.spec.resolved, waitImages } },
  });
});

it.each([
  {
    name: 'the requested values are others',
    record: aRecord(withImage('a:7', { revisionSerial: 2, rollbackTo: first.spec.id }), { generation: 9 }),
  },
  {
    name: 'there is no such revision',
    record: aRecord(withImage('a:1', { revisionSerial: 2, rollbackTo: UID }), { generation: 9 }),
  },
  {
    name: 'the serial is an old one',
    record: aRecord(withImage('a:7', { rollbackTo: first.spec.id }), { generation: 9 }),
  },
])('resolves again where $name', ({ record }) => {
  expect(wantedRevision(record, [first, edited], other)).toMatchObject({
    create: { resolved: resolve(record.spec, other) },
  });
});

it.each([
  { recorded: 'postgres:17.1', setting: 'mirror/postgres:17.4', want: 'mirror/postgres:17.4' },
  { recorded: 'postgres:17.1', setting: 'postgres:18', want: 'postgres:17.1' },
  { recorded: 'postgres:latest', setting: 'postgres:17', want: 'postgres:latest' },
  { recorded: 'postgres:17', setting: 'postgres:latest', want: 'postgres:17' },
  { recorded: 'postgres:17', setting: 'postgres:17-alpine', want: 'postgres:17' },
  { recorded: 'postgres:17-alpine3.19', setting: 'postgres:17.4-alpine3.20', want: 'postgres:17.4-alpine3.20' },
  { recorded: 'postgres:17-bullseye', setting: 'postgres:17-bookworm', want: 'postgres:17-bullseye' },
  { recorded: 'postgres:17.4', setting: 'postgres:17.1', want: 'postgres:17.4' },
  { recorded: 'postgres:17.4', setting: 'postgres:17', want: 'postgres:17.4' },
])('keeps the major version and the base of PostgreSQL: $recorded, then $setting', ({ recorded, setting, want }) => {
  const before = made(aRecord(withImage('a:1')), Settings.parse({ images: { postgres: recorded } }));
  const record = aRecord(withImage('a:2'), { generation: 2 });
  const after = Settings.parse({ images: { postgres: setting } });
  expect(wantedRevision(record, [before], after)).toMatchObject({
    create: { resolved: { postgres: { image: want } } },
  });
});

it.each([
  { recorded: 'valkey:8.1.10', setting: 'valkey:8.1.9', want: 'valkey:8.1.10' },
  { recorded: 'valkey:8.1.10', setting: 'valkey:9.0.1', want: 'valkey:9.0.1' },
  { recorded: 'valkey:9.0.1', setting: 'valkey:8.1.10', want: 'valkey:8.1.10' },
  { recorded: 'valkey:8.1.10', setting: 'redis:7.2', want: 'redis:7.2' },
])('takes no older minor version of Redis: $recorded, then $setting', ({ recorded, setting, want }) => {
  const before = made(aRecord(withImage('a:1')), Settings.parse({ images: { redis: recorded } }));
  const record = aRecord(withImage('a:2'), { generation: 2 });
  expect(wantedRevision(record, [before], Settings.parse({ images: { redis: setting } }))).toMatchObject({
    create: { resolved: { redis: { image: want } } },
  });
});

describe('the role of the application and the extensions', () => {
  const ask = { sourceConfig: { database: { extensions: ['vector' as const] } } };
  const record = aRecord(withImage('a:2', ask), { generation: 2 });
  const before = made(aRecord(withImage('a:1', ask)));
  const { user: _user, extensions: _extensions, ...superuser } = before.spec.resolved.postgres ?? {};
  const old = {
    ...before,
    spec: { ...before.spec, resolved: { ...before.spec.resolved, contract: 2, postgres: superuser } },
  } as AppRevision;
  const none = { user: undefined, extensions: undefined };
  it.each([
    { name: 'of a new database', own: [], data: {}, want: { user: 'app', extensions: ['vector'] } },
    { name: 'stay', own: [before], data: {}, want: { user: 'app', extensions: ['vector'] } },
    { name: 'of a database of contract 2 stay', own: [old], data: {}, want: none },
    {
      name: 'of a retained database of contract 2 stay',
      own: [],
      data: { image: 'postgres:17', made: {} },
      want: none,
    },
    {
      name: 'of a retained database of contract 3 stay, and what it has is not made again',
      own: [],
      data: { image: 'postgres:17', made: { user: 'app' as const } },
      want: { ...none, user: 'app' },
    },
  ])('$name', ({ own, data, want }) => {
    const wanted = wantedRevision(record, own, SETTINGS, data);
    const { user, extensions } = ('create' in wanted && wanted.create.resolved.postgres) || {};
    expect({ user, extensions }).toEqual(want);
  });
});

it.each([
  { name: 'a new Cluster gets the uid of the settings', data: {}, want: 999 },
  { name: 'a Cluster keeps its own, whatever the newest revision says', data: { userId: 1000 }, want: 1000 },
])('the uid of PostgreSQL: $name', ({ data, want }) => {
  const ask = { sourceConfig: { database: { driver: 'cloudnative-pg' as const } } };
  const before = made(aRecord(withImage('a:1', ask)));
  const settings = Settings.parse({ database: { cloudNativePg: { userId: 999 } } });
  expect(wantedRevision(aRecord(withImage('a:2', ask), { generation: 2 }), [before], settings, data)).toMatchObject({
    create: { resolved: { postgres: { userId: want } } },
  });
});

describe('another scale', () => {
  const scaled = (resourceSpec: ResourceSpec): Partial<AppDeploymentSpec> =>
    withImage('a:1', { sourceConfig: { resourceSpec } });
  const before = made(aRecord(scaled({ minScale: 2, maxScale: 2, cpu: 1 }), { generation: 1 }));

  it.each<{ name: string; spec: Partial<AppDeploymentSpec>; made: boolean }>([
    { name: 'is the same revision', spec: scaled({ minScale: 3, maxScale: 9, cpu: 1 }), made: true },
    { name: 'of none is as well', spec: scaled({ cpu: 1 }), made: true },
    { name: 'and size is another one', spec: scaled({ minScale: 3, cpu: 2 }), made: false },
    { name: 'and the first queue worker is another one', spec: scaled({ cpu: 1, queueMinScale: 1 }), made: false },
  ])('$name, whichever Davit stored it', ({ spec, made: isMade }) => {
    const wanted = wantedRevision(aRecord(spec, { generation: 2 }), [before], SETTINGS);
    expect('current' in wanted && wanted.current.spec.id).toBe(isMade && before.spec.id);
    if ('create' in wanted) expect(wanted.create.requested.resourceSpec).toEqual(spec.sourceConfig?.resourceSpec);
  });

  it('with a new serial, as an older facade asks for it, builds nothing again', () => {
    const source = { source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } } as const;
    const old = made(aRecord({ ...source, revisionSerial: 1 }));
    const built: AppRevision = {
      ...old,
      status: { build: { phase: 'Built', image: 'r/a@1', commit: 'c'.repeat(40) } },
    };
    const more = { sourceConfig: { resourceSpec: { minScale: 2 } }, revisionSerial: 2 };
    const wanted = wantedRevision(aRecord({ ...source, ...more }, { generation: 2 }), [built], SETTINGS);
    expect(wanted).toMatchObject({ create: { resolved: { image: 'r/a@1', server: { minScale: 2 } } } });
  });
});

describe('another database of the same driver', () => {
  const source = {
    source: 'codehost',
    sourceRevisionConfig: { repoRef: 'main' },
    sourceConfig: { database: { driver: 'pod' } },
  } as const;
  const commit = 'c'.repeat(40);
  const backup = '20260201T020000Z-0000000a';
  const built: AppRevision = {
    ...made(aRecord({ ...source, revisionSerial: 1 })),
    status: { build: { phase: 'Built', image: 'r/a@1', commit } },
  };
  const newer = Settings.parse({ ...SETTINGS, images: { ...SETTINGS.images, postgres: 'postgres:99' } });
  const move: MoveRequest = {
    from: { driver: 'pod', number: 0 },
    to: { driver: 'pod', number: 1 },
    backup,
    operation: '00000001-0000-4000-8000-000000000000',
    requestedBy: 'anna',
    hasData: false,
  };
  const moved = (record: AppDeployment, own: readonly AppRevision[], asked = move): ReturnType<typeof wantedRevision> =>
    wantedRevision(record, own, newer, {}, undefined, { move: asked });

  it('is a revision of the same generation that runs what was built, and builds no newer commit', () => {
    const record = aRecord({ ...source, revisionSerial: 1 });
    expect(moved(record, [built])).toMatchObject({
      create: {
        id: operationRevisionId(UID, move.operation, 1),
        deploymentGeneration: 1,
        pushSerial: 1,
        requestedBy: 'anna',
        commit,
        resolved: { image: 'r/a@1', postgres: { image: 'postgres:99' }, movedDatabase: { number: 1, backup } },
      },
    });
  });

  it.each([
    ['by a generation', 2, 1, generationRevisionId(UID, 2)],
    ['by a serial', 2, 2, serialRevisionId(UID, 2)],
  ])('comes with a revision that a person asks for meanwhile: %s', (_what, generation, serial, id) => {
    const record = aRecord(
      { ...source, revisionSerial: serial, sourceConfig: { ...source.sourceConfig, env: [{ name: 'A', value: 'b' }] } },
      { generation },
    );
    expect(moved(record, [built])).toMatchObject({
      create: { id, resolved: { movedDatabase: { number: 1, backup } } },
    });
  });

  it('has the driver of the operation, whatever the record asks for', () => {
    const record = aRecord({ ...source, revisionSerial: 1 });
    const up = { ...move, to: { driver: 'cloudnative-pg', number: 1 } } as const;
    expect(moved(record, [built], up)).toMatchObject({
      create: { resolved: { postgres: { driver: 'cloudnative-pg' } } },
    });
  });
});

describe('a migration that has run', () => {
  const runtime = { migrate: { command: ['up'] } };
  const config = (resourceSpec: ResourceSpec, more: object = {}): Partial<AppDeploymentSpec> =>
    withImage('a:1', { sourceConfig: { runtime, resourceSpec, ...more }, revisionSerial: 1 });
  const done: AppRevision = {
    ...made(aRecord(config({ cpu: 1, queueMinScale: 1 }))),
    status: { state: 'DEPLOYED', migration: { phase: 'Succeeded', job: 'j' } },
  };
  const KEY = { name: 'KEY', secretName: 's', secretKey: 'k' };

  it.each<{ name: string; spec: Partial<AppDeploymentSpec>; migrated: boolean }>([
    { name: 'other sizes', spec: config({ cpu: 2, dbStorageGi: 20, queueMinScale: 1 }), migrated: true },
    { name: 'no queue workers', spec: config({ cpu: 1 }), migrated: true },
    { name: 'another preset', spec: config({ cpu: 1 }, { deploymentType: 'dev' }), migrated: true },
    { name: 'nothing else: somebody asks for it again', spec: config({ cpu: 1, queueMinScale: 1 }), migrated: false },
    { name: 'another image', spec: { ...config({ cpu: 2 }), ...withImage('a:2') }, migrated: false },
    { name: 'another value', spec: { ...config({ cpu: 2 }), secrets: [KEY] }, migrated: false },
    { name: 'another volume', spec: config({ volumes: [{ name: 'v', emptyDir: {} }] }), migrated: false },
    {
      name: 'another command',
      spec: withImage('a:1', {
        sourceConfig: { runtime: { migrate: { command: ['down'] } }, resourceSpec: { cpu: 2 } },
      }),
      migrated: false,
    },
  ])('has for a revision of $name: $migrated', ({ spec, migrated }) => {
    const wanted = wantedRevision(aRecord({ ...spec, revisionSerial: 2 }, { generation: 2 }), [done], SETTINGS);
    expect('create' in wanted && wanted.create.resolved.migrated === true).toBe(migrated);
  });

  it('and failed runs again, also for other sizes', () => {
    const failed: AppRevision = { ...done, status: { migration: { phase: 'Failed', job: 'j' } } };
    const record = aRecord({ ...config({ cpu: 2 }), revisionSerial: 2 }, { generation: 2 });
    expect(wantedRevision(record, [failed], SETTINGS)).not.toHaveProperty('create.resolved.migrated');
  });
});

it('leaves its arguments alone', () => {
  const record = Object.freeze(
    aRecord({
      secrets: Object.freeze([
        { name: 'B', secretName: 's', secretKey: 'b' },
        { name: 'A', secretName: 's', secretKey: 'a' },
      ]) as never,
    }),
  );
  const revisions = Object.freeze([first, edited]);
  expect(() => wantedRevision(record, revisions, Object.freeze({ ...SETTINGS }))).not.toThrow();
});

it.each([
  { reason: 'nothing is there', spec: {}, data: {}, want: ['docker.io/pgvector/pgvector:0.8.6-pg17-trixie', 10] },
  {
    reason: 'a larger volume, and no size asked for',
    spec: {},
    data: { storageGi: 30 },
    want: ['docker.io/pgvector/pgvector:0.8.6-pg17-trixie', 30],
  },
  {
    reason: 'a smaller one grows',
    spec: {},
    data: { storageGi: 5 },
    want: ['docker.io/pgvector/pgvector:0.8.6-pg17-trixie', 10],
  },
  {
    reason: 'what is asked for is said, and refused later',
    spec: { dbStorageGi: 20 },
    data: { storageGi: 30 },
    want: ['docker.io/pgvector/pgvector:0.8.6-pg17-trixie', 20],
  },
  { reason: 'data of an older major version', spec: {}, data: { image: 'postgres:15' }, want: ['postgres:15', 10] },
])('the data that is there: $reason', ({ spec, data, want }) => {
  const wanted = wantedRevision(aRecord({ sourceConfig: { resourceSpec: spec } }), [], SETTINGS, data);
  const postgres = 'create' in wanted ? wanted.create.resolved.postgres : undefined;
  expect([postgres?.image, postgres?.storageGi]).toEqual(want);
});

it('takes no image of another base for data that an earlier record kept', () => {
  const wanted = wantedRevision(aRecord({}), [], SETTINGS, { image: 'postgres:17-alpine' });
  expect(wanted).toMatchObject({ create: { resolved: { postgres: { image: 'postgres:17-alpine' } } } });
});

describe('a volume that has grown', () => {
  const sized = (dbStorageGi: number | undefined, serial: number, more: object = {}): AppDeployment =>
    aRecord(
      withImage('a:1', {
        revisionSerial: serial,
        sourceConfig: dbStorageGi === undefined ? {} : { resourceSpec: { dbStorageGi } },
        ...more,
      }),
      { generation: serial },
    );
  const sizeOf = (wanted: WantedRevision): number | undefined =>
    'create' in wanted ? wanted.create.resolved.postgres?.storageGi : undefined;
  const small = made(sized(1, 1));
  const large = made(sized(undefined, 2));
  const back = sized(1, 3, { rollbackTo: small.spec.id });
  const data = { storageGi: 10 };

  it('keeps its size when a rollback goes back to a smaller one', () => {
    expect(sizeOf(wantedRevision(back, [large, small], SETTINGS, data))).toBe(10);
  });

  it('keeps it in the revisions after the rollback, which still ask for the small one', () => {
    const wanted = wantedRevision(back, [large, small], SETTINGS, data);
    if (!('create' in wanted)) throw new Error('no revision');
    const rolledBack: AppRevision = { ...small, spec: wanted.create };
    expect(sizeOf(wantedRevision(sized(1, 4, withImage('a:9')), [rolledBack, large, small], SETTINGS, data))).toBe(10);
  });

  it('is still asked to shrink by a size that a person asks for now, and by the next revision with that size', () => {
    const asked = wantedRevision(sized(5, 3), [large, small], SETTINGS, data);
    expect(sizeOf(asked)).toBe(5);
    if (!('create' in asked)) throw new Error('no revision');
    const refused: AppRevision = { ...small, spec: asked.create };
    expect(sizeOf(wantedRevision(sized(5, 4, withImage('a:9')), [refused, large], SETTINGS, data))).toBe(5);
  });
});

describe('the commit of a branch', () => {
  const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];
  const image = (commit: string): string =>
    `registry.example/team-22222222/shop@sha256:${commit}${commit.slice(0, 24)}`;

  /** A record whose branch has had commit A and then B, and its revisions, newest first. */
  function ofBranch(): {
    change(spec: object): void;
    push(commit: string): AppRevision | undefined;
    /** A write that the controller does not see. */
    missed(): void;
    own: AppRevision[];
  } {
    let generation = 0;
    let record = aRecord();
    const own: AppRevision[] = [];
    const add = (pushed?: string, commit?: string): AppRevision | undefined => {
      const wanted = wantedRevision(
        record,
        own,
        SETTINGS,
        {},
        undefined,
        pushed === undefined
          ? undefined
          : { pushed: { commit: pushed, commitAuthor: `the author of ${pushed.slice(0, 1)}` } },
      );
      if (!('create' in wanted)) return undefined;
      const built = commit ?? wanted.create.commit ?? '';
      const isBuilt = wanted.create.resolved.image === undefined;
      const revision: AppRevision = {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppRevision',
        metadata: { name: wanted.create.id },
        spec: AppRevisionSpec.parse(wanted.create),
        ...(isBuilt && {
          status: { build: { phase: 'Built' as const, commit: built, image: image(built) } } as NonNullable<
            AppRevision['status']
          >,
        }),
      };
      own.unshift(revision);
      return revision;
    };
    const change = (spec: object): void => {
      generation += 1;
      record = aRecord(
        {
          source: 'codehost',
          sourceConfig: { integrationId: UID, repoUrl: 'https://git.example/shop', buildOnPush: true, ...spec },
          sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
          revisionSerial: generation,
          ...(spec as { rollbackTo?: string; rebuildSerial?: number }),
        },
        { generation },
      );
      add(undefined, A);
    };
    const missed = (): void => {
      generation += 1;
    };
    return { change, push: (commit) => add(commit), missed, own };
  }
  const sizes = (cpu: number): object => ({ resourceSpec: { cpu } });

  it('that a rollback names stays where sizes change before the controller has seen the rollback', () => {
    const { change, push, own } = ofBranch();
    change(sizes(1));
    const first = own[0];
    push(B);
    change({ ...sizes(2), rollbackTo: first?.spec.id });
    expect(own[1]?.spec).toMatchObject({ commit: B, commitAuthor: 'the author of b' });
    expect(own[0]?.spec).not.toHaveProperty('commitAuthor');
    expect(own[0]?.spec).toMatchObject({
      commit: A,
      branchCommit: B,
      requested: sizes(2),
      resolved: { image: image(A), server: { cpu: 2 } },
    });
    expect(push(B)).toBeUndefined();
  });

  it('that a rollback names stays also where it was never built', () => {
    const { change, push, own, missed } = ofBranch();
    change(sizes(1));
    const first = own[0];
    const pushed = push(B);
    (pushed as { status?: unknown }).status = { build: { phase: 'Skipped' } };
    change({ ...sizes(1), rollbackTo: first?.spec.id });
    missed();
    change({ ...sizes(2), rollbackTo: pushed?.spec.id });
    expect(own[0]?.spec).toMatchObject({ commit: B, requested: sizes(2) });
    expect(own[0]?.spec.resolved.image).toBeUndefined();
  });

  it('that was rolled back to and never built is not built over by what was pushed before', () => {
    const { change, push, own } = ofBranch();
    change(sizes(1));
    const unbuilt = push(B);
    delete (unbuilt as { status?: unknown }).status;
    push(C);
    change({ ...sizes(1), rollbackTo: unbuilt?.spec.id });
    expect(own[0]?.spec).toMatchObject({ commit: B, branchCommit: C });
    expect(own[0]?.spec.resolved.image).toBeUndefined();
    expect(push(C)).toBeUndefined();
    expect(push('d'.repeat(40))?.spec).not.toHaveProperty('branchCommit');
  });

  it('that was pushed stays where sizes change before it is built', () => {
    const { change, push, own } = ofBranch();
    change(sizes(1));
    const first = own[0];
    push(B);
    change({ ...sizes(1), rollbackTo: first?.spec.id });
    const pushed = push(C);
    delete (pushed as { status?: unknown }).status;
    change(sizes(2));
    expect(own[0]?.spec).toMatchObject({ commit: C, requested: sizes(2) });
    expect(own[0]?.spec.resolved.image).toBeUndefined();
  });

  it.each(['built', 'not built'])(
    'that was pushed after a rollback stays where rollbackTo is left from it: %s',
    (is) => {
      const { change, push, own } = ofBranch();
      change(sizes(1));
      const rollbackTo = own[0]?.spec.id;
      push(B);
      change({ ...sizes(1), rollbackTo });
      const pushed = push(C);
      if (is === 'not built') delete (pushed as { status?: unknown }).status;
      change({ ...sizes(2), rollbackTo });
      expect(own[0]?.spec).toMatchObject({ commit: C, requested: sizes(2) });
      expect(own[0]?.spec.resolved.image).toBe(is === 'built' ? image(C) : undefined);
    },
  );

  it('is the newest of the branch where somebody asked for that, whatever changes before the controller has seen it', () => {
    const { change, push, own, missed } = ofBranch();
    change(sizes(1));
    const first = own[0];
    push(B);
    change({ ...sizes(1), rollbackTo: first?.spec.id });
    missed();
    const rebuildSerial = 3;
    change({ ...sizes(2), rebuildSerial });
    expect(own[0]?.spec).toMatchObject({ revisionSerial: 4, requested: sizes(2) });
    expect([own[0]?.spec.commit, own[0]?.spec.resolved.image]).toEqual([undefined, undefined]);
    // It was seen.
    change({ ...sizes(3), rebuildSerial });
    expect(own[0]?.spec).toMatchObject({ requested: sizes(3), commit: A, resolved: { image: image(A) } });
  });

  it('that a rollback names stays also where somebody asked for the newest before', () => {
    const { change, push, own, missed } = ofBranch();
    change(sizes(1));
    const first = own[0];
    push(B);
    missed();
    change({ ...sizes(1), rebuildSerial: 2, rollbackTo: first?.spec.id });
    expect(own[0]?.spec).toMatchObject({ commit: A, resolved: { image: image(A) } });
  });

  it('that is rolled back to once more stays where sizes change before the controller has seen it', () => {
    const { change, push, own, missed } = ofBranch();
    change(sizes(1));
    const rollbackTo = own[0]?.spec.id;
    push(B);
    change({ ...sizes(1), rollbackTo });
    push(C);
    missed();
    change({ ...sizes(2), rollbackTo });
    expect(own[0]?.spec).toMatchObject({ commit: A, branchCommit: C, resolved: { image: image(A) } });
  });

  it('that was rolled back is no push, also after its revision is gone', () => {
    const { change, push, own } = ofBranch();
    change(sizes(1));
    const first = own[0];
    expect(push(B)?.spec.commit).toBe(B);
    change({ ...sizes(1), rollbackTo: first?.spec.id });
    expect(own[0]?.spec).toMatchObject({ commit: A, branchCommit: B });
    for (let changes = 0; changes < 9; changes += 1) change(sizes(2 + changes));
    own.splice(3);
    expect(own.map(({ spec }) => spec.commit)).toEqual([A, A, A]);
    expect(push(B)).toBeUndefined();
    expect(push(C)?.spec.commit).toBe(C);
  });

  it('that the branch goes back to is a push', () => {
    const { change, push, own } = ofBranch();
    change(sizes(1));
    const first = own[0];
    push(B);
    push(C);
    change({ ...sizes(1), rollbackTo: first?.spec.id });
    expect(push(B)?.spec.commit).toBe(B);
  });
});
