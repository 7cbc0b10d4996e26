// The peer in Go, on controller-runtime: how most operators are written.

import { join } from 'node:path';
import { ensureProgram } from '../../../cluster/tools.ts';
import { startArm } from '../contender-process.ts';
import type { Arm } from '../measure.ts';
import { builtOnce } from '../once.ts';

const build = builtOnce((say) =>
  ensureProgram('bench-controller-runtime', join(import.meta.dirname, 'controller-runtime'), say),
);

export function controllerRuntime({ workers }: { readonly workers: number }): Arm {
  return {
    name: 'controller-runtime',
    prepare: async (say) => void (await build(say)),
    start: async ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: join(await build(() => undefined), 'controller-runtime'),
        args: [`--kubeconfig=${kubeconfig}`, `--children=${childrenFile}`, `--workers=${workers}`],
        env: {},
        log: join(cluster.logsDir, 'controller-runtime.log'),
        isReady: (line) => line === 'READY',
      }),
  };
}
