// What becomes of one line of a watch.

import type { Fault } from '../fault.ts';
import { delayOfLine } from '../watch-faults.ts';
import type { ProxyState } from './state.ts';

/** `delay`: it is written late. `silence`: nothing more is. `gone`: the watch ends with 410. `cut`: in the middle of the line. */
export type Deed = 'pass' | 'delay' | 'swallow' | 'silence' | 'gone' | 'cut';

export interface Lateness {
  readonly ms: number;
  /** After the line before it, or after its own arrival. */
  readonly since: 'before' | 'now';
}

export interface Lines {
  deed(resource: string, line: string): Deed;
  lateness(resource: string, deed: 'pass' | 'delay'): Lateness;
  /** The history that a watch of this version asks for is gone. */
  isCompacted(resource: string, version: bigint): boolean;
}

const GAP_MS = 400;

/** Befalls one line. */
const ONCE: Readonly<Partial<Record<Fault['kind'], Deed>>> = {
  'watch-410': 'gone',
  'watch-cut': 'cut',
  'watch-half-open': 'silence',
};

export function makeLines(state: ProxyState): Lines {
  const { trace } = state;
  const { fault } = state.options;
  const counts = new Map<string, number>();
  /** Of a resource: the version up to which its history is gone, as after a compaction. */
  const compacted = new Map<string, bigint>();
  /** Of `watch-gap`: nothing is swallowed any more. */
  let isGapOver = false;

  /** Some events are never seen, and their history is gone: only a list can tell what happened. */
  function swallow(resource: string, line: string): Deed {
    if (isGapOver) return 'pass';
    if (!trace.fired) setTimeout(endGap, GAP_MS, resource);
    trace.fired = true;
    compacted.set(resource, BigInt(versionIn(line)));
    return 'swallow';
  }

  /** After a time and not a number of lines: there may be no more of them, and a gap that nothing tells of is none of these. */
  function endGap(resource: string): void {
    isGapOver = true;
    for (const watch of state.watches) if (watch.resource === resource) watch.expire();
  }

  function expireBeforeList(): Deed {
    if (state.isListNext) return 'pass';
    state.isListNext = true;
    return 'gone';
  }

  return {
    deed(resource, line) {
      const count = (counts.get(resource) ?? 0) + 1;
      counts.set(resource, count);
      state.toldAt = performance.now();
      if (fault.kind === 'lost-blind') {
        const blind = trace.fired && fault.at.includes(` ${resource.replace('/status', '')} `);
        return blind ? 'delay' : 'pass';
      }
      if (!('resource' in fault) || fault.resource !== resource || fault.kind === 'denied') return 'pass';
      if (fault.kind === 'watch-delay') {
        trace.fired = true;
        return 'delay';
      }
      if (state.phase === '' || count < (fault.event ?? 1)) return 'pass';
      if (fault.kind === 'watch-gap') return swallow(resource, line);
      if (trace.fired) return 'pass';
      if (fault.kind.startsWith('relist-')) return expireBeforeList();
      const once = ONCE[fault.kind];
      if (once !== undefined) trace.fired = true;
      return once ?? 'pass';
    },
    lateness(resource, deed) {
      if (deed === 'delay') return { ms: fault.ms ?? 1000, since: 'before' };
      if (fault.kind !== 'shuffled' || state.phase === '') return { ms: 0, since: 'now' };
      trace.fired = true;
      return { ms: delayOfLine(fault.seed, resource, counts.get(resource) ?? 0), since: 'now' };
    },
    isCompacted: (resource, version) => version < (compacted.get(resource) ?? 0n),
  };
}

export function versionIn(line: string): string {
  const event = JSON.parse(line) as { object?: { metadata?: { resourceVersion?: string } } };
  return event.object?.metadata?.resourceVersion ?? '0';
}
