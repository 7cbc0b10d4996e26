import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisConf } from './secrets.ts';
import { WAIT_FOR_DATABASE_SCRIPT, WAIT_FOR_REDIS_SCRIPT } from './wait-scripts.ts';

const PASSWORD = `p@ss:w/ö%'"$\\n &?#`;
const ENCODED = encodeURIComponent(PASSWORD);

const POSTGRES_BIN = ['18', '17', '16', '15', '14'].map((major) => `/usr/lib/postgresql/${major}/bin`).find(existsSync);
const asRoot = process.getuid?.() === 0;
const postgresUser = asRoot ? idOf('postgres') : undefined;
const SHELLS = [['dash'], ['bash'], ['busybox', 'ash']].filter(([shell = '']) => has(shell));
const noPostgres = POSTGRES_BIN === undefined || !has('psql') || (asRoot && postgresUser === undefined);
const noRedis = !has('redis-server') || !has('redis-cli');

it.each([
  { name: 'database', script: WAIT_FOR_DATABASE_SCRIPT },
  { name: 'redis', script: WAIT_FOR_REDIS_SCRIPT },
])('$name: is sh, and hands the password on in the environment', ({ script }) => {
  for (const [shell = '', ...first] of SHELLS) {
    expect(spawnSync(shell, [...first, '-n'], { input: script, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  }
  expect(script).not.toMatch(/(psql|"\$cli").*(\$uri|password|PGPASSWORD|REDISCLI_AUTH)/);
  expect(script).not.toMatch(/redis-cli.* -a /);
  expect(script).not.toContain('set -x');
});

describe.skipIf(noPostgres)(
  `wait-for-database with a real PostgreSQL${noPostgres ? ' (skipped: psql and the server are not installed)' : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'davit-wait-'));
    let server: ChildProcess;
    let port = 0;

    beforeAll(async () => {
      port = await freePort();
      const data = join(folder, 'data');
      const passwordFile = join(folder, 'password');
      writeFileSync(passwordFile, PASSWORD);
      selfSigned(folder, 'localhost', 'key.pem', 'cert.pem');
      if (postgresUser !== undefined) execFileSync('chown', ['-R', `${postgresUser}:${postgresUser}`, folder]);
      const who = postgresUser === undefined ? {} : { uid: postgresUser, gid: postgresUser };
      execFileSync(
        join(POSTGRES_BIN ?? '', 'initdb'),
        ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', passwordFile],
        { ...who, stdio: 'ignore' },
      );
      server = spawn(
        join(POSTGRES_BIN ?? '', 'postgres'),
        [
          '-D',
          data,
          '-p',
          String(port),
          '-h',
          '127.0.0.1',
          '-k',
          folder,
          '-c',
          'ssl=on',
          '-c',
          `ssl_cert_file=${join(folder, 'cert.pem')}`,
          '-c',
          `ssl_key_file=${join(folder, 'key.pem')}`,
        ],
        { ...who, stdio: 'ignore' },
      );
      chmodSync(folder, 0o755);
    });
    afterAll(async () => {
      await ended(server, 'SIGINT');
      rmSync(folder, { recursive: true, force: true });
    });

    const rows = [
      {
        name: 'a password of special characters',
        uri: () => `postgresql://postgres:${ENCODED}@127.0.0.1:${port}/postgres?sslmode=disable`,
      },
      {
        name: 'the password among the parameters',
        uri: () => `postgres://postgres@127.0.0.1:${port}/postgres?password=${ENCODED}`,
      },
      {
        name: 'a driver in the scheme and parameters of an application',
        uri: () =>
          `postgresql+asyncpg://postgres:${ENCODED}@127.0.0.1:${port}/postgres?schema=public&connection_limit=5`,
      },
      {
        name: 'a certificate that is checked',
        uri: () =>
          `postgresql://postgres:${ENCODED}@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=${join(folder, 'cert.pem')}`,
      },
      {
        name: 'a certificate that only the application can check',
        uri: () =>
          `postgresql://postgres:wrong@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`,
      },
      { name: 'several hosts', uri: () => `postgresql://postgres:${ENCODED}@127.0.0.1:1,127.0.0.1:${port}/postgres` },
      {
        name: 'a password that was not encoded, as long as the last @ ends it',
        uri: () => `postgresql://postgres:${ENCODED.replace('%40', '@')}@127.0.0.1:${port}/postgres`,
      },
    ];
    it.each(rows.flatMap((row) => SHELLS.map((shell) => ({ ...row, shell }))))(
      '$shell: $name',
      async ({ shell, uri }) => {
        const run = await runScript(folder, 'psql', shell, WAIT_FOR_DATABASE_SCRIPT, { POSTGRES_URI: uri() }, 20_000);
        expect(run).toMatchObject({ code: 0, output: expect.stringMatching(/PostgreSQL answers\n$/) });
        expectNoPassword(run);
      },
    );

    const failures = [
      {
        name: 'a wrong password',
        uri: () => `postgresql://postgres:${ENCODED}x@127.0.0.1:${port}/postgres`,
        says: /password authentication failed/,
      },
      {
        name: 'nobody there',
        uri: () => `postgresql://postgres:${ENCODED}@127.0.0.1:1/postgres`,
        says: /Connection refused/,
      },
      {
        name: 'a slash in the password',
        uri: () => `postgresql://postgres:1${PASSWORD}@127.0.0.1:${port}/postgres`,
        says: /POSTGRES_URI cannot be read/,
      },
      {
        name: 'another scheme',
        uri: () => `mysql://root:${ENCODED}@127.0.0.1:${port}/postgres`,
        says: /POSTGRES_URI cannot be read/,
      },
      { name: 'nothing', uri: () => '', says: /POSTGRES_URI cannot be read/ },
    ];
    it.each(failures)('keeps waiting and says why: $name', async ({ uri, says }) => {
      const run = await runScript(
        folder,
        'psql',
        ['dash'],
        WAIT_FOR_DATABASE_SCRIPT,
        { POSTGRES_URI: uri() },
        20_000,
        says,
      );
      expect(run).toMatchObject({ code: 143, output: expect.stringMatching(says) });
      expect(run.output.trim().split('\n')).toHaveLength(1);
      expectNoPassword(run);
    });

    it('ends when it is told to', async () => {
      const begin = performance.now();
      await runScript(
        folder,
        'psql',
        ['dash'],
        WAIT_FOR_DATABASE_SCRIPT,
        { POSTGRES_URI: 'postgresql://a:b@127.0.0.1:1/c' },
        1000,
      );
      expect(performance.now() - begin).toBeLessThan(15_000);
    });
  },
);

describe.skipIf(noRedis)(
  `wait-for-redis with a real Redis${noRedis ? ' (skipped: redis-server is not installed)' : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'davit-wait-'));
    const servers: ChildProcess[] = [];
    let port = 0;
    let tlsPort = 0;

    beforeAll(async () => {
      port = await freePort();
      tlsPort = await freePort();
      selfSigned(folder, 'localhost', 'key.pem', 'cert.pem');
      selfSigned(folder, 'other', 'other-key.pem', 'other.pem');
      const conf = join(folder, 'redis.conf');
      writeFileSync(conf, redisConf(PASSWORD).replace('dir /data', `dir ${folder}`));
      // Its own file as Davit makes it; the arguments, which have the last word, only move it to where a test may be.
      const moved = [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--tls-port',
        String(tlsPort),
        '--tls-auth-clients',
        'no',
      ];
      const tls = ['--tls-cert-file', join(folder, 'cert.pem'), '--tls-key-file', join(folder, 'key.pem')];
      servers.push(spawn('redis-server', [conf, ...moved, ...tls], { stdio: 'ignore' }));
    });
    afterAll(async () => {
      for (const server of servers) await ended(server, 'SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    });

    const rows = [
      { name: 'a password of special characters', uri: () => `redis://:${ENCODED}@127.0.0.1:${port}/0`, env: {} },
      { name: 'a user', uri: () => `redis://default:${ENCODED}@127.0.0.1:${port}`, env: {} },
      {
        name: 'the password among the parameters',
        uri: () => `redis://127.0.0.1:${port}/0?username=default&password=${ENCODED}`,
        env: {},
      },
      {
        name: 'TLS with a known authority',
        uri: () => `rediss://:${ENCODED}@localhost:${tlsPort}/0`,
        env: () => ({ SSL_CERT_FILE: join(folder, 'cert.pem') }),
      },
      {
        name: 'TLS whose certificate must not be checked',
        uri: () => `rediss://:${ENCODED}@127.0.0.1:${tlsPort}/0?ssl_cert_reqs=none`,
        env: {},
      },
      {
        name: 'TLS with an authority that only the application has',
        uri: () => `rediss://:${ENCODED}@localhost:${tlsPort}/0?ssl_ca_certs=/nowhere/ca.pem`,
        env: {},
      },
    ];
    it.each(rows.flatMap((row) => SHELLS.map((shell) => ({ ...row, shell }))))(
      '$shell: $name',
      async ({ shell, uri, env }) => {
        const variables = { REDIS_URI: uri(), ...(typeof env === 'function' ? env() : env) };
        const run = await runScript(folder, 'redis-cli', shell, WAIT_FOR_REDIS_SCRIPT, variables, 20_000);
        expect(run).toMatchObject({ code: 0, output: expect.stringMatching(/Redis answers\n$/) });
        expectNoPassword(run);
      },
    );

    const failures = [
      { name: 'a wrong password', uri: () => `redis://:${ENCODED}x@127.0.0.1:${port}/0`, says: /WRONGPASS|NOAUTH/ },
      { name: 'no password', uri: () => `redis://127.0.0.1:${port}/0`, says: /NOAUTH/ },
      { name: 'nobody there', uri: () => `redis://:${ENCODED}@127.0.0.1:1/0`, says: /Connection refused/ },
      {
        name: 'an authority that did not sign',
        uri: () => `rediss://:${ENCODED}@localhost:${tlsPort}/0?ssl_ca_certs=${join(folder, 'other.pem')}`,
        says: /certificate|SSL/i,
      },
      {
        name: 'a slash in the password',
        uri: () => `redis://:1${PASSWORD}@127.0.0.1:${port}/0`,
        says: /REDIS_URI cannot be read/,
      },
      { name: 'sentinels', uri: () => `redis+sentinel://a:1,b:1/0`, says: /REDIS_URI cannot be read/ },
    ];
    it.each(failures)('keeps waiting and says why: $name', async ({ uri, says }) => {
      const run = await runScript(
        folder,
        'redis-cli',
        ['dash'],
        WAIT_FOR_REDIS_SCRIPT,
        { REDIS_URI: uri() },
        20_000,
        says,
      );
      expect(run).toMatchObject({ code: 143, output: expect.stringMatching(says) });
      expectNoPassword(run);
    });
  },
);

interface Run {
  readonly code: number | null;
  readonly output: string;
  /** Every command line on which the tool was started. */
  readonly commandLines: string;
}

/**
 * Runs a script with the tool behind a shim that writes down its arguments; SIGTERM after `milliseconds`, or when the
 * output has had `says` for long enough to say it twice.
 */
async function runScript(
  folder: string,
  tool: string,
  [shell = 'sh', ...first]: readonly string[],
  script: string,
  env: Readonly<Record<string, string>>,
  milliseconds: number,
  says?: RegExp,
): Promise<Run> {
  const shims = mkdtempSync(join(folder, 'shims-'));
  const log = join(shims, 'log');
  mkdirSync(join(shims, 'bin'));
  writeFileSync(log, '');
  writeFileSync(join(shims, 'bin', tool), `#!/bin/sh\nprintf '%s\\n' "$*" >>'${log}'\nexec '${which(tool)}' "$@"\n`, {
    mode: 0o755,
  });
  const child = spawn(shell, [...first, '-c', script], {
    env: { PATH: `${join(shims, 'bin')}:${process.env['PATH'] ?? ''}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let isKilled = false;
  const kill = (): boolean => (isKilled = child.kill('SIGTERM'));
  let timer = setTimeout(kill, milliseconds);
  let isSaid = false;
  const hear = (chunk: Buffer): void => {
    output += chunk.toString();
    if (isSaid || !says?.test(output)) return;
    isSaid = true;
    clearTimeout(timer);
    timer = setTimeout(kill, 1200);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const isRead = new Promise((resolve) => child.once('close', resolve));
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  // What a script has said may arrive after its end. One that was killed leaves programs that hold its output open.
  if (!isKilled) await isRead;
  child.stdout.destroy();
  child.stderr.destroy();
  return { code, output, commandLines: readFileSync(log, 'utf8') };
}

function expectNoPassword({ output, commandLines }: Run): void {
  for (const secret of [PASSWORD, ENCODED, 'ss:w', '%3Aw', 'ö%']) {
    expect(commandLines).not.toContain(secret);
    expect(output).not.toContain(secret);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

function which(command: string): string {
  return spawnSync('sh', ['-c', `command -v ${command}`], { encoding: 'utf8' }).stdout.trim();
}

function has(command: string): boolean {
  return which(command) !== '';
}

function idOf(user: string): number | undefined {
  const { status, stdout } = spawnSync('id', ['-u', user], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}

function selfSigned(folder: string, host: string, key: string, certificate: string): void {
  const files = ['-keyout', key, '-out', certificate, '-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  execFileSync('openssl', ['req', '-x509', ...curve, '-nodes', '-days', '1', ...files], {
    cwd: folder,
    stdio: 'ignore',
  });
}
