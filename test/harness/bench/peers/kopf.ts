// The peer in Python, on kopf.

import { join } from 'node:path';
import { ensurePython } from '../../../cluster/python.ts';
import { startArm } from '../contender-process.ts';
import type { Arm } from '../measure.ts';
import { builtOnce } from '../once.ts';

const source = join(import.meta.dirname, 'kopf');

const build = builtOnce((say) => ensurePython('kopf', join(source, 'requirements.txt'), say));

export function kopf({ workers }: { readonly workers: number }): Arm {
  return {
    name: 'kopf',
    prepare: async (say) => void (await build(say)),
    start: async ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: await build(() => undefined),
        args: ['run', '--all-namespaces', '--standalone', '--quiet', join(source, 'appdeployments.py')],
        env: {
          KUBECONFIG: kubeconfig,
          CHILDREN: childrenFile,
          WORKERS: String(workers),
          PYTHONPATH: source,
          PYTHONDONTWRITEBYTECODE: '1',
        },
        log: join(cluster.logsDir, 'kopf.log'),
        isReady: (line) => line === 'READY',
      }),
  };
}
