// When the page asks again: of `follow` over a clock and a document of the test's own.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from './api.ts';
import { type Following, follow } from './follow.ts';

const page = Object.assign(new EventTarget(), { hidden: false });
let asked: number[];
let answers: (() => Promise<string>)[];
let seen: string[];
let following: Following;

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

const refusing = (status: number, retryAfter?: number) => () =>
  Promise.reject(new ApiError(status, `HTTP ${status}`, retryAfter));

async function start(everyMs: number | 'once' = 3000): Promise<void> {
  following = follow({
    read: () => {
      asked.push(Date.now() / 1000);
      return answers.shift()?.() ?? Promise.resolve('fine');
    },
    everyMs,
    onValue: (value) => seen.push(value),
    onFailure: ({ message }, retryMs) => seen.push(`${message}, again in ${retryMs / 1000} s`),
  });
  await vi.advanceTimersByTimeAsync(0);
}
function turn(hidden: boolean): void {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
}

describe('a question', () => {
  it('is asked at once and again after its time', async () => {
    await start();
    await vi.advanceTimersByTimeAsync(9000);
    expect(asked).toEqual([0, 3, 6, 9]);
  });

  it('that is asked once is not asked again after its answer, but after a failure', async () => {
    answers = [refusing(503)];
    await start('once');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([0, 5]);
    expect(seen).toEqual(['HTTP 503, again in 5 s', 'fine']);
  });

  it('is asked ever less often while it fails, and as before afterwards', async () => {
    answers = Array.from({ length: 7 }, () => refusing(500));
    await start();
    await vi.advanceTimersByTimeAsync(260_000);
    expect(asked.slice(0, 9)).toEqual([0, 5, 15, 35, 75, 135, 195, 255, 258]);
  });

  it('is not asked before the time that an answer names', async () => {
    answers = [refusing(429, 40)];
    await start();
    await vi.advanceTimersByTimeAsync(39_999);
    expect(asked).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([0, 40]);
  });

  it('is not asked while the page is hidden, and at once when it is seen again', async () => {
    await start();
    turn(true);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(asked).toEqual([0]);
    turn(false);
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toEqual([0, 100, 103]);
  });

  it('that is wanted again during its answer is asked right after it', async () => {
    answers = [() => new Promise((resolve) => setTimeout(resolve, 1000, 'old'))];
    await start();
    following.again();
    following.again();
    await vi.advanceTimersByTimeAsync(1000);
    await vi.advanceTimersByTimeAsync(1);
    expect([asked.map(Math.round), seen]).toEqual([
      [0, 1],
      ['old', 'fine'],
    ]);
  });

  it('that nobody wants any more is not answered', async () => {
    answers = [() => new Promise((resolve) => setTimeout(resolve, 1000, 'late'))];
    await start();
    following.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    turn(false);
    expect([asked, seen]).toEqual([[0], []]);
  });
});
