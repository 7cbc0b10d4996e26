// The shared PostgreSQL server of a run: one for all runs of this process, a proxy for each, and what the superuser sees.

import pg from 'pg';
import { ADMIN, ADMIN_PASSWORD, makeServerWorld, type ServerWorld } from '../../suites/databases/world.ts';
import { type Away, type ServerFault, type ServerProxy, startServerProxy } from './server-proxy.ts';

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
  /** Runs a statement as the superuser, past the proxy, on a connection of its own, and returns its first column. */
  sql(text: string, database?: string): Promise<string[]>;
  turn(how: Away | 'well'): void;
  /** What is there of this run, as `database NAME` and `role NAME`. */
  left(): Promise<string[]>;
  close(): Promise<void>;
}

/** The Secret with Davit's credentials. */
export const ADMIN_SECRET = {
  metadata: { name: 'davit-shared-database' },
  stringData: { username: ADMIN, password: ADMIN_PASSWORD },
};

/** `serial`: of the run in this process. */
export async function startSharedRun(
  serial: number,
  strike: ServerFault | undefined,
  { kill, fired }: { readonly kill: () => void; readonly fired: () => void },
): Promise<SharedRun> {
  const world = await sharedServerThere();
  if (!world) throw new Error('PostgreSQL is not installed on this machine, so there is no shared server');
  const proxy = await startServerProxy({ port: world.address.port, strike, kill, fired });
  const installation = `run${serial}`;
  const shared = { host: '127.0.0.1', port: proxy.port, sslMode: 'disable', reservedConnections: 5, installation };
  const sql: SharedRun['sql'] = (text, database) => asSuperuser(world, text, database);
  const left = (): Promise<string[]> =>
    sql(
      `select 'database ' || datname from pg_database where starts_with(datname, '${installation}_')
       union all select 'role ' || rolname from pg_roles where starts_with(rolname, '${installation}_') order by 1`,
    );
  return {
    settings: { database: { driver: 'shared', shared } },
    statements: proxy.statements,
    sql,
    turn: proxy.turn,
    left,
    async close() {
      proxy.close();
      // What is left is nobody's, and takes connections from the runs that follow.
      const databases = `select datname from pg_database where datname ~ '^(lost_)?${installation}_'`;
      // oxlint-disable-next-line no-await-in-loop -- a role goes after what it owns
      for (const name of await sql(databases)) await sql(`drop database "${name}" with (force)`);
      // oxlint-disable-next-line no-await-in-loop -- as above
      for (const one of await left()) await sql(`drop ${one.replace(' ', ' "')}"`);
    },
  };
}

/** A process that waits for psql would keep the proxies of all runs from answering. */
async function asSuperuser({ local, address }: ServerWorld, text: string, database = 'postgres'): Promise<string[]> {
  const client = new pg.Client({ host: local.env['PGHOST'], port: address.port, user: 'postgres', database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows.map(([first]) => String(first));
  } finally {
    await client.end();
  }
}
