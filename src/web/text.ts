// Text from outside, such as a log line or a container's message, made fit to be shown: as characters, never as markup.

import type { Deployment } from '../deploy/http/payloads.ts';
import { printable, withoutEscapes } from '../kinds/text.ts';

/** `text` without terminal sequences. Other characters that cannot be shown become U+FFFD. */
export function plain(text: string): string {
  return printable(withoutEscapes(text));
}

/** `value` if it is an absolute http or https URL without credentials, for a link; otherwise undefined. */
export function linkTo(value: string | null | undefined): string | undefined {
  if (!value || !URL.canParse(value)) return undefined;
  const { protocol, username, password, href } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '' ? href : undefined;
}

/** An Idempotency-Key. */
export function requestKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** Time since `then` as kubectl shows an age, in its largest unit: `12 s`, `5 min`, `3 h`, `40 d`. */
export function age(then: string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(then)) / 1000));
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** The first characters of an id, as kubectl davit shows them. */
export function short(id: string): string {
  return id.slice(0, 8);
}

const PROBE = /\bkube-probe\/|\b(?:GET|HEAD) \/(?:ok|healthz?|livez?|readyz?|ready|ping)(?=[\s?"']|$)/;

/** Whether a line of a log is about a health check that succeeded. A line with an HTTP status of a failure is not. */
export function isHealthCheck(message: string): boolean {
  return PROBE.test(message) && !/\b[45]\d\d\b/.test(message);
}

export interface Minute {
  /** As its timestamps begin: `2026-07-02T14:31`. */
  readonly at: string;
  readonly count: number;
  /** Lines of level ERROR or CRITICAL. */
  readonly failures: number;
}

/** The newest minutes in which something was written, oldest first, at most 20. */
export function linesByMinute(
  lines: readonly { readonly timestamp: string; readonly level?: string | null }[],
): Minute[] {
  const minutes = Object.groupBy(lines, ({ timestamp }) => timestamp.slice(0, 16));
  return Object.entries(minutes)
    .map(([at, written = []]) => ({
      at,
      count: written.length,
      failures: written.filter(({ level }) => level === 'ERROR' || level === 'CRITICAL').length,
    }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .slice(-20);
}

/** A command of the plugin about the deployment, in the namespace where it runs. */
export function commandOf(
  act: string,
  {
    name,
    source_config: { listener_id: listener, listener_config: place },
  }: Pick<Deployment, 'name' | 'source_config'>,
  namespace: string | undefined,
): string {
  const team = listener === null ? namespace : place?.k8s_namespace;
  return ['kubectl davit', act, name, ...(team ? ['-n', team] : [])].join(' ');
}

/** The words of a command line. No shell reads them: spaces separate them, and quotes keep them together. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (char === quote) quote = '';
    else if (quote === '"' && char === '\\' && ['"', '\\', 'n'].includes(line.charAt(at + 1))) {
      at += 1;
      word = `${word}${line.charAt(at) === 'n' ? '\n' : line.charAt(at)}`;
    } else if (quote !== '' || !/["'\s]/.test(char)) word = `${word ?? ''}${char}`;
    else if (char.trim() !== '') [quote, word] = [char, word ?? ''];
    else {
      if (word !== undefined) words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}
