// The metrics of the platform's registry, read at each scrape. docs/monitoring.md lists them.

import { Gauge, type Registry } from 'prom-client';
import { makeReading } from '../../lib/controller/metrics.ts';
import type { GarbageCollection } from './collection.ts';

export interface RegistryMetrics {
  /** Calls `read` at every scrape, until the returned function is called. Only the leader looks at the registry. */
  showRegistry(read: () => RegistryHealth): () => void;
}

/** What is known of the platform's registry. What is undefined has no series. Times are in seconds since 1970. */
export interface RegistryHealth {
  /** Whether it answers and takes the platform's credential. */
  readonly isUp: boolean | undefined;
  /** By the pod of the chart's own registry. */
  readonly collection: GarbageCollection | undefined;
  readonly backlog: RegistryBacklog | undefined;
}

/** What stands before the next collection of garbage. */
export interface RegistryBacklog {
  /** Repositories for which the collection waits. */
  readonly waiting: number;
  /** Repositories that fail although the registry answers. After some attempts the collection does not wait for them. */
  readonly failing: number;
  /** Tags that nothing needs, and that are deleted when a day has passed. */
  readonly unneeded: number;
}

/** Gauges of the platform's registry, read at each scrape. A process that does not look at it has no series of them. */
export function makeRegistryMetrics(registry: Registry, prefix = 'davit_'): RegistryMetrics {
  const registers = [registry];
  const reading = makeReading<RegistryHealth>();
  const up = new Gauge({
    name: `${prefix}registry_up`,
    help: "1 if the platform's registry answers and takes the platform's credential, otherwise 0",
    registers,
    // The first metric sets the others too, so that all show one moment.
    collect() {
      for (const gauge of [up, succeeded, due, unneeded]) gauge.remove();
      for (const gauge of [collecting, repositories]) gauge.reset();
      const health = reading.now();
      if (health === undefined) return;
      const { isUp, collection, backlog } = health;
      if (isUp !== undefined) up.set(isUp ? 1 : 0);
      if (collection) {
        if (collection.state !== undefined) collecting.set({ state: collection.state }, 1);
        if (collection.succeededAt !== undefined) succeeded.set(collection.succeededAt);
        if (collection.dueAt !== undefined) due.set(collection.dueAt);
      }
      if (backlog) {
        repositories.set({ state: 'waiting' }, backlog.waiting);
        repositories.set({ state: 'failing' }, backlog.failing);
        unneeded.set(backlog.unneeded);
      }
    },
  });
  const collecting = new Gauge({
    name: `${prefix}registry_garbage_collection`,
    help: "1 for the state of the last garbage collection by the registry's pod: succeeded, running, failing or timed_out",
    labelNames: ['state'],
    registers,
  });
  const succeeded = new Gauge({
    name: `${prefix}registry_garbage_collection_success_timestamp_seconds`,
    help: 'When the garbage collection of the registry last succeeded',
    registers,
  });
  const due = new Gauge({
    name: `${prefix}registry_garbage_collection_due_timestamp_seconds`,
    help: 'When the next garbage collection of the registry is due',
    registers,
  });
  const repositories = new Gauge({
    name: `${prefix}registry_repositories`,
    help: 'Repositories for which the garbage collection waits, and that fail although the registry answers',
    labelNames: ['state'],
    registers,
  });
  const unneeded = new Gauge({
    name: `${prefix}registry_unneeded_tags`,
    help: 'Tags that nothing needs and that are deleted when a day has passed',
    registers,
  });
  return { showRegistry: reading.by };
}
