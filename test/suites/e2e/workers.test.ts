// Named workers in real pods: a heartbeat that stops, and a singleton of which two never run.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const withPods = describe.skipIf(davit.node !== 'real');

/** Writes its heartbeat until somebody makes it hang, and takes three seconds to end. */
const WORKER = `
const { existsSync, writeFileSync } = require('node:fs');
setInterval(() => { if (!existsSync('/tmp/hangs')) writeFileSync('/tmp/alive', String(Date.now())); }, 200);
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 3000));
`;
const SERVER = `
require('node:http').createServer((_request, response) => response.end('ok')).listen(Number(process.env.PORT));
process.on('SIGTERM', () => process.exit(0));
`;
const SMALL = { cpu: 0.05, memory_mb: 64, memory_limit_mb: 256 };

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly creationTimestamp: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly restartCount: number;
      readonly state: { readonly running?: object };
    }[];
  };
}

let tenant: Tenant;
let id = '';

async function podsOf(worker: string): Promise<readonly Pod[]> {
  const selector = ['-l', `davit.dev/deployment=team,davit.dev/component=${worker}`];
  const found = await davit.kubectlJson<{ items: readonly Pod[] }>([
    'get',
    'pods',
    '-n',
    tenant.namespace,
    ...selector,
  ]);
  return found.items;
}
function inPod(pod: string, ...command: readonly string[]): Promise<string> {
  return davit.kubectl(['exec', pod, '-n', tenant.namespace, '--', ...command]);
}
async function ready(): Promise<void> {
  await davit.kubectl(['wait', '--for=condition=Ready', 'appd/team', '-n', tenant.namespace, '--timeout=120s']);
}

withPods('workers', () => {
  beforeAll(async () => {
    tenant = await davit.tenant('workers');
    const node = (text: string): readonly string[] => ['node', '-e', text];
    const beat = {
      command: node(WORKER),
      heartbeat_file: '/tmp/alive',
      heartbeat_max_age_seconds: 3,
      health_period_seconds: 1,
      health_failure_threshold: 2,
      ...SMALL,
    };
    const created = await davit.call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', {
      name: 'team',
      source: 'external_docker',
      source_config: {
        resource_spec: { cpu: 0.05, memory_mb: 64 },
        runtime: {
          database: 'none',
          redis: 'none',
          health_path: '/',
          server: { command: node(SERVER) },
          workers: { mailer: { ...beat, health_restart: true }, scheduler: { ...beat, singleton: true } },
        },
      },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    });
    expect([created.status, created.body.detail]).toEqual([201, undefined]);
    id = created.body.id;
    await ready();
  }, 180_000);

  it('are ready by their heartbeat, which the kubelet asks for in the container', async () => {
    for (const worker of ['mailer', 'scheduler']) {
      const [pod] = await podsOf(worker);
      expect(pod?.status.containerStatuses?.map(({ ready: is, restartCount }) => [is, restartCount])).toEqual([
        [true, 0],
      ]);
    }
  });

  it('one that hangs is restarted where the record asks for it, and works again', async () => {
    const [pod] = await podsOf('mailer');
    await inPod(pod?.metadata.name ?? '', 'touch', '/tmp/hangs');
    await eventually(async () => {
      const [now] = await podsOf('mailer');
      expect(now?.metadata.uid).toBe(pod?.metadata.uid);
      expect(now?.status.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true });
    }, 90_000);
  }, 120_000);

  it('one that hangs and is not restarted is not ready, and the status says which file is old', async () => {
    const [pod] = await podsOf('scheduler');
    await inPod(pod?.metadata.name ?? '', 'touch', '/tmp/hangs');
    await eventually(async () => {
      const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${id}`);
      expect(body.status_message).toContain('Waiting for its pods to write /tmp/alive (at least every 3 s)');
    }, 60_000);
    await inPod(pod?.metadata.name ?? '', 'rm', '/tmp/hangs');
    await ready();
  }, 120_000);

  it('two of a singleton never run, neither in a rollout nor when somebody deletes its pod', async () => {
    const [before] = await podsOf('scheduler');
    const counts: number[] = [];
    const count = async (): Promise<readonly Pod[]> => {
      const pods = await podsOf('scheduler');
      counts.push(pods.length);
      return pods;
    };
    const untilAnother = (than: string | undefined): Promise<Pod> =>
      eventually(async () => {
        const [pod] = await count();
        expect([pod?.metadata.uid === than, pod?.status.containerStatuses?.[0]?.ready]).toEqual([false, true]);
        return pod as Pod;
      }, 60_000);
    await davit.kubectl(['delete', 'pod', before?.metadata.name ?? '', '-n', tenant.namespace, '--wait=false']);
    const second = await untilAnother(before?.metadata.uid);
    await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, {
      source_config: { runtime: { workers: { scheduler: { cpu: 0.06 } } } },
    });
    await untilAnother(second.metadata.uid);
    expect(Math.max(...counts)).toBe(1);
    // It was seen while the old one took its time, and there was no other.
    expect(counts.length).toBeGreaterThan(10);
  }, 180_000);
});
