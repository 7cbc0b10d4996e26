// The table of charts/davit/README.md: the values of the chart, from the comments of charts/davit/values.yaml.

import { withTable } from './sections.ts';

interface Row {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

/** charts/davit/README.md with the table regenerated from the text of values.yaml. */
export function withValuesTable(page: string, values: string): string {
  return withTable(page, 'charts/davit/values.yaml', valuesTable(values));
}

export function valuesTable(values: string): string {
  const rows = rowsOf(values.split('\n'));
  const lines = rows.map(({ path, value, text }) => `| \`${path}\` | ${value} | ${text.replaceAll('|', '\\|')} |\n`);
  return `| Value | Default | Description |\n|---|---|---|\n${lines.join('')}`;
}

/**
 * A key with a comment, or without values below it. Comments stand above their key; a key in a comment is one that is not set, and
 * may have keys below it, further in.
 */
function rowsOf(lines: readonly string[]): Row[] {
  const rows: Row[] = [];
  const above: string[] = [];
  let comment: string[] = [];
  for (const [index, line] of lines.entries()) {
    const [, indent = '', hash, inner = '', key, rest = ''] = /^( *)(?:(# )( *))?([\w-]+):(?: (.*))?$/.exec(line) ?? [];
    const [, said] = /^ *# +(.*)$/.exec(line) ?? [];
    const isExample = hash !== undefined && rest === '' && isFurtherIn(lines[index + 1], `${indent}# ${inner}  `);
    if (key === undefined || (hash !== undefined && !isExample && !isUnset(key, rest))) {
      comment = said === undefined ? [] : [...comment, said];
      continue;
    }
    const depth = (indent.length + inner.length) / 2;
    above.length = depth;
    if (hash === undefined || isExample) above[depth] = key;
    const path = [...above.slice(0, depth), key].join('.');
    const isParent = rest === '';
    const value = rest === '' ? '' : `\`${rest.replaceAll('|', '\\|')}\``;
    const text = comment.join(' ');
    if (!isParent || text !== '')
      rows.push({ path, value: hash === undefined || value === '' ? value : `(${value})`, text });
    comment = [];
  }
  return rows;
}

/** Whether the line belongs to the example above it. */
function isFurtherIn(line: string | undefined, begin: string): boolean {
  return line !== undefined && line.startsWith(begin);
}

/** In a comment, a sentence with a colon is no key. */
function isUnset(key: string, rest: string): boolean {
  return /^[a-z][A-Za-z]*$/.test(key) && !/^[a-z]+ [a-z]+/i.test(rest) && rest !== '';
}
