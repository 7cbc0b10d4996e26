// A Gitea of this machine for one cluster: HTTPS, an administrator, private repositories, tokens and signed webhooks.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Cluster } from '../../cluster/cluster.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { ensureProgram } from '../../cluster/machine.ts';
import type { Progress } from '../../cluster/prepared.ts';
import { ensureTools, moduleFolder, toolPath } from '../../cluster/tools.ts';
import { eventually } from '../../support/running-davit.ts';
import { authority } from './servers.ts';

const run = promisify(execFile);
export const administrator = 'maintainer';

export interface Gitea {
  readonly url: string;
  /** The same with the administrator's name and password, as git and curl take it. */
  readonly signedIn: string;
  /** As the administrator, or with another's `Authorization`. */
  call<T>(method: string, path: string, body?: unknown, authorization?: string): Promise<T>;
  /** Answers with the address to clone. */
  makeRepository(name: string): Promise<string>;
  /** Answers with the commit. */
  commit(repository: string, files: Readonly<Record<string, string>>): Promise<string>;
  /** A token that lists repositories and reads them (docs/install.md), and the revoking of it. */
  makeToken(): Promise<{ readonly token: string; revoke(): Promise<void> }>;
}

export async function startGitea(cluster: Cluster, progress: Progress): Promise<Gitea> {
  const tools = await ensureTools(['gitea'], progress);
  await ensureProgram('git', progress);
  const program = toolPath(tools, 'gitea', 'gitea');
  const folder = join(cluster.runDir, 'gitea');
  const port = await freePort(cluster.hostAddress);
  const url = `https://${cluster.hostAddress}:${port}`;
  const { certificate, key } = authority.serving('gitea', [cluster.hostAddress]);
  const path = (name: string): string => join(folder, name);
  await mkdir(folder, { mode: 0o700 });
  await Promise.all([
    writeFile(path('tls.crt'), certificate),
    writeFile(path('tls.key'), key, { mode: 0o600 }),
    writeFile(path('app.ini'), configuration({ folder, port, cluster, files: await giteaFiles() })),
  ]);
  const env = { HOME: folder, GITEA_WORK_DIR: folder };
  const gitea = (...args: string[]): Promise<unknown> =>
    run(program, [...args, '--config', path('app.ini')], { env: { ...env, PATH: process.env['PATH'] } });
  const password = randomBytes(18).toString('base64url');
  await gitea('migrate');
  const account = ['--username', administrator, '--password', password, '--email', 'maintainer@code.example'];
  await gitea('admin', 'user', 'create', '--admin', '--must-change-password=false', ...account);
  await cluster.startProcess({ name: 'gitea', command: program, args: ['web', '--config', path('app.ini')], env });

  const basic = `Basic ${Buffer.from(`${administrator}:${password}`).toString('base64')}`;
  async function call<T>(method: string, at: string, body?: unknown, authorization = basic): Promise<T> {
    const { status, answer } = await send(method, `${url}/api/v1${at}`, authorization, body);
    if (status >= 400) throw new Error(`${method} ${at}: ${status} ${answer}`);
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }
  await eventually(() => call('GET', '/version'));

  return {
    url,
    signedIn: url.replace('://', `://${administrator}:${password}@`),
    call,
    async makeRepository(name) {
      await call('POST', '/user/repos', { name, private: true, default_branch: 'main' });
      return `${url}/${administrator}/${name}.git`;
    },
    async commit(repository, files) {
      const changes = Object.entries(files).map(async ([file, content]) => {
        const there = await call<{ sha: string }>(
          'GET',
          `/repos/${administrator}/${repository}/contents/${file}`,
        ).catch(() => undefined);
        return {
          operation: there ? 'update' : 'create',
          path: file,
          content: Buffer.from(content).toString('base64'),
          ...(there && { sha: there.sha }),
        };
      });
      const body = { message: 'Change', files: await Promise.all(changes) };
      const at = `/repos/${administrator}/${repository}/contents`;
      return (await call<{ commit: { sha: string } }>('POST', at, body)).commit.sha;
    },
    async makeToken() {
      const name = randomBytes(6).toString('hex');
      const at = `/users/${administrator}/tokens`;
      const { sha1 } = await call<{ sha1: string }>('POST', at, { name, scopes: ['read:repository', 'read:user'] });
      return { token: sha1, revoke: () => call('DELETE', `${at}/${name}`) };
    },
  };
}

/** Templates and the like, which Gitea reads at run time; its pages for browsers are not built. */
function giteaFiles(): Promise<string> {
  return moduleFolder('gitea', 'code.gitea.io/gitea');
}

interface Configuration {
  readonly folder: string;
  readonly files: string;
  readonly port: number;
  readonly cluster: Cluster;
}

function configuration({ folder, files, port, cluster }: Configuration): string {
  const url = `https://${cluster.hostAddress}:${port}/`;
  return `
; The files that it reads belong to root, as the cache that they are in.
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
WORK_PATH = ${folder}
[server]
PROTOCOL = https
CERT_FILE = ${folder}/tls.crt
KEY_FILE = ${folder}/tls.key
HTTP_ADDR = ${cluster.hostAddress}
HTTP_PORT = ${port}
ROOT_URL = ${url}
LOCAL_ROOT_URL = ${url}
STATIC_ROOT_PATH = ${files}
APP_DATA_PATH = ${folder}/data
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${folder}/gitea.db
[repository]
ROOT = ${folder}/repositories
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v2
[service]
DISABLE_REGISTRATION = true
[webhook]
; The receiver is on this machine, where by default none may be.
ALLOWED_HOST_LIST = *
SKIP_TLS_VERIFY = true
DELIVER_TIMEOUT = 5
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
LEVEL = Warn
ROOT_PATH = ${folder}/log
`;
}

function send(
  method: string,
  url: string,
  authorization: string,
  body: unknown,
): Promise<{ status: number; answer: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const outgoing = request(url, { method, headers, ca: authority.certificate }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, answer }), reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
