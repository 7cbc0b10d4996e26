// The table of contents: every child that a record should have, made from its newest revision.

import type { KubeObject } from '../kube/client.ts';
import { makeAddress } from './address.ts';
import { makeAutoscalers } from './autoscaler.ts';
import { makePostgresService } from './database/service.ts';
import { makePostgresStatefulSet } from './database/stateful-set.ts';
import { makeVolumeClaim } from './database/volume-claim.ts';
import { makeDisruptionBudgets } from './disruption-budget.ts';
import type { Inputs } from './inputs.ts';
import { makeNetworkPolicies } from './network.ts';
import { makeRedisService } from './redis/service.ts';
import { makeRedisStatefulSet } from './redis/stateful-set.ts';
import { makeService } from './service.ts';
import { makeWorkload } from './workload.ts';

/**
 * All children that are applied, in the order of a first start; the password Secrets, made once, are not among them
 * (secrets.ts), nor are what belongs to no revision (AppRevision, TracingProject). Without an image only database and
 * Redis. Scaled to zero, database and Redis stay: their data and the way back are worth more than their pods. None for
 * a record that a listener's cluster looks after.
 */
export function desiredChildren(inputs: Inputs): KubeObject[] {
  if (inputs.record.spec.sourceConfig.listenerId !== undefined) return [];
  return [
    ...makeNetworkPolicies(inputs),
    ...databaseChildren(inputs),
    ...redisChildren(inputs),
    ...workloadChildren(inputs),
  ];
}

function databaseChildren(inputs: Inputs): KubeObject[] {
  const { postgres } = inputs.revision.spec.resolved;
  if (postgres === undefined) return [];
  return [makePostgresService(inputs), makeVolumeClaim(inputs, postgres), makePostgresStatefulSet(inputs, postgres)];
}

function redisChildren(inputs: Inputs): KubeObject[] {
  const { redis } = inputs.revision.spec.resolved;
  return redis === undefined ? [] : [makeRedisService(inputs), makeRedisStatefulSet(inputs, redis)];
}

function workloadChildren(inputs: Inputs): KubeObject[] {
  const { image, server, queue, orchestrator, executor } = inputs.revision.spec.resolved;
  if (image === undefined) return [];
  const { record, settings, host } = inputs;
  const address = host === undefined ? undefined : makeAddress(record, host, settings.address);
  return [
    makeService(inputs),
    ...(address ? [address] : []),
    makeWorkload(inputs, 'server', server, image),
    ...(queue ? [makeWorkload(inputs, 'queue', queue, image)] : []),
    ...(orchestrator ? [makeWorkload(inputs, 'orchestrator', orchestrator, image)] : []),
    ...(executor ? [makeWorkload(inputs, 'executor', executor, image)] : []),
    ...makeAutoscalers(inputs),
    ...makeDisruptionBudgets(inputs),
  ];
}
