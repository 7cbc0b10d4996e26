// `kubectl davit` with each way in, and its many commands, on a real API server. A run of it takes half a second of a processor.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';
import { type BuiltPlugin, buildPlugin } from './built-plugin.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let built: BuiltPlugin;

beforeAll(async () => {
  tenant = await davit.tenant('cli-doors');
  built = await buildPlugin(davit);
});
afterAll(() => built?.close());
const plugin: BuiltPlugin['run'] = (...args) => built.run(...args);
const pluginReading: BuiltPlugin['runReading'] = (input, ...args) => built.runReading(input, ...args);

it('decides the same by a certificate, as somebody else, and by an address and a token alone', async () => {
  const { namespace, token } = tenant;
  const manifest = aManifest(
    { name: 'door', namespace },
    { sourceRevisionConfig: { imageUri: 'registry.example/app:1' } },
  );
  await davit.kubectl(['apply', '-f', '-'], manifest);
  await davit.kubectl(['create', 'rolebinding', 'jane', '-n', namespace, '--clusterrole=davit-editor', '--user=jane']);
  const ways: readonly (readonly [string, readonly string[]])[] = [
    // The kubeconfig of the tests has a client certificate and no token.
    ['certificate', ['-n', namespace]],
    ['jane', ['-n', namespace, '--as', 'jane']],
    ['token', ['-n', namespace, '--kubeconfig', '/dev/null', '--server', davit.apiUrl, '--token', token]],
  ];
  for (const [way, flags] of ways) {
    await davit.kubectl(['apply', '-f', '-'], aManifest({ name: `door-${way}`, namespace }, {}));
    expect(await plugin('delete', `door-${way}`, '--yes', '--wait', '--timeout', '180', ...flags)).toMatchObject({
      code: 0,
      out: `door-${way} is gone.\n`,
      err: expect.stringContaining('Its pods, addresses, revisions and the values of its secrets will be deleted'),
    });
    const ran = await plugin('env', 'door', 'set', `BY=${way}`, ...flags);
    expect(ran).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^BY of door is set; revision door--/) });
    expect((await plugin('env', 'door', 'list', ...flags)).out).toMatch(new RegExp(`BY +${way}`));
    const secret = await pluginReading('canary', 'secrets', 'door', 'set', 'KEY', ...flags);
    expect(secret).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^KEY of door is set/) });
  }
  const listed = async (flags: readonly string[]): Promise<readonly { readonly name: string }[]> => {
    const { out } = await plugin('revisions', 'door', '-o', 'json', ...flags);
    return JSON.parse(out) as { name: string }[];
  };
  await eventually(async () => expect((await listed(['-n', namespace])).length).toBeGreaterThan(1));
  const first = (await listed(['-n', namespace])).at(-1)?.name ?? '';
  for (const [, flags] of ways) {
    expect((await listed(flags)).at(-1)?.name).toBe(first);
    expect(await plugin('rollback', 'door', '--to', first, ...flags)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining(`door is being rolled back to ${first} `),
    });
    expect((await plugin('status', 'door', ...flags)).out).toMatch(/^(?:cli-doors\/)?door {2}\w+/);
    expect((await plugin('status', ...flags)).out).toMatch(/^door +\w+/m);
    expect(await plugin('tasks', 'door', '-o', 'json', ...flags)).toMatchObject({ code: 0, err: '', out: '[]\n' });
    expect((await plugin('export', 'door', ...flags)).out).toMatch(/^name: door$/m);
  }
  const path = join(built.folder, 'door.yaml');
  const image = 'source: external_docker\nimage_uri: registry.example/app:1\n';
  for (const [at, [way, flags]] of ways.entries()) {
    await writeFile(path, `name: door-file\n${image}env: [{name: BY, value: ${way}}]\n`);
    expect(await plugin('deploy', '--file', path, '--timeout', '180', ...flags)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining(
        at === 0 ? 'Created deployment door-file.' : `Changed env[BY].value: ${ways[at - 1]?.[0]} -> ${way}`,
      ),
    });
  }
  // The first is a rule that the API server alone judges, the second one that the file's reader finds.
  const wrong = [
    ['name: door-new\nsource: external_docker\n', `${path}:1:1: image_uri source external_docker needs image_uri`],
    ['name: door-new\nruntime: {port: x}\n', `${path}:2:17: runtime.port must be a number`],
  ] as const;
  for (const [text, says] of wrong) {
    await writeFile(path, text);
    for (const [, flags] of ways) {
      const ran = await plugin('deploy', '--file', path, ...flags);
      expect([ran.code, ran.err.split('\n')[0]]).toEqual([2, says]);
    }
  }
  const refused = await Promise.all(ways.map(([, flags]) => plugin('env', 'door', 'set', 'PORT=1', ...flags)));
  expect(refused[0]).toMatchObject({ code: 1, err: expect.stringMatching(/PORT/) });
  expect(new Set(refused.map(({ err }) => err)).size).toBe(1);
  const author = [
    'get',
    'appd',
    'door',
    '-n',
    namespace,
    '-o',
    String.raw`jsonpath={.metadata.annotations.davit\.dev/requested-by}`,
  ];
  await plugin('env', 'door', 'set', 'BY=jane', '-n', namespace, '--as', 'jane');
  expect(await davit.kubectl(author)).toMatch(/ jane$/);

  const stranger = await plugin('env', 'door', 'list', '-n', namespace, '--as', 'stranger');
  expect(stranger).toMatchObject({ code: 1, err: expect.stringMatching(/you have no role there/) });
  const elsewhere = await plugin('env', 'door', 'list', '-n', namespace, '--davit-namespace', 'nowhere');
  expect(elsewhere).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^Davit is not installed in namespace nowhere: /),
  });
});

it('scales parts, sets secrets, compares revisions, restarts and deletes', async () => {
  const { namespace, token } = tenant;
  const name = 'daily';
  const on = ['-n', namespace];
  const api = [...on, '--server', davit.apiUrl, '--token', token];
  async function ready(): Promise<void> {
    expect(await plugin('wait', name, ...on, '--timeout', '180')).toMatchObject({ code: 0, err: '' });
  }
  async function shown<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await plugin(...args, ...on, '-o', 'json');
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out) as T;
  }
  const revisions = (): Promise<{ name: string; active: boolean; changes: { field: string }[] | null }[]> =>
    shown('revisions', name);
  const image = { sourceRevisionConfig: { imageUri: 'registry.example/app:1' } };
  await davit.kubectl(['apply', '-f', '-'], aManifest({ name, namespace }, image));
  await ready();

  const scaled = await plugin('scale', name, 'server=2', 'queue=1', ...on);
  expect(scaled).toMatchObject({ code: 0, out: expect.stringContaining('it had no queue before') });
  await ready();
  await eventually(async () =>
    expect(await shown('scale', name)).toMatchObject({
      parts: [
        { part: 'server', min: 2, max: 2, ready: 2 },
        { part: 'queue', min: 1, max: 1, ready: 1 },
      ],
    }),
  );

  // The API server takes the name of who asks, and for a change alone: the second time nothing is claimed.
  const whoami = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
  const username = await davit.kubectl(whoami);
  expect(await shown('status', name)).toMatchObject({ changedBy: username });
  expect(await plugin('scale', name, 'server=2', ...on)).toMatchObject({ code: 0, err: '' });
  expect(await shown('status', name)).toMatchObject({ changedBy: username });

  const set = await pluginReading('canary\n', 'secrets', name, 'set', 'API_KEY', ...api);
  expect(set).toMatchObject({ code: 0, out: expect.stringMatching(/^API_KEY of daily is set; revision daily--/) });
  expect(`${set.out}${set.err}`).not.toContain('canary');
  await ready();
  expect(await shown('secrets', name, 'list')).toMatchObject([{ name: 'API_KEY', managed: true }]);
  const [withKey, withQueue, first] = await revisions();
  expect([withKey?.active, withKey?.changes?.map(({ field }) => field)]).toEqual([true, ['secrets.API_KEY']]);
  expect([withQueue?.changes?.map(({ field }) => field), first?.changes]).toEqual([['parts'], null]);
  expect((await plugin('diff', name, ...on)).out).toMatch(/^daily--.* -> daily--.*\nsecrets\.API_KEY +added\n$/);

  const restarted = await plugin('restart', name, ...on);
  const [, promised = ''] = / is being restarted as (daily--[0-9a-f]{8});/.exec(restarted.out) ?? [];
  await ready();
  const state = ['get', 'appr', promised, '-n', namespace, '-o', 'jsonpath={.status.state}'];
  expect(await davit.kubectl(state)).toBe('DEPLOYED');
  const requester = ['get', 'appr', promised, '-n', namespace, '-o', 'jsonpath={.spec.requestedBy}'];
  expect(await davit.kubectl(requester)).toBe(username);
  expect((await plugin('diff', name, ...on)).out).toMatch(/\nNothing differs\.\n$/);
  expect(await plugin('secrets', name, 'unset', 'API_KEY', ...api)).toMatchObject({ code: 0 });

  // Each door says who: a rollback, a variable and a deletion.
  expect(await plugin('rollback', name, ...on)).toMatchObject({ code: 0, err: '' });
  expect(await shown('status', name)).toMatchObject({ changedBy: username });
  expect(await plugin('env', name, 'set', 'LEVEL=debug', ...on)).toMatchObject({ code: 0, err: '' });
  expect(await shown('status', name)).toMatchObject({ changedBy: username });
  await ready();
  const column = ['get', 'appd', name, '-n', namespace, '-o', 'wide'];
  expect((await davit.kubectl(column)).split('\n')[0]).toContain('CHANGED-BY');
  const inStatus = [...column.slice(0, -1), 'jsonpath={.status.changedBy}'];
  await eventually(async () => expect(await davit.kubectl(inStatus)).toBe(username));

  const refused = await plugin('delete', name, ...on);
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringContaining('Nothing was deleted. To confirm in advance, repeat the command with --yes.'),
  });
  const deleted = await plugin('delete', name, '--yes', '--wait', '--timeout', '180', ...on);
  expect(deleted).toMatchObject({
    code: 0,
    out: 'daily is gone.\n',
    err: expect.stringContaining('Its pods, addresses'),
  });
  expect((await plugin('status', name, ...on)).err).toContain(`There is no deployment ${name} in namespace `);
});

it('says what is missing: backups that are asked for, a store of them, drivers of the platform, rights in another namespace', async () => {
  const { namespace } = tenant;
  const name = 'kept';
  const on = ['-n', namespace];
  const image = { imageUri: 'registry.example/app:1' };
  await davit.kubectl(['apply', '-f', '-'], aManifest({ name, namespace }, { sourceRevisionConfig: image }));
  const why = 'Nothing protects the database. This platform has no backup store (settings.backups.store).';
  await eventually(async () =>
    expect(await plugin('backup', name, ...on)).toMatchObject({
      code: 1,
      err: `No backup of kept can be made now. ${why}\n`,
    }),
  );
  expect((await plugin('backups', name, ...on)).err).toBe(`kept has no known backups. ${why}\n`);
  const asks = { sourceRevisionConfig: image, sourceConfig: { database: { backup: {} } } };
  await davit.kubectl(['apply', '-f', '-'], aManifest({ name, namespace }, asks));
  await eventually(async () =>
    expect(await plugin('backup', name, ...on)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No backup of kept can be made now\. This platform has no backup store/),
    }),
  );
  const offers = await plugin('platform', ...on, '--server', davit.apiUrl, '--token', tenant.token);
  expect(offers.out).toMatch(/^ {2}drivers +pod\n {2}backups +no: the platform has no backup store$/m);
});

it.each([
  ['a flag is of another command', ['scale', 'door', '--tail', '3'], 2, /scale has no flag --tail\./],
  ['a part is unknown', ['scale', 'door', 'web=3'], 1, /"web" cannot be scaled\. Parts of door that can: server/],
  ['a number is too large', ['scale', 'door', 'server=1000'], 2, /must be at most 100\./],
  [
    'there is no such deployment',
    ['status', 'kep'],
    1,
    /There is no deployment kep in namespace cli-doors\. Did you mean kept\?/,
  ],
  ['there is no such command', ['fly', 'door'], 2, /Unknown command "fly"\./],
  ['a name is missing', ['wait'], 2, /Which deployment\?/],
  ['a flag is unknown', ['status', '--colour'], 2, /--colour/],
  ['a number is none', ['wait', 'door', '--timeout', 'soon'], 2, /--timeout must be a whole number/],
  ['a revision is unknown', ['rollback', 'door', '--to', 'x'], 1, /No revision matches "x"/],
])('reports the error when %s', async (_name, args, code, words) => {
  const ran = await plugin(...args, '-n', tenant.namespace);
  expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
});
