// The databases on the shared server. A pass of a record reads what the last look has shown, and asks for the rest: a controller of its own
// speaks to the server, so that no pass waits for it. One survey a minute looks at all databases; at rest nothing else is asked.

import type { Reconcile } from '../lib/controller/controller.ts';
import { keyOf, refOf } from '../lib/controller/keys.ts';
import type { Logger } from '../lib/logger.ts';
import { PostgresFailed } from '../lib/outbound/postgres.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { SharedServerSettings } from '../schema/settings.ts';
import type { Caches } from './cluster/caches.ts';
import type { SharedServer, Survey } from './database-server/server.ts';
import { isOfServer, serverTroubleOf } from './database-server/troubles.ts';
import { uidOf } from './record/metadata.ts';
import {
  type Found,
  mayBeDropped,
  type Next,
  nextForGone,
  nextForThere,
  type ServerFacts,
  type ServerTrouble,
  type ServerView,
  type SharedOrder,
  type SharedView,
} from './record/shared-database.ts';

/** Name of the controller that speaks to the server. */
export const SHARED_DATABASES = 'shared-databases';
/** Key of the survey among the keys of records, which have a namespace. */
export const SURVEY = '/survey';

const SURVEY_MS = 60_000;
/** Delays between looks at a server that does not answer. They double. */
const SOONEST_MS = 5_000;
/** After a step for one record that the server refused. */
const AGAIN_MS = 30_000;

export interface SharedDatabases {
  /** What is known of the database of this name, which belongs to the record. */
  view(record: AppDeployment, name: string): SharedView;
  /** Has it made or dropped. An order that stands is not given again. */
  order(record: AppDeployment, order: SharedOrder): void;
  /** The record of this database is woken when the server has more room. */
  awaitRoom(name: string): void;
}

interface Seen {
  readonly key: string;
  found?: Found;
  trouble?: ServerTrouble;
  /** As JSON, of what was given last. */
  ordered?: string;
  /** It did not get the connections that it asks for. */
  isShort?: true;
}

/** What is known, and what is asked for. */
export interface SharedKnowledge extends SharedDatabases {
  /** By name of the database. */
  readonly seen: Map<string, Seen>;
  /** By uid of the record. */
  readonly orders: Map<string, SharedOrder>;
  facts?: ServerFacts;
  trouble?: ServerTrouble;
}

export interface SharedWakes {
  /** Enqueues a key of the controller that speaks to the server. */
  readonly ask: (key: string) => void;
  /** Enqueues the record of this key. */
  readonly changed: (key: string) => void;
}

/** `server`: undefined where the platform has none. */
export function makeSharedKnowledge(
  server: Pick<SharedServerSettings, 'reservedConnections'> | undefined,
  { ask }: Pick<SharedWakes, 'ask'>,
): SharedKnowledge {
  const knowledge: SharedKnowledge = {
    seen: new Map(),
    orders: new Map(),
    view(record, name) {
      if (server === undefined) return { is: 'unconfigured' };
      const { facts, trouble, seen } = knowledge;
      const one: Seen = seen.get(name) ?? { key: keyOf(record.metadata.namespace, record.metadata.name) };
      seen.set(name, one);
      if (trouble) return { is: 'troubled', trouble };
      if (facts === undefined) {
        ask(SURVEY);
        return { is: 'unknown' };
      }
      const view = { facts, found: one.found ?? {} };
      return { is: 'seen', view, reserved: server.reservedConnections, ...(one.trouble && { trouble: one.trouble }) };
    },
    order(record, order) {
      const one = knowledge.seen.get(order.wanted.name);
      const text = JSON.stringify(order);
      if (one === undefined || one.ordered === text) return;
      one.ordered = text;
      knowledge.orders.set(uidOf(record), order);
      ask(one.key);
    },
    awaitRoom(name) {
      const one = knowledge.seen.get(name);
      if (one) one.isShort = true;
    },
  };
  return knowledge;
}

export interface SharedDatabaseOptions {
  readonly knowledge: SharedKnowledge;
  readonly settings: SharedServerSettings;
  readonly caches: Pick<Caches, 'records'>;
  /** The server with the credentials that the administrator's Secret has now. Throws PostgresFailed. */
  readonly server: () => Promise<SharedServer>;
  /** The password in this Secret of the record's. Throws if there is none. */
  readonly passwordOf: (record: AppDeployment, secret: string) => Promise<string>;
  readonly wakes: SharedWakes;
  /** Aborts when this process leads no more. */
  readonly leading: AbortSignal;
}

/** Returns a reconciler whose keys are SURVEY and those of records. It writes to the server alone. */
export function makeSharedDatabaseReconciler(options: SharedDatabaseOptions): Reconcile {
  let failures = 0;
  return async function reconcile(key, _signal, log) {
    if (key === SURVEY) {
      // A platform whose records use other drivers asks nothing.
      forgetGone(options);
      if (options.knowledge.seen.size === 0) {
        delete options.knowledge.facts;
        return {};
      }
      const isWell = await survey(options, log);
      failures = isWell ? 0 : failures + 1;
      return { requeueAfterMs: isWell ? SURVEY_MS : Math.min(SURVEY_MS, SOONEST_MS * 2 ** (failures - 1)) };
    }
    const { knowledge, caches, wakes } = options;
    const record = caches.records.get(refOf(key));
    const order = knowledge.orders.get(record?.metadata.uid ?? '');
    // While the server is in trouble, the survey alone asks it. Its records are woken afterwards, and give their orders again.
    if (!record || !order || knowledge.trouble) return {};
    const one = knowledge.seen.get(order.wanted.name);
    if (one === undefined) return {};
    if (!isAsked(order, record)) {
      knowledge.orders.delete(uidOf(record));
      delete one.ordered;
      return {};
    }
    const trouble = await carryOut(record, order, one, options, log);
    if (knowledge.orders.get(uidOf(record)) !== order) return { requeueAfterMs: 1 };
    if (trouble === undefined) {
      knowledge.orders.delete(uidOf(record));
      delete one.ordered;
    }
    wakes.changed(key);
    return trouble ? { requeueAfterMs: AGAIN_MS } : {};
  };
}

/** An order may wait for long, and what it drops may be wanted again meanwhile. Otherwise a pass gives it once more. */
function isAsked({ is }: SharedOrder, record: AppDeployment | undefined): boolean {
  return is === 'there' || (record !== undefined && mayBeDropped(record));
}

/** Returns why the order must be tried again, if it must. */
async function carryOut(
  record: AppDeployment,
  order: SharedOrder,
  one: Seen,
  options: SharedDatabaseOptions,
  log: Logger,
): Promise<ServerTrouble | undefined> {
  const { knowledge, passwordOf, leading, caches } = options;
  const { name } = order.wanted;
  const decide = (view: ServerView): Next =>
    order.is === 'there' ? nextForThere(view, order.wanted) : nextForGone(view, order.wanted);
  try {
    const server = await options.server();
    const { view, steps } = await server.advance(name, decide, {
      // What is dropped needs none.
      password: () => passwordOf(record, order.is === 'there' ? order.secret : ''),
      // The record may want something else by now.
      mayGoOn: () =>
        !leading.aborted &&
        knowledge.orders.get(uidOf(record)) === order &&
        isAsked(order, caches.records.get(refOf(one.key))),
    });
    if (steps.length > 0) log.info({ database: name, steps }, 'Changed a database of the shared server');
    one.found = view.found;
    knowledge.facts = view.facts;
    delete one.trouble;
    return undefined;
  } catch (error) {
    if (!(error instanceof PostgresFailed)) throw error;
    const trouble = serverTroubleOf(error);
    log.warn({ database: name, code: error.code, problem: trouble.message }, 'The shared server refused a step');
    if (isOfServer(error.code)) troubled(trouble, options);
    else one.trouble = trouble;
    return trouble;
  }
}

/** Returns whether the server answered. Wakes the records about whose database something is new. */
async function survey(options: SharedDatabaseOptions, log: Logger): Promise<boolean> {
  const { knowledge, settings, wakes } = options;
  let seen: Survey;
  try {
    const server = await options.server();
    seen = await server.survey(`${settings.installation}_`);
  } catch (error) {
    if (!(error instanceof PostgresFailed)) throw error;
    const trouble = serverTroubleOf(error);
    if (knowledge.trouble?.message !== trouble.message)
      log.warn({ code: error.code, problem: trouble.message }, 'The shared server cannot be used');
    troubled(trouble, options);
    return false;
  }
  const isNew = knowledge.trouble !== undefined || knowledge.facts === undefined;
  delete knowledge.trouble;
  const hasOtherRoom = JSON.stringify(knowledge.facts) !== JSON.stringify(seen.facts);
  knowledge.facts = seen.facts;
  for (const [name, one] of knowledge.seen) {
    const found = seen.found.get(name) ?? {};
    const isChanged = JSON.stringify(found) !== JSON.stringify(one.found ?? {});
    // An order that failed meanwhile is given again.
    if (isNew) delete one.ordered;
    one.found = found;
    const hears = isNew || isChanged || (hasOtherRoom && one.isShort === true);
    if (hasOtherRoom) delete one.isShort;
    if (hears) wakes.changed(one.key);
  }
  return true;
}

function troubled(trouble: ServerTrouble, { knowledge, wakes }: SharedDatabaseOptions): void {
  const isNews = knowledge.trouble?.message !== trouble.message;
  knowledge.trouble = trouble;
  if (!isNews) return;
  for (const { key } of knowledge.seen.values()) wakes.changed(key);
  wakes.ask(SURVEY);
}

/** What is known of databases whose records are gone. */
function forgetGone({ knowledge, caches }: SharedDatabaseOptions): void {
  for (const [name, { key }] of knowledge.seen) if (!caches.records.get(refOf(key))) knowledge.seen.delete(name);
  const uids = new Set(caches.records.list().map(({ metadata }) => metadata.uid));
  for (const uid of knowledge.orders.keys()) if (!uids.has(uid)) knowledge.orders.delete(uid);
}
