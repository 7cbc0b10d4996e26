import { expect, it } from 'vitest';
import { type CliRan, runCli } from '../../../test/support/cli-world.ts';
import { Failure } from '../transport/kubectl.ts';

const NEWEST = '20260201T020000Z-0000000a';
const STORED = {
  backups: [
    { namespace: 'team', tenant: 't0', deployment: 'shop', count: 3, newest: NEWEST, sizeBytes: 2048 },
    { namespace: 'team', tenant: 't1', deployment: 'shop', count: 1, newest: NEWEST, sizeBytes: 1024 },
  ],
};

/** `types`: what the conditions of the Job are at each look; the last ones stay. */
function listed(types: readonly string[], log: string, args: readonly string[] = []): Promise<CliRan> {
  const left = [...types];
  return runCli(['database', 'backups', '--store', ...args], {
    kubectl: async (asked) => {
      const [verb, what] = asked;
      if (verb === 'logs') return log;
      if (verb === 'get' && what === 'namespaces') return 'team/t1 other/t0 ';
      if (verb === 'get') return (left.length > 1 ? left.shift() : left[0]) ?? '';
      if (verb === 'create' || verb === 'delete') return '';
      throw new Failure(`unexpected: ${asked.join(' ')}`);
    },
  });
}

it('lists what the store has of all tenants, and leaves no Job', async () => {
  const { code, out, asked } = await listed(['', 'SuccessCriteriaMet Complete'], JSON.stringify(STORED));
  expect([code, out.split('\n').map((line) => line.split(/ {2,}/))]).toEqual([
    0,
    [
      ['NAMESPACE', 'UID', 'EXISTS', 'DEPLOYMENT', 'BACKUPS', 'NEWEST', 'SIZE'],
      ['team', 't0', '-', 'shop', '3', NEWEST, '2.0 KiB'],
      ['team', 't1', 'yes', 'shop', '1', NEWEST, '1.0 KiB'],
    ],
  ]);
  expect(asked[0]).toMatch(/^create job davit-backup-list-\d+ --from=cronjob\/davit-backup-list -n davit-system$/);
  expect(asked.at(-1)).toMatch(/^delete job davit-backup-list-\d+ -n davit-system --wait=false$/);
});

it('does so beside Davit where that is, and for programs', async () => {
  const args = ['--davit-namespace', 'platform', '--output', 'json'];
  const { out, asked } = await listed(['Complete'], JSON.stringify(STORED), args);
  expect(asked.filter((one) => one.endsWith(' -n platform')).length).toBeGreaterThan(1);
  expect(JSON.parse(out)).toMatchObject([
    { tenant: 't0', exists: false },
    { tenant: 't1', exists: true },
  ]);
});

it.each([
  ['fails', 'FailureTarget Failed', 'The store was not listed. The store refused GET'],
  [
    'waits for its Secret',
    '',
    'It needs the Secret in settings.backups.store.credentialsSecret in namespace davit-system',
  ],
])('says why where the Job %s, and leaves none', async (_what, types, words) => {
  const { code, err, asked } = await listed([types], 'The store refused GET (403)');
  expect([code, err]).toEqual([1, expect.stringContaining(words)]);
  expect(asked.at(-1)).toMatch(/^delete job /);
});

it('needs the flag', async () => {
  const { code, err } = await runCli(['database', 'backups'], {});
  expect([code, err]).toEqual([2, expect.stringContaining('backups needs --store')]);
});
