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
  const { out, code } = await makeOwnCli({ record: aRecord({ sourceConfig: { env } }) }).run(['export', 'shop']);
  expect([code, printable(out)]).toEqual([0, out]);
  expect(parse(out)).toMatchObject({ env });
});
