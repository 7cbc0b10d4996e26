// What a platform says of placement, as a real API server takes it: nothing of it is dropped, neither by the schema of
// revisions nor by that of workloads. Dry runs: the platform of these tests says nothing of placement, and lists nothing that records may
// choose.

import { beforeAll, expect, inject, it } from 'vitest';
import { makeRevision } from '../../../src/deploy/children/app-revision.ts';
import { desiredChildren, taskChildren } from '../../../src/deploy/children/desired.ts';
import { hasDrifted } from '../../../src/deploy/plan/drift.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { COMPONENTS } from '../../../src/kinds/meta.ts';
import type { Runtime } from '../../../src/kinds/runtime.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import type { Task } from '../../../src/kinds/tasks.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aRecord } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('placement');
});

const placed = {
  nodeSelector: { pool: 'apps' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'apps', effect: 'NoExecute', tolerationSeconds: 60 }],
  topologySpread: [{ topologyKey: 'topology.kubernetes.io/zone', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule' }],
  priorityClassName: 'apps',
};
const settings = Settings.parse({
  images: { registry: 'mirror.example/hub', pullSecrets: ['hub'] },
  placement: Object.fromEntries(COMPONENTS.map((part) => [part, placed])),
});

/** As the API server would keep it, made by the controller: nobody else may make revisions. */
async function asTaken<T extends KubeObject>(object: T): Promise<T> {
  const { uid: _uid, ...metadata } = object.metadata;
  const controller = '--as=system:serviceaccount:davit-system:davit-controller';
  const dryRun = ['create', '--dry-run=server', '-f', '-', '-o', 'json', controller];
  return JSON.parse(await davit.kubectl(dryRun, { ...object, metadata })) as T;
}

it.each<[name: string, runtime: Runtime]>([
  ['a placement', {}],
  [
    'a health check of a worker, and a scheme of the database',
    {
      queue: { heartbeatFile: '/tmp/alive', heartbeatMaxAgeSeconds: 30, healthRestart: true },
      executor: {
        healthCommand: ['ping'],
        healthPeriodSeconds: 30,
        healthTimeoutSeconds: 20,
        healthFailureThreshold: 5,
      },
      postgresUriScheme: 'postgresql+asyncpg',
      envNames: { DATABASE_URL: 'postgres_uri' },
    },
  ],
  [
    'a choice of placement',
    {
      queue: {
        placement: {
          nodeSelector: { pool: 'gpu' },
          tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
          hostUsers: false,
          resources: { 'nvidia.com/gpu': 1, 'ephemeral-storage': '10Gi' },
        },
      },
      workers: { embed: { command: ['embed'], placement: { runtimeClassName: 'nvidia' } } },
    },
  ],
])('%s is complete in a revision, and in all its workloads', async (_name, runtime) => {
  const resourceSpec = { maxScale: 3, minScale: 2, queueCpu: 1, orchestratorCpu: 1, executorCpu: 1 };
  const tasks: Task[] = [
    { name: 'clean', schedule: '@every 2h', timeZone: 'Europe/Berlin', command: ['clean'], concurrency: 'replace' },
    { name: 'report', schedule: '*/5 0-6,22 * JAN-mar mon-fri', command: ['report'], timeoutSeconds: 60 },
  ];
  const plain = aRecord({ sourceConfig: { resourceSpec, runtime, tasks } });
  const record: AppDeployment = { ...plain, metadata: { ...plain.metadata, namespace: tenant.namespace } };
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = await asTaken(makeRevision(record, wanted.create));
  expect(revision.spec.resolved).toEqual(wanted.create.resolved);
  const inputs = { record, revision, tenantId: tenant.id, settings };
  const scheduled = taskChildren(inputs);
  expect(scheduled).toHaveLength(2);
  const children = [...desiredChildren(inputs), ...scheduled];
  expect(children.length).toBeGreaterThan(12);
  const taken = await Promise.all(children.map(asTaken));
  const other = children.filter((child, index) => hasDrifted(child, taken[index]));
  expect(other.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
});

it('a record that chooses what the platform does not list says so, and cpu is no other resource', async () => {
  const record = (placement: object): object => ({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'placed', namespace: tenant.namespace },
    spec: {
      source: 'external_docker',
      sourceConfig: { runtime: { server: { placement } } },
      sourceRevisionConfig: { imageUri: 'registry.example/shop:1' },
    },
  });
  const apply = ['apply', '-f', '-'];
  await expect(davit.kubectl(apply, record({ resources: { cpu: 1 } }))).rejects.toThrow('cpu and memory are sizes');
  await expect(davit.kubectl(apply, record({ hostUsers: true }))).rejects.toThrow('hostUsers');
  await davit.kubectl(apply, record({ runtimeClassName: 'gvisor' }));
  const wait = ['wait', 'appd', 'placed', '-n', tenant.namespace, '--timeout=60s'];
  await davit.kubectl([
    ...wait,
    '--for=jsonpath={.status.conditions[?(@.type=="PolicyAccepted")].reason}=PlacementNotAllowed',
  ]);
});
