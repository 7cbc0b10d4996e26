// What a proxy remembers of a run.

/** Which of the processes: the controller, a second one where two compete, the HTTP API. */
export type Actor = 'a' | 'b' | 'facade';

export interface TracedWrite {
  /** `create/apply deployments shop#1`: phase, verb, resource, name without what is random, and how often by now. */
  readonly label: string;
  readonly actor: Actor;
  readonly resource: string;
  readonly verb: string;
  readonly at: number;
  readonly body: Record<string, unknown>;
  status: number;
}

export interface Trace {
  readonly writes: TracedWrite[];
  /** Writes that an outage has refused, as `create/apply deployments shop`; not among `writes`. */
  readonly refused: { readonly what: string; readonly at: number }[];
  /** Answered lists of events, by what they were asked for. */
  readonly eventLists: { readonly of: string; readonly at: number }[];
  /** Everything but leases, lists and watches. */
  requests: number;
  lists: number;
  watches: number;
  leases: number;
  /** Events that were told; they are not among the writes. */
  events: number;
  /** When any write but a lease's came last, events included. */
  lastWriteAt: number;
  /** When the last lease request that was answered with success arrived. */
  renewedAt: number;
  /** Who held the lease, one after the other, and from when on. */
  readonly holders: { readonly actor: Actor; readonly at: number }[];
  /** When the lease was given back. */
  readonly releases: number[];
  /** Writes that came when the lease was another's, or had not been renewed for its whole duration. */
  readonly withoutLease: string[];
  fired: boolean;
  /** When the fault that ends or freezes a process came about. */
  firedAt: number | undefined;
}

export function emptyTrace(): Trace {
  return {
    writes: [],
    refused: [],
    eventLists: [],
    requests: 0,
    lists: 0,
    watches: 0,
    leases: 0,
    events: 0,
    lastWriteAt: 0,
    renewedAt: 0,
    holders: [],
    releases: [],
    withoutLease: [],
    fired: false,
    firedAt: undefined,
  };
}
