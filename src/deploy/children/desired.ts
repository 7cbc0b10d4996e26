// The table of contents: all children that a record should have, rendered from its newest revision.

import { STORE_REVISION_ANNOTATION, type StorePart } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { driverOf } from '../record/database-driver.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { partsOf, sizeOf } from '../record/parts.ts';
import { imageOf } from '../record/revision-image.ts';
import { storeIdOf } from '../record/shared-pods.ts';
import { makeAutoscalers, makeDisruptionBudgets, makeQueueDepth } from './autoscaler.ts';
import type { PodContract, PodContracts } from './contracts/contract.ts';
import { POD_CONTRACTS } from './contracts.ts';
import { makeBackup } from './database/backup.ts';
import { makePostgresService } from './database/service.ts';
import { makeVerification } from './database/verification.ts';
import { makeVolumeClaim } from './database/volume-claim.ts';
import { makeObjectStores, makeScheduledBackup } from './database/wal-archive.ts';
import type { Inputs } from './inputs.ts';
import { makeNetworkPolicies } from './network.ts';
import { makeAddress } from './routing.ts';
import { makeRedisService, makeService } from './service.ts';

/**
 * All children that are applied, in the order of a first start, without the password Secrets, which are created once
 * (secrets.ts), and without objects that belong to no revision (AppRevision, TracingProject). Without an image only database
 * and Redis. If scaled to zero, database and Redis stay, because of their data and a faster start. None for a record that a
 * listener's cluster runs. Throws for a revision whose contract is not in `contracts` (deploy/ensure-revision.ts).
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

/** The Job that migrates for a revision that asks for it and has an image. It is created once and never changed. */
export function migrationJob(inputs: Inputs, contracts: PodContracts = POD_CONTRACTS): KubeObject | undefined {
  const { requested, resolved } = inputs.revision.spec;
  const migrate = requested.runtime?.migrate;
  const image = imageOf(inputs.revision);
  if (!migrate || image === undefined) return undefined;
  return contracts.get(resolved.contract)?.migration(inputs, migrate, image);
}

/** The CronJobs of the tasks with a schedule, of a revision that is active. */
export function taskChildren(inputs: Inputs, contracts: PodContracts = POD_CONTRACTS): KubeObject[] {
  const { requested, resolved } = inputs.revision.spec;
  const contract = contracts.get(resolved.contract);
  const image = imageOf(inputs.revision);
  if (contract === undefined || image === undefined) return [];
  return (requested.tasks ?? []).flatMap((task) =>
    task.schedule === undefined ? [] : [contract.task(inputs, task, task.schedule, image)],
  );
}

/** The schedules of the backups, of their verifications and of the archive's base backups, of the revision whose database runs. */
export function backupChildren(inputs: Inputs): KubeObject[] {
  return [makeBackup(inputs), makeVerification(inputs), makeScheduledBackup(inputs)].filter((one) => one !== undefined);
}

function databaseChildren(inputs: Inputs, contract: PodContract): KubeObject[] {
  const { postgres } = inputs.revision.spec.resolved;
  if (postgres === undefined) return [];
  const driver = driverOf(postgres);
  const service = makePostgresService(inputs, driver);
  if (driver === 'cloudnative-pg') {
    const cluster = inputs.awaitsArchive === true ? [] : [contract.cluster(inputs, postgres)];
    return [service, ...makeObjectStores(inputs), ...cluster.map((one) => marked(one, 'postgres', inputs))];
  }
  return [service, makeVolumeClaim(inputs, postgres), marked(contract.postgres(inputs, postgres), 'postgres', inputs)];
}

function redisChildren(inputs: Inputs, contract: PodContract): KubeObject[] {
  const { redis } = inputs.revision.spec.resolved;
  return redis === undefined ? [] : [makeRedisService(inputs), marked(contract.redis(inputs, redis), 'redis', inputs)];
}

/** A store with the id of the revision that changed it last, on the workload: its pods do not have it, and are not replaced by it. */
function marked(set: KubeObject, part: StorePart, { revision }: Inputs): KubeObject {
  const id = storeIdOf(revision, part);
  if (id === undefined) return set;
  const annotations = { ...set.metadata.annotations, [STORE_REVISION_ANNOTATION]: id };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

function workloadChildren(inputs: Inputs, { workload }: PodContract): KubeObject[] {
  const { resolved } = inputs.revision.spec;
  const image = imageOf(inputs.revision);
  if (image === undefined) return [];
  const { record, settings, host } = inputs;
  const address = host === undefined ? undefined : makeAddress(record, host, settings.address);
  return [
    makeService(inputs),
    ...(address ? [address] : []),
    ...partsOf(resolved).flatMap((part) => {
      const size = sizeOf(resolved, part);
      return size ? [workload(inputs, part, size, image)] : [];
    }),
    ...makeAutoscalers(inputs),
    ...makeQueueDepth(inputs),
    ...makeDisruptionBudgets(inputs),
  ];
}
