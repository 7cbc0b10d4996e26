// A record's own PostgreSQL: one pod that follows the conventions of the official image.

import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { Resolved } from '../../../kinds/app-revision.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { databaseNames } from '../../record/database-move.ts';
import { commonLabels, selectorLabels } from '../../record/labels.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { ownedMeta } from '../owner.ts';
import { placementFor, pullSecretsFor } from '../placement.ts';
import { RESTRICTED, RESTRICTED_POD, resourcesFor } from '../security-and-sizes.ts';
import { POSTGRES_PORT } from './service.ts';

/** Uses TCP: during initialization a temporary server listens only on its socket, and must not count as ready. */
const IS_READY = `pg_isready -q -h 127.0.0.1 -p ${POSTGRES_PORT} -U postgres`;
const ACCEPTS = ['sh', '-c', IS_READY];
/** Exit code 1 means that it answers and rejects connections, as during recovery, so it is alive. Killing it would restart the recovery. */
const ANSWERS = ['sh', '-c', `${IS_READY} || [ $? -eq 1 ]`];

/** Depends only on `postgres`, placement and pull secrets of the revision, so that a new revision with the same values restarts no pod. */
export function makePostgresStatefulSet(
  { record, revision }: Inputs,
  postgres: NonNullable<Resolved['postgres']>,
): Manifest<IStatefulSet> {
  const { postgres: setName, postgresService, postgresSecret, postgresClaim } = databaseNames(record, revision);
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: ownedMeta(record, setName, 'postgres'),
    spec: {
      replicas: 1,
      serviceName: postgresService,
      revisionHistoryLimit: 2,
      updateStrategy: { type: 'RollingUpdate' },
      selector: { matchLabels: selectorLabels(record.metadata.name, 'postgres') },
      template: {
        metadata: { labels: commonLabels(record, 'postgres') },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...pullSecretsFor(revision.spec.resolved),
          ...placementFor(revision.spec.resolved, 'postgres', record.metadata.name),
          // A fast shutdown writes a checkpoint. If the server is killed before that, the next start has to recover.
          terminationGracePeriodSeconds: 120,
          securityContext: RESTRICTED_POD,
          containers: [
            {
              name: 'postgres',
              image: postgres.image,
              imagePullPolicy: revision.spec.resolved.pullPolicy,
              args: ['-c', `max_connections=${postgres.maxConnections}`],
              env: [
                { name: 'POSTGRES_USER', value: 'postgres' },
                fromSecret('POSTGRES_PASSWORD', { secretName: postgresSecret, secretKey: 'password' }),
                { name: 'POSTGRES_DB', value: 'postgres' },
                { name: 'POSTGRES_INITDB_ARGS', value: '--data-checksums' },
                // A subfolder, because a volume's root may contain lost+found and belongs to root. Explicit, because images
                // of PostgreSQL 18 and newer have another default.
                { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
              ],
              ports: [{ name: 'postgres', containerPort: POSTGRES_PORT, protocol: 'TCP' }],
              startupProbe: { exec: { command: ANSWERS }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1800 },
              readinessProbe: { exec: { command: ACCEPTS }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
              livenessProbe: {
                exec: { command: ANSWERS },
                periodSeconds: 30,
                timeoutSeconds: 10,
                failureThreshold: 10,
              },
              resources: resourcesFor(postgres),
              securityContext: RESTRICTED,
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: [
                { name: 'data', mountPath: '/var/lib/postgresql/data' },
                { name: 'run', mountPath: '/var/run/postgresql' },
                { name: 'tmp', mountPath: '/tmp' },
                { name: 'shm', mountPath: '/dev/shm' },
              ],
            },
          ],
          volumes: [
            { name: 'data', persistentVolumeClaim: { claimName: postgresClaim } },
            { name: 'run', emptyDir: {} },
            { name: 'tmp', emptyDir: {} },
            // Parallel queries use this shared memory; the runtime's default of 64 MB is too small.
            { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
          ],
        },
      },
    },
  };
}
