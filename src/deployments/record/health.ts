// How the pods of a part are asked whether they can work, and the port that they listen on.

import type { AppRevision } from '../../schema/app-revision.ts';
import { type ImageComponent, MIGRATION, TASK } from '../../schema/meta.ts';

/** `command` is run in the container instead of a request for `path`. */
export interface Health {
  readonly port: number;
  readonly path: string;
  readonly command?: readonly string[];
}

/** A part's own values come before those of all parts. A migration and a task have the values of all parts. */
export function healthOf({ requested, resolved }: AppRevision['spec'], component: ImageComponent): Health {
  const isOfPart = component !== MIGRATION && component !== TASK;
  const { port, healthPath, healthCommand } = (isOfPart && requested.runtime?.[component]) || {};
  return {
    port: port ?? resolved.port,
    path: healthPath ?? resolved.healthPath,
    ...(healthCommand && { command: healthCommand }),
  };
}
