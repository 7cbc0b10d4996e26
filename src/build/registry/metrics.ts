// The metrics of the platform's registry, read at each scrape. docs/monitoring.md lists them.

import { Gauge, type Registry } from 'prom-client';
import { makeReading } from '../../runtime/controller/metrics.ts';
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
      collecting.reset();
      const { isUp, collection: { state, succeededAt, dueAt } = {}, unneeded: tags } = reading.now() ?? {};
      if (isUp !== undefined) up.set(isUp ? 1 : 0);
      if (state !== undefined) collecting.set({ state }, 1);
      if (succeededAt !== undefined) succeeded.set(succeededAt);
      if (dueAt !== undefined) due.set(dueAt);
      if (tags !== undefined) unneeded.set(tags);
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
  const unneeded = new Gauge({
    name: `${prefix}registry_unneeded_tags`,
    help: 'Tags that nothing needs, which are deleted after a day or when their repository has too many',
    registers,
  });
  return { showRegistry: reading.by };
}
