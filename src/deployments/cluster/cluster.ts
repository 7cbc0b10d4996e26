// The clusters of a record.

import type { Cluster as ClusterOf } from '../../lib/controller/cluster.ts';
import type { Caches } from './caches.ts';

export type Cluster = ClusterOf<Caches>;

/** Both are the same cluster unless a listener runs the record elsewhere. */
export interface Clusters {
  /** Holds the record, its revisions, its tracing project and all statuses. */
  readonly home: Cluster;
  /** Holds the record's children and their pods. */
  readonly target: Cluster;
}
