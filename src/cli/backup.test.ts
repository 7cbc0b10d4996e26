// What `backup` makes, what it says of its end, and what it refuses.

import { describe, expect, it } from 'vitest';
import { CRON_JOB } from '../../test/support/backup-cron-job.ts';
import { aRecord, type CliRan, runCli } from '../../test/support/cli-world.ts';
import { Failure } from './kubectl.ts';
import { RECORDS } from './records.ts';

const NAME = '20260203T020000Z-0123abcd';
const SENT = { name: NAME, takenAt: '2026-02-03T02:00:00Z', sizeBytes: 2048 };
const EARLIER = { name: '20260202T020000Z-0123abcd', lastSuccessAt: '2026-02-02T02:00:00Z', sizeBytes: 1024 };
const LISTED = { name: NAME, lastSuccessAt: SENT.takenAt, sizeBytes: 2048 };
const ASKS = { sourceConfig: { database: { backup: {} } } };
const forbidden = (verb: string, resource: string, group: string): Failure =>
  new Failure(
    `Error from server (Forbidden): ${resource}.${group} is forbidden: User "ann" cannot ${verb} resource "${resource}" in API group "${group}" in the namespace "team"`,
  );

interface Stage {
  readonly record?: object;
  /** status.databaseBackup before and after the run. */
  readonly before?: object;
  readonly after?: object;
  /** Conditions of the Job that is made, at each look; the last one stays. */
  readonly looks?: readonly (readonly object[])[];
  /** Termination message of the container that sends, and its exit code. */
  readonly report?: string;
  readonly exitCode?: number;
  /** Jobs of the backups that are there before. */
  readonly jobs?: readonly object[];
  readonly cronJob?: object;
  readonly fails?: (words: string) => Failure | undefined;
}

const COMPLETE = [{ type: 'Complete', status: 'True' }];
const FAILED = [{ type: 'Failed', status: 'True', message: 'the Job' }];

async function backUp(
  args: readonly string[],
  stage: Stage = {},
): Promise<CliRan & { readonly created: readonly string[] }> {
  const {
    before = EARLIER,
    after = LISTED,
    looks = [[], COMPLETE],
    report = JSON.stringify(SENT),
    exitCode = 0,
  } = stage;
  const created: string[] = [];
  let look = 0;
  const recordNow = (): object => {
    const record = stage.record ?? aRecord(ASKS);
    const isOver = look >= looks.length;
    return { ...record, status: { ...(record as { status: object }).status, databaseBackup: isOver ? after : before } };
  };
  const answer = (words: readonly string[]): unknown => {
    if (words[1] === RECORDS) return recordNow();
    if (words[1] === 'cronjobs.batch')
      return stage.cronJob ?? { ...CRON_JOB, metadata: { ...CRON_JOB?.metadata, uid: 'the-cron-job' } };
    if (words[1] === 'jobs.batch' && words.includes('--selector')) return { items: stage.jobs ?? [] };
    if (words[1] === 'jobs.batch') {
      const conditions = looks[Math.min(look, looks.length - 1)] ?? [];
      look += 1;
      return { status: { conditions } };
    }
    const terminated = { exitCode, message: report };
    const containerStatuses = [{ name: 'davit-upload', state: { terminated } }];
    return {
      items: report === '' ? [] : [{ metadata: { name: 'p' }, status: { phase: 'Succeeded', containerStatuses } }],
    };
  };
  const ran = await runCli(['backup', ...args], {
    kubectl: async (words) => {
      const failure = stage.fails?.(words.join(' '));
      if (failure) throw failure;
      if (words[0] === 'create') {
        created.push(words.join(' '));
        return '';
      }
      const found = answer(words);
      return found === 'none' ? '' : JSON.stringify(found);
    },
  });
  return { ...ran, created };
}

describe('backup', () => {
  it('makes a Job of the CronJob, and says which backup is in the store', async () => {
    const { code, out, err, created } = await backUp(['shop']);
    expect([code, out]).toEqual([
      0,
      `Backup ${NAME} of shop is in the store. It has the state of 2026-02-03T02:00:00Z, and 2.0 KiB.`,
    ]);
    expect(created).toEqual([
      expect.stringMatching(/^create job shop---backup-[0-9a-f]{8} --from=cronjob\/shop---backup /),
    ]);
    expect(err).toMatch(/^Job shop---backup-[0-9a-f]{8} makes the backup\.$/);
  });

  it('has another name each time, which fits the longest name of a deployment', async () => {
    const name = 'a'.repeat(40);
    const runs = await Promise.all(['', ''].map(() => backUp([name], { record: aRecord(ASKS, {}, { name }) })));
    const jobs = runs.map(({ created }) => created[0]?.split(' ')[2] ?? '');
    expect(new Set(jobs).size).toBe(2);
    for (const job of jobs) expect([job.startsWith(`${name}---backup-`), job.length <= 63]).toEqual([true, true]);
  });

  it('waits until the status has it, and prints it for programs', async () => {
    const { code, out, asked } = await backUp(['shop', '-o', 'json'], { looks: [[], [], COMPLETE] });
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { name: 'shop', job: expect.stringMatching(/^shop---backup-/), backup: SENT },
    ]);
    expect(asked.at(-1)).toBe(`get ${RECORDS} shop -o json`);
  });

  it('takes the word of the pod where Davit does not tell it in time, or is paused, and says so', async () => {
    const late = await backUp(['shop'], { after: EARLIER });
    expect([late.code, late.out]).toEqual([0, expect.stringContaining(NAME)]);
    expect(late.err).toContain('The status of shop does not have it yet.');
    const paused = aRecord(ASKS, {}, { annotations: { 'davit.dev/paused': 'true' } });
    const { code, asked } = await backUp(['shop'], { record: paused, after: EARLIER });
    expect([code, asked.filter((one) => one.startsWith(`get ${RECORDS}`)).length]).toEqual([0, 2]);
  });

  it('takes that of the status where the pod is gone, and fails where neither knows', async () => {
    expect(await backUp(['shop'], { report: '' })).toMatchObject({ code: 0, out: expect.stringContaining(NAME) });
    const nobody = await backUp(['shop'], { report: '', after: EARLIER });
    expect([nobody.code, nobody.err]).toEqual([
      1,
      expect.stringMatching(
        /has ended, and its pod does not say any more which backup it made\. .*kubectl davit backups shop$/,
      ),
    ]);
  });

  it('fails with the last words of what failed, and where the others are', async () => {
    const stage = { looks: [[], FAILED], report: 'The store is full.', exitCode: 1 };
    const { code, out, err } = await backUp(['shop', '-n', 'team'], stage);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('The backup failed, and the store has no more than before. The store is full.');
    expect(err).toMatch(/kubectl logs job\/shop---backup-[0-9a-f]{8} --all-containers --namespace=team$/);
  });

  it('ends with 124 after its time, and the Job goes on', async () => {
    const { code, err } = await backUp(['shop', '--timeout', '5'], { looks: [[]] });
    expect([code, err]).toEqual([124, expect.stringMatching(/The backup is not made after 5 s\. Job \S+ goes on\.$/)]);
  });

  it('is made at a scale of 0, and says that a database which does not answer is tried', async () => {
    const conditions = [{ type: 'DatabaseReady', status: 'False', reason: 'NotAnswering', message: 'It is away.' }];
    const zero = aRecord(
      { sourceConfig: { database: { backup: {} }, resourceSpec: { minScale: 0, maxScale: 0 } } },
      { conditions },
    );
    const { code, err } = await backUp(['shop'], { record: zero });
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('may not answer, and is tried for two minutes. It is away.'),
    ]);
  });

  const running = {
    metadata: {
      name: 'shop---backup-29',
      creationTimestamp: '2026-02-03T01:59:59Z',
      ownerReferences: [{ kind: 'CronJob', name: 'shop---backup', uid: 'the-cron-job' }],
    },
    spec: { activeDeadlineSeconds: 3600 },
    status: { startTime: '2026-02-03T02:00:00Z', conditions: [] },
  };
  it.each<[string, object]>([
    ['of somebody else, with its labels', { metadata: { ...running.metadata, ownerReferences: [] } }],
    [
      'of an earlier CronJob of the name',
      { metadata: { ...running.metadata, ownerReferences: [{ kind: 'CronJob', name: 'shop---backup', uid: 'x' }] } },
    ],
    ['that is suspended', { spec: { ...running.spec, suspend: true } }],
    // The clock of the test is at 0.
    ['whose time has long been over', { status: { startTime: '1969-12-31T22:50:00Z' } }],
  ])('is held up by no Job %s', async (_what, more) => {
    const { code, created } = await backUp(['shop'], { jobs: [{ ...running, ...more }] });
    expect([code, created.length]).toEqual([0, 1]);
  });

  it.each<[string, Stage, RegExp]>([
    [
      'one is being made',
      { jobs: [{ metadata: { name: 'old' }, status: { conditions: COMPLETE } }, running] },
      /^Job shop---backup-29 makes a backup of shop already, since 2026-02-03T02:00:00Z\. To wait for it: kubectl wait --for=condition=Complete --timeout=1h job\/shop---backup-29 --namespace=team\. To end it: kubectl delete job shop---backup-29 --namespace=team$/,
    ],
    ['none are asked for', { record: aRecord() }, /^No backups of shop are asked for\./],
    ['Davit has not made the CronJob', { cronJob: 'none' as never }, /^shop has no CronJob shop---backup, /],
    [
      'the caller may not read CronJobs',
      { fails: (words) => (words.startsWith('get cronjobs') ? forbidden('get', 'cronjobs', 'batch') : undefined) },
      /^You may not get cronjobs in namespace team, which a backup needs\. .*docs\/tenants\.md/,
    ],
    [
      'the caller may not create Jobs',
      { fails: (words) => (words.startsWith('create job') ? forbidden('create', 'jobs', 'batch') : undefined) },
      /^You may not create jobs in namespace team, which a backup needs\./,
    ],
    [
      'a quota is used up, in its own words',
      {
        fails: (words) =>
          words.startsWith('create job') ? new Failure('Error from server (Forbidden): exceeded quota') : undefined,
      },
      /^Error from server \(Forbidden\): exceeded quota$/,
    ],
  ])('makes nothing where %s', async (_what, stage, words) => {
    const { code, err, created } = await backUp(['shop', '-n', 'team'], stage);
    expect([code, err, created]).toEqual([1, expect.stringMatching(words), []]);
  });
});

const SCHEDULE = {
  metadata: { name: 'shop--postgres-8b5c0f3e', creationTimestamp: '2026-02-01T00:00:00Z' },
  spec: {
    cluster: { name: 'shop--postgres' },
    schedule: '0 0 2 * * *',
    method: 'plugin',
    pluginConfiguration: { name: 'barman-cloud.cloudnative-pg.io' },
  },
};

describe('backup of an archive', () => {
  async function base(
    phases: readonly (readonly [phase: string, error?: string])[],
    { schedules = [SCHEDULE] as object[], others = [] as object[], lastBackupAt = '2026-02-03T02:00:10Z' } = {},
  ): Promise<CliRan & { readonly made: readonly object[] }> {
    const made: object[] = [];
    let look = 0;
    const ran = await runCli(['backup', 'shop', '-o', 'json'], {
      kubectl: async (words, input = '') => {
        if (words[0] === 'create') {
          made.push(JSON.parse(input) as object);
          return JSON.stringify({ metadata: { name: 'shop--postgres-x1' } });
        }
        if (words[1] === RECORDS)
          return JSON.stringify(
            aRecord({ sourceConfig: { database: { archive: {} } } }, { databaseArchive: { lastBackupAt } }),
          );
        if (words[1] === 'scheduledbackups.postgresql.cnpg.io') return JSON.stringify({ items: schedules });
        if (words[2] !== 'shop--postgres-x1') return JSON.stringify({ items: others });
        const [phase, error] = phases[Math.min(look, phases.length - 1)] ?? [];
        look += 1;
        const times = { startedAt: '2026-02-03T02:00:00Z', stoppedAt: '2026-02-03T02:00:09Z' };
        return JSON.stringify({ metadata: {}, spec: {}, status: { phase, error, ...times } });
      },
    });
    return { ...ran, made };
  }

  it('is a Backup of CloudNativePG, as the schedule has them made', async () => {
    const { code, out, made } = await base([[''], ['running'], ['completed']]);
    expect(code).toBe(0);
    expect(made).toEqual([
      {
        apiVersion: 'postgresql.cnpg.io/v1',
        kind: 'Backup',
        metadata: expect.objectContaining({ generateName: 'shop--postgres-' }),
        spec: {
          cluster: { name: 'shop--postgres' },
          method: 'plugin',
          pluginConfiguration: { name: 'barman-cloud.cloudnative-pg.io' },
        },
      },
    ]);
    expect(JSON.parse(out)).toEqual({
      name: 'shop',
      baseBackup: {
        name: 'shop--postgres-x1',
        startedAt: '2026-02-03T02:00:00Z',
        stoppedAt: '2026-02-03T02:00:09Z',
      },
    });
  });

  it("fails with CloudNativePG's words", async () => {
    const { code, err } = await base([['walArchivingFailing'], ['failed', 'no such bucket']]);
    expect([code, err.split('\n')]).toEqual([
      1,
      [
        'CloudNativePG makes base backup shop--postgres-x1.',
        'It waits until changes of the database reach the archive. Condition ArchiveReady says more.',
        'The base backup failed. CloudNativePG says: no such bucket',
      ],
    ]);
  });

  it('says where the status is late', async () => {
    const { code, err } = await base([['completed']], { lastBackupAt: '2026-02-02T02:00:00Z' });
    expect([code, err]).toEqual([0, expect.stringContaining('The status of shop does not have it yet.')]);
  });

  it.each([
    ['has no schedule yet', { schedules: [] }, 'has no schedule of base backups yet'],
    [
      'is being made already',
      {
        others: [
          { metadata: { name: 'other' }, spec: { cluster: { name: 'shop--postgres' } }, status: { phase: 'running' } },
        ],
      },
      'Base backup other is not finished yet (running).',
    ],
  ])('makes none where it %s', async (_what, stage, words) => {
    const { code, err, made } = await base([['completed']], stage);
    expect([code, err, made]).toEqual([1, expect.stringContaining(words), []]);
  });
});
