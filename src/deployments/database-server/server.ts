// The shared server, as the reconcilers use it: one look that writes nothing, and steps. The controller alone speaks to it.

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  makePostgres,
  type Postgres,
  type PostgresAddress,
  PostgresFailed,
  type Statements,
} from '../../lib/outbound/postgres.ts';
import {
  type Found,
  GIVES_CONNECTIONS,
  type Next,
  SETS_PASSWORD,
  type ServerFacts,
  type ServerView,
  type Step,
} from '../record/shared-database.ts';
import { scramVerifier } from './scram.ts';
import { ALREADY_SO, LOOK, statementsOf } from './statements.ts';

/** Everything on the server whose name begins so. */
export interface Survey {
  readonly facts: ServerFacts;
  readonly found: ReadonlyMap<string, Found>;
}

export interface SharedServer {
  /** Throws PostgresFailed. */
  survey(prefix: string): Promise<Survey>;
  /**
   * Takes steps until `decide` has none, and returns its last answer with what was seen. `password` is read where a step needs it.
   * `mayGoOn` is asked before each step. Throws PostgresFailed, and what `password` throws.
   */
  advance(name: string, decide: (view: ServerView) => Next, options: AdvanceOptions): Promise<Advanced>;
  close(): Promise<void>;
}

export interface AdvanceOptions {
  readonly password: () => Promise<string>;
  readonly mayGoOn: () => boolean;
}

export interface Advanced {
  readonly next: Next;
  readonly view: ServerView;
  /** What was done, for the log. */
  readonly steps: readonly Step['do'][];
}

const LIMITS = { mostConnections: 4, connectMs: 5000, statementMs: 30_000 };
/** More than any record needs: two writers that undo each other's steps do not go on for ever. */
const MOST_STEPS = 16;
/** Key of the advisory lock, in the administrator's database, of whoever gives connections away. Other clusters use it too. */
const TURN = 0x6461_7669;

/** No connection is opened before it is asked. */
export function makeSharedServer(address: PostgresAddress, limits = LIMITS): SharedServer {
  const postgres = makePostgres(address, limits);
  return {
    async survey(prefix) {
      const { facts, found } = await look(postgres, prefix);
      return { facts, found };
    },
    async advance(name, decide, { password, mayGoOn }) {
      const steps: Step['do'][] = [];
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- each step follows from what the one before has left
        const seen = await look(postgres, name);
        const view = viewOf(seen, name);
        const next = decide(view);
        if (next.is !== 'step' || steps.length >= MOST_STEPS || !mayGoOn()) return { next, view, steps };
        // oxlint-disable-next-line no-await-in-loop -- as above
        const verifier = SETS_PASSWORD.has(next.step.do) ? scramVerifier(await password(), randomBytes(16)) : undefined;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await take(postgres, next.step, name, decide, seen.isSuperuser, verifier);
        steps.push(next.step.do);
      }
    },
    close: () => postgres.close(),
  };
}

async function take(
  postgres: Postgres,
  step: Step,
  name: string,
  decide: (view: ServerView) => Next,
  isSuperuser: boolean,
  verifier: string | undefined,
): Promise<void> {
  try {
    if (!GIVES_CONNECTIONS.has(step.do)) return await runAll(postgres, statementsOf(step, isSuperuser, verifier));
    await postgres.transaction(async (statements) => {
      await statements.query('select pg_advisory_xact_lock($1)', [TURN]);
      const again = decide(viewOf(await look(statements, name), name));
      if (again.is === 'step' && again.step.do === step.do)
        await runAll(statements, statementsOf(again.step, isSuperuser, verifier));
    });
  } catch (error) {
    // Somebody was quicker; what is there now is looked at again.
    if (!(error instanceof PostgresFailed && error.code !== undefined && ALREADY_SO.has(error.code))) throw error;
  }
}

async function runAll(statements: Statements, texts: readonly string[]): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (const text of texts) await statements.query(text);
}

const Named = z.object({ name: z.string() });
const Roles = z.array(
  Named.extend({
    mark: z.string().nullable(),
    canLogin: z.boolean(),
    connections: z.int(),
    elevated: z.array(z.string()),
  }),
);
const Databases = z.array(Named.extend({ owner: z.string(), publicConnects: z.boolean(), isOpen: z.boolean() }));
const LookRow = z.object({
  version: z.int(),
  read_only: z.boolean(),
  superuser: z.boolean(),
  may_manage: z.boolean(),
  connections: z.int(),
  given: z.int(),
  roles: Roles,
  databases: Databases,
});

interface Look extends Survey {
  readonly isSuperuser: boolean;
}

async function look(statements: Statements, prefix: string): Promise<Look> {
  const [row] = await statements.query(LOOK, [prefix]);
  const { version, read_only, superuser, may_manage, connections, given, roles, databases } = LookRow.parse(row);
  const found = new Map<string, Found>();
  for (const { name, mark, ...role } of roles) found.set(name, { role: { ...role, mark: mark ?? undefined } });
  for (const { name, ...database } of databases) found.set(name, { ...found.get(name), database });
  const facts = { version, isReadOnly: read_only, mayManage: may_manage, connections, given };
  return { facts, found, isSuperuser: superuser };
}

function viewOf({ facts, found }: Look, name: string): ServerView {
  return { facts, found: found.get(name) ?? {} };
}
