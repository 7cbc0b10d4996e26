// The shared server in memory: roles and databases as the steps leave them. The decisions are the real ones.

import type { Advanced, AdvanceOptions, SharedServer } from '../../src/deployments/database-server/server.ts';
import type {
  Found,
  Next,
  RoleThere,
  ServerFacts,
  ServerView,
  Step,
} from '../../src/deployments/record/shared-database.ts';
import { type PostgresAddress, PostgresFailed } from '../../src/lib/outbound/postgres.ts';

export interface FakeSharedServer {
  /** Connects, as the controller does. */
  make: (address: PostgresAddress) => SharedServer;
  /** What is there, by name. */
  readonly found: Map<string, Found>;
  /** The passwords of roles, as they were set last. */
  readonly passwords: Map<string, string>;
  /** Steps since the last call, as `create role davit_...`. */
  steps(): string[];
  /** How often it was asked anything since the last call. */
  asked(): number;
  /** Users and passwords with which somebody has connected. */
  readonly logins: string[];
  facts: ServerFacts;
  /** Every question fails so; the code is undefined where nothing answers. */
  down: { readonly code: string | undefined; readonly message: string } | undefined;
  /** Called before each step; what it throws, the step throws. */
  before: (step: Step) => void;
}

const FACTS: ServerFacts = { version: 150_004, isReadOnly: false, mayManage: true, connections: 100, given: 0 };

export function makeFakeSharedServer(): FakeSharedServer {
  let [steps, asked]: [string[], number] = [[], 0];
  const fake: FakeSharedServer = {
    found: new Map(),
    passwords: new Map(),
    logins: [],
    facts: FACTS,
    down: undefined,
    before: () => undefined,
    steps: () => steps.splice(0),
    asked() {
      const before = asked;
      asked = 0;
      return before;
    },
    make(address) {
      fake.logins.push(`${address.user}:${address.password}`);
      return { survey, advance, close: () => Promise.resolve() };
    },
  };

  function look(): ServerFacts {
    asked += 1;
    if (fake.down) throw new PostgresFailed(fake.down.message, fake.down.code);
    const limits = Array.from(fake.found.values(), ({ role }) => Math.max(0, role?.connections ?? 0));
    return { ...fake.facts, given: limits.reduce((sum, limit) => sum + limit, fake.facts.given) };
  }

  const survey: SharedServer['survey'] = async (prefix) => {
    const facts = await Promise.resolve().then(look);
    return { facts, found: new Map([...fake.found].filter(([name]) => name.startsWith(prefix))) };
  };

  async function advance(
    name: string,
    decide: (view: ServerView) => Next,
    { password, mayGoOn }: AdvanceOptions,
  ): Promise<Advanced> {
    const done: Step['do'][] = [];
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- step by step
      const view = { facts: await Promise.resolve().then(look), found: fake.found.get(name) ?? {} };
      const next = decide(view);
      if (next.is !== 'step' || !mayGoOn()) return { next, view, steps: done };
      const { step } = next;
      fake.before(step);
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (step.do === 'create role' || step.do === 'create database') fake.passwords.set(name, await password());
      steps = [...steps, `${step.do} ${name}`];
      done.push(step.do);
      const after = afterStep(fake.found.get(name) ?? {}, step);
      if (after.role ?? after.database) fake.found.set(name, after);
      else fake.found.delete(name);
    }
  }
  return fake;
}

const NEW_ROLE: RoleThere = { mark: undefined, canLogin: true, connections: 0, elevated: [] };
const CLOSED = { owner: '', publicConnects: true, isOpen: false };

/** What a step leaves of what was there. */
export function afterStep({ role = NEW_ROLE, database = CLOSED, ...found }: Found, step: Step): Found {
  const both = { role, database };
  switch (step.do) {
    case 'create role':
      return { ...found, role: { ...NEW_ROLE, mark: step.mark, connections: step.connections } };
    case 'create database':
      return { role, database: { ...CLOSED, owner: step.name } };
    case 'restrict role':
      return { ...both, role: { ...role, elevated: [] } };
    case 'close to others':
      return { ...both, database: { ...database, publicConnects: false } };
    case 'open':
      return { ...both, database: { ...database, isOpen: true } };
    case 'limit':
      return { ...both, role: { ...role, connections: step.connections } };
    case 'lock role':
      return { ...both, role: { ...role, canLogin: false } };
    case 'drop database':
      return { role };
    case 'drop role':
      return {};
  }
}
