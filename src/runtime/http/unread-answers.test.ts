import { expect, it } from 'vitest';
import { makeUnreadAnswers, type UnreadAnswers } from './unread-answers.ts';

function unread(): { answers: UnreadAnswers; closed: string[]; at: (name: string) => { destroy(): void } } {
  const closed: string[] = [];
  const connections = new Map<string, { destroy(): void }>();
  return {
    answers: makeUnreadAnswers({ ofCaller: 100, inAll: 250 }, (caller, bytes) => closed.push(`${caller} ${bytes}`)),
    closed,
    at(name) {
      const connection = connections.get(name) ?? { destroy: () => closed.push(name) };
      connections.set(name, connection);
      return connection;
    },
  };
}

it('a caller is full until he has read, and nobody else is', () => {
  const { answers, at, closed } = unread();
  const read = answers.add('ann', 60, at('a1'));
  expect(answers.isFull('ann')).toBe(false);
  answers.add('ann', 40, at('a2'));
  expect([answers.isFull('ann'), answers.isFull('bob')]).toEqual([true, false]);
  read();
  // Told twice it counts once.
  read();
  expect(answers.isFull('ann')).toBe(false);
  answers.add('ann', 60, at('a3'));
  expect(answers.isFull('ann')).toBe(true);
  expect(closed).toEqual([]);
});

it('where all together hold too much, who holds most loses the connection of his oldest answer', () => {
  const { answers, at, closed } = unread();
  answers.add('bob', 10, at('b1'));
  const late = answers.add('ann', 90, at('a1'));
  answers.add('ann', 20, at('a2'));
  answers.add('ann', 80, at('a1'));
  answers.add('cid', 60, at('c1'));
  expect(closed).toEqual(['ann 190', 'a1']);
  // It is told of each answer all the same, when the connection is closed.
  late();
  expect([answers.isFull('ann'), answers.isFull('bob'), answers.isFull('cid')]).toEqual([false, false, false]);
  answers.add('cid', 160, at('c2'));
  expect(closed).toEqual(['ann 190', 'a1']);
  answers.add('bob', 1, at('b2'));
  expect(closed).toEqual(['ann 190', 'a1', 'cid 220', 'c1']);
});

it('one answer that is too large for all is sent, if it must be, to nobody', () => {
  const { answers, at, closed } = unread();
  answers.add('ann', 10, at('a1'));
  answers.add('bob', 300, at('b1'));
  expect(closed).toEqual(['bob 300', 'b1']);
  expect([answers.isFull('ann'), answers.isFull('bob')]).toEqual([false, false]);
});
