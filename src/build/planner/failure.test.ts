import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PLAN_REASONS, shown, shownPath } from './failure.ts';
import { KNOWN_KEYS } from './workflow-config.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/builds.md'), 'utf8');

it('docs/builds.md lists each reason with its meaning, and no other', () => {
  const listed = [...page.matchAll(/^\| `([A-Z]\w+)` \| (.*) \|$/gm)].map(([, reason = '', meaning = '']) => [
    reason,
    meaning,
  ]);
  expect(Object.fromEntries(listed)).toEqual(PLAN_REASONS);
});

it('docs/builds.md names each key of the configuration file', () => {
  const section = page.slice(page.indexOf('### Keys'), page.indexOf('### Python or Node.js'));
  const named = [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, key]) => key),
  );
  expect(new Set(named)).toEqual(new Set(KNOWN_KEYS.filter((key) => !key.startsWith('_'))));
});

it.each([
  ['plain', '"plain"'],
  ['a\nb"', '"a\\nb\\""'],
  ['\u2028\u202e\u0085\ufeff', '"\\u2028\\u202e\\u0085\\ufeff"'],
  ['x'.repeat(200), `"${'x'.repeat(116)}..."`],
])('shows %j on one line, truncated', (value, want) => {
  expect(shown(value)).toBe(want);
});

it('quotes a path only if it has special characters', () => {
  expect([shownPath('apps/web.json'), shownPath('a b'), shownPath('')]).toEqual(['apps/web.json', '"a b"', '""']);
});
