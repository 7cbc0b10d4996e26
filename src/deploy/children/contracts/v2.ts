// Version 2 of the pod contract. Frozen: test/golden/contract-2 holds its output byte for byte. Later versions are separate
// files; this one is not changed.

import { makePostgresCluster } from '../database/cluster.ts';
import { makePostgresStatefulSet } from '../database/stateful-set.ts';
import { envFor } from '../env.ts';
import { probesFor } from '../probes.ts';
import { makeRedisStatefulSet } from '../redis/stateful-set.ts';
import { makeMigration, makeTask } from '../task.ts';
import { WAIT_FOR_DATABASE_SCRIPT, WAIT_FOR_REDIS_SCRIPT } from '../wait-scripts.ts';
import { makeWorkload } from '../workload.ts';
import type { PodContract, PodParts } from './contract.ts';

export const PARTS_V2: PodParts = {
  waitScripts: { database: WAIT_FOR_DATABASE_SCRIPT, redis: WAIT_FOR_REDIS_SCRIPT },
  env: envFor,
  probes: probesFor,
};

export const CONTRACT_V2: PodContract = {
  workload: (inputs, role, size, image) => makeWorkload(inputs, role, size, image, PARTS_V2),
  migration: (inputs, migrate, image) => makeMigration(inputs, migrate, image, PARTS_V2),
  task: (inputs, task, schedule, image) => makeTask(inputs, task, schedule, image, PARTS_V2),
  postgres: makePostgresStatefulSet,
  cluster: makePostgresCluster,
  redis: makeRedisStatefulSet,
};
