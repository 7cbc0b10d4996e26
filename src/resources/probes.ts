// Probes of the record's own containers. Only the readiness probe uses the health path.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { Resolved } from '../api/app-revision.ts';

type Probes = Pick<IContainer, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;

const STARTUP_PERIOD_SECONDS = 2;

/**
 * Startup and liveness probes only open the port: a server may answer its health path with an error because its
 * database is down, and killing it would make the outage worse. The readiness probe removes a pod that cannot serve from
 * the Service. The startup probe allows as much time as the rollout's deadline, so that the rollout fails with its reason
 * before a slow pod is killed.
 */
export function probesFor({ healthPath, progressDeadlineSeconds }: Readonly<Resolved>): Probes {
  return {
    startupProbe: {
      tcpSocket: { port: 'http' },
      periodSeconds: STARTUP_PERIOD_SECONDS,
      timeoutSeconds: 3,
      failureThreshold: Math.ceil(progressDeadlineSeconds / STARTUP_PERIOD_SECONDS),
    },
    readinessProbe: {
      httpGet: { path: healthPath, port: 'http', scheme: 'HTTP' },
      periodSeconds: 5,
      timeoutSeconds: 3,
      failureThreshold: 3,
    },
    livenessProbe: {
      tcpSocket: { port: 'http' },
      periodSeconds: 10,
      timeoutSeconds: 3,
      failureThreshold: 6,
    },
  };
}
