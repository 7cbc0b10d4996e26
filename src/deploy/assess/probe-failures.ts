// What a health check got, from the kubelet's event, in words that stay the same from one look to the next.

import { quoted } from '../../kinds/text.ts';
import type { Health } from '../record/health.ts';
import type { Pod } from './observed.ts';
import { living } from './pod-failures.ts';

/** Longest quotation of a health command, in characters. */
const LONGEST_WORDS = 256;

/** Characters of an event's message that are read. The kubelet's own have at most 1 KiB. */
const LONGEST_EVENT = 2000;

/** The kubelet's words, what they mean, and what to do then. The first that matches counts. */
interface Answer {
  readonly words: RegExp;
  readonly says: (asked: Health, match: readonly string[]) => string;
  readonly todo: string;
  /** Whether it is a fault also of a program that has just started. */
  readonly isCertain?: (match: readonly string[]) => boolean;
}

/** Statuses of a server that may answer differently a moment later. */
const PASSING: readonly string[] = ['408', '425', '429'];

const HTTP_ANSWERS: readonly Answer[] = [
  {
    words: /connection refused/,
    says: ({ port }) => `port ${port} refused the connection`,
    todo: 'Nothing listens there, or only on 127.0.0.1: the program must listen on 0.0.0.0 and on the port in the variable PORT, or set port in runtime to the port that it uses',
  },
  {
    words: /statuscode: (\d{3})/,
    says: ({ path }, [, code = '']) => `${path} answered with status ${code}`,
    todo: 'A status from 200 to 399 is needed: correct health_path, or the program',
    // The server serves, and does not have the path, or does not give it to the kubelet.
    isCertain: ([, code = '']) => code.startsWith('4') && !PASSING.includes(code),
  },
  {
    words: /deadline exceeded|Client\.Timeout|i\/o timeout|timed out/,
    says: ({ port }) => `no answer came from port ${port} in time`,
    todo: 'Check that the program is not busy or blocked while it starts',
  },
  {
    words: /malformed HTTP|server gave HTTP response to HTTPS|EOF|connection reset/,
    says: ({ port }) => `the answer from port ${port} is not HTTP`,
    todo: 'Check that this is the port of the HTTP server',
  },
];

const COMMAND_ANSWERS: readonly Answer[] = [
  {
    // The kubelet's words have a number that differs each time.
    words: /exec: \\?"([^"\\]+)\\?": (?:executable file not found|stat .*no such file)/,
    says: (_asked, [, program = '']) => `the image has no program ${program}`,
    todo: 'Set health_command to a program that the image has, such as its interpreter',
  },
  {
    words: /command timed out|context deadline exceeded/,
    says: ({ timeoutSeconds }) => `it did not end within ${timeoutSeconds} s`,
    todo: 'Raise health_timeout_seconds, or choose a faster check',
  },
];

/** What a pod that is not ready yet waits for, as the beginning of a sentence. */
export function healthWords({ port, path, command, heartbeat, none }: Health): string {
  if (none) return 'Waiting for its pods to run for 10 s';
  if (heartbeat) return `Waiting for its pods to write ${heartbeat.file} (at least every ${heartbeat.maxAgeSeconds} s)`;
  return command ? 'Waiting for its health command to succeed' : `Waiting for GET ${path} on port ${port}`;
}

/**
 * `; the last check failed: …`, with advice. Empty if the kubelet has reported none for these pods. A container that has just
 * started has no fault yet, and gets no advice, unless its server answers that it does not have the path.
 */
export function probeWords(pods: readonly Pod[], asked: Health): string {
  const pod = living(pods).find(({ failedProbe }) => failedProbe !== undefined);
  if (pod?.failedProbe === undefined) return '';
  // Whoever may write events of the namespace chooses the length.
  const words = pod.failedProbe.slice(0, LONGEST_EVENT);
  const begin = (isFault: boolean): string =>
    isFault ? '; the last check failed' : '; the container has just started';
  for (const { words: pattern, says, todo, isCertain } of asked.command || asked.heartbeat
    ? COMMAND_ANSWERS
    : HTTP_ANSWERS) {
    const match = pattern.exec(words);
    const isFault = pod.justStarted !== true || (match !== null && isCertain?.(match) === true);
    if (match) return `${begin(isFault)}: ${says(asked, match)}${isFault ? `. ${todo}` : ''}`;
  }
  const own = quoted(words, LONGEST_WORDS).replace(/^\w+ probe (failed|errored): /, '');
  return `${begin(pod.justStarted !== true)}: ${own || 'it printed nothing'}`;
}
