// A log that grows, over an API that has the lines of the test.

import { expect, it } from 'vitest';
import type { DeployLogsQuery, LogLine } from '../http/logs/payloads.ts';
import { makeLogReader } from './log-reader.ts';

const line = (n: number, second = n): LogLine => ({
  id: `id-${n}`,
  timestamp: `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`,
  level: 'INFO',
  message: `line ${n}`,
  pod: 'shop-0',
  container: 'server',
});
const { signal } = new AbortController();

function reading(written: LogLine[]): { read: () => Promise<string[]>; asked: DeployLogsQuery[] } {
  const asked: DeployLogsQuery[] = [];
  const reader = makeLogReader(async (query) => {
    asked.push(query);
    const from = written.filter(({ timestamp }) => timestamp >= (query.start_time ?? ''));
    const ordered = query.order === 'desc' ? from.toReversed() : from;
    return { logs: ordered.slice(0, query.limit ?? 50), truncated: false };
  });
  return { asked, read: async () => (await reader(signal)).lines.map(({ id }) => id) };
}

it('shows the newest lines in the order in which they were written, then those that come', async () => {
  const written = [line(1), line(2)];
  const { read, asked } = reading(written);
  expect(await read()).toEqual(['id-1', 'id-2']);
  written.push(line(3));
  expect(await read()).toEqual(['id-1', 'id-2', 'id-3']);
  expect(asked.map(({ order, start_time: from }) => [order, from])).toEqual([
    ['desc', undefined],
    ['asc', line(2).timestamp],
  ]);
});

it('shows a line once, also where several were written in the moment of the last one', async () => {
  const written = [line(1), line(2)];
  const { read } = reading(written);
  await read();
  written.push(line(3, 2), line(4, 2));
  expect(await read()).toEqual(['id-1', 'id-2', 'id-3', 'id-4']);
  expect(await read()).toEqual(['id-1', 'id-2', 'id-3', 'id-4']);
});

it('keeps asking for the newest lines while there is none', async () => {
  const written: LogLine[] = [];
  const { read, asked } = reading(written);
  expect(await read()).toEqual([]);
  written.push(line(1));
  expect(await read()).toEqual(['id-1']);
  expect(asked.map(({ order }) => order)).toEqual(['desc', 'desc']);
});

it('forgets the oldest lines of a long log', async () => {
  const written = [line(0)];
  const { read } = reading(written);
  await read();
  for (let n = 1; n < 5000; n += 1) {
    written.push({ ...line(0), id: `id-${n}`, timestamp: new Date(Date.parse(line(0).timestamp) + n).toISOString() });
    if (n % 900 === 0) await read();
  }
  const shown = await read();
  expect(shown).toHaveLength(3000);
  expect(shown.at(-1)).toBe('id-4999');
});
