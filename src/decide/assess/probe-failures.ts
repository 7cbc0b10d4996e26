// What a health check got, from the kubelet's event, in words that stay the same from one look to the next.

import { quoted } from '../../api/text.ts';
import type { Health } from '../../record/health.ts';
import type { Pod } from '../observed.ts';
import { living } from './pod-failures.ts';

type Asked = Pick<Health, 'port' | 'path'>;

/** Longest quotation of a health command, in characters. */
const LONGEST_WORDS = 256;

/** The kubelet's words, and what follows from them. The first that matches counts. */
const ANSWERS: readonly (readonly [words: RegExp, says: (asked: Asked, match: readonly string[]) => string])[] = [
  [
    /connection refused/,
    ({ port }) =>
      `port ${port} refused the connection. Nothing listens there, or only on 127.0.0.1: the program must listen on 0.0.0.0 and on the port in the variable PORT, or runtime must have the port that it uses`,
  ],
  [
    /statuscode: (\d{3})/,
    ({ path }, [, code = '']) =>
      `${path} answered with status ${code}. A status from 200 to 399 is needed: correct health_path, or the program`,
  ],
  [
    /deadline exceeded|Client\.Timeout|i\/o timeout|timed out/,
    ({ port }) =>
      `no answer came from port ${port} in time. Check that the program is not busy or blocked while it starts`,
  ],
  [
    /malformed HTTP|server gave HTTP response to HTTPS|EOF|connection reset/,
    ({ port }) => `what port ${port} answered is not HTTP. Check that this is the port of the HTTP server`,
  ],
];

/** `; the last check failed: …`. Empty if the kubelet has reported none for these pods. */
export function probeWords(pods: readonly Pod[], asked: Asked): string {
  const words = living(pods).find(({ failedProbe }) => failedProbe !== undefined)?.failedProbe;
  if (words === undefined) return '';
  for (const [pattern, says] of ANSWERS) {
    const match = pattern.exec(words);
    if (match) return `; the last check failed: ${says(asked, match)}`;
  }
  const own = quoted(words, LONGEST_WORDS).replace(/^\w+ probe (failed|errored): /, '');
  return `; the last check failed: ${own || 'it printed nothing'}`;
}
