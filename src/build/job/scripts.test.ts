// Runs the scripts of a build's containers in bash, with git, curl and tar, against a fake registry that implements the
// part of the OCI Distribution Specification that they use.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../test/cluster/certificates.ts';
import { ensureTools, toolPath } from '../../../test/cluster/tools.ts';
import { type ConnectProxy, startConnectProxy } from '../../../test/support/connect-proxy.ts';
import { gitHttpBackend } from '../../../test/support/git-http-backend.ts';
import { close, listen } from '../../../test/support/http-servers.ts';
import { Settings } from '../../kinds/settings.ts';
import type { BuildSource } from './inputs.ts';
import { makeBuildJob } from './job.ts';
import { BUILD, FETCH_GIT, FETCH_UPLOAD } from './scripts.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let sandbox: string;
let server: Server;
let address: string;
/** The same registry with TLS. */
let tlsServer: Server;
let tlsAddress: string;
const authority = makeAuthority('builds');
/** A number is the status with which the registry answers instead. */
const blobs = new Map<string, Buffer | number>();
const manifests = new Map<string, string>();
let asks: { method: string | undefined; url: string | undefined; authorization: string | undefined }[];
let scheme: 'bearer' | 'basic' | 'none';
/** Path that every request without authentication is sent to. */
let redirect: string | undefined;
/** What the registry names as its token server, if not itself. */
let realm: string | undefined;
/** Where the registry sends uploads, if not to itself. */
let uploads: string | undefined;
const LOGIN = `Basic ${Buffer.from('davit:pass.word-1').toString('base64')}`;

beforeAll(async () => {
  const respond = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request).then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
  const { certificate, key } = authority.serving('registry', ['127.0.0.1']);
  server = createServer(respond);
  tlsServer = createTlsServer({ cert: certificate, key }, respond);
  const portOf = async (it: Server): Promise<number> => {
    await new Promise<void>((resolve) => it.listen(0, '127.0.0.1', resolve));
    return (it.address() as AddressInfo).port;
  };
  address = `http://127.0.0.1:${await portOf(server)}`;
  tlsAddress = `https://127.0.0.1:${await portOf(tlsServer)}`;
});
afterAll(() => {
  server.close();
  tlsServer.close();
});
beforeEach(() => {
  sandbox = mkdtempSync(join(tmpdir(), 'davit-build-'));
  for (const folder of ['source', 'push', 'plan', 'workspace', 'tmp', 'bin', 'dev']) mkdirSync(join(sandbox, folder));
  for (const folder of ['source', 'push']) {
    writeFileSync(join(sandbox, folder, 'username'), 'davit');
    writeFileSync(join(sandbox, folder, 'password'), 'pass.word-1');
    writeFileSync(join(sandbox, folder, 'ca.crt'), '');
  }
  writeFileSync(join(sandbox, 'plan/warnings'), '');
  asks = [];
  scheme = 'bearer';
  redirect = undefined;
  realm = undefined;
  uploads = undefined;
  blobs.clear();
  manifests.clear();
  return () => rmSync(sandbox, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const { method, url = '' } = request;
  const { authorization } = request.headers;
  asks.push({ method, url, authorization });
  if (redirect !== undefined) return { status: 302, headers: { Location: redirect } };
  const { pathname, searchParams } = new URL(url, address);
  if (pathname === '/token') {
    if (authorization !== LOGIN) return { status: 401 };
    return { status: 200, body: JSON.stringify({ token: `for ${searchParams.get('scope')}`.replaceAll(' ', '_') }) };
  }
  const scope = `Bearer for_repository:team/shop:pull`;
  const isIn = scheme === 'none' || (scheme === 'basic' ? authorization === LOGIN : authorization?.startsWith(scope));
  const challenge =
    scheme === 'basic' ? 'Basic realm="registry"' : `Bearer realm="${realm ?? `${address}/token`}",service="registry"`;
  if (!isIn) return { status: 401, headers: { 'WWW-Authenticate': challenge } };
  const body = await buffer(request);
  const name = pathname.split('/').at(-1) ?? '';
  if (pathname.includes('/manifests/') && method === 'PUT') {
    manifests.set(name, body.toString());
    return { status: 201 };
  }
  if (pathname.includes('/manifests/')) {
    const manifest = manifests.get(name);
    return manifest === undefined ? { status: 404 } : { status: 200, body: manifest };
  }
  if (method === 'POST')
    return { status: 202, headers: { Location: `${uploads ?? ''}/v2/team/shop/blobs/uploads/1?state=x` } };
  if (method === 'PUT') {
    const digest = searchParams.get('digest') ?? '';
    if (digest !== `sha256:${sha256(body)}`) return { status: 400 };
    blobs.set(digest, body);
    return { status: 201 };
  }
  const blob = blobs.get(name);
  if (typeof blob === 'number') return { status: blob };
  return blob === undefined ? { status: 404 } : { status: 200, body: blob };
}

function run(
  script: string,
  environment: Record<string, string>,
  args: string[] = [],
  onOutput: (child: ChildProcess, output: string) => void = () => undefined,
): Promise<{ code: number | null; said: string; output: string }> {
  const here = script.replaceAll(
    /(^|[\s"'=<>@(])(\/(?:source|push|plan|workspace|tmp|dev\/termination-log)\b)/gm,
    `$1${sandbox}$2`,
  );
  // In a process group of its own, as in a container: the script of the build signals its whole group.
  const child = spawn('bash', ['-c', here, 'script', ...args], {
    detached: true,
    env: {
      PATH: `${join(sandbox, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: join(sandbox, 'tmp'),
      REGISTRY: address,
      REPOSITORY: 'team/shop',
      TAG: 'upload-1',
      WORKSPACE_MB: '2',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_NOSYSTEM: '1',
      ...environment,
    },
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString();
    onOutput(child, output);
  });
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  return new Promise((resolve) =>
    child.on('close', (code) => {
      const file = join(sandbox, 'dev/termination-log');
      resolve({ code, said: existsSync(file) ? readFileSync(file, 'utf8') : '', output });
    }),
  );
}

/** Has the scripts reach the registry with TLS. */
function withTls(): Record<string, string> {
  for (const folder of ['source', 'push']) writeFileSync(join(sandbox, folder, 'ca.crt'), authority.certificate);
  realm = `${tlsAddress}/token`;
  return { REGISTRY: tlsAddress };
}

function upload(archive: Uint8Array): void {
  const digest = `sha256:${sha256(archive)}`;
  blobs.set(digest, Buffer.from(archive));
  manifests.set(
    'upload-1',
    JSON.stringify(
      {
        schemaVersion: 2,
        config: {
          mediaType: 'application/vnd.oci.empty.v1+json',
          digest: `sha256:${sha256(Buffer.from('{}'))}`,
          size: 2,
        },
        layers: [{ mediaType: 'application/gzip', digest, size: archive.length }],
        annotations: { note: 'x' },
      },
      undefined,
      2,
    ),
  );
}

/** A compressed tar archive of the files that `make` writes to a new folder. */
function archive(make: (folder: string) => void, ...options: string[]): Buffer {
  const folder = mkdtempSync(join(sandbox, 'archive-'));
  make(folder);
  return execFileSync('tar', ['-C', folder, '-czf', '-', ...options, '.'], { maxBuffer: 1e9 });
}
const anApp = (folder: string): void => {
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src/app.py'), 'print(1)\n');
  writeFileSync(join(folder, 'davit.json'), '{}');
};

describe('fetch of an upload', () => {
  it.each(['bearer', 'basic', 'none'] as const)('unpacks it from a registry with authentication: %s', async (how) => {
    scheme = how;
    upload(archive(anApp));
    expect(await run(FETCH_UPLOAD, {})).toMatchObject({ code: 0, said: '' });
    expect(readFileSync(join(sandbox, 'workspace/source/src/app.py'), 'utf8')).toBe('print(1)\n');
    // Only the token server receives the password.
    if (how === 'bearer')
      expect(asks.filter(({ authorization }) => authorization === LOGIN).map(({ url }) => url?.split('?')[0])).toEqual([
        '/token',
      ]);
  });

  it.each<[string, () => void, RegExp]>([
    ['does not exist', () => undefined, /^SourceGone: /],
    ['has no blob', () => (upload(archive(anApp)), blobs.clear()), /^SourceGone: /],
    [
      'cannot be read for now',
      () => {
        upload(archive(anApp));
        for (const digest of blobs.keys()) blobs.set(digest, 500);
      },
      /^FetchFailed: The registry answered 500/,
    ],
    ['is not compressed', () => upload(Buffer.from('no archive')), /^SourceInvalid: .*gzip/],
    ['is not a tar archive', () => upload(gzipSync('no archive')), /^SourceInvalid: /],
    ['is empty', () => upload(Buffer.alloc(0)), /^SourceInvalid: /],
    ['is truncated', () => upload(archive(anApp).subarray(0, 120)), /^SourceInvalid: /],
    ['is a decompression bomb', () => upload(gzipSync(Buffer.alloc(3 * 1024 * 1024))), /^SourceTooLarge: /],
    [
      'contains a device',
      () => upload(execFileSync('tar', ['-C', '/dev', '-czf', '-', 'null'])),
      /^SourceInvalid: .*devices/,
    ],
    [
      'contains a named pipe',
      () => upload(archive((folder) => void execFileSync('mkfifo', [join(folder, 'pipe')]))),
      /^SourceInvalid: .*pipes/,
    ],
    ['is another manifest', () => manifests.set('upload-1', '{"manifests":[]}'), /^SourceInvalid: /],
    [
      'does not match its digest',
      () => {
        upload(archive(anApp));
        for (const digest of blobs.keys()) blobs.set(digest, gzipSync('other'));
      },
      /^SourceInvalid: .*damaged/,
    ],
  ])('fails if the upload %s', async (_what, prepare, said) => {
    prepare();
    const result = await run(FETCH_UPLOAD, {});
    expect([result.code, result.said]).toEqual([1, expect.stringMatching(said)]);
  });

  it.each<[string, () => Buffer, string]>([
    [
      'a path with ..',
      () => archive(anApp, '--transform=s,^./davit.json,../outside,', '-P'),
      "tar: Removing leading `../' from member names tar: ../outside: Member name contains '..'",
    ],
    // It becomes a path in the workspace.
    ['an absolute path', () => archive(anApp, `--transform=s,^./davit.json,${sandbox}/outside,`, '-P'), ''],
    [
      'a file through a link',
      () =>
        archive((folder) => {
          symlinkSync(sandbox, join(folder, 'link'));
          mkdirSync(join(folder, 'other'));
          writeFileSync(join(folder, 'other/outside'), 'x');
        }, '--transform=s,^./other/,./link/,'),
      'tar: ./link/outside: Cannot open: Not a directory',
    ],
    [
      'a hard link to a file outside',
      () =>
        archive(
          (folder) => {
            writeFileSync(join(folder, 'a'), 'x');
            linkSync(join(folder, 'a'), join(folder, 'b'));
          },
          `--transform=flags=h;s,^./[ab]$,${sandbox}/push/password,`,
          '-P',
        ),
      "tar: Removing leading `/' from hard link targets tar: ./",
    ],
  ])('writes nothing outside the workspace for %s', async (_what, make, says) => {
    upload(make());
    const { code, said } = await run(FETCH_UPLOAD, {});
    expect([code, said]).toEqual([
      says === '' ? 0 : 1,
      says === '' ? '' : expect.stringContaining(`SourceInvalid: The uploaded source cannot be unpacked: ${says}`),
    ]);
    expect(readdirSync(sandbox)).not.toContain('outside');
    expect(readdirSync(join(sandbox, 'workspace'))).toEqual(['source']);
  });

  it('works with TLS', async () => {
    upload(archive(anApp));
    expect(await run(FETCH_UPLOAD, withTls())).toMatchObject({ code: 0, said: '' });
  });

  it.each<[string, () => string]>([
    ['plain HTTP', () => `${address}/token`],
    ['a file', () => `file://${sandbox}/token`],
    ['an option of curl', () => `--next${address}/token`],
  ])('gives no credential to a token server that a registry with TLS names by %s', async (_what, named) => {
    upload(archive(anApp));
    const environment = withTls();
    realm = named();
    writeFileSync(join(sandbox, 'token'), '{"token": "x"}');
    const { code, said } = await run(FETCH_UPLOAD, environment);
    expect([code, said]).toEqual([1, expect.stringMatching(/^FetchFailed: .*token server without TLS/)]);
    expect(asks.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  it('fails if the token server refuses the credential', async () => {
    writeFileSync(join(sandbox, 'source/password'), 'wrong');
    upload(archive(anApp));
    expect(await run(FETCH_UPLOAD, {})).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^FetchFailed: .*token/),
    });
  });
});

describe('fetch from git', () => {
  const git = (folder: string, ...args: string[]): string =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
    }).trim();
  const repository = (): { url: string; commits: string[] } => {
    const folder = join(sandbox, 'repository');
    mkdirSync(folder);
    git(folder, 'init', '-q', '-b', 'main');
    git(folder, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
    const commits = ['one', 'two'].map((text) => {
      writeFileSync(join(folder, 'file'), text);
      git(folder, 'add', '.');
      git(folder, 'commit', '-q', '-m', text);
      return git(folder, 'rev-parse', 'HEAD');
    });
    return { url: `file://${folder}`, commits };
  };

  it.each([
    ['a commit', (commits: string[]) => commits[0] ?? '', 0],
    ['a branch', () => 'main', 1],
  ])('fetches %s without history and reports its commit', async (_what, ref, at) => {
    const { url, commits } = repository();
    expect(await run(FETCH_GIT, { URL: url, REF: ref(commits) })).toMatchObject({ code: 0, said: commits[at] });
    expect(readdirSync(join(sandbox, 'workspace/source'))).toEqual(['file']);
    expect(readFileSync(join(sandbox, 'workspace/source/file'), 'utf8')).toBe(['one', 'two'][at]);
  });

  it('reports a branch that does not exist', async () => {
    const { url } = repository();
    expect(await run(FETCH_GIT, { URL: url, REF: 'nothing' })).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^RefNotFound: The repository has no nothing/),
    });
  });

  it('reports an empty repository', async () => {
    const folder = join(sandbox, 'empty');
    mkdirSync(folder);
    git(folder, 'init', '-q', '-b', 'main');
    expect(await run(FETCH_GIT, { URL: `file://${folder}`, REF: 'HEAD' })).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^RefNotFound: The repository has no HEAD/),
    });
  });

  it('reports a repository that does not exist', async () => {
    scheme = 'none';
    const { code, said } = await run(FETCH_GIT, { URL: `${address}/team/nothing`, REF: 'main' });
    expect([code, said]).toEqual([1, expect.stringMatching(/^RepositoryNotFound: There is no repository .*nothing/)]);
  });

  it('does not follow a redirect, which would get the credential', async () => {
    scheme = 'none';
    redirect = '/elsewhere/info/refs';
    const { code, said } = await run(FETCH_GIT, { URL: `${address}/team/moved`, REF: 'main' });
    expect([code, said]).toEqual([1, expect.stringMatching(/^FetchFailed: /)]);
    expect(asks.filter(({ url }) => url?.startsWith('/elsewhere'))).toEqual([]);
  });

  it('reports a repository with files larger than the workspace', async () => {
    const { url } = repository();
    const folder = url.slice('file://'.length);
    writeFileSync(join(folder, 'large'), randomBytes(3 * 1024 * 1024));
    git(folder, 'add', '.');
    git(folder, 'commit', '-q', '-m', 'large');
    const { code, said } = await run(FETCH_GIT, { URL: url, REF: 'main' });
    expect([code, said]).toEqual([1, expect.stringMatching(/^SourceTooLarge: .* 2 MiB/)]);
  });

  it('reports refused credentials without prompting for a password', async () => {
    const { code, said } = await run(FETCH_GIT, { URL: `${address}/token`, REF: 'main' });
    expect([code, said]).toEqual([1, expect.stringMatching(/^CodeHostRefused: /)]);
  });
});

describe('behind a proxy, with authorities of the platform', () => {
  const authority = makeAuthority('company');
  const { certificate, key } = authority.serving('git.example', ['git.example', 'registry.example']);
  let proxy: ConnectProxy;
  let secure: Server;
  let port: number;
  /** What this host answers over TLS. */
  let handle: RequestListener;
  beforeEach(async () => {
    proxy = await startConnectProxy();
    secure = createTlsServer({ cert: certificate, key }, (request, response) => handle(request, response));
    await listen(secure, 0, '127.0.0.1');
    ({ port } = secure.address() as AddressInfo);
    writeFileSync(join(sandbox, 'source/authorities.crt'), authority.certificate);
    return () => Promise.all([proxy.close(), close(secure)]);
  });

  /** The variables of the container `fetch`, as its Job has them. */
  function variables(source: BuildSource, host: string): Record<string, string> {
    const settings = Settings.parse({ builds: { registry: { host } } });
    const { registry } = settings.builds;
    if (registry === undefined) throw new Error('The settings have no registry.');
    const job = makeBuildJob({
      revisionId: '44444444-4444-4444-8444-444444444444',
      tenant: { namespace: 'team', tenantId: '55555555-5555-4555-8555-555555555555' },
      deployment: { name: 'shop', uid: 'uid' },
      source,
      workflowConfigPath: 'davit.json',
      mode: 'rootless',
      settings: settings.builds,
      proxies: { httpsProxy: proxy.url, noProxy: ['.svc'], addresses: [] },
      registry,
      images: { builder: 'builder', davit: 'davit' },
    });
    const env = job.spec?.template.spec?.initContainers?.[0]?.env ?? [];
    return Object.fromEntries(
      env.map(({ name, value = '' }) => [name, value.replaceAll('/tmp', join(sandbox, 'tmp'))]),
    );
  }
  const fetchGit = (): ReturnType<typeof run> =>
    run(FETCH_GIT, variables({ kind: 'git', url: `https://git.example:${port}/shop.git`, ref: 'main' }, 'r.example'));

  it('git fetches through the proxy, and trusts the host by them', async () => {
    const commit = bareRepository(join(sandbox, 'shop.git'));
    handle = gitHttpBackend(sandbox);
    writeFileSync(join(sandbox, 'source/token'), 'the-token');
    const result = await fetchGit();
    expect(result).toMatchObject({ code: 0, said: commit });
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT git.example:${port}`]);
    expect(JSON.stringify(proxy.headers)).not.toContain('the-token');
  });

  it('git does not trust it without them, nor where the code host has authorities of its own', async () => {
    handle = gitHttpBackend(sandbox);
    const other = makeAuthority('other').certificate;
    for (const [authorities, own] of [
      ['', ''],
      [authority.certificate, other],
    ] as const) {
      writeFileSync(join(sandbox, 'source/authorities.crt'), authorities);
      writeFileSync(join(sandbox, 'source/ca.crt'), own);
      const { code, said } = await fetchGit();
      expect([code, said]).toEqual([1, expect.stringMatching(/^FetchFailed: .*certificate/)]);
      rmSync(join(sandbox, 'workspace/source'), { recursive: true });
    }
  }, 120_000);

  it('an upload is read from a registry behind them', async () => {
    upload(archive(anApp));
    handle = (request, response) =>
      void answer(request).then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
    scheme = 'basic';
    const host = `registry.example:${port}`;
    const result = await run(FETCH_UPLOAD, { ...variables({ kind: 'upload', tag: 'upload-1' }, host) });
    expect(result).toMatchObject({ code: 0, said: '' });
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT ${host}`]);
    expect(readdirSync(join(sandbox, 'workspace/source'))).toEqual(['davit.json', 'src']);
  });

  it('the builder, a program of Go, goes through the proxy and trusts them besides those of its image', async () => {
    handle = (_request, response) => response.writeHead(418).end();
    const helm = toolPath(await ensureTools(['helm'], () => undefined), 'helm', 'helm');
    const file = join(sandbox, 'bin/buildctl-daemonless.sh');
    writeFileSync(
      file,
      `#!/bin/bash\ngrep -c BEGIN "$SSL_CERT_FILE"; exec ${helm} show chart https://git.example:${port}/x.tgz\n`,
    );
    chmodSync(file, 0o755);
    const build = (): ReturnType<typeof run> =>
      run(BUILD, { ...variables({ kind: 'upload', tag: 'log-1' }, 'r.example'), TAG: 'log-1', REGISTRY: address });
    writeFileSync(join(sandbox, 'push/authorities.crt'), authority.certificate);
    const images = readFileSync('/etc/ssl/certs/ca-certificates.crt', 'utf8').match(/BEGIN/g)?.length ?? 0;
    const { output } = await build();
    expect(output).toContain(`${images + 1}\n`);
    expect(output).toContain('418');
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT git.example:${port}`]);
    rmSync(join(sandbox, 'push/authorities.crt'));
    rmSync(join(sandbox, 'tmp'), { recursive: true });
    mkdirSync(join(sandbox, 'tmp'));
    expect((await build()).output).toContain('certificate signed by unknown authority');
  });
});

/** A bare repository with one commit on main; answers with the commit. */
function bareRepository(folder: string): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { encoding: 'utf8' }).trim();
  git('init', '-q', '--bare', '-b', 'main', folder);
  const tree = git('-C', folder, 'write-tree');
  const commit = git('-C', folder, 'commit-tree', tree, '-m', 'one');
  git('-C', folder, 'update-ref', 'refs/heads/main', commit);
  return commit;
}

describe('build', () => {
  const digest = `sha256:${'d'.repeat(64)}`;
  const buildctl = (script: string): void => {
    const file = join(sandbox, 'bin/buildctl-daemonless.sh');
    writeFileSync(file, `#!/bin/bash\n${script}\n`);
    chmodSync(file, 0o755);
  };
  const metadata = (): string => `echo '{"containerimage.digest": "${digest}"}' > ${sandbox}/tmp/metadata.json`;
  const keptLog = (): { t: string; c: string; m: string }[] => {
    const manifest = JSON.parse(manifests.get('log-1') ?? '{}') as { layers: { digest: string }[] };
    const log = gunzipSync(
      (blobs.get(manifest.layers[0]?.digest ?? '') as Buffer | undefined) ?? Buffer.alloc(0),
    ).toString();
    return log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { t: string; c: string; m: string });
  };

  it('reports the digest and stores the log', async () => {
    buildctl(`echo "#1 $*"; printf '%s\\n' 'a "quoted" back\\slash\tand tab ☃' >&2; ${metadata()}`);
    const result = await run(BUILD, { TAG: 'log-1' }, ['--progress=plain', '--x=$(id) "y"']);
    expect(result).toMatchObject({ code: 0, said: digest });
    expect(result.output).toContain('#1 build --progress=plain --x=$(id) "y"');
    const log = keptLog();
    expect(log.map(({ m }) => m)).toEqual([
      '#1 build --progress=plain --x=$(id) "y"',
      'a "quoted" back\\slash and tab ☃',
    ]);
    for (const { t, c } of log) expect([Math.abs(Date.parse(t) - Date.now()) < 60_000, c]).toEqual([true, 'build']);
  });

  it('exits with the exit code of the builder, stores the log and says its end', async () => {
    buildctl('echo "error: failed to solve: no"; exit 7');
    expect(await run(BUILD, { TAG: 'log-1' })).toMatchObject({
      code: 7,
      said: 'The end of the log:\nerror: failed to solve: no\n',
      output: expect.stringContaining('failed to solve'),
    });
    expect(keptLog().map(({ m }) => m)).toEqual(['error: failed to solve: no']);
  });

  it('prints and stores the warnings of the plan first, and does not say them as the end of a failed build', async () => {
    buildctl('echo "error: failed to solve: no"; exit 7');
    writeFileSync(join(sandbox, 'plan/warnings'), 'The key "a" is not known.\nThe server is x.\n');
    const { said, output } = await run(BUILD, { TAG: 'log-1' });
    const lines = ['The key "a" is not known.', 'The server is x.', 'error: failed to solve: no'];
    expect(output.trim().split('\n')).toEqual(lines);
    expect(keptLog().map(({ m }) => m)).toEqual(lines);
    expect(said).toBe('The end of the log:\nerror: failed to solve: no\n');
  });

  it.each([
    ['a long line', `printf 'begin %s end\\n' "$(head -c 100000 /dev/zero | tr '\\0' x)"`, /begin x+ \.\.\. x+ end/],
    ['many lines', 'seq 1 1000', /\n999\n1000\n/],
    ['bytes that are no text', `printf 'caf\\303 \\033[1m\\n'`, /caf\? \?\[1m/],
  ])('says why it failed after %s', async (_what, prints, wanted) => {
    const { said } = await buildFails(prints);
    expect(said).toMatch(wanted);
  });

  /** A build that prints this before it fails; it has said why. */
  async function buildFails(prints: string): Promise<Awaited<ReturnType<typeof run>>> {
    buildctl(`echo 'BuilderFailed: made up'; ${prints}; echo 'error: failed to solve: no'; exit 1`);
    const result = await run(BUILD, { TAG: 'log-1' });
    expect(result.said).toMatch(/^The end of the log:\n[\s\S]*\nerror: failed to solve: no\n$/);
    expect(Buffer.byteLength(result.said)).toBeLessThan(4096);
    return result;
  }

  it('succeeds even if the registry refuses the log', async () => {
    buildctl(metadata());
    writeFileSync(join(sandbox, 'push/password'), 'wrong');
    expect(await run(BUILD, { TAG: 'log-1' })).toMatchObject({ code: 0, said: digest });
  });

  it('works with TLS', async () => {
    buildctl(`echo begun; ${metadata()}`);
    expect(await run(BUILD, { ...withTls(), TAG: 'log-1' })).toMatchObject({ code: 0, said: digest });
    expect(keptLog().map(({ m }) => m)).toEqual(['begun']);
  });

  it('does not begin if BuildKit would send its password over plain HTTP', async () => {
    buildctl(`touch ${sandbox}/tmp/begun; ${metadata()}`);
    const environment = withTls();
    realm = `${address}/token`;
    const { code, said } = await run(BUILD, { ...environment, TAG: 'log-1' });
    expect([code, said]).toEqual([1, expect.stringMatching(/^BuilderFailed: .*token server without TLS/)]);
    expect(existsSync(join(sandbox, 'tmp/begun'))).toBe(false);
    expect(asks.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  it('stores no log where the registry sends it elsewhere', async () => {
    buildctl(metadata());
    const environment = withTls();
    uploads = address;
    expect(await run(BUILD, { ...environment, TAG: 'log-1' })).toMatchObject({ code: 0, said: digest });
    expect(asks.filter(({ method }) => method === 'PUT')).toEqual([]);
    expect(manifests.has('log-1')).toBe(false);
  });

  it('stores the log of a build that is ended from outside, and leaves no process behind', async () => {
    buildctl('echo "#1 begun"; sleep 1234 & sleep 1234');
    let group = 0;
    const result = await run(BUILD, { TAG: 'log-1' }, [], (child, output) => {
      group = child.pid ?? 0;
      if (output.includes('#1 begun')) child.kill('SIGTERM');
    });
    expect(result).toMatchObject({ code: 143, said: '' });
    expect(keptLog().map(({ m }) => m)).toEqual(['#1 begun']);
    // A process that was killed may still wait for its parent to read its exit code.
    await expect.poll(() => isAlive(group)).toBe(false);
  });

  it('stores at most eight million characters of 20 MB, prints all of them, and says why it failed after them', async () => {
    const { code, said, output } = await buildFails(`yes "$(printf 'x%.0s' {1..999})" | head -n 20000`);
    expect(code).toBe(1);
    expect(said).toMatch(/x+ \.\.\. x+/);
    expect(output.length).toBe('BuilderFailed: made up\nerror: failed to solve: no\n'.length + 20_000_000);
    const stored = keptLog();
    expect(stored).toHaveLength(8001);
    expect(stored.at(-1)?.m).toBe('The log is longer than 8 MB. The rest is not stored.');
  }, 240_000);

  it('stores a line of two million characters, cut off', async () => {
    buildctl(`head -c 2000000 /dev/zero | tr '\\0' '"'; ${metadata()}`);
    const result = await run(BUILD, { TAG: 'log-1' });
    expect(result).toMatchObject({ code: 0, said: digest });
    expect(keptLog().map(({ m }) => m.length)).toEqual([16_384]);
  });

  it('fails without a digest', async () => {
    buildctl(`echo '{}' > ${sandbox}/tmp/metadata.json`);
    expect(await run(BUILD, { TAG: 'log-1' })).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^BuilderFailed: /),
    });
  });
});

/** Whether a process group has a process that runs. */
function isAlive(group: number): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const [state, , pgrp] = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return state !== 'Z' && Number(pgrp) === group;
    } catch {
      return false;
    }
  });
}
