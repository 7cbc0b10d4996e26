// How the pods of a part are asked whether they can work, and the port that they listen on.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { type ImageComponent, runsOnce } from '../../kinds/meta.ts';
import { HEARTBEAT_SECONDS, type RuntimePart } from '../../kinds/runtime-part.ts';
import { isWorker } from '../../kinds/worker-parts.ts';
import { runtimeOf } from './parts.ts';

/** Either of `command` and `heartbeat` takes the place of a request for `path`. */
export interface Health {
  readonly port: number;
  readonly path: string;
  /** Is run in the container. */
  readonly command?: readonly string[];
  /** A file in the container, and the seconds after its last write at which it is too old. */
  readonly heartbeat?: { readonly file: string; readonly maxAgeSeconds: number };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
  /** Nothing is asked: a pod can work while its container runs. */
  readonly none?: true;
  /** Whether failures restart the container. */
  readonly restarts: boolean;
}

/**
 * A part's own values come before those of all parts. A migration and a task have the values of all parts. A command and the check
 * of a file start a program each time, so they are run less often and have more time.
 */
export function healthOf({ requested, resolved }: AppRevision['spec'], component: ImageComponent): Health {
  const own = (!runsOnce(component) && runtimeOf(requested.runtime, component)) || {};
  const { port, healthPath, healthCommand, heartbeatFile: file } = own;
  const [periodSeconds, timeoutSeconds] = healthCommand || file !== undefined ? [10, 10] : [5, 3];
  return {
    port: port ?? resolved.port,
    path: healthPath ?? resolved.healthPath,
    ...(healthCommand && { command: healthCommand }),
    ...(file !== undefined && { heartbeat: { file, maxAgeSeconds: own.heartbeatMaxAgeSeconds ?? HEARTBEAT_SECONDS } }),
    periodSeconds: own.healthPeriodSeconds ?? periodSeconds,
    timeoutSeconds: own.healthTimeoutSeconds ?? timeoutSeconds,
    failureThreshold: own.healthFailureThreshold ?? 3,
    restarts: own.healthRestart === true,
    ...(asksNothing(component, own) && { none: true as const }),
  };
}

/** A worker that names neither a port nor a health has no port that could be asked. */
function asksNothing(component: string, own: Readonly<RuntimePart>): boolean {
  const { port, healthPath, healthCommand, heartbeatFile } = own;
  return isWorker(component) && (port ?? healthPath ?? healthCommand ?? heartbeatFile) === undefined;
}
