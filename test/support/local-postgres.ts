// A PostgreSQL of this machine, where one is installed, behind a socket in a folder, and for who asks for it on a port of 127.0.0.1.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BIN = ['18', '17', '16', '15', '14'].map((major) => `/usr/lib/postgresql/${major}/bin`).find(existsSync);

export interface LocalPostgres {
  /** Environment in which its programs are found, and connect. */
  readonly env: Readonly<Record<string, string>>;
  /** A script of sh, which reads `input`. Its standard output; throws an Error with its standard error if it fails. */
  shell(script: string, env?: Readonly<Record<string, string>>, input?: string): string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface LocalPostgresOptions {
  /** On it, every user needs a password. */
  readonly port?: number;
  /** As in postgresql.conf: `max_connections=30`. */
  readonly settings?: readonly string[];
}

/** Undefined where the server is not installed, or must not run: it refuses root. */
export async function startLocalPostgres({
  port,
  settings = [],
}: LocalPostgresOptions = {}): Promise<LocalPostgres | undefined> {
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? Number(spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout) : 0;
  if (BIN === undefined || (isRoot && !(uid > 0))) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'davit-pg-'));
  const data = join(folder, 'data');
  if (isRoot) execFileSync('chown', [String(uid), folder]);
  const who = isRoot ? { uid, gid: uid } : {};
  const silent = { ...who, stdio: 'ignore' } as const;
  execFileSync(join(BIN, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-N'], silent);
  chmodSync(folder, 0o755);
  writeFileSync(join(data, 'pg_hba.conf'), 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n');
  const listens = port === undefined ? ['-h', ''] : ['-h', '127.0.0.1', '-p', String(port)];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const server = spawn(join(BIN, 'postgres'), ['-D', data, '-F', ...listens, '-k', folder, ...options], silent);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const env = {
    PATH: `${BIN}:${process.env['PATH'] ?? ''}`,
    PGHOST: folder,
    PGUSER: 'postgres',
    PGDATABASE: 'postgres',
    ...(port !== undefined && { PGPORT: String(port) }),
  };
  const stop = async (): Promise<void> => {
    server.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const ready = ['-c', 'until pg_isready -q; do sleep 0.2; done'];
  // A server that ends is never ready.
  const waiting = spawn('sh', ready, { env, stdio: 'ignore' });
  const isUp = await Promise.race([
    ended.then(() => false),
    new Promise<boolean>((resolve) => waiting.once('exit', () => resolve(true))),
  ]);
  waiting.kill();
  if (!isUp) throw new Error(`PostgreSQL of ${BIN} does not start`);
  return {
    env,
    pid: server.pid ?? 0,
    shell(script, more = {}, input = '') {
      const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
        env: { ...env, ...more },
        encoding: 'utf8',
        input,
      });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    },
    stop,
  };
}
