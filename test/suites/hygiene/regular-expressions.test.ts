// No regular expression of src takes more than linear time, unless what it is given is short: one text of a stranger would stop the
// process. recheck judges them when WRITE_EXPRESSIONS=1 is set, and writes those that are linear into a file. A run only looks into the
// file: beside other tests, a verdict takes longer than its limit.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../../src');
const LINEAR = join(import.meta.dirname, 'linear-expressions.txt');

interface Verdict {
  readonly status: 'safe' | 'vulnerable' | 'unknown';
  readonly complexity?: { readonly summary: string };
  readonly attack?: { readonly pattern: string };
}

const require = createRequire(import.meta.url);
// The engine in JavaScript. The package's other entry looks for Java, and for a program of the machine.
const recheck = require('recheck/lib/browser.js') as {
  checkSync(source: string, flags: string, options: { timeout: number }): Verdict;
};
const { version } = require('recheck/package.json') as { version: string };

function judge(source: string, flags: string): Verdict {
  return recheck.checkSync(source, flags, { timeout: 60_000 });
}

interface Expression {
  readonly file: string;
  readonly line: number;
  readonly source: string;
  readonly flags: string;
}

interface Module {
  readonly text: string;
  readonly program: ESTree.Program;
  /** The constants of the file, wherever they are. */
  readonly constants: Map<string, ESTree.Expression>;
  readonly imports: Map<string, { readonly file: string; readonly name: string }>;
}

const modules = new Map<string, Module>();

function moduleOf(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const text = readFileSync(join(root, file), 'utf8');
  const { program } = parseSync(file, text);
  const found: Module = { text, program, constants: new Map(), imports: new Map() };
  modules.set(file, found);
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init) found.constants.set(id.name, init);
    },
    ImportDeclaration({ source, specifiers }) {
      if (!source.value.startsWith('.')) return;
      for (const one of specifiers)
        if (one.type === 'ImportSpecifier' && one.imported.type === 'Identifier')
          found.imports.set(one.local.name, {
            file: normalize(join(dirname(file), source.value)),
            name: one.imported.name,
          });
    },
  }).visit(program);
  return found;
}

/** In place of what is known only at run time. */
const ANYTHING = 'x';

/** The text that an expression gives, as far as constants say. */
function textOf(node: ESTree.Node, file: string): string {
  const { constants, imports } = moduleOf(file);
  switch (node.type) {
    case 'Literal':
      return 'regex' in node ? node.regex.pattern : String(node.value);
    case 'TemplateLiteral':
      return joined(node, file, 'cooked');
    case 'TaggedTemplateExpression':
      return joined(node.quasi, file, 'raw');
    case 'BinaryExpression':
      return textOf(node.left, file) + textOf(node.right, file);
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return textOf(node.expression, file);
    case 'Identifier': {
      const other = imports.get(node.name);
      if (other) return textOf({ ...node, name: other.name }, other.file);
      const constant = constants.get(node.name);
      return constant && constant !== node ? textOf(constant, file) : ANYTHING;
    }
    case 'MemberExpression':
      return memberOf(node, file);
    case 'CallExpression': {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.object.type !== 'ArrayExpression') return ANYTHING;
      const [between] = node.arguments;
      return callee.object.elements
        .flatMap((one) => (one ? [textOf(one, file)] : []))
        .join(between ? textOf(between, file) : ',');
    }
    default:
      return ANYTHING;
  }
}

function joined({ quasis, expressions }: ESTree.TemplateLiteral, file: string, form: 'raw' | 'cooked'): string {
  return quasis
    .map(({ value }, at) => {
      const next = expressions[at];
      return (value[form] ?? '') + (next ? textOf(next, file) : '');
    })
    .join('');
}

/** A field of a constant object, or the source of an expression. */
function memberOf({ object, property }: ESTree.MemberExpression, file: string): string {
  if (object.type !== 'Identifier' || property.type !== 'Identifier') return ANYTHING;
  if (property.name === 'source') return textOf(object, file);
  const other = moduleOf(file).imports.get(object.name);
  const [where, name] = other ? [other.file, other.name] : [file, object.name];
  const value = moduleOf(where).constants.get(name);
  const bare = value?.type === 'TSAsExpression' ? value.expression : value;
  if (bare?.type !== 'ObjectExpression') return ANYTHING;
  for (const one of bare.properties)
    if (one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === property.name)
      return textOf(one.value, where);
  return ANYTHING;
}

function expressionsIn(file: string): Expression[] {
  const { text, program } = moduleOf(file);
  const found: Expression[] = [];
  const add = (at: number, source: string, flags: string): void => {
    found.push({ file, line: text.slice(0, at).split('\n').length, source, flags });
  };
  const made = (node: ESTree.NewExpression | ESTree.CallExpression): void => {
    const { callee, arguments: given, start } = node;
    const [source, flags] = given;
    if (callee.type !== 'Identifier' || source === undefined) return;
    // Schemas make theirs with `matching` (kinds/primitives.ts), whose other arguments are bounds.
    if (callee.name === 'matching' && source.type !== 'Literal') add(start, textOf(source, file), '');
    if (callee.name === 'RegExp') add(start, textOf(source, file), flags ? textOf(flags, file) : '');
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: made,
    CallExpression: made,
  }).visit(program);
  return found;
}

const files = globSync('**/*.{ts,tsx}', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
const expressions = files.flatMap(expressionsIn);
const written = (one: Pick<Expression, 'source' | 'flags'>): string => `/${one.source}/${one.flags}`;

/** Files whose slow expressions are given short texts, and how short. */
const BOUNDED: readonly { readonly file: string; readonly source: string; readonly most: string }[] = [
  { file: 'kinds/source-files.ts', source: '(docker|container)file', most: 'a path: Linux takes 4 KiB' },
  { file: 'kinds/tasks.ts', source: '([0-9]+)([smh])', most: 'a schedule: 100 characters by its schema' },
  { file: 'api/rate-limit.ts', source: 'openapi', most: "a route's path of Davit" },
  {
    file: 'tools/chart-values.ts',
    source: '^([0-9.]+|',
    most: 'never runs in Davit: Helm judges it, in linear time',
  },
  { file: 'tools/page.ts', source: String.raw`\bmeaning:`, most: "Davit's own source, when it is built" },
  { file: 'deploy/assess/image-pull.ts', source: 'unexpected media type', most: 'LONGEST_CAUSE characters' },
  { file: 'deploy/assess/image-pull.ts', source: String.raw`((?:\d+\.){3}`, most: 'LONGEST_CAUSE characters' },
  { file: 'deploy/assess/pod-failures.ts', source: 'executable file not', most: 'a quotation: 500 characters' },
  { file: 'deploy/assess/pod-failures.ts', source: 'persistentvolumeclaim', most: 'a quotation: 500 characters' },
  { file: 'deploy/assess/probe-failures.ts', source: 'exec: ', most: 'LONGEST_EVENT characters' },
  { file: 'build/failures.ts', source: 'failed to', most: 'a message of termination: the kubelet keeps 4 KiB' },
  { file: 'build/failures.ts', source: 'https?', most: 'a message of termination: the kubelet keeps 4 KiB' },
  { file: 'build/failures.ts', source: 'failed to push', most: 'a message of termination: the kubelet keeps 4 KiB' },
  { file: 'build/failures.ts', source: 'importing cache', most: 'a message of termination: the kubelet keeps 4 KiB' },
  { file: 'build/failures.ts', source: 'ockerfile', most: 'a message of termination: the kubelet keeps 4 KiB' },
  { file: 'cli/folder/dockerfile.ts', source: 'http:', most: 'LONGEST_CHECK characters' },
  { file: 'cli/line/command.ts', source: 'namespace|context', most: 'a sentence of the plugin' },
  { file: 'cli/line/not-found.ts', source: 'Forbidden', most: 'each of its parts takes 300 characters' },
];

function isBounded({ file, source }: Expression): boolean {
  return BOUNDED.some((one) => one.file === file && source.includes(one.source));
}

describe('a regular expression', () => {
  it.each([
    ['exponential', String.raw`^"(?:[^"\\]+|\\.)*"`, ''],
    ['2nd degree polynomial', String.raw`[.\s]+$`, ''],
    ['2nd degree polynomial', '<A>(.*?)</A>', 'gs'],
    ['linear', '^a+b$', ''],
  ])('that is %s is found to be', (summary, source, flags) => {
    expect(judge(source, flags).complexity?.summary).toBe(summary);
  });

  it('is found wherever it is made', () => {
    const of = (file: string): string[] => expressionsIn(file).map(written);
    expect(of('build/http/webhooks/routes.ts')).toContainEqual(expect.stringMatching(/^\/\^\[0-9a-fA-F\]/));
    expect(expressions.length).toBeGreaterThan(400);
  });

  it('takes linear time, or what it is given is short', () => {
    const [engine, ...lines] = readFileSync(LINEAR, 'utf8').trimEnd().split('\n');
    const linear = new Set(engine === `recheck ${version}` ? lines : []);
    const others = expressions.filter((one) => !linear.has(written(one)) && !isBounded(one));
    if (process.env['WRITE_EXPRESSIONS'] === undefined)
      expect(
        others,
        'To judge them: WRITE_EXPRESSIONS=1 vitest run --project unit test/suites/hygiene/regular-expressions.test.ts',
      ).toEqual([]);
    const slow: string[] = [];
    for (const one of others) {
      const key = written(one);
      if (linear.has(key)) continue;
      const { status, complexity, attack } = judge(one.source, one.flags);
      if (status === 'safe') linear.add(key);
      else
        slow.push(
          `${one.file}:${one.line} ${key}: ${complexity?.summary ?? 'not judged in 60 s'}, ${attack?.pattern ?? ''}`,
        );
    }
    const present = new Set(expressions.map(written));
    if (process.env['WRITE_EXPRESSIONS'] !== undefined)
      writeFileSync(
        LINEAR,
        `${[`recheck ${version}`, ...[...linear].filter((key) => present.has(key)).toSorted()].join('\n')}\n`,
      );
    expect(slow).toEqual([]);
    const isUsed = ({ file, source }: (typeof BOUNDED)[number]): boolean =>
      expressions.some((one) => one.file === file && one.source.includes(source) && !linear.has(written(one)));
    expect(BOUNDED.filter((one) => !isUsed(one))).toEqual([]);
  });
});
