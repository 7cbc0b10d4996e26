import { expect, it } from 'vitest';
import { listedEvents, runsBeside } from './listed-events.ts';

const BOUNDS = { most: 6, mostOfRuns: 2 };

it.each([
  { name: 'all, where they fit', events: 'rprp', want: 'rprp' },
  { name: 'two of runs, where there are more others', events: 'rrrrpppppp', want: 'rrpppp' },
  { name: 'what is newer, where those of runs are old', events: 'pppppprrrr', want: 'pppppp' },
  { name: 'more of runs, where there are few others', events: 'rrrrrrrp', want: 'rrrrrp' },
  { name: 'nothing but runs, where there is nothing else', events: 'rrrrrrrrr', want: 'rrrrrr' },
  { name: 'none of none', events: '', want: '' },
])('lists $name', ({ events, want }) => {
  const all = events.split('').map((of, at) => ({ of, at }));
  const shown = listedEvents(all, ({ of }) => of === 'r', BOUNDS);
  expect(shown.map(({ of }) => of).join('')).toBe(want);
  expect(shown).toEqual(shown.toSorted((a, b) => a.at - b.at));
});

it.each([
  ['task', true],
  ['backup', true],
  ['verify', true],
  ['server', false],
  ['migrate', false],
  ['restore', false],
  ['postgres', false],
  [undefined, false],
])('%s runs beside: %s', (component, is) => {
  expect(runsBeside(component)).toBe(is);
});
