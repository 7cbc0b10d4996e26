// Probes of the record's own containers. Only the readiness probe uses the health path; a health command and a heartbeat can be
// those of all probes.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { type Health, healthOf } from '../record/health.ts';

type Probes = Pick<IContainer, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;

const STARTUP_PERIOD_SECONDS = 2;

/**
 * Fails if $0 was not written for more than $1 seconds. `find` would need no shell, but its whole minutes are all that GNU and
 * BusyBox have in common, and an image with it has a shell. The message has no age: it is repeated in the status, which would
 * change with it.
 */
const HEARTBEAT_SCRIPT =
  'written=$(stat -c %Y "$0") && [ "$(($(date +%s) - written))" -le "$1" ] || { echo "$0 was not written for $1 s"; exit 1; }';

/** What is run in the container to ask for its health. Undefined if its health path is asked. */
function commandOf({ command, heartbeat }: Health): string[] | undefined {
  if (heartbeat) return ['sh', '-c', HEARTBEAT_SCRIPT, heartbeat.file, String(heartbeat.maxAgeSeconds)];
  return command && [...command];
}

/**
 * Startup and liveness probes only open the port: a server may answer its health path with an error because its
 * database is down, and killing it would make the outage worse. The readiness probe removes a pod that cannot serve from
 * the Service. The startup probe allows as much time as the rollout's deadline, so that the rollout fails with its reason
 * before a slow pod is killed. A part with a health command or a heartbeat may have no port: its container ends when it fails,
 * or is restarted by them if the record asks for it.
 */
export function probesFor(revision: AppRevision['spec'], role: string): Probes {
  const health = healthOf(revision, role);
  if (health.none) return {};
  const { periodSeconds, timeoutSeconds, failureThreshold } = health;
  const { progressDeadlineSeconds } = revision.resolved;
  const command = commandOf(health);
  if (command) {
    const probe = { exec: { command }, periodSeconds, timeoutSeconds, failureThreshold };
    if (!health.restarts) return { readinessProbe: probe };
    const startupProbe = { ...probe, failureThreshold: Math.ceil(progressDeadlineSeconds / periodSeconds) };
    return { startupProbe, readinessProbe: probe, livenessProbe: probe };
  }
  return {
    startupProbe: {
      tcpSocket: { port: 'http' },
      periodSeconds: STARTUP_PERIOD_SECONDS,
      timeoutSeconds: 3,
      failureThreshold: Math.ceil(progressDeadlineSeconds / STARTUP_PERIOD_SECONDS),
    },
    readinessProbe: {
      httpGet: { path: health.path, port: 'http', scheme: 'HTTP' },
      periodSeconds,
      timeoutSeconds,
      failureThreshold,
    },
    livenessProbe: {
      tcpSocket: { port: 'http' },
      periodSeconds: 10,
      timeoutSeconds: 3,
      failureThreshold: 6,
    },
  };
}
