// `export`: a file that deploys what the record has.

import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { aRecord } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { printable } from '../../kinds/text.ts';

it.each([
  'plain',
  'a\u0007b',
  'a\u009bb',
  'a\u202eb',
  'a\u2028b',
  '\u{e0041}',
  '"quoted" \\ back\u0085',
  'two\nlines\u200e',
])('keeps a value with characters that no terminal should get: %j', async (value) => {
  const env = [{ name: 'WORD', value }];
  const cli = makeOwnCli({ record: aRecord({ sourceConfig: { env } }) });
  const readers: [args: string[], read: (text: string) => unknown][] = [
    [[], (text) => parse(text) as unknown],
    [['-o', 'json'], (text) => JSON.parse(text) as unknown],
  ];
  for (const [args, read] of readers) {
    const { out, code } = await cli.run(['export', 'shop', ...args]);
    expect([code, printable(out)]).toEqual([0, out]);
    expect(read(out)).toMatchObject({ env });
  }
});
