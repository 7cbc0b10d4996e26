// Why the volumes of a pod are not mounted is in no status: the kubelet says it in an event. Those are not watched, there
// are too many of them: they are asked for where a pod takes long to begin.

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
/** A pod is asked about no more often, however often its record is looked at: the kubelet itself tries again more slowly. */
const ASK_EVERY_MS = 5_000;
/** More than there are at a time of pods that do not begin. */
const PODS_REMEMBERED = 2_000;

export interface MountFailures {
  /** These pods, with the kubelet's words where there are any. A failure costs those words, and nothing else. */
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
    // Noted first: what fails or hangs is not asked for at every look either.
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

/** The same one at every look. That volumes were not there in time says less than which one, and why. */
function mostTelling(notes: readonly string[]): string | undefined {
  const sorted = notes.toSorted();
  return sorted.find((note) => !note.startsWith('Unable to attach or mount volumes')) ?? sorted[0];
}
