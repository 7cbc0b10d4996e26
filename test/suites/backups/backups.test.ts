// Backups of a PostgreSQL that really runs, in a store that really keeps them.

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECK, LOAD, OWN_RELATIONS } from '../../../src/deploy/children/database/load-scripts.ts';
import { realPods } from '../../cluster/machine.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';
import { WHOLE_SERVER } from '../../support/whole-server.ts';
import { READY_MS, ROWS, type Stage, SUM, say, startStage } from './stage.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the backups are left out`);

interface Report {
  readonly name?: string;
  readonly lastSuccessAt?: string;
  readonly sizeBytes?: number;
  readonly lastFailureAt?: string;
  readonly lastFailure?: string;
}

describe.skipIf(!machine.ok)('backups in a real store', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await startStage();
    await kubectl('create', 'secret', 'generic', 'values', '--from-literal=word=from the team');
    await apply(record('shop', { keep: 2, verify: true }));
    await says('Ready', 'True', 'Serving');
  }, 900_000);

  afterAll(() => stage?.stop());

  const kubectl: Stage['kubectl'] = (...args) => stage.kubectl(...args);
  const apply: Stage['apply'] = (object) => stage.apply(object);
  const says: Stage['says'] = (...what) => stage.says(...what);
  const plugin: Stage['plugin'] = (...args) => stage.plugin(...args);
  const sql = (statement: string, name = 'shop'): Promise<string> => stage.inPod(`${name}--postgres-0`, statement);

  function record(name: string, backup: object = { keep: 2 }, scale: object = {}): object {
    return {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace: 'team' },
      spec: {
        source: 'external_docker',
        sourceRevisionConfig: { imageUri: stage.sample },
        secrets: [{ name: 'WORD', secretName: 'values', secretKey: 'word' }],
        sourceConfig: { resourceSpec: { ...SMALLEST, ...scale }, database: { backup } },
      },
    };
  }

  async function reported(name = 'shop'): Promise<Report> {
    const { status } = JSON.parse(await kubectl('get', 'appd', name, '-o', 'json')) as {
      readonly status: { readonly databaseBackup?: Report };
    };
    return status.databaseBackup ?? {};
  }

  /** Runs the CronJob now, as docs/databases.md says. */
  async function backUp(run: string, name = 'shop'): Promise<void> {
    await kubectl('create', 'job', `--from=cronjob/${name}---backup`, run);
  }

  /** Until there is another backup than `before`. A run that fails ends the wait with its words. */
  async function nextBackup(before: Report): Promise<Report> {
    const report = await eventually(async () => {
      const now = await reported();
      expect([now.name, now.lastFailureAt]).not.toEqual([before.name, before.lastFailureAt]);
      return now;
    }, READY_MS);
    expect(report.lastFailureAt, report.lastFailure).toBe(before.lastFailureAt);
    return report;
  }

  it('wait for the credentials, and name the Secret', async () => {
    const message = await says('BackupReady', 'False', 'BackupCredentialsMissing');
    expect(message).toContain('Secret davit-backup-store is missing in namespace team');
    await stage.putCredentials();
    await says('BackupReady', 'Unknown', 'BackupPending');
  }, 300_000);

  it('a run puts a whole dump with its manifest into the store, and the status has its size', async () => {
    await sql(ROWS);
    await backUp('first');
    const report = await nextBackup({});
    await says('BackupReady', 'True', 'BackedUp');
    const uid = await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.metadata.uid}');
    const tenant = await kubectl('get', 'namespace', 'team', '-o', 'jsonpath={.metadata.uid}');
    const folder = `davit/team/shop/${tenant}/${uid}/${report.name}`;
    expect(await stage.store.keys()).toEqual(['dump', 'manifest.json', 'roles.sql'].map((file) => `${folder}/${file}`));
    const dump = await readFile(stage.store.fileOf(`${folder}/dump`));
    expect(JSON.parse(await stage.store.read(`${folder}/manifest.json`))).toMatchObject({
      name: report.name,
      tenant,
      takenAt: report.lastSuccessAt,
      sizeBytes: report.sizeBytes,
      files: [
        { name: 'dump', sizeBytes: dump.length, sha256: createHash('sha256').update(dump).digest('hex') },
        { name: 'roles.sql' },
      ],
    });
    expect(report.sizeBytes).toBeGreaterThan(dump.length);
    // The magic bytes of pg_dump's custom format.
    expect(dump.subarray(0, 5).toString()).toBe('PGDMP');
    expect(await kubectl('get', 'appd', 'shop', '-o', 'wide')).toMatch(/BACKUP/);
  }, 400_000);

  it('keep as many as asked for', async () => {
    for (const run of ['second', 'third']) {
      const before = await reported();
      await backUp(run);
      await nextBackup(before);
      // Its pod has said so, and the Job ends a moment later: until then another backup waits.
      await kubectl('wait', '--for=condition=Complete', `job/${run}`, '--timeout=120s');
    }
    expect((await stage.store.keys()).filter((key) => key.endsWith('/manifest.json'))).toHaveLength(2);
  }, 400_000);

  it('a command makes one after the other, and says which it made', async () => {
    const made = async (): Promise<Report> =>
      (JSON.parse(await plugin('backup', 'shop', '-o', 'json')) as { readonly backup: Report }).backup;
    const first = await made();
    expect((await reported()).name).toBe(first.name);
    const second = await made();
    expect(second.name).not.toBe(first.name);
    const { name, sizeBytes } = await reported();
    expect({ name, sizeBytes }).toEqual({ name: second.name, sizeBytes: second.sizeBytes });
    const inStore = (await stage.store.keys()).flatMap((key) => /([^/]+)\/manifest\.json$/.exec(key)?.[1] ?? []);
    // The schedule's two stay: those that somebody asked for do not count.
    expect(inStore).toHaveLength(4);
    expect(inStore).toEqual(expect.arrayContaining([first.name, second.name]));
    await kubectl('create', 'rolebinding', 'editor-alone', '--clusterrole=davit-editor', '--user=ed');
    expect(await plugin('backup', 'shop', '--as=ed')).toMatch(/^Backup \S+ of shop is in the store\./);
    expect(await kubectl('get', 'dsop')).toMatch(/shop-\S+ +shop +Backup +Succeeded/);
    await stage.putCredentials('wrong');
    const failed = await plugin('backup', 'shop').catch((error: unknown) => error as { code: number; stderr: string });
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The backup failed, and nothing was added to the store'),
    });
    await stage.putCredentials();
    expect(await plugin('backup', 'shop')).toMatch(/^Backup \S+ of shop is in the store\./);
    await says('BackupReady', 'True', 'BackedUp');
  }, 600_000);

  it('the newest is verified in a server of its own pod, and a damaged one is not', async () => {
    await says('BackupVerified', 'Unknown', 'VerificationPending');
    const live = await sql('select count(*), sum(n) from kept');
    await kubectl('create', 'job', '--from=cronjob/shop---verify', 'verification');
    const message = await says('BackupVerified', 'True', 'Verified');
    const { name = '' } = await reported();
    expect(message).toMatch(new RegExp(`^Backup ${name}, .* had all of its \\d+ rows in \\d+ tables\\.$`));
    const verification = JSON.parse(
      await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.databaseVerification}'),
    ) as {
      readonly rows: number;
    };
    expect(verification.rows).toBeGreaterThanOrEqual(5000);
    expect(await kubectl('get', 'appd', 'shop', '-o', 'wide')).toMatch(/VERIFIED/);

    const manifest = (await stage.store.keys()).find((key) => key.endsWith(`${name}/manifest.json`)) ?? '';
    const whole = await stage.store.read(manifest);
    await writeFile(stage.store.fileOf(manifest), whole.replace('"rows": "5000"', '"rows": "5001"'));
    await kubectl('create', 'job', '--from=cronjob/shop---verify', 'verification-of-another');
    expect(await says('BackupVerified', 'False', 'VerificationFailing')).toContain(
      'differs from its database: table public.kept has 5000 of 5001 rows',
    );
    await writeFile(stage.store.fileOf(manifest), whole);
    expect(await sql('select count(*), sum(n) from kept')).toBe(live);
    await kubectl('create', 'job', '--from=cronjob/shop---verify', 'verification-again');
    await says('BackupVerified', 'True', 'Verified');
    await says('Ready', 'True', 'Serving');
  }, 900_000);

  describe('a restore', () => {
    const restore = (name: string, backup: string): Promise<string> =>
      plugin('database', 'restore', name, '--backup', backup, '--from', 'shop', '--yes');

    it('of the backup of another deployment has all rows, and nothing is loaded over what there is', async () => {
      await apply(record('copy', { keep: 2 }));
      await says('Ready', 'True', 'Serving', 'copy');
      await sql('create table own as select 1 as n', 'copy');
      const { name = '' } = await reported();
      expect(await restore('copy', name)).toContain('The deployment is on database pod/1.');
      expect(await stage.inPod('copy---pg1-0', SUM)).toBe(await sql(SUM));
      await plugin('database', 'return', 'copy', '--yes');
      expect(await sql('select count(*) from own', 'copy')).toBe('1');
    }, 600_000);

    it('of a backup that is not there, or was damaged, leaves the deployment as it was', async () => {
      await expect(restore('copy', '20260101T000000Z-00000000')).rejects.toThrow(
        'The store has no backup 20260101T000000Z-00000000 of ',
      );
      const [dump = ''] = (await stage.store.keys()).filter((key) => key.endsWith('/dump')).toReversed();
      const whole = await readFile(stage.store.fileOf(dump));
      await writeFile(stage.store.fileOf(dump), Buffer.from(whole).fill(0, whole.length - 10));
      const { name = '' } = await reported();
      await expect(restore('copy', name)).rejects.toThrow(/is damaged/);
      await writeFile(stage.store.fileOf(dump), whole);
      await says('Ready', 'True', 'Serving', 'copy');
      expect(await sql('select count(*) from own', 'copy')).toBe('1');
      await kubectl('delete', 'appd', 'copy', '--timeout=180s');
    }, 600_000);
  });

  describe('a deployment that begins with a backup', () => {
    const begins = (name: string, restore: object): object => {
      const made = record(name) as { readonly spec: { readonly sourceConfig: object } };
      const sourceConfig = { ...made.spec.sourceConfig, database: { restore } };
      return { ...made, spec: { ...made.spec, sourceConfig } };
    };
    interface Restored {
      readonly from?: string;
      readonly name?: string;
    }
    async function restoredOf(name: string): Promise<Restored> {
      return JSON.parse(
        (await kubectl('get', 'appd', name, '-o', 'jsonpath={.status.databaseRestore}')) || '{}',
      ) as Restored;
    }
    const serversOf = (name: string): Promise<string> =>
      kubectl('get', 'deployment', '-l', `davit.dev/deployment=${name}`, '-o', 'name');

    it('has all rows before its first pod, says which backup it is, and loads it once', async () => {
      const { name } = await reported();
      expect(await plugin('clone', 'shop', '--to', 'begun')).toContain('kubectl davit wait --namespace=team begun');
      await says('DatabaseRestored', 'True', 'Restored', 'begun');
      await says('Ready', 'True', 'Serving', 'begun');
      expect(await sql(SUM, 'begun')).toBe(await sql(SUM));
      expect(await restoredOf('begun')).toMatchObject({ from: 'shop', name });
      await sql('update kept set n = -n', 'begun');
      const changed = await sql(SUM, 'begun');
      await eventually(async () =>
        expect((await kubectl('get', 'jobs', '-o', 'name')).includes('begun---')).toBe(false),
      );
      await kubectl(
        'patch',
        'appd',
        'begun',
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { sourceConfig: { database: { restore: { from: 'other' } } } } }),
      );
      await eventually(
        async () =>
          expect(await kubectl('get', 'appd', 'begun', '-o', 'jsonpath={.status.observedGeneration}')).toBe('2'),
        READY_MS,
      );
      expect([await kubectl('get', 'jobs', '-o', 'name'), await sql(SUM, 'begun')]).toEqual([
        expect.not.stringContaining('begun---'),
        changed,
      ]);
      await kubectl('delete', 'appd', 'begun', '--timeout=180s');
    }, 600_000);

    it('starts no pod where there is none, with the words of the restore, and goes on with another', async () => {
      await apply(begins('late', { from: 'nowhere' }));
      const message = await says('Ready', 'False', 'RestoreFailed', 'late');
      expect(message).toMatch(
        /No backup of nowhere was loaded\. The fetch of the backup failed .*The store has no complete backup/,
      );
      expect(await serversOf('late')).toBe('');
      await stage.putCredentials('wrong');
      await kubectl(
        'patch',
        'appd',
        'late',
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { sourceConfig: { database: { restore: { from: 'shop' } } } } }),
      );
      await eventually(
        async () =>
          expect((await stage.conditionOf('late', 'DatabaseRestored'))?.message).toMatch(
            /Davit is trying again\..*403/,
          ),
        READY_MS,
      );
      expect(await serversOf('late')).toBe('');
      await stage.putCredentials();
      await says('Ready', 'True', 'Serving', 'late');
      expect(await sql(SUM, 'late')).toBe(await sql(SUM));
      await kubectl('delete', 'appd', 'late', '--timeout=180s');
    }, 900_000);

    it('has nothing of a dump that was cut anywhere, and a repeated restore loads nothing', async () => {
      const admin = (statement: string): Promise<string> =>
        kubectl('exec', 'shop--postgres-0', '--', 'psql', '-U', 'postgres', '-Atc', statement);
      // Not the superuser, whose restore looks at all of the server.
      await admin('create role cutter superuser login');
      await admin('create database cuts owner cutter');
      const shell = (script: string, id = 'u1'): Promise<string> =>
        kubectl(
          'exec',
          'shop--postgres-0',
          '--',
          'env',
          'PGHOST=/var/run/postgresql',
          'PGUSER=cutter',
          'PGDATABASE=cuts',
          `RESTORE_ID=${id}`,
          `OWN_RELATIONS=${OWN_RELATIONS.value}`,
          'sh',
          '-c',
          `mkdir -p /tmp/cuts; cd /tmp/cuts; ${script}`,
        );
      const relations = (): Promise<string> => shell('psql -X -Atc "$OWN_RELATIONS"').then((text) => text.trim());
      const loaded = { from: 'shop', name: '20260201T020000Z-0000000a', takenAt: '2026-02-01T02:00:00Z', sizeBytes: 1 };
      const size = Number(
        await shell(
          `pg_dump -d app -F custom --no-owner -f whole; printf '%s' '${JSON.stringify(loaded)}' > fetched; wc -c < whole`,
        ),
      );
      for (let cut = 1; cut <= 10; cut += 1) {
        await expect(
          shell(`head -c ${Math.floor((size * cut) / 10) - 1} whole > dump; ${LOAD}`),
          `cut ${cut}`,
        ).rejects.toThrow(/was not loaded|ERROR|pg_restore: error/);
        expect(await relations(), `cut ${cut}`).toBe('0');
      }
      await shell(`cp whole dump; ${LOAD}`);
      const count = await relations();
      expect(count).not.toBe('0');
      expect(JSON.parse(await shell(`${CHECK}`).then(() => shell('cat loaded')))).toEqual(loaded);
      await shell(`rm dump; ${LOAD}`);
      await expect(shell(`rm loaded; ${CHECK}`, 'u2')).rejects.toThrow(/The database is not empty/);
      await expect(shell(LOAD, 'u2')).rejects.toThrow(/The database is not empty/);
      expect(await relations()).toBe(count);
      await admin('drop database cuts');
      await admin('drop role cutter');
    }, 600_000);
  });

  describe('of another namespace', () => {
    const inStaging = (...args: readonly string[]): Promise<string> =>
      stage.cluster.kubectl(['-n', 'staging', ...args]);
    const uidOf = (namespace: string): Promise<string> =>
      kubectl('get', 'namespace', namespace, '-o', 'jsonpath={.metadata.uid}');
    const superuser = (namespace: string, name: string, statement: string): Promise<string> =>
      stage.cluster
        .kubectl(['-n', namespace, 'exec', `${name}--postgres-0`, '--', 'psql', '-U', 'postgres', '-Atc', statement])
        .then((text) => text.trim());
    async function began(name: string, reason: string): Promise<string> {
      return eventually(async () => {
        const { status } = JSON.parse(await inStaging('get', 'appd', name, '-o', 'json')) as {
          readonly status?: {
            readonly conditions?: readonly {
              readonly type: string;
              readonly reason: string;
              readonly message: string;
            }[];
          };
        };
        const found = status?.conditions?.find(({ type }) => type === 'DatabaseRestored');
        expect(found?.reason).toBe(reason);
        return found?.message ?? '';
      }, READY_MS);
    }
    const asking = (name: string, restore: object, backup?: object): Promise<void> =>
      stage.apply({
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name, namespace: 'staging' },
        spec: {
          source: 'external_docker',
          sourceRevisionConfig: { imageUri: stage.sample },
          sourceConfig: { resourceSpec: SMALLEST, database: { restore, ...(backup && { backup }) } },
        },
      });
    const putKeys = (): Promise<void> =>
      stage.apply({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'davit-backup-store', namespace: 'staging' },
        stringData: stage.store.credentials,
      });

    it('are loaded with its consent alone, without the passwords of roles', async () => {
      await superuser('team', 'shop', "create role lent login password 'kept at home'");
      const before = await reported();
      await backUp('with-role');
      await nextBackup(before);
      await putKeys();
      await asking('lent', { from: 'shop', namespace: 'team' });
      const refused = await began('lent', 'RestoreNotPossible');
      const consent = refused.slice(refused.indexOf('kubectl annotate')).split(' ').slice(1);
      expect(consent.at(-1)).toBe(`davit.dev/backups-for=staging/${await uidOf('staging')}`);
      expect(await inStaging('get', 'jobs', '-o', 'name')).not.toContain('lent---restore');
      await stage.cluster.kubectl(consent);
      expect(await began('lent', 'Restored')).toContain('of team/shop');
      await inStaging('wait', '--for=condition=Ready', 'appd/lent', '--timeout=420s');
      const rows = (namespace: string, name: string): Promise<string> =>
        stage.cluster.kubectl(['-n', namespace, 'exec', `${name}--postgres-0`, '--', 'psql', '-U', 'app', '-Atc', SUM]);
      expect(await rows('staging', 'lent')).toBe(await rows('team', 'shop'));
      const password = "select coalesce(rolpassword, 'none') from pg_authid where rolname = 'lent'";
      expect(await superuser('team', 'shop', password)).toMatch(/^SCRAM-SHA-256/);
      expect(await superuser('staging', 'lent', password)).toBe('none');
      await kubectl('annotate', 'appd', 'shop', 'davit.dev/backups-for-');
      await asking('late', { from: 'shop', namespace: 'team' });
      await began('late', 'RestoreNotPossible');
      await inStaging('delete', 'appd', 'late', 'lent', '--timeout=180s');
      await superuser('team', 'shop', 'drop role lent');
    }, 900_000);

    it('are not those of an earlier one of its name, unless an administrator allows it', async () => {
      const earlier = await uidOf('staging');
      await kubectl('annotate', 'appd', 'shop', `davit.dev/backups-for=staging/${earlier}`);
      await asking('first', { from: 'shop', namespace: 'team' }, {});
      await inStaging('wait', '--for=condition=Ready', 'appd/first', '--timeout=420s');
      await inStaging('create', 'job', '--from=cronjob/first---backup', 'once');
      await inStaging('wait', '--for=condition=Complete', 'job/once', '--timeout=300s');
      await inStaging('delete', 'appd', 'first', '--timeout=180s');
      await kubectl('delete', 'namespace', 'staging', '--timeout=180s');
      await stage.apply({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'staging', labels: { 'davit.dev/tenant': 'true' } },
      });
      await putKeys();
      // Neither its own backups of before, nor the consent that it had.
      await asking('again', { from: 'first' });
      expect(await began('again', 'RestoreFailed')).toContain(
        `earlier namespace staging or to another cluster (uid ${earlier})`,
      );
      await asking('lent', { from: 'shop', namespace: 'team' });
      await began('lent', 'RestoreNotPossible');
      await kubectl('annotate', 'namespace', 'staging', `davit.dev/backups-of=staging/${earlier}`);
      await asking('again', { from: 'first', namespace: 'staging' });
      await began('again', 'Restored');
      await inStaging('wait', '--for=condition=Ready', 'appd/again', '--timeout=420s');
      await inStaging('delete', 'appd', 'again', 'lent', '--timeout=180s');
    }, 1_200_000);
  });

  it('of a server with three databases and four roles lose nothing of it', async () => {
    const admin = (pod: string, script: string): Promise<string> =>
      kubectl('exec', pod, '--', 'env', 'PGUSER=postgres', 'PGHOST=/var/run/postgresql', 'sh', '-c', script);
    const described = (pod: string): Promise<string> =>
      admin(
        pod,
        `pg_dumpall -g --no-role-passwords | grep -v -E '^--|restrict ' | sort
for name in app reports 'odd name*'; do PGDATABASE=$name pg_dump -C -s | grep -v -E 'restrict |COMMENT ON DATABASE|^--|^$'; done
for name in app reports 'odd name*'; do PGDATABASE=$name psql -X -A -t -c 'select extname from pg_extension order by 1'; done
psql -X -A -t -c "select rolname, rolpassword from pg_authid where rolname in ('reader', 'owner of reports')"
psql -X -A -t -d app -c 'select count(*), md5(string_agg(body, id::text order by id)) from s.docs'; psql -X -A -t -d reports -c 'select sum(n) from big'`,
      );
    await apply(record('server', { keep: 2, verify: true }));
    await says('Ready', 'True', 'Serving', 'server');
    await admin(
      'server--postgres-0',
      `psql -X -q -o /dev/null -v ON_ERROR_STOP=1 -d app << 'END'\n${WHOLE_SERVER}END\n`,
    );
    const before = await described('server--postgres-0');
    expect(await plugin('backup', 'server')).toMatch(/is in the store/);
    expect(await plugin('backups', 'server')).toContain('3 databases, 4 roles');
    await kubectl('create', 'job', '--from=cronjob/server---verify', 'verification-of-server');
    await says('BackupVerified', 'True', 'Verified', 'server');
    const { name = '' } = await reported('server');
    await plugin('database', 'restore', 'server', '--backup', name, '--yes');
    const lines = before.split('\n');
    const after = (await described('server---pg1-0')).split('\n');
    expect(lines.filter((line) => !after.includes(line)).join('\n')).toBe('');
    expect(after.filter((line) => !lines.includes(line)).join('\n')).toBe('');
    expect(after).toHaveLength(lines.length);
    await says('Ready', 'True', 'Serving', 'server');
    await kubectl('delete', 'appd', 'server', '--timeout=180s');
  }, 900_000);

  it('a wrong key is told with the words of the store, and a right one ends it', async () => {
    await stage.putCredentials('wrong');
    const { name } = await reported();
    const before = await stage.store.keys();
    await backUp('refused');
    const message = await says('BackupReady', 'False', 'BackupFailing');
    expect(message).toMatch(/The upload of the backup failed .*The store refused .*\(403/);
    expect([(await reported()).name, await stage.store.keys()]).toEqual([name, before]);
    await stage.putCredentials();
    const refused = await reported();
    await backUp('again');
    await nextBackup(refused);
    await says('BackupReady', 'True', 'BackedUp');
  }, 400_000);

  it('another deployment of the name leaves the backups of the first alone', async () => {
    const before = await stage.store.keys();
    await kubectl('delete', 'appd', 'shop', '--timeout=180s');
    expect(await stage.store.keys()).toEqual(before);
    await apply(record('shop', { keep: 1 }));
    await says('Ready', 'True', 'Serving');
    expect(await reported()).toEqual({});
    await backUp('another-life');
    await nextBackup({});
    expect(await stage.store.keys()).toEqual(expect.arrayContaining(before));
    expect(await stage.store.keys()).toHaveLength(before.length + 3);
  }, 600_000);
});
