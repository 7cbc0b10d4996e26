// Requests for the lease: who holds it, where it is kept, and when nobody gets it.

import type { IncomingMessage } from 'node:http';
import { DAVIT_NAMESPACE } from '../../../support/platform.ts';
import { answer, refuse } from './answers.ts';
import { parsed } from './requests.ts';
import type { Exchange, ProxyState } from './state.ts';
import type { Actor } from './trace.ts';

export function makeLeases(state: ProxyState): (exchange: Exchange) => Promise<void> {
  const { trace, upstream, options } = state;
  let lastTerm: string | undefined;
  return async ({ actor, request, body, response }) => {
    const arrived = performance.now();
    if (isBlocked(state, actor, arrived)) {
      trace.fired = true;
      return refuse(response, 503, 'ServiceUnavailable');
    }
    const answered = await upstream.ask(...elsewhere(request, body, options.leaseNamespace));
    if (request.method !== 'GET' && answered.status < 300) {
      trace.renewedAt = arrived;
      const term = termIn(body);
      if (term === undefined) trace.releases.push(arrived);
      else if (term !== lastTerm) {
        lastTerm = term;
        trace.holders.push({ actor, at: arrived });
      }
    }
    answer(response, answered);
  };
}

function isBlocked({ options: { fault }, entered }: ProxyState, actor: Actor, arrived: number): boolean {
  if (fault.kind !== 'leases-blocked' && fault.kind !== 'leader-cut') return false;
  const from = entered.get(fault.phase);
  if (from === undefined || arrived - from >= (fault.ms ?? 4000)) return false;
  return fault.kind === 'leases-blocked' || actor === 'a';
}

/** The answer names the other namespace, which the process then uses itself. */
function elsewhere(request: IncomingMessage, body: Buffer, leaseNamespace?: string): [IncomingMessage, Buffer] {
  if (leaseNamespace === undefined) return [request, body];
  request.url = request.url?.replace(`/namespaces/${DAVIT_NAMESPACE}/`, `/namespaces/${leaseNamespace}/`);
  if (body.length === 0) return [request, body];
  const text = body.toString().replace(`"namespace":"${DAVIT_NAMESPACE}"`, `"namespace":"${leaseNamespace}"`);
  const moved = Buffer.from(text);
  if (request.headers['content-length'] !== undefined) request.headers['content-length'] = String(moved.length);
  return [request, moved];
}

/** One leadership: its holder and when it began. A process that comes back under its name has another one. Undefined for a lease given back. */
function termIn(body: Buffer): string | undefined {
  const { holderIdentity = '', acquireTime = '' } = (parsed(body)['spec'] ?? {}) as Record<string, string>;
  return holderIdentity === '' ? undefined : `${holderIdentity} ${acquireTime}`;
}
