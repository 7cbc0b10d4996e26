// What the parts of one proxy share.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Fault } from '../fault.ts';
import type { Asked } from './requests.ts';
import type { Actor, Trace } from './trace.ts';
import type { Upstream } from './upstream.ts';

export interface ProxyOptions {
  readonly server: string;
  readonly ca: string;
  readonly fault: Fault;
  readonly leaseMs: number;
  /** Where leases of Davit's namespace are kept instead, so that runs side by side do not compete for one. */
  readonly leaseNamespace?: string;
  /** What somebody does just before a write that the plan names. */
  readonly race?: () => Promise<void>;
  readonly actors: readonly Actor[];
  /** Ends the process: without a word, or asking it to. */
  readonly kill: (actor: Actor, signal: 'SIGKILL' | 'SIGTERM') => void;
  /** Freezes the process for so long. */
  readonly pause: (actor: Actor, ms: number) => void;
  /** What else is to happen before the write that the fault names is sent on. */
  readonly atWrite: (actor: Actor) => Promise<void>;
  /** Told of every write, by its label, before it is sent on. */
  readonly onWrite?: (label: string, actor: Actor) => void;
}

export interface ProxyState {
  readonly options: ProxyOptions;
  readonly trace: Trace;
  readonly upstream: Upstream;
  /** The part of the workload that is under way, '' before the first. */
  phase: string;
  /** When each phase began. */
  readonly entered: Map<string, number>;
  /** Those that are open now. */
  readonly watches: Set<OpenWatch>;
  /** When the last line of any watch came. */
  toldAt: number;
  /** The watch has ended with 410; the next list is the one to tamper with. */
  isListNext: boolean;
}

export interface OpenWatch {
  readonly resource: string;
  readonly namespace: string;
  /** Of the last line. */
  version: bigint;
  write(lines: string): void;
  /** Ends it as the API server does when the history is gone. */
  expire(): void;
  /** Breaks its connection. */
  cut(): void;
}

/** A request that has arrived whole, and what answers it. */
export interface Exchange {
  readonly actor: Actor;
  readonly asked: Asked;
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}
