// When the page connects: `follow` with a clock, a document and streams of the test's own.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from './api.ts';
import type { ServerEvent } from './events.ts';
import { type Following, follow } from './follow.ts';

const page = Object.assign(new EventTarget(), { hidden: false });
let asked: [seconds: number, lastEventId: string | undefined][];
let answers: Answer[];
let seen: string[];
let following: Following;

type Answer = (signal: AbortSignal) => AsyncGenerator<readonly ServerEvent[], { retryMs: number | undefined }>;
const event = (id: string, name = 'log'): ServerEvent => ({ event: name, data: {}, id });

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  vi.stubGlobal('document', page);
  page.hidden = false;
  [asked, answers, seen] = [[], [], []];
});
afterEach(() => {
  following.stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A connection with one event, which then stays open, or ends after so long. */
const connected = (
  id: string,
  { name = 'log', forMs }: { readonly name?: string; readonly forMs?: number } = {},
): Answer =>
  async function* (signal) {
    yield [];
    yield [event(id, name)];
    await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      if (forMs !== undefined) setTimeout(resolve, forMs);
    });
    return { retryMs: 4000 };
  };
const refused = (status: number, retryAfter?: number): Answer =>
  // oxlint-disable-next-line require-yield -- it fails first
  async function* () {
    throw new ApiError(status, `HTTP ${status}`, retryAfter);
  };

async function start(): Promise<void> {
  following = follow({
    open(lastEventId, signal) {
      asked.push([Date.now() / 1000, lastEventId]);
      return (answers.shift() ?? connected('default'))(signal);
    },
    onEvents: (events) => seen.push(events.map(({ id }) => id).join(' ')),
    onFailure: ({ message }, retryMs) => seen.push(`${message}, again in ${retryMs / 1000} s`),
  });
  await vi.advanceTimersByTimeAsync(0);
}
const times = (): number[] => asked.map(([seconds]) => seconds);
function turn(hidden: boolean): void {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
}

describe('a connection', () => {
  it('is there at once, and stays', async () => {
    await start();
    await vi.advanceTimersByTimeAsync(100_000);
    expect([asked, seen]).toEqual([[[0, undefined]], ['', 'default']]);
  });

  it('that ends is opened again after the time that it names, where it ended', async () => {
    answers = [connected('one', { forMs: 10_000 })];
    await start();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toEqual([
      [0, undefined],
      [14, 'one'],
    ]);
  });

  it.each(['gone', 'complete'])('is not opened again after the event %s', async (name) => {
    answers = [connected('last', { name, forMs: 10 })];
    await start();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(times()).toEqual([0]);
  });

  it('is asked for ever less often while it is refused, and as before afterwards', async () => {
    answers = [...Array.from({ length: 7 }, () => refused(500)), connected('one', { forMs: 1000 })];
    await start();
    await vi.advanceTimersByTimeAsync(270_000);
    expect(times()).toEqual([0, 5, 15, 35, 75, 135, 195, 255, 260]);
  });

  it('is not asked for before the time that a refusal names, but by a person', async () => {
    answers = [refused(429, 40), refused(429, 40)];
    await start();
    await vi.advanceTimersByTimeAsync(20_000);
    following.again();
    await vi.advanceTimersByTimeAsync(39_999);
    expect(times()).toEqual([0, 20]);
    await vi.advanceTimersByTimeAsync(1);
    expect(times()).toEqual([0, 20, 60]);
    expect(seen[0]).toBe('HTTP 429, again in 40 s');
  });

  it('ends while the page is hidden, and goes on where it was when the page is seen again', async () => {
    answers = [connected('one')];
    await start();
    turn(true);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(times()).toEqual([0]);
    turn(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked[1]).toEqual([100, 'one']);
  });

  it('is opened once, however often that is asked for', async () => {
    await start();
    following.again();
    turn(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(times()).toEqual([0]);
  });

  it('that nobody wants any more is closed, and tells nothing', async () => {
    answers = [connected('one', { forMs: 1000 })];
    await start();
    following.stop();
    turn(false);
    await vi.advanceTimersByTimeAsync(100_000);
    expect([times(), seen]).toEqual([[0], ['', 'one']]);
  });
});
