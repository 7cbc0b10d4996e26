// What the controller's log and metrics say of a record's life, from the statuses that its passes wrote.

import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { makeAllMetrics } from '../../../src/main/metrics.ts';
import { followStatuses } from '../../../src/main/monitoring/statuses.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, deleteRecord, newestRevision, putRecord } from '../../kit/memory/record.ts';
import { putPod } from '../../kit/memory/workloads.ts';
import { type FakeClock, makeFakeClock } from '../../support/fake-clock.ts';
import { converge, takeDown } from './harness.ts';

interface Followed {
  readonly controller: MemoryController;
  /** `Condition Ready changed team/shop False Progressing` of each line since the last call. */
  lines(): string[];
  /** Everything that was logged, as it was. */
  log(): string;
  metrics(): Promise<string>;
  readonly clock: FakeClock;
  stop(): void;
}

async function follow(controller: MemoryController): Promise<Followed> {
  const all: string[] = [];
  let told = 0;
  const log = pino({ base: null }, { write: (line: string) => void all.push(line) });
  const metrics = makeAllMetrics();
  const clock = makeFakeClock();
  const stop = followStatuses(controller.caches, { log, metrics, clock });
  onTestFinished(stop);
  return {
    controller,
    lines() {
      const lines = all.slice(told).map((line) => JSON.parse(line) as Record<string, string>);
      told = all.length;
      return lines.map(({ msg, namespace, name, status = '', reason = '' }) =>
        `${msg} ${namespace}/${name} ${status} ${reason}`.trim(),
      );
    },
    log: () => all.join(''),
    metrics: () => metrics.registry.metrics(),
    clock,
    stop,
  };
}

async function aFollowed(): Promise<Followed> {
  const kube = aServer();
  putRecord(kube);
  return follow(await aController(kube));
}

it('a record that is deployed, changed and deleted: one line a step, with the message of the condition', async () => {
  const { controller, lines, log } = await aFollowed();
  await converge(controller);
  expect(lines()).toEqual([
    'Revision changed team/shop DEPLOYING',
    'Change observed team/shop 1',
    'Condition Ready changed team/shop False Starting',
    'Revision changed team/shop DEPLOYED',
    'Condition Ready changed team/shop True Serving',
  ]);
  expect(log()).toContain('"message":"The latest revision is deployed and serving."');
  const { kube } = controller;
  await deleteRecord(kube);
  await takeDown(controller);
  await controller.reconcile();
  const steps = lines();
  expect(steps.at(-1)).toBe('Deleted team/shop');
  expect(new Set(steps.slice(0, -1))).toEqual(new Set(['Deletion continues team/shop False Deleting']));
  const parts = [...log().matchAll(/waiting for the deletion of ([^."]+)\./g)].map(([, part]) => part);
  expect(parts.length).toBeGreaterThan(3);
  expect(parts).toEqual([...new Set(parts)]);
});

it('a steady state logs nothing, also when the controller restarts', async () => {
  const { controller, lines, stop } = await aFollowed();
  await converge(controller);
  expect(lines().length).toBeGreaterThan(0);
  for (let pass = 0; pass < 5; pass += 1) {
    await controller.reconcile();
  }
  expect(lines()).toEqual([]);
  stop();
  controller.stop();
  const restarted = await follow(await aController(controller.kube));
  await restarted.controller.reconcile();
  expect(restarted.lines()).toEqual([]);
});

it('a record that flaps is limited', async () => {
  const { controller, lines, log, clock: time } = await aFollowed();
  const { kube, clock } = controller;
  await converge(controller);
  lines();
  for (let turn = 0; turn < 50; turn += 1) {
    const fails = turn % 2 === 0;
    kube.failOn(({ verb, kind }) =>
      fails && verb === 'apply' && kind === 'Deployment' ? new Unavailable('gone') : undefined,
    );
    const [deployment] = kube.objects(DEPLOYMENTS);
    if (deployment)
      await kube.mergePatch(
        DEPLOYMENTS,
        SHOP,
        { metadata: { labels: { 'davit.dev/component': `x${turn}` } } },
        { fieldManager: 'somebody' },
      );
    await controller.reconcile().catch(() => undefined);
    clock.ms += 1000;
    time.advanceSync(1000);
  }
  kube.failOn(undefined);
  await converge(controller);
  const said = lines();
  expect(said.length).toBeGreaterThan(20);
  expect(said.length).toBeLessThan(35);
  time.advanceSync(60_000);
  expect(lines()).toEqual(['Condition Ready changed team/shop True Serving']);
  expect(log()).toMatch(/"suppressed":2\d,"msg":"Condition Ready changed"/);
});

it('no longer after this process has stopped leading: neither lines nor counts of records', async () => {
  const { controller, lines, metrics, stop } = await aFollowed();
  await converge(controller);
  lines();
  expect(await metrics()).toContain('davit_deployments{state="READY",ready="True",stalled="False",reason="Serving"} 1');
  stop();
  const { kube } = controller;
  await deleteRecord(kube);
  await controller.reconcile();
  expect(lines()).toEqual([]);
  expect(await metrics()).not.toContain('davit_deployments{');
});

it('measures a rollout once', async () => {
  const { controller, metrics } = await aFollowed();
  await converge(controller);
  await controller.reconcile();
  const text = await metrics();
  expect(text).toContain('davit_rollout_duration_seconds_count{result="deployed"} 1');
  expect(text).toContain('davit_rollout_duration_seconds_count{result="failed"} 0');
  expect(text).toContain('davit_build_failure_total{reason="PushFailed"} 0');
});

it('counts restarts of containers, and names deployments up to a number, as long as they are there', async () => {
  const { controller } = await aFollowed();
  const { kube } = controller;
  const metrics = makeAllMetrics();
  const log = pino({ level: 'silent' });
  const lead = (): (() => void) =>
    followStatuses(controller.caches, { log, metrics, clock: makeFakeClock(), mostNamed: 1 });
  const stop = lead();
  await converge(controller);
  const { id } = newestRevision(kube).spec;
  const restarts = async (): Promise<string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => /^davit_(container|deployment)_restarts.* [1-9]/.test(line));
  const see = async (restartCount: number): Promise<void> => {
    const [pod] = kube.objects(PODS);
    if (pod)
      kube.seed(PODS, { ...pod, status: { containerStatuses: [{ name: 'server', restartCount }] } } as KubeObject);
    else putPod(kube, 'server', id, { restartCount });
    await controller.reconcile();
  };
  await see(4);
  expect(await restarts()).toEqual([]);
  await see(5);
  await see(7);
  expect(await restarts()).toEqual([
    'davit_container_restarts_total{part="server"} 3',
    'davit_deployment_restarts_total{namespace="team",name="shop"} 3',
  ]);
  stop();
  expect(await restarts()).toEqual(['davit_container_restarts_total{part="server"} 3']);
  onTestFinished(lead());
  await see(8);
  expect((await restarts()).at(-1)).toBe('davit_deployment_restarts_total{namespace="team",name="shop"} 1');
  kube.erase(APP_DEPLOYMENTS, SHOP);
  await controller.reconcile();
  expect(await restarts()).toEqual(['davit_container_restarts_total{part="server"} 4']);
});
