// The newest generation of a record whose values, except the scale, its newest revision has.

import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { awaitsSource } from './requested.ts';
import { wantedRevisionId } from './wanted-revision.ts';

/**
 * The field of the status. Empty if `latest` was created from the record's generation. While a revision is still to be created, the field
 * keeps its value. `own`: the record's revisions. `latest`: the newest of them.
 */
export function latestRevisionGeneration(
  record: AppDeployment,
  own: readonly AppRevision[],
  latest: AppRevision,
): Pick<AppDeploymentStatus, 'latestRevisionGeneration'> {
  const { generation = 0 } = record.metadata;
  const { id, deploymentGeneration } = latest.spec;
  if (generation <= deploymentGeneration) return {};
  const wanted = wantedRevisionId(record, own);
  // A record that lost its image keeps its revision, whatever else it requests.
  const isAll = wanted?.made === true && wanted.id === id && !awaitsSource(record.spec);
  const before = record.status?.latestRevisionId === id ? record.status.latestRevisionGeneration : undefined;
  const known = isAll ? generation : before;
  return known === undefined ? {} : { latestRevisionGeneration: known };
}
