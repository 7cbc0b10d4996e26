// Files beside the code: davit.yaml, the workflow configuration file, and Dockerfiles with their instructions. Source of the grammar:
// the Dockerfile reference, "Format", "Parser directives", "Environment replacement" and "Here-Documents".

import { MANIFESTS } from './plain-folders.ts';

/** Path of the workflow configuration file if nothing names another. */
export const DEFAULT_CONFIGURATION = 'langgraph.json';

/** What is built of a folder for which nothing names a file; the first that exists. */
export const BUILT_FROM = [DEFAULT_CONFIGURATION, 'Dockerfile', ...MANIFESTS];

/** Name of the file that describes a deployment in the folder of its code. */
export const FILE_NAME = 'davit.yaml';
/** Largest one that is read. */
export const LARGEST_FILE_BYTES = 64 * 1024;
/** Why a larger one is refused, as a sentence without its subject and its end. */
export const FILE_TOO_LARGE = `is larger than ${LARGEST_FILE_BYTES / 1024} KiB, the limit for a file that describes one deployment`;
/** Name of its published JSON Schema. */
export const SCHEMA_FILE_NAME = 'davit.schema.json';

/**
 * Whether the file's name is that of a Dockerfile, such as Dockerfile, api.Dockerfile, Dockerfile.prod or
 * Containerfile.
 */
export function isDockerfile(path: string): boolean {
  return /(^|[./_-])(docker|container)file([._-][^/]*)?$/i.test(path);
}

export interface Instruction {
  /** In capitals. */
  readonly name: string;
  /** The rest, with its continued lines joined. */
  readonly rest: string;
  /** Line of its beginning, from 1. */
  readonly line: number;
}

export function instructionsOf(text: string): Instruction[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  const escape = escapeOf(lines);
  const found: Instruction[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = at + 1;
    const parts: string[] = [];
    for (; at < lines.length; at += 1) {
      const part = lines[at] ?? '';
      // A comment line within an instruction belongs to nothing, and an empty line does not end it.
      if (/^\s*(#|$)/.test(part)) {
        if (parts.length === 0) break;
        continue;
      }
      const isContinued = part.trimEnd().endsWith(escape);
      parts.push(isContinued ? part.trimEnd().slice(0, -1) : part);
      if (!isContinued) break;
    }
    const [, name, rest = ''] = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(parts.join('')) ?? [];
    if (name === undefined) continue;
    found.push({ name: name.toUpperCase(), rest: rest.trim(), line });
    at = endOfDocuments(name, rest, lines, at);
  }
  return found;
}

/** The directive `escape`, which only the first comment lines can have. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name, value] = /^\s*#\s*([a-z]+)\s*=\s*(\S+)\s*$/i.exec(line) ?? [];
    if (name === undefined) return '\\';
    if (name.toLowerCase() === 'escape' && value === '`') return '`';
  }
  return '\\';
}

/** The line of the last here-document of an instruction, whose text is no instruction. */
function endOfDocuments(name: string, rest: string, lines: readonly string[], begin: number): number {
  if (!/^(RUN|COPY|ADD)$/i.test(name)) return begin;
  let at = begin;
  for (const [, dash, , word = ''] of rest.matchAll(/<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/g)) {
    const end = lines.findIndex(
      (line, index) => index > at && (dash === '' ? line : line.replace(/^\t+/, '')) === word,
    );
    if (end < 0) return at;
    at = end;
  }
  return at;
}

/** `A=1 B="2"` in parts. */
export function argumentsOf(rest: string): [key: string, value: string | undefined][] {
  return Array.from(
    rest.matchAll(/(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)(?:=("(?:[^"\\]|\\.)*"|'[^']*'|\S*))?(?:\s+|$)/g),
    ([, key = '', value]) => [key, value?.replace(/^(["'])([\s\S]*)\1$/, '$2')],
  );
}

/** Replaces `$A`, `${A}`, `${A:-x}` and `${A-x}`. Undefined if the text has another form, or a variable without a value. */
export function expanded(text: string, values: ReadonlyMap<string, string>): string | undefined {
  let isKnown = true;
  const plain = text.replace(/^(["'])([\s\S]*)\1$/, '$2');
  const result = plain.replaceAll(
    /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^${}]*))?\})/g,
    (_all, bare: string | undefined, braced: string | undefined, otherwise: string | undefined) => {
      const value = values.get(bare ?? braced ?? '') || otherwise;
      if (value === undefined) isKnown = false;
      return value ?? '';
    },
  );
  return isKnown && !/[$\\]/.test(result) ? result : undefined;
}
