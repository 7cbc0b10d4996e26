// The Job that loads into a record's own PostgreSQL a dump that somebody brings: `kubectl davit clone` from another namespace or cluster.
// Pure, and imports no zod at run time, because kubectl-davit bundles it.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { CHECK_CONTAINER, REFUSED, RESTORE_CONTAINER } from '../../../schema/meta.ts';
import { uidOf } from '../../record/metadata.ts';
import { restoreByHand } from '../../record/restore-by-hand.ts';
import type { Inputs } from '../inputs.ts';
import { FOLDER, inDatabase, jobPod } from './job-pod.ts';
import { CHECK_ONCE, LOAD_ONCE, OWN_RELATIONS } from './load-scripts.ts';

/** In its container: the dump, its SHA-256 when all of it is there, and what it is (LoadedBackup). */
export const RECEIVED = { dump: `${FOLDER}/dump`, sum: `${FOLDER}/sent`, about: `${FOLDER}/fetched` } as const;
/** server_version_num of the database. */
export const RECEIVING_VERSION = `${FOLDER}/server-version`;

/** What was loaded before is not waited for. */
const AWAIT_DUMP = `if [ ! -e loaded ]; then
  until [ -e ${RECEIVED.sum} ]; do sleep 1; done
  sum=$(sha256sum dump)
  if [ "\${sum%% *}" != "$(cat ${RECEIVED.sum})" ]; then
    echo 'The backup did not arrive whole.' >&2
    exit ${REFUSED}
  fi
fi
`;

/** Seconds for which it waits for the dump and loads it. */
const LIMIT_SECONDS = 21_600;

/** Undefined if the revision has no own PostgreSQL. */
export function makeReceiver({ record, revision }: Pick<Inputs, 'record' | 'revision'>): IJob | undefined {
  const { postgres } = revision.spec.resolved;
  if (!postgres) return undefined;
  const job = { inputs: { record, revision }, postgres };
  const env = [OWN_RELATIONS, { name: 'RESTORE_ID', value: uidOf(record) }];
  return restoreByHand(
    record,
    // Another pod would not have the dump.
    { backoffLimit: 0, activeDeadlineSeconds: LIMIT_SECONDS },
    jobPod(job, {
      initContainers: [inDatabase(job, CHECK_CONTAINER, CHECK_ONCE, env)],
      containers: [inDatabase(job, RESTORE_CONTAINER, `set -eu\n${AWAIT_DUMP}${LOAD_ONCE}`, env)],
    }),
  );
}
