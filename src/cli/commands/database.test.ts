// What `database` asks for, and what it says of the end of an operation. What is refused is decided by the routes.

import { describe, expect, it } from 'vitest';
import { aRevision } from '../../../test/support/builders.ts';
import { aRecord, type CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../kinds/datastore-operation.ts';

const BACKUP = '20260203T020000Z-0123abcd';
type Status = NonNullable<DatastoreOperation['status']>;

function status(phase: NonNullable<Status['phase']>, reason: string, message: string, more: object = {}): Status {
  const type = phase === 'Failed' ? 'Failed' : 'Complete';
  const condition = { type, status: 'True', reason, message, lastTransitionTime: '2026-02-03T02:00:00Z' } as const;
  return { phase, conditions: [condition], ...more };
}

const ON_DATABASE_1 = status('Succeeded', 'Moved', 'The deployment is on database cloudnative-pg/1.', {
  move: { from: { driver: 'pod', number: 0 }, to: { driver: 'cloudnative-pg', number: 1 }, backup: BACKUP },
  downtimeSeconds: 71,
});

/** `looks`: status of the operation at each look after the first. */
async function database(
  args: readonly string[],
  looks: readonly Status[] = [ON_DATABASE_1],
  answers?: readonly string[],
): Promise<CliRan & { readonly operations: readonly DatastoreOperation['spec'][] }> {
  const record = aRecord(
    { sourceConfig: { database: { backup: {} } } },
    {
      activeRevisionId: aRevision(aRecord()).spec.id,
      databaseVolumeUid: 'volume',
      databaseDrivers: [
        { driver: 'pod', postgresVersion: 18 },
        { driver: 'cloudnative-pg', postgresVersion: 17 },
      ],
      databasesKept: [{ driver: 'pod', number: 3 }],
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Serving', message: '' },
        { type: 'BackupReady', status: 'True', reason: 'BackedUp', message: '' },
      ],
    },
  );
  const revision = aRevision(record);
  const own = { ...revision, spec: { ...revision.spec, deploymentUid: record.metadata.uid ?? '' } };
  const cli = makeOwnCli({ record, revisions: [own] });
  const left = [...looks];
  let now = 0;
  const sleep = async (ms: number): Promise<void> => {
    now += ms;
    const next = left.shift();
    const [operation] = cli.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS);
    if (next && operation) cli.kube.seed(DATASTORE_OPERATIONS, { ...operation, status: next });
  };
  const ran = await cli.run(['database', ...args], { clock: { now: () => now, sleep }, ...(answers && { answers }) });
  return {
    ...ran,
    operations: cli.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS).map(({ spec }) => spec),
  };
}

it.each([
  ['restore', ['--backup', BACKUP], { action: 'Restore', restore: { backup: BACKUP } }],
  ['restore', ['--backup', BACKUP, '--from', 'old'], { action: 'Restore', restore: { backup: BACKUP, from: 'old' } }],
  [
    'restore',
    ['--backup', BACKUP, '--from', 'old', '--from-namespace', 'prod'],
    { action: 'Restore', restore: { backup: BACKUP, from: 'old', namespace: 'prod' } },
  ],
  ['move', [], { action: 'Move' }],
  ['upgrade', [], { action: 'Upgrade' }],
  ['return', [], { action: 'Return' }],
  ['delete-previous', ['--number', '3'], { action: 'DeletePrevious', deletePrevious: { number: 3 } }],
])('%s creates an operation, and says how it ended', async (word, flags, spec) => {
  const ran = await database([word, 'shop', ...flags, '--yes']);
  expect(ran).toMatchObject({
    code: 0,
    out: 'The deployment is on database cloudnative-pg/1.',
    operations: [{ deployment: 'shop', requestedBy: 'somebody', ...spec }],
  });
});

it('says how far it is, once', async () => {
  const stopping = status('Stopping', 'Stopping', 'The pods of the deployment are being stopped.');
  const { err } = await database(['move', 'shop', '--yes'], [stopping, stopping, ON_DATABASE_1]);
  expect(err.match(/are being stopped/g)).toHaveLength(1);
});

it('prints JSON for programs', async () => {
  const { out } = await database(['move', 'shop', '--yes', '-o', 'json']);
  expect(JSON.parse(out)).toMatchObject({
    name: 'shop',
    database: 'cloudnative-pg/1',
    previousDatabase: 'pod/0',
    backup: BACKUP,
    downtimeSeconds: 71,
  });
});

it('asks for the name of the deployment, and creates nothing for another answer', async () => {
  expect(await database(['move', 'shop'], [ON_DATABASE_1], ['shop'])).toMatchObject({ code: 0 });
  expect(await database(['move', 'shop'], [ON_DATABASE_1], ['yes'])).toMatchObject({ code: 1, operations: [] });
  const nobody = await database(['move', 'shop']);
  expect(nobody).toMatchObject({ code: 2, operations: [] });
  expect(nobody.err).toContain('repeat the command with --yes');
});

it('fails with the words of the operation', async () => {
  const ran = await database(
    ['restore', 'shop', '--backup', BACKUP, '--yes'],
    [status('Failed', 'RestoreFailed', 'Backup was not loaded. It is damaged.')],
  );
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('It is damaged.') as string });
});

describe('what the action does not take', () => {
  it.each([
    [['restore', 'shop'], 'restore needs --backup'],
    [['restore', 'shop', '--backup', 'yesterday'], 'restore needs --backup'],
    [['move', 'shop', '--backup', BACKUP], '--backup, --from and --from-namespace are for restore'],
    [['move', 'shop', '--from-namespace', 'prod'], '--backup, --from and --from-namespace are for restore'],
    [['restore', 'shop', '--backup', BACKUP, '--from-namespace', 'prod'], '--from-namespace needs --from'],
    [['delete-previous', 'shop'], 'delete-previous needs --number'],
    [['upgrade', 'shop', '--number', '1'], '--number is for delete-previous'],
  ])('%j', async (args, words) => {
    const ran = await database([...args, '--yes']);
    expect(ran).toMatchObject({ code: 2, operations: [] });
    expect(ran.err).toContain(words);
  });
});

it('says why an operation is refused, and creates none', async () => {
  const ran = await database(['delete-previous', 'shop', '--number', '0', '--yes']);
  expect(ran).toMatchObject({ code: 1, operations: [] });
  expect(ran.err).toContain('shop is using database 0.');
});
