// A database that is moved to a hosted PostgreSQL of a newer version, in real pods: verified TLS, all rows, the way back, and the time
// without service.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../cluster/certificates.ts';
import { realPods } from '../../cluster/machine.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';
import { backUpAndGoOn, SUM, say, startMovingStage } from './stage.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the move to an external database is left out`);

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
  let stage: Awaited<ReturnType<typeof startMovingStage>>;

  beforeAll(async () => {
    stage = await startMovingStage();
    await stage.apply(hosted(stage.newer));
    await stage.makeSecret('shop-database', {
      uri: `postgresql://postgres:${PASSWORD}@${HOST}/shop?sslmode=verify-full&sslrootcert=/hosted/ca.crt`,
      'ca.crt': AUTHORITY.certificate,
    });
    await stage.apply(record(stage.sample));
    await stage.serves();
    await stage.cluster.kubectl(['wait', '-n', 'hosted', '--for=condition=Ready', 'pod/postgres', '--timeout=180s']);
  }, 900_000);

  afterAll(() => stage?.stop());

  const own = (statement: string): Promise<string> => stage.inPod('shop--postgres-0', statement);
  const there = async (statement: string, database = 'shop'): Promise<string> => {
    const psql = ['psql', '-h', '127.0.0.1', '-U', 'postgres', '-d', database, '-Atc', statement];
    return (await stage.cluster.kubectl(['-n', 'hosted', 'exec', 'postgres', '--', ...psql])).trim();
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
    return (await stage.kubectl('exec', 'deployment/shop', '-c', 'server', '--', 'node', '-e', script)).trim();
  };

  it('has all rows over verified TLS, goes back to what was there, and forgets what was loaded', async () => {
    const { kubectl, plugin, serves } = stage;
    await backUpAndGoOn(stage, 'shop--postgres-0');
    const rows = await own(SUM);
    const move = ['database', 'move', 'shop', '--external', 'shop-database', '--yes'];

    // Nothing is stopped for a database that is not there.
    await expect(plugin(...move)).rejects.toThrow(/database "shop" does not exist/);
    await serves();
    expect(await own(SUM)).toBe(rows);

    await there('create database shop', 'postgres');
    say(await plugin(...move));
    await serves();
    expect([await there(SUM), await applicationReads(SUM)]).toEqual([rows, rows]);
    await there("insert into kept values (5002, 'in the hosted one')");
    expect(await kubectl('get', 'pvc', 'shop--postgres', '-o', 'name')).toContain('shop--postgres');

    say(await plugin('database', 'back', 'shop', '--yes'));
    await serves();
    expect([await own(SUM), await applicationReads(SUM)]).toEqual([rows, rows]);

    say(await plugin('database', 'back', 'shop', '--yes'));
    await serves();
    expect(await applicationReads('select max(n) from kept')).toBe('5002');
    await plugin('database', 'forget-old', 'shop', '--yes');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=180s');
    await serves();
    expect(await applicationReads('select max(n) from kept')).toBe('5002');
  }, 1_500_000);
});
