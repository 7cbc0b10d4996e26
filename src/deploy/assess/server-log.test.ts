import { expect, it } from 'vitest';
import { messagesOnly, withoutValues } from './server-log.ts';

const AT = '2026-02-01 00:00:00.000 UTC [33]';

it.each([
  ['messages stay', [`${AT} LOG:  starting`, `${AT} FATAL:  disk full`], [0, 1]],
  ['what comes from elsewhere stays', ['initdb: error: directory exists', 'hint: remove it'], [0, 1]],
  [
    'keys and statements go, with all their lines',
    [
      `${AT} ERROR:  duplicate key value violates unique constraint "users_email"`,
      `${AT} DETAIL:  Key (email)=(ada@private.example) already exists.`,
      `${AT} STATEMENT:  insert into users`,
      '\tvalues (1, $$ada@private.example$$)',
      '\tERROR:  4111',
      `${AT} LOG:  received fast shutdown request`,
    ],
    [0, 5],
  ],
  [
    'rows go',
    [`${AT} ERROR:  bad`, `${AT} CONTEXT:  COPY users, line 1: "1 ada`, '4111"', `${AT} FATAL:  end`],
    [0, 3],
  ],
])('%s', (_name, lines, kept) => {
  expect(messagesOnly(lines.join('\n')).split('\n')).toEqual(kept.map((index) => lines[index]));
});

it('a line whose beginning is cut off goes, because it may be anything', () => {
  const [first, last] = [`${'x'.repeat(2000)} ada@private.example`, `${AT} LOG:  shutting down`];
  expect(messagesOnly(`${first}\n${last}`)).toBe(last);
});

it.each([
  [
    'ERROR:  invalid input syntax for type integer: "4111 1111"',
    'ERROR:  invalid input syntax for type integer: (a value)',
  ],
  ['ERROR:  date/time field value out of range: "31/12/1999"', 'ERROR:  date/time field value out of range: (a value)'],
  ['ERROR:  malformed array literal: "{"ada", "eve"}"', 'ERROR:  malformed array literal: (a value)'],
  [
    'ERROR:  value "99999999999" is out of range for type integer',
    'ERROR:  value (not shown) is out of range for type integer',
  ],
  ['ERROR:  relation "users" does not exist', 'ERROR:  relation "users" does not exist'],
])('a value goes, and a name stays: %s', (message, want) => {
  expect([withoutValues(message), messagesOnly(message)]).toEqual([want, want]);
});
