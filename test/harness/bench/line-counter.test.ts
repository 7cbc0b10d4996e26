import { describe, expect, it } from 'vitest';
import { LineCounter } from './line-counter.ts';

function line(type: string): string {
  return `${JSON.stringify({ type, object: { metadata: { name: 'shop', note: '{"type":"ADDED"' } } })}\n`;
}

const stream = ['ADDED', 'MODIFIED', 'ADDED', 'BOOKMARK', 'DELETED', 'ADDED'].map(line).join('');

describe('the count of a watch', () => {
  it.each([1, 2, 7, 15, 16, 17, 40, 10_000])('is the same in pieces of %i bytes', (size) => {
    const counter = new LineCounter();
    for (let at = 0; at < stream.length; at += size) counter.push(Buffer.from(stream.slice(at, at + size)));
    expect(counter.present).toBe(2);
  });
  it('tells whether something came or went', () => {
    const counter = new LineCounter();
    expect(counter.push(Buffer.from(line('ADDED')))).toBe(true);
    expect(counter.push(Buffer.from(line('MODIFIED')))).toBe(false);
    expect(counter.push(Buffer.from(line('ADDED') + line('DELETED')))).toBe(true);
  });
});
