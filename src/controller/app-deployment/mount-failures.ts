// The kubelet reports only in an event why a pod's volumes are not mounted. Events are too many to be watched, so they are listed
// for pods that take long to start.

import { LruMap } from 'toad-cache';
import type { Pod } from '../../decide/observed.ts';
import { FIRST_LOOK_MS, startingSinceMs } from '../../decide/pod-startup.ts';
import { EVENTS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import type { Logger } from '../../logger.ts';

interface Event extends KubeObject {
  readonly note?: string;
}

/** Maximum number of pods for which events are listed: pods of a record usually fail for the same reason. */
const PODS_ASKED = 3;
/** Minimum interval of listing a pod's events, however often its record is reconciled. The kubelet retries more slowly. */
const ASK_EVERY_MS = 5_000;
/** Maximum number of remembered pods. */
const PODS_REMEMBERED = 2_000;

export interface MountFailures {
  /** These pods with the kubelet's message, if there is one. After a failure they have no message. */
  addTo(pods: readonly Pod[], client: KubeClient, log: Logger): Promise<readonly Pod[]>;
}

interface Asked {
  readonly at: number;
  readonly words: string | undefined;
}

export function makeMountFailures(now: () => Date): MountFailures {
  /** By the pod's uid. */
  const asked = new LruMap<Asked>(PODS_REMEMBERED);

  async function words({ metadata }: Pod, client: KubeClient, log: Logger): Promise<string | undefined> {
    const { namespace = '', uid = '' } = metadata;
    const before = asked.get(uid);
    if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;
    // Recorded first, so that a failing or hanging request is not repeated in every pass.
    asked.set(uid, { at: now().getTime(), words: before?.words });
    try {
      const { items } = await client.list<Event>(EVENTS, {
        namespace,
        fieldSelector: `regarding.uid=${uid},reason=FailedMount`,
        limit: 20,
      });
      const said = mostTelling(items.flatMap(({ note }) => note ?? []));
      asked.set(uid, { at: now().getTime(), words: said });
      return said;
    } catch (err) {
      log.debug({ err, pod: metadata.name }, 'Could not list the events of a pod');
      return before?.words;
    }
  }

  return {
    addTo: async (pods, client, log) => {
      const late = pods
        .filter((pod) => now().getTime() - (startingSinceMs(pod) ?? Infinity) >= FIRST_LOOK_MS)
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
        .slice(0, PODS_ASKED);
      if (late.length === 0) return pods;
      const said = new Map(await Promise.all(late.map(async (pod) => [pod, await words(pod, client, log)] as const)));
      return pods.map((pod) => {
        const failedMount = said.get(pod);
        return failedMount === undefined ? pod : { ...pod, failedMount };
      });
    },
  };
}

/** Selects the same message in every pass. A message about one volume is preferred to the general timeout message. */
function mostTelling(notes: readonly string[]): string | undefined {
  const sorted = notes.toSorted();
  return sorted.find((note) => !note.startsWith('Unable to attach or mount volumes')) ?? sorted[0];
}
