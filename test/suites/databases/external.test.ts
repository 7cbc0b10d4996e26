// A database that is moved to a PostgreSQL which is not Davit's and back, by kubectl-davit with a tenant's rights, against a real API server
// with the chart's policies. The scripts of its Jobs run on this machine, with a real PostgreSQL for each end and a store in memory.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backup } from '../../../src/app/backup.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { type FakeS3, startFakeS3 } from '../../support/fake-s3.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Ended, type PlayedContainer, playPods } from '../../support/played-pods.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { backedUpRecord, grantRights, secretOfUri } from './movers.ts';
import { makeServerWorld, type ServerWorld } from './world.ts';

const found = await makeServerWorld();
/** The server of the deployments, which Davit runs. */
const ownServer = await makeServerWorld();
const skipped = found && ownServer ? '' : ' (skipped: PostgreSQL is not installed)';
const PASSWORD = 'p@ss/of-the-hosted';
const ROWS = "select string_agg(email, ',' order by id) from users";

describe.skipIf(!found || !ownServer)(`a move to an external database${skipped}`, () => {
  let world: ServerWorld;
  let own: ServerWorld;
  let platform: Davit;
  let tenant: Tenant;
  let store: FakeS3;
  let player: ReturnType<typeof playPods>;
  const folder = mkdtempSync(join(tmpdir(), 'davit-external-'));

  beforeAll(async () => {
    if (!found || !ownServer) return;
    world = found;
    own = ownServer;
    store = await startFakeS3('backups', 'key');
    world.sql(`create role hosted login password '${PASSWORD}'`);
    for (const database of ['taken', 'hosted']) world.sql(`create database ${database} owner hosted`);
    own.sql(`create role hosted login password '${PASSWORD}'`);
    for (const database of ['present', 'aside']) own.sql(`create database ${database} owner hosted`);
    own.sql(
      "create table users(id int primary key, email text); insert into users values (1, 'ada'), (2, 'bob')",
      'present',
    );
    world.sql('create table theirs()', 'taken');
    const version = Math.floor(Number(world.sql('show server_version_num')[0]) / 10_000);
    platform = await startDavit('apiserver', {
      values: {
        settings: {
          images: { postgres: `registry.example/played-postgres:${version}` },
          backups: {
            store: { endpoint: 'https://s3.example', bucket: 'backups' },
            image: 'registry.example/played-davit:1',
          },
        },
      },
    });
    tenant = await platform.knownTenant('external');
    await secret('davit-backup-store', { accessKeyId: 'key', secretAccessKey: 'b' });
    await grantRights(kubectl);
    player = playPods(platform.cluster, tenant.namespace, run);
  }, 900_000);
  afterAll(async () => {
    await player?.stop();
    await platform?.stop();
    await world?.stop();
    await own?.stop();
    await store?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const kubectl = (...args: string[]): Promise<string> => platform.cluster.kubectl(['-n', tenant.namespace, ...args]);
  const secret = (name: string, values: Record<string, string>): Promise<string> =>
    kubectl(
      'create',
      'secret',
      'generic',
      name,
      ...Object.entries(values).map(([key, value]) => `--from-literal=${key}=${value}`),
    );
  const davit = (user: string, ...args: string[]): ReturnType<typeof runPlugin> =>
    runPlugin(platform.cluster, [...args, `--namespace=${tenant.namespace}`, `--as=${user}`]);
  const uri = (database: string, { password = PASSWORD, at = world } = {}): string =>
    `postgresql://hosted:${encodeURIComponent(password)}@127.0.0.1:${at.address.port}/${database}?sslmode=disable`;

  /** What a container of a Job does, in a folder of its pod. The own database of every deployment is `present`. */
  async function run({ command, args, env, pod }: PlayedContainer): Promise<Ended> {
    const at = join(folder, pod);
    const log = join(at, 'log');
    mkdirSync(join(at, 'store'), { recursive: true });
    rmSync(log, { force: true });
    if (command.length === 0) {
      writeFileSync(join(at, 'store/accessKeyId'), 'key');
      writeFileSync(join(at, 'store/secretAccessKey'), 'b');
      const given = args.slice(1).map((arg) =>
        arg
          .replace('--folder=/backup', `--folder=${at}`)
          .replace('--credentials=/store', `--credentials=${join(at, 'store')}`)
          .replace('https://s3.example', store.url),
      );
      const code = await backup([...given, `--termination-log=${log}`]);
      return { code, message: readFileSync(log, 'utf8') };
    }
    const inside = env['PGHOST'] !== undefined;
    const { env: ofOwn } = own.local;
    const values = { ...env, ...(inside && { ...ofOwn, PGDATABASE: 'present', PGUSER: 'postgres' }) };
    const clean = inside ? '' : 'unset PGHOST PGPORT PGUSER PGDATABASE; ';
    const script = (command[2] ?? '').replaceAll('/dev/termination-log', log);
    try {
      world.local.shell(`cd ${at}; ${clean}${script}`, values);
      return { code: 0, message: fileOr(log, '') };
    } catch (error) {
      return { code: 4, message: (error as Error).message };
    }
  }
  const fileOr = (path: string, otherwise: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return otherwise;
    }
  };

  const uriOf = (): Promise<string> => secretOfUri(kubectl);
  const generation = (): Promise<string> => kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.metadata.generation}');
  async function deployed(name: string): Promise<void> {
    const input = backedUpRecord(name, tenant.namespace);
    await platform.cluster.kubectl(['apply', '-f', '-'], { input });
    await kubectl('wait', '--for=condition=Ready', `appd/${name}`, '--timeout=180s');
    await kubectl('wait', '--for=create', `cronjob/${name}---backup`, '--timeout=120s');
    await kubectl('create', 'job', `--from=cronjob/${name}---backup`, `${name}-first`);
    await kubectl('wait', '--for=condition=BackupReady', `appd/${name}`, '--timeout=120s');
  }

  it('is made by who may, with all rows, and not where it cannot be', async () => {
    await deployed('shop');
    await secret('hosted', {
      uri: uri('hosted'),
      taken: uri('taken'),
      wrong: uri('hosted', { password: 'geheim' }),
      own: uri('aside', { at: own }),
      none: 'hosted at example',
    });
    const before = await generation();
    const refused = async (key: string, words: RegExp, name = 'hosted', user = 'anna'): Promise<void> => {
      const args = ['database', 'move', 'shop', '--external', name, '--key', key, '--yes'];
      const error = (await davit(user, ...args).catch((reason: unknown) => reason)) as { readonly stderr?: string };
      expect(error.stderr).toMatch(words);
      expect(error.stderr).not.toMatch(/geheim|of-the-hosted/);
    };
    await refused('uri', /There is no Secret elsewhere/, 'elsewhere');
    await refused('url', /Secret hosted has no key url\. It has none, own, taken, uri, wrong\./);
    await refused('none', /The URI cannot be read/);
    await refused('wrong', /password authentication failed for user "hosted"/);
    await refused('own', /another database on the own server of the deployment/);
    await refused('taken', /The database is not empty: it has 1 tables/);
    await refused('uri', /orbidden/, 'hosted', 'bert');
    expect([await generation(), await uriOf()]).toEqual([before, 'shop--postgres']);

    own.sql("insert into users values (3, 'eve')", 'present');
    const moved = await davit('anna', 'database', 'move', 'shop', '--external', 'hosted', '--yes');
    expect(moved.stdout).toMatch(/^shop is on database external\/1\. Nothing served for \d+ (?:s|min)\.$/m);
    expect(moved.stderr).toMatch(/database hosted at 127\.0\.0\.1:\d+, as user hosted, with PostgreSQL \d+/);
    expect([await uriOf(), world.sql(ROWS, 'hosted'), own.sql(ROWS, 'present')]).toEqual([
      'hosted',
      ['ada,bob,eve'],
      ['ada,bob,eve'],
    ]);
    const objects = await kubectl('get', 'jobs,pods,events,appd,apprevisions', '-o', 'yaml');
    expect([moved.stdout, moved.stderr, objects].filter((text) => text.includes('of-the-hosted'))).toEqual([]);
    expect(await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.changedBy}')).toBe('anna');
    expect(await kubectl('get', 'statefulsets', '-o', 'name')).not.toContain('shop--postgres');
  }, 600_000);

  it('leaves no second deployment to that database, and brings no pod back by a change of the record', async () => {
    await deployed('shop-2');
    const second = davit('anna', 'database', 'move', 'shop-2', '--external', 'hosted', '--yes');
    await expect(second).rejects.toThrow(/The database is not empty/);
    await kubectl('delete', 'appd', 'shop-2', '--timeout=180s');

    const references = await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.spec.secretReferences}');
    await kubectl('patch', 'appd', 'shop', '--type=merge', '-p', '{"spec":{"secretReferences":[]}}');
    await kubectl('wait', '--for=condition=Stalled', 'appd/shop', '--timeout=60s');
    expect(await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}')).toBe(
      'DatabaseMoveRefused',
    );
    expect(await uriOf()).toBe('hosted');
    await expect(davit('anna', 'database', 'back', 'shop', '--yes')).rejects.toThrow(/Name the Secret again/);
    await kubectl('patch', 'appd', 'shop', '--type=merge', '-p', `{"spec":{"secretReferences":${references}}}`);
    await kubectl('wait', '--for=condition=Stalled=False', 'appd/shop', '--timeout=60s');
  }, 600_000);

  it('goes back, returns, and forgets what it was moved from', async () => {
    const back = await davit('anna', 'database', 'back', 'shop', '--yes');
    expect([back.stdout, await uriOf()]).toEqual([
      expect.stringMatching(/^shop is on database pod\/0/m),
      'shop--postgres',
    ]);
    await expect(davit('anna', 'database', 'move', 'shop', '--external', 'hosted', '--yes')).rejects.toThrow(
      /not empty/,
    );
    await davit('anna', 'database', 'back', 'shop', '--yes');
    expect([await uriOf(), world.sql(ROWS, 'hosted')]).toEqual(['hosted', ['ada,bob,eve']]);
    const forgotten = await davit('anna', 'database', 'forget-old', 'shop', '--yes');
    expect(forgotten.stdout).toContain('persistentvolumeclaim/shop--postgres, secret/shop--postgres');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=60s');
    await expect(davit('anna', 'database', 'back', 'shop', '--yes')).rejects.toThrow(/is not there any more/);
    await kubectl('wait', '--for=condition=Ready', 'appd/shop', '--timeout=120s');
    expect(await uriOf()).toBe('hosted');
  }, 600_000);
});
