// The Service of the main service, for addresses and other pods of the cluster.

import type { IService } from 'kubernetes-models/v1/Service';
import { SERVICE_PORT } from '../../schema/meta.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import type { Inputs } from './inputs.ts';
import type { Manifest } from './manifest.ts';
import { ownedMeta } from './owner.ts';

export type Service = Manifest<IService>;

export function makeService({ record }: Inputs): Service {
  const { name } = record.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMeta(record, names(name).service, 'server'),
    spec: {
      type: 'ClusterIP',
      selector: selectorLabels(name, 'server'),
      ports: [{ name: 'http', port: SERVICE_PORT, protocol: 'TCP', targetPort: 'http' }],
    },
  };
}
