// Which events of a deployment are listed. A run has several of them, and the API server keeps them for an hour: those of runs alone would
// push out what is said of the parts. Imports no zod at run time, because kubectl-davit bundles it.

import { BACKUP, TASK, VERIFY } from './meta.ts';

const BESIDE: readonly string[] = [TASK, BACKUP, VERIFY];

/** Whether a component is a run of a deployment instead of a part: a command, a task, a backup or a verification. */
export function runsBeside(component: string | undefined): boolean {
  return component !== undefined && BESIDE.includes(component);
}

interface Bounds {
  readonly most: number;
  /** The most of events about runs, unless there are too few others. */
  readonly mostOfRuns: number;
}

/** The first ones, in their order: at most `most`. */
export function listedEvents<T>(
  events: readonly T[],
  isOfRun: (event: T) => boolean,
  { most, mostOfRuns }: Bounds,
): T[] {
  const runs = events.filter(isOfRun);
  const others = events.length - runs.length;
  const shown = new Set(runs.slice(0, Math.max(mostOfRuns, most - others)));
  return events.filter((event) => !isOfRun(event) || shown.has(event)).slice(0, most);
}
