// The fills that P1 and P2 are taken from: every arm that one of them needs, against all others.

import { compare } from './compare.ts';
import { davit } from './contenders/davit.ts';
import { replay } from './contenders/replay.ts';
import type { Filled } from './fill.ts';
import type { Arm, Bench } from './measure.ts';
import { oncePerBench } from './once.ts';
import { checkPeer } from './peers/check.ts';
import { controllerRuntime } from './peers/controller-runtime.ts';

/** By arm, one entry a repeat. */
export type Fills = ReadonlyMap<string, readonly Filled[]>;

/** Davit's, the floor's if P1 is taken, and controller-runtime's if P2 is. */
export const fillsOf = oncePerBench(fillAll);

async function fillAll(bench: Bench): Promise<Fills> {
  const { workers, records, repeats, taken } = bench;
  const arms: Arm[] = [davit(bench)];
  if (taken.has('P1')) arms.push(replay(bench));
  if (taken.has('P2')) {
    const peer = controllerRuntime({ workers });
    await checkPeer(bench, peer);
    arms.push(peer);
  }
  return compare(bench, { arms, records, repeats });
}
