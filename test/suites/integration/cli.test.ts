// `kubectl davit` as a person runs it: the built file on the PATH, found by kubectl as its plugin.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let folder: string;

beforeAll(async () => {
  tenant = await davit.tenant('cli');
  folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
  await writePlugin(folder);
  await symlink(davit.kubectlPath, join(folder, 'kubectl'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function plugin(...args: string[]): Promise<Ran> {
  return pluginReading('', ...args);
}

/** The same with standard input. */
async function pluginReading(input: string, ...args: string[]): Promise<Ran> {
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, KUBECONFIG: davit.kubeconfig, KUBECACHEDIR: join(folder, 'kube-cache'), PATH: path };
  try {
    const running = promisify(execFile)(join(folder, 'kubectl'), ['davit', ...args], { env });
    // It may end without reading.
    running.child.stdin?.on('error', () => undefined).end(input);
    const { stdout, stderr } = await running;
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

function apply(image: string): Promise<string> {
  return davit.kubectl(
    ['apply', '-f', '-'],
    aManifest({ name: 'shop', namespace: tenant.namespace }, { sourceRevisionConfig: { imageUri: image } }),
  );
}

it('waits, shows the tree, and rolls back', async () => {
  const { namespace } = tenant;
  await apply('registry.example/app:1');
  expect(await plugin('wait', 'shop', '-n', namespace, '--timeout', '180')).toMatchObject({ code: 0, err: '' });
  await apply('registry.example/app:2');
  expect((await plugin('wait', 'shop', '-n', namespace, '--timeout', '180')).out).toMatch(/Ready: /);

  const status = await plugin('status', 'shop', '-n', namespace);
  expect(status.code).toBe(0);
  expect(status.out).toMatch(/^cli\/shop {2}READY\n {2}ok Ready: The latest revision is deployed and serving/);
  expect(status.out).toMatch(/DEPLOYED, active {2}registry\.example\/app:2\n.*DEPLOYED {2}registry\.example\/app:1/);
  expect(status.out).toMatch(/─ postgres {2}1\/1 ready/);
  expect((await plugin('status', '-n', namespace)).out).toMatch(/shop\s+READY/);

  const back = await plugin('rollback', 'shop', '-n', namespace);
  expect(back).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^What changes from shop--.*\n.*image_uri +registry\.example\/app:2 -> registry\.example\/app:1\nshop is being rolled back to shop--/,
    ),
  });
  const promised = / as (shop--[0-9a-f]{8});/.exec(back.out)?.[1] ?? '';
  await eventually(async () => {
    const image = ['get', 'appr', promised, '-n', namespace, '-o', 'jsonpath={.spec.resolved.image} {.status.state}'];
    expect(await davit.kubectl(image)).toBe('registry.example/app:1 DEPLOYED');
  });
});

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
    expect((await plugin('status', 'door', ...flags)).out).toMatch(/^(?:cli\/)?door {2}\w+/);
    expect((await plugin('status', ...flags)).out).toMatch(/^door +\w+/m);
    expect(await plugin('tasks', 'door', '-o', 'json', ...flags)).toMatchObject({ code: 0, err: '', out: '[]\n' });
    expect((await plugin('export', 'door', ...flags)).out).toMatch(/^name: door$/m);
  }
  const path = join(folder, 'door.yaml');
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

it('says what it needs where there is no kubeconfig', async () => {
  const nowhere = ['--kubeconfig', '/dev/null', '-n', tenant.namespace];
  const byHttp = ['--server', davit.apiUrl, '--token', tenant.token];
  for (const [command, ...args] of [
    ['exec', 'shop', ...nowhere, '--', 'true'],
    ['listener', 'revoke', 'edge', ...nowhere],
    ['open', 'shop', '--port', '0', ...nowhere, ...byHttp],
  ])
    expect(await plugin(command ?? '', ...args)).toEqual({
      code: 1,
      out: '',
      err: `${command} needs kubectl and a kubeconfig: Davit's HTTP API cannot do this. Name the kubeconfig with --kubeconfig or KUBECONFIG.\n`,
    });
  expect(await plugin('env', 'shop', 'list', ...nowhere)).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /^env needs kubectl and a kubeconfig, or the address of Davit's HTTP API and a token\. /,
    ),
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
    err: expect.stringMatching(/kubectl davit delete --namespace=\S+ daily --yes/),
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
  const why = 'Nothing protects the database. This platform has no store for backups (settings.backups.store).';
  await eventually(async () =>
    expect(await plugin('backup', name, ...on)).toMatchObject({
      code: 1,
      err: `No backup of kept can be made now. ${why}\n`,
    }),
  );
  expect((await plugin('backups', name, ...on)).err).toBe(`No backup of kept is known. ${why}\n`);
  const asks = { sourceRevisionConfig: image, sourceConfig: { database: { backup: {} } } };
  await davit.kubectl(['apply', '-f', '-'], aManifest({ name, namespace }, asks));
  await eventually(async () =>
    expect(await plugin('backup', name, ...on)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No backup of kept can be made now\. This platform has no store for backups/),
    }),
  );
  const offers = await plugin('platform', ...on, '--server', davit.apiUrl, '--token', tenant.token);
  expect(offers.out).toMatch(/^ {2}drivers +pod\n {2}backups +no: the platform has no store for them$/m);
});

it.each([
  ['a flag is of another command', ['scale', 'shop', '--tail', '3'], 2, /scale has no flag --tail\./],
  ['a part is unknown', ['scale', 'shop', 'web=3'], 1, /"web" cannot be scaled\. Parts of shop that can: server/],
  ['a number is too large', ['scale', 'shop', 'server=1000'], 2, /must be at most 100\./],
  [
    'there is no such deployment',
    ['status', 'sho'],
    1,
    /There is no deployment sho in namespace cli\. Did you mean shop\?/,
  ],
  ['there is no such command', ['fly', 'shop'], 2, /Unknown command "fly"\./],
  ['a name is missing', ['wait'], 2, /Which deployment\?/],
  ['a flag is unknown', ['status', '--colour'], 2, /--colour/],
  ['a number is none', ['wait', 'shop', '--timeout', 'soon'], 2, /--timeout must be a whole number/],
  ['a revision is unknown', ['rollback', 'shop', '--to', 'x'], 1, /No revision matches "x"/],
])('reports the error when %s', async (_name, args, code, words) => {
  const ran = await plugin(...args, '-n', tenant.namespace);
  expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
});

it.each([
  [
    'is not there',
    () => ['-n', 'nowhere'],
    /^Namespace nowhere does not exist, is not a tenant, or you have no role there\. Name another one with --namespace, or ask for davit-viewer or davit-editor in it\.\n$/,
  ],
  [
    'is none of the caller',
    () => ['-n', tenant.namespace, '--as', 'nobody@example.com'],
    /^Namespace cli does not exist, is not a tenant, or you have no role there\. Name another one with --namespace, or ask for davit-viewer or davit-editor in it\.\n$/,
  ],
])('lists nothing of a namespace that %s, and says that once', async (_what, flags, words) => {
  expect(await plugin('status', ...flags())).toEqual({ code: 1, out: '', err: expect.stringMatching(words) });
});
