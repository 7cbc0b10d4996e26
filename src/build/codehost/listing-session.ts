// One listing at one code host: sends its requests, retries those that may succeed, and limits the time and number of
// pages regardless of the host's responses.

import { setTimeout as sleep } from 'node:timers/promises';
import type { CodeHostIntegrationSpec } from '../../kinds/code-host-integration.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import type { Answer, GuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';

export interface Session {
  /** Aborts at the listing's time limit. */
  readonly signal: AbortSignal;
  /** An answer of the host with any status. Throws CodeHostFailed. */
  ask(url: string, sent?: Asked): Promise<Answer>;
}

export interface Asked {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

/** One request to a code host; for metrics. */
export interface CodeHostRequest {
  readonly kind: CodeHostIntegrationSpec['kind'];
  /** Class of the answer's status, such as `2xx`, or the cause if there is no answer. */
  readonly result: string;
  readonly durationMs: number;
}

export interface SessionOptions {
  readonly kind: CodeHostIntegrationSpec['kind'];
  readonly guarded: GuardedFetch;
  /** The integration's origin. No request goes to another host, because it would carry the credentials. */
  readonly origin: string;
  readonly signal: AbortSignal;
  /** Delays in milliseconds before the second and third attempt. */
  readonly pausesMs?: readonly number[];
  /** Called for each attempt. */
  readonly onRequest?: (request: CodeHostRequest) => void;
}

/** Maximum number of pages, at a hundred repositories per page. */
const MOST_PAGES = 300;

export function makeSession(options: SessionOptions): Session {
  const { guarded, kind, origin, signal, pausesMs = [250, 1000], onRequest } = options;
  const pages = new Set<string>();

  async function fetchOnce(url: string, asked: Asked): Promise<Answer> {
    const start = performance.now();
    let result = 'error';
    try {
      const answer = await guarded.fetch(url, { ...asked, signal });
      result = `${Math.floor(answer.status / 100)}xx`;
      return answer;
    } catch (error) {
      if (error instanceof CodeHostFailed) result = error.why;
      throw error;
    } finally {
      onRequest?.({ kind, result, durationMs: performance.now() - start });
    }
  }

  async function attempt(url: string, asked: Asked): Promise<Answer> {
    const isRead = (asked.method ?? 'GET') === 'GET';
    for (let attempts = 0; ; attempts += 1) {
      const pause = isRead ? pausesMs[attempts] : undefined;
      try {
        const answer = await fetchOnce(url, asked);
        if (answer.status < 500 || pause === undefined) return answer;
      } catch (error) {
        if (pause === undefined || !(error instanceof CodeHostFailed) || error.why !== 'unreachable') throw error;
      }
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  return {
    signal,
    async ask(url, asked = {}) {
      if (URL.parse(url)?.origin !== origin)
        throw new CodeHostFailed('malformed', 'The code host links to a page on another host.');
      if (pages.has(url)) throw new CodeHostFailed('malformed', "The code host's pages form a cycle.");
      if (pages.size >= MOST_PAGES)
        throw new CodeHostFailed('malformed', `The code host has more than ${MOST_PAGES} pages of repositories.`);
      const answer = await attempt(url, asked);
      if (answer.status === 200) pages.add(url);
      return answer;
    },
  };
}

/** The failure for an unsuccessful answer. `message` is the host's text, which is evaluated and not passed on. */
export function codeHostFailure(
  status: number,
  header: (name: string) => string | null,
  message: string,
  now: Date,
): CodeHostFailed {
  const wait = waitSeconds(header, now);
  const isLimit = status === 429 || (status === 403 && (wait !== undefined || /secondary rate limit/i.test(message)));
  if (isLimit) {
    const seconds = Math.min(Math.max(1, wait ?? 60), 24 * 3600);
    return new CodeHostFailed('limited', `The code host's rate limit is exceeded. Try again in ${seconds} s.`, {
      retryAfterSeconds: seconds,
    });
  }
  if (status === 401 || status === 403)
    return new CodeHostFailed('refused', "The code host refused the integration's credentials.");
  if (status >= 500) return new CodeHostFailed('unreachable', `The code host failed: it answered ${status}.`);
  return new CodeHostFailed(
    'malformed',
    `The code host answered ${status}. Check that the integration's apiUrl is the URL of its API.`,
  );
}

/** Retry-After in seconds or as a date. Otherwise, if no requests remain, the time when GitHub's rate limit resets. */
function waitSeconds(header: (name: string) => string | null, now: Date): number | undefined {
  const after = header('retry-after');
  const until = (ms: number): number | undefined =>
    Number.isFinite(ms) ? Math.ceil((ms - now.getTime()) / 1000) : undefined;
  if (after !== null) return /^\d+$/.test(after) ? Number(after) : until(Date.parse(after));
  if (header('x-ratelimit-remaining') !== '0') return undefined;
  return until(Number(header('x-ratelimit-reset') ?? Number.NaN) * 1000) ?? 60;
}
