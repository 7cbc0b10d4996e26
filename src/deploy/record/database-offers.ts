// What the platform has for the next database of a record: the controller says it in the status, because a tenant cannot read the
// settings, and the plugin reads it there before it stops anything. Imports no zod at run time.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { DatabaseDriver, DatabaseOffer } from '../../kinds/database.ts';
import type { Settings } from '../../kinds/settings.ts';
import { majorVersion } from './image.ts';

/** `hasCloudNativePg`: whether the cluster has its kinds, and the platform uses them. */
export function databaseOffers({ images }: Settings, hasCloudNativePg: boolean): readonly DatabaseOffer[] {
  return [
    offerOf('pod', images.postgres),
    ...(hasCloudNativePg ? [offerOf('cloudnative-pg', images.cloudNativePg)] : []),
  ];
}

function offerOf(driver: DatabaseDriver, image: string): DatabaseOffer {
  const postgresVersion = majorVersion(image);
  return { driver, ...(postgresVersion !== undefined && { postgresVersion }) };
}

/** Major version of PostgreSQL that the next database of a record would have. Undefined where it is not known. */
export function offeredVersion({ status }: AppDeployment, driver: DatabaseDriver): number | undefined {
  return status?.databaseDrivers?.find((one) => one.driver === driver)?.postgresVersion;
}

const NOT_OFFERED: Readonly<Record<DatabaseDriver, string>> = {
  pod: 'This platform has no databases with driver pod.',
  'cloudnative-pg':
    'This platform has no CloudNativePG. Ask the platform team to install it (settings.database.cloudNativePg.enabled must not be false). Other drivers: kubectl davit platform.',
};

/** Why no database can be moved there; undefined if one can. `from`: major version of the present one, undefined where it is not known. */
export function whyNotOffered(
  offers: readonly DatabaseOffer[],
  driver: DatabaseDriver,
  from: number | undefined,
): string | undefined {
  const offer = offers.find((one) => one.driver === driver);
  if (!offer) return NOT_OFFERED[driver];
  const { postgresVersion: to } = offer;
  // A backup is loaded into the same major version or a newer one.
  return from !== undefined && to !== undefined && to < from
    ? `It is PostgreSQL ${from}, but with driver ${driver} this platform has PostgreSQL ${to}.`
    : undefined;
}
