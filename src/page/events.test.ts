// The API's streams, in pieces as a connection brings them.

import { expect, it } from 'vitest';
import { makeEventParser } from './events.ts';

const STREAM = [
  'retry: 2731\n\n',
  'id: one\nevent: deployment\ndata: {"name":"shop: a","status":"READY"}\n\n',
  ': a comment\n\n',
  'event: end\ndata: {"reason":"lifetime"}\n\n',
].join('');
const EVENTS = [
  { event: 'deployment', data: { name: 'shop: a', status: 'READY' }, id: 'one' },
  { event: 'end', data: { reason: 'lifetime' }, id: undefined },
];

it('are the same events whatever the pieces', () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const parser = makeEventParser();
    const pieces = STREAM.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS);
    expect(parser.retryMs).toBe(2731);
  }
});

it('have no event before their empty line', () => {
  const parser = makeEventParser();
  expect(parser.push('event: log\ndata: {}\n')).toEqual([]);
  expect(parser.push('\n')).toEqual([{ event: 'log', data: {}, id: undefined }]);
});

it('have every character that JSON leaves in a line, such as separators of lines and paragraphs', () => {
  const data = { name: 'a\u2028b\u2029c\u0085d\u000be' };
  expect(makeEventParser().push(`event: log\ndata: ${JSON.stringify(data)}\n\n`)).toEqual([
    { event: 'log', data, id: undefined },
  ]);
});
