// All versions of the pod contract that a stored revision may name. No version is removed or changed: a revision is rendered
// by the makers of its version, so that an upgrade of Davit changes no running pod.

import type { PodContracts } from './contracts/contract.ts';
import { CONTRACT_V2 } from './contracts/v2.ts';
import { CONTRACT_V3 } from './contracts/v3.ts';

export const POD_CONTRACTS: PodContracts = new Map([
  // Its revisions have no token of the API, by which alone the two differed.
  [1, CONTRACT_V2],
  [2, CONTRACT_V2],
  [3, CONTRACT_V3],
]);

/** The version of new revisions. */
export function newestOf(contracts: PodContracts): number {
  return Math.max(...contracts.keys());
}
