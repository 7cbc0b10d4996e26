// The Service of a record's own PostgreSQL.

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
export function makePostgresService({ record }: Inputs): Service {
  const { name } = record.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, names(name).postgresService, 'postgres'),
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels(name, 'postgres'),
      ports: [{ name: 'postgres', port: POSTGRES_PORT, protocol: 'TCP', targetPort: 'postgres' }],
    },
  };
}
