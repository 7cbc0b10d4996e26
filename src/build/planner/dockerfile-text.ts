// Reads a Dockerfile as far as the plan judges it: the images that its instructions name, and the build arguments of each stage.

import { argumentsOf, expanded, type Instruction } from '../../kinds/source-files.ts';

/** An image that an instruction names: `FROM`, `COPY --from` and `RUN --mount=from`. */
export interface ImageUse {
  readonly line: number;
  /** Undefined where it cannot be known from the text. */
  readonly image: string | undefined;
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
