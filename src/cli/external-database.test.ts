// A move to an external database and back, step by step, against a kubectl of the test and a Davit that does what it is asked for.

import { describe, expect, it } from 'vitest';
import { type CliRan, uid } from '../../test/support/cli-world.ts';
import {
  aCluster,
  BACKUP,
  type Cluster,
  database,
  interruptBefore,
  MOVE,
  MOVING,
  revision,
} from '../../test/support/database-world.ts';
import { Failure } from './kubectl.ts';

const REFERENCE = { name: 'POSTGRES_URI_CUSTOM', secretName: 'hosted', secretKey: 'uri' };
const AWAY = ['move', 'shop', '--external', 'hosted', '--yes'];

const away = (cluster: Cluster, ...more: readonly string[]): Promise<CliRan> => database([...AWAY, ...more], cluster);
const back = (cluster: Cluster): Promise<CliRan> => database(['back', 'shop', '--yes'], cluster);

describe('database move --external', () => {
  it('tries the database before anything is stopped, loads it before it is used, and says all of it', async () => {
    const cluster = aCluster();
    const { code, out, err, asked, questions } = await database(AWAY.slice(0, -1), cluster, ['shop']);
    expect([code, questions]).toEqual([0, ['Stop shop and go on? Type its name: ']]);
    expect(err).toContain(
      'shop is moved from pod/0 to external/1. That is database app at db.example:5432, as user shop, with PostgreSQL 17.2. Davit does not back it up. Its pods are stopped',
    );
    expect(out).toMatch(/^shop is on database external\/1\. Nothing served for \d+ (?:s|min)\.$/);
    expect(err).toContain('To go back to it: kubectl davit database back shop');
    expect(err).toContain('kubectl davit database forget-old shop');
    expect(err).toContain('Davit makes no backups of an external database.');
    expect(cluster.story).toEqual([
      'scale 0, driver undefined',
      `outside 1/${BACKUP}`,
      'scale 0, driver undefined, external',
      `external/1 with ${BACKUP}`,
      'scale 3, driver undefined, external',
    ]);
    const { metadata, spec } = cluster.record;
    expect([metadata.annotations?.[MOVE], metadata.annotations?.[MOVING]]).toEqual([
      `pod/0 to external/1 with ${BACKUP}`,
      undefined,
    ]);
    expect(spec).toMatchObject({
      secretReferences: [REFERENCE],
      sourceConfig: { database: { backup: { enabled: false } }, resourceSpec: { maxScale: 3 } },
    });
    // What the API server would refuse is known before.
    const writes = asked
      .filter((one) => /^(?:patch|create) /.test(one))
      .map((one) => one.split(' ').slice(0, 2).join(' '));
    expect(writes[0]).toMatch(/^patch /);
    expect(asked.find((one) => one.startsWith('patch '))).toContain('--dry-run=server');
    expect(asked.filter((one) => one.includes(' secret '))).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('go-template={{.metadata.resourceVersion}}{{range $key')),
    );
  });

  it('goes on, whatever command it was interrupted before, and loads the database once', async () => {
    for (let at = 1; at < 90; at += 1) {
      const cluster = aCluster();
      interruptBefore(cluster, at);
      const first = await away(cluster);
      delete cluster.before;
      const second = await away(cluster);
      const isOver = cluster.record.spec.sourceConfig.resourceSpec?.maxScale === 3;
      expect([at, isOver, cluster.revisions[0]?.spec.id, cluster.outside.loaded, second.err]).toEqual([
        at,
        true,
        'external1',
        1,
        second.err,
      ]);
      expect(cluster.story.filter((one) => one.startsWith('scale 3'))).toEqual(['scale 3, driver undefined, external']);
      expect(cluster.story.filter((one) => one.startsWith('external/'))).toHaveLength(1);
      // What is used is what was loaded.
      expect(cluster.record.metadata.annotations?.[MOVE]).toContain(` with ${cluster.outside.mark?.split('/')[2]}`);
      if (first.code === 0) return;
      expect([0, 1]).toContain(second.code);
    }
    throw new Error('more commands than the test counts to');
  });

  it('is ended, whatever command it was interrupted before, and leaves the deployment as it was', async () => {
    for (let at = 1; at < 90; at += 1) {
      const cluster = aCluster({ secretReferences: [{ name: 'KEY', secretName: 's', secretKey: 'k' }] });
      const { spec } = structuredClone(cluster.record);
      interruptBefore(cluster, at);
      const first = await away(cluster);
      delete cluster.before;
      const isBegun = cluster.record.metadata.annotations?.[MOVING] !== undefined;
      const isDone = cluster.revisions[0]?.spec.id === 'external1';
      const ended = await back(cluster);
      if (first.code === 0) return;
      expect([at, ended.code]).toEqual([at, isBegun || isDone ? 0 : 1]);
      expect(cluster.revisions[0]?.spec.id).toMatch(/^(?:first|pod0)$/);
      const { driver: _driver, ...rest } = cluster.record.spec.sourceConfig.database ?? {};
      expect([cluster.record.spec.secretReferences, rest, cluster.record.spec.sourceConfig.resourceSpec]).toEqual([
        spec.secretReferences,
        spec.sourceConfig.database,
        spec.sourceConfig.resourceSpec,
      ]);
    }
    throw new Error('more commands than the test counts to');
  });

  it('does not take for its data what an earlier move has loaded', async () => {
    const cluster = aCluster();
    // After it was loaded, and before it was used.
    cluster.before = (words) => {
      if (words.startsWith('patch') && words.includes('move-database') && !words.includes('--dry-run'))
        throw new Failure('interrupted');
    };
    await away(cluster);
    delete cluster.before;
    expect([cluster.outside.loaded, (await back(cluster)).code]).toEqual([1, 0]);
    const { code, err } = await away(cluster);
    expect([code, err, cluster.story.at(-1)]).toEqual([
      1,
      expect.stringContaining('Nothing was loaded. The database is not empty'),
      'scale 0, driver undefined',
    ]);
    expect(err).toContain('kubectl davit database back shop');
  });

  const load = (more: object = {}, id = 'UID/1/b'): object => ({
    metadata: { name: 'shop---restore-a', ownerReferences: [{ uid }] },
    spec: {
      template: { spec: { containers: [{ env: [{ name: 'RESTORE_ID', value: id.replace('UID', uid) }] }] } },
    },
    ...more,
  });
  const ended = { status: { conditions: [{ type: 'Failed', status: 'True' }] } };
  const foreign = { metadata: { name: 'foreign', ownerReferences: [] } };
  it.each<[string, object[], string[]]>([
    [
      'that still load it, with their pods, before it starts the deployment',
      [load(), load(ended)],
      ['delete jobs.batch shop---restore-a --ignore-not-found --cascade=foreground --timeout=2m'],
    ],
    ['no others', [load(ended), load(foreign), load({}, 'UID/2/b'), load({ spec: {} })], []],
  ])('database back ends the Jobs %s', async (_what, loads, deletes) => {
    const cluster = aCluster();
    cluster.outside.loading = 'connection refused';
    await away(cluster);
    cluster.loads = loads;
    const { code, err, asked } = await back(cluster);
    expect([code, asked.filter((one) => one.startsWith('delete '))]).toEqual([0, deletes]);
    expect(err.includes('Job shop---restore-a is being ended, which loads the external database.')).toBe(
      deletes.length > 0,
    );
    const at = (start: string): number => asked.findIndex((one) => one.startsWith(start));
    expect(at('delete ')).toBeLessThan(at('patch '));
  });

  it('database back goes on for a caller who may not delete that Job, and says how to end it', async () => {
    const cluster = aCluster();
    cluster.outside.loading = 'connection refused';
    await away(cluster);
    cluster.loads = [load()];
    cluster.before = (words) => {
      if (words.startsWith('delete ')) throw new Failure('Error from server (Forbidden): jobs.batch is forbidden');
    };
    const { code, err } = await back(cluster);
    expect([code, err]).toEqual([0, expect.stringContaining('To end it: kubectl delete job shop---restore-a')]);
  });

  const KUBECTL_NOT_FOUND = 'Error from server (NotFound): jobs.batch "loads" not found';

  it.each([
    ['before this run looks at the Job again', 'get jobs.batch'],
    ['after it has seen that the Job is gone', 'get appdeployments'],
  ])(
    'says that the move was taken back where database back ends its Job, and writes the record %s',
    async (_what, when) => {
      const cluster = aCluster();
      const { spec } = structuredClone(cluster.record);
      cluster.before = (words) => {
        if (words.startsWith('get jobs.batch loads')) throw new Failure(KUBECTL_NOT_FOUND);
      };
      let isGone = false;
      let taken: Promise<CliRan> | undefined;
      const { code, out, err } = await database(AWAY, cluster, undefined, async (words) => {
        isGone ||= words.startsWith('get jobs.batch loads');
        if (!isGone || !words.startsWith(when) || taken !== undefined) return;
        taken = database(['back', 'shop', '--yes', '--go-on'], cluster, undefined, undefined, 'bert');
        await taken;
      });
      expect((await taken)?.code).toBe(0);
      expect([code, out, err.split('\n').at(-1)]).toEqual([
        1,
        '',
        'The move was taken back by bert: shop has database pod/0, and a scale of the default to 3, as before the move. Nothing was lost. If the move is still wanted, run the command again.',
      ]);
      expect(cluster.record.spec).toEqual(spec);
    },
  );

  it.each([
    [
      'is gone',
      () => {
        throw new Failure(KUBECTL_NOT_FOUND);
      },
    ],
    ['is being deleted', (cluster: ReturnType<typeof aCluster>) => void (cluster.jobs = 'being deleted')],
  ])('says what to do where its Job %s, and nobody takes the move back', async (_what, act) => {
    const cluster = aCluster();
    cluster.before = (words) => {
      if (words.startsWith('get jobs.batch loads')) act(cluster);
    };
    const { code, err } = await away(cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        'Nothing was loaded. Job loads was deleted before its end.\nshop is stopped, and its database is as it was. When the cause is mended, run the command again. To start it as it was: kubectl davit database back shop',
      ),
    ]);
    expect(err).not.toContain('NotFound');
    cluster.before = () => undefined;
    delete cluster.jobs;
    expect((await away(cluster)).code).toBe(0);
  });

  it('makes another backup where somebody has changed the deployment meanwhile', async () => {
    const cluster = aCluster();
    cluster.outside.loading = 'connection refused';
    expect((await away(cluster)).err).toContain('Nothing was loaded. connection refused');
    delete cluster.outside.loading;
    const { metadata } = cluster.record;
    cluster.record = { ...cluster.record, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } };
    expect((await away(cluster)).code).toBe(0);
    expect([cluster.backups, cluster.record.metadata.annotations?.[MOVE]]).toEqual([
      2,
      'pod/0 to external/1 with 20260201T020000Z-0000000b',
    ]);
  });

  it('uses nothing where the Secret was changed after the database in it was loaded', async () => {
    const cluster = aCluster();
    cluster.before = (words) => {
      if (words.startsWith('create') && words.includes('-f') && cluster.backups === 1) cluster.secret = '8 uri';
    };
    const { code, err } = await away(cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('Somebody has changed Secret hosted since')]);
    expect(cluster.story).toEqual(['scale 0, driver undefined', `outside 1/${BACKUP}`]);
    expect((await away(cluster)).code).toBe(0);
  });

  it.each([
    ['before the Job that loads it', 'get secret', (cluster: ReturnType<typeof aCluster>) => cluster.backups === 1, 0],
    [
      'before the move is asked for',
      'get secret',
      (cluster: ReturnType<typeof aCluster>) => cluster.story.length > 1,
      1,
    ],
  ])('says that nothing serves where the Secret is deleted %s', async (_when, command, isThen, loads) => {
    const cluster = aCluster();
    const { secret } = cluster;
    cluster.before = (words) => {
      if (words.startsWith(command) && isThen(cluster)) cluster.secret = '';
    };
    const { code, err } = await away(cluster);
    expect([code, cluster.story.length - 1]).toEqual([1, loads]);
    expect(err.trim().split('\n').slice(-2)).toEqual([
      'There is no Secret hosted with the URI of the external database.',
      'shop is stopped, and nothing of it serves. When the cause is mended, run the command again. To end the move, and start it as it was: kubectl davit database back shop',
    ]);
    cluster.before = () => undefined;
    cluster.secret = secret;
    expect((await away(cluster)).code).toBe(0);
  });

  it('starts it as it was where Davit refuses, and says why', async () => {
    const cluster = aCluster();
    const { spec } = structuredClone(cluster.record);
    cluster.refuses = 'DatabaseMoveRefused';
    const { code, err } = await away(cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('Nothing was moved, and shop is being started as it was.'),
    ]);
    expect(cluster.record.spec).toEqual({ ...spec, secretReferences: [] });
  });

  it.each([
    ['its own', { postgres: { image: 'postgres:17' } }, 'yes'],
    ['its own Cluster', { postgres: { image: 'postgres:17', driver: 'cloudnative-pg' } }, 'yes'],
  ])('says to the Job that tries it whether the server of today stops: %s', async (_what, resolved, said) => {
    const cluster = aCluster();
    cluster.revisions = [revision('first', { server: { maxScale: 3 }, ...resolved }, 1, cluster.record.spec)];
    await away(cluster);
    expect(cluster.outside.ownServer).toBe(said);
  });

  it('gives the URI as it is, and the own one its scheme again', async () => {
    const cluster = aCluster({
      sourceConfig: {
        database: { backup: {}, driver: 'pod' },
        runtime: { postgresUriScheme: 'postgresql+asyncpg', port: 80 },
        resourceSpec: {},
      },
    });
    cluster.revisions = [revision('first', { postgres: { image: 'postgres:17' } }, 1, cluster.record.spec)];
    const { asked } = await away(cluster);
    expect(cluster.record.spec.sourceConfig.runtime).toEqual({ port: 80 });
    expect(asked.some((one) => one.startsWith('create'))).toBe(true);
    expect((await back(cluster)).code).toBe(0);
    expect(cluster.record.spec.sourceConfig.runtime).toEqual({ postgresUriScheme: 'postgresql+asyncpg', port: 80 });
  });

  const inside = (change: (cluster: ReturnType<typeof aCluster>) => void): Cluster => {
    const cluster = aCluster();
    change(cluster);
    return cluster;
  };
  it.each([
    ['no Secret', inside((cluster) => void (cluster.secret = '')), 'There is no Secret hosted'],
    [
      'no key',
      inside((cluster) => void (cluster.secret = '7 url')),
      'has no key uri. It has url. Another one is named with --key.',
    ],
    ['an empty Secret', inside((cluster) => void (cluster.secret = '7')), 'It has none.'],
    [
      'what the API server refuses',
      inside((cluster) => void (cluster.rejects = 'queueDepth asks the own PostgreSQL')),
      'shop cannot use an external database as it is: queueDepth',
    ],
    [
      'a database that is not empty',
      inside((cluster) => void (cluster.outside.trouble = 'The database is not empty: it has 3 tables')),
      'Nothing was changed. The external database cannot be used: The database is not empty: it has 3 tables',
    ],
    [
      'an external database of today',
      inside((cluster) => {
        cluster.record = { ...cluster.record, spec: { ...cluster.record.spec, secretReferences: [REFERENCE] } };
        cluster.revisions = [revision('first', { server: {} })];
      }),
      'uses an external database already',
    ],
    [
      'no database',
      inside((cluster) => void (cluster.revisions = [revision('first', {})])),
      'no PostgreSQL that Davit made',
    ],
    [
      'no data',
      inside((cluster) => {
        const { databaseVolumeUid: _none, ...status } = cluster.record.status ?? {};
        cluster.record = { ...cluster.record, status: status as never };
      }),
      'has no data yet. Name the Secret as POSTGRES_URI_CUSTOM',
    ],
    [
      'an archive',
      inside((cluster) => {
        const { spec } = cluster.record;
        const database = { ...spec.sourceConfig.database, archive: {} };
        cluster.record = { ...cluster.record, spec: { ...spec, sourceConfig: { ...spec.sourceConfig, database } } };
      }),
      'An external database has no archive, and one is asked for. Remove source_config.database.archive of shop',
    ],
  ])('refuses %s, and stops nothing', async (_what, cluster, words) => {
    const { code, err } = await away(cluster);
    expect([code, err, cluster.story, cluster.backups]).toEqual([1, expect.stringContaining(words), [], 0]);
  });

  it.each([
    ['a driver beside it', ['--driver', 'pod'], 'not both'],
    ['a URI in its place', ['--external', 'postgresql://shop:geheim@db/x'], 'The URI itself is not given here'],
    ['no name', ['--external', ''], 'must be the name of a Secret'],
    ['a key that is none', ['--key', 'a b'], '--key must be the key'],
  ])('takes no %s', async (_what, more, words) => {
    const { code, err } = await away(aCluster(), ...more);
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    expect(err).not.toContain('geheim');
  });

  it('takes no key without it, and neither for another action', async () => {
    for (const [args, words] of [
      [['move', 'shop', '--key', 'k'], '--key is for --external'],
      [['back', 'shop', '--external', 'hosted'], '--external is for move'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- two
      const { code, err } = await database(args, aCluster());
      expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    }
  });

  it('goes on with the Secret with which it was begun alone', async () => {
    const cluster = aCluster();
    cluster.backup = 'fails';
    await away(cluster);
    const { code, err } = await database(['move', 'shop', '--external', 'other', '--yes'], cluster);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        'A move of shop was begun: pod/0 to external/1. Finish it by kubectl davit database move shop --external hosted --key uri, or end it',
      ),
    ]);
  });

  it('writes what it has made together with who moves it', async () => {
    const cluster = aCluster();
    const { asked } = await away(cluster);
    const marks = asked.filter((one) => one.startsWith('patch') && one.includes(`"${MOVING}":"`));
    expect(marks.map((one) => one.includes(`"${MOVING}-by":"`))).toEqual([true, true]);
  });

  it('is no success where another Secret is named meanwhile', async () => {
    const cluster = aCluster();
    let wasMoving = false;
    cluster.before = (words) => {
      const isMoving = cluster.record.metadata.annotations?.[MOVING] !== undefined;
      if (wasMoving && !isMoving && words.startsWith('get apprevisions')) {
        const spec = { ...cluster.record.spec, secretReferences: [{ ...REFERENCE, secretName: 'other' }] };
        const resolved = { server: {}, movedDatabase: { number: 1, external: true } };
        cluster.revisions.unshift(revision('other', resolved, 9, spec));
      }
      wasMoving ||= isMoving;
    };
    const { code, out, err } = await away(cluster);
    expect([code, out, err]).toEqual([
      1,
      '',
      expect.stringContaining('it is on external/1, with the URI in key uri of Secret other.'),
    ]);
  });

  it('takes no mark for a move whose Secret has no name', async () => {
    const cluster = aCluster();
    const external = { secretName: 'x; reboot', secretKey: 'uri' };
    const moving = { move: 'pod/0 to external/1', external, stoppedAt: '2026-02-01T00:00:00Z' };
    const annotations = { [MOVING]: JSON.stringify(moving) };
    cluster.record = { ...cluster.record, metadata: { ...cluster.record.metadata, annotations } };
    const { code, err } = await database(['move', 'shop', '--driver', 'cloudnative-pg', '--yes'], cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('says nothing that a move was begun with')]);
  });

  it('that somebody else has begun names the Secret', async () => {
    const cluster = aCluster();
    const external = { secretName: 'theirs', secretKey: 'uri' };
    const moving = { move: 'pod/0 to external/1', external, stoppedAt: '2026-02-01T00:00:00Z' };
    cluster.record = {
      ...cluster.record,
      metadata: { ...cluster.record.metadata, annotations: { [MOVING]: JSON.stringify(moving) } },
    };
    const { code, err } = await database(['move', 'shop', '--external', 'theirs', '--yes'], cluster);
    expect([code, err, cluster.story]).toEqual([
      1,
      expect.stringContaining('pod/0 to external/1, with the URI in Secret theirs, on'),
      [],
    ]);
  });
});

describe('after a move to an external database', () => {
  it('database back returns to the own one, and again', async () => {
    const cluster = aCluster();
    await away(cluster);
    const { code, err, out } = await database(['back', 'shop'], cluster, ['shop']);
    expect([code, err]).toEqual([0, expect.stringContaining('is not in it')]);
    expect(err).toContain('Davit deletes nothing in an external database.');
    expect(err).not.toContain('forget-old');
    expect(out).toMatch(/^shop is on database pod\/0, with PostgreSQL 17\./);
    expect(cluster.story.slice(-3)).toEqual(['scale 0, driver pod', 'pod/0', 'scale 3, driver pod']);
    expect(cluster.record.spec).toMatchObject({ secretReferences: [], sourceConfig: { database: { backup: {} } } });
    expect(cluster.record.spec.sourceConfig.database?.backup).toEqual({});
    expect((await back(cluster)).code).toBe(0);
    expect(cluster.story.slice(-3)).toEqual([
      'scale 0, driver pod, external',
      'external/1',
      'scale 3, driver pod, external',
    ]);
    expect([cluster.record.spec.secretReferences, cluster.outside.loaded]).toEqual([[REFERENCE], 1]);
  });

  it('database back goes on, whatever command it was interrupted before', async () => {
    for (let at = 1; at < 60; at += 1) {
      const cluster = aCluster();
      await away(cluster);
      interruptBefore(cluster, at);
      const first = await back(cluster);
      delete cluster.before;
      if (first.code === 0) return;
      const isOver =
        cluster.record.metadata.annotations?.[MOVING] === undefined && cluster.revisions[0]?.spec.id === 'pod0';
      if (!isOver) expect((await back(cluster)).code).toBe(0);
      expect([at, cluster.revisions[0]?.spec.id, cluster.record.spec.sourceConfig.resourceSpec]).toEqual([
        at,
        'pod0',
        { maxScale: 3 },
      ]);
    }
    throw new Error('more commands than the test counts to');
  });

  it('database back needs the reference that Davit still goes by', async () => {
    const cluster = aCluster();
    await away(cluster);
    const { secretReferences: _gone, ...spec } = cluster.record.spec;
    cluster.record = { ...cluster.record, spec };
    const { code, err } = await back(cluster);
    expect([code, err]).toEqual([1, expect.stringContaining('Name the Secret again')]);
  });

  it('forget-old deletes every own database', async () => {
    const cluster = aCluster();
    await away(cluster);
    cluster.held.push('secret/shop---pg2');
    const { code, out } = await database(['forget-old', 'shop', '--yes'], cluster);
    expect([code, out]).toEqual([
      0,
      'Deleted: persistentvolumeclaim/shop--postgres, secret/shop--postgres, secret/shop---pg2. shop keeps its present database.',
    ]);
    expect(cluster.held).toEqual(['secret/shop--redis']);
  });

  it.each([
    [['move', 'shop', '--driver', 'pod', '--yes'], 'was moved to an external database. Davit has no backups of that'],
    [['upgrade', 'shop', '--yes'], 'An external database is upgraded where it runs.'],
    [AWAY, 'uses an external database already'],
  ])('%j is refused, and says the way by hand', async (args, words) => {
    const cluster = aCluster();
    await away(cluster);
    const before = cluster.story.length;
    const { code, err } = await database(args, cluster);
    expect([code, err, cluster.story.length]).toEqual([1, expect.stringContaining(words), before]);
  });
});
