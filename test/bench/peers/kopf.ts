// The peer in Python, on kopf.

import { join } from 'node:path';
import { ensurePython } from '../../cluster/python.ts';
import { startArm } from '../arm-process.ts';
import type { Arm } from '../measure.ts';

const source = join(import.meta.dirname, 'kopf');

export function kopf({ workers }: { readonly workers: number }): Arm {
  let program = '';
  return {
    name: 'kopf',
    prepare: async (say) => {
      program = await ensurePython('kopf', join(source, 'requirements.txt'), say);
    },
    start: ({ cluster, kubeconfig, childrenFile }) =>
      startArm({
        command: program,
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
