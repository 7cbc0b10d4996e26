// What the sample keeps in PostgreSQL: the items it is sent, and its jobs with their results.
import pg from 'pg';
import type { Role } from './config.ts';
import { errorText, type Log } from './log.ts';

export interface Item {
  readonly id: number;
  readonly text: string;
}

export interface QueuedJob {
  readonly id: string;
  readonly text: string;
}

export interface Job {
  readonly id: string;
  readonly status: 'pending' | 'done';
  readonly result: string | null;
  readonly workedBy: { readonly pod: string; readonly role: Role } | null;
}

export interface Store {
  /** Answers if the database does, and makes the tables. */
  prepare(): Promise<void>;
  addItem(text: string): Promise<Item>;
  listItems(): Promise<Item[]>;
  getItem(id: number): Promise<Item | undefined>;
  countItems(): Promise<number>;
  addJob(job: QueuedJob): Promise<void>;
  getJob(id: string): Promise<Job | undefined>;
  finishJob(id: string, result: string, pod: string, role: Role): Promise<void>;
  /** Jobs nobody has finished in a while, now counted as queued again: their worker or the queue was lost. */
  takeStaleJobs(olderThanSeconds: number): Promise<QueuedJob[]>;
  close(): Promise<void>;
}

/** The database can't be asked just now. Not the caller's fault, and worth trying again. */
export class StoreUnavailable extends Error {}

const tables = `
  create table if not exists items (
    id bigint generated always as identity primary key, text text not null, created_at timestamptz not null default now());
  create table if not exists jobs (
    id text primary key, text text not null, status text not null default 'pending', result text,
    pod text, role text, queued_at timestamptz not null default now(), done_at timestamptz);`;

/** Listed newest first, so that a long life doesn't make the answer long. */
const listLimit = 1000;

export function openStore(uri: string, log: Log): Store {
  const pool = new pg.Pool({
    connectionString: uri,
    max: 10,
    connectionTimeoutMillis: 3000,
    idleTimeoutMillis: 30_000,
    query_timeout: 5000,
    application_name: 'davit-sample',
    keepAlive: true,
  });
  // An idle connection that the server ends is reported here; unheard, it would end this process.
  pool.on('error', (error) => log('warn', 'Database connection lost', { error: errorText(error) }));

  async function query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    try {
      const { rows } = await pool.query<R>(text, values);
      return rows;
    } catch (error) {
      if (isAnswer(error)) throw error;
      throw new StoreUnavailable('the database does not answer', { cause: error });
    }
  }

  return {
    async prepare() {
      // The lock makes the pods of one deployment take turns: `if not exists` alone fails when two create at once.
      await query(`begin; select pg_advisory_xact_lock(7235001); ${tables} commit`);
    },
    async addItem(text) {
      const rows = await query<Row>('insert into items (text) values ($1) returning id, text', [text]);
      return toItem(first(rows));
    },
    async listItems() {
      return (await query<Row>(`select id, text from items order by id desc limit ${listLimit}`)).map(toItem);
    },
    async getItem(id) {
      return (await query<Row>('select id, text from items where id = $1', [id])).map(toItem)[0];
    },
    async countItems() {
      return Number(first(await query<{ count: string }>('select count(*) from items')).count);
    },
    async addJob({ id, text }) {
      await query('insert into jobs (id, text) values ($1, $2)', [id, text]);
    },
    async getJob(id) {
      const rows = await query<JobRow>('select id, status, result, pod, role from jobs where id = $1', [id]);
      return rows.map(toJob)[0];
    },
    async finishJob(id, result, pod, role) {
      // The first worker to finish is the one that did it, should a job have been queued twice.
      await query(
        `update jobs set status = 'done', result = $2, pod = $3, role = $4, done_at = now() where id = $1 and status = 'pending'`,
        [id, result, pod, role],
      );
    },
    async takeStaleJobs(olderThanSeconds) {
      return query<{ id: string; text: string }>(
        `update jobs set queued_at = now() where status = 'pending' and queued_at < now() - make_interval(secs => $1)
         returning id, text`,
        [olderThanSeconds],
      );
    },
    close: () => pool.end(),
  };
}

interface Row {
  id: string;
  text: string;
}

interface JobRow {
  id: string;
  status: 'pending' | 'done';
  result: string | null;
  pod: string | null;
  role: Role | null;
}

/** bigint comes as text, for it may be longer than a number; these never are. */
function toItem(row: Row): Item {
  return { id: Number(row.id), text: row.text };
}

function toJob({ id, status, result, pod, role }: JobRow): Job {
  return { id, status, result, workedBy: pod !== null && role !== null ? { pod, role } : null };
}

function first<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw new Error('the database answered without a row');
  return row;
}

/** Of the errors that carry an SQLSTATE, classes 08, 53 and 57 (connection, resources, shutdown) are passing. */
function isAnswer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(?:08|53|57)/.test(error.code ?? '');
}
