// What `backup` asks for, and what it says of its end. What is refused is decided by the routes.

import { expect, it } from 'vitest';
import { aRecord, type CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../kinds/datastore-operation.ts';

const ASKS = { sourceConfig: { database: { backup: {} } } };
const BACKUP = { name: '20260203T020000Z-0123abcd', takenAt: '2026-02-03T02:00:00Z', sizeBytes: 2048 };
type Status = NonNullable<DatastoreOperation['status']>;

const complete = (reason: string, message: string): Status['conditions'] => [
  { type: 'Complete', status: 'True', reason, message, lastTransitionTime: '2026-02-03T02:00:00Z' },
];

/** `looks`: status of the operation at each look after the first. */
async function backUp(
  args: readonly string[],
  looks: readonly Status[],
  spec: object = ASKS,
): Promise<CliRan & { readonly operations: readonly DatastoreOperation['spec'][] }> {
  const cli = makeOwnCli({ record: aRecord(spec) });
  const left = [...looks];
  let now = 0;
  const sleep = async (ms: number): Promise<void> => {
    now += ms;
    const status = left.shift();
    const [operation] = cli.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS);
    if (status && operation) cli.kube.seed(DATASTORE_OPERATIONS, { ...operation, status });
  };
  const ran = await cli.run(['backup', ...args], { clock: { now: () => now, sleep } });
  return {
    ...ran,
    operations: cli.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS).map(({ spec: asked }) => asked),
  };
}

const RUNNING: Status = {
  phase: 'Running',
  conditions: complete('BackupRunning', 'Job shop---backup-1 makes the backup.'),
};

it('says which backup it is, with its size', async () => {
  const ran = await backUp(['shop'], [RUNNING, RUNNING, { phase: 'Succeeded', backup: BACKUP }]);
  expect(ran).toMatchObject({
    code: 0,
    out: 'Backup 20260203T020000Z-0123abcd of shop is in the store. It has the state of 2026-02-03T02:00:00Z, and 2.0 KiB.',
    operations: [{ deployment: 'shop', action: 'Backup', requestedBy: 'somebody' }],
  });
  expect(ran.err.match(/makes the backup/g)).toHaveLength(1);
});

it('prints JSON for programs', async () => {
  const { out } = await backUp(['shop', '-o', 'json'], [{ phase: 'Succeeded', backup: BACKUP }]);
  expect(JSON.parse(out)).toMatchObject({ name: 'shop', backup: BACKUP });
});

it('fails with the words of what failed', async () => {
  const conditions = [
    { ...complete('BackupFailed', 'The backup failed. AccessDenied.')?.[0], type: 'Failed' },
  ] as Status['conditions'];
  const ran = await backUp(['shop'], [RUNNING, { phase: 'Failed', conditions }]);
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('The backup failed. AccessDenied.') as string });
});

it('ends after --timeout, and says that the operation continues', async () => {
  const ran = await backUp(['shop', '--timeout', '3'], [RUNNING]);
  expect(ran).toMatchObject({
    code: 124,
    err: expect.stringMatching(/has not ended after 3 s\. It continues\./) as string,
  });
});

it('asks for a base backup', async () => {
  const spec = { sourceConfig: { database: { driver: 'cloudnative-pg', archive: {} } } };
  const ran = await backUp(['shop', '--archive'], [{ phase: 'Succeeded', backup: { takenAt: BACKUP.takenAt } }], spec);
  expect(ran).toMatchObject({
    code: 0,
    out: `A base backup of shop is in the store. It has the state of ${BACKUP.takenAt}.`,
    operations: [{ backup: { archive: true } }],
  });
});

it.each([
  ['without backups', {}, /^shop has no database yet/],
  ['without a database', { sourceConfig: { runtime: { database: 'none' } } }, /has no database/],
  ['without an archive', ASKS, /shop has no archive/],
])('a deployment %s is refused, and nothing is created', async (what, spec, words) => {
  const ran = await backUp(what === 'without an archive' ? ['shop', '--archive'] : ['shop'], [], spec);
  expect([ran.code, ran.err, ran.operations]).toEqual([1, expect.stringMatching(words), []]);
});
