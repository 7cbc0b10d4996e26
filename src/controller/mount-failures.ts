// Why the volumes of a pod are not mounted is in no status: the kubelet says it in an event. Those are not watched, there
// are too many of them: they are asked for where a pod takes long to begin.

import { beginsSince, FIRST_LOOK_MS } from '../decide/beginning.ts';
import type { Pod } from '../decide/observed.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { EVENTS } from '../kube/resources.ts';

interface Event extends KubeObject {
  readonly note?: string;
}

/** Of pods that cannot begin for the same reason a few are enough. */
const PODS_ASKED = 3;

export interface MountFailures {
  /** These pods, with the kubelet's words where there are any. */
  addTo(pods: readonly Pod[]): Promise<readonly Pod[]>;
}

export function makeMountFailures(client: KubeClient, now: () => Date): MountFailures {
  async function words({ metadata }: Pod): Promise<string | undefined> {
    const { items } = await client.list<Event>(EVENTS, {
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      fieldSelector: `regarding.uid=${metadata.uid},reason=FailedMount`,
      limit: 20,
    });
    return mostTelling(items.flatMap(({ note }) => note ?? []));
  }

  return {
    addTo: async (pods) => {
      const late = pods
        .filter((pod) => now().getTime() - (beginsSince(pod) ?? Infinity) >= FIRST_LOOK_MS)
        .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
        .slice(0, PODS_ASKED);
      if (late.length === 0) return pods;
      const said = new Map(await Promise.all(late.map(async (pod) => [pod, await words(pod)] as const)));
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
