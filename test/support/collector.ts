// An OpenTelemetry collector on this machine, which pods reach, and the spans that it has received.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { freePort } from '../cluster/control-plane.ts';
import type { Progress } from '../cluster/prepared.ts';
import { ensureProgram } from '../cluster/tools.ts';
import { eventually } from './running-davit.ts';

type Attributes = Readonly<Record<string, string>>;

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the first of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export interface Collector {
  /** OTLP over HTTP. */
  readonly endpoint: string;
  spans(): Promise<CollectedSpan[]>;
}

/** Path of the program. */
export async function ensureCollector(progress: Progress): Promise<string> {
  const source = join(import.meta.dirname, '../cluster/go/otel-collector');
  return join(await ensureProgram('otel-collector', source, progress), 'otel-collector');
}

/** It ends with the cluster. */
export async function startCollector(
  cluster: Pick<Cluster, 'hostAddress' | 'runDir' | 'logsDir' | 'startProcess'>,
  progress: Progress,
): Promise<Collector> {
  const program = await ensureCollector(progress);
  const endpoint = `${cluster.hostAddress}:${await freePort(cluster.hostAddress)}`;
  const config = join(cluster.runDir, 'otel-collector.yaml');
  await writeFile(
    config,
    JSON.stringify({
      receivers: { otlp: { protocols: { http: { endpoint } } } },
      exporters: { debug: { verbosity: 'detailed', use_internal_logger: false } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
      },
    }),
  );
  await cluster.startProcess({ name: 'otel-collector', command: program, args: ['--config', config] });
  await eventually(async () => {
    const { status } = await fetch(`http://${endpoint}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    if (status !== 200) throw new Error(`the collector answers ${status}`);
  });
  const log = join(cluster.logsDir, 'otel-collector.log');
  return { endpoint: `http://${endpoint}`, spans: async () => readSpans(await readFile(log, 'utf8')) };
}

/** The spans in the detailed text of the collector's debug exporter. */
export function readSpans(text: string): CollectedSpan[] {
  return text
    .split(/^ResourceSpans #\d+$/m)
    .slice(1)
    .flatMap((group) => {
      const [head = '', ...spans] = group.split(/^Span #\d+$/m);
      const resource = attributesIn(head.slice(0, head.indexOf('ScopeSpans #')));
      return spans.map((span) => {
        const value = (label: string): string =>
          new RegExp(`^ {4}${label} *: ?(.*)$`, 'm').exec(span)?.[1]?.trim() ?? '';
        return {
          traceId: value('Trace ID'),
          spanId: value('ID'),
          parentId: value('Parent ID'),
          name: value('Name'),
          kind: value('Kind'),
          status: value('Status code'),
          attributes: attributesIn(span),
          resource,
        };
      });
    });
}

function attributesIn(text: string): Attributes {
  return Object.fromEntries(
    [...text.matchAll(/^ +-> ([^:]+): \w+\((.*)\)$/gm)].map(([, name, value]) => [name, value]),
  );
}
