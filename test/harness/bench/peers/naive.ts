// The peer in TypeScript without a runtime of its own: @kubernetes/client-node's informer and generated calls.

import { join } from 'node:path';
import { startArm } from '../contender-process.ts';
import type { Arm } from '../measure.ts';

export function naive({ workers }: { readonly workers: number }): Arm {
  return {
    name: 'naive',
    start: ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: process.execPath,
        args: [join(import.meta.dirname, 'naive/main.ts')],
        env: { KUBECONFIG: kubeconfig, CHILDREN: childrenFile, WORKERS: String(workers) },
        log: join(cluster.logsDir, 'naive.log'),
        isReady: (line) => line === 'READY',
      }),
  };
}
