// The process in front of the API server from which the pods' logs come (log-server.ts), started and ended.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../../cluster/cluster.ts';
import { startArm } from './contender-process.ts';
import type { LogServer } from './log-server.ts';

export interface LogSource {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startLogServer(
  { server, ca, logsDir }: Cluster,
  written: Omit<LogServer, 'server' | 'ca'>,
): Promise<LogSource> {
  let url = '';
  const running = await startArm({
    command: process.execPath,
    args: [join(import.meta.dirname, 'log-server.ts'), JSON.stringify({ server, ca, ...written })],
    env: {},
    log: join(logsDir, 'log-server.log'),
    isReady: (line) => {
      url = line;
      return line.startsWith('http://');
    },
  });
  return { url, stop: running.stop };
}

/** Leads a process of Davit's to `url` with this token. */
export async function kubeconfigFor(url: string, token: string, directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'logs', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'davit', user: { token } }],
    contexts: [{ name: 'logs', context: { cluster: 'logs', user: 'davit' } }],
    'current-context': 'logs',
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
