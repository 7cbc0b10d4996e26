// Davit's own controller, with the settings that the chart gives it.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DAVIT_NAMESPACE } from '../../platform.ts';
import { startArm } from '../arm-process.ts';
import type { Arm, BenchServer, Running } from '../measure.ts';

const main = join(import.meta.dirname, '../../../src/main.ts');

export interface DavitOptions {
  readonly workers: number;
  /** Folder for a CPU profile of the process, written when it is stopped. */
  readonly profileInto?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function davit({ workers, profileInto, env = {} }: DavitOptions): Arm {
  let starts = 0;

  async function start({ cluster, documents, kubeconfig }: BenchServer): Promise<Running> {
    starts += 1;
    const directory = join(cluster.runDir, `davit-${starts}`);
    await mkdir(directory);
    await Promise.all(Object.entries(documents).map(([name, text]) => writeFile(join(directory, name), text)));
    return startArm({
      command: process.execPath,
      args: [...(profileInto === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileInto}`]), main, 'controller'],
      env: {
        DAVIT_KUBECONFIG: kubeconfig,
        DAVIT_SETTINGS: join(directory, 'settings.yaml'),
        DAVIT_REQUIREMENTS: join(directory, 'requirements.yaml'),
        DAVIT_NAMESPACE,
        DAVIT_WORKERS: String(workers),
        DAVIT_HEALTH_PORT: '0',
        ...env,
      },
      log: join(cluster.logsDir, `davit-${starts}.log`),
      isReady: (line) => line.includes('"msg":"Caches listed, reconciling"'),
    });
  }

  return { name: 'davit', start };
}
