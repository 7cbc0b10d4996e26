// The table of contents: every child that a record should have, made from its newest revision.

import type { KubeObject } from '../kube/client.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { imageOf } from '../record/revision-image.ts';
import { makeAutoscalers } from './autoscaler.ts';
import type { PodContract, PodContracts } from './contracts/contract.ts';
import { POD_CONTRACTS } from './contracts.ts';
import { makePostgresService } from './database/service.ts';
import { makeVolumeClaim } from './database/volume-claim.ts';
import { makeDisruptionBudgets } from './disruption-budget.ts';
import type { Inputs } from './inputs.ts';
import { makeNetworkPolicies } from './network.ts';
import { makeRedisService } from './redis/service.ts';
import { makeAddress } from './routing.ts';
import { makeService } from './service.ts';

/**
 * All children that are applied, in the order of a first start; the password Secrets, made once, are not among them
 * (secrets.ts), nor are what belongs to no revision (AppRevision, TracingProject). Without an image only database and
 * Redis. Scaled to zero, database and Redis stay: their data and the way back are worth more than their pods. None for
 * a record that a listener's cluster looks after. Throws for a revision of a contract that is not among `contracts`:
 * there is nothing that its pods could be made by (decide/assess/pod-contract.ts).
 */
export function desiredChildren(inputs: Inputs, contracts: PodContracts = POD_CONTRACTS): KubeObject[] {
  if (!runsHere(inputs.record)) return [];
  const version = inputs.revision.spec.resolved.contract;
  const contract = contracts.get(version);
  if (contract === undefined) throw new Error(`make the children: unknown pod contract ${version}`);
  return [
    ...makeNetworkPolicies(inputs),
    ...databaseChildren(inputs, contract),
    ...redisChildren(inputs, contract),
    ...workloadChildren(inputs, contract),
  ];
}

function databaseChildren(inputs: Inputs, contract: PodContract): KubeObject[] {
  const { postgres } = inputs.revision.spec.resolved;
  if (postgres === undefined) return [];
  return [makePostgresService(inputs), makeVolumeClaim(inputs, postgres), contract.postgres(inputs, postgres)];
}

function redisChildren(inputs: Inputs, contract: PodContract): KubeObject[] {
  const { redis } = inputs.revision.spec.resolved;
  return redis === undefined ? [] : [makeRedisService(inputs), contract.redis(inputs, redis)];
}

function workloadChildren(inputs: Inputs, { workload }: PodContract): KubeObject[] {
  const { server, queue, orchestrator, executor } = inputs.revision.spec.resolved;
  const image = imageOf(inputs.revision);
  if (image === undefined) return [];
  const { record, settings, host } = inputs;
  const address = host === undefined ? undefined : makeAddress(record, host, settings.address);
  return [
    makeService(inputs),
    ...(address ? [address] : []),
    workload(inputs, 'server', server, image),
    ...(queue ? [workload(inputs, 'queue', queue, image)] : []),
    ...(orchestrator ? [workload(inputs, 'orchestrator', orchestrator, image)] : []),
    ...(executor ? [workload(inputs, 'executor', executor, image)] : []),
    ...makeAutoscalers(inputs),
    ...makeDisruptionBudgets(inputs),
  ];
}
