// The man in the middle: a TLS reverse proxy between one controller and the API server. It names every write and
// counts every watch event, keeps a trace, and commits the one fault that its plan asks for. Which part commits it
// depends on where it strikes: proxy/strikes.ts at a write, lines.ts at a line of a watch, lists.ts at a list, leases.ts,
// phases.ts for as long as a phase lasts, doors.ts at the connections.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { answer, refuse } from './proxy/answers.ts';
import { type Doors, openDoors } from './proxy/doors.ts';
import { makeLeases } from './proxy/leases.ts';
import { makeLists } from './proxy/lists.ts';
import { makePermits, type Permits } from './proxy/permits.ts';
import { beginPhase, makeOutage } from './proxy/phases.ts';
import { type Asked, classify, READS } from './proxy/requests.ts';
import type { ProxyOptions, ProxyState } from './proxy/state.ts';
import { type Actor, emptyTrace, type Trace } from './proxy/trace.ts';
import { makeUpstream } from './proxy/upstream.ts';
import { makeWatches } from './proxy/watches.ts';
import { makeWrites, nameOfWrite } from './proxy/writes.ts';

/** Each process has a port of its own, by which its requests are known. */
export interface Proxy extends Doors, Pick<Permits, 'refuseOldToken' | 'takeRoleBinding'> {
  readonly trace: Trace;
  /** Names the part of the workload that the writes from now on belong to. */
  enter(phase: string): void;
  /** Lists and watches go to this server, and lists ask it for whatever it remembers; watches under way are ended. */
  turnTo(server: string | undefined): void;
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const { fault } = options;
  const state: ProxyState = {
    options,
    trace: emptyTrace(),
    upstream: makeUpstream(options.server, options.ca),
    phase: '',
    entered: new Map(),
    watches: new Set(),
    toldAt: -Infinity,
    isListNext: false,
  };
  const { trace, upstream } = state;
  const permits = makePermits();
  const doors = await openDoors(options.actors, makeHandler(state, permits));
  return {
    ...doors,
    refuseOldToken: permits.refuseOldToken,
    takeRoleBinding: permits.takeRoleBinding,
    trace,
    enter(phase) {
      state.phase = phase;
      state.entered.set(phase, performance.now());
      if ('phase' in fault && fault.phase === phase) void beginPhase(state);
    },
    rotateAuthority() {
      trace.fired = true;
      return doors.rotateAuthority();
    },
    turnTo(other) {
      upstream.turnTo(other);
      for (const watch of state.watches) watch.cut();
    },
    close() {
      doors.close();
      upstream.close();
    },
  };
}

/** Every request: what is refused at once, and who answers the rest. */
function makeHandler(state: ProxyState, permits: Permits) {
  const { trace, upstream } = state;
  const { fault } = state.options;
  const lease = makeLeases(state);
  const watch = makeWatches(state);
  const list = makeLists(state);
  const write = makeWrites(state);
  const isOut = makeOutage(state);

  return async (actor: Actor, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = classify(request);
    const body = await buffer(request);
    const exchange = { actor, asked, request, body, response };
    if (permits.isTokenRefused(request)) {
      trace.fired = true;
      return refuse(response, 401, 'Unauthorized');
    }
    count(trace, asked);
    if (asked.resource === 'leases' && !READS.has(asked.verb)) return lease(exchange);
    if (permits.isForbidden(asked)) {
      trace.fired = true;
      return refuse(response, 403, 'Forbidden');
    }
    if (asked.verb === 'watch') return watch(exchange);
    if (fault.kind === 'slow') await sleep(fault.ms ?? 150);
    if (fault.kind === 'outage' && isOut(fault)) {
      trace.fired = true;
      if (asked.isWrite && asked.resource !== 'events')
        trace.refused.push({ what: nameOfWrite(state.phase, exchange), at: performance.now() });
      return refuse(response, fault.status, 'InternalError');
    }
    if (asked.isWrite) return write(exchange);
    if (asked.verb === 'list') return list(exchange);
    answer(response, await upstream.ask(request, body));
  };
}

function count(trace: Trace, { resource, verb }: Asked): void {
  if (resource === 'leases') trace.leases += 1;
  else if (verb === 'watch') trace.watches += 1;
  else if (verb === 'list') trace.lists += 1;
  else trace.requests += 1;
}
