// Events (events.k8s.io/v1) for people who look at an object with kubectl. They are hints: best effort, never awaited.

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { EVENTS } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { type Clock, systemClock } from './clock.ts';

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Who reports, as a qualified name. */
  readonly controller: string;
  /** Which replica of it. */
  readonly instance: string;
  readonly log: Logger;
  readonly clock?: Clock;
  /** The same event about the same object is not sent again for this long. */
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

const MAX_UNSENT = 256;
/** The API server's limit, in bytes. */
const LONGEST_NOTE = 1024;
/** An event's name may be as long as any object's, 253; it is the object's with a suffix. */
const LONGEST_NAME = 200;

export function makeEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, controller, log, clock = systemClock, quietMs = 600_000, remembered = 4096 } = options;
  /** Event → when it was last sent; the oldest first. */
  const sentAt = new Map<string, number>();
  const unsent = new Set<Promise<void>>();

  function isRepetition(event: EventToRecord): boolean {
    const { regarding, reason, note } = event;
    const key = JSON.stringify([regarding.metadata.uid ?? '', regarding.metadata.name, reason, note]);
    const before = sentAt.get(key);
    if (before !== undefined && clock.elapsed() - before < quietMs) return true;
    sentAt.delete(key);
    sentAt.set(key, clock.elapsed());
    for (const oldest of sentAt.keys()) {
      if (sentAt.size <= remembered) break;
      sentAt.delete(oldest);
    }
    return false;
  }

  async function send(event: EventToRecord): Promise<void> {
    const { name, uid, resourceVersion, namespace = 'default' } = event.regarding.metadata;
    const object = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace, name: `${name.slice(0, LONGEST_NAME)}.${randomUUID()}` },
      eventTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
      reportingController: controller,
      reportingInstance: options.instance.slice(0, 128),
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
    try {
      await client.create(EVENTS, object);
    } catch (err) {
      log.warn({ err, reason: event.reason, name, namespace }, 'Could not send an event');
    }
  }

  return {
    record(event) {
      if (isRepetition(event)) return;
      if (unsent.size >= MAX_UNSENT) {
        log.warn({ reason: event.reason }, 'Too many unsent events, dropping one');
        return;
      }
      const sending = send(event).finally(() => unsent.delete(sending));
      unsent.add(sending);
    },
    async flush() {
      await Promise.all(unsent);
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
