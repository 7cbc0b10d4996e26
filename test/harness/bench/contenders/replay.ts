// The floor: the writes that are left of a fill, sent by a plain concurrent client that reads nothing, decides nothing
// and looks at no answer but its status. No operator can be faster than the server lets this be.

import { join } from 'node:path';
import { startArm } from '../contender-process.ts';
import type { Arm } from '../measure.ts';

export interface ReplayOptions {
  /** Records at once; the children of each go out together. */
  readonly workers: number;
}

export function replay({ workers }: ReplayOptions): Arm {
  return {
    name: 'replay',
    start: ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: process.execPath,
        args: [join(import.meta.dirname, 'replay/main.ts')],
        env: { KUBECONFIG: kubeconfig, CHILDREN: childrenFile, WORKERS: String(workers) },
        log: join(cluster.logsDir, 'replay.log'),
        isReady: (line) => line === 'READY',
      }),
  };
}
