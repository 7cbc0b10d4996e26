// What a tenant's deployments of the sample are asked for and say, in real pods.

import type { Tenant } from '../../support/platform.ts';
import type { Attached } from '../../support/running-davit.ts';

export const WORKERS = { queue_cpu: 0.1, queue_memory_mb: 128 };
export const SMALL = {
  cpu: 0.2,
  memory_mb: 256,
  db_cpu: 0.2,
  db_memory_mb: 256,
  db_storage_gi: 1,
  redis_cpu: 0.1,
  redis_memory_mb: 64,
};

export interface Shop {
  /** Of a deployment of the sample. */
  payload(name: string, more?: object, sizes?: object): object;
  ready(name: string): Promise<void>;
  urlOf(name: string): Promise<string>;
  condition(name: string, type: string): Promise<Condition | undefined>;
}

interface Condition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

export function makeShop(davit: Attached, { namespace }: Tenant): Shop {
  return {
    payload: (name, more = {}, sizes = {}) => ({
      name,
      source: 'external_docker',
      source_config: { resource_spec: { ...SMALL, ...sizes } },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
      ...more,
    }),
    async ready(name) {
      await davit.kubectl(['wait', '--for=condition=Ready', `appd/${name}`, '-n', namespace, '--timeout=180s']);
    },
    async urlOf(name) {
      const address = ['get', 'service', name, '-n', namespace, '-o', 'jsonpath={.spec.clusterIP}'];
      return `http://${(await davit.kubectl(address)).trim()}`;
    },
    async condition(name, type) {
      const { status } = await davit.kubectlJson<{ status?: { conditions?: readonly Condition[] } }>([
        'get',
        'appd',
        name,
        '-n',
        namespace,
      ]);
      return status?.conditions?.find((one) => one.type === type);
    },
  };
}

/** Asks again and again, and keeps what was no 200. */
export function watchService(url: string): { readonly failures: string[]; stop(): Promise<void> } {
  const failures: string[] = [];
  let asking = true;
  async function askAgain(): Promise<void> {
    while (asking) {
      const answer = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5000) }).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      );
      if (answer !== '200') failures.push(answer);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const asked = askAgain();
  return {
    failures,
    stop: () => {
      asking = false;
      return asked;
    },
  };
}
