// The shared PostgreSQL server of a run: one for all runs of this process, a proxy for each, and what the superuser sees.

import { ADMIN, ADMIN_PASSWORD, makeServerWorld, type ServerWorld } from '../../suites/databases/world.ts';
import type { Fault, ServerFault } from './fault.ts';
import { type Away, type ServerProxy, startServerProxy } from './server-proxy.ts';

let started: Promise<ServerWorld | undefined> | undefined;

/** Undefined where PostgreSQL is not installed on this machine. */
export function sharedServerThere(): Promise<ServerWorld | undefined> {
  return (started ??= makeServerWorld(['max_connections=400']));
}

export async function stopSharedServer(): Promise<void> {
  await (await started)?.stop();
}

/** As a workload sees it. */
export interface SharedRun {
  /** Of Davit. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly statements: ServerProxy['statements'];
  /** Runs a statement as the superuser, past the proxy, and returns its first column. */
  sql(text: string, database?: string): string[];
  turn(how: Away | 'well'): void;
  /** What is there of this run, as `database NAME` and `role NAME`. */
  left(): string[];
  close(): void;
}

/** The Secret with Davit's credentials. */
export const ADMIN_SECRET = {
  metadata: { name: 'davit-shared-database' },
  stringData: { username: ADMIN, password: ADMIN_PASSWORD },
};

/** `serial`: of the run in this process. */
export async function startSharedRun(
  serial: number,
  fault: Fault,
  { kill, fired }: { readonly kill: () => void; readonly fired: () => void },
): Promise<SharedRun> {
  const world = await sharedServerThere();
  if (!world) throw new Error('PostgreSQL is not installed on this machine, so there is no shared server');
  const strike: ServerFault | undefined = fault.kind === 'server' ? fault : undefined;
  const proxy = await startServerProxy({ port: world.address.port, strike, kill, fired });
  const installation = `run${serial}`;
  const shared = { host: '127.0.0.1', port: proxy.port, sslMode: 'disable', reservedConnections: 5, installation };
  const left = (): string[] =>
    world.sql(
      `select 'database ' || datname from pg_database where starts_with(datname, '${installation}_')
       union all select 'role ' || rolname from pg_roles where starts_with(rolname, '${installation}_') order by 1`,
    );
  return {
    settings: { database: { driver: 'shared', shared } },
    statements: proxy.statements,
    sql: world.sql,
    turn: proxy.turn,
    left,
    close() {
      proxy.close();
      // What is left is nobody's, and takes connections from the runs that follow.
      const databases = `select datname from pg_database where datname ~ '^(lost_)?${installation}_'`;
      for (const name of world.sql(databases)) world.sql(`drop database "${name}" with (force)`);
      for (const one of left()) world.sql(`drop ${one.replace(' ', ' "')}"`);
    },
  };
}
