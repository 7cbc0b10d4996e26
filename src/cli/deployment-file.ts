// Reads davit.yaml: every error with its line and column, all of them at once.

import { readFile } from 'node:fs/promises';
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, visit } from 'yaml';
import { type DeploymentFile, fileFindings } from '../deployments/http/deployment-file.ts';
import type { Finding } from '../schema/findings.ts';
import { InvalidFile } from './command.ts';
import { Failure } from './kubectl.ts';

const LARGEST_KIB = 64;

interface FileError {
  /** Offset in the text. */
  readonly at: number;
  readonly message: string;
}

/** Undefined if there is no such file. Throws InvalidFile and Failure. */
export async function readDeploymentFile(path: string): Promise<DeploymentFile | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Failure(`${path} cannot be read: ${message}`);
  }
  if (bytes.length > LARGEST_KIB * 1024)
    throw new InvalidFile(`${path} is larger than ${LARGEST_KIB} KiB: a file describes one deployment.`);
  try {
    return parseDeploymentFile(new TextDecoder('utf-8', { fatal: true }).decode(bytes), path);
  } catch (error) {
    if (error instanceof TypeError) throw new InvalidFile(`${path} is not text in UTF-8. Save it as UTF-8.`);
    throw error;
  }
}

/** `path` is how errors name the file. Throws InvalidFile. */
export function parseDeploymentFile(text: string, path: string): DeploymentFile {
  const lines = new LineCounter();
  const [document, another] = documentsOf(text, lines, path);
  if (document === undefined) return {};
  const ofSyntax = [...syntaxErrors(document), ...anotherError(another)];
  const content = ofSyntax.length > 0 ? undefined : ((document.toJS() as unknown) ?? {});
  const errors =
    content === undefined
      ? ofSyntax
      : fileFindings(content).map((finding) => ({ at: offsetOf(document, finding), message: sentenceOf(finding) }));
  if (errors.length === 0) return content as DeploymentFile;
  const shown = errors
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, message }) => {
      const { line, col } = lines.linePos(at);
      return `${path}:${line}:${col}: ${message}`;
    });
  throw new InvalidFile([...new Set(shown)].join('\n'));
}

function documentsOf(text: string, lineCounter: LineCounter, path: string): readonly Document.Parsed[] {
  const options = { lineCounter, prettyErrors: false, stringKeys: true, logLevel: 'error' } as const;
  try {
    const documents = parseAllDocuments(text, options);
    return 'empty' in documents ? [] : documents;
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidFile(`${path} is nested too deeply to be read.`);
    throw error;
  }
}

function syntaxErrors(document: Document.Parsed): FileError[] {
  const found = [...document.errors, ...document.warnings].map(({ code, message, pos: [at] }) => ({
    at,
    message: SYNTAX[code] ?? `${message.replace(/[.\s]+$/, '')}.`,
  }));
  // An alias may stand for itself, or for so much that it fills the memory.
  visit(document, {
    Alias(_key, { source, range }) {
      const at = range?.[0] ?? 0;
      found.push({ at, message: `Aliases such as *${source} are not read. Write the value out.` });
    },
  });
  return found;
}

/** By the parser's codes, where its own words do not say what to do. */
const SYNTAX: Readonly<Partial<Record<string, string>>> = {
  TAB_AS_INDENT: 'A tab indents this line. YAML is indented with spaces: replace the tab.',
  DUPLICATE_KEY: 'This key stands twice. Remove one of them.',
  NON_STRING_KEY: 'This key is not a text. Write it as a plain word.',
  TAG_RESOLVE_FAILED: 'Tags that begin with ! are not read. Remove it.',
};

function anotherError(another: Document.Parsed | undefined): FileError[] {
  if (another === undefined) return [];
  const message = 'A second document begins here. A file describes one deployment: put it into a file of its own.';
  return [{ at: another.range[0], message }];
}

function sentenceOf({ loc, msg }: Finding): string {
  const field = loc.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  // Some rules name their field themselves.
  const isNamed = msg.startsWith(`${String(loc.at(-1))} `);
  const path = (isNamed ? field.replace(/\.[^.]*$/, '.') : `${field} `).replace(/^\./, '');
  return `${path.trim() === '' && !isNamed ? 'The file ' : path}${msg}`;
}

/** The place of the key that is not known, otherwise of the value, or of what surrounds a missing one. */
function offsetOf({ contents }: Document.Parsed, { loc, type }: Finding): number {
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
