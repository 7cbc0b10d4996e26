// A database that is moved to a hosted PostgreSQL of a newer version, in real pods: verified TLS, all rows, the way back, and the time
// without service.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../cluster/certificates.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import { BUCKET, startStore } from '../../support/backup-store.ts';
import { ensureNewerPostgres } from '../../support/newer-postgres.ts';
import { type Platform, startPlatform } from '../../support/platform.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the move to an external database is left out`);

const READY_MS = 420_000;
const SUM = 'select count(*), sum(n), md5(string_agg(word, $$,$$ order by n)) from kept';
const HOST = 'postgres.hosted.svc.cluster.local';
const PASSWORD = randomBytes(18).toString('base64url');
const AUTHORITY = makeAuthority('hosted');
/** What the image has of PostgreSQL's user. */
const POSTGRES_ID = 999;

/** A PostgreSQL that is not Davit's: a pod of another namespace, which lets nobody in without TLS. */
function hosted(image: string): object {
  const { certificate, key } = AUTHORITY.serving('postgres', [HOST]);
  const metadata = { name: 'postgres', namespace: 'hosted', labels: { app: 'postgres' } };
  const settings = ['ssl=on', 'ssl_cert_file=/tls/tls.crt', 'ssl_key_file=/tls/tls.key'];
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hosted' } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': certificate, 'tls.key': key },
    },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: 'postgres' }, ports: [{ port: 5432 }] } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        securityContext: { runAsUser: POSTGRES_ID, runAsGroup: POSTGRES_ID, fsGroup: POSTGRES_ID },
        containers: [
          {
            name: 'postgres',
            image,
            args: settings.flatMap((setting) => ['-c', setting]),
            env: [
              { name: 'POSTGRES_PASSWORD', value: PASSWORD },
              { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
            ],
            readinessProbe: { exec: { command: ['pg_isready', '-h', '127.0.0.1'] }, periodSeconds: 1 },
            volumeMounts: [
              { name: 'tls', mountPath: '/tls' },
              { name: 'data', mountPath: '/var/lib/postgresql/data' },
              { name: 'run', mountPath: '/var/run/postgresql' },
            ],
          },
        ],
        volumes: [
          { name: 'tls', secret: { secretName: 'postgres', defaultMode: 0o440 } },
          { name: 'data', emptyDir: {} },
          { name: 'run', emptyDir: {} },
        ],
      },
    },
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

/** A deployment whose pods have the authority of the hosted database as a file. */
function record(imageUri: string): object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team' },
    spec: {
      source: 'external_docker',
      sourceRevisionConfig: { imageUri },
      sourceConfig: {
        resourceSpec: {
          ...SMALLEST,
          volumes: [
            { name: 'hosted', secret: { secretName: 'shop-database', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          ],
          volumeMounts: [{ name: 'hosted', mountPath: '/hosted', readOnly: true }],
        },
        database: { driver: 'pod', backup: {} },
      },
    },
  };
}

describe.skipIf(!machine.ok)('a move to a hosted PostgreSQL', () => {
  let cluster: Cluster;
  let platform: Platform;

  beforeAll(async () => {
    const stores = await ensureImages(say);
    const image = await ensureDavitImage(say);
    const newer = await ensureNewerPostgres(say);
    const images = [image, stores.postgres, newer, stores.redis, stores.sample];
    cluster = await startCluster({ pods: 'on', images, progress: say });
    const store = await startStore(cluster, say);
    platform = await startPlatform(cluster, {
      parts: ['controller'],
      progress: say,
      values: {
        'settings.images.postgres': stores.postgres.name,
        'settings.images.redis': stores.redis.name,
        'settings.backups.image': image.name,
        'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
      },
    });
    await platform.makeTenant('team');
    await apply(hosted(newer.name));
    await apply(secret('davit-backup-store', store.credentials));
    await apply(
      secret('shop-database', {
        uri: `postgresql://postgres:${PASSWORD}@${HOST}/shop?sslmode=verify-full&sslrootcert=/hosted/ca.crt`,
        'ca.crt': AUTHORITY.certificate,
      }),
    );
    await apply(record(stores.sample.name));
    await says('Ready', 'True', 'Serving');
    await cluster.kubectl(['wait', '-n', 'hosted', '--for=condition=Ready', 'pod/postgres', '--timeout=180s']);
  }, 900_000);

  afterAll(async () => {
    await platform?.stop();
    await cluster?.stop();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', 'team', ...args]);
  const plugin = async (...args: readonly string[]): Promise<string> =>
    (await runPlugin(cluster, [...args, '--namespace=team'])).stdout.trim();
  async function apply(object: object): Promise<void> {
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  }
  const secret = (name: string, stringData: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'team' },
    stringData,
  });
  const says = (type: string, status: string, reason: string): Promise<void> =>
    eventually(async () => {
      const found = JSON.parse(await kubectl('get', 'appd', 'shop', '-o', 'json')) as {
        readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
      };
      expect(found.status?.conditions?.find((one) => one.type === type)).toMatchObject({ status, reason });
    }, READY_MS);
  const own = async (statement: string): Promise<string> =>
    (
      await kubectl('exec', 'shop--postgres-0', '--', 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', statement)
    ).trim();
  const there = async (statement: string, database = 'shop'): Promise<string> => {
    const psql = ['psql', '-h', '127.0.0.1', '-U', 'postgres', '-d', database, '-Atc', statement];
    return (await cluster.kubectl(['-n', 'hosted', 'exec', 'postgres', '--', ...psql])).trim();
  };
  /** What the application reads with its own URI, over a connection that it has verified. */
  const applicationReads = async (statement: string): Promise<string> => {
    const script = `const { Client } = require('pg');
      (async () => {
        const client = new Client({ connectionString: process.env.POSTGRES_URI });
        await client.connect();
        const { rows } = await client.query({ text: ${JSON.stringify(statement)}, rowMode: 'array' });
        console.log(rows[0].join('|'));
        await client.end();
      })();`;
    return (await kubectl('exec', 'deployment/shop', '-c', 'server', '--', 'node', '-e', script)).trim();
  };
  const isReady = (): Promise<void> => says('Ready', 'True', 'Serving');

  it('has all rows over verified TLS, goes back to what was there, and forgets what was loaded', async () => {
    await own(
      'create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n; alter table kept add primary key (n)',
    );
    await eventually(() => kubectl('get', 'cronjob', 'shop---backup'), READY_MS);
    await kubectl('create', 'job', '--from=cronjob/shop---backup', 'first');
    await says('BackupReady', 'True', 'BackedUp');
    await own("insert into kept values (5001, 'after the last backup')");
    const rows = await own(SUM);
    const move = ['database', 'move', 'shop', '--external', 'shop-database', '--yes'];

    // Nothing is stopped for a database that is not there.
    await expect(plugin(...move)).rejects.toThrow(/database "shop" does not exist/);
    await isReady();
    expect(await own(SUM)).toBe(rows);

    await there('create database shop', 'postgres');
    say(await plugin(...move));
    await isReady();
    expect([await there(SUM), await applicationReads(SUM)]).toEqual([rows, rows]);
    await there("insert into kept values (5002, 'in the hosted one')");
    expect(await kubectl('get', 'pvc', 'shop--postgres', '-o', 'name')).toContain('shop--postgres');

    say(await plugin('database', 'back', 'shop', '--yes'));
    await isReady();
    expect([await own(SUM), await applicationReads(SUM)]).toEqual([rows, rows]);

    say(await plugin('database', 'back', 'shop', '--yes'));
    await isReady();
    expect(await applicationReads('select max(n) from kept')).toBe('5002');
    await plugin('database', 'forget-old', 'shop', '--yes');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=180s');
    await isReady();
    expect(await applicationReads('select max(n) from kept')).toBe('5002');
  }, 1_500_000);
});
