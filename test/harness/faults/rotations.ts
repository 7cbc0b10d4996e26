// What a cluster changes under a process that runs on: its token, and the authority that signs for the API server. The
// old one stops being good a little before the new one is in its file.

import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE } from '../../support/platform.ts';
import type { Fault } from './fault.ts';
import type { Proxy } from './proxy.ts';

/** Longer than a kubelet leaves between the two: it swaps a token when a fifth of its life is left. */
const LATE_MS = 300;

export interface Keys {
  readonly tokenFile: string;
  readonly caFile: string;
}

/** Begins the rotation that the fault asks for when its phase begins. */
export async function rotateAt(phase: string, fault: Fault, proxy: Proxy, keys: Keys, cluster: Cluster): Promise<void> {
  if (fault.kind !== 'token-rotated' && fault.kind !== 'ca-rotated') return;
  if (fault.phase !== phase || proxy.trace.fired) return;
  if (fault.kind === 'ca-rotated') {
    const next = proxy.rotateAuthority();
    await sleep(LATE_MS);
    return writeFile(keys.caFile, next);
  }
  proxy.refuseOldToken();
  const token = await cluster.tokenFor(DAVIT_NAMESPACE, 'davit-controller');
  await sleep(LATE_MS);
  await writeFile(keys.tokenFile, token);
}
