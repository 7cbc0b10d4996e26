// Every write: its name in the trace, whether the lease covered it, and whether it is the one of the fault.

import { longestStall } from '../event-loop-lag.ts';
import { deniedStatus } from '../watch-faults.ts';
import { answer, refuse, send } from './answers.ts';
import { type Asked, nameIn, parsed } from './requests.ts';
import type { Exchange, ProxyState } from './state.ts';
import { isAtWrite, strike } from './strikes.ts';
import type { TracedWrite } from './trace.ts';

export function makeWrites(state: ProxyState): (exchange: Exchange) => Promise<void> {
  const { options, trace, upstream } = state;
  const { fault } = options;
  const seen = new Map<string, number>();
  let deniedAt: number | undefined;

  function note(exchange: Exchange): TracedWrite {
    const { actor, asked, body } = exchange;
    const what = nameOfWrite(state.phase, exchange);
    const count = (seen.get(what) ?? 0) + 1;
    seen.set(what, count);
    const { resource, verb } = asked;
    const label = `${what}#${count}`;
    const traced = { label, actor, resource, verb, at: trace.lastWriteAt, body: parsed(body), status: 0 };
    trace.writes.push(traced);
    return traced;
  }

  function isDenied({ resource, verb }: Asked): boolean {
    if (fault.kind !== 'denied' || fault.resource !== resource || verb === 'delete') return false;
    deniedAt ??= performance.now();
    return performance.now() - deniedAt < (fault.ms ?? 1500);
  }

  return async (exchange) => {
    const { actor, asked, request, body, response } = exchange;
    trace.lastWriteAt = performance.now();
    if (asked.resource === 'events') return tell(state, exchange);
    const traced = note(exchange);
    options.onWrite?.(traced.label, actor);
    if (actor !== 'facade' && !isCovered(state, traced)) trace.withoutLease.push(`${traced.label} (${actor})`);
    if (fault.kind === 'denied' && isDenied(asked)) {
      trace.fired = true;
      traced.status = fault.status;
      return send(response, fault.status, deniedStatus(asked.resource, asked.name || nameIn(body), fault.status));
    }
    if (isAtWrite(fault) && fault.at === traced.label && (!trace.fired || fault.kind === 'refused')) {
      trace.fired = true;
      trace.firedAt = trace.lastWriteAt;
      return strike(fault, state, exchange, traced);
    }
    const answered = await upstream.ask(request, body);
    traced.status = answered.status;
    answer(response, answered);
  };
}

/** An event. */
async function tell({ options, trace, upstream }: ProxyState, { request, body, response }: Exchange): Promise<void> {
  trace.events += 1;
  if (options.fault.kind === 'events-refused') {
    trace.fired = true;
    return refuse(response, 500, 'InternalError');
  }
  answer(response, await upstream.ask(request, body));
}

/** By the writer's lease: another cannot hold it yet. */
function isCovered({ options, trace }: ProxyState, { actor, at }: TracedWrite): boolean {
  const silentMs = at - trace.renewedAt - longestStall();
  return trace.holders.at(-1)?.actor === actor && silentMs <= options.leaseMs;
}

/** Without what is random. */
export function nameOfWrite(phase: string, { actor, asked, body }: Exchange): string {
  const who = actor === 'facade' ? 'facade ' : '';
  return `${phase}/${who}${asked.verb} ${asked.resource} ${asked.name || nameIn(body)}`
    .replaceAll(/\bbuild-[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, 'build-ID')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'DIGEST')
    .replaceAll(/--[0-9a-f]{8}\b/g, '--REV')
    .replaceAll(/--vars-[0-9a-z]+/g, '--vars-X')
    .replaceAll(/--run-[0-9a-z]+/g, '--run-X')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, 'ID')
    .replaceAll(/\bdavit-lsn-[0-9a-f]{8}/g, 'davit-lsn-X');
}
