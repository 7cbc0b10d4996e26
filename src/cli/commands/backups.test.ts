// What `backups` shows of the store, and what `clone` refuses by it.

import { describe, expect, it } from 'vitest';
import { CRON_JOB } from '../../../test/support/backup-cron-job.ts';
import { answering, aRecord, type CliRan, REVISION, runCli, uid } from '../../../test/support/cli-world.ts';
import { Failure } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';

const stored = (day: string, of = uid): object => ({
  name: `202602${day}T020000Z-0123abcd`,
  takenAt: `2026-02-${day}T02:00:00Z`,
  sizeBytes: 2048,
  uid: of,
});
const STORED = [stored('03'), stored('02'), stored('01', 'u0')];
const record = aRecord(
  {},
  {
    databaseBackup: { name: '20260203T020000Z-0123abcd' },
    databaseProof: { name: '20260202T020000Z-0123abcd', provenAt: '2026-02-02T08:00:00Z' },
  },
);

interface Made {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly initContainers: readonly object[];
        readonly containers: readonly { readonly args: readonly string[] }[];
      };
    };
  };
}

interface Played extends CliRan {
  readonly made: readonly Made[];
}

/** `log`: what the Job prints. `mayCreateJobs` false: it is forbidden. `looks`: at which look the Job has its condition. `answers`: on a terminal. */
async function play(
  args: readonly string[],
  {
    log = `davit backup: slow\n${JSON.stringify({ backups: STORED })}\n`,
    mayCreateJobs = true,
    condition = 'Complete',
    own = record,
    looks = 1,
    answers = undefined as readonly string[] | undefined,
  } = {},
): Promise<Played> {
  const made: Made[] = [];
  const get = answering({
    [RECORDS]: own,
    'apprevisions.davit.dev': { items: [REVISION] },
    'cronjobs.batch': CRON_JOB,
    'jobs.batch': { status: { conditions: [{ type: condition, status: 'True', message: 'the Job' }] } },
  });
  let left = looks;
  const ran = await runCli(args, {
    ...(answers && { answers }),
    kubectl: async (words, input = '') => {
      if (words[0] === 'get' && words[1] === 'jobs.batch') {
        left -= 1;
        if (left > 0) return '{}';
      }
      if (words[0] === 'logs') return log;
      if (words[0] === 'get' && words[1] === RECORDS && words.includes('--ignore-not-found')) return '';
      if (words[0] !== 'create') return get(words, input);
      const manifest = JSON.parse(input) as Made;
      if (manifest.kind === 'Job' && !mayCreateJobs) throw new Failure('Error from server (Forbidden): jobs.batch');
      made.push(manifest);
      return JSON.stringify({ metadata: { name: 'shop---restore-x' } });
    },
  });
  return { ...ran, made };
}

describe('backups', () => {
  it('shows what the store has, and deletes the Job that has looked', async () => {
    const { code, out, made, asked } = await play(['backups', 'shop']);
    expect(code).toBe(0);
    expect(out.split('\n').map((line) => line.replace(/ {2}\d+d {2}/, '  AGE  '))).toEqual([
      'BACKUP                     TAKEN AT              AGE   SIZE     PROVEN                OF',
      '20260203T020000Z-0123abcd  2026-02-03T02:00:00Z  AGE  2.0 KiB  -                     shop',
      '20260202T020000Z-0123abcd  2026-02-02T02:00:00Z  AGE  2.0 KiB  2026-02-02T08:00:00Z  shop',
      '20260201T020000Z-0123abcd  2026-02-01T02:00:00Z  AGE  2.0 KiB  -                     an earlier shop',
    ]);
    expect(asked.at(-1)).toMatch(/^delete jobs\.batch shop---restore-x /);
    const { initContainers, containers } = made[0]?.spec.template.spec ?? {};
    expect([initContainers, containers?.length]).toEqual([[], 1]);
    expect(containers?.[0]?.args).toEqual(expect.arrayContaining(['backup', 'list', '--deployment=shop']));
    expect(JSON.stringify(made)).not.toContain('PGPASSWORD');
  });

  it('are those of another one, of which nothing else is known', async () => {
    const { out, made } = await play(['backups', 'shop', '--from', 'old', '-o', 'json']);
    expect(made[0]?.spec.template.spec.containers[0]?.args).toContain('--deployment=old');
    expect((JSON.parse(out) as object[])[1]).toEqual({
      name: '20260202T020000Z-0123abcd',
      takenAt: '2026-02-02T02:00:00Z',
      sizeBytes: 2048,
      provenAt: null,
      isOfEarlier: false,
    });
  });

  it('says that it reads the list, on a terminal at once, and elsewhere after a second', async () => {
    const line = "Reading the store's list of backups of shop.";
    expect((await play(['backups', 'shop'], { looks: 2 })).err).toBe('');
    expect((await play(['backups', 'shop'], { looks: 4 })).err).toBe(line);
    expect((await play(['backups', 'shop', '--from', 'old'], { answers: [], looks: 4 })).err).toBe(
      line.replace('shop', 'old'),
    );
    const json = await play(['backups', 'shop', '-o', 'json'], { looks: 4 });
    expect([json.err, (JSON.parse(json.out) as object[]).length]).toEqual([line, 3]);
    const cloned = await play(['clone', 'shop', '--to', 'b', '--at', '2026-02-02T12:00:00Z'], { looks: 4 });
    expect(cloned.err).toContain(line);
  });

  it('says how to make one where there is none', async () => {
    const { code, out, err } = await play(['backups', 'shop'], { log: '{"backups": []}' });
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain('To make one of shop now: kubectl davit backup shop');
  });

  it.each([
    ['is no JSON', { log: 'x' }, 'its list is no JSON'],
    ['cannot be read', { condition: 'Failed' }, 'The store of backups could not be read. the Job'],
    ['may not be looked into', { mayCreateJobs: false }, '(Forbidden)'],
    [
      'has nothing, because there is no database',
      { own: aRecord({ sourceConfig: { runtime: { database: 'none' } } }) },
      'shop has no database (runtime.database: none), so Davit makes no backups of it.',
    ],
  ] as const)('fails where the store %s', async (_what, stage, words) => {
    const { code, err } = await play(['backups', 'shop'], stage);
    expect([code, err]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe('clone', () => {
  it.each([
    ['--at', '2026-01-31T00:00:00Z', 'no backup of 2026-01-31T00:00:00Z or before of shop'],
    ['--backup', '20260204T020000Z-0123abcd', 'no backup 20260204T020000Z-0123abcd of shop'],
  ])('refuses %s %s at once, with what can be asked for', async (flag, value, words) => {
    const { code, err, made } = await play(['clone', 'shop', '--to', 'b', flag, value]);
    expect([code, made.map(({ kind }) => kind)]).toEqual([1, ['Job']]);
    expect(err).toContain(`Nothing was created: the store has ${words}.`);
    expect(err).toContain('The earliest is of 2026-02-01T02:00:00Z, the latest of 2026-02-03T02:00:00Z.');
  });

  it('names the backup that a time means', async () => {
    const { code, out, made } = await play(['clone', 'shop', '--to', 'b', '--at', '2026-02-02T12:00:00Z']);
    expect([code, made.map(({ kind }) => kind)]).toEqual([0, ['Job', 'AppDeployment']]);
    expect(out).toContain('Its data is that of backup 20260202T020000Z-0123abcd, of 2026-02-02T02:00:00Z.');
  });

  it('is not kept from what its caller may do because he may not look', async () => {
    const { code, out } = await play(['clone', 'shop', '--to', 'b', '--at', '2026-02-02T12:00:00Z'], {
      mayCreateJobs: false,
    });
    expect([code, out]).toEqual([0, expect.stringContaining('or before, if there is one.')]);
  });
});
