import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeLineLimit } from './line-limit.ts';

function aLog() {
  const clock = makeFakeClock();
  const limit = makeLineLimit(clock);
  const lines: string[] = [];
  const tell = (subject: string, text: string): void =>
    limit.tell(subject, (suppressed) => void lines.push(`${text} ${suppressed}`));
  return { clock, limit, lines, tell };
}

it('what flaps for an hour gets a burst and then a line a minute, which says how many are missing', () => {
  const { clock, lines, tell } = aLog();
  for (let second = 0; second < 3600; second += 1) {
    tell('flapping', `second ${second}:`);
    clock.advanceSync(1000);
  }
  expect(lines.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, second) => `second ${second}: 0`));
  expect(lines.length).toBeGreaterThanOrEqual(88);
  expect(lines.length).toBeLessThanOrEqual(90);
  expect(lines.at(-2)).toMatch(/ 59$/);
});

it('the last line about a subject is the newest, within a minute', () => {
  const { clock, limit, lines, tell } = aLog();
  for (let line = 0; line < 40; line += 1) tell('flapping', `line ${line}:`);
  expect(lines.at(-1)).toBe('line 29: 0');
  clock.advanceSync(59_000);
  expect(lines).toHaveLength(30);
  clock.advanceSync(1000);
  expect(lines.slice(30)).toEqual(['line 39: 9']);
  clock.advanceSync(3_600_000);
  expect(lines).toHaveLength(31);
  for (let line = 0; line < 40; line += 1) tell('flapping', `again ${line}:`);
  limit.stop();
  clock.advanceSync(3_600_000);
  expect(lines.at(-1)).toBe('again 29: 0');
  expect(clock.pending).toBe(0);
});

it('does not limit another subject, nor one of the same name after the first is gone', () => {
  const { clock, limit, lines, tell } = aLog();
  for (let line = 0; line < 100; line += 1) tell('flapping', 'flapping');
  tell('quiet', 'quiet');
  limit.forget('flapping');
  tell('flapping', 'another');
  expect(lines.slice(30)).toEqual(['quiet 0', 'another 0']);
  expect(clock.pending).toBe(0);
});

it('remembers ten thousand subjects: those that were silent longest are forgotten', () => {
  const { clock, lines, tell } = aLog();
  for (let line = 0; line < 100; line += 1) tell('early', 'early');
  for (let line = 0; line < 100; line += 1) tell('late', 'late');
  for (let other = 0; other < 9999; other += 1) tell(`other ${other}`, 'other');
  lines.splice(0);
  tell('early', 'early');
  tell('late', 'late');
  tell('other 9998', 'other');
  expect(lines).toEqual(['early 0', 'late 0', 'other 0']);
  expect(clock.pending).toBe(0);
});
