// What `restore` creates, what it refuses, and how it ends.

import { describe, expect, it } from 'vitest';
import { CRON_JOB } from '../../../test/support/backup-cron-job.ts';
import { answering, aRecord, type CliWorld, runCli, uid } from '../../../test/support/cli-world.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';

const ended = (name: string, exitCode: number, message: string): object => ({
  name,
  state: { terminated: { exitCode, message } },
});

const BACKUP = '20260202T000000Z-0123abcd';
const EARLIER = '20260101T000000Z-0123abcd';
const STORED = [
  { name: BACKUP, takenAt: '2026-02-02T00:00:00Z', sizeBytes: 1536, uid },
  { name: EARLIER, takenAt: '2026-01-01T00:00:00Z', sizeBytes: 1536, uid },
];
const LOADED = { name: 'b', takenAt: '2026-02-01T00:00:00Z', sizeBytes: 1536 };

interface Made {
  readonly metadata: { readonly generateName: string; readonly labels: object; readonly ownerReferences: object[] };
  readonly spec: {
    readonly backoffLimit: number;
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly initContainers: readonly {
          readonly name: string;
          readonly image: string;
          readonly args?: string[];
          readonly command?: string[];
        }[];
        readonly containers: readonly {
          readonly name: string;
          readonly image: string;
          readonly command: string[];
          readonly env: object[];
        }[];
        readonly volumes: object[];
      };
    };
  };
}

interface Restored {
  readonly result: Awaited<ReturnType<typeof runCli>>;
  /** The Job that loads. */
  readonly made: Made | undefined;
  /** The one that looks before. */
  readonly looked: Made | undefined;
}

function isLoading(job: Made): boolean {
  return job.spec.template.spec.containers.some(({ name }) => name === 'davit-restore');
}

/**
 * `condition`: how the Jobs end. `containers`: statuses of theirs. `stored`: what the store has. `mayRead`: whether the caller may read
 * logs. `isLate`: the Job that loads has no condition at the first look.
 */
async function restore(
  args: readonly string[],
  {
    cronJob = CRON_JOB as object | string,
    condition = 'Complete',
    containers = [] as object[],
    isLate = false,
    stored = STORED as readonly object[],
    mayRead = true,
    world = {} as CliWorld,
    says = ['--yes'],
    record = aRecord({}, {}),
  } = {},
): Promise<Restored> {
  const written: Made[] = [];
  const get = answering(
    {
      [RECORDS]: record,
      'cronjobs.batch': cronJob,
      'jobs.batch': { status: { conditions: [{ type: condition, status: 'True', message: 'the Job' }] } },
      pods: {
        items: [{ metadata: { name: 'p' }, status: { phase: 'Pending', initContainerStatuses: containers } }],
      },
    },
    [],
  );
  let isEnded = !isLate;
  const kubectl: Kubectl = async (words, input = '') => {
    if (words.includes('jobs.batch') && words[0] === 'get' && !isEnded) {
      isEnded = true;
      return '{}';
    }
    if (words[0] === 'get') return words.includes('cronjobs.batch') && cronJob === '' ? '' : get(words, input);
    if (words[0] === 'logs') {
      if (!mayRead) throw new Failure('Error from server (Forbidden): pods/log');
      return JSON.stringify({ backups: stored });
    }
    if (words[0] === 'create') written.push(JSON.parse(input) as Made);
    return JSON.stringify({ metadata: { name: 'shop---restore-x' } });
  };
  const result = await runCli(['restore', ...args, ...says], { kubectl, ...world });
  return { result, made: written.find(isLoading), looked: written.find((job) => !isLoading(job)) };
}

describe('restore', () => {
  it('makes a Job of the CronJob that asks, fetches and loads, and says which backup it was', async () => {
    const containers = [ended('davit-check', 0, ''), ended('davit-fetch', 0, JSON.stringify(LOADED))];
    const { result, made } = await restore(['shop', '--from', 'old', '--at', '2026-02-02T00:00:00Z'], { containers });
    expect(result).toMatchObject({
      code: 0,
      out: 'Loaded backup b of 2026-02-01T00:00:00Z, 1.5 KiB, into shop.',
    });
    expect(made?.metadata).toMatchObject({
      generateName: 'shop---restore-',
      labels: { 'davit.dev/component': 'restore', 'davit.dev/deployment': 'shop' },
      ownerReferences: [{ kind: 'AppDeployment', name: 'shop', uid }],
    });
    expect(made?.spec.backoffLimit).toBe(0);
    const { template } = made?.spec ?? {};
    expect(template?.metadata.labels).toMatchObject({ 'davit.dev/component': 'restore' });
    const [check, fetch] = template?.spec.initContainers ?? [];
    const [load] = template?.spec.containers ?? [];
    expect([check?.name, fetch?.name, load?.name]).toEqual(['davit-check', 'davit-fetch', 'davit-restore']);
    expect([check?.image, fetch?.image]).toEqual([load?.image, 'davit:1']);
    expect(fetch?.args?.slice(0, 2)).toEqual(['backup', 'fetch']);
    expect(fetch?.args?.map((arg) => arg.split('=')[0])).toEqual([
      'backup',
      'fetch',
      '--folder',
      '--credentials',
      '--store',
      '--namespace',
      '--deployment',
      '--at',
    ]);
    expect(fetch?.args).toContain('--deployment=old');
    // The credentials are in the container that fetches alone, the password in the others.
    expect(JSON.stringify(load)).not.toContain('"store"');
    expect(JSON.stringify(fetch)).not.toContain('PGPASSWORD');
    for (const command of [check?.command, load?.command]) expect(command?.[2]).toContain('is not empty');
    expect(load?.command[2]).toContain('--single-transaction');
  });

  it('tells programs which backup it was', async () => {
    const containers = [ended('davit-fetch', 0, JSON.stringify(LOADED))];
    const { result } = await restore(['shop', '-o', 'json'], { containers });
    expect(JSON.parse(result.out)).toEqual({ name: 'shop', job: 'shop---restore-x', loaded: LOADED });
    const { result: cut } = await restore(['shop'], { containers: [ended('davit-fetch', 0, '{"name":')] });
    expect(cut).toMatchObject({ code: 0, out: 'Loaded the backup into shop.' });
  });

  it.each<[string, string[], string]>([
    ['the newest backup', ['shop', '--from', 'old'], `backup ${BACKUP} of old, of 2026-02-02T00:00:00Z, 1.5 KiB,`],
    ['one of its own', ['shop', '--backup', BACKUP], `backup ${BACKUP} of shop, of 2026-02-02T00:00:00Z, 1.5 KiB,`],
    [
      'one of a time',
      ['shop', '--from', 'old', '--at', '2026-01-02T00:00:00Z'],
      `backup ${EARLIER} of old, of 2026-01-01T00:00:00Z, 1.5 KiB,`,
    ],
  ])('looks, and asks before it loads %s', async (_what, args, words) => {
    const asked = { world: { answers: ['shop'] }, says: [] };
    const { result, made, looked } = await restore(args, asked);
    expect([result.code, made?.metadata.generateName]).toEqual([0, 'shop---restore-']);
    const { initContainers = [], containers = [] } = looked?.spec.template.spec ?? {};
    expect([...initContainers, ...containers].map(({ name }) => name)).toEqual(['davit-check', 'davit-fetch']);
    expect(result.asked.at(-1)).not.toContain('delete jobs.batch');
    expect(result.asked.filter((one) => one.includes('delete jobs.batch'))).toHaveLength(1);
    expect(result.questions).toEqual([
      `Load ${words} into the database of shop in namespace team, which must be empty? Type shop to load it: `,
    ]);
  });

  it.each<[string, CliWorld, number, string]>([
    ['another answer', { answers: ['y'] }, 1, "Reading the store's list of backups of old.\nNothing was loaded."],
    [
      'nobody to ask',
      {},
      2,
      'Nobody can be asked here. Nothing was loaded. To load it: kubectl davit restore shop --from old --at 2026-02-02T00:00:00Z --yes',
    ],
  ])('creates nothing with %s', async (_what, world, code, err) => {
    const args = ['shop', '--from', 'old', '--at', '2026-02-02T00:00:00Z'];
    const { result, made } = await restore(args, { world, says: [] });
    expect([result.code, result.err, made]).toEqual([code, err, undefined]);
  });

  it.each<[string, string[], readonly object[], string]>([
    [
      'a backup that the store does not have',
      ['shop', '--backup', '20260303T000000Z-0123abcd'],
      STORED,
      'Nothing was loaded: the store has no backup 20260303T000000Z-0123abcd of shop. The earliest is of 2026-01-01T00:00:00Z, the latest of 2026-02-02T00:00:00Z. All: kubectl davit backups shop',
    ],
    [
      'a time before all of them',
      ['shop', '--from', 'old', '--at', '2025-01-01T00:00:00Z'],
      STORED,
      'Nothing was loaded: the store has no backup of 2025-01-01T00:00:00Z or before of old. The earliest is of 2026-01-01T00:00:00Z, the latest of 2026-02-02T00:00:00Z. All: kubectl davit backups shop --from old',
    ],
    ['a store that has none', ['shop', '--from', 'old'], [], 'Nothing was loaded: the store has no backup of old.'],
  ])('asks and loads nothing for %s', async (_what, args, stored, err) => {
    const { result, made } = await restore(args, { stored, world: { answers: ['shop'] }, says: [] });
    expect([result.code, result.err.split('\n').at(-1), result.questions, made]).toEqual([1, err, [], undefined]);
  });

  it('asks and loads nothing where the database is not empty', async () => {
    const containers = [ended('davit-check', 1, 'The database is not empty: it has 3 tables.\n')];
    const { result, made } = await restore(['shop'], {
      condition: 'Failed',
      containers,
      says: [],
      world: { answers: ['shop'] },
    });
    expect([result.code, result.err, result.questions, made]).toEqual([
      1,
      "Reading the store's list of backups of shop.\nNothing was loaded. The database is not empty: it has 3 tables.",
      [],
      undefined,
    ]);
  });

  it('goes on where its caller may not read what the store has', async () => {
    const { result, made } = await restore(['shop'], { mayRead: false, says: [], world: { answers: ['shop'] } });
    expect([result.code, made !== undefined]).toEqual([0, true]);
    expect(result.questions[0]).toMatch(/^Load the newest backup of shop into the database/);
  });

  it('looks into nothing where nobody can be asked', async () => {
    const { result, looked } = await restore(['shop'], { says: [] });
    expect([result.code, looked]).toEqual([2, undefined]);
  });

  it('ends after its time, and the Job goes on', async () => {
    const { result } = await restore(['shop', '--timeout', '5'], { condition: 'None' });
    expect([result.code, result.err]).toEqual([124, expect.stringMatching(/^Nothing was loaded: /m)]);
  });

  it('does not ask about what cannot be loaded', async () => {
    const { result } = await restore(['shop'], { cronJob: '', world: { answers: ['shop'] }, says: [] });
    expect([result.code, result.questions]).toEqual([1, []]);
  });

  it('says why nothing was loaded', async () => {
    const containers = [ended('davit-check', 1, 'The database is not empty: it has 3 tables.\n')];
    const { result } = await restore(['shop'], { condition: 'Failed', containers });
    expect(result).toMatchObject({
      code: 1,
      err: expect.stringContaining('Nothing was loaded. The database is not empty: it has 3 tables.') as string,
    });
    // The pod ends before its Job does, and no revision would mend it.
    const { result: late } = await restore(['shop'], { condition: 'Failed', containers, isLate: true });
    expect(late.err).not.toContain('corrected revision');
    const { result: unsaid } = await restore(['shop'], { condition: 'Failed' });
    expect(unsaid).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was loaded. the Job') as string });
  });

  it.each([
    ['a name that is none', ['shop', '--from', 'other/shop'], 2, /^--from must be the name of a deployment/],
    ['two choices', ['shop', '--backup', 'b', '--at', '2026-02-02T00:00:00Z'], 2, /^Give --backup or --at/],
    ['a time that is none', ['shop', '--at', 'yesterday'], 2, /^--at must be a time/],
  ])('refuses %s', async (_what, args, code, words) => {
    const { result, made } = await restore(args);
    expect([result.code, made]).toEqual([code, undefined]);
    expect(result.err).toMatch(words);
  });

  it.each<[string, Parameters<typeof aRecord>[0], string]>([
    [
      'no database',
      { sourceConfig: { runtime: { database: 'none' } } },
      'shop has no database (runtime.database: none), ',
    ],
    [
      'an external one',
      { secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'db', secretKey: 'uri' }] },
      'shop uses an external database (POSTGRES_URI_CUSTOM), ',
    ],
  ])('says what to do for a deployment with %s', async (_what, spec, words) => {
    const { result, made } = await restore(['shop'], { record: aRecord(spec, {}), cronJob: '' });
    expect([result.code, made]).toEqual([1, undefined]);
    expect(result.err).toContain(words);
    expect(result.err).toContain('source_config.database.restore');
  });

  it.each([
    ['has no backups', '', /^shop has no CronJob shop---backup/],
    [
      'has a CronJob that was changed',
      { spec: { jobTemplate: { spec: { template: { spec: { containers: [] } } } } } },
      /was changed/,
    ],
  ])('refuses a deployment that %s', async (_what, cronJob, words) => {
    const { result, made } = await restore(['shop'], { cronJob });
    expect([result.code, made]).toEqual([1, undefined]);
    expect(result.err).toMatch(words);
  });
});
