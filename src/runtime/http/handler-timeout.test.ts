import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { answerError } from '../../api/errors.ts';
import { registerTimeLimit } from './handler-timeout.ts';

let app: FastifyInstance | undefined;
afterEach(() => app?.close());

/** Handlers take as long as the query says. */
async function serving(limitMs: number): Promise<{ url: string; done: string[]; said: string[] }> {
  const done: string[] = [];
  const said: string[] = [];
  app = Fastify({ logger: { level: 'info', stream: { write: (line: string) => void said.push(line) } } });
  app.setErrorHandler(answerError);
  registerTimeLimit(app, limitMs);
  app.route<{ Querystring: { ms: string } }>({
    method: ['GET', 'POST'],
    url: '/',
    async handler({ method, query }) {
      await sleep(Number(query.ms));
      done.push(method);
      return { ok: true };
    },
  });
  app.get('/slow', { config: { timeLimitMs: 300 } }, () => sleep(2000));
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), done, said };
}

const json = { 'content-type': 'application/json' };
const detail = 'The request did not finish within 0.1 s and may still take effect. Check the resource before retrying.';

describe('the time limit', () => {
  it.each([
    { sent: 'a GET', request: {} },
    { sent: 'a POST', request: { method: 'POST' } },
    { sent: 'a POST with a body', request: { method: 'POST', headers: json, body: '{"a":1}' } },
  ])('answers $sent that takes too long, once', async ({ request }) => {
    const { url, done, said } = await serving(100);
    const answer = await fetch(`${url}/?ms=400`, request);
    expect([answer.status, await answer.json(), answer.headers.get('retry-after')]).toEqual([503, { detail }, '1']);
    expect(done).toEqual([]);
    // What it was about goes on, and its end goes nowhere.
    await expect.poll(() => done).toHaveLength(1);
    expect((await fetch(`${url}/?ms=0`, request)).status).toBe(200);
    expect(said.join('')).not.toContain('"level":50');
  });

  it('of a route of its own is the one that is told', async () => {
    const { url } = await serving(100);
    expect(await (await fetch(`${url}/slow`)).json()).toEqual({ detail: detail.replace('0.1 s', '0.3 s') });
  });

  it('leaves alone who is in time, and who has gone', async () => {
    const { url, done } = await serving(250);
    const inTime = await Promise.all(
      [0, 20, 100].map((ms) => fetch(`${url}/?ms=${ms}`, { method: 'POST', headers: json, body: '{}' })),
    );
    expect(inTime.map(({ status }) => status)).toEqual([200, 200, 200]);
    const gone = fetch(`${url}/?ms=600`, { signal: AbortSignal.timeout(50) });
    await expect(gone).rejects.toThrow('aborted due to timeout');
    await expect.poll(() => done, { timeout: 60_000 }).toHaveLength(4);
    expect((await fetch(`${url}/?ms=0`)).status).toBe(200);
  });
});
