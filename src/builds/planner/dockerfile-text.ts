// Reads a Dockerfile as far as the plan judges it: its instructions, the images that they name, and the build arguments of each stage.
// Source of the grammar: the Dockerfile reference, "Format", "Parser directives", "Environment replacement" and "Here-Documents".

export interface Instruction {
  /** In capitals. */
  readonly name: string;
  /** The rest, with its continued lines joined. */
  readonly rest: string;
  /** Line of its beginning, from 1. */
  readonly line: number;
}

/** An image that an instruction names: `FROM`, `COPY --from` and `RUN --mount=from`. */
export interface ImageUse {
  readonly line: number;
  /** Undefined where it cannot be known from the text. */
  readonly image: string | undefined;
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

/** Arguments that the builder sets. Their values are parts of names, and any of them will do. */
const PLATFORM_ARGUMENTS = ['TARGET', 'BUILD'].flatMap((of): [string, string][] => [
  [`${of}PLATFORM`, 'linux/amd64'],
  [`${of}OS`, 'linux'],
  [`${of}ARCH`, 'amd64'],
  [`${of}VARIANT`, 'v1'],
]);

export function imagesUsed(instructions: readonly Instruction[]): ImageUse[] {
  const uses: ImageUse[] = [];
  const stages = new Set<string>();
  /** Arguments before the first FROM: no others apply there. */
  const global = new Map<string, string>(PLATFORM_ARGUMENTS);
  let count = 0;
  const use = (given: string, line: number): void => {
    const image = expanded(given, global);
    const isStage = image !== undefined && (stages.has(image.toLowerCase()) || /^\d+$/.test(image));
    if (!isStage && image !== 'scratch') uses.push({ line, image });
  };
  for (const { name, rest, line } of instructions) {
    if (name === 'ARG' && count === 0)
      for (const [key, value] of argumentsOf(rest))
        if (value !== undefined) global.set(key, expanded(value, global) ?? value);
    if (name === 'FROM') {
      const words = rest.split(/\s+/).filter((word) => !word.startsWith('--'));
      use(words[0] ?? '', line);
      count += 1;
      if (words[1]?.toLowerCase() === 'as' && words[2] !== undefined) stages.add(words[2].toLowerCase());
    }
    for (const from of fromsOf(name, rest)) use(from, line);
  }
  return uses;
}

/** What programs read about a package index. */
export interface IndexReader {
  /** The build argument with the index. */
  readonly index: string;
  /** A second one, without which the programs ignore the index, and an option that does the same. */
  readonly also?: { readonly argument: string; readonly option: string };
  readonly programs: RegExp;
}

/** The first RUN of `programs` in a stage that has not declared all that they need before it: its line, and what is missing. */
export function undeclared(
  instructions: readonly Instruction[],
  { index, also, programs }: IndexReader,
): { readonly line: number; readonly missing: readonly string[] } | undefined {
  let declared = new Set<string>();
  let hasOwnIndex = false;
  for (const { name, rest, line } of instructions) {
    if (name === 'FROM') [declared, hasOwnIndex] = [new Set(), false];
    if (name === 'ARG' || name === 'ENV') for (const [key] of argumentsOf(rest)) declared.add(key);
    // A value with a variable may be the platform's.
    if (name === 'ENV' && !rest.includes('$') && argumentsOf(rest).some(([key]) => key === index)) hasOwnIndex = true;
    if (name !== 'RUN' || hasOwnIndex || !programs.test(rest)) continue;
    const isOwn = !declared.has(index) && rest.includes(index);
    const needsAlso =
      also !== undefined &&
      !declared.has(also.argument) &&
      !rest.includes(also.argument) &&
      !rest.includes(also.option);
    const missing = [...(declared.has(index) ? [] : [index]), ...(needsAlso ? [also.argument] : [])];
    if (!isOwn && missing.length > 0) return { line, missing };
  }
  return undefined;
}

/** `A=1 B="2"` in parts. */
function argumentsOf(rest: string): [key: string, value: string | undefined][] {
  return Array.from(
    rest.matchAll(/([A-Za-z_][A-Za-z0-9_]*)(?:=("(?:[^"\\]|\\.)*"|'[^']*'|\S*))?(?:\s+|$)/g),
    ([, key = '', value]) => [key, value?.replace(/^(["'])([\s\S]*)\1$/, '$2')],
  );
}

function fromsOf(name: string, rest: string): string[] {
  if (name === 'COPY' || name === 'ADD')
    return Array.from(flagsOf(rest), (flag) => /^--from=(.+)$/i.exec(flag)?.[1] ?? []).flat();
  if (name !== 'RUN') return [];
  return Array.from(flagsOf(rest), (flag) => /^--mount=(.+)$/i.exec(flag)?.[1] ?? [])
    .flat()
    .flatMap((mount) =>
      mount
        .replaceAll('"', '')
        .split(',')
        .flatMap((part) => /^from=(.+)$/i.exec(part.trim())?.[1] ?? []),
    );
}

/** The flags before the arguments. */
function flagsOf(rest: string): string[] {
  const words = rest.split(/\s+/);
  const end = words.findIndex((word) => !word.startsWith('--'));
  return end < 0 ? words : words.slice(0, end);
}

/** Replaces `$A`, `${A}`, `${A:-x}` and `${A-x}`. Undefined if the text has another form, or a variable without a value. */
function expanded(text: string, values: ReadonlyMap<string, string>): string | undefined {
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
