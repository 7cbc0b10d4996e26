// Events (events.k8s.io/v1) for people who look at an object with kubectl. They are hints: best effort, never awaited.

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { NotFound } from '../errors.ts';
import { EVENTS } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { type Clock, microTime, systemClock } from './clock.ts';

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Who reports, as a qualified name. */
  readonly controller: string;
  /** Which replica of it. */
  readonly instance: string;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Milliseconds within which a repeated event about an object is counted in the series of the first one. */
  readonly quietMs?: number;
  /** How many events are remembered for that; the oldest go first. */
  readonly remembered?: number;
}

export interface EventToRecord {
  /** The object that the event is about. */
  readonly regarding: KubeObject;
  readonly type: 'Normal' | 'Warning';
  /** Why, as one UpperCamelCase word. */
  readonly reason: string;
  /** What was done, as one UpperCamelCase word. */
  readonly action: string;
  /** For people. Cut after 1,024 bytes. */
  readonly note: string;
}

/**
 * Sends events in the background. A failure is logged and nothing else; an API server that does not answer costs
 * at most MAX_UNSENT events of memory, and those beyond are dropped.
 */
export interface EventRecorder {
  record(event: EventToRecord): void;
  /** Resolves when what was recorded has been sent, or has failed. */
  flush(): Promise<void>;
}

/** An event that was sent, and how often since. */
interface Sent {
  readonly ref: { readonly namespace: string; readonly name: string };
  readonly at: number;
  readonly count: number;
  /** Settled when the request about it has ended. */
  done: Promise<void>;
}

const MAX_UNSENT = 256;
/** The API server's limit, in bytes. */
const LONGEST_NOTE = 1024;
/** An event's name may be as long as any object's, 253; it is the object's with a suffix. */
const LONGEST_NAME = 200;

export function makeEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, controller, log, clock = systemClock, quietMs = 600_000, remembered = 4096 } = options;
  /** Event → what was sent of it; the oldest first. */
  const sent = new Map<string, Sent>();
  const unsent = new Set<Promise<void>>();
  const reportingInstance = options.instance.slice(0, 128);

  /** The event that this one repeats, counted. A new one otherwise. */
  function take(event: EventToRecord): Sent {
    const { name, uid = '', namespace = 'default' } = event.regarding.metadata;
    const key = JSON.stringify([uid, name, event.reason, event.note]);
    const before = sent.get(key);
    const repeats = before !== undefined && clock.elapsed() - before.at < quietMs;
    const next: Sent = repeats
      ? { ...before, at: clock.elapsed(), count: before.count + 1 }
      : {
          ref: { namespace, name: `${name.slice(0, LONGEST_NAME)}.${randomUUID()}` },
          at: clock.elapsed(),
          count: 1,
          done: Promise.resolve(),
        };
    sent.delete(key);
    sent.set(key, next);
    for (const oldest of sent.keys()) {
      if (sent.size <= remembered) break;
      sent.delete(oldest);
    }
    return next;
  }

  /** One after the other, because the later changes the object that the first creates. */
  async function sendOrRepeat(event: EventToRecord, { ref, count, done }: Sent): Promise<void> {
    await done;
    if (count === 1) return send(event, ref);
    const series = { count, lastObservedTime: microTime(clock.now()) };
    try {
      await client.mergePatch(EVENTS, ref, { series });
    } catch (err) {
      // Events are deleted after an hour.
      if (err instanceof NotFound) return send(event, ref);
      log.warn({ err, reason: event.reason, ...ref }, 'Could not count an event');
    }
  }

  async function send(event: EventToRecord, ref: Sent['ref']): Promise<void> {
    const { name, namespace = 'default' } = event.regarding.metadata;
    const object = { ...manifestOf(event, ref, clock.now()), reportingController: controller, reportingInstance };
    try {
      await client.create(EVENTS, object);
    } catch (err) {
      log.warn({ err, reason: event.reason, name, namespace }, 'Could not send an event');
    }
  }

  return {
    record(event) {
      if (unsent.size >= MAX_UNSENT) {
        log.warn({ reason: event.reason }, 'Too many unsent events, dropping one');
        return;
      }
      const taken = take(event);
      const sending = sendOrRepeat(event, taken).finally(() => unsent.delete(sending));
      taken.done = sending;
      unsent.add(sending);
    },
    async flush() {
      await Promise.all(unsent);
    },
  };
}

/** The event as an object, without who reports it. `at`: milliseconds since 1970. */
function manifestOf(
  event: EventToRecord,
  ref: Sent['ref'],
  at: number,
): KubeObject & Readonly<Record<string, unknown>> {
  const { name, uid, resourceVersion, namespace = 'default' } = event.regarding.metadata;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: ref,
    eventTime: microTime(at),
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: cutToBytes(event.note, LONGEST_NOTE),
    regarding: {
      apiVersion: event.regarding.apiVersion,
      kind: event.regarding.kind,
      name,
      ...(event.regarding.metadata.namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

/** The longest beginning that fits, never ending inside a character. */
function cutToBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const ellipsis = '…';
  const room = bytes - Buffer.byteLength(ellipsis);
  // A character cut in two decodes to U+FFFD at the end.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, room)).replace(/\uFFFD$/, '') + ellipsis;
}
