// What a clone asks for, and which records cannot be cloned.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { type CloneRequest, cloneOf } from './clone.ts';
import { askingForRevision } from './revision-request.ts';

/** Later than what the tests ask for. */
const NOW = new Date('2026-03-01T00:00:00Z');
const BACKED_UP = { status: { databaseBackup: { name: '20260202T000000Z-0123abcd' } } };
const COMMIT = 'c'.repeat(40);

function clone(
  origin: AppDeployment,
  request: Partial<CloneRequest> = {},
  revisions: readonly AppRevision[] = [aRevision(origin, 'DEPLOYED')],
): {
  readonly spec: AppDeploymentSpec;
  readonly metadata: AppDeployment['metadata'];
  readonly notes: readonly string[];
} {
  const made = cloneOf(origin, revisions, { name: 'shop-2', ...request }, NOW);
  if ('refused' in made) throw new Error(made.refused);
  return { ...made.record, notes: made.notes };
}

describe('a clone', () => {
  it('asks for what the record asks for and for its newest backup, without its address, and without what Davit noted', () => {
    const sourceConfig = {
      customUrl: 'https://shop.example',
      env: [{ name: 'COLOR', value: 'red' }],
      database: { backup: { keep: 3 }, restore: { from: 'before' } },
    };
    const secrets = [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }];
    const asked = aRecord({ sourceConfig, secrets, revisionSerial: 7 }, BACKED_UP);
    const origin = { ...asked, spec: { ...asked.spec, rebuildSerial: 7 } };
    const { spec, metadata, notes } = clone(origin);
    expect(metadata).toEqual({ name: 'shop-2', namespace: 'team', finalizers: ['davit.dev/teardown'] });
    expect(spec).toEqual({
      ...asked.spec,
      sourceConfig: { env: sourceConfig.env, database: { backup: { keep: 3 }, restore: { from: 'shop' } } },
      revisionSerial: 1,
    });
    expect(notes).toEqual(['It does not have the address of "shop".']);
  });

  it('takes the backup of a time or of a name, also where none is known', () => {
    const [at, backup] = ['2026-02-02T00:00:00Z', '20260202T000000Z-0123abcd'];
    expect(clone(aRecord(), { at }).spec.sourceConfig.database?.restore).toEqual({ from: 'shop', at });
    expect(clone(aRecord(), { backup }).spec.sourceConfig.database?.restore).toEqual({ from: 'shop', backup });
  });

  it('takes the backup that the list has for a time, and refuses what the list does not have', () => {
    const name = '20260202T000000Z-0123abcd';
    const newest = [{ name, takenAt: '2026-02-02T00:00:00Z', sizeBytes: 1, earlier: true }];
    const databaseBackups = { listedAt: '2026-02-02T00:00:09Z', count: 1, newest };
    const origin = aRecord({}, { status: { databaseBackups } });
    expect(clone(origin, { at: '2026-02-03T00:00:00Z' }).spec.sourceConfig.database?.restore).toEqual({
      from: 'shop',
      backup: name,
    });
    expect(() => clone(origin, { at: '2026-02-01T00:00:00Z' })).toThrow('The store has no backup from 2026-02-01');
    expect(() => clone(origin, { backup: '20260101T000000Z-0123abcd' })).toThrow('The store has no backup 20260101');
  });

  describe('of a deployment with an archive,', () => {
    const FIRST = '2026-02-01T00:00:00Z';
    const archived = (reason: string, status = 'True', more: object = {}): AppDeployment =>
      aRecord(
        { sourceConfig: { database: { archive: {} } } },
        {
          status: {
            databaseDriver: 'cloudnative-pg',
            databaseArchive: { firstRecoverableAt: FIRST },
            conditions: [{ type: 'ArchiveReady', status, reason, message: '', lastTransitionTime: FIRST }],
            ...BACKED_UP.status,
            ...more,
          } as AppDeployment['status'] & object,
        },
      );
    const restoreOf = (origin: AppDeployment, request: Partial<CloneRequest>): unknown =>
      clone(origin, request).spec.sourceConfig.database?.restore;
    const backup = '20260202T000000Z-0123abcd';
    const exactly = (at: string): object => ({ from: 'shop', at, archive: true });

    it.each([
      ['a time that it has', archived('Archived'), { at: '2026-02-15T00:00:00Z' }, exactly('2026-02-15T00:00:00Z')],
      ['the first moment that it has', archived('Archived'), { at: FIRST }, exactly(FIRST)],
      [
        'an earlier time',
        archived('Archived'),
        { at: '2026-01-31T00:00:00Z' },
        { from: 'shop', at: '2026-01-31T00:00:00Z' },
      ],
      [
        'a later time than now',
        archived('Archived'),
        { at: '2026-03-02T00:00:00Z' },
        { from: 'shop', at: '2026-03-02T00:00:00Z' },
      ],
      ['a time while it fails', archived('ArchiveFailing', 'False'), { at: FIRST }, { from: 'shop', at: FIRST }],
      ['a backup of a name', archived('Archived'), { backup }, { from: 'shop', backup }],
      ['no time', archived('Archived', 'True', { databaseBackup: { name: backup } }), {}, { from: 'shop' }],
      [
        'no time, without a backup',
        archived('Archived', 'True', { databaseBackup: undefined }),
        {},
        { from: 'shop', archive: true },
      ],
      [
        'a time, in one pod',
        archived('Archived', 'True', { databaseDriver: undefined }),
        { at: FIRST },
        { from: 'shop', at: FIRST },
      ],
    ])('that asks for %s', (_what, origin, request, restore) => {
      expect(restoreOf(origin, request)).toEqual(restore);
    });

    it('has the driver that the archive needs, and an archive of its own', () => {
      expect(clone(archived('Archived'), { at: FIRST }).spec.sourceConfig.database).toEqual({
        archive: {},
        driver: 'cloudnative-pg',
        restore: exactly(FIRST),
      });
    });
  });

  it('is what serves, where a newer revision does not', () => {
    const before = aRecord({ sourceConfig: { env: [{ name: 'COLOR', value: 'red' }] } }, BACKED_UP);
    const failing = askingForRevision(before.spec, {
      ...before.spec,
      sourceConfig: { env: [{ name: 'COLOR', value: 'blue' }], buildOnPush: true },
      sourceRevisionConfig: { imageUri: 'registry.example/shop:broken' },
    });
    const origin = { ...before, spec: failing };
    const revisions = [aRevision(before, 'DEPLOYED'), aRevision(origin, 'DEPLOY_FAILED', 2)];
    const { spec } = clone(origin, {}, revisions);
    expect(spec.sourceRevisionConfig).toEqual(before.spec.sourceRevisionConfig);
    expect(spec.sourceConfig.env).toEqual(before.spec.sourceConfig.env);
    expect(spec).not.toHaveProperty('rollbackTo');
    expect(clone(origin, {}, [aRevision(origin, 'DEPLOYING', 2)]).spec.sourceRevisionConfig).toEqual(
      failing.sourceRevisionConfig,
    );
  });

  it('of a repository is built from the commit that serves, and from no later one', () => {
    const origin = aRecord(
      {
        source: 'codehost',
        sourceConfig: { repoUrl: 'https://git.example/shop', buildOnPush: true },
        sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
      },
      BACKED_UP,
    );
    const built = aRevision(origin, 'DEPLOYED');
    const active = {
      ...built,
      status: { ...built.status, build: { phase: 'Built', commit: COMMIT } },
    } as AppRevision;
    const { spec, notes } = clone(origin, {}, [active]);
    expect(spec.sourceRevisionConfig).toEqual({ repoRef: COMMIT, workflowConfigPath: 'davit.json' });
    expect(spec.sourceConfig.buildOnPush).toBeUndefined();
    expect(notes).toEqual([`It stays at commit ${COMMIT}: pushes do not change it.`]);
  });

  it('without a database begins with no backup', () => {
    const { spec } = clone(aRecord({ sourceConfig: { runtime: { database: 'none' } } }));
    expect(spec.sourceConfig).toEqual({ runtime: { database: 'none' } });
  });

  it('of a listener has no finalizer: the controller of the hub does not look after it', () => {
    const listenerId = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
    expect(clone(aRecord({ sourceConfig: { listenerId } }, BACKED_UP)).metadata.finalizers).toEqual([]);
  });

  it('says which schedules run twice, and which volumes are shared', () => {
    const tasks = [
      { name: 'nightly', schedule: '0 3 * * *', command: ['a'] },
      { name: 'by-hand', command: ['b'] },
    ];
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'files' } },
      { name: 'b', emptyDir: {} },
    ];
    const origin = aRecord({ sourceConfig: { tasks, resourceSpec: { volumes } } }, BACKED_UP);
    expect(clone(origin).notes).toEqual([
      'Its tasks run on their schedules, as those of "shop" do: nightly.',
      'It mounts the same PersistentVolumeClaims as "shop": files.',
    ]);
  });

  function withBackupReady(status: 'False' | 'Unknown', reason: string): AppDeployment {
    const message = `the message of ${reason}`;
    const condition = { type: 'BackupReady', status, reason, message, lastTransitionTime: '2026-02-02T00:00:00Z' };
    return aRecord({}, { status: { conditions: [condition] } });
  }
  const external = { secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }] };
  const asked = aRecord({}, BACKED_UP);
  const ending = { ...asked, metadata: { ...asked.metadata, deletionTimestamp: '2026-02-02T00:00:00Z' } };
  it.each([
    ['the record is being deleted', ending, {}, 'it is being deleted'],
    [
      'no backups are asked for',
      aRecord(),
      {},
      '"shop" has no backups. If the platform has a backup store (kubectl davit platform), set source_config.database.backup',
    ],
    [
      'none has been made',
      withBackupReady('Unknown', 'BackupPending'),
      {},
      'To make it now: kubectl davit backup shop',
    ],
    ['they fail', withBackupReady('False', 'BackupFailing'), {}, 'the message of BackupFailing'],
    [
      'the store is missing, also for a backup that is named',
      withBackupReady('False', 'BackupStoreMissing'),
      { at: '2026-02-02T00:00:00Z' },
      'the message of BackupStoreMissing',
    ],
    ['the database is external', aRecord(external, BACKED_UP), {}, 'uses an external database'],
    [
      'there is no database, and a backup is named',
      aRecord({ sourceConfig: { runtime: { database: 'none' } } }),
      { at: '2026-02-02T00:00:00Z' },
      '"shop" has no database. Leave out at and backup.',
    ],
    ['the image was pushed', aRecord({ source: 'internal_docker' }, BACKED_UP), {}, 'push the image to it'],
    ['the source was uploaded', aRecord({ source: 'internal_source' }, BACKED_UP), {}, 'kubectl davit deploy FOLDER'],
  ])('is refused where %s', (_where, origin, request, words) => {
    const made = cloneOf(origin, [aRevision(origin, 'DEPLOYED')], { name: 'shop-2', ...request }, NOW);
    expect(made).toEqual({ refused: expect.stringContaining(words) as string });
  });
});
