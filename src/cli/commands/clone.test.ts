// What `clone` asks for, and what it says of the answer. What is refused is decided by the route.

import { describe, expect, it } from 'vitest';
import { aRevision } from '../../../test/support/builders.ts';
import { aRecord, type CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';

const BACKUP = '20260202T000000Z-0123abcd';
const backups = (name: string): object => ({
  listedAt: '2026-02-02T00:00:09Z',
  count: 1,
  newest: [{ name, takenAt: '2026-02-02T00:00:00Z', sizeBytes: 2048 }],
});
const backedUp = aRecord(
  {},
  { databaseBackup: { name: BACKUP, lastSuccessAt: '2026-02-02T00:00:00Z' }, databaseBackups: backups(BACKUP) },
);

async function clone(
  args: readonly string[],
  origin: AppDeployment = backedUp,
): Promise<CliRan & { readonly made?: AppDeployment | undefined }> {
  const cli = makeOwnCli({ record: origin, revisions: [aRevision(origin, 'DEPLOYED')] });
  const ran = await cli.run(['clone', ...args]);
  const made = cli.kube.objects<AppDeployment>(APP_DEPLOYMENTS).find(({ metadata }) => metadata.name !== 'shop');
  return { ...ran, made };
}

it('creates the record, and says what it begins with and what to do next', async () => {
  const { code, out, made } = await clone(['shop', '--to', 'shop-2', '--at', '2026-02-03T00:00:00Z']);
  expect([code, out]).toEqual([
    0,
    `shop-2 is being created from the current state of shop. It begins with backup ${BACKUP}, of 2026-02-02T00:00:00Z. To follow it: kubectl davit wait shop-2`,
  ]);
  expect(made).toMatchObject({ kind: 'AppDeployment', metadata: { name: 'shop-2', namespace: 'team' } });
  expect(made?.metadata.annotations).toEqual({ 'davit.dev/requested-by': 'new 1 somebody' });
  expect(made?.spec.sourceConfig.database?.restore).toEqual({ from: 'shop', backup: BACKUP });
});

it.each([
  ['the newest', backedUp, [], `backup ${BACKUP}, of 2026-02-02T00:00:00Z.`],
  ['one of a name', backedUp, ['--backup', BACKUP], `backup ${BACKUP}, of 2026-02-02T00:00:00Z.`],
  [
    'one of a time where nothing is listed',
    aRecord(),
    ['--at', '2026-02-03T00:00:00Z'],
    'the newest backup from 2026-02-03T00:00:00Z or before, if one exists.',
  ],
])('says which backup it is: %s', async (_what, origin, flags, words) => {
  const { code, out } = await clone(['shop', '--to', 'b', ...flags], origin);
  expect([code, out]).toEqual([0, expect.stringContaining(`It begins with ${words}`)]);
});

it('takes the archive where that has the time, and says so', async () => {
  const conditions = [
    { type: 'ArchiveReady', status: 'True', reason: 'Archived', message: '', lastTransitionTime: '' },
  ];
  const databaseArchive = { firstRecoverableAt: '2026-02-01T00:00:00Z' };
  const archived = aRecord({}, { databaseDriver: 'cloudnative-pg', databaseArchive, conditions });
  const at = '2026-02-02T00:00:00Z';
  const { out, made } = await clone(['shop', '--to', 'shop-2', '--at', at], archived);
  expect(out).toBe(
    `shop-2 is being created from the current state of shop. It begins with the state of ${at} in the archive of shop. To follow it: kubectl davit wait shop-2`,
  );
  expect(made?.spec.sourceConfig.database).toEqual({
    driver: 'cloudnative-pg',
    restore: { from: 'shop', at, archive: true },
  });
});

it.each([
  ['no new name', ['shop'], 2, '--to must be the name of the new deployment.'],
  ['two choices', ['shop', '--to', 'b', '--at', '2026-02-02T00:00:00Z', '--backup', 'x'], 2, 'Give --backup or --at'],
  ['a time that is none', ['shop', '--to', 'b', '--at', 'yesterday'], 2, '--at must be a time such as'],
  ['a name that is taken', ['shop', '--to', 'shop'], 1, 'A deployment named "shop" already exists.'],
  [
    'a backup that is not there',
    ['shop', '--to', 'b', '--backup', '20260204T020000Z-0123abcd'],
    1,
    'The store has no backup 20260204T020000Z-0123abcd of shop. The earliest is from 2026-02-02T00:00:00Z',
  ],
])('refuses %s', async (_what, args, wanted, words) => {
  const { code, err, made } = await clone(args);
  expect([code, made]).toEqual([wanted, undefined]);
  expect(err).toContain(words);
});

describe('says where the backups of a deployment are that was deleted', () => {
  it.each([[['clone', 'shop', '--to', 'b']], [['backups', 'shop']]])('%j', async (args) => {
    const { code, err } = await makeOwnCli().run(args);
    expect([code, err.split('\n')]).toEqual([
      1,
      [
        'There is no deployment shop in namespace team. To list all: kubectl davit status',
        "If shop was deleted or lost, its backups are still in the store. To begin with the newest, under the same name or another: kubectl davit deploy --image IMAGE --name shop --set 'database={backup: {}, restore: {from: shop}}'",
        '--file FILE gives the new deployment the settings of shop, as kubectl davit export prints them (docs/databases.md, "A deployment that is lost").',
      ],
    ]);
  });
});
