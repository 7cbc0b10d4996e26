// Unfinished clones, with the commands of this program.

import { commandToGoOn, unfinishedClone as unfinishedCloneOf } from '../deployments/record/unfinished-clone.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';

/** What it is, and how to go on or to give up, as lines; undefined for a deployment that is no unfinished clone. */
export function unfinishedClone(record: AppDeployment): ReturnType<typeof unfinishedCloneOf> {
  return unfinishedCloneOf(record, PROGRAM);
}

/** Throws Failure for an unfinished clone. `instead`: a sentence that says what was not done, or nothing. */
export function needFinished(record: AppDeployment, instead: string): void {
  const unfinished = unfinishedClone(record);
  if (unfinished === undefined) return;
  const hint = commandToGoOn(record, PROGRAM) ?? `${PROGRAM} status ${record.metadata.name}`;
  throw new Failure(`${instead} ${unfinished.join('\n')}`.trimStart(), {
    result: 'failed',
    reason: 'UnfinishedClone',
    message: unfinished[0],
    hint,
  });
}
