// The peer in Go, on controller-runtime: how most operators are written.

import { join } from 'node:path';
import { ensureProgram } from '../../cluster/tools.ts';
import { startArm } from '../arm-process.ts';
import type { Arm } from '../measure.ts';

export function controllerRuntime({ workers }: { readonly workers: number }): Arm {
  let folder = '';
  return {
    name: 'controller-runtime',
    prepare: async (say) => {
      folder = await ensureProgram('bench-controller-runtime', join(import.meta.dirname, 'controller-runtime'), say);
    },
    start: ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: join(folder, 'controller-runtime'),
        args: [`--kubeconfig=${kubeconfig}`, `--children=${childrenFile}`, `--workers=${workers}`],
        env: {},
        log: join(cluster.logsDir, 'controller-runtime.log'),
        isReady: (line) => line === 'READY',
      }),
  };
}
