// Prints every sentence of the source that a person may read, as its template, with its place:
//
//   node test/suites/hygiene/sentences.ts [FOLDER OF src]
//
// It is what is read from top to bottom when words change. Documents, comments and tests are not in it.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

export interface Sentence {
  readonly file: string;
  readonly line: number;
  /** With `{expression}` where a value stands. */
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const SOURCE = join(import.meta.dirname, '../../../src');
/** Three words or more, so that names, keys and commands stay out. */
const WORDS = /[A-Za-z}][a-z',]* [a-z{]\S* [a-z{]/;
/** Programs for other interpreters. */
const CODE = /^\s*(?:set -e|select |insert |create |drop |alter |grant |#!|import |if \[|redis\.call)|=>|;\n|\$\(/i;

/** The template of a string, or undefined for anything else. Parts that are joined by + are one. */
function templateOf(node: Node, source: string): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined;
  if (node.type === 'JSXText') return (node['value'] as string).replaceAll(/\s+/g, ' ').trim();
  if (node.type === 'TemplateLiteral') {
    const [quasis, expressions] = [node['quasis'], node['expressions']] as [readonly Node[], readonly Node[]];
    return quasis
      .map((quasi, index) => {
        const value = expressions[index];
        const { cooked } = quasi['value'] as { readonly cooked: string };
        return value === undefined
          ? cooked
          : `${cooked}{${source.slice(value.start, value.end).replaceAll(/\s+/g, ' ')}}`;
      })
      .join('');
  }
  if (node.type !== 'BinaryExpression' || node['operator'] !== '+') return undefined;
  const [left, right] = [node['left'] as Node, node['right'] as Node].map((side) => templateOf(side, source));
  return left === undefined || right === undefined ? undefined : left + right;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

export function sentencesOf(source: string, file: string): Sentence[] {
  const found: Sentence[] = [];
  function visit(node: Node): void {
    if (node.type === 'ImportDeclaration') return;
    const text = templateOf(node, source);
    if (text !== undefined) {
      if (WORDS.test(text) && !CODE.test(text))
        found.push({
          file,
          line: source.slice(0, node.start).split('\n').length,
          text: text.replaceAll('\n', String.raw`\n`),
        });
      return;
    }
    for (const value of Object.values(node)) {
      if (isNode(value)) visit(value);
      else if (Array.isArray(value)) value.filter(isNode).forEach(visit);
    }
  }
  visit(parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file) as unknown as Node);
  return found;
}

/** Of the files of a folder below `src`, or of all. */
export function allSentences(folder = ''): Sentence[] {
  const files = readdirSync(join(SOURCE, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  return files.flatMap((file) => sentencesOf(readFileSync(file, 'utf8'), relative(SOURCE, file)));
}

if (process.argv[1] === import.meta.filename) {
  let last = '';
  for (const { file, line, text } of allSentences(process.argv[2])) {
    if (file !== last) process.stdout.write(`${file}\n`);
    last = file;
    process.stdout.write(`${String(line).padStart(5)} ${text}\n`);
  }
}
