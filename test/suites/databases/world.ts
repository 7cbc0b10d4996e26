// A PostgreSQL of the machine as the shared server, and clients of it.

import pg from 'pg';
import { makeSharedServer, type SharedServer } from '../../../src/deployments/database-server/server.ts';
import {
  nextForGone,
  nextForThere,
  sharedDatabaseName,
  sharedMark,
  type WantedThere,
} from '../../../src/deployments/record/shared-database.ts';
import type { PostgresAddress } from '../../../src/lib/outbound/postgres.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { type LocalPostgres, startLocalPostgres } from '../../support/local-postgres.ts';

export const ADMIN = 'davit_admin';
export const ADMIN_PASSWORD = 'the-password-of-the-administrator';
export const SHORT = { mostConnections: 4, connectMs: 2000, statementMs: 5000 };

export interface ServerWorld {
  readonly local: LocalPostgres;
  readonly address: PostgresAddress;
  /** With an administrator who is no superuser, as hosted servers have one. */
  readonly server: SharedServer;
  /** Runs a statement as the superuser, and returns its first column. */
  sql(text: string, database?: string): string[];
  stop(): Promise<void>;
}

/** Undefined where PostgreSQL is not installed. */
export async function makeServerWorld(settings: readonly string[] = []): Promise<ServerWorld | undefined> {
  const port = await freePort('127.0.0.1');
  const local = await startLocalPostgres({ port, settings });
  if (local === undefined) return undefined;
  const sql = (text: string, database = 'postgres'): string[] =>
    local
      .shell('psql -X -q -A -t -v ON_ERROR_STOP=1', { PGDATABASE: database }, `${text};`)
      .split('\n')
      .filter((line) => line !== '');
  sql(`create role ${ADMIN} login createdb createrole password '${ADMIN_PASSWORD}'`);
  const address = {
    host: '127.0.0.1',
    port,
    database: 'postgres',
    user: ADMIN,
    password: ADMIN_PASSWORD,
    tls: undefined,
  };
  const server = makeSharedServer(address, SHORT);
  return {
    local,
    address,
    server,
    sql,
    async stop() {
      await server.close();
      await local.stop();
    },
  };
}

export interface Tenant {
  readonly name: string;
  readonly mark: string;
  readonly password: string;
}

export function tenantOf(number: number): Tenant {
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return { name: sharedDatabaseName('davit', uid), mark: sharedMark(uid), password: `secret-of-${number}` };
}

export function wantedOf({ name, mark }: Tenant, connections = 5, reserved = 0): WantedThere {
  return { name, mark, connections, reserved, hasPassword: true };
}

const ALWAYS = (): boolean => true;

export async function bring(server: SharedServer, tenant: Tenant, wanted = wantedOf(tenant), mayGoOn = ALWAYS) {
  return server.advance(tenant.name, (view) => nextForThere(view, wanted), {
    password: () => Promise.resolve(tenant.password),
    mayGoOn,
  });
}

export async function drop(server: SharedServer, tenant: Tenant, mayGoOn = ALWAYS) {
  return server.advance(tenant.name, (view) => nextForGone(view, tenant), {
    password: () => Promise.reject(new Error('no password is needed')),
    mayGoOn,
  });
}

/** A connection of a tenant's. The caller ends it. */
export async function connect(
  { address: { host, port } }: Pick<ServerWorld, 'address'>,
  { name, password }: Tenant,
  database = name,
): Promise<pg.Client> {
  const client = new pg.Client({ host, port, user: name, password, database });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Rows of one statement, each joined. */
export async function rows(client: pg.Client, text: string): Promise<string[]> {
  const { rows: found } = await client.query<unknown[]>({ text, rowMode: 'array' });
  return found.map((row) => row.map(String).join(' '));
}
