// When the page asks: `follow` with a clock, a document and answers of the test's own.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, type News } from './api.ts';
import { type Following, follow } from './follow.ts';

const page = Object.assign(new EventTarget(), { hidden: false });
/** Seconds. */
let asked: number[];
let answers: Answer[];
let seen: string[];
let following: Following;

type Answer = () => Promise<News<string>>;

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

/** An answer after so long. */
const news =
  (value?: string, next?: News<string>['next'], afterMs = 0): Answer =>
  async () => {
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
    return { value, ...(next && { next }) };
  };
const refused =
  (status: number, retryAfter?: number): Answer =>
  () =>
    Promise.reject(new ApiError(status, `HTTP ${status}`, retryAfter));

async function start(): Promise<void> {
  following = follow<string>({
    everyMs: 2000,
    poll() {
      asked.push(Math.round(Date.now() / 100) / 10);
      return (answers.shift() ?? news())();
    },
    onAnswer: (value) => seen.push(value ?? 'nothing'),
    onFailure: ({ message }, retryMs) => seen.push(`${message}, again in ${retryMs / 1000} s`),
  });
  await vi.advanceTimersByTimeAsync(0);
}
function turn(hidden: boolean): void {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
}

describe('the page', () => {
  it('asks at once, and every two seconds after an answer', async () => {
    answers = [news('one'), news(), news('two', undefined, 3000)];
    await start();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([asked, seen]).toEqual([
      [0, 2, 4, 9],
      ['one', 'nothing', 'two', 'nothing'],
    ]);
  });

  it('asks at once while there is more', async () => {
    answers = [news('one', 'at once'), news('two', 'at once'), news('three')];
    await start();
    await vi.advanceTimersByTimeAsync(2010);
    expect([asked, seen.slice(0, 3)]).toEqual([
      [0, 0, 0, 2],
      ['one', 'two', 'three'],
    ]);
  });

  it('asks no more where nothing will be new', async () => {
    answers = [news('last', 'never')];
    await start();
    turn(false);
    await vi.advanceTimersByTimeAsync(100_000);
    expect([asked, seen]).toEqual([[0], ['last']]);
  });

  it('asks ever less often while it is refused, and as before afterwards', async () => {
    answers = Array.from({ length: 7 }, () => refused(500));
    await start();
    await vi.advanceTimersByTimeAsync(257_000);
    expect(asked).toEqual([0, 5, 15, 35, 75, 135, 195, 255, 257]);
  });

  it('does not ask before the time that a refusal names, but for a person', async () => {
    answers = [refused(429, 40), refused(429, 40)];
    await start();
    await vi.advanceTimersByTimeAsync(20_000);
    following.again();
    await vi.advanceTimersByTimeAsync(39_999);
    expect(asked).toEqual([0, 20]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([0, 20, 60]);
    expect(seen[0]).toBe('HTTP 429, again in 40 s');
  });

  it('asks nothing while it is hidden, and at once when it is seen again', async () => {
    await start();
    turn(true);
    await vi.advanceTimersByTimeAsync(100_500);
    expect(asked).toEqual([0]);
    turn(false);
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked).toEqual([0, 100.5, 102.5]);
  });

  it('begins hidden without a question', async () => {
    page.hidden = true;
    await start();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([]);
    turn(false);
    expect(asked).toEqual([10]);
  });

  it('asks one question at a time, however often that is asked for', async () => {
    answers = [news('one', undefined, 5000)];
    await start();
    following.again();
    turn(false);
    await vi.advanceTimersByTimeAsync(6000);
    expect([asked, seen]).toEqual([[0], ['one']]);
  });

  it('hears no answer to what nobody wants any more', async () => {
    answers = [news('one', undefined, 1000)];
    await start();
    following.stop();
    turn(false);
    await vi.advanceTimersByTimeAsync(100_000);
    expect([asked, seen]).toEqual([[0], []]);
  });
});
