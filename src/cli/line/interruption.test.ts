// What an interruption says of what was done, at each moment of a command.

import { expect, it } from 'vitest';
import { aRevision, aRecord as aWhole } from '../../../test/support/builders.ts';
import { answering, aRecord, runCli, uid } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { COMMANDS } from '../commands/commands.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';

const STATUS = { latestRevisionId: '1'.repeat(32), databaseVolumeUid: 'v' };
const RECORD = aRecord({}, STATUS);
const made = (serial: number, imageUri: string): AppRevision => {
  const one = aRevision(aWhole({ sourceRevisionConfig: { imageUri } }), 'DEPLOYED', serial);
  return { ...one, spec: { ...one.spec, deploymentUid: uid } };
};
const [NEWEST, OLD] = [made(2, 'app:1'), made(1, 'app:0')];
const answers = answering({ [RECORDS]: RECORD, 'apprevisions.davit.dev': { items: [NEWEST, OLD] } });
const UNKNOWN = 'The request may or may not have been received. To see what there is now: kubectl davit status shop';

/** What is said before each kubectl and each request, and at the end. */
async function interruptedAt(
  args: readonly string[],
  refused?: string,
): Promise<readonly (readonly [string, string])[]> {
  const sentences: (() => string | undefined)[] = [];
  const said: [string, string][] = [];
  const note = (at: string): void => {
    said.push([at, sentences.flatMap((sentence) => sentence() ?? []).join('\n')]);
  };
  const own = await makeOwnCli({ record: RECORD, revisions: [NEWEST, OLD] }).api();
  const api: HttpApi = {
    ...own,
    tagged(path) {
      note('GET');
      return own.tagged(path);
    },
    async call(method, ...others) {
      note(method);
      if (method === refused) throw new Failure('refused');
      return own.call(method, ...others);
    },
  };
  await runCli(args, {
    onInterrupt: (sentence) => void sentences.push(sentence),
    api,
    kubectl: async (own, input) => {
      note(own[0] ?? '');
      if (own[0] === refused) throw new Failure('refused');
      return answers(own, input);
    },
  });
  note('end');
  return said;
}

it.each<[string, string, string, string]>([
  [
    'delete shop --yes',
    'DELETE',
    'Nothing was deleted.',
    'The deletion of shop continues. To wait until it is gone: kubectl davit delete shop --wait',
  ],
  [
    'scale shop server=2',
    'PATCH',
    'Nothing was scaled.',
    'shop is being scaled. To follow it: kubectl davit wait shop',
  ],
  ['env shop set A=1', 'PATCH', 'Nothing was changed.', 'The change was made. To follow it: kubectl davit wait shop'],
  ['restart shop', 'POST', 'Nothing was restarted.', 'The restart continues. To follow it: kubectl davit wait shop'],
  [
    `rollback shop --to ${OLD.spec.id}`,
    'POST',
    'Nothing was rolled back.',
    'The rollback was requested. To follow it: kubectl davit wait shop',
  ],
])('%s', async (command, verb, nothing, sent) => {
  const args = command.split(' ');
  const said = await interruptedAt(args);
  const at = said.findIndex(([one]) => one === verb);
  expect(at).toBeGreaterThan(0);
  expect(new Set(said.slice(0, at).map(([, words]) => words))).toEqual(new Set([nothing]));
  expect(said[at]?.[1]).toBe(UNKNOWN);
  expect(new Set(said.slice(at + 1).map(([, words]) => words))).toEqual(new Set([sent]));
  expect((await interruptedAt(args, verb)).at(-1)).toEqual(['end', nothing]);
});

it('repeats the flags that select the cluster, once', async () => {
  const said = await interruptedAt(['delete', 'shop', '--yes', '--namespace', 'other']);
  expect(said.at(-1)?.[1]).toMatch(/^[^=]*kubectl davit delete --namespace=other shop --wait$/);
});

it('says that a deletion that somebody else has asked for continues', async () => {
  const sentences: (() => string | undefined)[] = [];
  const leaving = { deletionTimestamp: '2026-11-27T00:00:00Z', finalizers: ['davit.dev/teardown'] };
  await makeOwnCli({ record: aRecord({}, STATUS, leaving) }).run(['delete', 'shop', '--wait', '--timeout', '0'], {
    onInterrupt: (sentence) => void sentences.push(sentence),
  });
  expect(sentences.map((sentence) => sentence())).toEqual([expect.stringContaining('continues')]);
});

const SILENT = [
  'backups',
  'completion',
  'deploy',
  'diff',
  'exec',
  'export',
  'init',
  'logs',
  'open',
  'platform',
  'revisions',
  'schema',
  'status',
  'tasks',
  'wait',
];

it('is known of every command that changes something', () => {
  const silent = COMMANDS.filter(({ changes }) => changes === undefined).map(({ name }) => name);
  // deploy says itself how far it is; init and the last ones change nothing in the cluster.
  expect(silent.toSorted()).toEqual(
    [...SILENT, ...COMMANDS.filter(({ isHidden }) => isHidden).map(({ name }) => name)].toSorted(),
  );
});
