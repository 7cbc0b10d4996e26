// The Service of a record's own PostgreSQL.

import type { DatabaseDriver } from '../../../kinds/database.ts';
import { CNPG_CLUSTER_LABEL, CNPG_ROLE_LABEL } from '../../../kinds/meta.ts';
import { databaseNames, databaseNumberOf } from '../../record/database-move.ts';
import { selectorLabels } from '../../record/labels.ts';
import type { Inputs } from '../inputs.ts';
import { ownedMeta } from '../owner.ts';
import type { Service } from '../service.ts';

export const POSTGRES_PORT = 5432;
/** Kubernetes sets it. */
const STATEFUL_SET_POD_LABEL = 'statefulset.kubernetes.io/pod-name';

/**
 * ClusterIP, not headless: without a ready pod a headless name does not exist, and resolvers cache that answer for longer than
 * a restart takes.
 */
export function makePostgresService({ record, revision }: Inputs, driver: DatabaseDriver): Service {
  const { name } = record.metadata;
  const { postgres, postgresService } = databaseNames(record, revision);
  const labels = selectorLabels(name, 'postgres');
  // The pods of the database before may have the same labels.
  const toMoved = { ...labels, [STATEFUL_SET_POD_LABEL]: `${postgres}-0` };
  const toPod = { selector: databaseNumberOf(revision) === 0 ? labels : toMoved, targetPort: 'postgres' };
  // It stays where a replica takes the place of the primary.
  const toPrimary = {
    selector: { [CNPG_CLUSTER_LABEL]: postgres, [CNPG_ROLE_LABEL]: 'primary' },
    targetPort: POSTGRES_PORT,
  };
  const { selector, targetPort } = driver === 'cloudnative-pg' ? toPrimary : toPod;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, postgresService, 'postgres'),
    spec: {
      type: 'ClusterIP',
      selector,
      ports: [{ name: 'postgres', port: POSTGRES_PORT, protocol: 'TCP', targetPort }],
    },
  };
}
