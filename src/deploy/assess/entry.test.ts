import { expect, it } from 'vitest';
import { entryOf, fail, firstOf, firstProblem, pass, stalled, unknown } from './entry.ts';

it('the first check that has an answer is heard, and none after it', () => {
  const asked: string[] = [];
  const check = (name: string, answer?: ReturnType<typeof pass>) => (): typeof answer => {
    asked.push(name);
    return answer;
  };
  const late = fail('Progressing', 'late');
  expect(firstOf([check('a'), check('b', late), check('c', pass('Serving', ''))], undefined)).toBe(late);
  expect(asked).toEqual(['a', 'b']);
  expect(firstOf([check('a')], undefined)).toBeUndefined();
});

it('a problem is whatever is no pass', () => {
  const well = pass('Serving', '');
  expect(firstProblem([undefined, well])).toBeUndefined();
  for (const problem of [fail('Progressing', ''), stalled('Paused', ''), unknown('NotObserved', '')])
    expect(firstProblem([well, undefined, problem, fail('Starting', '')])).toBe(problem);
});

it('a request that failed is tried again; a refusal waits for a person', () => {
  const of = (reason: 'RequestFailed' | 'ApplyRefused'): string =>
    entryOf({ reason, ref: { kind: 'Service', name: 'shop' }, message: '' }).is;
  expect([of('RequestFailed'), of('ApplyRefused')]).toEqual(['fail', 'stalled']);
});
