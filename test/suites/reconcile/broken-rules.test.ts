// A record that breaks a rule of the platform: no revision follows from it, and what serves is looked after, unless its pods break the
// rule as well.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, edit, putSecret, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const LIMITED = Settings.parse({ limits: { cpu: 2, scale: 5 } });
const RESTRICTED = Settings.parse({ pods: { policy: 'restricted' }, limits: { cpu: 2 } });
const MAILER = { command: ['mailer'] };
const SPEC = {
  secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'A' }],
  sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 }, runtime: { workers: { mailer: MAILER } } },
};
const asRoot = { initContainers: [{ name: 'prepare', image: 'busybox:1', securityContext: { runAsUser: 0 } }] };
const privileged = { sidecars: [{ name: 'eye', image: 'busybox:1', securityContext: { privileged: true } }] };

async function serving(spec: Partial<AppDeployment['spec']> = SPEC, settings = LIMITED): Promise<MemoryController> {
  const kube = aServer();
  putSecret(kube, 'mine', { A: 'eA==' });
  return aConverged(spec, kube, settings);
}

function server(kube: FakeKube): Workload['spec'] {
  return kube.objects<Workload>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop')?.spec;
}

const BROKEN: readonly {
  readonly what: string;
  readonly reason: string;
  readonly spec: object;
  readonly back: object;
}[] = [
  {
    what: 'a size',
    reason: 'LimitExceeded',
    spec: { sourceConfig: { resourceSpec: { cpu: 8 } } },
    back: { sourceConfig: { resourceSpec: { cpu: null } } },
  },
  {
    what: 'the scale',
    reason: 'LimitExceeded',
    spec: { sourceConfig: { resourceSpec: { minScale: 9, maxScale: 9 } } },
    back: { sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 } } },
  },
  {
    what: "a worker's size",
    reason: 'LimitExceeded',
    spec: { sourceConfig: { runtime: { workers: { mailer: { cpu: 8 } } } } },
    back: { sourceConfig: { runtime: { workers: { mailer: { cpu: null } } } } },
  },
  {
    what: 'a sidecar',
    reason: 'PodPolicyViolated',
    spec: { sourceConfig: { resourceSpec: privileged } },
    back: { sourceConfig: { resourceSpec: { sidecars: null } } },
  },
  {
    what: 'several instances',
    reason: 'InstancesNotOffered',
    spec: { sourceConfig: { database: { instances: 2 } } },
    back: { sourceConfig: { database: null } },
  },
  {
    what: 'another driver',
    reason: 'DatabaseDriverFixed',
    spec: { sourceConfig: { database: { driver: 'cloudnative-pg' } } },
    back: { sourceConfig: { database: null } },
  },
];

it.each(BROKEN)('what serves is looked after while its record breaks a rule: $reason ($what)', async (broken) => {
  const controller = await serving();
  const { kube, reconcile, writes } = controller;
  const before = server(kube);
  await edit(kube, { spec: { ...broken.spec, revisionSerial: 7 } });
  await reconcile();
  expect([says(kube, 'Ready'), server(kube)]).toEqual([`False ${broken.reason}`, before]);

  // A person deletes parts, and another one scales what is left.
  for (const name of ['shop', 'shop--mailer']) kube.erase(DEPLOYMENTS, { ...SHOP, name });
  kube.erase(SERVICES, SHOP);
  await converge(controller);
  expect(server(kube)).toEqual(before);
  expect(kube.objects(DEPLOYMENTS)).toHaveLength(2);
  await kube.mergePatch(DEPLOYMENTS, SHOP, { spec: { replicas: 1 } }, { fieldManager: 'kubectl-scale' });
  await converge(controller);
  expect([server(kube), says(kube, 'Ready'), record(kube).status?.state]).toEqual([
    before,
    `False ${broken.reason}`,
    'READY',
  ]);
  writes();
  await reconcile();
  expect([writes(), kube.objects(APP_REVISIONS)]).toEqual([[], [expect.anything()]]);

  await edit(kube, { spec: broken.back });
  await converge(controller);
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('a new value of a Secret rolls its pods meanwhile, and one that only the record names does not', async () => {
  const controller = await serving();
  const { kube } = controller;
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { cpu: 8 } } } });
  await converge(controller);
  const template = (): string => JSON.stringify(server(kube)?.template);
  const before = template();
  const mine = { namespace: 'team', name: 'mine' };
  await kube.mergePatch(SECRETS, mine, { data: { A: 'eQ==' } }, { fieldManager: 'person' });
  await controller.reconcile();
  controller.clock.ms += 3000;
  await converge(controller);
  const rolled = template();
  expect(rolled).not.toBe(before);
  putSecret(kube, 'other', { B: 'eA==' });
  const secretReferences = [...SPEC.secretReferences, { name: 'B', secretName: 'other', secretKey: 'B' }];
  await edit(kube, { spec: { secretReferences } });
  await converge(controller);
  expect(template()).toBe(rolled);
});

describe('nothing is made of it', () => {
  /** Passes after which nothing but statuses was written, though the server is gone. */
  async function leavesAlone({ kube, reconcile, writes }: MemoryController): Promise<void> {
    kube.erase(DEPLOYMENTS, SHOP);
    writes();
    for (let pass = 0; pass < 3; pass += 1) {
      await reconcile();
    }
    expect(writes().filter((write) => !write.endsWith('/status'))).toEqual([]);
  }

  async function restarted({ kube, stop }: MemoryController, settings: Settings): Promise<MemoryController> {
    stop();
    const controller = await aController(kube, settings);
    await controller.reconcile();
    return controller;
  }

  it('where the namespace is no tenant', async () => {
    const controller = await serving();
    const labels = { 'davit.dev/tenant': null };
    await controller.kube.mergePatch(NAMESPACES, { name: 'team' }, { metadata: { labels } }, { fieldManager: 'admin' });
    await leavesAlone(controller);
    expect(says(controller.kube, 'Ready')).toBe('False NotATenant');
  });

  it.each([
    { record: 'unchanged', spec: {} },
    { record: 'with other breaches', spec: { sourceConfig: { resourceSpec: privileged }, revisionSerial: 2 } },
    {
      record: 'with a breach of another rule',
      spec: { sourceConfig: { resourceSpec: { cpu: 8 } }, revisionSerial: 2 },
    },
  ])('where the pods that serve violate a narrowed pod policy: a record $record', async ({ spec }) => {
    const before = await serving({ sourceConfig: { resourceSpec: asRoot } });
    const controller = await restarted(before, RESTRICTED);
    await edit(controller.kube, { spec });
    await leavesAlone(controller);
    expect(says(controller.kube, 'Ready')).toMatch(/^False (PodPolicyViolated|LimitExceeded)$/);
  });

  it('where the newest revision keeps the policy, and the one that serves until it is complete does not', async () => {
    const before = await serving({ ...SPEC, sourceConfig: { resourceSpec: asRoot } });
    const { kube } = before;
    const secretReferences = [{ name: 'A', secretName: 'absent', secretKey: 'A' }];
    await edit(kube, { spec: { secretReferences, sourceConfig: { resourceSpec: { initContainers: null } } } });
    await before.reconcile();
    expect([says(kube, 'Ready'), kube.objects(APP_REVISIONS).length]).toEqual(['False SecretMissing', 2]);
    const controller = await restarted(before, RESTRICTED);
    await edit(kube, { spec: { sourceConfig: { resourceSpec: privileged } } });
    await leavesAlone(controller);
    expect(says(kube, 'Ready')).toBe('False PodPolicyViolated');
  });
});
