// The Service of a record's own Redis.

import { selectorLabels } from '../../record/labels.ts';
import { names } from '../../record/names.ts';
import type { Inputs } from '../inputs.ts';
import { ownedMeta } from '../owner.ts';
import type { Service } from '../service.ts';

export const REDIS_PORT = 6379;

/** ClusterIP: see the Service of PostgreSQL. */
export function makeRedisService({ record }: Inputs): Service {
  const { name } = record.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, names(name).redisService, 'redis'),
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels(name, 'redis'),
      ports: [{ name: 'redis', port: REDIS_PORT, protocol: 'TCP', targetPort: 'redis' }],
    },
  };
}
