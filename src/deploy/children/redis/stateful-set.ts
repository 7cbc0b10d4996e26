// A record's own Redis (or Valkey): one pod, its password read from a file, its data on scratch space.

import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { Resolved } from '../../../kinds/app-revision.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import { commonLabels, selectorLabels } from '../../record/labels.ts';
import { names } from '../../record/names.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { ownedMeta } from '../owner.ts';
import { placementFor, pullSecretsFor } from '../placement.ts';
import { RESTRICTED, RESTRICTED_POD, resourcesFor } from '../security-and-sizes.ts';
import { REDIS_PORT } from '../service.ts';

/** The rest of the limit is for buffers and for the copy during a rewrite of the append-only file. */
const DATA_SHARE_OF_MEMORY = 0.75;

/** Requires PONG, because redis-cli exits with 0 after an error too. Valkey's images contain the tool under both names. */
const ANSWERS = ['sh', '-c', `redis-cli -h 127.0.0.1 -p ${REDIS_PORT} ping | grep -qx PONG`];

/** Depends only on `redis`, placement and pull secrets of the revision, so that a new revision with the same values restarts no pod. */
export function makeRedisStatefulSet(
  { record, revision }: Inputs,
  redis: NonNullable<Resolved['redis']>,
): Manifest<IStatefulSet> {
  const { redis: setName, redisService, redisSecret } = names(record.metadata.name);
  const maxMemoryMb = Math.floor(redis.memoryLimitMb * DATA_SHARE_OF_MEMORY);
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: ownedMeta(record, setName, 'redis'),
    spec: {
      replicas: 1,
      serviceName: redisService,
      revisionHistoryLimit: 2,
      updateStrategy: { type: 'RollingUpdate' },
      selector: { matchLabels: selectorLabels(record.metadata.name, 'redis') },
      template: {
        metadata: { labels: commonLabels(record, 'redis') },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...pullSecretsFor(revision.spec.resolved),
          ...placementFor(revision.spec.resolved, 'redis', record.metadata.name),
          terminationGracePeriodSeconds: 30,
          securityContext: RESTRICTED_POD,
          containers: [
            {
              name: 'redis',
              image: redis.image,
              imagePullPolicy: revision.spec.resolved.pullPolicy,
              // A .conf file as the first argument starts the server in images of both Redis and Valkey. A full Redis
              // rejects writes (noeviction), because jobs must not disappear from the queue.
              args: ['/etc/davit/redis.conf', '--maxmemory', `${maxMemoryMb}mb`, '--maxmemory-policy', 'noeviction'],
              env: [fromSecret('REDISCLI_AUTH', { secretName: redisSecret, secretKey: 'password' })],
              ports: [{ name: 'redis', containerPort: REDIS_PORT, protocol: 'TCP' }],
              startupProbe: { exec: { command: ANSWERS }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 600 },
              readinessProbe: { exec: { command: ANSWERS }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
              livenessProbe: {
                tcpSocket: { port: 'redis' },
                periodSeconds: 10,
                timeoutSeconds: 5,
                failureThreshold: 6,
              },
              resources: resourcesFor(redis),
              securityContext: RESTRICTED,
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: [
                { name: 'config', mountPath: '/etc/davit', readOnly: true },
                { name: 'data', mountPath: '/data' },
              ],
            },
          ],
          volumes: [
            {
              name: 'config',
              secret: {
                secretName: redisSecret,
                items: [{ key: 'redis.conf', path: 'redis.conf' }],
                defaultMode: 0o440,
              },
            },
            { name: 'data', emptyDir: {} },
          ],
        },
      },
    },
  };
}
