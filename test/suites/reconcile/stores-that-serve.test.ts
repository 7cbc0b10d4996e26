// The newest revision does without the deployment's own PostgreSQL and Redis, and an earlier one that needs them still serves, over the
// in-memory API server: the status follows the stores of what serves.

import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { censusOf } from '../../../src/main/monitoring/census.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import { type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { edit, newestRevision, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged } from './harness.ts';

const NONE = { database: 'none', redis: 'none' } as const;
const WRITING = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
const DATABASE = { namespace: 'team', name: 'shop--postgres' };

async function change(kube: FakeKube, spec: object): Promise<void> {
  await edit(kube, {
    spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 1, ...spec },
  });
}

async function passes({ reconcile }: MemoryController): Promise<void> {
  for (let pass = 0; pass < 4; pass += 1) {
    await reconcile();
  }
}

/** One pod of the newest revision is there, not ready, beside the one that serves. */
async function begin({ kube, reconcile }: MemoryController, conditions: readonly object[] = []): Promise<void> {
  await reconcile();
  const [server] = kube.objects(DEPLOYMENTS);
  const observedGeneration = server?.metadata.generation;
  const replicas = { replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  await kube.mergePatch(DEPLOYMENTS, SHOP, { status: { observedGeneration, ...replicas, conditions } }, WRITING);
}

/** The container of the newest revision exits until Davit gives it up. */
async function fail(controller: MemoryController): Promise<void> {
  const { kube } = controller;
  await begin(controller);
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'shop-new',
      namespace: 'team',
      labels: {
        [DEPLOYMENT_LABEL]: 'shop',
        [COMPONENT_LABEL]: 'server',
        [REVISION_LABEL]: newestRevision(kube).spec.id,
      },
      ownerReferences: [CONTROLLER],
    },
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'server',
          restartCount: 9,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 1, reason: 'Error' } },
        },
      ],
    },
  };
  kube.seed(PODS, pod);
  await passes(controller);
  kube.erase(PODS, { namespace: 'team', name: 'shop-new' });
  expect(newestRevision(kube).status?.state).toBe('DEPLOY_FAILED');
  await makeReady(kube);
}

/** What keeps the newest revision from serving. */
const BEHIND: Readonly<Record<string, (controller: MemoryController) => Promise<void>>> = {
  'has failed': async (controller) => {
    await change(controller.kube, { sourceConfig: { runtime: NONE } });
    await fail(controller);
  },
  'is being rolled out': async (controller) => {
    await change(controller.kube, { sourceConfig: { runtime: NONE } });
    await begin(controller);
  },
  'has exceeded its deadline': async (controller) => {
    await change(controller.kube, { sourceConfig: { runtime: NONE } });
    await begin(controller, [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]);
    await passes(controller);
    expect(newestRevision(controller.kube).status?.state).toBe('DEPLOY_FAILED');
  },
  migrates: async ({ kube }) =>
    change(kube, { sourceConfig: { runtime: { ...NONE, migrate: { command: ['migrate'] } } } }),
  'wants external stores whose Secret is missing': async ({ kube }) =>
    change(kube, {
      secretReferences: ['POSTGRES', 'REDIS'].map((store) => ({
        name: `${store}_URI_CUSTOM`,
        secretName: 'absent',
        secretKey: 'uri',
      })),
    }),
};

async function behind(stop: (controller: MemoryController) => Promise<void>): Promise<MemoryController> {
  const controller = await aConverged();
  const { kube } = controller;
  const active = newestRevision(kube).spec.id;
  await stop(controller);
  await passes(controller);
  expect(newestRevision(kube).spec.id).not.toBe(active);
  expect([record(kube).status?.state, record(kube).status?.activeRevisionId]).toEqual(['READY', active]);
  return controller;
}

const shown = (kube: FakeKube): unknown[] => [
  record(kube).status?.state,
  ...['Available', 'DatabaseReady', 'RedisReady'].map((type) => says(kube, type)),
];

describe.each(Object.entries(BEHIND))('while the newest revision %s', (_why, stop) => {
  it('stores of what serves that answer are said to, and ones that do not are an outage', async () => {
    const controller = await behind(stop);
    const { kube } = controller;
    expect(shown(kube)).toEqual(['READY', 'True Serving', 'True Answering', 'True Answering']);
    const status = { readyReplicas: 0, availableReplicas: 0 };
    await kube.mergePatch(STATEFUL_SETS, DATABASE, { status }, WRITING);
    await kube.mergePatch(STATEFUL_SETS, { namespace: 'team', name: 'shop--redis' }, { status }, WRITING);
    await passes(controller);
    const [state, available, ...stores] = shown(kube);
    expect(state).toBe('AWAITING_DATABASE');
    expect(available).toMatch(/^False /);
    expect(stores).toEqual(['False NotAnswering', 'False NotAnswering']);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it.each([false, true])('a lost volume or password of what serves is said (paused: %s)', async (paused) => {
    for (const [lost, status, kind] of [
      ['VolumeMissing', 'False', PERSISTENT_VOLUME_CLAIMS],
      ['PasswordMissing', 'True', SECRETS],
    ] as const) {
      const controller = await behind(stop);
      const { kube } = controller;
      if (paused) await edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
      kube.erase(kind, DATABASE);
      await passes(controller);
      expect(says(kube, 'DatabaseReady')).toBe(`${status} ${lost}`);
      expect(censusOf([record(kube)], []).databases_at_risk).toEqual([[{ reason: lost }, 1]]);
    }
  });
});
