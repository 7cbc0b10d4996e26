// Which files of a folder are left out of an upload: the rules of .gitignore and .dockerignore, read as git reads them, and what is
// never uploaded unless a rule names it. Pure.

/** One line of an ignore file. */
export interface IgnoreRule {
  readonly isNegated: boolean;
  /** Matches the path, and everything under it. A folder's path ends with a slash. */
  readonly matches: RegExp;
  /** Matches the path alone. */
  readonly names: RegExp;
  /** Begins with a wildcard, so that it names no file in particular. */
  readonly isGeneral: boolean;
}

/** Credentials, and folders that a build makes itself. A rule such as `!.env` includes them. */
const LEFT_OUT = /^(?:\.git|\.env|\.env\..*|node_modules|__pycache__|\.venv|venv|\.tox|\.mypy_cache)$/;

/** The rules of an ignore file, in its order. A rule without a slash applies in every folder. */
export function ignoreRules(text: string): IgnoreRule[] {
  // As git, without the mark of its encoding.
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => ruleOf(line) ?? []);
}

function ruleOf(line: string): IgnoreRule | undefined {
  const bare = line.trimEnd();
  // A space after a backslash belongs to the name.
  let pattern = bare.endsWith('\\') ? line.slice(0, bare.length + 1) : bare;
  if (pattern === '' || pattern.startsWith('#')) return undefined;
  const isNegated = pattern.startsWith('!');
  if (isNegated) pattern = pattern.slice(1);
  pattern = pattern.replace(/^(?:\.\/)+/, '');
  const isFolder = pattern.endsWith('/');
  const path = pattern.replace(/(?<!\/)\/+$/, '');
  const isAnchored = path.includes('/');
  const segments = path.split('/').filter((segment) => segment !== '');
  if (segments.length === 0) return undefined;
  const body = (isAnchored ? '' : '(?:.*/)?') + segments.map(expressionOf).join('');
  return {
    isNegated,
    matches: expression(`${body}${isFolder ? '/.*' : '(?:/.*)?'}`),
    names: expression(`${body}${isFolder ? '/' : '/?'}`),
    isGeneral: /^[*?[]/.test(segments.at(-1) ?? ''),
  };
}

/** A pattern that is no valid expression, such as one with an unclosed bracket, matches nothing. */
function expression(source: string): RegExp {
  try {
    return new RegExp(`^${source}$`, 's');
  } catch {
    return /(?!)/;
  }
}

/** `**` stands for any number of folders; the separator after a segment belongs to it. */
function expressionOf(segment: string, index: number, segments: readonly string[]): string {
  const isLast = index === segments.length - 1;
  if (segment === '**') return isLast ? '.+' : '(?:.*/)?';
  const text = segment.replaceAll(/\\(.)|\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]|(\*+)|(\?)|([$()+.[\]^{|}\\])/gs, token);
  return isLast ? text : `${text}/`;
}

function token(
  _all: string,
  escaped: string | undefined,
  not: string | undefined,
  set: string | undefined,
  many: string | undefined,
  one: string | undefined,
  special: string | undefined,
): string {
  if (escaped !== undefined) return escaped.replace(/[^\w\s]/, String.raw`\$&`);
  if (set !== undefined)
    return `(?!/)[${not ? '^' : ''}${set.replaceAll(/\\.|[[\]]/gs, (one) => (one.length > 1 ? one : `\\${one}`))}]`;
  if (many !== undefined) return '[^/]*';
  if (one !== undefined) return '[^/]';
  return `\\${special}`;
}

export interface Verdict {
  readonly isIgnored: boolean;
  /** For an ignored folder: whether nothing in it can be wanted either. */
  readonly isWhole: boolean;
}

/** `path` is relative, with slashes, and ends with one for a folder. The last rule that matches decides. */
export function verdictOn(path: string, rules: readonly IgnoreRule[]): Verdict {
  const name = path.replace(/\/$/, '').split('/').at(-1) ?? '';
  const isAsked = rules.some((rule) => rule.isNegated && !rule.isGeneral && rule.names.test(path));
  if (LEFT_OUT.test(name) && !isAsked) return { isIgnored: true, isWhole: true };
  const last = rules.findLastIndex(({ matches }) => matches.test(path));
  const isIgnored = last >= 0 && rules[last]?.isNegated === false;
  return { isIgnored, isWhole: isIgnored && !rules.slice(last + 1).some((rule) => rule.isNegated) };
}

/** The files with rules, at the top of a folder. The later one decides: .dockerignore is about builds. */
export const IGNORE_FILES = ['.gitignore', '.dockerignore'] as const;

/** What an upload has of a folder. */
export interface Choice {
  /** Whether something in the folder of this path, which ends with a slash, can be wanted. */
  readonly enters: (path: string) => boolean;
  /** Whether a file is packed whose folders are all entered. */
  readonly takes: (path: string) => boolean;
}

/** `config`: path of the configuration file. It is packed whatever the rules say, and so is .dockerignore. */
export function choiceBy(rules: readonly IgnoreRule[], config: string): Choice {
  const wanted = [config, '.dockerignore'];
  return {
    enters: (path) => !verdictOn(path, rules).isWhole || wanted.some((file) => file.startsWith(path)),
    takes: (path) => wanted.includes(path) || !verdictOn(path, rules).isIgnored,
  };
}
