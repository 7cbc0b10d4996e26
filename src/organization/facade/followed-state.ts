// A stream of how something stands: every event is the whole answer that a GET would give. So nothing has to be kept for
// those who connect again, and what is missed is only what stood in between.

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { makeMark, pause } from '../../lib/http/mark.ts';
import type { StreamEvent } from '../../lib/http/server-sent-events.ts';
import { turns } from '../../lib/http/turns.ts';
import type { EventStream, StreamOpening } from './event-stream.ts';
import type { EventStreams } from './event-streams.ts';

export interface Followed extends Pick<StreamOpening, 'kind' | 'right'> {
  /** The answer of a GET as JSON; undefined when it is gone. */
  readonly read: () => Buffer | string | undefined;
  /** What a GET says when it is gone. */
  readonly gone?: string;
  /** Calls `listener` after each change, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void;
  /** Shortest time between two events, in milliseconds. */
  readonly everyMs?: number;
}

/** For the document: the events of such a stream. */
export function stateEvents(event: string, last = '`gone` or `end`'): string {
  return `\`${event}\` with the whole answer, at once and after each change, then ${last}.`;
}

/** A rollout changes a status several times a second. */
const EVERY_MS = 250;
/** How long it takes until a right is asked again that could not be. */
const ASK_AGAIN_MS = 5000;

/**
 * Answers with how something stands, at once and after each change. What changes while the reader reads, or within `everyMs`,
 * is sent once, as it stands then. The id of an event is a digest of it: a client that sends it back as Last-Event-ID gets
 * nothing until something else is so.
 */
export function followState(
  streams: EventStreams,
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, right, read, gone = '', onChange, everyMs = EVERY_MS }: Followed,
): FastifyReply {
  // Fails as a GET does, while there is no stream yet.
  read();
  const { reviewMs } = streams.limits;
  let sentId = request.headers['last-event-id'];

  async function run(stream: EventStream): Promise<void> {
    const { signal } = stream;
    const mark = makeMark();
    const unfollow = onChange(mark.set);
    signal.addEventListener('abort', mark.set);
    try {
      while (!signal.aborted) {
        mark.clear();
        // oxlint-disable-next-line no-await-in-loop -- one event after the other
        if (!(await stream.mayGoOn())) await pause(Math.min(ASK_AGAIN_MS, reviewMs), signal);
        // oxlint-disable-next-line no-await-in-loop -- one event after the other
        else if (await sendState(stream)) await mark.wait(reviewMs);
      }
    } finally {
      unfollow();
    }
  }

  /** Resolves to whether there is more to come. */
  async function sendState(stream: EventStream): Promise<boolean> {
    // One change wakes all who follow, and each reads a whole answer.
    const over = turns.over();
    if (over !== undefined) await over;
    const text = read();
    if (text === undefined) {
      stream.end('gone', { event: 'gone', data: JSON.stringify({ detail: gone }) });
      return false;
    }
    const id = hash('sha256', text, 'base64url').slice(0, 22);
    if (id === sentId) return true;
    sentId = id;
    const event: StreamEvent = { event: kind, id, data: text.toString() };
    await stream.send(event);
    await pause(everyMs, stream.signal);
    return true;
  }

  return streams.open(request, reply, { kind, right, run });
}
