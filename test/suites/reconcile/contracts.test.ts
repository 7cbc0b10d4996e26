// Davit is upgraded, and rolled back: what runs is left as it is, whichever Davit made it.

import { describe, expect, it } from 'vitest';
import type { PodContracts } from '../../../src/deploy/children/contracts/contract.ts';
import { PARTS_V2 } from '../../../src/deploy/children/contracts/v2.ts';
import { CONTRACT_V3 } from '../../../src/deploy/children/contracts/v3.ts';
import { newestOf, POD_CONTRACTS } from '../../../src/deploy/children/contracts.ts';
import { makeWorkload } from '../../../src/deploy/children/workload.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { defaultSettings, Settings } from '../../../src/kinds/settings.ts';
import { DEPLOYMENTS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, deleteRecord, putRecord, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

const NEXT = newestOf(POD_CONTRACTS) + 1;
const UPGRADED: PodContracts = new Map([
  ...POD_CONTRACTS,
  [
    NEXT,
    {
      ...CONTRACT_V3,
      workload: (inputs, role, size, image) =>
        makeWorkload(inputs, role, size, image, {
          ...PARTS_V2,
          waitScripts: { database: ': upgraded', redis: ': upgraded' },
        }),
      postgres: (inputs, postgres) => {
        const made = CONTRACT_V3.postgres(inputs, postgres);
        return { ...made, ...(made.spec && { spec: { ...made.spec, minReadySeconds: 3 } }) };
      },
    },
  ],
]);

/** Sizes that no revision of before has. */
const OTHER_DEFAULTS = Settings.parse({
  deploymentType: 'prod',
  images: { postgres: 'docker.io/library/postgres:17.9', redis: 'docker.io/valkey/valkey:9', pullPolicy: 'Always' },
  pods: { port: 9000, healthPath: '/healthy', progressDeadlineSeconds: 60 },
});

function workloads(kube: FakeKube): string {
  return JSON.stringify([...kube.objects(DEPLOYMENTS), ...kube.objects(STATEFUL_SETS)].map(specOf));
}

function specOf(object: KubeObject & { spec?: unknown }): unknown {
  return [object.kind, object.metadata.name, object.metadata.generation, object.spec];
}

function revisions(kube: FakeKube): readonly AppRevision[] {
  return kube.objects<AppRevision>(APP_REVISIONS);
}

/** Runs `work` with a controller that has `contracts`, as a process of its own. */
async function during<T>(
  kube: FakeKube,
  contracts: PodContracts,
  work: (controller: MemoryController) => Promise<T>,
  settings = defaultSettings(),
): Promise<T> {
  const controller = await aController(kube, settings, { contracts });
  try {
    return await work(controller);
  } finally {
    controller.stop();
  }
}

async function edit(kube: FakeKube, spec: object): Promise<void> {
  const { metadata } = record(kube);
  const ref = { namespace: 'team', name: metadata.name };
  await kube.mergePatch(APP_DEPLOYMENTS, ref, { spec }, { fieldManager: 'kubectl' });
}

async function running(contracts: PodContracts, spec: Parameters<typeof putRecord>[1] = {}): Promise<FakeKube> {
  const kube = aServer();
  putRecord(kube, spec);
  await during(kube, contracts, converge);
  expect(record(kube).status?.state).toBe('READY');
  return kube;
}

describe('an upgrade', () => {
  it('writes nothing, though pods are made otherwise and every default is another', async () => {
    const kube = await running(POD_CONTRACTS, { sourceConfig: { resourceSpec: { queueCpu: 1, executorCpu: 1 } } });
    const before = workloads(kube);
    const writes = await during(
      kube,
      UPGRADED,
      async (controller) => {
        await controller.reconcile();
        return controller.writes();
      },
      OTHER_DEFAULTS,
    );
    expect(writes).toEqual([]);
    expect(workloads(kube)).toBe(before);
  });

  it('writes nothing of a snapshot that was stored in another form', async () => {
    const kube = await running(POD_CONTRACTS);
    const [revision] = revisions(kube);
    if (!revision) throw new Error('no revision');
    const requested = { ...revision.spec.requested, resourceSpec: { volumes: [], labels: {}, sidecars: [] } };
    kube.seed(APP_REVISIONS, { ...revision, spec: { ...revision.spec, requested } } as AppRevision);
    const before = workloads(kube);
    const writes = await during(kube, POD_CONTRACTS, async (controller) => {
      await controller.reconcile();
      return controller.writes();
    });
    expect(writes).toEqual([]);
    expect(revisions(kube)).toHaveLength(1);
    expect(workloads(kube)).toBe(before);
  });

  it('gives the next revision the new pods', async () => {
    const kube = await running(POD_CONTRACTS);
    await edit(kube, { revisionSerial: 2 });
    await during(kube, UPGRADED, converge);
    expect(revisions(kube).map(({ spec }) => spec.resolved.contract)).toEqual([NEXT - 1, NEXT]);
    expect(workloads(kube)).toContain(': upgraded');
  });

  it('leaves the pods that a change of another part does not concern, where the new version makes the same', async () => {
    const same: PodContracts = new Map([...POD_CONTRACTS, [NEXT, CONTRACT_V3]]);
    const kube = await running(POD_CONTRACTS, { sourceConfig: { resourceSpec: { queueCpu: 1 } } });
    const templateOf = (name: string): unknown =>
      (kube.objects(DEPLOYMENTS).find(({ metadata }) => metadata.name === name) as { spec?: { template?: unknown } })
        ?.spec?.template;
    const [server, queue] = [templateOf('shop'), templateOf('shop--queue')];
    await edit(kube, { sourceConfig: { resourceSpec: { queueCpu: 2 } } });
    await during(kube, same, converge);
    expect(revisions(kube).map(({ spec }) => spec.resolved.contract)).toEqual([NEXT - 1, NEXT]);
    expect(templateOf('shop')).toEqual(server);
    expect(templateOf('shop--queue')).not.toEqual(queue);
  });

  it('and back to the old pods by a rollback', async () => {
    const kube = await running(POD_CONTRACTS);
    const [first] = revisions(kube);
    const before = kube.objects(STATEFUL_SETS).map(specOf);
    await edit(kube, { revisionSerial: 2 });
    await during(kube, UPGRADED, converge);
    expect(workloads(kube)).toContain(': upgraded');
    await edit(kube, { revisionSerial: 3, rollbackTo: first?.spec.id });
    await during(kube, UPGRADED, converge);
    expect(revisions(kube).map(({ spec }) => spec.resolved.contract)).toEqual([NEXT - 1, NEXT, NEXT - 1]);
    expect(workloads(kube)).not.toContain(': upgraded');
    expect(kube.objects(STATEFUL_SETS)).toHaveLength(before.length);
  });
});

describe('rolled back, Davit', () => {
  async function rolledBack(): Promise<FakeKube> {
    const kube = await running(POD_CONTRACTS);
    await edit(kube, { revisionSerial: 2 });
    await during(kube, UPGRADED, converge);
    return kube;
  }

  it('leaves what a newer one has made as it is, says so, and comes to rest', async () => {
    const kube = await rolledBack();
    const before = workloads(kube);
    await during(kube, POD_CONTRACTS, async (controller) => {
      await controller.reconcile();
      expect(controller.writes()).toEqual([
        expect.stringMatching(/^apply AppRevision shop--\w+\/status$/),
        'apply AppDeployment shop/status',
      ]);
      await controller.reconcile();
      expect(controller.writes()).toEqual([]);
    });
    expect(workloads(kube)).toBe(before);
    expect([says(kube, 'Ready'), says(kube, 'Stalled'), record(kube).status?.state]).toEqual([
      'False ContractUnknown',
      'True ContractUnknown',
      'READY',
    ]);
    expect(conditionIn(kube, 'Stalled')?.message).toContain(
      `it uses pod contract ${NEXT}, and this version supports contracts up to ${NEXT - 1}`,
    );
  });

  it('goes on when it is upgraded again', async () => {
    const kube = await rolledBack();
    const before = workloads(kube);
    await during(kube, POD_CONTRACTS, (controller) => controller.reconcile());
    await during(kube, UPGRADED, converge);
    expect(workloads(kube)).toBe(before);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('makes pods of its own for a new revision', async () => {
    const kube = await rolledBack();
    await edit(kube, { revisionSerial: 3 });
    await during(kube, POD_CONTRACTS, converge);
    expect(revisions(kube).map(({ spec }) => spec.resolved.contract)).toEqual([NEXT - 1, NEXT, NEXT - 1]);
    expect(workloads(kube)).not.toContain(': upgraded');
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('touches nothing while what a new revision names is missing', async () => {
    const kube = await rolledBack();
    const before = workloads(kube);
    await edit(kube, { secretReferences: [{ name: 'MAIL', secretName: 'mail', secretKey: 'password' }] });
    await during(kube, POD_CONTRACTS, async (controller) => {
      await controller.reconcile();
      await makeReady(kube);
      await controller.reconcile();
    });
    expect(revisions(kube)).toHaveLength(3);
    expect(workloads(kube)).toBe(before);
    expect(record(kube).status?.state).toBe('READY');
  });

  it('does not go back to a revision of a newer one, and says what it does instead', async () => {
    const kube = await rolledBack();
    const newer = revisions(kube).find(({ spec }) => spec.resolved.contract === NEXT);
    await edit(kube, { revisionSerial: 3, rollbackTo: newer?.spec.id });
    const events = await during(kube, POD_CONTRACTS, async (controller) => {
      await converge(controller);
      return controller.events;
    });
    expect(events).toContain('Warning RollbackIgnored');
    expect(revisions(kube).at(-1)?.spec.resolved.contract).toBe(NEXT - 1);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('takes a record down that a newer one has made', async () => {
    const kube = await rolledBack();
    await deleteRecord(kube);
    await during(kube, POD_CONTRACTS, async (controller) => {
      for (let pass = 0; pass < 12; pass += 1) {
        await controller.reconcile();
      }
    });
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
  });
});
