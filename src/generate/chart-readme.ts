// charts/davit/README.md: the values of the chart as a table, made from the comments of charts/davit/values.yaml.

interface Row {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

const INTRODUCTION = `# Chart of Davit

Installs the controller, the HTTP API, the CustomResourceDefinitions, roles and admission policies. [install.md](../../docs/install.md) says how to install it,
[upgrade.md](../../docs/upgrade.md) how to upgrade it, and [air-gapped.md](../../docs/air-gapped.md) how to do both without the internet.

Made from \`values.yaml\` by \`npm run generate\`. A value in parentheses is not set by default. An empty object or list takes what its
description names. Helm rejects all names that \`values.schema.json\` does not have.

| Value | Default | Description |
|---|---|---|
`;

/** The page for the text of values.yaml. */
export function chartReadme(values: string): string {
  const rows = rowsOf(values.split('\n'));
  const lines = rows.map(({ path, value, text }) => `| \`${path}\` | ${value} | ${text.replaceAll('|', '\\|')} |\n`);
  return `${INTRODUCTION}${lines.join('')}`;
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
