// What a health check got, from the kubelet's event, in words that stay the same from one look to the next.

import { quoted } from '../../schema/text.ts';
import type { Health } from '../record/health.ts';
import type { Pod } from './observed.ts';
import { living } from './pod-failures.ts';

type Asked = Pick<Health, 'port' | 'path'>;

/** Longest quotation of a health command, in characters. */
const LONGEST_WORDS = 256;

/** The kubelet's words, what they mean, and what to do then. The first that matches counts. */
const ANSWERS: readonly {
  readonly words: RegExp;
  readonly says: (asked: Asked, match: readonly string[]) => string;
  readonly todo: string;
}[] = [
  {
    words: /connection refused/,
    says: ({ port }) => `port ${port} refused the connection`,
    todo: 'Nothing listens there, or only on 127.0.0.1: the program must listen on 0.0.0.0 and on the port in the variable PORT, or runtime must have the port that it uses',
  },
  {
    words: /statuscode: (\d{3})/,
    says: ({ path }, [, code = '']) => `${path} answered with status ${code}`,
    todo: 'A status from 200 to 399 is needed: correct health_path, or the program',
  },
  {
    words: /deadline exceeded|Client\.Timeout|i\/o timeout|timed out/,
    says: ({ port }) => `no answer came from port ${port} in time`,
    todo: 'Check that the program is not busy or blocked while it starts',
  },
  {
    words: /malformed HTTP|server gave HTTP response to HTTPS|EOF|connection reset/,
    says: ({ port }) => `what port ${port} answered is not HTTP`,
    todo: 'Check that this is the port of the HTTP server',
  },
];

/**
 * `; the last check failed: …`, with advice. Empty if the kubelet has reported none for these pods. A container that has just
 * started has no fault yet, and gets no advice.
 */
export function probeWords(pods: readonly Pod[], asked: Asked): string {
  const pod = living(pods).find(({ failedProbe }) => failedProbe !== undefined);
  if (pod?.failedProbe === undefined) return '';
  const words = pod.failedProbe;
  const begin = pod.justStarted
    ? '; its program has just started, and no check has passed yet'
    : '; the last check failed';
  for (const { words: pattern, says, todo } of ANSWERS) {
    const match = pattern.exec(words);
    if (match) return `${begin}: ${says(asked, match)}${pod.justStarted ? '' : `. ${todo}`}`;
  }
  const own = quoted(words, LONGEST_WORDS).replace(/^\w+ probe (failed|errored): /, '');
  return `${begin}: ${own || 'it printed nothing'}`;
}
