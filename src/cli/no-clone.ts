// Refuses changes over the HTTP API of an unfinished clone, of which only the record tells.

import type { Deployment } from './build-log.ts';
import { needFinished } from './cloning.ts';
import { ignoreFailure, type Kubectl } from './kubectl.ts';
import { readRecord } from './records.ts';

/**
 * Throws Failure for an unfinished clone: what is deployed could start on its empty database, into which the data is still to be loaded.
 * Where the caller may not read the record with kubectl, or kubectl reaches another one, that is not known. `instead`: a sentence that says
 * what was not done.
 */
export async function needNoClone(
  found: Pick<Deployment, 'id' | 'name'> | undefined,
  kubectl: Kubectl | undefined,
  instead = `Nothing was deployed: deploy when ${found?.name} is finished.`,
): Promise<void> {
  if (found === undefined || kubectl === undefined) return;
  const record = await readRecord(kubectl, found.name).catch(ignoreFailure);
  if (record?.metadata.uid === found.id) needFinished(record, instead);
}
