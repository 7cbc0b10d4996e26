// Over one connection, so that a second request has to wait for the first.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Abandoned, type Answer, dispatchRequest, type ExchangeOptions, TimedOut } from './dispatch-request.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Ask = (path: string, options?: Partial<ExchangeOptions>) => Promise<Answer>;

/** What was asked, in order; each is answered by `answer`. */
async function server(
  answer: (path: string, response: ServerResponse) => void,
): Promise<{ ask: Ask; asked: string[] }> {
  const asked: string[] = [];
  const listening = createServer(({ url = '' }, response) => {
    asked.push(url);
    answer(url, response);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const agent = new Agent({ connections: 1, pipelining: 1 });
  cleanups.push(
    () => listening.close(),
    () => listening.closeAllConnections(),
    () => agent.destroy(),
  );
  const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  return {
    asked,
    ask: (path, options) => dispatchRequest(agent, { origin, path, method: 'GET' }, { timeoutMs: 2000, ...options }),
  };
}

describe('exchange', () => {
  it('has the whole answer, in however many pieces it comes', async () => {
    const text = `${'é'.repeat(70_000)}.`;
    const { ask } = await server(async (_path, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(201, { 'retry-after': '7' });
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 33_333) {
        response.write(bytes.subarray(at, at + 33_333));
        await sleep(5);
      }
      response.end();
    });
    const { code, headers, body } = await ask('/');
    expect({ code, retryAfter: headers['retry-after'], isWhole: body === text }).toEqual({
      code: 201,
      retryAfter: '7',
      isWhole: true,
    });
  });

  it('has an answer without a body', async () => {
    const { ask } = await server((_path, response) => void response.writeHead(204).end());
    expect(await ask('/')).toMatchObject({ code: 204, body: '' });
  });

  it('is refused half an answer', async () => {
    const { ask } = await server((_path, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(ask('/')).rejects.toThrow('other side closed');
  });

  it('ends in the middle of an answer when its time is over, and lets the next one through', async () => {
    const { ask } = await server((path, response) => {
      response.writeHead(200);
      response.write('begun');
      if (path === '/next') response.end();
    });
    await expect(ask('/', { timeoutMs: 100 })).rejects.toBeInstanceOf(TimedOut);
    expect(await ask('/next')).toMatchObject({ code: 200, body: 'begun' });
  });

  it.each([
    { why: 'its time is over', options: (): Partial<ExchangeOptions> => ({ timeoutMs: 50 }), error: TimedOut },
    {
      why: 'its caller gives it up',
      options: (): Partial<ExchangeOptions> => ({ signal: AbortSignal.timeout(50) }),
      error: DOMException,
    },
    {
      why: 'it is no longer wanted',
      options: (): Partial<ExchangeOptions> => ({ isStillWanted: () => false }),
      error: Abandoned,
    },
  ])('does not send what waits for a connection while $why', async ({ options, error }) => {
    const { ask, asked } = await server((_path, response) => void setTimeout(() => response.end('first'), 300));
    const first = ask('/first');
    await expect(ask('/second', options())).rejects.toBeInstanceOf(error);
    expect((await first).body).toBe('first');
    expect((await ask('/third')).code).toBe(200);
    expect(asked).toEqual(['/first', '/third']);
  });

  it('is not begun for a caller who has given it up before', async () => {
    const { ask, asked } = await server((_path, response) => void response.end());
    const reason = new Error('over');
    await expect(ask('/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await ask('/other');
    expect(asked).toEqual(['/other']);
  });

  it('leaves nothing on a signal that outlives it', async () => {
    const { ask } = await server((_path, response) => void response.end());
    const { signal } = new AbortController();
    let listening = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...all: Parameters<typeof add>) => {
      listening += 1;
      add(...all);
    };
    signal.removeEventListener = (...all: Parameters<typeof remove>) => {
      listening -= 1;
      remove(...all);
    };
    await ask('/', { signal });
    expect(listening).toBe(0);
  });
});
