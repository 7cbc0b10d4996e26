// Reads the text of a davit.yaml: every error with its line and column, all of them at once. Pure.

import { type Document, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, parseAllDocuments, visit } from 'yaml';
import { inApiWords } from '../../api/field-words.ts';
import { NO_YAML } from '../../kinds/file-finding.ts';
import { FILE_TOO_LARGE, LARGEST_FILE_BYTES } from '../../kinds/source-files.ts';
import type { Source } from '../../kinds/source-rules.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { DEFAULT_SOURCE, type DeploymentFile, fileFindings } from './deployment-file.ts';

interface FileError {
  /** Offset in the text. */
  readonly at: number;
  readonly message: string;
}

/**
 * Pieces of YAML: a line `key: value` has eight. All fields of a deployment at their limits have fewer. A file of more is refused unread: the
 * controller reads files that whoever can push to a repository wrote, and does nothing else meanwhile.
 */
const MOST_PIECES = 12_000;
/** Lists and maps in one another, of those that one line can begin by the thousand. */
const MOST_LEVELS = 100;
const TOO_DEEP = 'is nested too deeply to be read.';
/** Limit of the reported errors. */
const MOST_ERRORS = 50;
/** The maximum of reported errors of YAML that cannot be parsed: the first one causes most others. */
const MOST_SYNTAX_ERRORS = 3;

export type ReadText =
  | {
      readonly file: DeploymentFile;
      /** The finding with the line and column of its value, or of what surrounds it. */
      readonly placed: (finding: FieldError) => FieldError;
    }
  /** In the order of their places; a finding without a line is about the whole file. */
  | { readonly findings: readonly FieldError[] };

/** Locations are within the file. `sourceOf`: the source of a file that names none. */
export function readText(text: string, sourceOf: (file: DeploymentFile) => Source = () => DEFAULT_SOURCE): ReadText {
  const lines = new LineCounter();
  const excess = excessOf(text);
  const documents = excess === undefined ? documentsOf(text, lines) : undefined;
  if (documents === undefined) return { findings: [{ loc: [], msg: excess ?? TOO_DEEP, type: 'too_long' }] };
  const [document, another] = documents;
  const placedAt = (at: number, finding: FieldError): FieldError => {
    const { line, col: column } = lines.linePos(at);
    return { ...finding, msg: inApiWords(finding.msg), line, column };
  };
  if (document === undefined) return { file: {}, placed: (finding) => ({ ...finding, line: 1, column: 1 }) };
  const inOrder = (found: readonly { readonly at: number; readonly finding: FieldError }[]): FieldError[] => {
    const all = found.toSorted((a, b) => a.at - b.at).map(({ at, finding }) => placedAt(at, finding));
    return [...new Map(all.map((one) => [JSON.stringify([one.line, one.column, one.loc, one.msg]), one])).values()];
  };
  const ofSyntax = [...syntaxErrors(document), ...anotherError(another)];
  if (ofSyntax.length > 0) {
    const stray = strayLine(text, document);
    const [first, all] = [stray ? inOrder([asFinding(stray)]) : [], inOrder(ofSyntax.map(asFinding))];
    return { findings: firstErrors([...first, ...all], stray ? 1 : MOST_SYNTAX_ERRORS) };
  }
  const content = (document.toJS() as unknown) ?? {};
  const findings = fileFindings(content, sourceOf)
    .slice(0, MOST_ERRORS)
    .map((finding) => ({ at: offsetOf(document, finding), finding }));
  if (findings.length > 0) return { findings: inOrder(findings) };
  return { file: content as DeploymentFile, placed: (finding) => placedAt(offsetOf(document, finding), finding) };
}

function asFinding({ at, message: msg }: FileError): { readonly at: number; readonly finding: FieldError } {
  return { at, finding: { loc: [], msg, type: NO_YAML } };
}

function firstErrors(errors: readonly FieldError[], most: number): FieldError[] {
  const more = errors.length - most;
  const first = errors.slice(0, most);
  const msg = `and ${more} more, which these may have caused.`;
  return more > 0 ? [...first, { loc: [], msg, type: NO_YAML }] : first;
}

/** A first line that is no field, such as one of a shell, of which the parser names only what comes after it. Undefined for another one. */
function strayLine(text: string, { contents }: Document.Parsed): FileError | undefined {
  const [, before = '', line = ''] = /^((?:[^\S\n]*(?:#[^\n]*)?\n)*)([^\n]*)/.exec(text.replace(/^\ufeff/, ' ')) ?? [];
  if (isMap(contents) || line === '' || /^(?:[^\s#][^#]*:(?:\s|$)|---)/.test(line)) return undefined;
  return { at: before.length, message: 'This line is not a field such as "name: shop". Remove it.' };
}

/** Why it is not read, as a sentence without its subject. */
function excessOf(text: string): string | undefined {
  if (Buffer.byteLength(text) > LARGEST_FILE_BYTES) return `${FILE_TOO_LARGE}.`;
  let pieces = 0;
  let brackets = 0;
  let dashes = 0;
  for (const piece of new Lexer().lex(text)) {
    pieces += 1;
    if (piece === '[' || piece === '{') brackets += 1;
    else if (piece === ']' || piece === '}') brackets -= 1;
    else if (piece === '-' || piece === '?') dashes += 1;
    else if (piece === '\n') dashes = 0;
    if (pieces > MOST_PIECES) return 'is more complex than any deployment needs. Shorten it.';
    if (Math.max(brackets, dashes) > MOST_LEVELS) return TOO_DEEP;
  }
  return undefined;
}

/** Undefined if it is nested too deeply. */
function documentsOf(text: string, lineCounter: LineCounter): readonly Document.Parsed[] | undefined {
  // To find keys that stand twice, the library compares each key with all others.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false, logLevel: 'error' } as const;
  try {
    const documents = parseAllDocuments(text, options);
    if ('empty' in documents) return [];
    // The library reports what a regular expression throws where the stack is full.
    return documents.some(({ errors }) => errors.some(({ message }) => STACK.test(message))) ? undefined : documents;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const STACK = /stack overflow/i;

function syntaxErrors(document: Document.Parsed): FileError[] {
  const found = [...document.errors, ...document.warnings].map(({ code, message, pos: [at] }) => ({
    at,
    message: SYNTAX[code] ?? `${message.replace(/(?<![.\s])[.\s]+$/, '')}.`,
  }));
  visit(document, {
    // An alias may stand for itself, or for so much that it fills the memory.
    Alias(_key, { source, range }) {
      found.push({
        at: range?.[0] ?? 0,
        message: `Aliases such as *${source} are not supported. Write the value in full.`,
      });
    },
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push({ at: key.range?.[0] ?? 0, message: SYNTAX['DUPLICATE_KEY'] ?? '' });
        seen.add(key.value);
      }
    },
  });
  return found;
}

/** By the parser's codes, where its own words do not say what to do. */
const SYNTAX: Readonly<Partial<Record<string, string>>> = {
  TAB_AS_INDENT: 'A tab indents this line. YAML is indented with spaces: replace the tab.',
  DUPLICATE_KEY: 'This key appears twice. Remove one of them.',
  NON_STRING_KEY: 'This key is not a string. Write it as a plain word.',
  TAG_RESOLVE_FAILED: 'Tags that begin with ! are not supported. Remove the tag.',
};

function anotherError(another: Document.Parsed | undefined): FileError[] {
  if (another === undefined) return [];
  const message = 'A second document begins here. A file describes one deployment: put it into a file of its own.';
  return [{ at: another.range[0], message }];
}

/** The place of the key that is not known, otherwise of the value, or of what surrounds a missing one. */
function offsetOf({ contents }: Document.Parsed, { loc, type }: Pick<FieldError, 'loc' | 'type'>): number {
  let node: Node | null = contents;
  let at = contents?.range?.[0] ?? 0;
  for (const [index, step] of loc.entries()) {
    if (isMap<Node, Node | null>(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) return at;
      const isKey = type === 'extra_forbidden' && index === loc.length - 1;
      // A value that is empty or begins on the next line is found by its key.
      const isBelow = pair.value === null || !isScalar(pair.value) || pair.value.source === '';
      node = pair.value;
      at = (isKey || isBelow ? pair.key.range?.[0] : node?.range?.[0]) ?? at;
    } else if (isSeq<Node>(node) && typeof step === 'number') {
      node = node.items[step] ?? null;
      at = node?.range?.[0] ?? at;
    } else return at;
  }
  return at;
}
