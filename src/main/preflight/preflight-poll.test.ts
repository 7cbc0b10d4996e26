import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeClock, makeFakeClock } from '../../../test/support/fake-clock.ts';
import { type WatchedRequirements, watchRequirements } from './preflight-poll.ts';

interface Line {
  readonly msg: string;
  readonly missing?: string;
}

let clock: FakeClock;
let stopping: AbortController;
let lines: Line[];
let answers: (string | undefined | Error)[];
let asked: number;
beforeEach(() => {
  clock = makeFakeClock();
  stopping = new AbortController();
  lines = [];
  answers = [];
  asked = 0;
});
afterEach(() => stopping.abort());

/** Each look takes the next answer; the last one stays. */
function watch(againMs?: number): WatchedRequirements {
  async function kinds(): Promise<string | undefined> {
    asked += 1;
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return answer;
  }
  const log = pino(
    { base: null, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line) as Line) },
  );
  return watchRequirements({
    requirements: { kinds },
    log,
    signal: stopping.signal,
    retryMs: 1000,
    clock,
    ...(againMs !== undefined && { againMs }),
  });
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a requirement', () => {
  it('that is not met is said once, and recovers automatically', async () => {
    answers = ['none there', 'none there', new Error('down'), undefined];
    const { ready, met } = watch();
    expect(ready['kinds']?.()).toBe('not checked yet');
    await settle();
    expect(ready['kinds']?.()).toBe('none there');
    await clock.advance(1000);
    await settle();
    expect(ready['kinds']?.()).toBe('none there');
    await clock.advance(1000);
    await settle();
    expect(ready['kinds']?.()).toBe('down');
    await clock.advance(1000);
    await met;
    expect(ready['kinds']?.()).toBeUndefined();
    expect(lines.map(({ msg, missing }) => missing ?? msg)).toEqual(['none there', 'down', 'Requirement met']);
  });

  it('that is met is not asked about again', async () => {
    answers = [undefined];
    const { met, done } = watch();
    await Promise.all([met, done]);
    expect(asked).toBe(1);
  });

  it('that may be taken away is asked about again', async () => {
    answers = [undefined, 'taken away', undefined];
    const { ready, met } = watch(60_000);
    await met;
    await clock.advance(60_000);
    await settle();
    expect(ready['kinds']?.()).toBe('taken away');
    await clock.advance(1000);
    await settle();
    expect(ready['kinds']?.()).toBeUndefined();
  });

  it('stops with the process, met or not', async () => {
    answers = ['none there'];
    const { met, done } = watch();
    await settle();
    stopping.abort();
    await Promise.all([met, done]);
    expect(asked).toBe(1);
  });
});
