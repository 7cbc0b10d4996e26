// Connections to a PostgreSQL that is administered. Everything has a time limit, and few connections are open at once.

import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';

export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** Undefined: without TLS. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'> | undefined;
}

/** The server refused a statement, or did not answer. Its message has no password and no statement. */
export class PostgresFailed extends Error {
  override readonly name = 'PostgresFailed';
  /** SQLSTATE, as in PostgreSQL's appendix A. Absent if there was no answer. */
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface Statements {
  /** The rows of one statement. Throws PostgresFailed. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface Postgres extends Statements {
  /** Runs `work` in one transaction, which is rolled back if it throws. */
  transaction<Answer>(work: (statements: Statements) => Promise<Answer>): Promise<Answer>;
  /** Ends all connections. Never rejects. */
  close(): Promise<void>;
}

export interface PostgresLimits {
  readonly mostConnections: number;
  readonly connectMs: number;
  /** How long one statement may take, enforced by the server. The client waits a little longer and then closes the connection. */
  readonly statementMs: number;
}

/** How much longer than the server's own limit an answer may take. */
const GRACE_MS = 2000;
const IDLE_MS = 30_000;

/** No connection is opened before the first statement. */
export function makePostgres(address: PostgresAddress, limits: PostgresLimits): Postgres {
  const { tls, password, ...where } = address;
  const pool = new pg.Pool({
    ...where,
    password,
    ssl: tls ?? false,
    application_name: 'davit',
    max: limits.mostConnections,
    connectionTimeoutMillis: limits.connectMs,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: limits.statementMs,
    // Who waits for a lock of somebody else holds up everybody behind.
    lock_timeout: limits.statementMs,
    query_timeout: limits.statementMs + GRACE_MS,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // A connection that breaks while nobody uses it: the pool opens another one.
  pool.on('error', () => undefined);
  const failed = (error: unknown): PostgresFailed => asFailure(error, password);

  return {
    query: (text, values) => rowsOf(pool, text, values).catch((error: unknown) => Promise.reject(failed(error))),
    async transaction(work) {
      const client = await pool.connect().catch((error: unknown) => Promise.reject(failed(error)));
      let broken: Error | undefined;
      const onError = (error: Error): void => {
        broken = error;
      };
      client.on('error', onError);
      const statements: Statements = {
        query: (text, values) => rowsOf(client, text, values).catch((error: unknown) => Promise.reject(failed(error))),
      };
      try {
        await statements.query('begin');
        const answer = await work(statements);
        await statements.query('commit');
        return answer;
      } catch (error) {
        // Whatever the state of the connection is, nobody else gets it.
        broken ??= error instanceof Error ? error : new Error(String(error));
        throw error;
      } finally {
        client.off('error', onError);
        client.release(broken);
      }
    },
    close: () => pool.end().catch(() => undefined),
  };
}

async function rowsOf(
  on: Pick<pg.Pool | pg.PoolClient, 'query'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { rows } = await on.query<Record<string, unknown>>(text, [...values]);
  return rows;
}

function asFailure(error: unknown, password: string): PostgresFailed {
  if (error instanceof PostgresFailed) return error;
  const { message = String(error), code } = (error instanceof Error ? error : {}) as {
    message?: string;
    code?: unknown;
  };
  const words = password === '' ? message : message.replaceAll(password, '(password)');
  // Errors of the network have codes of their own, such as ECONNREFUSED.
  const isState = error instanceof pg.DatabaseError && typeof code === 'string';
  const text = words === '' && typeof code === 'string' ? code : words;
  return new PostgresFailed(text, isState ? code : undefined);
}
