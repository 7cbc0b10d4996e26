// Version 3 of the pod contract: the application is no superuser of a new PostgreSQL in one pod. All other pods are those of version 2.
// Frozen, as test/golden/contract-3 holds it.

import { makeOwnedPostgres } from '../database/owned-stateful-set.ts';
import type { PodContract } from './contract.ts';
import { CONTRACT_V2 } from './v2.ts';

export const CONTRACT_V3: PodContract = { ...CONTRACT_V2, postgres: makeOwnedPostgres };
