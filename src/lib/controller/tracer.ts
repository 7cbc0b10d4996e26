// Spans of Davit's own work: a reconcile or an answer to a request, and below it the requests to the API server that it sent.
// Ids and the header are those of W3C Trace Context; the encoding of spans is another file's (lib/outbound/span-exporter.ts).

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

export type SpanKind = 'internal' | 'server' | 'client';
/** Names are those of OpenTelemetry's semantic conventions where there is one. Values are never secret. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** A span that has ended. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
}

/** What is known of a span at its end. */
export interface SpanEnd {
  readonly name: string;
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
}

export interface Tracer {
  /**
   * Runs `work` in a new span, which the call of `end` reports. `traceparent` is the header of a caller whose span becomes the
   * parent, and who then decides whether the trace is sampled; a malformed one is ignored.
   */
  run<T>(kind: SpanKind, work: (end: (span: SpanEnd) => void) => T, traceparent?: string): T;
  /** Reports a request that has just ended, below the span in which it was sent. Outside of a span it is none. */
  sent(request: SpanEnd & { readonly durationMs: number }): void;
}

export interface TracerOptions {
  /** Share of traces that are sampled, from 0 to 1. */
  readonly sampleRatio: number;
  readonly onEnd: (span: Span) => void;
  readonly random?: () => number;
}

interface Open {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

export function makeTracer({ sampleRatio, onEnd, random = Math.random }: TracerOptions): Tracer {
  const open = new AsyncLocalStorage<Open>();

  return {
    run(kind, work, traceparent) {
      const caller = parentOf(traceparent);
      const traceId = caller?.traceId ?? hex(16);
      const spanId = hex(8);
      const sampled = caller?.sampled ?? random() < sampleRatio;
      const startMs = nowMs();
      const end = (span: SpanEnd): void => {
        if (sampled) onEnd({ traceId, spanId, parentSpanId: caller?.spanId, kind, startMs, endMs: nowMs(), ...span });
      };
      return open.run({ traceId, spanId, sampled }, work, end);
    },
    sent({ durationMs, ...request }) {
      const parent = open.getStore();
      if (!parent?.sampled) return;
      const endMs = nowMs();
      onEnd({
        traceId: parent.traceId,
        spanId: hex(8),
        parentSpanId: parent.spanId,
        kind: 'client',
        startMs: endMs - durationMs,
        endMs,
        ...request,
      });
    },
  };
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** version-traceid-parentid-flags; the last bit of the flags is `sampled`. Ids of zeros are invalid. */
function parentOf(traceparent: string | undefined): Open | undefined {
  const header = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
  const [, traceId, spanId, flags] = header.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: Number.parseInt(flags, 16) % 2 === 1 };
}
