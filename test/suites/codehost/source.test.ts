// What a build asks a code host for, at real HTTPS servers: the commit of a ref, and a credential for one repository.

import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Account, type CodeHosts, makeCodeHosts } from '../../../src/build/codehost/code-hosts.ts';
import type { CodeHostIntegrationSpec } from '../../../src/kinds/code-host-integration.ts';
import { APP, type Fault, type Host, json, PRIVATE_KEY, startHost, TOKEN } from './host.ts';

const COMMIT = 'c'.repeat(40);
const repoUrl = 'https://code.example/team/shop.git';

let host: Host;
let hosts: CodeHosts;
beforeEach(async () => {
  host = await startHost();
  hosts = makeCodeHosts({
    hosts: [{ host: `${host.name}:${host.port}`, addresses: ['127.0.0.1'], ca: host.ca }],
    proxies: undefined,
    lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    pausesMs: [1, 1],
  });
});
afterEach(async () => {
  await hosts.close();
  await host.close();
});

const KINDS = ['github token', 'github app', 'gitea'] as const;

function account(kind: (typeof KINDS)[number]): Account {
  const spec: CodeHostIntegrationSpec = {
    kind: kind === 'gitea' ? 'gitea' : 'github',
    apiUrl: kind === 'gitea' ? host.gitea : host.github,
    ...(kind === 'github app' && { app: APP }),
    credentialsRef: { name: 'credentials' },
    tenants: [],
  };
  return { key: kind, spec, credential: (key) => ({ 'private-key': PRIVATE_KEY, token: TOKEN })[key] };
}

/** A repository team/shop with the branches main and a/b. */
const shop: Fault = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://x');
  const path = pathname.replace(/^\/api\/v[13]/, '');
  if (!path.startsWith('/repos/')) return false;
  if (!request.headers.authorization?.endsWith(TOKEN)) return json(response, 401, { message: 'Bad credentials' });
  if (path === '/repos/team/shop') return json(response, 200, { id: 1 });
  if (path !== '/repos/team/shop/commits') return json(response, 404, { message: 'Not Found' });
  const ref = searchParams.get('sha') ?? '';
  if (ref === 'empty') return json(response, 409, { message: 'Git Repository is empty.' });
  return ['main', 'a/b', COMMIT].includes(ref)
    ? json(response, 200, [{ sha: COMMIT }])
    : json(response, 404, { message: 'no' });
};

describe.each(KINDS)('%s', (kind) => {
  it.each(['main', 'a/b', COMMIT])('says which commit %s is', async (ref) => {
    host.fault = shop;
    expect(await hosts.commit(account(kind), repoUrl, ref)).toEqual({ commit: COMMIT });
  });

  it.each([
    ['a branch that is not there', repoUrl, 'nothing', 'missing', 'ref'],
    ['an empty repository', repoUrl, 'empty', 'missing', 'ref'],
    ['a repository that is not there', 'https://code.example/team/other', 'main', 'missing', 'repository'],
    ['a URL without a repository', 'https://code.example/', 'main', 'missing', 'repository'],
    ['a name that is not percent-encoded', 'https://code.example/team/%zz', 'main', 'missing', 'repository'],
    ['a path that would lead elsewhere', 'https://code.example/team/%2e%2e%2fuser', 'main', 'missing', 'repository'],
  ])('tells %s', async (_what, url, ref, why, missing) => {
    host.fault = shop;
    await expect(hosts.commit(account(kind), url, ref)).rejects.toMatchObject({ why, missing });
  });

  it.each([
    [401, {}, 'refused'],
    [500, {}, 'unreachable'],
    [429, { 'retry-after': '7' }, 'limited'],
  ])('tells an answer of %i', async (status, headers, why) => {
    host.fault = (request, response) => request.url?.includes('/repos/') && json(response, status, {}, headers);
    await expect(hosts.commit(account(kind), repoUrl, 'main')).rejects.toMatchObject({ why });
  });

  it.each([
    [
      'both',
      { author: { name: 'Ada', email: 'ada@example.com' }, message: '\nAdds a shop\n\nAnd more.\n' },
      { commitAuthor: 'Ada', commitMessage: 'Adds a shop' },
    ],
    [
      'what no terminal may show',
      { author: { name: 'A\u001b[2Jd\u0007a' }, message: 'x'.repeat(5000) },
      { commitAuthor: 'Ad\ufffda', commitMessage: `${'x'.repeat(511)}…` },
    ],
    ['nothing that is no text', { author: { name: 7 }, message: ['no'] }, {}],
    ['nothing of an author that is none', { author: null, message: ' ' }, {}],
    ['nothing where there is nothing', null, {}],
  ])('tells of what the commit says of itself %s', async (_what, commit, words) => {
    host.fault = (request, response) =>
      request.url?.includes('/repos/') && json(response, 200, [{ sha: COMMIT, commit, author: { login: 'mallory' } }]);
    expect(await hosts.commit(account(kind), repoUrl, 'main')).toEqual({ commit: COMMIT, ...words });
  });

  it('takes nothing else for a commit', async () => {
    host.fault = (request, response) =>
      request.url?.includes('/repos/') && json(response, 200, [{ sha: '--upload-pack=x' }]);
    await expect(hosts.commit(account(kind), repoUrl, 'main')).rejects.toMatchObject({ why: 'malformed' });
  });
});

describe.each(KINDS)('a file at %s', (kind) => {
  const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64').replaceAll(/.{60}/g, '$&\n');
  const file = (bytes: string | Buffer): object => ({
    type: 'file',
    encoding: 'base64',
    size: Buffer.from(bytes).length,
    content: base64(bytes),
  });
  const read = (path = 'deploy/davit.yaml'): ReturnType<CodeHosts['file']> =>
    hosts.file(account(kind), repoUrl, { path, commit: COMMIT });
  const having = (body: unknown, status = 200): void => {
    host.fault = (request, response) => request.url?.includes('/contents/') && json(response, status, body);
  };

  it('is read in one request, at its commit', async () => {
    having(file('name: größe\n'));
    expect(await read()).toEqual({ text: 'name: größe\n' });
    const asked = host.seen.filter((line) => line.includes('/repos/'));
    expect(asked).toEqual([
      expect.stringMatching(new RegExp(`/repos/team/shop/contents/deploy/davit\\.yaml\\?ref=${COMMIT}$`)),
    ]);
  });

  it.each<[string, unknown, number, string]>([
    ['that is missing', { message: 'Not Found' }, 404, `is missing at commit ${COMMIT.slice(0, 12)}`],
    ['that is a folder', [{ type: 'file', name: 'x' }], 200, 'is a folder'],
    ['that is a link', { type: 'symlink', target: '/etc/passwd' }, 200, 'is a symlink instead of a file'],
    ['of another repository', { type: 'submodule' }, 200, 'is a submodule instead of a file'],
    [
      'that is too large',
      file('x'.repeat(65_537)),
      200,
      'is larger than 64 KiB, the limit for a file that describes one deployment',
    ],
    [
      'that lies about its size',
      { ...file('x'.repeat(65_537)), size: 1 },
      200,
      'is larger than 64 KiB, the limit for a file that describes one deployment',
    ],
    [
      'that is too large to be sent',
      { type: 'file', size: 2_000_000, encoding: 'none', content: '' },
      200,
      'is larger than 64 KiB, the limit for a file that describes one deployment',
    ],
    ['that is no text', file(Buffer.from([0xff, 0xfe, 0])), 200, 'is not text in UTF-8'],
  ])('%s is not read', async (_what, body, status, problem) => {
    having(body, status);
    expect(await read()).toEqual({ problem });
  });

  it.each(['../x', 'a/../../x', '..'])('at %s is asked of nobody', async (path) => {
    expect(await read(path)).toEqual({ problem: 'leads out of the repository' });
    expect(host.seen.filter((line) => line.includes('/repos/'))).toEqual([]);
  });

  it('has a path of any characters, and no other', async () => {
    having(file(''));
    await read('./a b//c+d?e#f/davit.yaml');
    expect(host.seen.at(-1)).toContain('/contents/a%20b/c%2Bd%3Fe%23f/davit.yaml?ref=');
  });

  it.each([
    [401, {}, 'refused'],
    [500, {}, 'unreachable'],
    [200, { type: 7 }, 'malformed'],
    [200, { type: 'file', encoding: 'rot13', content: 'x' }, 'malformed'],
  ])('an answer of %i %j is a failure of the host', async (status, body, why) => {
    having(body, status);
    await expect(read()).rejects.toMatchObject({ why });
  });
});

it("gives an App's token for this repository alone, to be read", async () => {
  let asked = '';
  host.fault = (request, response) => {
    if (!request.url?.endsWith('/access_tokens')) return false;
    void text(request).then((body) => {
      asked = body;
      json(response, 201, {
        token: `ghs_${TOKEN}`,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        permissions: { contents: 'read' },
        repositories: [{ id: 1, name: 'shop' }],
        repository_selection: 'selected',
      });
    });
    return true;
  };
  expect(await hosts.token(account('github app'), repoUrl)).toBe(`ghs_${TOKEN}`);
  expect(JSON.parse(asked)).toEqual({ repositories: ['shop'], permissions: { contents: 'read' } });
  expect(await hosts.token(account('gitea'), repoUrl)).toBe(TOKEN);
});
