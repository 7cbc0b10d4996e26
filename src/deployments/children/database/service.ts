// The Service of a record's own PostgreSQL.

import type { DatabaseDriver } from '../../../schema/database.ts';
import { CNPG_CLUSTER_LABEL, CNPG_ROLE_LABEL } from '../../../schema/meta.ts';
import { selectorLabels } from '../../record/labels.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import { ownedMeta } from '../owner.ts';
import type { Service } from '../service.ts';

export const POSTGRES_PORT = 5432;

/**
 * ClusterIP, not headless: without a ready pod a headless name does not exist, and resolvers cache that answer for longer than
 * a restart takes.
 */
export function makePostgresService({ record }: Inputs, driver: DatabaseDriver): Service {
  const { name } = record.metadata;
  const { postgres } = names(name);
  const toPod = { selector: selectorLabels(name, 'postgres'), targetPort: 'postgres' };
  // It stays where a replica takes the place of the primary.
  const toPrimary = {
    selector: { [CNPG_CLUSTER_LABEL]: postgres, [CNPG_ROLE_LABEL]: 'primary' },
    targetPort: POSTGRES_PORT,
  };
  const { selector, targetPort } = driver === 'cloudnative-pg' ? toPrimary : toPod;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, names(name).postgresService, 'postgres'),
    spec: {
      type: 'ClusterIP',
      selector,
      ports: [{ name: 'postgres', port: POSTGRES_PORT, protocol: 'TCP', targetPort }],
    },
  };
}
