// What is stored of an authorization that a person has not finished: the flow, which the link to the consent page names; the state, which
// the provider returns; and the confirmation, which a tenant's verifier returns. Each is a Secret, so any replica of the facade may serve
// the next step.

import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { AlreadyExists } from '../../runtime/errors.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import type { ReadKeys } from './keys.ts';
import { digestOf, idOf, linkOf, linkValue, type Subject, stateId } from './names.ts';
import { isRandomValue } from './random.ts';
import { type Entry, put, replaceIfSame, type Vault } from './vault.ts';

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
type StateAbout = z.output<typeof StateAbout>;

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
const ConfirmationValues = StateValues.extend({ answer: z.string(), secret: z.string(), isConfirmed: z.boolean() });

export interface OpenFlow {
  readonly entry: Entry<FlowAbout>;
  readonly request: Request;
  readonly provider: OAuthProvider;
  /** Names the flow and proves that its bearer got the link. */
  readonly authId: string;
  /** Whether this call began it. */
  readonly isNew?: boolean;
}

export interface OpenState extends StateValues {
  readonly subject: Subject;
  readonly provider: OAuthProvider;
}

/** `asked`: the tenant's page is to say who sits there. `confirmed`: it has, and the same browser has to come back. */
export type ConfirmationStep = 'asked' | 'confirmed';

export interface OpenConfirmation extends OpenState {
  readonly answer: string;
  readonly entry: Entry<StateAbout>;
}

export interface Flows {
  /** The one unfinished authorization for this subject and these scopes; begins it if there is none. Throws HttpError 429. */
  begin(subject: Subject, provider: OAuthProvider, request: Request): Promise<OpenFlow>;
  /** Undefined if there is none, it is over, or its provider has changed. */
  find(authId: string): Promise<OpenFlow | undefined>;
  /** Stores a state and returns it. */
  addState(flow: OpenFlow, values: Omit<StateValues, 'request' | 'flow'>): Promise<string>;
  /** Removes a state from the store and returns it, so that it works only once. Undefined if it does not exist. */
  takeState(state: string): Promise<OpenState | undefined>;
  /** Whether the flow has not ended, with a token or without. */
  isOpen(flowId: string): Promise<boolean>;
  /** Stores the answer to a state that was taken, until the person is confirmed, instead of an earlier one of the flow. Returns its name. */
  addConfirmation(taken: OpenState, answer: string): Promise<string>;
  /** Undefined if there is none of this step, it is over, or its provider has changed. */
  findConfirmation(name: string, step: ConfirmationStep): Promise<OpenConfirmation | undefined>;
  /** The person is who was asked for. Returns another name, for the next step; undefined if somebody else was faster. */
  confirm(confirmation: OpenConfirmation): Promise<string | undefined>;
  /** Removes it from the store, so that it works only once. False if another request has removed it. */
  takeConfirmation(confirmation: OpenConfirmation): Promise<boolean>;
  /** The token is stored: notifies waiting requests. */
  finish(flowId: string, tokenId: string): Promise<void>;
  /** The person or the provider refused. */
  drop(flowId: string): Promise<void>;
  /** Which link an auth_id, a state or the name of a confirmation is, without a read. Undefined for what Davit did not make. */
  linkOf(value: string): Promise<string | undefined>;
}

export interface FlowsOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  /** The provider of a subject, if the subject's tenant still exists. */
  readonly providerOf: (subject: Subject) => OAuthProvider | undefined;
  readonly now: () => Date;
  readonly onRefused: (subject: Subject, request: Request | undefined) => Promise<unknown>;
}

/** An id, and the value of a link. */
const ID_AND_SECRET = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/;

export function makeFlows({ vault, keys, providerOf, now, onRefused }: FlowsOptions): Flows {
  const ends = (): string => new Date(now().getTime() + FLOW_MS).toISOString();
  const isOver = ({ expiresAt }: { readonly expiresAt: string }): boolean => Date.parse(expiresAt) <= now().getTime();

  const makeRoom = makeSweep(vault, isOver);
  const confirmations = makeConfirmations({ vault, keys, providerOf }, { ends, isOver, makeRoom });

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
    const nonce = linkValue(await keys());
    const entry: Entry<FlowAbout> = { kind: 'flow', id, subject, about: { expiresAt: ends() } };
    const sealed = await vault.seal(entry, provider, JSON.stringify({ nonce, request }));
    try {
      const made = await vault.create({ ...entry, sealed });
      return { entry: made, provider, request, authId: `${id}.${nonce}`, isNew: true };
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
      const [, id] = ID_AND_SECRET.exec(authId) ?? [];
      const flow = id === undefined ? undefined : await opened(await vault.read('flow', id, FlowAbout));
      return flow && isSame(flow.authId, authId) ? flow : undefined;
    },
    async addState({ entry: { id: flow, subject }, provider, request }, values) {
      await makeRoom('state', subject.tenant);
      const state = linkValue(await keys());
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
    ...confirmations,
    async isOpen(flowId) {
      const entry = await vault.read('flow', flowId, FlowAbout);
      return entry !== undefined && entry.about.tokenId === undefined && !isOver(entry.about);
    },
    async finish(flowId, tokenId) {
      const entry = await vault.read('flow', flowId, FlowAbout);
      // If another answer has finished it, or a new flow has begun, the token is stored all the same.
      if (entry) await replaceIfSame(vault, { ...entry, about: { ...entry.about, tokenId } });
    },
    async drop(flowId) {
      const entry = await vault.read('flow', flowId, FlowAbout);
      const { request } = (await opened(entry)) ?? {};
      if (entry && (await vault.take(entry))) await onRefused(entry.subject, request);
    },
    linkOf: async (value) => linkOf(await keys(), value.split('.').at(-1) ?? ''),
  };
}

interface Times {
  /** When something ends that begins now. */
  readonly ends: () => string;
  readonly isOver: (about: { readonly expiresAt: string }) => boolean;
  readonly makeRoom: ReturnType<typeof makeSweep>;
}

type Confirmations = Pick<Flows, 'addConfirmation' | 'findConfirmation' | 'confirm' | 'takeConfirmation'>;

/** One of each flow: a link that many follow does not fill the store, and the last who consents is the one to be confirmed. */
function makeConfirmations(
  { vault, keys, providerOf }: Pick<FlowsOptions, 'vault' | 'keys' | 'providerOf'>,
  { ends, isOver, makeRoom }: Times,
): Confirmations {
  const sealed = async (entry: Entry<StateAbout>, provider: OAuthProvider, values: object): Promise<string> =>
    vault.seal(entry, provider, JSON.stringify(values));

  return {
    async addConfirmation({ subject, provider, ...state }, answer) {
      await makeRoom('confirmation', subject.tenant);
      const secret = linkValue(await keys());
      const entry = { kind: 'confirmation', id: state.flow, subject, about: { expiresAt: ends() } } as const;
      const values = { ...state, answer, secret, isConfirmed: false };
      await put(vault, { ...entry, sealed: await sealed(entry, provider, values) });
      return `${state.flow}.${secret}`;
    },
    async findConfirmation(name, step) {
      const [, id, secret] = ID_AND_SECRET.exec(name) ?? [];
      const entry = id === undefined ? undefined : await vault.read('confirmation', id, StateAbout);
      const provider = entry && providerOf(entry.subject);
      if (!entry || !provider || secret === undefined || isOver(entry.about)) return undefined;
      const opened = ConfirmationValues.safeParse(jsonOf((await vault.open(entry, provider))?.text));
      if (!opened.success || !isSame(opened.data.secret, secret)) return undefined;
      const { secret: _secret, isConfirmed, ...values } = opened.data;
      return isConfirmed === (step === 'confirmed')
        ? { ...values, subject: entry.subject, provider, entry }
        : undefined;
    },
    async confirm({ entry, subject: _subject, provider, ...values }) {
      const secret = linkValue(await keys());
      const written = await replaceIfSame(vault, {
        ...entry,
        sealed: await sealed(entry, provider, { ...values, secret, isConfirmed: true }),
      });
      return written && `${entry.id}.${secret}`;
    },
    takeConfirmation: ({ entry }) => vault.take(entry),
  };
}

/** Deletes what is over, and refuses more than the limit. Nothing else deletes it. */
function makeSweep(
  vault: Vault,
  isOver: (about: { readonly expiresAt: string }) => boolean,
): (kind: 'flow' | 'state' | 'confirmation', tenant: string) => Promise<void> {
  return async (kind, tenant) => {
    const all = await vault.list(kind, { tenant }, StateAbout);
    const over = all.filter(({ about }) => isOver(about));
    await Promise.all(over.slice(0, 100).map((entry) => vault.take(entry)));
    if (all.length - over.length >= MOST_OF_TENANT)
      throw new HttpError(
        429,
        `The tenant has ${MOST_OF_TENANT} unfinished authorizations. They expire after ten minutes.`,
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
