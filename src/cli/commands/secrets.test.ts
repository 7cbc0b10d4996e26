// `secrets`: where values come from, and that none is printed.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answering, aRecord, type CliRan, type CliWorld, runCli, uid } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import type { HttpApi } from '../transport/http-api.ts';

describe('secrets', () => {
  const VALUE = 'canary value\n';
  const DEPLOYMENT = { id: uid, name: 'shop', latest_revision_id: '1'.repeat(32) };

  interface Sent {
    readonly method: string;
    readonly path: string;
    readonly body: object | undefined;
  }

  function fakeApi(sent: Sent[], after = '2'.repeat(32)): HttpApi {
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      if (method === 'GET' && path.includes('/revisions')) return { id: after, name: `shop--${after.slice(0, 8)}` };
      if (method === 'GET') return { resources: path.endsWith('=shop') ? [DEPLOYMENT] : [] };
      sent.push({ method, path, body });
      return { ...DEPLOYMENT, latest_revision_id: after };
    };
    return { call, patiently: call, upload: () => expect.unreachable('nothing is uploaded') } as unknown as HttpApi;
  }
  const PATH = `/v2/deployments/${uid}/secrets/API_KEY?secrets=names`;

  it.each<[string, string[], CliWorld, string]>([
    ['a prompt', ['API_KEY'], { answers: ['typed'] }, 'typed'],
    ['standard input, without one line end', ['API_KEY'], { input: VALUE }, 'canary value'],
    ['standard input beside a terminal', ['API_KEY=-'], { answers: [], input: 'a\n\n' }, 'a\n'],
  ])('set reads the value from %s, and prints none', async (_what, args, world, value) => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', 'set', ...args], { ...world, api: fakeApi(sent) });
    expect(sent).toEqual([{ method: 'PUT', path: PATH, body: { value } }]);
    expect(ran).toMatchObject({
      code: 0,
      out: 'API_KEY of shop is set; revision shop--22222222 takes it. To follow it: kubectl davit wait shop',
      err: '',
    });
    expect(ran.questions).toEqual(args[0] === 'API_KEY' && 'answers' in world ? ['Value of API_KEY: (hidden)'] : []);
  });

  it('set reads a file as it is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-secret-'));
    const sent: Sent[] = [];
    await writeFile(join(folder, 'key'), VALUE);
    await writeFile(join(folder, 'binary'), Buffer.from([0xff, 0xfe]));
    const setFrom = (file: string): Promise<CliRan> =>
      runCli(['secrets', 'shop', 'set', 'API_KEY', '--from-file', join(folder, file)], { api: fakeApi(sent) });
    expect((await setFrom('key')).code).toBe(0);
    expect(sent).toEqual([{ method: 'PUT', path: PATH, body: { value: VALUE } }]);
    expect(await setFrom('binary')).toMatchObject({ code: 2, err: expect.stringContaining('is not text in UTF-8') });
    expect(await setFrom('none')).toMatchObject({ code: 2, err: expect.stringContaining('cannot be read') });
    await rm(folder, { recursive: true });
  });

  it('says where nothing has changed', async () => {
    const ran = await runCli(['secrets', 'shop', 'set', 'API_KEY'], {
      input: 'x',
      api: fakeApi([], DEPLOYMENT.latest_revision_id),
    });
    expect(ran.out).toBe('API_KEY of shop is set, as it was before: no new revision.');
  });

  it('unset removes one', async () => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', 'unset', 'API_KEY'], { api: fakeApi(sent) });
    expect(sent).toEqual([{ method: 'DELETE', path: PATH, body: undefined }]);
    expect(ran.out).toMatch(/^API_KEY of shop is removed; revision shop--22222222 takes it\./);
  });

  it.each<[string, string[], CliWorld, number, RegExp]>([
    ['a value as an argument', ['set', 'API_KEY=canary'], {}, 2, /^The value of API_KEY must not be an argument/],
    ['no key', ['set'], {}, 2, /^Which variable\? kubectl davit secrets shop set KEY$/],
    ['two sources', ['set', 'A=-', '--from-file', 'x'], {}, 2, /leave out one of them/],
    ['a file for unset', ['unset', 'A', '--from-file', 'x'], {}, 2, /^--from-file is for set\.$/],
    ['a value for unset', ['unset', 'A=-'], {}, 2, /^unset takes only the name/],
    ['a key for list', ['list', 'A'], {}, 2, /^list takes no KEY/],
    [
      'a value that would be shown where it is typed',
      ['set', 'A'],
      { input: 'canary', isTyped: true },
      2,
      /^The value of A cannot be asked for: standard error is no terminal\. Do not redirect it, or pipe the value\.$/,
    ],
    ['an empty value', ['set', 'A'], { input: '\n' }, 2, /^The value of A is empty: nothing was changed\.$/],
  ])('is refused for %s', async (_what, args, world, code, words) => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', ...args], { ...world, api: fakeApi(sent) });
    expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    expect(`${ran.out}${ran.err}`).not.toContain('canary');
    expect(sent).toEqual([]);
  });

  it.each<[string, string[], RegExp]>([
    ['no name', ['set', 'API_KEY=canary'], /^Which deployment\? kubectl davit secrets NAME list\|set\|unset \[KEY\]$/],
    ['no name, and the value as a word', ['set', 'API_KEY', 'canary'], /^Which deployment\?/],
    [
      'no action',
      ['shop', 'API_KEY=canary'],
      /^"API_KEY=…" must be one of list, set, unset\. kubectl davit secrets NAME/,
    ],
    [
      'an action that is misspelt',
      ['shop', 'sett', 'API_KEY'],
      /^"sett" must be one of list, set, unset\. Did you mean set\?/,
    ],
    [
      'a value as a word',
      ['shop', 'set', 'API_KEY', 'canary'],
      /^Usage: .*\. A value must not be an argument: other users and the history of the shell can see it\./,
    ],
    ['no name of a deployment', ['API_KEY=canary', 'set', 'A'], /^NAME "API_KEY=…": must be lower-case letters/],
  ])('refuses before it asks the cluster, and repeats no value: %s', async (_what, args, words) => {
    const ran = await runCli(['secrets', ...args], { kubectl: answering({}), api: fakeApi([]) });
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(words), asked: [] });
    expect(`${ran.out}${ran.err}`).not.toContain('canary');
  });

  it('fails where there is no such deployment', async () => {
    const ran = await runCli(['secrets', 'nope', 'set', 'A'], { input: 'x', api: fakeApi([]) });
    expect(ran).toMatchObject({ code: 1, err: 'There is no deployment nope. To list all: kubectl davit status' });
  });

  it('list shows names and where their values are', async () => {
    const secrets = [{ name: 'B', secretName: 'shop--vars-1', secretKey: 'B' }];
    const secretReferences = [{ name: 'A', secretName: 'keys', secretKey: 'a' }];
    const cli = makeOwnCli({ record: aRecord({ secrets, secretReferences }) });
    const ran = await cli.run(['secrets', 'shop', 'list']);
    expect(ran.out.split('\n')).toEqual(['NAME  VALUE IS IN', 'A     Secret keys, key a', 'B     Davit']);
    expect(JSON.parse((await cli.run(['secrets', 'shop', 'list', '-o', 'json'])).out)).toEqual([
      { ...secretReferences[0], managed: false },
      { name: 'B', secretName: null, secretKey: null, managed: true },
    ]);
    const none = await makeOwnCli({ record: aRecord() }).run(['secrets', 'shop', 'list']);
    expect(none.err).toMatch(/^shop has no secret variables\./);
  });
});
