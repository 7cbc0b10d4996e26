// Whether an operation can give a deployment another database, and which, with the sentence that says why not.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../kinds/app-deployment.ts';
import type { AppRevision, Resolved } from '../kinds/app-revision.ts';
import { decideMove, type Known, type MoveAction, whyNotDeleted } from './decide-move.ts';

const BACKUP = '20260201T020000Z-0000000a';
const IMAGES = { postgres: 'postgres:18.1-trixie', cloudNativePg: 'ghcr.example/postgresql:18.1-standard-trixie' };
const POSTGRES = {
  image: 'postgres:17.6-trixie',
  storageGi: 10,
  user: 'app',
  cpu: 1,
  cpuLimit: 2,
  memoryMb: 1024,
  memoryLimitMb: 2048,
  maxConnections: 100,
} as const;
const condition = (type: string, status: 'True' | 'False', reason: string) =>
  ({ type, status, reason, message: `${reason}.`, lastTransitionTime: '2026-02-01T00:00:00Z' }) as const;

const [revision] = [aRevision(aRecord())];
const SERVES: AppDeploymentStatus = {
  observedGeneration: 1,
  activeRevisionId: revision.spec.id,
  databaseVolumeUid: 'volume',
  databaseDrivers: [
    { driver: 'pod', postgresVersion: 18 },
    { driver: 'cloudnative-pg', postgresVersion: 18 },
  ],
  conditions: [condition('Ready', 'True', 'Serving'), condition('BackupReady', 'True', 'BackedUp')],
};

/** A list of this backup alone. */
const listing = (name: string, more: object = {}): AppDeploymentStatus['databaseBackups'] => ({
  listedAt: '2026-02-01T02:00:05Z',
  count: 1,
  newest: [{ name, takenAt: '2026-02-01T02:00:00Z', sizeBytes: 1, ...more }],
});

interface World {
  readonly spec?: Partial<AppDeployment['spec']>;
  readonly status?: Partial<AppDeploymentStatus>;
  readonly metadata?: Partial<AppDeployment['metadata']>;
  readonly resolved?: Partial<Resolved>;
  readonly used?: readonly number[];
}

function known({ spec, status, metadata, resolved, used = [0] }: World): Known {
  const record = aRecord({ sourceConfig: { database: { backup: {} } }, ...spec });
  const made: AppRevision = {
    ...revision,
    spec: { ...revision.spec, resolved: { ...revision.spec.resolved, postgres: POSTGRES, ...resolved } },
  };
  return {
    record: { ...record, metadata: { ...record.metadata, ...metadata }, status: { ...SERVES, ...status } },
    own: [made],
    used,
    images: IMAGES,
  };
}

const decided = (action: MoveAction, world: World = {}): ReturnType<typeof decideMove> =>
  decideMove(known(world), {
    deployment: 'shop',
    action,
    ...(action === 'Restore' && { restore: { backup: BACKUP } }),
  });
const pod = (number: number) => ({ driver: 'pod', number }) as const;
const inCluster: World = {
  resolved: {
    postgres: { ...POSTGRES, driver: 'cloudnative-pg', image: IMAGES.cloudNativePg.replace('18.1', '17.6') },
  },
};

describe('the database that an operation makes', () => {
  it.each<[MoveAction, World, object]>([
    ['Restore', {}, { from: pod(0), to: pod(1), backup: BACKUP }],
    ['Move', {}, { from: pod(0), to: { driver: 'cloudnative-pg', number: 1 } }],
    ['Upgrade', {}, { from: pod(0), to: pod(1) }],
    ['Upgrade', inCluster, { to: { driver: 'cloudnative-pg', number: 1 } }],
    ['Return', { resolved: { movedDatabase: { number: 2 } }, status: { databasesKept: [pod(1)] } }, { to: pod(1) }],
  ])('of %s is the next one, or the one before: %#', (action, world, move) => {
    expect(decided(action, world)).toMatchObject({ move });
  });

  it('has a number that no database of the deployment has had', () => {
    expect(decided('Restore', { used: [0, 3] })).toMatchObject({ move: { to: pod(4) } });
    expect(decided('Restore', { resolved: { movedDatabase: { number: 0, neverLoaded: [4] } } })).toMatchObject({
      move: { to: pod(5) },
    });
    expect(decided('Restore', { resolved: { movedDatabase: { number: 7 } }, used: [7] })).toMatchObject({
      move: { from: pod(7), to: pod(8) },
    });
  });

  it.each([
    ['another base', { image: 'postgres:18.1' }],
    ['an application that is the superuser', { image: IMAGES.postgres, user: undefined }],
  ])('is made by Upgrade for the same version where the present one has %s', (_what, postgres) => {
    const { user: _user, ...others } = POSTGRES;
    expect(decided('Upgrade', { resolved: { postgres: { ...others, ...postgres } as never } })).toHaveProperty('move');
  });
});

describe('what is refused', () => {
  const LISTENER = { sourceConfig: { database: { backup: {} }, listenerId: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10' } };
  it.each<[string, MoveAction, World, RegExp]>([
    ['a deletion', 'Move', { metadata: { deletionTimestamp: '2026-02-01T00:00:00Z' } }, /is being deleted/],
    ['a listener', 'Restore', { spec: LISTENER }, /Create the operation with the kubeconfig of that cluster/],
    ['an external database', 'Upgrade', { resolved: { postgres: undefined } as never }, /has no PostgreSQL of Davit/],
    [
      'no backups',
      'Restore',
      { spec: { sourceConfig: {} }, status: { conditions: [condition('BackupReady', 'False', 'NotConfigured')] } },
      /can only be restored from a store\. NotConfigured\./,
    ],
    [
      'no store',
      'Restore',
      { status: { conditions: [condition('BackupReady', 'False', 'BackupStoreMissing')] } },
      /can only be restored from a store\. BackupStoreMissing\./,
    ],
    [
      'a backup that the store does not have',
      'Restore',
      { status: { databaseBackups: listing('20260131T020000Z-0000000a') } },
      /The store has no backup 20260201T020000Z-0000000a of shop\. .* kubectl davit backups shop/,
    ],
    [
      'a backup of a newer version',
      'Restore',
      { status: { databaseBackups: listing(BACKUP, { postgresVersion: 19 }) } },
      /was made by PostgreSQL 19, but the new database would have the older version 18/,
    ],
    [
      'a backup of an earlier deployment of the name',
      'Restore',
      { status: { databaseBackups: listing(BACKUP, { earlier: true }) } },
      /belongs to an earlier deployment shop\. .* --from shop/,
    ],
    ['a move down', 'Move', inCluster, /already has driver cloudnative-pg\. A Cluster cannot be moved to a pod/],
    ['no driver', 'Move', { status: { databaseDrivers: [{ driver: 'pod' }] } }, /This platform has no CloudNativePG/],
    [
      'an older version',
      'Move',
      { status: { databaseDrivers: [{ driver: 'cloudnative-pg', postgresVersion: 16 }] } },
      /It is PostgreSQL 17, but with driver cloudnative-pg this platform has PostgreSQL 16/,
    ],
    [
      'further databases and roles',
      'Move',
      { status: { databaseBackups: listing(BACKUP, { number: 0, databases: 3, roles: 2 }) } },
      /its server has 2 further databases and 1 further role, but a Cluster gets only the database of the application/,
    ],
    ['no data', 'Move', { status: { databaseVolumeUid: undefined } as never }, /has no data yet/],
    ['a rollout', 'Upgrade', { status: { activeRevisionId: 'another' } }, /newest revision of shop is not deployed/],
    [
      'a load that has not ended',
      'Move',
      { status: { conditions: [condition('DatabaseRestored', 'False', 'Restoring')] } },
      /is still being loaded: Restoring\./,
    ],
    [
      'backups that fail',
      'Upgrade',
      { status: { conditions: [condition('BackupReady', 'False', 'BackupFailing')] } },
      /has no usable backup: BackupFailing\..* kubectl davit backup shop/,
    ],
    [
      'the same version',
      'Upgrade',
      { resolved: { postgres: { ...POSTGRES, image: IMAGES.postgres } } },
      /already is PostgreSQL 18, the version of this platform \(settings\.images\.postgres\)/,
    ],
    [
      'a tag without a version',
      'Upgrade',
      { resolved: { postgres: { ...POSTGRES, image: 'postgres:latest' } } },
      /does not begin with the major version/,
    ],
    ['no database before', 'Return', {}, /has no previous database to return to/],
    [
      'a database that was never loaded',
      'Return',
      { resolved: { movedDatabase: { number: 0, neverLoaded: [1] } }, status: { databasesKept: [pod(1)] } },
      /No backup was ever loaded into database pod\/1/,
    ],
  ])('for %s: %s', (_what, action, world, words) => {
    expect(decided(action, world)).toEqual({ refused: expect.stringMatching(words) });
  });
});

it("another deployment's backup is looked for in its list, where it is there", () => {
  const spec = { deployment: 'shop', action: 'Restore', restore: { backup: BACKUP, from: 'old' } } as const;
  const origin = (name: string): AppDeployment => ({ ...aRecord(), status: { databaseBackups: listing(name) } });
  const isDecided = (of: AppDeployment | undefined): boolean =>
    'move' in decideMove({ ...known({ status: { databaseBackups: listing('none') } }), origin: of }, spec);
  expect([undefined, origin(BACKUP), origin('20260131T020000Z-0000000a')].map(isDecided)).toEqual([true, true, false]);
});

describe('a database is deleted', () => {
  const kept: World = { status: { databasesKept: [pod(1)] }, used: [0, 1] };

  it('where the deployment does not use it, and serves', () => {
    expect(whyNotDeleted(known(kept), 1)).toBeUndefined();
  });

  it.each<[string, World, number, RegExp]>([
    ['the one in use', kept, 0, /shop is using database 0/],
    ['one that is not there', kept, 9, /has no database 9\. It keeps: pod\/1\./],
    [
      'of a deployment that does not serve',
      { ...kept, status: { ...kept.status, conditions: [condition('Ready', 'False', 'Progressing')] } },
      1,
      /is not serving on its current database/,
    ],
    [
      'of one that is scaled to zero',
      { ...kept, status: { ...kept.status, conditions: [condition('Ready', 'True', 'ScaledToZero')] } },
      1,
      /is not serving/,
    ],
  ])('but not %s', (_what, world, number, words) => {
    expect(whyNotDeleted(known(world), number)).toMatch(words);
  });
});

it.each([
  ['has one database and one role', { number: 0, databases: 1, roles: 1 }],
  ['is of another database', { number: 1, databases: 3, roles: 4 }],
  ['is of an earlier deployment', { number: 0, databases: 3, roles: 4, earlier: true }],
  ['does not say', { number: 0 }],
])('a database moves to a Cluster where its newest backup %s', (_what, more) => {
  expect(decided('Move', { status: { databaseBackups: listing(BACKUP, more) } })).toHaveProperty('move');
});
