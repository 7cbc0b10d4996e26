import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { makeTracer, type Span, type Tracer } from './tracer.ts';

const SPAN = { name: 'reconcile records', attributes: { 'davit.key': 'team/shop' }, failed: false };
const REQUEST = { name: 'apply services', attributes: {}, failed: true, durationMs: 30 };

function aTracer(sampleRatio = 1, random?: () => number): { tracer: Tracer; spans: Span[] } {
  const spans: Span[] = [];
  return { tracer: makeTracer({ sampleRatio, onEnd: (span) => spans.push(span), ...(random && { random }) }), spans };
}

it('a span is what its end says, with ids and times of its own', async () => {
  const { tracer, spans } = aTracer();
  const before = Date.now();
  const result = await tracer.run('internal', async (end) => {
    await sleep(20);
    end(SPAN);
    return 'result';
  });
  expect(result).toBe('result');
  expect(spans).toEqual([
    {
      ...SPAN,
      kind: 'internal',
      traceId: expect.stringMatching(/^[\da-f]{32}$/),
      spanId: expect.stringMatching(/^[\da-f]{16}$/),
      parentSpanId: undefined,
      startMs: expect.any(Number),
      endMs: expect.any(Number),
    },
  ]);
  const { startMs = 0, endMs = 0 } = spans[0] ?? {};
  expect(startMs).toBeGreaterThanOrEqual(before - 1);
  expect(endMs).toBeLessThanOrEqual(Date.now() + 1);
  expect(endMs - startMs).toBeGreaterThanOrEqual(15);
});

it('requests are below the span in which they were sent, also of work beside it', async () => {
  const { tracer, spans } = aTracer();
  const work = (name: string, ms: number): Promise<void> =>
    tracer.run('internal', async (end) => {
      await sleep(ms);
      tracer.sent({ ...REQUEST, name: `of ${name}` });
      await sleep(ms);
      end({ ...SPAN, name });
    });
  await Promise.all([work('one', 5), work('two', 8)]);
  const named = (name: string): Span | undefined => spans.find((span) => span.name === name);
  for (const name of ['one', 'two']) {
    const parent = named(name);
    expect(named(`of ${name}`)).toMatchObject({
      kind: 'client',
      traceId: parent?.traceId,
      parentSpanId: parent?.spanId,
    });
  }
  expect(named('one')?.traceId).not.toBe(named('two')?.traceId);
  const { startMs = 0, endMs = 0 } = named('of one') ?? {};
  expect(endMs - startMs).toBeCloseTo(30, 0);
});

it('a request outside of a span is none', () => {
  const { tracer, spans } = aTracer();
  tracer.sent(REQUEST);
  expect(spans).toEqual([]);
});

it('what is not sampled is not reported, with its requests', () => {
  const values = [0.6, 0.4];
  const { tracer, spans } = aTracer(0.5, () => values.shift() ?? 1);
  for (const name of ['first', 'second'])
    tracer.run('internal', (end) => {
      tracer.sent({ ...REQUEST, name: `of ${name}` });
      end({ ...SPAN, name });
    });
  expect(spans.map(({ name }) => name)).toEqual(['of second', 'second']);
});

describe('the header of a caller', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = '00f067aa0ba902b7';
  const given = (header: string, sampleRatio: number): Span | undefined => {
    const { tracer, spans } = aTracer(sampleRatio);
    tracer.run('server', (end) => end(SPAN), header);
    return spans[0];
  };

  it.each([
    [`00-${TRACE}-${PARENT}-01`, 0],
    [`00-${TRACE}-${PARENT}-03`, 0],
    [`01-${TRACE}-${PARENT}-01-more`, 0],
  ])('%s is the parent, and decides', (header, sampleRatio) => {
    expect(given(header, sampleRatio)).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
  });
  it('can decide against it', () => {
    expect(given(`00-${TRACE}-${PARENT}-00`, 1)).toBeUndefined();
  });
  it.each([
    '',
    'nonsense',
    `00-${TRACE}-${PARENT}`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  ])('%j is ignored', (header) => {
    const span = given(header, 1);
    expect(span?.traceId).not.toBe(TRACE);
    expect(span?.parentSpanId).toBeUndefined();
  });
});
