// Rules of a request's database beyond its size.

import type { FieldError } from '../../lib/http/http-error.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatabaseDriver } from '../../schema/database.ts';
import { driverFixedMessage } from '../record/database-driver.ts';

/** A driver that cannot change because there is data. `before`: the record. */
export function* otherDriver(
  { metadata: { name }, spec, status }: AppDeployment,
  asked: DatabaseDriver | undefined,
): Generator<FieldError> {
  if (asked === undefined || asked === spec.sourceConfig.database?.driver) return;
  const has = status?.databaseDriver ?? 'pod';
  if (asked === has || status?.databaseVolumeUid === undefined) return;
  yield {
    loc: ['source_config', 'database', 'driver'],
    msg: driverFixedMessage(name, has, asked),
    type: 'frozen_field',
  };
}
