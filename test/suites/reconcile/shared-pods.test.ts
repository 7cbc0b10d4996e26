// A revision whose pods would be those that run already, but for its id, replaces none of them.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import type { ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { edit, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const SPEC = {
  sourceConfig: {
    resourceSpec: { cpu: 0.5, queueMinScale: 1, queueMaxScale: 1 } as ResourceSpec,
    runtime: { migrate: { command: ['up'] } },
  },
};

function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}
function templates(kube: FakeKube): Record<string, unknown> {
  return Object.fromEntries(
    kube.objects<Workload>(DEPLOYMENTS).map(({ metadata, spec }) => [metadata.name, spec?.template]),
  );
}
function states(kube: FakeKube): (string | undefined)[] {
  return revisions(kube).map(({ status }) => status?.state);
}
async function deploy(kube: FakeKube, more: object = {}, imageUri = 'registry.example/shop:1'): Promise<void> {
  const revisionSerial = (record(kube).spec.revisionSerial ?? 0) + 1;
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri }, revisionSerial, ...more } });
}
async function rollBack(kube: FakeKube, number: number): Promise<void> {
  const revision = revisions(kube)[number - 1];
  if (!revision) throw new Error('no revision');
  const { spec } = record(kube);
  await edit(kube, { spec: rollingBack(spec, revision.spec) });
}
/** It is at rest, and another controller has nothing to do either. */
async function atRest(controller: MemoryController): Promise<void> {
  await converge(controller);
  controller.writes();
  await controller.reconcile();
  const again = await aController(controller.kube);
  await again.reconcile();
  expect([controller.writes(), again.writes()]).toEqual([[], []]);
}

describe('no pod is replaced and nothing migrates', () => {
  it.each<{ name: string; change: (kube: FakeKube) => Promise<void> }>([
    { name: 'by a rollback to the active revision', change: (kube) => rollBack(kube, 1) },
    {
      name: 'by a preset that changes nothing in force',
      change: (kube) => deploy(kube, { sourceConfig: { deploymentType: 'dev' } }),
    },
  ])('$name', async ({ change }) => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    const before = templates(kube);
    controller.writes();
    await change(kube);
    await converge(controller);
    expect(controller.writes().filter((write) => /^(create|apply) (Job|Deployment)/.test(write))).toEqual([]);
    await atRest(controller);
    const [first, second] = revisions(kube);
    expect([templates(kube), states(kube)]).toEqual([before, ['DEPLOYED', 'DEPLOYED']]);
    expect(second?.spec.resolved).toMatchObject({ podsOf: first?.spec.id, migrated: true });
    expect(record(kube).status).toMatchObject({
      latestRevisionId: second?.spec.id,
      activeRevisionId: second?.spec.id,
      state: 'READY',
    });
    // And a third one that has other pods is rolled as ever; a rollback to the second starts pods of its own.
    await deploy(kube, {}, 'registry.example/shop:2');
    await atRest(controller);
    await rollBack(kube, 2);
    await atRest(controller);
    const label = (templates(kube)['shop'] as { metadata: { labels: Record<string, string> } }).metadata.labels;
    expect([states(kube), label['davit.dev/revision']]).toEqual([
      ['DEPLOYED', 'DEPLOYED', 'DEPLOYED', 'DEPLOYED'],
      revisions(kube)[3]?.spec.id,
    ]);
  });

  it('by a rollback to what serves while a newer revision cannot', async () => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    const before = templates(kube);
    kube.failOn(({ kind, dryRun }) =>
      kind === 'Pod' && dryRun ? new Forbidden('no', { serverMessage: 'exceeded quota' }) : undefined,
    );
    await deploy(kube, {}, 'registry.example/shop:2');
    await controller.reconcile();
    await makeReady(kube);
    await controller.reconcile();
    expect(says(kube, 'Ready')).toBe('False PodsRefused');
    await rollBack(kube, 1);
    await atRest(controller);
    expect([templates(kube), states(kube), says(kube, 'Ready')]).toEqual([
      before,
      ['DEPLOYED', 'DEPLOY_FAILED', 'DEPLOYED'],
      'True Serving',
    ]);
  });
});

describe('pods are replaced', () => {
  it.each<{ name: string; change: (kube: FakeKube) => Promise<void> }>([
    { name: 'by a new revision that changes nothing', change: (kube) => deploy(kube) },
    { name: 'by another size', change: (kube) => deploy(kube, { sourceConfig: { resourceSpec: { queueCpu: 1 } } }) },
    { name: 'by another image', change: (kube) => deploy(kube, {}, 'registry.example/shop:2') },
  ])('$name', async ({ change }) => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    const before = templates(kube);
    await change(kube);
    await atRest(controller);
    expect(templates(kube)).not.toEqual(before);
    expect(revisions(kube)[1]?.spec.resolved).not.toHaveProperty('podsOf');
  });

  it('by a rollback to a revision whose pods are not all ready', async () => {
    const controller = await aConverged(SPEC);
    const { kube } = controller;
    const status = { availableReplicas: 0, readyReplicas: 0 };
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    await kube.mergePatch(DEPLOYMENTS, { namespace: 'team', name: 'shop' }, { status }, writing);
    await rollBack(kube, 1);
    await atRest(controller);
    expect(revisions(kube)[1]?.spec.resolved).not.toHaveProperty('podsOf');
  });
});
