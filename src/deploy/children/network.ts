// NetworkPolicies: only the pods with this record's image can reach PostgreSQL and Redis. If the record says who reaches the server, or
// the platform names the source of external traffic, only those and the record's namespace can.

import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import {
  COMPONENT_LABEL,
  type Component,
  DATABASE_JOBS,
  DEPLOYMENT_LABEL,
  MIGRATION,
  NAMESPACE_NAME_LABEL,
  ROLES,
  TASK,
} from '../../kinds/meta.ts';
import { workerNames } from '../../kinds/worker-parts.ts';
import type { Manifest } from '../../runtime/kube/client.ts';
import { driverOf } from '../record/database-driver.ts';
import { selectorLabels } from '../record/labels.ts';
import { names } from '../record/names.ts';
import { followsDepth } from '../record/scale.ts';
import { backedUp } from './database/backup.ts';
import { restored } from './database/restore.ts';
import { POSTGRES_PORT } from './database/service.ts';
import type { Inputs } from './inputs.ts';
import { ownedMeta } from './owner.ts';
import { REDIS_PORT } from './service.ts';

export type NetworkPolicy = Manifest<INetworkPolicy>;
type IngressRule = NonNullable<NonNullable<INetworkPolicy['spec']>['ingress']>[number];

/** Where the manager of an instance of CloudNativePG answers. */
const INSTANCE_MANAGER_PORT = 8000;

/** One policy for each own store of the revision, and one for the server. Probes run inside the pods and need no rule. */
export function makeNetworkPolicies(inputs: Inputs): NetworkPolicy[] {
  const { resolved } = inputs.revision.spec;
  const { networkPolicies } = names(inputs.record.metadata.name);
  return [
    ...(resolved.postgres ? [makePolicy(inputs, networkPolicies.postgres, 'postgres', POSTGRES_PORT)] : []),
    ...(resolved.redis ? [makePolicy(inputs, networkPolicies.redis, 'redis', REDIS_PORT)] : []),
    ...serverPolicy(inputs),
  ];
}

// A policy denies all sources that it does not allow, so without a record's list or the setting there is no policy.
function serverPolicy({ record, settings }: Inputs): NetworkPolicy[] {
  const { controllerNamespaceLabels: controller, kind } = settings.address;
  const listed = record.spec.sourceConfig.access?.from?.map((name) => ({ [NAMESPACE_NAME_LABEL]: name }));
  const allowed = listed ?? (controller === undefined || kind === 'none' ? undefined : [controller]);
  if (allowed === undefined) return [];
  const from = allowed.map((matchLabels) => ({ namespaceSelector: { matchLabels } }));
  const { name } = record.metadata;
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: ownedMeta(record, names(name).networkPolicies.server, 'server'),
      spec: {
        podSelector: { matchLabels: selectorLabels(name, 'server') },
        policyTypes: ['Ingress'],
        ingress: [
          // A rule without sources would allow all of them.
          ...(from.length > 0 ? [{ from, ports: [{ port: 'http', protocol: 'TCP' as const }] }] : []),
          { from: [{ podSelector: {} }] },
        ],
      },
    },
  ];
}

/**
 * The pods that reach the stores, of whatever revision they are: while another one is rolled out, the active revision's tasks, runs that
 * go on, and a migration need them as before.
 */
const REACHING: readonly string[] = [...ROLES, MIGRATION, TASK];

/** KEDA's operator sends the query of the record. */
function fromKeda({ revision, settings, keda }: Inputs, component: Component, port: number): IngressRule[] {
  if (component !== 'postgres' || !followsDepth(revision.spec, keda)) return [];
  const { namespaceLabels: matchLabels } = settings.keda;
  return [{ from: [{ namespaceSelector: { matchLabels } }], ports: [{ port, protocol: 'TCP' }] }];
}

/** Instances replicate from one another, and CloudNativePG's operator asks each for its state. */
function ofCluster({ record, revision, settings }: Inputs, port: number): IngressRule[] {
  const { postgres } = revision.spec.resolved;
  if (postgres === undefined || driverOf(postgres) !== 'cloudnative-pg') return [];
  const ports = [port, INSTANCE_MANAGER_PORT].map((one) => ({ port: one, protocol: 'TCP' as const }));
  const { operatorNamespaceLabels } = settings.database;
  return [
    { from: [{ podSelector: { matchLabels: selectorLabels(record.metadata.name, 'postgres') } }], ports },
    { from: [{ namespaceSelector: { matchLabels: operatorNamespaceLabels } }], ports },
  ];
}

function makePolicy(inputs: Inputs, policyName: string, component: Component, port: number): NetworkPolicy {
  const { record, revision, otherWorkers = [] } = inputs;
  const { name } = record.metadata;
  const workers = new Set([...workerNames(revision.spec.requested.runtime), ...otherWorkers]);
  const hasJobs = component === 'postgres' && (backedUp(inputs) ?? restored(inputs)) !== undefined;
  const components = [...REACHING, ...(hasJobs ? DATABASE_JOBS : []), ...[...workers].toSorted()];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: ownedMeta(record, policyName, component),
    spec: {
      podSelector: { matchLabels: selectorLabels(name, component) },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              podSelector: {
                matchLabels: { [DEPLOYMENT_LABEL]: name },
                matchExpressions: [{ key: COMPONENT_LABEL, operator: 'In', values: components }],
              },
            },
          ],
          ports: [{ port, protocol: 'TCP' }],
        },
        ...fromKeda(inputs, component, port),
        ...(component === 'postgres' ? ofCluster(inputs, port) : []),
      ],
    },
  };
}
