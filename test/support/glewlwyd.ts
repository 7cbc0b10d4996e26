// Glewlwyd, an OAuth and OpenID Connect server in C that shares no code with those of npm, as Debian packages it, on loopback with TLS.
// It is unpacked into a folder of the cache and not installed: no service of it runs, and it needs no root.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { makeAuthority } from '../cluster/certificates.ts';
import { freePort } from '../cluster/control-plane.ts';
import { cacheRoot, whileWaiting, withLock } from '../cluster/images/cache.ts';
import { type Apt, makeRoot, openApt, unpack } from '../cluster/images/debian.ts';
import { NotPreparedError, needsPrepared, type Progress, refuseWithinTests } from '../cluster/prepared.ts';
import { type Browser, makeBrowser } from './cookie-browser.ts';
import { eventually } from './running-davit.ts';

export const GLEWLWYD = 'glewlwyd';

/** Its folder of libraries, and its dynamic linker there. */
const LIBRARIES: Partial<Record<NodeJS.Architecture, readonly [string, string]>> = {
  x64: ['x86_64-linux-gnu', 'ld-linux-x86-64.so.2'],
  arm64: ['aarch64-linux-gnu', 'ld-linux-aarch64.so.1'],
};

/** The root folder of the unpacked packages. Throws where apt is missing or does not know it. */
export async function ensureGlewlwyd(progress: Progress): Promise<string> {
  const folder = join(cacheRoot(), 'tools', `${GLEWLWYD}-debian`);
  needsPrepared(GLEWLWYD);
  if (existsSync(folder)) return folder;
  refuseWithinTests(GLEWLWYD);
  if (process.platform !== 'linux' || LIBRARIES[process.arch] === undefined)
    throw new Error(`Debian has no glewlwyd for ${process.platform} on ${process.arch}`);
  await mkdir(join(cacheRoot(), 'tools'), { recursive: true });
  const wait = whileWaiting(progress, `${GLEWLWYD}: another process is unpacking it`);
  await withLock(folder, wait, async () => {
    if (existsSync(folder)) return;
    progress(`${GLEWLWYD}: unpacking Debian's packages into ${folder} (once per machine)`);
    const making = await mkdtemp(join(cacheRoot(), 'tools', '.glewlwyd-'));
    try {
      await unpackInto(join(making, 'root'), await openApt(join(making, 'apt')));
      await rename(join(making, 'root'), folder);
    } finally {
      await rm(making, { recursive: true, force: true });
    }
  });
  return folder;
}

async function unpackInto(root: string, apt: Apt): Promise<void> {
  // It asks for one of the programs that set up databases, of which the second is the least.
  const all = await apt.resolve([GLEWLWYD, 'dbconfig-no-thanks']);
  const needed = all.filter(({ name }) => /^(lib|glewlwyd|zlib1g)/.test(name));
  await makeRoot(root);
  for (const file of await apt.download(needed)) await unpack(file, root, ['usr/share/locale', 'usr/share/man']);
}

export type GlewlwydHere = { readonly root: string } | { readonly missing: string };

/** Whether it could be prepared; otherwise why not. */
export async function glewlwydHere(): Promise<GlewlwydHere> {
  try {
    return { root: await ensureGlewlwyd(() => undefined) };
  } catch (error) {
    if (error instanceof NotPreparedError && error.failure !== undefined) return { missing: error.failure };
    throw error;
  }
}

export interface Glewlwyd {
  readonly issuer: string;
  /** `host:port`, as settings have it. */
  readonly host: string;
  readonly ca: string;
  readonly client: { readonly id: string; readonly secret: string };
  /** A person who has an account. */
  readonly person: { readonly username: string; readonly password: string };
  readonly scope: string;
  /**
   * What its page does for the person: signs in and, unless she refuses, grants what the address asks for. Resolves to the address that
   * leads back.
   */
  consent(browser: Browser, url: string): Promise<string>;
  /** Whether a token is good, as the server says to its client (RFC 7662). */
  isActive(token: string): Promise<boolean>;
  stop(): Promise<void>;
}

const ADMIN = { username: 'admin', password: 'password' };
const JSON_TYPE = { 'content-type': 'application/json' };

/** `redirectUris`: where it may send codes. */
export async function startGlewlwyd(root: string, redirectUris: readonly string[]): Promise<Glewlwyd> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-glewlwyd-'));
  const port = await freePort('127.0.0.1');
  const authority = makeAuthority('glewlwyd');
  const { certificate, key } = authority.serving('127.0.0.1', ['127.0.0.1']);
  await writeFile(join(folder, 'cert.pem'), certificate);
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 });
  await writeFile(join(folder, 'glewlwyd.conf'), await configurationOf(root, folder, port));
  await makeDatabase(root, join(folder, 'db'));
  const host = `127.0.0.1:${port}`;
  const api = `https://${host}/api`;
  const child = run(root, join(folder, 'glewlwyd.conf'));
  const admin = makeBrowser({}, authority.certificate);
  const issuer = `${api}/oidc`;
  const client = { id: 'davit', secret: 'canary-client-secret-of-glewlwyd' };
  const person = { username: 'ada', password: 'canary-password-of-ada' };
  const scope = 'issues:read';

  async function send(browser: Browser, method: 'POST' | 'PUT', path: string, body: object): Promise<void> {
    const { status, body: answer } = await browser.send(method, `${api}${path}`, JSON.stringify(body), JSON_TYPE);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${answer}`);
  }
  try {
    await eventually(() => send(admin, 'POST', '/auth/', ADMIN));
    const parameters = { ...PARAMETERS, iss: issuer };
    const plugin = { module: 'oidc', name: 'oidc', display_name: 'oidc', enabled: true };
    await send(admin, 'POST', '/mod/plugin/', { ...plugin, parameters });
    const named = { display_name: scope, description: scope, password_required: false, scheme: {} };
    await send(admin, 'POST', '/scope/', { name: scope, ...named });
    await send(admin, 'POST', '/user/', { ...person, enabled: true, scope: ['g_profile', scope] });
    await send(admin, 'POST', '/client/', {
      client_id: client.id,
      client_secret: client.secret,
      confidential: true,
      enabled: true,
      redirect_uri: redirectUris,
      authorization_type: ['code', 'refresh_token'],
      token_endpoint_auth_method: ['client_secret_basic'],
      scope: [],
    });
  } catch (error) {
    await end(child, folder);
    throw error;
  }
  return {
    issuer,
    host,
    ca: authority.certificate,
    client,
    person,
    scope,
    async consent(browser, url) {
      await send(browser, 'POST', '/auth/', person);
      await send(browser, 'PUT', `/auth/grant/${new URL(url).searchParams.get('client_id')}`, { scope });
      return (await browser.open(`${url}&g_continue`, (next) => !next.startsWith(api))).url;
    },
    async isActive(token) {
      const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
      const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' };
      const { body } = await admin.send('POST', `${issuer}/introspect`, `token=${token}`, headers);
      return (JSON.parse(body) as { active: boolean }).active;
    },
    async stop() {
      await admin.close();
      await end(child, folder);
    },
  };
}

/** Of its plugin for OAuth and OpenID Connect: PKCE is required, and refresh tokens are used once. */
const PARAMETERS = {
  'oauth-as-iss-id': true,
  'jwt-type': 'sha',
  'jwt-key-size': '256',
  key: 'of a test, as long as it has to be for this',
  'access-token-duration': 3600,
  'refresh-token-duration': 1_209_600,
  'code-duration': 600,
  'refresh-token-rolling': true,
  'refresh-token-one-use': 'always',
  'allow-non-oidc': true,
  'auth-type-code-enabled': true,
  'auth-type-code-revoke-replayed': true,
  'auth-type-refresh-enabled': true,
  'pkce-allowed': true,
  'pkce-required': true,
  'pkce-method-plain-allowed': false,
  'introspection-revocation-allowed': true,
  'introspection-revocation-allow-target-client': true,
  'register-client-allowed': true,
  'register-client-auth-scope': [],
  'register-client-credentials-scope': [],
  'register-client-management-allowed': true,
};

async function configurationOf(root: string, folder: string, port: number): Promise<string> {
  const modules = join(root, 'usr/lib/glewlwyd');
  // The package has no folder for a kind of which it brings none, but the server wants one.
  const empty = join(folder, 'none');
  await mkdir(empty);
  const values: Readonly<Record<string, string | number | boolean>> = {
    port,
    bind_address: '127.0.0.1',
    external_url: `https://127.0.0.1:${port}`,
    login_url: 'login.html',
    api_prefix: 'api',
    static_files_path: join(root, 'usr/share/glewlwyd/webapp/'),
    log_mode: 'console',
    log_level: 'WARNING',
    cookie_secure: 1,
    session_key: 'SESSION',
    admin_scope: 'g_admin',
    profile_scope: 'g_profile',
    user_module_path: join(modules, 'user'),
    user_middleware_module_path: empty,
    client_module_path: join(modules, 'client'),
    user_auth_scheme_module_path: join(modules, 'scheme'),
    plugin_module_path: join(modules, 'plugin'),
    use_secure_connection: true,
    secure_connection_key_file: join(folder, 'key.pem'),
    secure_connection_pem_file: join(folder, 'cert.pem'),
    hash_algorithm: 'SHA512',
  };
  const lines = Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [...lines, `database = { type = "sqlite3" path = ${JSON.stringify(join(folder, 'db'))} };`, ''].join('\n');
}

async function makeDatabase(root: string, path: string): Promise<void> {
  const script = join(root, 'usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz');
  const database = new DatabaseSync(path);
  database.exec(gunzipSync(await readFile(script)).toString());
  database.close();
}

function run(root: string, config: string): ChildProcess {
  const [folder, linker] = LIBRARIES[process.arch] ?? ['', ''];
  const libraries = join(root, 'usr/lib', folder);
  const args = ['--library-path', libraries, join(root, 'usr/bin/glewlwyd'), `--config-file=${config}`];
  return spawn(join(libraries, linker), args, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  }
  await rm(folder, { recursive: true });
}
