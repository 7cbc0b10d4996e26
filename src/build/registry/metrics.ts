// The metrics of the platform's registry, read at each scrape. docs/monitoring.md lists them.

import type { Registry } from 'prom-client';
import { type Series, shownGauges } from '../../runtime/controller/metrics.ts';
import type { GarbageCollection } from './collection.ts';

export interface RegistryMetrics {
  /** Calls `read` at every scrape, until the returned function is called. Only the leader looks at the registry. */
  showRegistry(read: () => RegistryHealth): () => void;
}

/** What is known of the platform's registry. What is undefined has no series. Times are in seconds since 1970. */
export interface RegistryHealth extends Partial<OwnRegistry> {
  /** Whether it answers and takes the platform's credential. */
  readonly isUp: boolean | undefined;
}

/** Upkeep of the chart's own registry. */
export interface OwnRegistry {
  /** Undefined if nothing is collected. */
  readonly collection: GarbageCollection | undefined;
  /** How many tags nothing needs. Undefined before the first sweep. */
  readonly unneeded: number | undefined;
}

const GAUGES = {
  registry_up: { help: "1 if the platform's registry answers and takes the platform's credential, otherwise 0" },
  registry_garbage_collection: {
    help: "1 for the state of the last garbage collection by the registry's pod: succeeded, running, failing or timed_out",
    labelNames: ['state'],
  },
  registry_garbage_collection_success_timestamp_seconds: {
    help: 'When the garbage collection of the registry last succeeded',
  },
  registry_garbage_collection_due_timestamp_seconds: {
    help: 'When the next garbage collection of the registry is due',
  },
  registry_unneeded_tags: {
    help: 'Unneeded tags, which are deleted after a day, or when their repository has too many',
  },
};

/** A process that does not look at the registry has no series of it. */
export function makeRegistryMetrics(registry: Registry): RegistryMetrics {
  const show = shownGauges(registry, GAUGES);
  const one = (value: number | undefined): Series => (value === undefined ? [] : [[{}, value]]);
  return {
    showRegistry: (read) =>
      show(() => {
        const { isUp, collection: { state, succeededAt, dueAt } = {}, unneeded } = read();
        return {
          registry_up: one(isUp === undefined ? undefined : Number(isUp)),
          registry_garbage_collection: state === undefined ? [] : [[{ state }, 1]],
          registry_garbage_collection_success_timestamp_seconds: one(succeededAt),
          registry_garbage_collection_due_timestamp_seconds: one(dueAt),
          registry_unneeded_tags: one(unneeded),
        };
      }),
  };
}
