// The faults that come about at one write, which their `at` names: what each does to it.

import type { Fault } from '../fault.ts';
import { type Answer, answer, refuse } from './answers.ts';
import type { Exchange, ProxyState } from './state.ts';
import type { TracedWrite } from './trace.ts';

type AtWrite = Extract<Fault, { readonly at: string }>;
type Of<Kind> = AtWrite & { readonly kind: Kind };

export function isAtWrite(fault: Fault): fault is AtWrite {
  return 'at' in fault;
}

/** What can be done to the write and to who asks for it. */
interface Hit {
  readonly state: ProxyState;
  readonly exchange: Exchange;
  /** Sends it to the API server, which commits it. Nothing is answered yet. */
  commit(): Promise<Answer>;
  /** Commits it and says so. */
  pass(): Promise<void>;
  /** Breaks the connection. */
  drop(): void;
  refuse(code: number, reason: string, headers?: Record<string, string>): void;
  crash(): void;
}

/** Longer than the lease by as much as the other needs to take it and to get to work. */
const PAUSE_MS = 4000;

const STRIKES: { readonly [Kind in AtWrite['kind']]: (hit: Hit, fault: Of<Kind>) => Promise<void> | void } = {
  'crash-before': (hit) => {
    hit.crash();
    hit.drop();
  },
  'crash-lost': async (hit) => {
    await hit.commit();
    hit.crash();
    hit.drop();
  },
  'crash-after': passAndCrash,
  lost: commitAndDrop,
  // Lines of watches of its kind are late from then on, too (lines.ts).
  'lost-blind': commitAndDrop,
  refused: ({ refuse: say }, { status }) => say(status, status === 409 ? 'Conflict' : 'InternalError'),
  'refused-committed': async (hit, { status }) => {
    await hit.commit();
    hit.refuse(status, 'InternalError');
  },
  throttled: (hit) => hit.refuse(429, 'TooManyRequests', { 'retry-after': '1' }),
  'throttled-long': (hit) => hit.refuse(429, 'TooManyRequests', { 'retry-after': '6' }),
  raced: async ({ state: { options }, pass }) => {
    await options.race?.();
    await pass();
  },
  'leader-killed': passAndCrash,
  'leader-stopped': async ({ state: { options }, exchange: { actor }, pass }) => {
    await pass();
    options.kill(actor, 'SIGTERM');
  },
  'leader-paused': async ({ state: { options }, exchange: { actor }, pass }, { ms = PAUSE_MS }) => {
    // Its answer is the first thing that it finds when it wakes up.
    options.pause(actor, ms);
    await pass();
  },
  'blind-takeover': async (hit, { ms = 3000, resources }) => {
    await hit.pass();
    setTimeout(endBlindness, ms, hit.state, resources);
    setTimeout(hit.crash, 3);
  },
  'namespace-deleted': somethingElseAndPass,
  'stale-server': somethingElseAndPass,
};

export async function strike<Kind extends AtWrite['kind']>(
  fault: Of<Kind>,
  state: ProxyState,
  exchange: Exchange,
  traced: TracedWrite,
): Promise<void> {
  const { actor, request, body, response } = exchange;
  async function commit(): Promise<Answer> {
    const answered = await state.upstream.ask(request, body);
    traced.status = answered.status;
    return answered;
  }
  const hit: Hit = {
    state,
    exchange,
    commit,
    pass: async () => answer(response, await commit()),
    drop: () => void response.destroy(),
    refuse: (code, reason, headers) => refuse(response, code, reason, headers),
    crash: () => state.options.kill(actor, 'SIGKILL'),
  };
  await STRIKES[fault.kind](hit, fault);
}

async function passAndCrash(hit: Hit): Promise<void> {
  await hit.pass();
  setTimeout(hit.crash, 3);
}

async function commitAndDrop(hit: Hit): Promise<void> {
  await hit.commit();
  hit.drop();
}

async function somethingElseAndPass({ state: { options }, exchange: { actor }, pass }: Hit): Promise<void> {
  await options.atWrite(actor);
  await pass();
}

/** What a cache has not seen by then it finds in a new list. */
function endBlindness({ watches }: ProxyState, resources: readonly string[]): void {
  for (const watch of watches) if (resources.includes(watch.resource)) watch.expire();
}
