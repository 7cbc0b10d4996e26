import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Span } from '../controller/tracer.ts';
import { makeSpanExporter, type SpanExporter } from './span-exporter.ts';

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: { resourceSpans: { resource: unknown; scopeSpans: { spans: { name: string }[] }[] }[] };
}

let received: Received[];
let answers: number[];
/** Answers are held back until it is called. */
let letGo: (() => void) | undefined;
let server: Server;
let endpoint: string;
let sent: [result: string, spans: number][];
let exporter: SpanExporter;

beforeEach(async () => {
  [received, answers, sent, letGo] = [[], [], [], undefined];
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      received.push({ url: request.url, headers: request.headers, body: JSON.parse(text) as Received['body'] });
      const answer = (): void => void response.writeHead(answers.shift() ?? 200).end('{}');
      if (letGo) letGo = answer;
      else answer();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await exporter.close();
  server.closeAllConnections();
  server.close();
});

function anExporter(more: Partial<Parameters<typeof makeSpanExporter>[0]> = {}): SpanExporter {
  exporter = makeSpanExporter({
    endpoint,
    resource: { 'service.name': 'davit-api' },
    onSent: (result, spans) => sent.push([result, spans]),
    delayMs: 5,
    ...more,
  });
  return exporter;
}
function aSpan(more: Partial<Span> = {}): Span {
  return {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    name: 'GET /v2/deployments',
    kind: 'server',
    startMs: 1_700_000_000_000.25,
    endMs: 1_700_000_000_001,
    attributes: { 'http.route': '/v2/deployments', 'http.response.status_code': 200, ratio: 0.5 },
    failed: false,
    ...more,
  };
}
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo() && tries < 1000; tries += 1) await sleep(5);
  expect(isSo()).toBe(true);
}

it('sends spans together, as the protocol wants them', async () => {
  const { add } = anExporter({ endpoint: `${endpoint}/collector/` });
  add(aSpan());
  add(aSpan({ kind: 'client', parentSpanId: 'aaaaaaaaaaaaaaaa', failed: true, attributes: {} }));
  await until(() => sent.length === 1);
  expect(sent).toEqual([['sent', 2]]);
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({
    url: '/collector/v1/traces',
    headers: { 'content-type': 'application/json' },
  });
  const common = {
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    name: 'GET /v2/deployments',
  };
  const times = { startTimeUnixNano: '1700000000000250000', endTimeUnixNano: '1700000000001000000' };
  expect(received[0]?.body).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'davit-api' } }] },
        scopeSpans: [
          {
            scope: { name: 'davit' },
            spans: [
              {
                ...common,
                ...times,
                kind: 2,
                attributes: [
                  { key: 'http.route', value: { stringValue: '/v2/deployments' } },
                  { key: 'http.response.status_code', value: { intValue: '200' } },
                  { key: 'ratio', value: { doubleValue: 0.5 } },
                ],
              },
              { ...common, ...times, parentSpanId: 'aaaaaaaaaaaaaaaa', kind: 3, attributes: [], status: { code: 2 } },
            ],
          },
        ],
      },
    ],
  });
});

describe('a collector', () => {
  it('that fails loses those spans, and gets the next', async () => {
    const { add } = anExporter();
    answers = [503];
    add(aSpan());
    await until(() => sent.length === 1);
    add(aSpan());
    await until(() => sent.length === 2);
    expect(sent).toEqual([
      ['failed', 1],
      ['sent', 1],
    ]);
  });

  it('that is not there is told once a try, and nothing throws', async () => {
    const { add } = anExporter({ endpoint: 'http://127.0.0.1:1' });
    add(aSpan());
    await until(() => sent.length === 1);
    expect(sent).toEqual([['failed', 1]]);
  });

  it('that is slow gets what came meanwhile in one request, and no more than can wait', async () => {
    const { add } = anExporter();
    letGo = () => undefined;
    const first = letGo;
    add(aSpan({ name: 'first' }));
    await until(() => letGo !== first);
    for (let count = 0; count < 4100; count += 1) add(aSpan());
    expect(sent).toEqual(Array.from({ length: 4 }, () => ['dropped', 1]));
    const answer = letGo;
    letGo = undefined;
    answer?.();
    await until(() => sent.filter(([result]) => result === 'sent').length === 9);
    const spans = received.map(({ body }) => body.resourceSpans[0]?.scopeSpans[0]?.spans.length);
    expect(spans).toEqual([1, ...Array.from({ length: 8 }, () => 512)]);
  });
});

it('sends what waits when it is closed', async () => {
  const { add, close } = anExporter({ delayMs: 60_000 });
  add(aSpan());
  await close();
  expect(sent).toEqual([['sent', 1]]);
});
