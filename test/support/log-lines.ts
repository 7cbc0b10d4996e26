// A log as an API server serves it with timestamps: lines of 4 KiB, one a second, the last one at 2026-01-02T00:00:00Z.

export const LINE_BYTES = 4096;
export const LAST_LINE_AT = Date.parse('2026-01-02T00:00:00Z');

export function linesOf(bytes: number): Buffer {
  const count = bytes / LINE_BYTES;
  const text = Buffer.alloc(bytes, 'x');
  for (let n = 0; n < count; n += 1) {
    const time = new Date(LAST_LINE_AT - (count - 1 - n) * 1000).toISOString().replace('.000Z', '.000000000Z');
    text.write(`${time} line ${n} `, n * LINE_BYTES);
    text.write('\n', (n + 1) * LINE_BYTES - 1);
  }
  return text;
}
