// Every version of the pod contract that a stored revision may name. None is ever taken out or changed: a revision is
// rendered by the makers of its own version, so that an upgrade of Davit changes no pod that runs.

import type { PodContracts } from './contracts/contract.ts';
import { CONTRACT_V1 } from './contracts/v1.ts';

export const POD_CONTRACTS: PodContracts = new Map([[1, CONTRACT_V1]]);

/** The version that new revisions get. */
export function newestOf(contracts: PodContracts): number {
  return Math.max(...contracts.keys());
}
