// A record's own PostgreSQL as a Cluster of CloudNativePG. Source: postgresql.cnpg.io/v1, "Cluster", of version 1.30.

import type { Resolved } from '../../../kinds/app-revision.ts';
import { HIBERNATION_ANNOTATION, POSTGRES_IMAGE_ANNOTATION } from '../../../kinds/meta.ts';
import type { KubeObject } from '../../../runtime/kube/client.ts';
import { OWNER } from '../../record/database-driver.ts';
import { databaseNames } from '../../record/database-move.ts';
import { selectorLabels } from '../../record/labels.ts';
import type { Inputs } from '../inputs.ts';
import { keptMeta } from '../owner.ts';
import { placementFor, pullSecretsFor } from '../placement.ts';
import { storageQuantity } from '../quantity.ts';
import { resourcesFor } from '../security-and-sizes.ts';
import { makeExtensions } from './owned-stateful-set.ts';
import { clusterArchive } from './wal-archive.ts';

export interface PostgresCluster extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & { readonly instances: number };
}

/** As long as a pod of Davit's own PostgreSQL gets. */
const STOP_SECONDS = 120;
/** Connections of pools never end, so to wait for them only keeps writers waiting. */
const SMART_SHUTDOWN_SECONDS = 1;
/** Sorts by code point in every release of the C library, so that an index outlives its image. */
const LOCALE = 'C.UTF-8';

/**
 * It has no owner, as everything that holds data, and its deletion deletes its volumes: only a teardown does that. Depends only on
 * `postgres`, placement and pull secrets of the revision, and on what the record asks of its archive.
 */
export function makePostgresCluster(inputs: Inputs, postgres: NonNullable<Resolved['postgres']>): PostgresCluster {
  const { record, revision, settings } = inputs;
  const { resolved } = revision.spec;
  const { postgres: name, postgresSecret } = databaseNames(record, revision);
  const { user, database } = OWNER;
  const { instances = 1, dataDurability = 'off', userId, extensions } = postgres;
  const { storageClassName } = settings.database;
  const { nodeSelector, tolerations, ...placement } = placementFor(resolved, 'postgres', record.metadata.name);
  const archive = clusterArchive(inputs);
  const metadata = keptMeta(record, name, 'postgres');
  const annotations = {
    ...metadata.annotations,
    [POSTGRES_IMAGE_ANNOTATION]: postgres.image,
    // Explicit: a retained Cluster that a new record adopts is hibernated.
    [HIBERNATION_ANNOTATION]: 'off',
  };
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: { ...metadata, annotations },
    spec: {
      instances,
      imageName: postgres.image,
      imagePullPolicy: resolved.pullPolicy,
      ...pullSecretsFor(resolved),
      ...(userId !== undefined && { postgresUID: userId, postgresGID: userId }),
      enableSuperuserAccess: false,
      ...(archive.plugins && { plugins: archive.plugins }),
      ...(archive.externalClusters && { externalClusters: archive.externalClusters }),
      bootstrap: archive.bootstrap ?? {
        initdb: {
          database,
          owner: user,
          secret: { name: postgresSecret },
          dataChecksums: true,
          encoding: 'UTF8',
          localeCollate: LOCALE,
          localeCType: LOCALE,
          ...(extensions && { postInitApplicationSQL: [makeExtensions(extensions)] }),
        },
      },
      postgresql: {
        parameters: { max_connections: String(postgres.maxConnections) },
        ...(instances > 1 && dataDurability !== 'off' && { synchronous: { method: 'any', number: 1, dataDurability } }),
      },
      primaryUpdateMethod: instances > 1 ? 'switchover' : 'restart',
      stopDelay: STOP_SECONDS,
      smartShutdownTimeout: SMART_SHUTDOWN_SECONDS,
      resources: resourcesFor(postgres),
      storage: {
        size: storageQuantity(postgres.storageGi),
        ...(storageClassName !== undefined && { storageClass: storageClassName }),
      },
      affinity: {
        enablePodAntiAffinity: true,
        podAntiAffinityType: 'preferred',
        topologyKey: 'kubernetes.io/hostname',
        ...(nodeSelector && { nodeSelector }),
        ...(tolerations && { tolerations }),
      },
      ...placement,
      // Without the uid: what CloudNativePG makes is its own, and Davit changes and deletes none of it.
      inheritedMetadata: { labels: selectorLabels(record.metadata.name, 'postgres') },
    },
  };
}
