// charts/davit/README.md: the values of the chart as a table, made from the comments of charts/davit/values.yaml.

interface Row {
  readonly path: string;
  readonly value: string;
  readonly text: string;
}

const INTRODUCTION = `# Chart of Davit

Installs the controller, the HTTP API, the CustomResourceDefinitions, roles and admission policies. [install.md](../../docs/install.md) says how to install it,
[upgrade.md](../../docs/upgrade.md) how to upgrade it, and [air-gapped.md](../../docs/air-gapped.md) how to do both without the internet.

Made from \`values.yaml\` by \`npm run generate\`. A value in parentheses is not set by default. Helm rejects names that are not in this table.

| Value | Default | Description |
|---|---|---|
`;

/** The page for the text of values.yaml. */
export function chartReadme(values: string): string {
  const rows = rowsOf(values.split('\n'));
  const lines = rows.map(({ path, value, text }) => `| \`${path}\` | ${value} | ${text.replaceAll('|', '\\|')} |\n`);
  return `${INTRODUCTION}${lines.join('')}`;
}

/** A key with a comment, or without values below it. Comments stand above their key; a key in a comment is one that is not set. */
function rowsOf(lines: readonly string[]): Row[] {
  const rows: Row[] = [];
  const above: string[] = [];
  let comment: string[] = [];
  for (const line of lines) {
    const [, indent = '', hash, key, rest = ''] = /^( *)(# )?([\w-]+):(?: (.*))?$/.exec(line) ?? [];
    const [, said] = /^ *# (.*)$/.exec(line) ?? [];
    if (key === undefined || (hash !== undefined && !isUnset(key, rest))) {
      comment = said === undefined ? [] : [...comment, said];
      continue;
    }
    const depth = indent.length / 2;
    above.length = depth;
    if (hash === undefined) above[depth] = key;
    const path = [...above.slice(0, depth), key].join('.');
    const isParent = hash === undefined && rest === '';
    const value = rest === '' ? '' : `\`${rest.replaceAll('|', '\\|')}\``;
    const text = comment.join(' ');
    if (!isParent || text !== '') rows.push({ path, value: hash === undefined ? value : `(${value})`, text });
    comment = [];
  }
  return rows;
}

/** In a comment, a sentence with a colon is no key. */
function isUnset(key: string, rest: string): boolean {
  return /^[a-z][A-Za-z]*$/.test(key) && !/^[a-z]+ [a-z]+/i.test(rest) && rest !== '';
}
