import { expect, it } from 'vitest';
import { makeBulkhead } from './bulkhead.ts';

const slots = (): ReturnType<typeof makeBulkhead> =>
  makeBulkhead({ most: 3, mostOfGroup: 2, mostWaiting: 3, mostWaitingOfGroup: 2 });

/** Takes a slot for each group in turn, and tells when which began. */
function taking(groups: string): { readonly began: string[]; readonly give: (() => void)[]; readonly refused: number } {
  const began: string[] = [];
  const give: (() => void)[] = [];
  const all = slots();
  let refused = 0;
  for (const group of groups) {
    const slot = all.take(group);
    if (slot === undefined) refused += 1;
    void slot?.then((back) => {
      began.push(group);
      give.push(back);
    });
  }
  return { began, give, refused };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each([
  ['abc', 'abc', 0],
  ['aaab', 'aab', 0],
  ['aaaaa', 'aa', 1],
  ['abcdef', 'abc', 0],
  ['abcdefg', 'abc', 1],
])('of %s %s begin and %i are refused', async (groups, first, refused) => {
  const taken = taking(groups);
  await settled();
  expect([taken.began.join(''), taken.refused]).toEqual([first, refused]);
});

it('lets in who waits longest and has room, once for each slot that is given back', async () => {
  const { began, give } = taking('aaabc');
  await settled();
  expect(began.join('')).toBe('aab');
  give[2]?.();
  give[2]?.();
  await settled();
  expect(began.join('')).toBe('aabc');
  give[0]?.();
  await settled();
  expect(began.join('')).toBe('aabca');
});

it('who gives up waits no longer', async () => {
  const all = makeBulkhead({ most: 1, mostOfGroup: 1, mostWaiting: 1, mostWaitingOfGroup: 1 });
  const give = await all.take('a');
  const leaving = new AbortController();
  const waiting = all.take('b', leaving.signal);
  expect(all.take('c')).toBeUndefined();
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(all.take('d', leaving.signal)).rejects.toThrow('gone');
  const next = all.take('c');
  give?.();
  expect(await next).toBeTypeOf('function');
});
