// Probes of the record's own containers. Only the readiness probe uses the health path or the health command.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { AppRevision } from '../../schema/app-revision.ts';
import type { Role } from '../../schema/meta.ts';
import { healthOf } from '../record/health.ts';

type Probes = Pick<IContainer, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;

const STARTUP_PERIOD_SECONDS = 2;

/**
 * Startup and liveness probes only open the port: a server may answer its health path with an error because its
 * database is down, and killing it would make the outage worse. The readiness probe removes a pod that cannot serve from
 * the Service. The startup probe allows as much time as the rollout's deadline, so that the rollout fails with its reason
 * before a slow pod is killed. A part with a health command may have no port: its container ends when it fails. The command
 * starts a program each time, so it is run less often and has more time.
 */
export function probesFor(revision: AppRevision['spec'], role: Role): Probes {
  const { path, command } = healthOf(revision, role);
  if (command)
    return {
      readinessProbe: {
        exec: { command: [...command] },
        periodSeconds: 10,
        timeoutSeconds: 10,
        failureThreshold: 3,
      },
    };
  const { progressDeadlineSeconds } = revision.resolved;
  return {
    startupProbe: {
      tcpSocket: { port: 'http' },
      periodSeconds: STARTUP_PERIOD_SECONDS,
      timeoutSeconds: 3,
      failureThreshold: Math.ceil(progressDeadlineSeconds / STARTUP_PERIOD_SECONDS),
    },
    readinessProbe: {
      httpGet: { path, port: 'http', scheme: 'HTTP' },
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
