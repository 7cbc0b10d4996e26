// `--backups`: an S3-compatible store of the demo's own, and a backup of the sample's database in it. The commands that are printed begin
// another deployment with it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import type { NodeImage } from '../cluster/node.ts';
import { BUCKET, startStore } from '../support/backup-store.ts';
import type { Deployment } from './api-calls.ts';
import { type DemoBackups, DemoError } from './demo-cluster.ts';

const SECRET = 'davit-backup-store';
const WITHIN_MS = 180_000;

/** `image`: Davit's, which sends dumps. */
export async function startDemoBackups(
  cluster: Cluster,
  image: NodeImage,
  say: (line: string) => void,
): Promise<DemoBackups> {
  const store = await startStore(cluster, say);
  say(`A store for backups runs at ${store.endpoint}`);
  return {
    values: {
      'settings.backups.image': image.name,
      'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
    },
    async admit(namespace) {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: SECRET, namespace },
        stringData: store.credentials,
      };
      await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(secret) });
    },
    async backUp(namespace, deployment, stopping) {
      const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl([...args, '-n', namespace]);
      const cronJob = `${deployment}---backup`;
      const end = Date.now() + WITHIN_MS;
      const until = async (what: string, look: () => Promise<string>): Promise<string> => {
        while (Date.now() < end) {
          stopping.throwIfAborted();
          const seen = await look().catch(() => '');
          if (seen !== '') return seen;
          await sleep(500);
        }
        const message = '{.status.conditions[?(@.type=="BackupReady")].message}';
        const why = await kubectl('get', 'appd', deployment, '-o', `jsonpath=${message}`).catch(() => '');
        throw new DemoError(`${what} within ${WITHIN_MS / 1000} s: ${why}`);
      };
      await until('There is no schedule of backups', () => kubectl('get', 'cronjob', cronJob, '-o', 'name'));
      await kubectl('create', 'job', `--from=cronjob/${cronJob}`, `${cronJob}-now`);
      const name = 'jsonpath={.status.databaseBackup.name}';
      return until('There is no backup', () => kubectl('get', 'appd', deployment, '-o', name));
    },
  };
}

/** What to type, to see a deployment begin with a backup. */
export function backupCommands({ id }: Deployment, name: string, kubectl: string): string[] {
  return [
    `  ${kubectl} get appd ${name} -o wide   # how old the last backup is`,
    `  curl -s -H "X-Api-Key: $TOKEN" -H 'Content-Type: application/json' "$API/v2/deployments/${id}/clone" -d '{"name":"${name}-2"}'   # another one, which begins with it`,
    `  ${kubectl} get appd ${name}-2 -w`,
    `  ${kubectl} exec ${name}-2--postgres-0 -- psql -U postgres app -c 'select * from items'   # once it is READY: what the demo has written`,
  ];
}
