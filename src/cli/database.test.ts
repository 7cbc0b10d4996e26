// What `database` does to a record, step by step, against a kubectl of the test and a Davit that does what it is asked for.

import { describe, expect, it } from 'vitest';
import { type CliRan, uid } from '../../test/support/cli-world.ts';
import {
  aCluster,
  BACKUP,
  type Cluster,
  condition,
  database,
  interruptBefore,
  MOVE,
  MOVING,
  revision,
} from '../../test/support/database-world.ts';
import { Failure } from './kubectl.ts';
import { RECORDS } from './records.ts';

describe('database move', () => {
  it('says for how long nothing serves, asks, and stops all before the backup', async () => {
    const cluster = aCluster();
    const { code, out, err, asked, questions } = await database(
      ['move', 'shop', '--driver', 'cloudnative-pg'],
      cluster,
      ['shop'],
    );
    expect([code, questions]).toEqual([0, ['Stop shop and go on? Type its name: ']]);
    expect(out).toMatch(
      /^shop is on database cloudnative-pg\/1, with PostgreSQL 18\. Nothing served for \d+ (?:s|min)\.$/,
    );
    // 100 s, and 600 MiB at 14 and 25 MiB a second.
    expect(err).toContain('nothing serves for about 3 min, by the size of the backup of 2026-02-01T00:00:00Z');
    expect(err).toContain('kubectl davit database back shop');
    expect(err).toContain('kubectl davit database forget-old shop');
    expect(cluster.story).toEqual([
      'scale 0, driver undefined',
      'scale 0, driver cloudnative-pg',
      `cloudnative-pg/1 with ${BACKUP}`,
      'scale 3, driver cloudnative-pg',
    ]);
    const order = ['patch', 'create job', 'patch', 'patch'];
    expect(
      asked
        .filter((one) => order.some((verb) => one.startsWith(verb)))
        .map((one) => one.split(' ').slice(0, 2).join(' ')),
    ).toEqual([`patch ${RECORDS}`, 'create job', `patch ${RECORDS}`, `patch ${RECORDS}`]);
    expect(cluster.record.metadata.annotations?.[MOVE]).toBe(`pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    expect(cluster.record.metadata.annotations?.[MOVING]).toBeUndefined();
    expect(cluster.record.spec.sourceConfig.resourceSpec).toEqual({ maxScale: 3 });
    expect(cluster.record.metadata.annotations?.['davit.dev/requested-by']).toContain(' anna');
    // For the generation that the request has made: the scale came after it.
    expect(cluster.record.metadata.annotations?.[`${MOVE}-by`]).toBe(
      `${uid} ${(cluster.record.metadata.generation ?? 0) - 1} anna`,
    );
  });

  it('goes on, whatever command it was interrupted before', async () => {
    for (let at = 1; at < 60; at += 1) {
      const cluster = aCluster();
      interruptBefore(cluster, at);
      const first = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
      delete cluster.before;
      const second = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
      const isOver = cluster.record.spec.sourceConfig.resourceSpec?.maxScale === 3;
      expect([at, isOver, cluster.revisions[0]?.spec.id]).toEqual([at, true, 'cloudnative-pg1']);
      // Nothing ran between the stop and the last step, and only one database was made.
      expect(cluster.story.filter((one) => one.startsWith('scale 3'))).toHaveLength(1);
      expect(cluster.story.filter((one) => one.startsWith('cloudnative-pg/'))).toHaveLength(1);
      if (first.code === 0) return;
      expect([0, 1]).toContain(second.code);
    }
    throw new Error('more commands than the test counts to');
  });

  it('starts it as it was where Davit refuses, and says why', async () => {
    const cluster = aCluster();
    cluster.refuses = 'DatabaseMoveRefused';
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('Nothing was moved, and shop is being started as it was. Stalled: DatabaseMoveRefused'),
    ]);
    expect(cluster.record.spec.sourceConfig).toEqual({ database: { backup: {} }, resourceSpec: { maxScale: 3 } });
    expect([cluster.record.metadata.annotations?.[MOVE], cluster.record.metadata.annotations?.[MOVING]]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('stays stopped where the backup is not loaded, and goes back by the command that it names', async () => {
    const cluster = aCluster();
    cluster.restores = 'fails';
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('has not got its data. Stalled: RestoreFailed')]);
    expect(err).toContain('kubectl davit database back shop');
    expect(cluster.record.spec.sourceConfig.resourceSpec?.maxScale).toBe(0);
    const back = await database(['back', 'shop', '--yes'], cluster);
    expect([back.code, back.out]).toEqual([
      0,
      expect.stringMatching(/^shop is on database pod\/0, with PostgreSQL 17\./),
    ]);
    expect(cluster.story.at(-1)).toBe('scale 3, driver pod');
    expect(cluster.record.spec.sourceConfig.resourceSpec).toEqual({ maxScale: 3 });
  });

  it('asks for no move after somebody has changed the record, and says so', async () => {
    const cluster = aCluster();
    cluster.before = (words) => {
      if (!words.startsWith('create job')) return;
      const { metadata } = cluster.record;
      cluster.record = { ...cluster.record, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } };
    };
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('Somebody has changed shop since its pods were stopped')]);
    expect(cluster.story).toEqual(['scale 0, driver undefined']);
  });

  it.each([
    ['changed', (annotations: Cluster['record']['metadata']['annotations']) => annotations],
    [
      'taken away',
      (annotations: Cluster['record']['metadata']['annotations']) =>
        Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !key.startsWith(MOVE))),
    ],
  ] as const)('starts it as it was where what was asked for was %s meanwhile, and says so', async (_what, change) => {
    const cluster = aCluster();
    cluster.before = (words) => {
      const { metadata } = cluster.record;
      if (!words.startsWith('get apprevisions') || metadata.annotations?.[MOVE] === undefined) return;
      delete cluster.before;
      const { generation = 0, annotations } = metadata;
      cluster.revisions = cluster.revisions.filter(({ spec }) => spec.id === 'first');
      cluster.record = {
        ...cluster.record,
        metadata: { ...metadata, generation: generation + 1, annotations: change(annotations) ?? {} },
      };
    };
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('Nothing was moved, and shop is being started as it was: somebody has changed it'),
    ]);
    expect([cluster.record.metadata.annotations?.[MOVE], cluster.record.metadata.annotations?.[`${MOVE}-by`]]).toEqual([
      undefined,
      undefined,
    ]);
    expect(cluster.record.spec.sourceConfig).toEqual({ database: { backup: {} }, resourceSpec: { maxScale: 3 } });
  });

  it('stops nothing for somebody of whom nothing is known, and neither does back', async () => {
    const move = ['move', 'shop', '--driver', 'cloudnative-pg', '--yes'];
    const [fresh, moved] = [aCluster(), aCluster()];
    await database(move, moved);
    for (const [cluster, args] of [
      [fresh, move],
      [moved, ['back', 'shop', '--yes']],
    ] as const) {
      cluster.nobody = true;
      const told = cluster.story.length;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, err } = await database(args, cluster);
      expect([code, err, cluster.story.length]).toEqual([
        1,
        expect.stringContaining('Nothing was changed: a database is moved for somebody who is known'),
        told,
      ]);
    }
  });

  it.each([
    ['fails', 'the backup failed'],
    ['mute', 'does not say which backup it made'],
  ] as const)('changes no database where the backup %s', async (backup, words) => {
    const cluster = aCluster();
    cluster.backup = backup;
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([1, expect.stringContaining(words)]);
    expect(cluster.story).toEqual(['scale 0, driver undefined']);
    const ended = await database(['back', 'shop', '--yes'], cluster);
    expect([ended.code, ended.out, cluster.story.at(-1)]).toEqual([
      0,
      'The move was ended. shop goes on with database pod/0.',
      'scale 3, driver undefined',
    ]);
  });

  it('leaves instances to the driver that has them', async () => {
    const cluster = aCluster();
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const { sourceConfig, ...spec } = cluster.record.spec;
    const database_ = { ...sourceConfig.database, instances: 2 };
    cluster.record = { ...cluster.record, spec: { ...spec, sourceConfig: { ...sourceConfig, database: database_ } } };
    expect((await database(['back', 'shop', '--yes'], cluster)).code).toBe(0);
    expect(cluster.record.spec.sourceConfig).toEqual({
      database: { driver: 'pod', backup: {} },
      resourceSpec: { maxScale: 3 },
    });
  });

  it('moves no Cluster to a pod', async () => {
    const cluster = aCluster();
    cluster.revisions = [revision('first', { server: {}, postgres: { driver: 'cloudnative-pg', image: 'pg:17' } })];
    const { code, err } = await database(['move', 'shop', '--driver', 'pod', '--yes'], cluster);
    expect([code, err, cluster.story]).toEqual([1, expect.stringContaining('A Cluster is not moved to a pod.'), []]);
  });

  it.each([
    ['no driver', {}, {}, ['move', 'shop'], 2, '--driver must be the driver'],
    ['a driver for another action', {}, {}, ['back', 'shop', '--driver', 'pod'], 2, '--driver is for move'],
    ['nobody to ask', {}, {}, ['move', 'shop', '--driver', 'cloudnative-pg'], 2, 'Nobody can be asked here'],
    ['the driver that it has', {}, {}, ['move', 'shop', '--driver', 'pod', '--yes'], 1, 'has driver pod already'],
    ['no backups', { sourceConfig: {} }, {}, undefined, 1, 'none are asked for'],
    [
      'a backup that is not good',
      {},
      { conditions: [condition('BackupReady', 'False', 'BackupStoreMissing')] },
      undefined,
      1,
      'BackupStoreMissing',
    ],
    [
      'a database that is still loaded',
      {},
      { conditions: [condition('DatabaseRestored', 'False', 'Restoring')] },
      undefined,
      1,
      'still being loaded',
    ],
    ['a rollout that goes on', {}, { activeRevisionId: 'earlier' }, undefined, 1, 'is not deployed'],
    ['a change that Davit has not seen', {}, { observedGeneration: 0 }, undefined, 1, 'Run the command again'],
    ['no data', {}, { databaseVolumeUid: undefined }, undefined, 1, 'has no data yet'],
    [
      'an operator that is not there',
      {},
      { databaseDrivers: [{ driver: 'pod', postgresVersion: 17 }] },
      undefined,
      1,
      'The database of shop cannot be moved. This platform has no CloudNativePG',
    ],
    [
      'an older PostgreSQL',
      {},
      { databaseDrivers: [{ driver: 'cloudnative-pg', postgresVersion: 16 }] },
      undefined,
      1,
      'It is PostgreSQL 17, and with driver cloudnative-pg this platform has PostgreSQL 16.',
    ],
  ] as const)('refuses %s, and changes nothing', async (_what, spec, status, args, wanted, words) => {
    const cluster = aCluster(spec, status);
    const { code, err } = await database(args ?? ['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err, cluster.story]).toEqual([wanted, expect.stringContaining(words), []]);
  });

  it('refuses a record that is paused, in a listener, or has an external database, and who may not do it', async () => {
    const run = (cluster: Cluster): Promise<CliRan> =>
      database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const paused = aCluster();
    paused.record = {
      ...paused.record,
      metadata: { ...paused.record.metadata, annotations: { 'davit.dev/paused': 'true' } },
    };
    expect((await run(paused)).err).toContain('is paused');
    const external = aCluster();
    external.revisions = [revision('first', { server: {} })];
    expect((await run(external)).err).toContain('has no PostgreSQL that Davit made');
    const powerless = aCluster();
    powerless.before = (words) => {
      if (words === 'auth can-i create jobs.batch') throw new Failure('no');
    };
    expect((await run(powerless)).err).toContain('You may not create jobs.batch here');
    expect([paused, external, powerless].flatMap(({ story }) => story)).toEqual([]);
  });
});

describe('a move that somebody undoes or takes away meanwhile', () => {
  const CLUSTER = ['move', 'shop', '--driver', 'cloudnative-pg', '--yes'];

  /** Somebody acts between the last write of the command and its next look at the record. */
  async function afterwards(args: readonly string[], cluster: Cluster, act: () => Promise<unknown>): Promise<CliRan> {
    const inner: { promise?: Promise<unknown> } = {};
    let wasMoving = false;
    return database(args, cluster, undefined, async (words) => {
      const isMoving = cluster.record.metadata.annotations?.[MOVING] !== undefined;
      const isOver = wasMoving && !isMoving;
      wasMoving ||= isMoving;
      if (isOver && words.startsWith('get') && inner.promise === undefined) {
        inner.promise = act();
        await inner.promise;
      }
    });
  }

  it('is no success, and neither is a way back or the end of a move', async () => {
    const moved = aCluster();
    const ended = aCluster();
    ended.backup = 'fails';
    await database(CLUSTER, ended);
    delete ended.backup;
    const returned = aCluster();
    await database(CLUSTER, returned);
    for (const [cluster, args, act, was, now] of [
      [moved, CLUSTER, ['back', 'shop', '--yes'], 'cloudnative-pg/1', 'pod/0'],
      [returned, ['back', 'shop', '--yes'], ['back', 'shop', '--yes'], 'pod/0', 'cloudnative-pg/1'],
      [ended, ['back', 'shop', '--yes'], CLUSTER, 'pod/0', 'cloudnative-pg/1'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, out, err } = await afterwards(args, cluster, async () => {
        // Davit observes the end of the move when it is asked.
        const first = await database(act, cluster, undefined, undefined, 'mallory');
        if (first.code !== 0) await database(act, cluster, undefined, undefined, 'mallory');
        expect(cluster.revisions[0]?.spec.id).toBe(now.replace('/', ''));
      });
      expect([code, out, err]).toEqual([
        1,
        '',
        expect.stringContaining(
          `shop is not on database ${was} any more: it is on ${now}. mallory has changed it last.`,
        ),
      ]);
      expect(err).toContain('kubectl davit database back shop');
    }
  });

  it('is no success where the next move has begun already', async () => {
    const cluster = aCluster();
    const { code, out, err } = await afterwards(CLUSTER, cluster, async () => {
      interruptAfterStop(cluster);
      await database(['back', 'shop', '--yes'], cluster, undefined, undefined, 'mallory');
      delete cluster.before;
    });
    expect([code, out, err]).toEqual([1, '', expect.stringContaining('cloudnative-pg/1 to pod/0, begun by mallory')]);
  });

  /** The command fails where it asks for pods the first time, after it has stopped them. */
  function interruptAfterStop(cluster: Cluster): void {
    cluster.before = (words) => {
      if (words.startsWith('get pods')) throw new Failure('interrupted');
    };
  }

  it('goes no further where its mark is gone, and writes none', async () => {
    const cluster = aCluster();
    cluster.before = (words) => {
      if (!words.startsWith('create job') || cluster.record.metadata.annotations?.[MOVING] === undefined) return;
      delete cluster.before;
      const { [MOVING]: _mark, [`${MOVING}-by`]: _by, ...annotations } = cluster.record.metadata.annotations;
      const resourceVersion = String(Number(cluster.record.metadata.resourceVersion) + 1);
      cluster.record = { ...cluster.record, metadata: { ...cluster.record.metadata, annotations, resourceVersion } };
    };
    const { code, err } = await database(CLUSTER, cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        'This run goes no further: somebody has taken away annotation davit.dev/moving-database, which says that the move was begun. shop has database pod/0, and a scale of 0 to 0; before the move it was the default to 3.',
      ),
    ]);
    expect(err).toContain('kubectl davit scale shop --replicas N');
    expect(cluster.story).toEqual(['scale 0, driver undefined']);
    expect(Object.keys(cluster.record.metadata.annotations ?? {})).not.toContain(MOVING);
  });

  it.each([
    ['of which nothing proves the author', undefined, ', and nothing proves by whom'],
    ['of somebody else', 'bert', ', begun by bert'],
  ])('does not write over a mark %s', async (_what, by, words) => {
    for (const when of ['patch', 'create job', 'get pods']) {
      const cluster = aCluster();
      const theirs = JSON.stringify({ move: 'pod/0 to cloudnative-pg/1', stoppedAt: '2026-02-01T00:00:00Z' });
      cluster.before = (asked) => {
        if (!asked.startsWith(when)) return;
        delete cluster.before;
        const { metadata } = cluster.record;
        const { [`${MOVING}-by`]: _by, ...rest } = metadata.annotations ?? {};
        const claim = by === undefined ? {} : { [`${MOVING}-by`]: `${uid} 2026-02-01T00:00:00Z ${by}` };
        const annotations = { ...rest, [MOVING]: theirs, ...claim };
        const resourceVersion = String(Number(metadata.resourceVersion) + 1);
        cluster.record = { ...cluster.record, metadata: { ...metadata, annotations, resourceVersion } };
      };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, err } = await database(CLUSTER, cluster);
      expect([when, code, err]).toEqual([
        when,
        1,
        expect.stringContaining(`it has a mark that this run did not write: pod/0 to cloudnative-pg/1${words}`),
      ]);
      expect(cluster.record.metadata.annotations?.[MOVING]).toBe(theirs);
      expect(cluster.record.metadata.annotations?.[MOVE]).toBeUndefined();
    }
  });
});

const HAS_18 = { databaseDrivers: [{ driver: 'pod', postgresVersion: 18 }] };

describe('database upgrade', () => {
  it('is a move to the next database of the driver, with the version that the platform has', async () => {
    const cluster = aCluster({}, HAS_18);
    const { code, out, err, questions } = await database(['upgrade', 'shop'], cluster, ['shop']);
    expect([code, questions]).toEqual([0, ['Stop shop and go on? Type its name: ']]);
    // 60 s, and 600 MiB at 14 and 25 MiB a second.
    expect(err).toContain(
      'shop goes from PostgreSQL 17 (pod/0) to 18 (pod/1). Its pods are stopped, and nothing serves for about 2 min',
    );
    expect(out).toMatch(/^shop is on database pod\/1, with PostgreSQL 18\. Nothing served for \d+ (?:s|min)\.$/);
    expect(cluster.record.metadata.annotations?.[MOVE]).toBe(`pod/0 to pod/1 with ${BACKUP}`);
    expect(cluster.record.spec.sourceConfig).toEqual({
      database: { backup: {}, driver: 'pod' },
      resourceSpec: { maxScale: 3 },
    });
    const back = await database(['back', 'shop', '--yes'], cluster);
    expect(back.out).toMatch(/^shop is on database pod\/0, with PostgreSQL 17\./);
    expect(cluster.story.slice(-2)).toEqual(['pod/0', 'scale 3, driver pod']);
  });

  it('goes on, whatever command it was interrupted before, also with a driver that the record names', async () => {
    for (let at = 1; at < 60; at += 1) {
      const cluster = aCluster({ sourceConfig: { database: { backup: {}, driver: 'pod' }, resourceSpec: {} } }, HAS_18);
      interruptBefore(cluster, at);
      const first = await database(['upgrade', 'shop', '--yes'], cluster);
      delete cluster.before;
      const second = await database(['upgrade', 'shop', '--yes'], cluster);
      expect([at, cluster.record.spec.sourceConfig.resourceSpec, cluster.revisions.map(({ spec }) => spec.id)]).toEqual(
        [at, {}, ['pod1', 'first']],
      );
      if (first.code === 0) return;
      expect([0, 1]).toContain(second.code);
    }
    throw new Error('more commands than the test counts to');
  });

  it('says which command goes on with what was begun', async () => {
    const cluster = aCluster(
      {},
      {
        databaseDrivers: [...HAS_18.databaseDrivers, { driver: 'cloudnative-pg', postgresVersion: 18 }],
      },
    );
    cluster.backup = 'fails';
    await database(['upgrade', 'shop', '--yes'], cluster);
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        'A move of shop was begun: pod/0 to pod/1. Finish it by kubectl davit database upgrade shop, or end it: kubectl davit database back shop',
      ),
    ]);
    expect((await database(['back', 'shop', '--yes'], cluster)).out).toContain('The move was ended.');
  });

  it.each([
    ['the version that it has', [{ driver: 'pod', postgresVersion: 17 }], 'is PostgreSQL 17 already'],
    ['an older version', [{ driver: 'pod', postgresVersion: 16 }], 'with driver pod this platform has PostgreSQL 16'],
    [
      'a version that is not known',
      [{ driver: 'pod' }],
      'settings.images.postgres does not begin with the major version',
    ],
    ['a Davit that does not say it', undefined, 'older than this command'],
  ] as const)('refuses %s, and stops nothing', async (_what, databaseDrivers, words) => {
    const cluster = aCluster({}, { databaseDrivers });
    const { code, err } = await database(['upgrade', 'shop', '--yes'], cluster);
    expect([code, err, cluster.story]).toEqual([1, expect.stringContaining(words), []]);
  });

  it('refuses an operator that is gone, an image without a version, and a record without a good backup', async () => {
    const refusal = async (resolved: object, spec: object = {}, status: object = HAS_18): Promise<string> => {
      const cluster = aCluster(spec, status);
      cluster.revisions = [revision('first', { server: {}, ...resolved })];
      const { code, err } = await database(['upgrade', 'shop', '--yes'], cluster);
      expect([code, cluster.story]).toEqual([1, []]);
      return err;
    };
    const pod = { postgres: { image: 'postgres:17' } };
    expect(await refusal({ postgres: { image: 'pg:17', driver: 'cloudnative-pg' } })).toContain(
      'This platform has no CloudNativePG',
    );
    expect(await refusal({ postgres: { image: 'postgres:latest' } })).toContain('the tag of image postgres:latest');
    expect(await refusal({})).toContain('is upgraded where it runs');
    expect(await refusal(pod, { sourceConfig: {} })).toContain('none are asked for');
    expect(
      await refusal(pod, {}, { ...HAS_18, conditions: [condition('BackupReady', 'False', 'BackupFailing', 'Full.')] }),
    ).toContain('has no good one: Full.');
    expect(await refusal(pod, {}, { ...HAS_18, databaseVolumeUid: undefined })).toContain('has no data yet');
  });
});

describe('a move that somebody else has begun', () => {
  const stopped = { maxScale: 9, stoppedAt: '2026-02-01T00:00:00Z' };
  const begun = (move: object, by?: string): Cluster => {
    const cluster = aCluster();
    const { metadata } = cluster.record;
    const annotations = {
      [MOVING]: JSON.stringify({ ...stopped, ...move }),
      ...(by !== undefined && { [`${MOVING}-by`]: `${metadata.uid} ${stopped.stoppedAt} ${by}` }),
    };
    cluster.record = { ...cluster.record, metadata: { ...metadata, annotations } };
    return cluster;
  };
  const toCluster = { move: 'pod/0 to cloudnative-pg/1' };

  it.each([
    ['by bert', begun(toCluster, 'bert'), ' by bert: pod/0 to cloudnative-pg/1, on 2026-02-01T00:00:00Z'],
    ['by nobody who says so', begun(toCluster), ', and nothing proves by whom'],
    ['of another time', begun({ ...toCluster, stoppedAt: '2026-02-02T00:00:00Z' }, 'anna'), 'nothing proves by whom'],
  ])('does not go on, and does not end, unless one says so: %s', async (_what, cluster, words) => {
    for (const args of [
      ['move', 'shop', '--driver', 'cloudnative-pg', '--yes'],
      ['back', 'shop', '--yes'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other on one record
      const { code, err } = await database(args, cluster);
      expect([code, err, cluster.story]).toEqual([1, expect.stringContaining(words), []]);
      expect(err).toContain('It leaves shop with a scale of the default to 9');
    }
    const { code } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes', '--go-on'], cluster);
    expect([code, cluster.story.at(-1)]).toEqual([0, 'scale 9, driver cloudnative-pg']);
  });

  it.each([
    [
      'what it was is gone',
      undefined,
      'anna has begun to move the database of shop on 2026-02-01T00:00:00Z, and annotation',
    ],
    [
      'what it was cannot be read',
      '{"maxScale":9}',
      'davit.dev/moving-database of shop says nothing that a move was begun with: {"maxScale":9}',
    ],
  ])('goes neither on nor back where %s, whoever asks', async (_what, said, words) => {
    const cluster = aCluster();
    // There is a database to go back to.
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const { metadata } = cluster.record;
    const by = { [`${MOVING}-by`]: `${uid} ${stopped.stoppedAt} anna` };
    const annotations = { ...metadata.annotations, ...by, ...(said !== undefined && { [MOVING]: said }) };
    cluster.record = { ...cluster.record, metadata: { ...metadata, annotations } };
    const told = cluster.story.length;
    for (const args of [
      ['move', 'shop', '--driver', 'pod', '--yes'],
      ['upgrade', 'shop', '--yes'],
      ['back', 'shop', '--yes'],
      ['back', 'shop', '--yes', '--go-on'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other on one record
      const { code, err } = await database(args, cluster);
      expect([code, err, cluster.story.length]).toEqual([1, expect.stringContaining(words), told]);
      expect(err).toContain('shop has database cloudnative-pg/1, and a scale of the default to 3.');
      expect(err).toContain('davit.dev/moving-database- davit.dev/moving-database-by-');
    }
    const { [`${MOVING}-by`]: _by, [MOVING]: _moving, ...rest } = annotations;
    // A claim of an earlier life of the name says nothing.
    const old = { ...rest, [`${MOVING}-by`]: '0b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11 2026-02-01T00:00:00Z anna' };
    cluster.record = { ...cluster.record, metadata: { ...cluster.record.metadata, annotations: old } };
    expect((await database(['back', 'shop', '--yes'], cluster)).code).toBe(0);
  });

  it.each([
    [undefined, ', and nothing proves by whom'],
    ['bert', ' by bert'],
  ])('says so where another move is asked for: %s', async (by, words) => {
    const cluster = begun(toCluster, by);
    for (const more of [[], ['--go-on']]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other on one record
      const { code, err } = await database(['upgrade', 'shop', '--yes', ...more], cluster);
      expect([code, err, cluster.story]).toEqual([
        1,
        expect.stringContaining(`A move of shop was begun${words}: pod/0 to cloudnative-pg/1`),
        [],
      ]);
      expect(err).toContain('a scale of the default to 9');
      expect(err).toContain(
        'If that is right, finish it by kubectl davit database move shop --driver cloudnative-pg --go-on, or end it: kubectl davit database back shop --go-on',
      );
    }
  });

  it('ends by --go-on too', async () => {
    const { code, out } = await database(['back', 'shop', '--yes', '--go-on'], begun(toCluster, 'bert'));
    expect([code, out]).toEqual([0, 'The move was ended. shop goes on with database pod/0.']);
  });

  it('is known by a claim that stands as long as the move', async () => {
    const cluster = aCluster();
    cluster.backup = 'fails';
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const { annotations } = cluster.record.metadata;
    const { stoppedAt } = JSON.parse(annotations?.[MOVING] ?? '') as { stoppedAt: string };
    expect(annotations?.[`${MOVING}-by`]).toBe(`${uid} ${stoppedAt} anna`);
    await database(['back', 'shop', '--yes'], cluster);
    expect(cluster.record.metadata.annotations?.[`${MOVING}-by`]).toBeUndefined();
  });
});

describe('database back', () => {
  it('returns to the database of before, and again', async () => {
    const cluster = aCluster();
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const { code, err } = await database(['back', 'shop'], cluster, ['shop']);
    expect([code, err]).toEqual([0, expect.stringContaining('is not in it')]);
    expect(cluster.story.slice(-3)).toEqual(['scale 0, driver pod', 'pod/0', 'scale 3, driver pod']);
    expect((await database(['back', 'shop', '--yes'], cluster)).code).toBe(0);
    expect(cluster.story.slice(-3)).toEqual([
      'scale 0, driver cloudnative-pg',
      'cloudnative-pg/1',
      'scale 3, driver cloudnative-pg',
    ]);
  });

  it('has nowhere to go where nothing was moved', async () => {
    const cluster = aCluster();
    const { code, err } = await database(['back', 'shop', '--yes'], cluster);
    expect([code, err, cluster.story]).toEqual([1, expect.stringContaining('was not moved'), []]);
  });
});

describe('database forget-old', () => {
  it('deletes what is not used, after asking, and nothing of what is', async () => {
    const cluster = aCluster();
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    cluster.held.push('secret/shop---pg1');
    expect((await database(['forget-old', 'shop'], cluster, ['no'])).code).toBe(1);
    expect(cluster.held).toContain('secret/shop--postgres');
    const { code, out } = await database(['forget-old', 'shop'], cluster, ['shop']);
    expect([code, out]).toEqual([
      0,
      'Deleted: persistentvolumeclaim/shop--postgres, secret/shop--postgres. shop keeps its present database.',
    ]);
    expect(cluster.held).toEqual(['secret/shop--redis', 'secret/shop---pg1']);
    expect((await database(['forget-old', 'shop', '--yes'], cluster)).out).toBe(
      'shop has no database that it does not use.',
    );
  });

  it.each([
    [
      'went back to a database that was unused',
      (cluster: Cluster) => {
        cluster.revisions = [revision('first', { server: {}, postgres: { image: 'postgres:17' } })];
      },
      'the databases of shop changed while the question was open',
    ],
    [
      'began to go back',
      (cluster: Cluster) => {
        const { record } = cluster;
        cluster.record = { ...record, metadata: { ...record.metadata, generation: 9 } };
      },
      'shop does not serve on its present database now',
    ],
  ])('deletes nothing if somebody %s while it asked', async (_name, change, message) => {
    const cluster = aCluster();
    cluster.revisions = [
      revision('second', { server: {}, postgres: { image: 'postgres:17' }, movedDatabase: { number: 1 } }),
    ];
    cluster.held.push('secret/shop---pg1');
    const before = [...cluster.held];
    let commands = 0;
    // The record, its revisions and three kinds of objects are read before the question.
    cluster.before = () => {
      commands += 1;
      if (commands === 6) change(cluster);
    };
    const { code, err, questions } = await database(['forget-old', 'shop'], cluster, ['shop']);
    expect([code, err, questions.length]).toEqual([1, expect.stringContaining(message), 1]);
    expect(cluster.held).toEqual(before);
  });

  it('deletes nothing while the present database does not serve', async () => {
    const cluster = aCluster();
    cluster.restores = 'fails';
    await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    const { code, err } = await database(['forget-old', 'shop', '--yes'], cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('Nothing was deleted')]);
    expect(cluster.held).toContain('persistentvolumeclaim/shop--postgres');
  });
});
