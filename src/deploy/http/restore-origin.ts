// The deployment whose backup a request names: its status lists the backups that there are.

import type { Caller } from '../../api/authorization.ts';
import { undefinedIfHidden } from '../../api/undefined-if-hidden.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import type { DatabaseRestore } from '../../kinds/database.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { otherDriver } from '../record/backup-consent.ts';
import { offeredVersion } from '../record/database-offers.ts';
import { listedBackup } from '../record/stored-backups.ts';

/** Read with the caller's token. Undefined where there is none that the caller may read, or a namespace is named: then the controller judges. */
export async function restoreOrigin(
  { kube }: Caller,
  { metadata: { namespace = '' } }: AppDeployment,
  { from: name, namespace: named }: Pick<DatabaseRestore, 'from' | 'namespace'>,
): Promise<AppDeployment | undefined> {
  if (named !== undefined) return undefined;
  return undefinedIfHidden(() => kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }));
}

/** Why a new record cannot begin with the backup that it asks for. */
export async function restoreFindings(
  caller: Caller,
  record: AppDeployment,
  settings: Pick<Settings, 'database'>,
): Promise<FieldError[]> {
  const { restore, driver = settings.database.driver } = record.spec.sourceConfig.database ?? {};
  if (restore === undefined || restore.archive === true) return [];
  const origin = await restoreOrigin(caller, record, restore);
  const other = otherDriver(restore.from, origin?.status?.databaseDriver, driver);
  const at = ['body', 'source_config', 'database'];
  if (other !== undefined)
    return [{ loc: [...at, 'driver'], msg: `does not fit the backup. ${other}`, type: 'value_error' }];
  const postgresVersion = origin && offeredVersion(origin, driver);
  const chosen = listedBackup(origin?.status?.databaseBackups, { ...restore, postgresVersion, ofAllLives: true });
  if (!('refused' in chosen)) return [];
  const field = (['backup', 'at'] as const).find((one) => restore[one] !== undefined) ?? 'from';
  return [{ loc: [...at, 'restore', field], msg: `cannot be loaded. ${chosen.refused}`, type: 'value_error' }];
}
