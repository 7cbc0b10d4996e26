// The last lines of what ended a revision or a run of a task: kept before the pods go, for a week, where only who may read logs reads.

import { expect, it } from 'vitest';
import { MOST_OF_RECORD } from '../../../src/deploy/assess/ended-logs.ts';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_LOGS, type AppLog, MOST_BYTES_OF_CONTAINER } from '../../../src/kinds/app-log.ts';
import { REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { edit, newestRevision, record } from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod, removePod } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged } from './harness.ts';

const LOG_OF_SERVER = '/api/v1/namespaces/team/pods/shop-server-new/log?container=server&previous=true';
const DAY_MS = 24 * 3_600_000;

/** A second revision whose server has exited often enough, as the pass that finds it failed has left it. */
async function failed(log: string | undefined): Promise<MemoryController> {
  const controller = await aConverged();
  const { kube, reconcile } = controller;
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial } });
  await reconcile();
  const observedGeneration = kube.objects(DEPLOYMENTS)[0]?.metadata.generation;
  const status = { observedGeneration, replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
  await kube.mergePatch(DEPLOYMENTS, SHOP, { status }, writing);
  putPod(kube, 'server', newestRevision(kube).spec.id, crashing(3));
  if (log !== undefined) kube.texts.set(LOG_OF_SERVER, log);
  await reconcile();
  return controller;
}
const kept = (kube: FakeKube): AppLog[] => kube.objects<AppLog>(APP_LOGS);
const running = (kube: FakeKube): string | undefined =>
  kube.objects<Workload>(DEPLOYMENTS)[0]?.spec?.template?.metadata?.labels?.[REVISION_LABEL];

it('of a revision that failed, before its pods go, and once', async () => {
  const lines = Array.from({ length: 150 }, (_, n) => `2026-02-02T02:00:00Z line ${n}\n`);
  const controller = await failed(lines.join(''));
  const { kube, reconcile } = controller;
  const { id } = newestRevision(kube).spec;
  expect([kept(kube), running(kube)]).toEqual([[], id]);
  controller.writes();
  await reconcile();
  const writes = controller.writes();
  expect(writes.indexOf(`create AppLog ${newestRevision(kube).metadata.name}`)).toBe(0);
  expect(writes).toContain('apply Deployment shop');
  expect(kept(kube).map(({ spec }) => spec)).toEqual([
    {
      deploymentName: 'shop',
      revisionId: id,
      containers: [
        {
          pod: 'shop-server-new',
          component: 'server',
          container: 'server',
          exitCode: 1,
          reason: 'Error',
          log: lines.slice(-100).join(''),
        },
      ],
    },
  ]);
  removePod(kube, 'server');
  await makeReady(kube);
  await reconcile();
  controller.writes();
  const again = await aController(kube);
  await again.reconcile();
  expect([...controller.writes(), ...again.writes()]).toEqual([]);
});

it.each(['', '2026-02-02T02:00:02.1Z hello again\n'])(
  'of a container that is restarted before it is read: %j',
  async (now) => {
    const { kube, reconcile } = await failed('2026-02-02T02:00:00Z bye\n');
    const state = { terminated: { exitCode: 1, reason: 'Error', finishedAt: '2026-02-02T02:00:00Z' } };
    putPod(kube, 'server', newestRevision(kube).spec.id, { restartCount: 3, state });
    kube.texts.set(LOG_OF_SERVER.replace('&previous=true', ''), now);
    await reconcile();
    expect(kept(kube)[0]?.spec.containers[0]?.log).toBe('2026-02-02T02:00:00Z bye\n');
  },
);

it('the last bytes of long lines, without the one that is cut', async () => {
  const { kube, reconcile } = await failed(
    `2026-02-02T02:00:00Z ${'x'.repeat(MOST_BYTES_OF_CONTAINER)}\n2026-02-02T02:00:01Z bye\n`,
  );
  await reconcile();
  expect(kept(kube)[0]?.spec.containers[0]?.log).toBe('2026-02-02T02:00:01Z bye\n');
});

it('the end of a line that is longer than what is kept', async () => {
  const { kube, reconcile } = await failed(`2026-02-02T02:00:00Z ${'x'.repeat(2 * MOST_BYTES_OF_CONTAINER)} bye\n`);
  await reconcile();
  expect(kept(kube)[0]?.spec.containers[0]?.log).toMatch(/^\S+Z x{16000,} bye\n$/);
});

it('control characters as one character each, and without escape sequences', async () => {
  const noise = '\0'.repeat(MOST_BYTES_OF_CONTAINER / 2);
  const { kube, reconcile } = await failed(
    `2026-02-02T02:00:00Z \u001B[31mred\u001B[0m\tand\r\n2026-02-02T02:00:01Z ${noise}\n`,
  );
  await reconcile();
  const log = kept(kube)[0]?.spec.containers[0]?.log ?? '';
  expect(log).toMatch(/^[^\u0000-\u0008\u000b-\u001f]*\n$/);
  expect(Buffer.byteLength(JSON.stringify(log))).toBeLessThan(MOST_BYTES_OF_CONTAINER + 100);
});

it.each([
  ['is gone', undefined],
  ['is of a node that does not answer', new Unavailable('the node does not answer')],
])('a log that %s does not keep the earlier revision from coming back', async (_what, error) => {
  const { kube, reconcile } = await failed(undefined);
  if (error) kube.failOn(({ verb, ref }) => (verb === 'text' && ref.name.includes('/log?') ? error : undefined));
  await reconcile().catch((thrown: unknown) => expect(thrown).toBe(error));
  expect(running(kube)).not.toBe(newestRevision(kube).spec.id);
  expect(kept(kube).map(({ spec }) => spec.containers.map(({ log }) => log))).toEqual(error ? [] : [['']]);
});

it('for seven days, and no longer than the deployment', async () => {
  const controller = await failed('2026-02-02T02:00:00Z bye\n');
  const { kube, clock, reconcile } = controller;
  const [log] = [await reconcile()].flatMap(() => kept(kube));
  removePod(kube, 'server');
  await makeReady(kube);
  expect((await reconcile()).requeueAfterMs).toBeLessThanOrEqual(7 * DAY_MS);
  expect(log?.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['AppDeployment']);
  clock.ms = Date.parse(log?.metadata.creationTimestamp ?? '') + 7 * DAY_MS;
  await reconcile();
  expect(kept(kube)).toEqual([]);
  controller.writes();
  await reconcile();
  expect(controller.writes()).toEqual([]);
});

it('of each failed run of a task, the newest ones', async () => {
  const tasks = [{ name: 'clean', command: ['clean'] }];
  const { kube, clock, reconcile } = await aConverged({ sourceConfig: { tasks } });
  const owner = kube.objects(APP_DEPLOYMENTS)[0]?.metadata;
  const labels = {
    'davit.dev/deployment': 'shop',
    'davit.dev/deployment-uid': owner?.uid ?? '',
    'davit.dev/component': 'task',
    'davit.dev/task': 'clean',
    [REVISION_LABEL]: newestRevision(kube).spec.id,
  };
  const ownerReferences = [
    { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: owner?.uid ?? '', controller: true },
  ];
  for (let n = 0; n < MOST_OF_RECORD + 2; n += 1) {
    const name = `shop--clean-${n}`;
    const lastTransitionTime = new Date(clock.ms - DAY_MS + n * 1000).toISOString();
    kube.seed(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace: SHOP.namespace, labels, ownerReferences },
      status: { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime }] },
    } as KubeObject);
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-pod`,
        namespace: SHOP.namespace,
        labels: { ...labels, 'batch.kubernetes.io/job-name': name },
      },
      status: { phase: 'Failed', containerStatuses: [{ name: 'davit-task', state: { terminated: { exitCode: 3 } } }] },
    } as KubeObject);
    kube.texts.set(
      `/api/v1/namespaces/team/pods/${name}-pod/log?container=davit-task`,
      `2026-02-02T02:00:00Z run ${n}\n`,
    );
  }
  await reconcile();
  const runs = kept(kube).map(({ spec }) => [
    spec.task,
    spec.containers[0]?.exitCode,
    spec.containers[0]?.log.slice(21),
  ]);
  expect(runs).toHaveLength(MOST_OF_RECORD);
  expect(runs).toContainEqual(['clean', 3, `run ${MOST_OF_RECORD + 1}\n`]);
  expect(runs).not.toContainEqual(['clean', 3, 'run 1\n']);
});
