// What really is in the cluster, and was: every version of every object that a record can have, seen with the admin's
// eyes and past the proxy. resourceVersions are one clock for all kinds.

import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';

export interface Seen extends ApiObject {
  readonly metadata: ApiObject['metadata'] & {
    readonly generation?: number;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind, looked at field by field
  readonly spec?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly status?: any;
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
}

export interface Sighting {
  readonly kind: string;
  readonly object: Seen;
  readonly version: bigint;
  readonly gone: boolean;
  /** When it was seen, in milliseconds of `performance.now()`. */
  readonly at: number;
}

export const CENSUS_KINDS: Readonly<Record<string, string>> = {
  AppDeployment: '/apis/davit.dev/v1alpha1/appdeployments',
  AppRevision: '/apis/davit.dev/v1alpha1/apprevisions',
  DatastoreOperation: '/apis/davit.dev/v1alpha1/datastoreoperations',
  Notifier: '/apis/davit.dev/v1alpha1/notifiers',
  Listener: '/apis/davit.dev/v1alpha1/listeners',
  ListenerWork: '/apis/davit.dev/v1alpha1/listenerworks',
  TracingProject: '/apis/davit.dev/v1alpha1/tracingprojects',
  Deployment: '/apis/apps/v1/deployments',
  StatefulSet: '/apis/apps/v1/statefulsets',
  ReplicaSet: '/apis/apps/v1/replicasets',
  Pod: '/api/v1/pods',
  Service: '/api/v1/services',
  Secret: '/api/v1/secrets',
  PersistentVolumeClaim: '/api/v1/persistentvolumeclaims',
  NetworkPolicy: '/apis/networking.k8s.io/v1/networkpolicies',
  HorizontalPodAutoscaler: '/apis/autoscaling/v2/horizontalpodautoscalers',
  PodDisruptionBudget: '/apis/policy/v1/poddisruptionbudgets',
  CronJob: '/apis/batch/v1/cronjobs',
  Job: '/apis/batch/v1/jobs',
};

export interface Census {
  /** In the order of resourceVersions. */
  history(namespace: string): Sighting[];
  current(namespace: string): Sighting[];
  /** How many sightings there are: a larger number means that something has changed. */
  count(namespace: string): number;
  forget(namespace: string): void;
  /** Forgets everything and lists again: what was seen has never happened. Resolves when it has seen what is there. */
  restart(): Promise<void>;
}

interface Seat {
  readonly sightings: Sighting[];
  /** By kind and uid, the newest of what is there. */
  readonly present: Map<string, Sighting>;
}

export function startCensus(api: ApiClient, signal: AbortSignal): Census {
  let seats = new Map<string, Seat>();
  let looking = new AbortController();

  async function look(): Promise<void> {
    const mine = new Map<string, Seat>();
    seats = mine;
    looking = new AbortController();
    const { signal: replaced } = looking;
    const following = Object.entries(CENSUS_KINDS).map(([kind, path]) =>
      api.follow<Seen>(path, AbortSignal.any([signal, replaced]), (object, gone) => {
        const { namespace = '', resourceVersion = '0' } = object.metadata;
        const seat = mine.get(namespace) ?? { sightings: [], present: new Map() };
        mine.set(namespace, seat);
        note(seat, { kind, object, gone, version: BigInt(resourceVersion), at: performance.now() });
      }),
    );
    await Promise.all(following);
  }
  void look();

  return {
    history: (namespace) => (seats.get(namespace)?.sightings ?? []).toSorted((a, b) => Number(a.version - b.version)),
    count: (namespace) => seats.get(namespace)?.sightings.length ?? 0,
    current: (namespace) => [...(seats.get(namespace)?.present.values() ?? [])],
    forget: (namespace) => void seats.delete(namespace),
    restart() {
      looking.abort();
      return look();
    },
  };
}

function note({ sightings, present }: Seat, sighting: Sighting): void {
  sightings.push(sighting);
  const key = `${sighting.kind}/${sighting.object.metadata.uid}`;
  const before = present.get(key);
  if (before && before.version > sighting.version) return;
  if (sighting.gone) present.delete(key);
  else present.set(key, sighting);
}
