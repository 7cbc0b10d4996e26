// `export`: a file that deploys what the record has.

import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { answering, aRecord, runCli } from '../../test/support/cli-world.ts';
import { printable } from '../schema/text.ts';
import { RECORDS } from './records.ts';

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
  const { out, code } = await runCli(['export', 'shop'], {
    kubectl: answering({ [RECORDS]: aRecord({ sourceConfig: { env } }) }),
  });
  expect([code, printable(out)]).toEqual([0, out]);
  expect(parse(out)).toMatchObject({ env });
});
