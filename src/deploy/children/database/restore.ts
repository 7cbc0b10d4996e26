// The Job that loads the backup with which a record's own PostgreSQL begins. It may run again: the database says what it began with.

import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { DatabaseRestore } from '../../../kinds/database.ts';
import {
  CHECK_CONTAINER,
  FETCH_CONTAINER,
  REFUSED,
  RESTORE,
  RESTORE_CONTAINER,
  RESTORE_REQUEST_ANNOTATION,
} from '../../../kinds/meta.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import type { BackupSource } from '../../record/backup-consent.ts';
import { databaseNames, databaseNumberOf, restoreIdOf, restoreOf } from '../../record/database-move.ts';
import { commonLabels } from '../../record/labels.ts';
import { namespaceOf, uidOf } from '../../record/metadata.ts';
import { fetchOptionsOf, restoreRequestOf } from '../../record/restore-request.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { ONCE } from '../one-off-pod.ts';
import { ownedMeta } from '../owner.ts';
import { backupMeans, type DatabaseJob, inStore, inWholeDatabase, jobPod, restoredInto } from './job-pod.ts';
import { CHECK, LOAD, OWN_RELATIONS } from './load-scripts.ts';

/** About five minutes: a store that is away for a moment, or a key that is being replaced. */
const RETRIES = 5;

interface Restored extends DatabaseJob {
  readonly restore: Readonly<DatabaseRestore>;
  readonly source: BackupSource;
}

/** What is loaded; undefined if the record asks for nothing or an archive, may have no such backup, or has no own PostgreSQL, or the platform has no store. */
export function restored(inputs: Inputs): Restored | undefined {
  const { record, revision, settings, backupSource: source } = inputs;
  const { postgres } = revision.spec.resolved;
  const restore = restoreOf(record, [revision]);
  const means = backupMeans(settings);
  if (!postgres || !restore || restore.archive === true || !means || !source) return undefined;
  return { inputs, postgres, restore, means, source: isOfThisLife(inputs) ? ofThisLife(inputs) : source };
}

/** Undefined if nothing is loaded. */
export function makeRestore(inputs: Inputs): Manifest<IJob> | undefined {
  const job = restored(inputs);
  if (!job) return undefined;
  const { record, revision, settings } = inputs;
  const labels = commonLabels(record, RESTORE);
  const meta = ownedMeta(record, databaseNames(record, revision).restore, RESTORE);
  const { postgresSecret: secretName } = databaseNames(record, revision);
  const env = [
    OWN_RELATIONS,
    { name: 'RESTORE_ID', value: restoreIdOf(record, revision) },
    fromSecret('OWNER_PASSWORD', { secretName, secretKey: 'password' }),
  ];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...meta, annotations: { [RESTORE_REQUEST_ANNOTATION]: restoreRequestOf(job.restore) } },
    spec: {
      backoffLimit: RETRIES,
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { operator: 'In', values: [REFUSED] } },
          ...ONCE.podFailurePolicy.rules,
        ],
      },
      activeDeadlineSeconds: settings.backups.timeoutSeconds,
      template: {
        metadata: { labels },
        spec: jobPod(job, {
          initContainers: [
            inWholeDatabase(job, CHECK_CONTAINER, CHECK, env),
            inStore(
              job,
              FETCH_CONTAINER,
              [
                'fetch',
                ...fetchOptionsOf(job.restore),
                ...job.source.tenants.map((tenant) => `--tenant=${tenant}`),
                ...restoredInto(job),
              ],
              job.source.namespace,
            ),
          ],
          containers: [inWholeDatabase(job, RESTORE_CONTAINER, LOAD, env)],
        }),
      },
    },
  };
}

/** Whoever names no deployment needs no right to the data of an earlier one of the name, so it gets none of that. */
function isOfThisLife({ revision }: Inputs): boolean {
  return databaseNumberOf(revision) > 0 && revision.spec.resolved.movedDatabase?.backupOf === undefined;
}

function ofThisLife({ record, tenantId }: Inputs): BackupSource {
  return { namespace: namespaceOf(record), tenants: [`${tenantId}/${uidOf(record)}`] };
}
