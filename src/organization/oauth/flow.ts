// What is stored of an authorization that a person has not finished: the flow, which the link to the consent page names; the state, which
// the provider returns; and the confirmation, which a tenant's verifier returns. Each is a Secret, so any replica of the facade may serve
// the next step.

import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AlreadyExists } from '../../lib/errors.ts';
import { HttpError } from '../../lib/http/http-error.ts';
import { jsonOf } from '../../lib/json-value.ts';
import type { OAuthProvider } from '../../schema/oauth-provider.ts';
import type { ReadKeys } from './keys.ts';
import { digestOf, idOf, type Subject, valueId } from './names.ts';
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
/** `answer`: the parameters with which the provider returned the browser, as a query. */
const ConfirmationValues = StateValues.extend({ answer: z.string() });

/** What a random value leads to, once. */
type SingleUse = 'state' | 'confirmation';

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

export interface OpenConfirmation extends OpenState {
  readonly answer: string;
  /** Takes it out of the store, so that nobody else gets it. False if somebody else has. */
  take(): Promise<boolean>;
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
  /** Stores the answer to a state that was taken, until the person is confirmed, and returns its name: 256 random bits. */
  addConfirmation(taken: OpenState, answer: string): Promise<string>;
  /** Undefined if there is none, it is over, or its provider has changed. */
  findConfirmation(confirmation: string): Promise<OpenConfirmation | undefined>;
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
  const { add, find } = makeSingleUses({ vault, providerOf }, { ends, isOver, makeRoom });

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
    addState: ({ entry: { id: flow, subject }, provider, request }, values) =>
      add('state', subject, provider, { ...values, request, flow }),
    async takeState(state) {
      const found = await find('state', state, StateValues);
      if (found === undefined) return undefined;
      const { take, ...open } = found;
      // Whoever deletes it has it; another request with the same state comes too late.
      return (await take()) ? open : undefined;
    },
    addConfirmation: ({ subject, provider, ...values }, answer) =>
      add('confirmation', subject, provider, { ...values, answer }),
    findConfirmation: (confirmation) => find('confirmation', confirmation, ConfirmationValues),
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

interface Times {
  /** When something ends that begins now. */
  readonly ends: () => string;
  readonly isOver: (about: { readonly expiresAt: string }) => boolean;
  readonly makeRoom: ReturnType<typeof makeSweep>;
}

interface SingleUses {
  /** Stores something under a random value, which is returned and is not stored. */
  add(kind: SingleUse, subject: Subject, provider: OAuthProvider, values: object): Promise<string>;
  /** Undefined if there is none, it is over, or its provider has changed. */
  find<Values extends StateValues>(
    kind: SingleUse,
    value: string,
    schema: z.ZodType<Values>,
  ): Promise<(Values & OpenState & Pick<OpenConfirmation, 'take'>) | undefined>;
}

/** What is found by a random value that a browser brings, and taken once. */
function makeSingleUses(
  { vault, providerOf }: Pick<FlowsOptions, 'vault' | 'providerOf'>,
  { ends, isOver, makeRoom }: Times,
): SingleUses {
  return {
    async add(kind, subject, provider, values) {
      await makeRoom(kind, subject.tenant);
      const value = randomValue();
      const entry = { kind, id: valueId(value), subject, about: { expiresAt: ends() } };
      await vault.create({ ...entry, sealed: await vault.seal(entry, provider, JSON.stringify(values)) });
      return value;
    },

    async find(kind, value, schema) {
      const entry = isRandomValue(value) ? await vault.read(kind, valueId(value), StateAbout) : undefined;
      const provider = entry && providerOf(entry.subject);
      if (!entry || !provider || isOver(entry.about)) return undefined;
      const values = schema.safeParse(jsonOf((await vault.open(entry, provider))?.text));
      if (!values.success) return undefined;
      return { ...values.data, subject: entry.subject, provider, take: () => vault.take(entry) };
    },
  };
}

/** Deletes what is over, and refuses more than the limit. Nothing else deletes it. */
function makeSweep(
  vault: Vault,
  isOver: (about: { readonly expiresAt: string }) => boolean,
): (kind: 'flow' | SingleUse, tenant: string) => Promise<void> {
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
