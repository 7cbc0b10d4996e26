// The last lines of containers that ended a revision or a run of a task, which Davit keeps for a week after their pods.

import type { AppLog, AppLogSpec } from '../schema/app-log.ts';
import { GROUP } from '../schema/meta.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { listOf } from './records.ts';

export interface KeptOf {
  /** A revision's name, or the beginning of its id. */
  readonly revision?: string | undefined;
  /** Without it, of revisions that failed. */
  readonly task?: string | undefined;
  readonly component?: string | undefined;
}

export type KeptContainer = AppLogSpec['containers'][number];

/** Oldest first. Leaves out the containers of the pods that `except` names. Also empty if the caller may not read AppLogs. */
export async function keptContainers(
  kubectl: Kubectl,
  name: string,
  { revision, task, component }: KeptOf,
  except: readonly string[] = [],
): Promise<readonly KeptContainer[]> {
  const logs = await listOf<AppLog>(kubectl, `applogs.${GROUP}`, name).catch((error: unknown) => {
    if (error instanceof Failure) return [];
    throw error;
  });
  return logs
    .filter(({ metadata, spec }) => {
      const isOf =
        revision === undefined ||
        metadata.name === revision ||
        spec.revisionId?.startsWith(revision.toLowerCase()) === true;
      return isOf && spec.task === task;
    })
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1))
    .flatMap(({ spec }) => spec.containers)
    .filter((one) => !except.includes(one.pod) && (component === undefined || one.component === component));
}

/** The last lines of its log, without their times. */
export function linesOf({ log }: KeptContainer, tail: number): readonly string[] {
  const lines = log.trimEnd().split('\n');
  return (log === '' ? [] : lines).slice(-tail).map((line) => line.slice(line.indexOf(' ') + 1));
}

/** What stands before its lines. */
export function headingOf({ pod, container, exitCode, reason }: KeptContainer): string {
  return `Container ${container} of pod ${pod} exited with code ${exitCode}${reason === undefined ? '' : ` (${reason})`}. Its last lines:`;
}
