import { expect, it } from 'vitest';
import { asksForEvents, eventText } from './server-sent-events.ts';

it.each<[string | undefined, boolean, string]>([
  [undefined, false, 'no header'],
  ['*/*', false, 'what clients send that take anything'],
  ['text/*', false, 'a wildcard names nothing'],
  ['application/json', false, 'JSON'],
  ['text/event-stream', true, 'as EventSource sends it'],
  ['Text/Event-Stream', true, 'types have no case'],
  ['text/event-stream;q=0', false, 'refused'],
  ['text/event-stream; charset=utf-8; q=0.5', true, 'with parameters'],
  ['text/event-stream, */*', true, 'named beside a wildcard'],
  ['text/event-stream, */*;q=0.1', true, 'preferred to anything else'],
  ['application/json, text/event-stream', false, 'both alike: as clients that take either get it today'],
  ['application/json;q=0.9, text/event-stream', true, 'preferred to JSON'],
  ['application/json, text/event-stream;q=0.9', false, 'JSON preferred'],
  ['text/event-stream;q=high', false, 'a weight that is none'],
  ['', false, 'empty'],
])('%s: %s, %s', (accept, asks) => expect(asksForEvents(accept)).toBe(asks));

it('writes an event', () => {
  expect(eventText({ event: 'deployment', data: '{"a":1}', id: 'x' })).toBe(
    'id: x\nevent: deployment\ndata: {"a":1}\n\n',
  );
  expect(eventText({ event: 'end', data: '{}' })).toBe('event: end\ndata: {}\n\n');
});
