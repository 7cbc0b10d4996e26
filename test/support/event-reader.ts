// A client of event streams, for tests: reads one event after the other, and says what it got when nothing comes.

import { setTimeout as sleep } from 'node:timers/promises';

export interface ReadEvent {
  readonly event: string;
  readonly id?: string;
  // oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an event
  readonly data: any;
}

export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  /** The next event; `nothing` if none comes within `ms`, `end` when the stream has ended. */
  next(ms?: number): Promise<ReadEvent | 'nothing' | 'end'>;
  /** Everything that came, as it came. */
  text(): string;
  /** Goes away. */
  close(): void;
}

export interface Opening {
  readonly method?: 'GET' | 'POST';
  readonly body?: object;
  /** Who asks, and for which tenant. */
  readonly headers: Readonly<Record<string, string>>;
}

export async function openStream(
  origin: string,
  path: string,
  { method = 'GET', body, headers }: Opening,
): Promise<EventReader> {
  const leaving = new AbortController();
  const answer = await fetch(`${origin}${path}`, {
    method,
    headers: {
      accept: 'text/event-stream',
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: leaving.signal,
  });
  let text = '';
  let at = 0;
  let hasEnded = false;
  let wake = (): void => undefined;
  void (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const piece of answer.body ?? []) {
        text += decoder.decode(piece as Uint8Array, { stream: true });
        wake();
      }
    } catch {
      // The test, or the service, closed the connection.
    }
    hasEnded = true;
    wake();
  })();

  function take(): ReadEvent | undefined {
    for (let end = text.indexOf('\n\n', at); end >= 0; end = text.indexOf('\n\n', at)) {
      const lines = text.slice(at, end).split('\n');
      at = end + 2;
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [event, id, data] = [field('event'), field('id'), field('data')];
      if (event !== undefined && data !== undefined)
        return { event, ...(id !== undefined && { id }), data: JSON.parse(data) as unknown };
    }
    return undefined;
  }

  return {
    status: answer.status,
    headers: answer.headers,
    text: () => text,
    close: () => leaving.abort(),
    async next(ms = 5000) {
      const over = sleep(ms, 'over');
      for (;;) {
        const event = take();
        if (event !== undefined) return event;
        if (hasEnded) return 'end';
        const more = new Promise<string>((resolve) => (wake = () => resolve('more')));
        // oxlint-disable-next-line no-await-in-loop -- until there is one
        if ((await Promise.race([more, over])) === 'over') return 'nothing';
      }
    },
  };
}
