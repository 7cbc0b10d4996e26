// The Services of the main service, for addresses and other pods of the cluster, and of a record's own Redis.

import type { IService } from 'kubernetes-models/v1/Service';
import { SERVICE_PORT } from '../../kinds/meta.ts';
import type { Manifest } from '../../runtime/kube/client.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import type { Inputs } from './inputs.ts';
import { ownedMeta } from './owner.ts';

export type Service = Manifest<IService>;

export const REDIS_PORT = 6379;

export function makeService(inputs: Inputs): Service {
  return serviceOf(inputs, 'service', 'server', { name: 'http', port: SERVICE_PORT });
}

/** ClusterIP: see the Service of PostgreSQL. */
export function makeRedisService(inputs: Inputs): Service {
  return serviceOf(inputs, 'redisService', 'redis', { name: 'redis', port: REDIS_PORT });
}

function serviceOf(
  { record }: Inputs,
  which: 'service' | 'redisService',
  component: 'server' | 'redis',
  port: { readonly name: string; readonly port: number },
): Service {
  const { name } = record.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, names(name)[which], component),
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels(name, component),
      ports: [{ ...port, protocol: 'TCP', targetPort: port.name }],
    },
  };
}
