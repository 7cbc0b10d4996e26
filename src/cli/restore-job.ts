// The Job that loads a backup into the own PostgreSQL of a deployment. It is made from the CronJob of its backups, which has the
// images, the store, and where the credentials are. Pure.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import { AWAIT_SERVER } from '../deployments/children/database/await-server.ts';
import { commonLabels } from '../deployments/children/labels.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import {
  API_VERSION,
  CHECK_CONTAINER,
  DUMP_CONTAINER,
  FETCH_CONTAINER,
  RESTORE,
  RESTORE_CONTAINER,
  UPLOAD_CONTAINER,
} from '../schema/meta.ts';
import { Failure } from './kubectl.ts';

/** Seconds for which a Job that has ended is kept. */
const KEPT_SECONDS = 3600;

/** Everything of a person that a database can have: relations that are not of an extension. */
const OWN_RELATIONS = `select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

const CHECK = `set -eu
umask 077
${AWAIT_SERVER}`;
const EMPTY = `count=$(psql -X -w -q -A -t -c "$OWN_RELATIONS")
if [ "$count" != 0 ]; then
  echo "The database is not empty: it has $count tables, indexes and sequences. A backup is loaded only into an empty database: create another deployment, with a scale of 0." >&2
  exit 1
fi
`;
/** All of the dump or nothing. It is asked again whether the database is empty: fetching a backup takes time. */
const LOAD = `set -eu
${EMPTY}pg_restore -w --no-owner --no-privileges --exit-on-error --single-transaction -d "$PGDATABASE" dump
`;

export interface Restore {
  readonly record: AppDeployment;
  /** It makes the backups of the record. */
  readonly cronJob: ICronJob;
  /** The deployment whose backup is loaded. */
  readonly from: string;
  /** Its name; absent: the newest, or the newest of `at` or before. */
  readonly backup?: string | undefined;
  /** RFC 3339. */
  readonly at?: string | undefined;
}

/** Throws Failure if the CronJob is not one that Davit has made. */
export function restoreJob({ record, cronJob, from, backup, at }: Restore): IJob {
  const { name, uid = '' } = record.metadata;
  const job = cronJob.spec?.jobTemplate.spec;
  const pod = job?.template.spec;
  const dump = pod?.initContainers?.find((one) => one.name === DUMP_CONTAINER);
  const upload = pod?.containers.find((one) => one.name === UPLOAD_CONTAINER);
  if (!job || !pod || !dump || !upload) throw new Failure(`The CronJob of the backups of ${name} was changed.`);
  const labels = commonLabels(record, RESTORE);
  const inDatabase = (container: string, script: string): IContainer => ({
    ...dump,
    name: container,
    command: ['sh', '-c', script],
    env: [...(dump.env ?? []), { name: 'OWN_RELATIONS', value: OWN_RELATIONS }],
  });
  const kept = (upload.args ?? []).filter((arg) => /^--(store|folder|credentials|namespace)=/.test(arg));
  const which = [
    `--deployment=${from}`,
    ...(backup === undefined ? [] : [`--backup=${backup}`]),
    ...(at === undefined ? [] : [`--at=${at}`]),
  ];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}---restore-`,
      labels,
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid }],
    },
    spec: {
      ...job,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: {
        metadata: { labels },
        spec: {
          ...pod,
          initContainers: [
            inDatabase(CHECK_CONTAINER, `${CHECK}${EMPTY}`),
            { ...upload, name: FETCH_CONTAINER, args: ['backup', 'fetch', ...kept, ...which] },
          ],
          containers: [inDatabase(RESTORE_CONTAINER, LOAD)],
        },
      },
    },
  };
}
