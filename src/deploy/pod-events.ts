// The kubelet reports only in events why a pod's volumes are not mounted, and what its health checks got. Events are too many to
// be watched, so they are listed for pods that take long to start or are not ready.

import { LruMap } from 'toad-cache';
import { lastTimeMs } from '../kinds/event-time.ts';
import { EVENTS } from '../runtime/kube/api-resources.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import type { EventObject } from '../runtime/kube/event-object.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Pod } from './assess/observed.ts';
import { type Awaited, awaitedOf, FIRST_LOOK_MS } from './assess/pod-startup.ts';

/** Maximum number of pods for which events are listed: pods of a record usually fail for the same reason. */
const PODS_ASKED = 3;
/** Minimum interval of listing a pod's events, however often its record is reconciled. The kubelet retries more slowly. */
const ASK_EVERY_MS = 5_000;
/** Maximum number of remembered pods. */
const PODS_REMEMBERED = 2_000;

export interface PodEvents {
  /** These pods with the kubelet's message, if there is one. After a failure they have no message. */
  addTo(pods: readonly Pod[], client: KubeClient, log: Logger): Promise<readonly Pod[]>;
}

interface Asked {
  readonly of: Awaited['what'];
  readonly at: number;
  readonly words: string | undefined;
}

/** The kubelet's reason of the events about it, which of their messages counts, and the field that gets it. */
const KINDS: Readonly<
  Record<
    Awaited['what'],
    {
      readonly reason: string;
      readonly field: 'failedMount' | 'failedProbe';
      /** `now` in milliseconds since 1970. */
      readonly choose: (events: readonly EventObject[], now: number) => string | undefined;
    }
  >
> = {
  start: { reason: 'FailedMount', field: 'failedMount', choose: (events) => mostTelling(eventNotes(events)) },
  health: {
    reason: 'Unhealthy',
    field: 'failedProbe',
    choose: (events, now) => eventNotes(events.toSorted((a, b) => lastTimeMs(b, now) - lastTimeMs(a, now)))[0],
  },
};

export function makePodEvents(now: () => Date): PodEvents {
  /** By the pod's uid. */
  const asked = new LruMap<Asked>(PODS_REMEMBERED);

  async function words(
    { metadata }: Pod,
    of: Awaited['what'],
    client: KubeClient,
    log: Logger,
  ): Promise<string | undefined> {
    const { namespace = '', uid = '' } = metadata;
    const known = asked.get(uid);
    const before = known?.of === of ? known : undefined;
    if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;
    // Recorded first, so that a failing or hanging request is not repeated in every pass.
    asked.set(uid, { of, at: now().getTime(), words: before?.words });
    try {
      const { items } = await client.list<EventObject>(EVENTS, {
        namespace,
        fieldSelector: `regarding.uid=${uid},reason=${KINDS[of].reason}`,
        limit: 20,
      });
      const chosen = KINDS[of].choose(items, now().getTime());
      asked.set(uid, { of, at: now().getTime(), words: chosen });
      return chosen;
    } catch (err) {
      log.debug({ err, pod: metadata.name }, 'Could not list the events of a pod');
      return before?.words;
    }
  }

  return {
    addTo: async (pods, client, log) => {
      const late = pods
        .flatMap((pod) => {
          const awaited = awaitedOf(pod);
          const isLate = awaited !== undefined && now().getTime() - awaited.sinceMs >= FIRST_LOOK_MS;
          return isLate ? [{ pod, of: awaited.what }] : [];
        })
        .toSorted((a, b) => (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1))
        .slice(0, PODS_ASKED);
      if (late.length === 0) return pods;
      const messages = new Map(
        await Promise.all(
          late.map(async ({ pod, of }) => [pod, { of, words: await words(pod, of, client, log) }] as const),
        ),
      );
      return pods.map((pod) => {
        const one = messages.get(pod);
        return one?.words === undefined ? pod : { ...pod, [KINDS[one.of].field]: one.words };
      });
    },
  };
}

function eventNotes(events: readonly EventObject[]): string[] {
  return events.flatMap(({ note }) => note ?? []);
}

/** Selects the same message in every pass. A message about one volume is preferred to the general timeout message. */
function mostTelling(notes: readonly string[]): string | undefined {
  const sorted = notes.toSorted();
  return sorted.find((note) => !note.startsWith('Unable to attach or mount volumes')) ?? sorted[0];
}
