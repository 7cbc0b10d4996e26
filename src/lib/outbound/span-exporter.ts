// Sends spans to an OpenTelemetry collector, as JSON over HTTP. Source: OpenTelemetry Protocol 1.x, "OTLP/HTTP" and "JSON
// Protobuf Encoding". Spans are worth less than the work that they describe: they wait in a bounded buffer, and those that
// cannot be sent are lost.

import { Agent } from 'undici';
import type { Span, SpanAttributes, SpanKind } from '../controller/tracer.ts';

export interface SpanExporterOptions {
  /** URL of the collector; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** What sends the spans, such as `service.name`. */
  readonly resource: SpanAttributes;
  /** Called for each attempt to send some, and for spans that found the buffer full. */
  readonly onSent: (result: 'sent' | 'failed' | 'dropped', spans: number, error?: Error) => void;
  /** How long spans are collected before they are sent together. Default: 2,000. */
  readonly delayMs?: number;
  /** Default: 10,000. */
  readonly timeoutMs?: number;
}

export interface SpanExporter {
  add(span: Span): void;
  /** Sends what waits, and ends the connections. */
  close(): Promise<void>;
}

const MOST_WAITING = 4096;
const MOST_AT_ONCE = 512;
/** A process that ends does not wait longer for a collector. */
const CLOSE_MS = 2000;
const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 };
const STATUS_ERROR = 2;

export function makeSpanExporter(options: SpanExporterOptions): SpanExporter {
  const { resource, onSent, delayMs = 2000, timeoutMs = 10_000 } = options;
  const url = new URL(options.endpoint);
  const path = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/v1/traces`;
  const agent = new Agent({
    connections: 1,
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const waiting: Span[] = [];
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;

  function add(span: Span): void {
    if (waiting.length >= MOST_WAITING) {
      onSent('dropped', 1);
      return;
    }
    waiting.push(span);
    timer ??= setTimeout(() => void flush(), delayMs).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    sending ??= sendAll().finally(() => {
      sending = undefined;
      if (waiting.length > 0) timer ??= setTimeout(() => void flush(), delayMs).unref();
    });
    return sending;
  }

  /** What waits now. Spans of later work wait for the next time. */
  async function sendAll(): Promise<void> {
    for (let left = waiting.length; left > 0; left -= MOST_AT_ONCE) {
      const spans = waiting.splice(0, Math.min(left, MOST_AT_ONCE));
      // oxlint-disable-next-line no-await-in-loop -- one request at a time
      const error = await send(spans);
      onSent(error === undefined ? 'sent' : 'failed', spans.length, error);
    }
  }

  async function send(spans: readonly Span[]): Promise<Error | undefined> {
    try {
      const { statusCode, body } = await agent.request({
        origin: url.origin,
        path,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(encode(resource, spans)),
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), closing.signal]),
      });
      await body.dump({ limit: 64 * 1024 });
      return statusCode < 300 ? undefined : new Error(`the collector answered ${statusCode}`);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  return {
    add,
    async close() {
      const patience = setTimeout(() => closing.abort(), CLOSE_MS);
      await sending;
      await flush();
      clearTimeout(patience);
      clearTimeout(timer);
      await agent.destroy();
    },
  };
}

/** ExportTraceServiceRequest. Ids are hexadecimal, 64-bit numbers are texts. */
function encode(resource: SpanAttributes, spans: readonly Span[]): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'davit' }, spans: spans.map(encodeSpan) }],
      },
    ],
  };
}

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, failed }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: encodeAttributes(attributes),
    ...(failed && { status: { code: STATUS_ERROR } }),
  };
}

/** Microseconds are as exact as the clock. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

function encodeAttributes(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : encodeNumber(value),
  }));
}

function encodeNumber(value: number): object {
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
