// The deployment whose backup a request names: its status lists the backups that there are.

import type { FieldError } from '../../lib/http/http-error.ts';
import type { Caller } from '../../organization/facade/authorization.ts';
import { undefinedIfHidden } from '../../organization/facade/undefined-if-hidden.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../schema/app-deployment.ts';
import { offeredVersion } from '../record/database-offers.ts';
import { listedBackup } from '../record/stored-backups.ts';

/** Read with the caller's token. Undefined where there is none that the caller may read: then the restore judges. */
export async function restoreOrigin(
  { kube }: Caller,
  { metadata: { namespace = '' } }: AppDeployment,
  from: string,
): Promise<AppDeployment | undefined> {
  return undefinedIfHidden(() => kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name: from }));
}

/** Why a new record cannot begin with the backup that it asks for. */
export async function restoreFindings(caller: Caller, record: AppDeployment): Promise<FieldError[]> {
  const { restore, driver = 'pod' } = record.spec.sourceConfig.database ?? {};
  if (restore === undefined || restore.archive === true) return [];
  const origin = await restoreOrigin(caller, record, restore.from);
  const postgresVersion = origin && offeredVersion(origin, driver);
  const chosen = listedBackup(origin?.status?.databaseBackups, { ...restore, postgresVersion, ofAllLives: true });
  if (!('refused' in chosen)) return [];
  const field = (['backup', 'at'] as const).find((one) => restore[one] !== undefined) ?? 'from';
  const loc = ['body', 'source_config', 'database', 'restore', field];
  return [{ loc, msg: `cannot be loaded. ${chosen.refused}`, type: 'value_error' }];
}
