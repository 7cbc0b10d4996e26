// Lists, and what is wrong with some: they lack items, or their history is gone.

import { cutList } from '../watch-faults.ts';
import { answer, refuse } from './answers.ts';
import type { Asked } from './requests.ts';
import type { Exchange, ProxyState } from './state.ts';

export function makeLists(state: ProxyState): (exchange: Exchange) => Promise<void> {
  const { trace, upstream } = state;
  const { fault } = state.options;
  /** Lists that were cut after the first one. */
  let cutAgain = 0;

  function isMeant({ resource }: Asked): boolean {
    const again = fault.kind === 'relist-empty' ? (fault.times ?? 1) - 1 : 0;
    return 'resource' in fault && fault.resource === resource && (!trace.fired || cutAgain < again);
  }

  return async ({ asked, request, response }) => {
    // Whether it is meant is known as it arrives: the fault may come about while it is on its way.
    const isCut = isMeant(asked);
    if (isCut && (fault.kind === 'list-410' || (fault.kind === 'relist-410' && state.isListNext && asked.continues))) {
      trace.fired = true;
      return refuse(response, 410, 'Expired');
    }
    if (asked.resource === 'events') {
      trace.eventLists.push({ of: asked.fieldSelector, at: performance.now() });
      if (fault.kind === 'events-refused') {
        trace.fired = true;
        return refuse(response, 500, 'InternalError');
      }
    }
    const answered = await upstream.ask(request, Buffer.alloc(0));
    if (isUnseen(state, asked) && answered.status === 200)
      return answer(response, { ...answered, body: cutList(answered.body, 'relist-empty') });
    const cuts = fault.kind === 'relist-short' || fault.kind === 'relist-empty';
    if (!isCut || !cuts || !state.isListNext || answered.status !== 200) return answer(response, answered);
    if (trace.fired) cutAgain += 1;
    trace.fired = true;
    answer(response, { ...answered, body: cutList(answered.body, fault.kind) });
  };
}

/** To caches, not to who asks for one record. */
function isUnseen({ options: { fault }, trace }: ProxyState, { resource, ofOne }: Asked): boolean {
  if (fault.kind !== 'blind-takeover' || trace.firedAt === undefined || ofOne) return false;
  return fault.resources.includes(resource) && performance.now() - trace.firedAt < (fault.ms ?? 3000);
}
