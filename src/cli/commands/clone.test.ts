// What `clone` creates, and what it refuses.

import { expect, it } from 'vitest';
import { answering, aRecord, type CliRan, REVISION, runCli } from '../../../test/support/cli-world.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { Failure } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';

const backedUp = aRecord({}, { databaseBackup: { name: '20260202T000000Z-0123abcd' } });

async function clone(args: readonly string[], origin = backedUp): Promise<CliRan & { readonly made?: AppDeployment }> {
  const written: string[] = [];
  const get = answering({ [RECORDS]: origin, 'apprevisions.davit.dev': { items: [REVISION] } }, []);
  const ran = await runCli(['clone', ...args], {
    kubectl: async (words, input = '') => {
      if (words.includes('--ignore-not-found')) return words[2] === 'taken' ? `${RECORDS}/taken` : '';
      if (words[0] === 'get') return get(words, input);
      if (words[0] === 'auth') return '{"status": {"userInfo": {"username": "anna"}}}';
      written.push(input);
      return '';
    },
  });
  const [text] = written;
  return { ...ran, ...(text !== undefined && { made: JSON.parse(text) as AppDeployment }) };
}

it('creates the record, and says what to do next', async () => {
  const { code, out, asked, made } = await clone(['shop', '--to', 'shop-2', '--at', '2026-02-02T00:00:00Z']);
  expect([code, out]).toEqual([
    0,
    'shop-2 is being created as shop is now. Its data is that of the newest backup of 2026-02-02T00:00:00Z or before, if there is one. To follow it: kubectl davit wait shop-2',
  ]);
  expect(asked.at(-1)).toBe('create --field-manager=kubectl-davit -f -');
  expect(made).toMatchObject({ kind: 'AppDeployment', metadata: { name: 'shop-2', namespace: 'team' } });
  expect(made?.metadata.annotations).toEqual({ 'davit.dev/requested-by': 'new 1 anna' });
  expect(made?.spec.sourceConfig.database?.restore).toEqual({ from: 'shop', at: '2026-02-02T00:00:00Z' });
});

it('takes the archive where that has the time, and says so', async () => {
  const conditions = [
    { type: 'ArchiveReady', status: 'True', reason: 'Archived', message: '', lastTransitionTime: '' },
  ];
  const databaseArchive = { firstRecoverableAt: '2026-02-01T00:00:00Z' };
  const archived = aRecord({}, { databaseDriver: 'cloudnative-pg', databaseArchive, conditions } as object);
  const at = '2026-02-02T00:00:00Z';
  const { out, made } = await clone(['shop', '--to', 'shop-2', '--at', at], archived);
  expect(out).toBe(
    `shop-2 is being created as shop is now. Its data is the state of ${at}, by the archive of shop. To follow it: kubectl davit wait shop-2`,
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
  ['a name that is taken', ['shop', '--to', 'taken'], 1, 'A deployment named taken already exists.'],
  [
    'a deployment that cannot be cloned',
    ['shop', '--to', 'b'],
    1,
    '"shop" has no backups. If the platform has a store of backups',
  ],
])('refuses %s', async (_what, args, wanted, words) => {
  const { code, err, made } = await clone(args, aRecord());
  expect([code, made]).toEqual([wanted, undefined]);
  expect(err).toContain(words);
});

const OTHER = '20260101T000000Z-0123abcd';

it('says which backup it will be', async () => {
  const known = aRecord({}, { databaseBackup: { name: 'b-1', lastSuccessAt: '2026-02-02T00:00:00Z' } });
  expect((await clone(['shop', '--to', 'b'], known)).out).toContain('backup b-1, of 2026-02-02T00:00:00Z.');
  expect((await clone(['shop', '--to', 'b', '--backup', OTHER], known)).out).toContain(`that of backup ${OTHER}.`);
});

it.each<[string, string[]]>([
  ['a clone', ['clone', 'shop', '--to', 'b']],
  ['a list of backups', ['backups', 'shop']],
])('says where the backups of a deployment are that was deleted: %s', async (_what, args) => {
  const { code, err } = await runCli(args, {
    kubectl: async ([verb, what]) => {
      if (verb === 'get' && what === RECORDS)
        throw new Failure(`Error from server (NotFound): ${RECORDS} "shop" not found`);
      return '{}';
    },
  });
  expect([code, err.split('\n')]).toEqual([
    1,
    [
      'There is no deployment shop. To list all: kubectl davit status',
      'If shop was deleted or lost and had backups, they are still in their store. To list them, where OTHER is a deployment with backups: kubectl davit backups OTHER --from shop',
      "To begin with the newest, under the same name or another: kubectl davit deploy --image IMAGE --name shop --set 'database={backup: {}, restore: {from: shop}}'",
      '--file FILE gives the new one what shop had, as kubectl davit export prints it (docs/database-backups.md, "A deployment that is lost").',
    ],
  ]);
});
