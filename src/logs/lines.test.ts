import fc from 'fast-check';
import { expect, it } from 'vitest';
import { levelOf } from './levels.ts';
import { makePage } from './lines.ts';
import type { DeployLogs, DeployLogsQuery } from './payloads.ts';

interface Written {
  readonly by: string;
  readonly text: string;
}

/** Feeds what each container wrote in pieces of `size` bytes. */
function pageOf(written: readonly Written[], query: DeployLogsQuery, size = 1_000_000): DeployLogs {
  const page = makePage(query);
  for (const { by, text } of written) {
    const sink = page.sink(by);
    const bytes = Buffer.from(text);
    let goesOn = true;
    for (let at = 0; goesOn && at < bytes.length; at += size) goesOn = sink.push(bytes.subarray(at, at + size));
    if (goesOn) sink.end();
  }
  return page.done(false);
}

/** The same page by the shortest way: all lines sorted, then all filters. */
function sortedWhole(written: readonly Written[], query: DeployLogsQuery): string[] {
  const descending = query.order !== 'asc';
  const after = query.offset ? Buffer.from(query.offset, 'base64url').toString() : undefined;
  const bound = (time: string | null | undefined, otherwise: number): number => (time ? Date.parse(time) : otherwise);
  const lines = written.flatMap(({ by, text }) => {
    const seen = new Map<string, number>();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [time = '', ...words] = line.split(' ');
        const at = time.replace('Z', '.000000000Z');
        const nth = seen.get(at) ?? 0;
        seen.set(at, nth + 1);
        return { at, key: `${at} ${by} ${String(nth).padStart(6, '0')}`, message: words.join(' ') };
      });
  });
  return lines
    .toSorted((a, b) => (a.key < b.key ? -1 : 1) * (descending ? -1 : 1))
    .filter(({ key }) => after === undefined || (descending ? key < after : key > after))
    .filter(({ at }) => Date.parse(at) >= bound(query.start_time, -Infinity))
    .filter(({ at }) => Date.parse(at) <= bound(query.end_time, Infinity))
    .filter(({ message }) => message.toLowerCase().includes(query.query?.toLowerCase() ?? ''))
    .filter(({ message }) => typeof query.level !== 'string' || levelOf(message) === query.level)
    .map(({ key, message }) => `${key} ${message}`)
    .slice(0, query.limit ?? 50);
}

const second = fc.integer({ min: 0, max: 30 });
const timeAt = (n: number): string => `2026-01-01T00:00:${String(n).padStart(2, '0')}Z`;
const aLog = fc
  .array(fc.tuple(second, fc.constantFrom('one', 'TWO ERROR', 'three', 'WARN four')), { maxLength: 30 })
  .map((lines) =>
    lines
      .toSorted(([a], [b]) => a - b)
      .map(([at, message]) => `${timeAt(at)} ${message}\n`)
      .join(''),
  );
const aQuery = fc.record({
  limit: fc.integer({ min: 1, max: 20 }),
  order: fc.constantFrom('asc' as const, 'desc' as const),
  level: fc.constantFrom(undefined, undefined, 'ERROR' as const),
  query: fc.constantFrom(undefined, undefined, 'one', 'e'),
  start_time: fc.option(second.map(timeAt), { nil: undefined }),
  end_time: fc.option(second.map(timeAt), { nil: undefined }),
});

it('shows what sorting all lines would, page by page, whatever pieces they come in', () => {
  fc.assert(
    fc.property(fc.array(aLog, { maxLength: 4 }), aQuery, fc.integer({ min: 1, max: 200 }), (logs, query, size) => {
      const written = logs.map((text, index) => ({ by: `pod-${index}/c`, text }));
      let offset: string | null = null;
      for (let pages = 0; pages < 3; pages += 1) {
        const asked = { ...query, offset };
        const { logs: shown, next_offset: next } = pageOf(written, asked, size);
        const told = shown.map(({ id, message }) => `${Buffer.from(id, 'base64url').toString()} ${message}`);
        const want = sortedWhole(written, { ...asked, limit: query.limit + 1 });
        expect(told).toEqual(want.slice(0, query.limit));
        expect(next !== null).toBe(want.length > query.limit);
        if (next === null) return;
        offset = next;
      }
    }),
    { numRuns: 300 },
  );
});

it.each<[string, DeployLogsQuery, number]>([
  ['the oldest come first, and a page is full', { order: 'asc', limit: 1 }, 3],
  ['what comes after the end is not asked for', { end_time: timeAt(1) }, 3],
  ['every line may count', { level: 'ERROR' }, -1],
])('tells when nothing that comes can be on the page: %s', (_name, query, stopsAt) => {
  const sink = makePage(query).sink('a');
  // Two seconds of a clock that was set back are waited for.
  const goesOn = [0, 1, 3, 9].map((at) => sink.push(Buffer.from(`${timeAt(at)} x\n`)));
  expect(goesOn.indexOf(false)).toBe(stopsAt);
});

it('asks only for what may be on the page', () => {
  const page = makePage({ limit: 2 });
  expect([page.lastLines('a'), page.since('a')]).toEqual([3, undefined]);
  const sink = page.sink('a');
  for (let at = 0; at < 10; at += 1) sink.push(Buffer.from(`${timeAt(at)} x\n`));
  expect(page.since('a')).toBe(timeAt(7));
  const { next_offset: offset } = page.done(false);
  expect(makePage({ offset, order: 'asc' }).since('a')).toBe(timeAt(8));
  expect(makePage({ start_time: '2026-01-01T01:00:02.5+01:00' }).since('a')).toBe(timeAt(2));
  expect([
    { query: 'x' },
    { level: 'INFO' as const },
    { offset },
    { end_time: timeAt(1) },
    { order: 'asc' as const },
  ]).toSatisfy((queries: DeployLogsQuery[]) => queries.every((query) => makePage(query).lastLines('a') === 1000));
});

it('takes the times of a node with a zone of its own', () => {
  const text = '2026-01-01T02:00:01.5+02:00 b\n2026-01-01T00:00:01.25Z a\nno time at all\n2026-01-01T00:00:02Z\n';
  const { logs } = pageOf([{ by: 'p', text }], { order: 'asc' });
  expect(logs.map(({ timestamp, message }) => [timestamp, message])).toEqual([
    ['2026-01-01T00:00:01.250000000Z', 'a'],
    ['2026-01-01T00:00:01.500000000Z', 'b'],
    ['2026-01-01T00:00:02.000000000Z', ''],
  ]);
});

it('cuts a line that is too long, and says so', () => {
  const long = `${timeAt(1)} ${'x'.repeat(200_000)}\n${timeAt(2)} short\n`;
  const { logs, truncated } = pageOf([{ by: 'p', text: long }], { order: 'asc' }, 50_000);
  expect(logs.map(({ message }) => message.length)).toEqual([64 * 1024 - 21, 5]);
  expect(truncated).toBe(true);
});

it('a page of long lines is shorter, and the next one goes on where it ends', () => {
  const lines = Array.from(
    { length: 60 },
    (_, n) => `2026-01-01T00:00:${String(n).padStart(2, '0')}Z ${n}${'x'.repeat(60_000)}`,
  );
  const written = [{ by: 'p', text: `${lines.join('\n')}\n` }];
  const seen: string[] = [];
  let pages = 0;
  for (let offset: string | null | undefined; offset !== null; pages += 1) {
    const {
      logs,
      next_offset: next,
      truncated,
    } = pageOf(written, { order: 'asc', limit: 1000, offset: offset ?? null });
    expect([logs.length > 20, truncated]).toEqual([next !== null || pages > 0, false]);
    seen.push(...logs.map(({ message }) => message.slice(0, 2)));
    offset = next;
  }
  expect([pages, new Set(seen).size, seen.length]).toEqual([2, 60, 60]);
});

it('shows what a program of Python writes with the levels of its lines', () => {
  const said = [
    '\u001B[2m2026-11-27T19:00:00Z\u001B[0m [\u001B[31m\u001B[1merror    \u001B[0m] \u001B[1mrun failed\u001B[0m',
    'Traceback (most recent call last):',
    '  File "/app/graph.py", line 3, in node',
    '    raise ValueError("INFO is missing")',
    'ValueError: no such person',
    '2026-11-27T19:00:01Z [info     ] next run',
    '    an indented line',
  ];
  const text = said.map((line, at) => `${timeAt(at)} ${line}\n`).join('');
  const { logs } = pageOf([{ by: 'p/server', text }], { order: 'asc' });
  expect(logs.map(({ level, message }) => [level, message])).toEqual([
    ['ERROR', '2026-11-27T19:00:00Z [error    ] run failed'],
    ['ERROR', said[1]],
    ['ERROR', said[2]],
    ['ERROR', said[3]],
    ['ERROR', said[4]],
    ['INFO', said[5]],
    [null, said[6]],
  ]);
  // A page that begins within the traceback.
  const { logs: errors } = pageOf([{ by: 'p/server', text: text.split('\n').slice(2).join('\n') }], {
    order: 'asc',
    level: 'ERROR',
  });
  expect(errors.map(({ message }) => message)).toEqual(said.slice(2, 5));
});

it.each(['asc', 'desc'] as const)('one log that was read as that before the restart too is shown once, %s', (order) => {
  const text = `${timeAt(1)} one\n${timeAt(1)} two\n${timeAt(2)} three\n`;
  const both = [
    { by: 'p/server', text },
    { by: 'p/server/previous', text },
    { by: 'q/server', text },
  ];
  const said = pageOf(both, { order }).logs.map(({ pod, message }) => `${pod} ${message}`);
  const ascending = ['p one', 'p two', 'q one', 'q two', 'p three', 'q three'];
  expect(said).toEqual(order === 'asc' ? ascending : ascending.toReversed());
});

it('what a container wrote at the same time before and after its restart is shown twice', () => {
  const said = pageOf(
    [
      { by: 'p/server', text: `${timeAt(1)} after\n` },
      { by: 'p/server/previous', text: `${timeAt(1)} before\n` },
    ],
    { order: 'asc' },
  );
  expect(said.logs.map(({ message }) => message)).toEqual(['after', 'before']);
});

/** What a caller gets who reads on until there is no more, and the last position. */
function readOn(written: readonly Written[], query: DeployLogsQuery): { told: string[]; position: string } {
  const told: string[] = [];
  let position = query.position ?? null;
  for (;;) {
    const { logs, next_offset: next, position: now } = pageOf(written, { ...query, position });
    told.push(...logs.map(({ pod, message }) => `${pod} ${message}`));
    position = now;
    if (next === null) return { told, position: position ?? 'none' };
  }
}

it('a caller who reads on gets each line once, however lines of several containers come', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(aLog, fc.nat(30)), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 10 }),
      fc.constantFrom(undefined, 'one', 'e'),
      (logs, limit, text) => {
        const lines = logs.map(([log]) => log.split(/(?<=\n)/).filter((line) => line !== ''));
        const until = (at: (n: number) => number): Written[] =>
          lines.map((all, n) => ({ by: `pod-${n}/c`, text: all.slice(0, at(n)).join('') }));
        const query = { order: 'asc' as const, limit, ...(text && { query: text }) };
        const first = readOn(
          until((n) => logs[n]?.[1] ?? 0),
          query,
        );
        const second = readOn(
          until(() => Infinity),
          { ...query, position: first.position },
        );
        const all = readOn(
          until(() => Infinity),
          { ...query, limit: 1000 },
        );
        expect([...first.told, ...second.told].toSorted()).toEqual(all.told.toSorted());
        expect(
          readOn(
            until(() => Infinity),
            { ...query, position: second.position },
          ).told,
        ).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});
