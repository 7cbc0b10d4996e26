// Which generations of a record its newest revision has all values of: the generation that it was made of, and those after it that need
// no new revision, as changes of the scale do.

import type { AppDeployment, AppDeploymentStatus } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { awaitsSource, wantedRevisionId } from './wanted-revision.ts';

/**
 * The newest such generation as a field of the status; nothing where it is the one that `latest` was made of. A generation whose revision
 * is still to be made leaves it as it was. `own`: the record's revisions. `latest`: the newest of them.
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
  // A record that lost its image keeps its revision, whatever else it asks for.
  const isAll = wanted?.made === true && wanted.id === id && !awaitsSource(record.spec);
  const before = record.status?.latestRevisionId === id ? record.status.latestRevisionGeneration : undefined;
  const known = isAll ? generation : before;
  return known === undefined ? {} : { latestRevisionGeneration: known };
}
