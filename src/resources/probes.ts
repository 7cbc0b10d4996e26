// Probes of the record's own containers. Only readiness asks the health path.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { Resolved } from '../api/app-revision.ts';

type Probes = Pick<IContainer, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;

const STARTUP_PERIOD_SECONDS = 2;

/**
 * Startup and liveness open the port and no more: a server may answer its health path with an error because its
 * database is away, and to kill it then mends nothing and makes every outage worse. Not serving is what readiness
 * says: it takes the pod out of the Service. Startup allows as long as the rollout's deadline, so that the rollout
 * fails with its reason before anything is killed for being slow.
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
