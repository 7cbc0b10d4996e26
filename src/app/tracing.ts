// Davit's own spans, sent to a collector. Loaded only where the settings name one.

import type { RuntimeMetrics } from '../lib/controller/metrics.ts';
import { makeTracer, type Tracer } from '../lib/controller/tracer.ts';
import type { Logger } from '../lib/logger.ts';
import { makeSpanExporter } from '../lib/outbound/span-exporter.ts';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what waits. */
  close(): Promise<void>;
}

interface TracingOptions {
  readonly endpoint: string;
  readonly sampleRatio: number;
  /** The command that the process runs. */
  readonly command: string;
  readonly version: string;
  readonly identity: string;
  readonly namespace: string;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
}

export function startTracing(options: TracingOptions): Tracing {
  const { endpoint, sampleRatio, command, version, identity, namespace, log, metrics } = options;
  let failing = false;
  const exporter = makeSpanExporter({
    endpoint,
    resource: {
      'service.name': `davit-${command}`,
      'service.version': version,
      'service.instance.id': identity,
      'k8s.namespace.name': namespace,
    },
    onSent(result, spans, error) {
      metrics.spansSent(result, spans);
      // One line when it begins and one when it is over: a collector may be away for hours.
      if (result === 'failed' && !failing) log.warn({ err: error, endpoint }, 'Spans cannot be sent, and are lost');
      if (result === 'sent' && failing) log.info({ endpoint }, 'Spans are sent again');
      if (result !== 'dropped') failing = result === 'failed';
    },
  });
  return { tracer: makeTracer({ sampleRatio, onEnd: exporter.add }), close: exporter.close };
}
