// What is stored of an authorization that a person has not finished: the flow, which the link to the consent page names, and the
// state, which the provider returns. Both are single Secrets, so any replica of the facade may serve the next step.

import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AlreadyExists } from '../../lib/errors.ts';
import { HttpError } from '../../lib/http/http-error.ts';
import { jsonOf } from '../../lib/json-value.ts';
import type { OAuthProvider } from '../../schema/oauth-provider.ts';
import type { ReadKeys } from './keys.ts';
import { digestOf, idOf, type Subject, stateId } from './names.ts';
import { isRandomValue, randomValue } from './random.ts';
import { type Entry, replaceIfSame, type Vault } from './vault.ts';

/** How long a person has. */
export const FLOW_MS = 600_000;
/** Unfinished authorizations of a tenant, and states of each kind. A person needs one of each. */
const MOST_OF_TENANT = 500;

/** What the person is asked for. */
const Request = z.object({
  scopes: z.array(z.string()),
  /** agent_id, for the page. */
  agentId: z.string().optional(),
  /** Who asks. */
  requester: z.object({
    username: z.string(),
    deployment: z.object({ name: z.string(), uid: z.string() }).optional(),
  }),
  isDefault: z.boolean(),
});
export type Request = z.output<typeof Request>;

/** `tokenId`: the token that was stored. Absent until then. */
export const FlowAbout = z.object({ expiresAt: z.string(), tokenId: z.string().optional() });
export type FlowAbout = z.output<typeof FlowAbout>;
const StateAbout = z.object({ expiresAt: z.string() });

const FlowValues = z.object({ nonce: z.string(), request: Request });
const StateValues = z.object({
  request: Request,
  flow: z.string(),
  /** Absent where the provider uses no PKCE. */
  verifier: z.string().optional(),
  redirectUri: z.string(),
  /** Digest of the browser's cookie. */
  browser: z.string(),
});
type StateValues = z.output<typeof StateValues>;

export interface OpenFlow {
  readonly entry: Entry<FlowAbout>;
  readonly request: Request;
  readonly provider: OAuthProvider;
  /** Names the flow and proves that its bearer got the link. */
  readonly authId: string;
}

export interface OpenState extends StateValues {
  readonly subject: Subject;
  readonly provider: OAuthProvider;
}

export interface Flows {
  /** The one unfinished authorization for this subject and these scopes; begins it if there is none. Throws HttpError 429. */
  begin(subject: Subject, provider: OAuthProvider, request: Request): Promise<OpenFlow>;
  /** Undefined if there is none, it is over, or its provider has changed. */
  find(authId: string): Promise<OpenFlow | undefined>;
  /** Stores a state and returns it: 256 random bits. */
  addState(flow: OpenFlow, values: Omit<StateValues, 'request' | 'flow'>): Promise<string>;
  /** Takes a state out of the store, so that nobody else gets it. Undefined if there is none. */
  takeState(state: string): Promise<OpenState | undefined>;
  /** The token is stored: who waits is told. */
  finish(flowId: string, tokenId: string): Promise<void>;
  /** The person or the provider refused. */
  drop(flowId: string): Promise<void>;
}

export interface FlowsOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  /** The provider of a subject, if the subject's tenant still exists. */
  readonly providerOf: (subject: Subject) => OAuthProvider | undefined;
  readonly now: () => Date;
}

const AUTH_ID = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/;

export function makeFlows({ vault, keys, providerOf, now }: FlowsOptions): Flows {
  const ends = (): string => new Date(now().getTime() + FLOW_MS).toISOString();
  const isOver = ({ expiresAt }: { readonly expiresAt: string }): boolean => Date.parse(expiresAt) <= now().getTime();

  const makeRoom = makeSweep(vault, isOver);

  async function opened(entry: Entry<FlowAbout> | undefined): Promise<OpenFlow | undefined> {
    const provider = entry && providerOf(entry.subject);
    if (!entry || !provider || isOver(entry.about)) return undefined;
    const parsed = FlowValues.safeParse(jsonOf((await vault.open(entry, provider))?.text));
    if (!parsed.success) return undefined;
    return { entry, provider, request: parsed.data.request, authId: `${entry.id}.${parsed.data.nonce}` };
  }

  async function begin(subject: Subject, provider: OAuthProvider, request: Request): Promise<OpenFlow> {
    const id = idOf(await keys(), 'flow', subject, [String(request.isDefault), ...request.scopes.toSorted()]);
    const before = await vault.read('flow', id, FlowAbout);
    const found = await opened(before);
    if (found && found.entry.about.tokenId === undefined) return found;
    if (before) await vault.take(before);
    await makeRoom('flow', subject.tenant);
    const nonce = randomValue();
    const entry: Entry<FlowAbout> = { kind: 'flow', id, subject, about: { expiresAt: ends() } };
    const sealed = await vault.seal(entry, provider, JSON.stringify({ nonce, request }));
    try {
      return { entry: await vault.create({ ...entry, sealed }), provider, request, authId: `${id}.${nonce}` };
    } catch (error) {
      // Another replica has begun it in the same moment.
      const theirs = error instanceof AlreadyExists ? await opened(await vault.read('flow', id, FlowAbout)) : undefined;
      if (theirs) return theirs;
      throw error;
    }
  }

  return {
    begin,
    async find(authId) {
      const [, id] = AUTH_ID.exec(authId) ?? [];
      const flow = id === undefined ? undefined : await opened(await vault.read('flow', id, FlowAbout));
      return flow && isSame(flow.authId, authId) ? flow : undefined;
    },
    async addState({ entry: { id: flow, subject }, provider, request }, values) {
      await makeRoom('state', subject.tenant);
      const state = randomValue();
      const entry = { kind: 'state', id: stateId(state), subject, about: { expiresAt: ends() } } as const;
      const sealed = await vault.seal(entry, provider, JSON.stringify({ ...values, request, flow }));
      await vault.create({ ...entry, sealed });
      return state;
    },
    async takeState(state) {
      if (!isRandomValue(state)) return undefined;
      const entry = await vault.read('state', stateId(state), StateAbout);
      // Whoever deletes it has it; another request with the same state comes too late.
      if (!entry || !(await vault.take(entry)) || isOver(entry.about)) return undefined;
      const provider = providerOf(entry.subject);
      if (!provider) return undefined;
      const values = StateValues.safeParse(jsonOf((await vault.open(entry, provider))?.text));
      return values.success ? { ...values.data, subject: entry.subject, provider } : undefined;
    },
    async finish(flowId, tokenId) {
      const entry = await vault.read('flow', flowId, FlowAbout);
      // If another answer has finished it, or a new flow has begun, the token is stored all the same.
      if (entry) await replaceIfSame(vault, { ...entry, about: { ...entry.about, tokenId } });
    },
    async drop(flowId) {
      const entry = await vault.read('flow', flowId, FlowAbout);
      if (entry) await vault.take(entry);
    },
  };
}

/** Deletes what is over, and refuses more than the limit. Nothing else deletes it. */
function makeSweep(
  vault: Vault,
  isOver: (about: { readonly expiresAt: string }) => boolean,
): (kind: 'flow' | 'state', tenant: string) => Promise<void> {
  return async (kind, tenant) => {
    const all = await vault.list(kind, { tenant }, StateAbout);
    const over = all.filter(({ about }) => isOver(about));
    await Promise.all(over.slice(0, 100).map((entry) => vault.take(entry)));
    if (all.length - over.length >= MOST_OF_TENANT)
      throw new HttpError(
        429,
        `The tenant has ${MOST_OF_TENANT} authorizations that nobody has finished. They end after ten minutes.`,
        { 'retry-after': '60' },
      );
  };
}

/** Digest of a cookie's value, as the state has it. */
export function isBrowser(cookie: string | undefined, { browser }: Pick<StateValues, 'browser'>): boolean {
  return cookie !== undefined && isSame(digestOf(cookie), browser);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
