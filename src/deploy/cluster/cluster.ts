// The cluster of a record and its children.

import type { Cluster as ClusterOf } from '../../runtime/controller/cluster.ts';
import type { Caches } from './caches.ts';

export type Cluster = ClusterOf<Caches>;
