// Spans of requests to the HTTP API, where Davit's own spans are sent somewhere.

import { beforeEach, expect, it } from 'vitest';
import { makeTracer, type Span, type Tracer } from '../../../src/lib/controller/tracer.ts';
import { aBody, type Facade, makeFacade } from './facade.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

let facade: Facade;
let spans: Span[];
let tracer: Tracer;
beforeEach(async () => {
  spans = [];
  tracer = makeTracer({ sampleRatio: 1, onEnd: (span) => spans.push(span) });
  facade = await makeFacade({}, { tracer });
  // As the client of a real API server reports what it has sent.
  facade.kube.failOn(({ verb, kind }) => {
    tracer.sent({ name: `${verb} ${kind}`, attributes: {}, failed: false, durationMs: 1 });
    return undefined;
  });
});

it('an answer is a span by its route, without what the caller has named', async () => {
  const id = '11111111-1111-4111-8111-111111111111';
  const { headers } = await facade.call('GET', `/v2/deployments/${id}?wait=READY`);
  expect(spans.filter(({ kind }) => kind === 'server')).toEqual([
    expect.objectContaining({
      name: 'GET /v2/deployments/:deployment_id',
      kind: 'server',
      failed: false,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v2/deployments/:deployment_id',
        'http.response.status_code': 404,
        'davit.request.id': headers['x-request-id'],
      },
    }),
  ]);
});

it("the requests of a body's request are below it, and it is below its caller's", async () => {
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  const { status } = await facade.call('POST', '/v2/deployments', aBody(), { traceparent });
  expect(status).toBe(201);
  const request = spans.find(({ kind }) => kind === 'server');
  expect(request).toMatchObject({ name: 'POST /v2/deployments', traceId: TRACE, parentSpanId: PARENT });
  const below = spans.filter(({ kind }) => kind === 'client');
  expect(below.map(({ name }) => name)).toContain('create AppDeployment');
  expect(new Set(below.map(({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`))).toEqual(
    new Set([`${TRACE} ${request?.spanId}`]),
  );
});

it('a failure of the API server is one of the span', async () => {
  facade.kube.failOn(() => new Error('broken'));
  await facade.call('POST', '/v2/deployments', aBody());
  expect(spans.filter(({ kind }) => kind === 'server')).toMatchObject([{ name: 'POST /v2/deployments', failed: true }]);
});

it('probes are none', async () => {
  await facade.call('GET', '/livez');
  await facade.call('GET', '/readyz');
  expect(spans.filter(({ kind }) => kind === 'server')).toEqual([]);
});
