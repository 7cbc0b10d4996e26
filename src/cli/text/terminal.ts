// What a container wrote, for the terminal of the person who reads it.

import { printable } from '../../kinds/text.ts';
import type { Terminal } from '../line/command.ts';

/** Colours and styles. They change nothing but the text after them. */
const STYLE =
  // oxlint-disable-next-line no-control-regex -- the escape character begins them
  /(\u001B\[[\d;:]{0,40}m)/;
const NO_STYLE = '\u001B[0m';

/**
 * A line, in which styles end with it, and U+FFFD stands for all else that a terminal obeys instead of showing it. A file or a pipe gets it
 * unchanged.
 */
export function shown(line: string, { isShown }: Pick<Terminal, 'isShown'>): string {
  if (!isShown) return line;
  // Those that match are between those that do not.
  const parts = line.replace(/\r$/, '').split(STYLE);
  const text = parts.map((part, at) => (at % 2 === 1 ? part : printable(part))).join('');
  return parts.length > 1 ? `${text}${NO_STYLE}` : text;
}
