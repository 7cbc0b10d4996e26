// Listing repositories at real HTTPS servers that speak GitHub's and Gitea's APIs: all pages, what is left out, and what
// becomes of everything that can go wrong.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CodeHosts, type CodeHostsOptions, makeCodeHosts } from '../../../src/build/codehost/code-hosts.ts';
import type { Repository } from '../../../src/build/codehost/repositories.ts';
import type { CodeHostIntegrationSpec } from '../../../src/kinds/code-host-integration.ts';
import { makeMetrics } from '../../../src/runtime/controller/metrics.ts';
import { APP, aRepository, type Fault, type Host, json, PRIVATE_KEY, startHost, TOKEN } from './host.ts';

let host: Host;
let hosts: CodeHosts;
beforeEach(async () => {
  host = await startHost();
  hosts = codeHosts();
});
afterEach(async () => {
  await hosts.close();
  await host.close();
});

function codeHosts(more: Partial<CodeHostsOptions> = {}): CodeHosts {
  return makeCodeHosts({
    hosts: [{ host: `${host.name}:${host.port}`, addresses: ['127.0.0.1'], ca: host.ca }],
    proxies: undefined,
    lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    pausesMs: [1, 1],
    ...more,
  });
}

const KINDS = ['github token', 'github app', 'gitea'] as const;
type Kind = (typeof KINDS)[number];

let asked = 0;
function list(kind: Kind, token = TOKEN, using = hosts): Promise<readonly Repository[]> {
  const isGitea = kind === 'gitea';
  const spec: CodeHostIntegrationSpec = {
    kind: isGitea ? 'gitea' : 'github',
    apiUrl: isGitea ? host.gitea : `${host.github}/`,
    ...(kind === 'github app' && { app: APP }),
    credentialsRef: { name: 'credentials' },
    tenants: [],
  };
  asked += 1;
  const values: Readonly<Record<string, string>> =
    kind === 'github app' ? { 'private-key': PRIVATE_KEY } : { token: `${token}\n` };
  return using.repositories({ key: String(asked), spec, credential: (key) => values[key] });
}
async function failure(kind: Kind, using = hosts): Promise<unknown> {
  return list(kind, TOKEN, using).then(
    (repositories) => ({ repositories }),
    (error: unknown) => error,
  );
}
/** Lets so many requests fail, then none. */
function failing(times: number, fault: Fault): void {
  let left = times;
  host.fault = (request, response) => {
    if (left === 0) return false;
    left -= 1;
    return fault(request, response);
  };
}
const many = (count: number): void => {
  host.repositories = Array.from({ length: count }, (_, index) => aRepository(index + 1));
};

describe.each(KINDS)('%s', (kind) => {
  it.each([0, 1, 50, 99, 100, 101, 250])('of %i repositories lists all', async (count) => {
    many(count);
    const listed = await list(kind);
    expect(listed.map(({ id }) => id)).toEqual(host.repositories.map(({ id }) => id));
    expect(listed[0]).toEqual(
      count === 0
        ? undefined
        : {
            id: 1,
            owner: 'team',
            name: 'repo-0001',
            url: 'https://code.example/team/repo-0001',
            defaultBranch: 'main',
          },
    );
  });

  it('sorts by owner and name, leaves out what cannot be deployed, and lists nothing twice', async () => {
    host.repositories = [
      aRepository(1, { name: 'b', owner: { login: 'z' } }),
      aRepository(2, { name: 'old', archived: true }),
      aRepository(3, { name: 'empty', default_branch: '' }),
      // As Gitea makes one.
      aRepository(8, { name: 'new', empty: true }),
      aRepository(4, { name: 'z', owner: { login: 'a-b' } }),
      aRepository(5, { name: 'a', owner: { login: 'z' } }),
      aRepository(6, { name: 'y', owner: { login: 'a' } }),
      aRepository(6, { name: 'y', owner: { login: 'a' } }),
      ...(kind === 'gitea' ? [] : [aRepository(7, { disabled: true })]),
    ];
    expect((await list(kind)).map(({ owner, name }) => `${owner}/${name}`)).toEqual(['a/y', 'a-b/z', 'z/a', 'z/b']);
  });

  it.each([
    ['a reset', (request) => (request.socket.destroy(), true)],
    ['502', (_request, response) => json(response, 502, { message: 'Bad Gateway' })],
    ['503 twice', (_request, response) => json(response, 503, {})],
  ] as [string, Fault][])('gets over %s', async (name, fault) => {
    many(2);
    // An App's token is requested by POST, which is asked once.
    let posted = kind !== 'github app';
    failing(name.endsWith('twice') ? 2 : 1, (request, response) => {
      if (request.method === 'POST') posted = true;
      return fault(request, response);
    });
    if (!posted) {
      const wrapped = host.fault;
      host.fault = (request, response) => (request.method === 'POST' ? false : wrapped?.(request, response));
    }
    expect((await list(kind)).length).toBe(2);
  });

  it.each([
    ['401', (_q, response) => json(response, 401, { message: 'Bad credentials' }), { why: 'refused' }],
    ['403', (_q, response) => json(response, 403, { message: 'Resource not accessible' }), { why: 'refused' }],
    ['404', (_q, response) => json(response, 404, { message: 'Not Found' }), { why: 'malformed' }],
    ['409', (_q, response) => json(response, 409, { message: 'Git Repository is empty.' }), { why: 'malformed' }],
    ['500', (_q, response) => json(response, 500, {}), { why: 'unreachable' }],
    ['a reset', (request) => (request.socket.destroy(), true), { why: 'unreachable' }],
    [
      '429',
      (_q, response) => json(response, 429, {}, { 'retry-after': '17' }),
      { why: 'limited', retryAfterSeconds: 17 },
    ],
    ['429 without a time', (_q, response) => json(response, 429, {}), { why: 'limited', retryAfterSeconds: 60 }],
    [
      'the secondary limit',
      (_q, response) => json(response, 403, { message: 'You have exceeded a secondary rate limit.' }),
      { why: 'limited', retryAfterSeconds: 60 },
    ],
    [
      'the secondary limit with a time',
      (_q, response) => json(response, 403, { message: 'x' }, { 'retry-after': '30' }),
      { why: 'limited', retryAfterSeconds: 30 },
    ],
    [
      'broken JSON',
      (_q, response) => (response.writeHead(200, { 'content-type': 'application/json' }).end('[{'), true),
      { why: 'malformed' },
    ],
    [
      'no answer in the body',
      (_q, response) => (response.writeHead(200, { 'content-type': 'application/json' }).end(), true),
      { why: 'malformed' },
    ],
    ['null', (_q, response) => json(response, 200, null), { why: 'malformed' }],
    ['an object', (_q, response) => json(response, 200, { hello: 1 }), { why: 'malformed' }],
    ['a list of other things', (_q, response) => json(response, 200, [{ id: 'a' }]), { why: 'malformed' }],
    [
      'a page for people',
      (_q, response) => (response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>'), true),
      { why: 'malformed' },
    ],
    ['what is no HTTP', (request) => (request.socket.end('SSH-2.0-x\r\n'), true), { why: 'unreachable' }],
  ] as [string, Fault, object][])('%s', async (name, fault, want) => {
    many(2);
    // An App's fresh token that is refused is tried again for seconds, for it takes a moment to be known everywhere.
    host.fault = (request, response) =>
      request.method === 'POST' && name !== '401' ? false : fault(request, response);
    expect(await failure(kind)).toMatchObject({ name: 'CodeHostFailed', ...want });
    expect(String(await failure(kind))).not.toMatch(/canary|127\.0\.0\.1/);
  });

  it("the primary limit: until the host's count resets", async () => {
    const reset = String(Math.ceil(Date.now() / 1000) + 120);
    host.fault = (_request, response) =>
      json(
        response,
        403,
        { message: 'API rate limit exceeded' },
        { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset },
      );
    const { why, retryAfterSeconds } = (await failure(kind)) as { why: string; retryAfterSeconds: number };
    expect(why).toBe('limited');
    expect(retryAfterSeconds).toBeGreaterThan(110);
    expect(retryAfterSeconds).toBeLessThanOrEqual(121);
  });

  it.each([
    ['says nothing', () => true],
    ['begins and does not go on', (_request, response) => (response.writeHead(200).write('['), true)],
    [
      'sends a byte now and then',
      (_request, response) => {
        const drip = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(drip));
        return true;
      },
    ],
  ] as [string, Fault][])('a host that %s is given up in time', async (_name, fault) => {
    const impatient = codeHosts({ deadlineMs: 300 });
    host.fault = fault;
    expect(await failure(kind, impatient)).toMatchObject({ why: 'timeout' });
    await impatient.close();
  });

  it('an answer without end is given up by its size', async () => {
    const careful = codeHosts({ maxBytes: 100_000 });
    let sent = 0;
    host.fault = (request, response) => {
      if (request.method === 'POST') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        sent += 65_536;
        if (!response.destroyed && sent < 100_000_000) response.write(' '.repeat(65_536), more);
      };
      more();
      return true;
    };
    expect(await failure(kind, careful)).toMatchObject({ why: 'malformed' });
    expect(sent).toBeLessThan(50_000_000);
    await careful.close();
  });

  it('pages that lead in a circle', async () => {
    many(250);
    host.total = false;
    host.fault = (request, response) => {
      if (request.method === 'POST') return false;
      const url = new URL(request.url ?? '', host.github);
      url.searchParams.set('page', '1');
      const body = kind === 'github app' ? { total_count: 1, repositories: [aRepository(1)] } : [aRepository(1)];
      return json(response, 200, body, { link: `<${url.href}>; rel="next"` });
    };
    expect(await failure(kind)).toMatchObject({ why: 'malformed' });
    expect(host.seen.length).toBeLessThan(310);
  });
});

describe('GitHub', () => {
  it('asks for its pages one after the other, a hundred at a time', async () => {
    many(350);
    await list('github token');
    expect(host.seen).toEqual(
      ['', '&page=2', '&page=3', '&page=4'].map((page) => `GET /api/v3/user/repos?per_page=100${page}`),
    );
    expect(host.mostAtOnce).toBe(1);
  });

  it('a next page at another host is not asked for: it would be asked for with the credentials', async () => {
    host.fault = (_request, response) =>
      json(response, 200, [aRepository(1)], { link: `<https://elsewhere.example/steal>; rel="next"` });
    expect(await failure('github token')).toMatchObject({ why: 'malformed' });
    expect(host.seen.length).toBe(1);
  });

  it('as an App: signs who it is, and lists with the token of the installation', async () => {
    many(1);
    await list('github app');
    expect(host.seen).toEqual([
      `POST /api/v3/app/installations/${APP.installationId}/access_tokens`,
      'GET /api/v3/installation/repositories?per_page=100',
    ]);
    expect(host.authorizations[1]).toBe(`token ghs_${TOKEN}`);
  });

  it.each([
    ['no key', 'not a key at all'],
    ['the key of somebody else', undefined],
  ])('as an App with %s', async (_name, key) => {
    const { generateKeyPairSync } = await import('node:crypto');
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const spec = { kind: 'github', apiUrl: host.github, app: APP, credentialsRef: { name: 'a' }, tenants: [] } as const;
    const listing = hosts.repositories({
      key: 'bad',
      spec: { ...spec, tenants: [] },
      credential: () => key ?? other.toString(),
    });
    await expect(listing).rejects.toMatchObject({ why: 'refused' });
  });
});

describe('Gitea', () => {
  it('asks for its pages a few at a time', async () => {
    many(500);
    expect((await list('gitea')).length).toBe(500);
    expect(host.seen.length).toBe(10);
    expect(host.mostAtOnce).toBeGreaterThan(1);
    expect(host.mostAtOnce).toBeLessThanOrEqual(4);
  });

  it.each([true, false])('that gives fewer than are asked for (total: %s)', async (total) => {
    many(100);
    host.most = 7;
    host.total = total;
    expect((await list('gitea')).length).toBe(100);
    expect(host.seen.length).toBe(15);
  });

  it('that says it has a million is given up', async () => {
    host.fault = (_request, response) => json(response, 200, [aRepository(1)], { 'x-total-count': '1000000' });
    expect(await failure('gitea')).toMatchObject({ why: 'malformed' });
    expect(host.seen.length).toBeLessThan(310);
  });
});

describe('a commit status', () => {
  const COMMIT = 'a'.repeat(40);
  const status = { commit: COMMIT, state: 'success', description: 'Deployed', context: 'davit/team/shop' } as const;
  const account = (kind: Kind): Parameters<CodeHosts['status']>[0] => ({
    key: 'one',
    spec: {
      kind: kind === 'gitea' ? 'gitea' : 'github',
      apiUrl: kind === 'gitea' ? host.gitea : host.github,
      ...(kind === 'github app' && { app: APP }),
      credentialsRef: { name: 'credentials' },
      tenants: [],
    },
    credential: (key) => (key === 'token' ? TOKEN : PRIVATE_KEY),
  });
  const put = (kind: Kind): Promise<void> => hosts.status(account(kind), 'https://code.example/team/shop', status);

  it.each(KINDS)('%s: is put on the commit', async (kind) => {
    const bodies: string[] = [];
    host.fault = (request, response) => {
      if (request.url?.includes('/statuses/') !== true) return false;
      request.on('data', (chunk: Buffer) => void bodies.push(chunk.toString()));
      request.on('end', () => json(response, 201, {}));
      return true;
    };
    await put(kind);
    const api = kind === 'gitea' ? '/api/v1' : '/api/v3';
    expect(host.seen.at(-1)).toBe(`POST ${api}/repos/team/shop/statuses/${COMMIT}`);
    expect(host.authorizations.at(-1)).toBe(`token ${kind === 'github app' ? 'ghs_' : ''}${TOKEN}`);
    expect(JSON.parse(bodies.join(''))).toEqual({
      state: 'success',
      description: 'Deployed',
      context: 'davit/team/shop',
    });
  });

  it.each([
    [403, 'refused'],
    [404, 'refused'],
    [401, 'refused'],
    [500, 'unreachable'],
  ])('answered by %i is %s, after one request', async (answer, why) => {
    host.fault = (_request, response) => json(response, answer, { message: 'no' });
    await expect(put('gitea')).rejects.toMatchObject({ why });
    expect(host.seen).toHaveLength(1);
  });

  it('of a commit that is gone is done', async () => {
    host.fault = (_request, response) => json(response, 422, { message: 'No commit found for SHA' });
    await put('github token');
  });

  it('of an App without the permission is refused', async () => {
    host.fault = (_request, response) =>
      json(response, 422, { message: 'The permissions requested are not granted to this installation.' });
    await expect(put('github app')).rejects.toMatchObject({ why: 'refused' });
  });
});

it('without a token, or with one that no header takes, nothing is asked', async () => {
  for (const token of ['', ' \n', 'a b', 'a\nb']) {
    await expect(list('gitea', token)).rejects.toMatchObject({ why: 'refused' });
  }
  expect(host.seen).toEqual([]);
});

it('who asks for the same at the same time is given the same, and who asks later gets a new one', async () => {
  many(1);
  const spec: CodeHostIntegrationSpec = {
    kind: 'gitea',
    apiUrl: host.gitea,
    credentialsRef: { name: 'a' },
    tenants: [],
  };
  const account = { key: 'one', spec, credential: () => TOKEN };
  const lists = await Promise.all([1, 2, 3].map(() => hosts.repositories(account)));
  expect([lists.length, host.seen.length]).toEqual([3, 1]);
  many(2);
  expect((await hosts.repositories(account)).length).toBe(2);
});

describe('metrics', () => {
  const faults: readonly [string, number, Fault, Record<string, number>][] = [
    ['answers', 1, () => false, { '2xx': 1 }],
    ['502 once', 1, (_request, response) => json(response, 502, {}), { '5xx': 1, '2xx': 1 }],
    ['a reset', 9, (request) => (request.socket.destroy(), true), { unreachable: 3 }],
    ['401', 9, (_request, response) => json(response, 401, {}), { '4xx': 1 }],
    ['silence', 9, () => true, { timeout: 1 }],
  ];

  it.each(faults)('count each attempt by how it ended: %s', async (name, times, fault, want) => {
    const metrics = makeMetrics();
    const counting = codeHosts({
      // Only silence is waited out; a busy machine may need longer for the others.
      deadlineMs: name === 'silence' ? 300 : 30_000,
      onRequest: ({ kind, result, durationMs }) => metrics.codeHostRequested(kind, result, durationMs / 1000),
    });
    many(1);
    failing(times, fault);
    await list('gitea', TOKEN, counting).catch(() => undefined);
    await counting.close();
    const text = await metrics.registry.metrics();
    const lines = [...text.matchAll(/^davit_code_host_request_duration_seconds_count\{(.*)\} (\d+)$/gm)];
    expect(Object.fromEntries(lines.map(([, labels, count]) => [labels, Number(count)]))).toEqual(
      Object.fromEntries(Object.entries(want).map(([result, count]) => [`kind="gitea",result="${result}"`, count])),
    );
    expect(text).not.toMatch(/canary|127\.0\.0\.1|https:/);
  });
});
