// Command line options of the programs of `npm run`: --help prints them, and a mistake is told in one line.

import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values'];

/** What the program prints instead of running, and its exit code. */
interface Ended {
  readonly code: 0 | 2;
  readonly text: string;
}

/** `command` is what people type, such as `npm run bench`. */
export function parseOptions<const T extends Options>(
  args: readonly string[],
  options: T,
  { command, usage }: { readonly command: string; readonly usage: string },
): { readonly values: Values<T> } | { readonly ended: Ended } {
  if (args.some((arg) => arg === '--help' || arg === '-h')) return { ended: { code: 0, text: usage } };
  try {
    return { values: parseArgs({ args: [...args], options }).values as Values<T> };
  } catch (error) {
    const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    const sentence = first.replace(/\. To specify a positional.*$/, '').replace(/\.?$/, '.');
    return { ended: { code: 2, text: `${sentence} See: ${command} -- --help\n` } };
  }
}

/** The options of this process; ends it where there is nothing to run. */
export function optionsOf<const T extends Options>(
  options: T,
  told: { readonly command: string; readonly usage: string },
): Values<T> {
  const parsed = parseOptions(process.argv.slice(2), options, told);
  if ('values' in parsed) return parsed.values;
  const { code, text } = parsed.ended;
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}
