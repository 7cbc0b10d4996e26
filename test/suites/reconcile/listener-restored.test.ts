// A hub and a listener's cluster of which one is put back to an earlier state, cloned, or lives in another time.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { LISTENER_WORKS } from '../../../src/kinds/listener-work.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  LEASES,
  NAMESPACES,
  ROLE_BINDINGS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, SHOP } from '../../kit/memory/controller.ts';
import { putRecord } from '../../kit/memory/record.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { anAgent, aPair, EDGE, ENABLED, HUB, type Pair, SPEC, THERE } from './listener-pair.ts';

let pair: Pair;
beforeEach(async () => {
  pair = await aPair();
});

const RESOURCES: readonly Resource[] = [
  NAMESPACES,
  LISTENERS,
  LISTENER_WORKS,
  APP_DEPLOYMENTS,
  APP_REVISIONS,
  TRACING_PROJECTS,
  SECRETS,
  LEASES,
  ROLE_BINDINGS,
  SERVICE_ACCOUNTS,
];
type Backup = readonly (readonly [Resource, KubeObject])[];

function backUp(kube: FakeKube): Backup {
  return RESOURCES.flatMap((resource) =>
    kube.objects(resource).map((object) => [resource, structuredClone(object)] as const),
  );
}

/** Everything on the hub is as it was then; controller and agent begin again. */
async function restore(backup: Backup): Promise<void> {
  pair.hubController.stop();
  pair.agent.stop();
  pair.hub = makeFakeKube();
  for (const [resource, object] of backup) pair.hub.seed(resource, object);
  pair.hubController = await aController(pair.hub, ENABLED);
  await pair.hubController.reconcile(EDGE, 'listeners');
  pair.agent = await anAgent(pair.hub, pair.remote);
  await pair.hubController.reconcile(EDGE, 'listeners');
}

async function deploy(image: string, revisionSerial: number): Promise<void> {
  const sourceRevisionConfig = { imageUri: `registry.example/app:${image}` };
  await pair.hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceRevisionConfig, revisionSerial } });
  await pair.run();
}
const copies = (): string[] =>
  pair.remote
    .objects<AppDeployment>(APP_DEPLOYMENTS)
    .map(({ metadata, spec }) => `${metadata.name} ${spec.sourceRevisionConfig.imageUri}`)
    .toSorted();
const originOf = (copy: AppDeployment | undefined): string | undefined =>
  copy?.metadata.annotations?.['davit.dev/origin-id'];
const messageOf = (record: AppDeployment | undefined): string | undefined =>
  conditionOf(record?.status?.conditions, 'Ready')?.message;
const latest = (kube: FakeKube): AppRevision | undefined => {
  const id = pair.onHub()?.status?.latestRevisionId;
  return kube.objects<AppRevision>(APP_REVISIONS).find(({ spec }) => spec.id === id);
};

const serving = (): string | undefined =>
  pair.remote
    .objects<KubeObject & { spec: { template: { spec: { containers: { image: string }[] } } } }>(DEPLOYMENTS)
    .find(({ metadata }) => metadata.name === 'shop')?.spec.template.spec.containers[0]?.image;

describe('a hub that is restored from an earlier etcd', () => {
  it('changes and deletes nothing in the cluster, and says what was kept; accepted, both sides agree again, also on ids', async () => {
    await pair.run();
    const backup = backUp(pair.hub);
    await deploy('2', 2);
    putRecord(pair.hub, { ...SPEC, secrets: [] }, { name: 'late' });
    await pair.run();
    const before = copies();
    expect(before).toHaveLength(2);

    await restore(backup);
    pair.remote.clearWrites();
    await pair.run();
    expect([pair.told(), copies(), pair.remote.writes]).toEqual([expect.stringMatching(/ HubChanged$/), before, []]);

    const annotations = { 'davit.dev/origin-generation': '1' };
    await pair.remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { annotations } });
    await pair.run();
    expect([pair.told(), pair.onHub()?.status?.image]).toEqual(['READY Serving', 'registry.example/shop:1']);
    // The cluster has a revision 2 of the time that the hub has forgotten, so that ids agree from the next one on.
    await deploy('3', 2);
    expect([pair.told(), pair.onHub()?.status?.image]).toEqual(['READY Serving', 'registry.example/app:3']);
    await deploy('4', 3);
    expect([pair.told(), pair.onHub()?.status?.image]).toEqual(['READY Serving', 'registry.example/app:4']);
    const revisions = [pair.hub, pair.remote].map(latest);
    expect(revisions[0]?.spec.requested.sourceRevisionConfig.imageUri).toBe('registry.example/app:4');
    expect(revisions[0]?.spec.resolved).toEqual(revisions[1]?.spec.resolved);
  });

  it.each([
    ['accepted in the cluster', true],
    ['changed before anybody looks', false],
  ])('whose record has no serial runs what it asks for, not what it has forgotten: %s', async (_name, isAccepted) => {
    const edited = async (image: string): Promise<void> => {
      const sourceRevisionConfig = { imageUri: `registry.example/app:${image}` };
      await pair.hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceRevisionConfig, revisionSerial: null } });
      await pair.run();
    };
    await edited('1');
    const backup = backUp(pair.hub);
    await edited('forgotten');
    const [forgotten] = [latest(pair.remote)];

    await restore(backup);
    if (isAccepted) {
      await pair.run();
      const annotations = { 'davit.dev/origin-generation': String(pair.onHub()?.metadata.generation) };
      await pair.remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { annotations } });
      await pair.run();
      expect([pair.told(), pair.onHub()?.status?.image, serving()]).toEqual([
        'READY Serving',
        'registry.example/app:1',
        'registry.example/app:1',
      ]);
    }
    await edited('new');
    expect([pair.told(), serving()]).toEqual(['READY Serving', 'registry.example/app:new']);
    const revisions = [pair.hub, pair.remote].map(latest);
    expect(revisions[0]?.spec.id).not.toBe(forgotten?.spec.id);
    expect(revisions.map((one) => one?.spec.requested.sourceRevisionConfig.imageUri)).toEqual([
      'registry.example/app:new',
      'registry.example/app:new',
    ]);
    expect([revisions[0]?.spec.resolved, revisions[0]?.status?.state]).toEqual([
      revisions[1]?.spec.resolved,
      'DEPLOYED',
    ]);
    pair.hub.clearWrites();
    pair.remote.clearWrites();
    await pair.run();
    expect([pair.hub.writes, pair.remote.writes]).toEqual([[], []]);
  });

  it('whose deployment was made again since then: what has its name there is told with the way to free it, and that way works', async () => {
    const gone = async (kube: FakeKube, place: { namespace: string; name: string }): Promise<void> => {
      const [record] = kube.objects(APP_DEPLOYMENTS);
      await kube.remove(APP_DEPLOYMENTS, place, { uid: record?.metadata.uid ?? '' });
      for (let pass = 0; pass < 12 && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
        for (const { metadata } of pair.hub.objects(APP_DEPLOYMENTS))
          await pair.hubController.reconcile(`${metadata.namespace}/${metadata.name}`);
        await pair.agent.reconcile();
        await pair.remotePass();
        pair.remote.collectGarbage();
      }
    };
    await pair.run();
    const another = '0d0c4f1c-4d52-4b33-9d0c-0b3f7f1f6c11';
    const backup = backUp(pair.hub);
    await gone(pair.hub, SHOP);
    putRecord(pair.hub, SPEC, { uid: another });
    await pair.run();
    expect([pair.told(), originOf(pair.copy())]).toEqual(['READY Serving', another]);

    await restore(backup);
    pair.remote.clearWrites();
    await pair.run();
    expect([pair.told(), pair.remote.writes]).toEqual(['UNKNOWN NameConflict', []]);
    expect(messageOf(pair.onHub())).toContain(
      `kubectl delete appd shop -n shops; kubectl delete secret -n shops -l davit.dev/listener-copy=${another}`,
    );

    // Whoever does the first alone is told of the second.
    await gone(pair.remote, THERE);
    await pair.run();
    expect([pair.told(), messageOf(pair.onHub())]).toEqual([
      'UNKNOWN NameConflict',
      expect.stringContaining(`kubectl delete secret -n shops -l davit.dev/listener-copy=${another}`),
    ]);
    for (const { metadata } of pair.remote.objects(SECRETS))
      if (metadata.labels?.['davit.dev/listener-copy'] === another)
        await pair.remote.remove(SECRETS, { namespace: 'shops', name: metadata.name }, { uid: metadata.uid ?? '' });
    await pair.run();
    expect([pair.told(), originOf(pair.copy())]).toEqual(['READY Serving', pair.onHub()?.metadata.uid]);
  });

  it('a deletion of what the cluster has newer waits for a person, and says so; accepted, it goes', async () => {
    await pair.run();
    const backup = backUp(pair.hub);
    await deploy('2', 2);
    await restore(backup);
    await pair.hub.remove(APP_DEPLOYMENTS, SHOP, { uid: pair.onHub()?.metadata.uid ?? '' });
    await pair.run();
    expect([pair.told(), pair.told('Stalled'), copies()]).toEqual([
      'AWAITING_DELETE HubChanged',
      'AWAITING_DELETE HubChanged',
      ['shop registry.example/app:2'],
    ]);
    expect(messageOf(pair.onHub())).toMatch(
      /^Being deleted: .* annotate the AppDeployment in the cluster with davit.dev\/origin-generation=/,
    );
    const annotations = { 'davit.dev/origin-generation': String(pair.work()?.spec.generation) };
    await pair.remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { annotations } });
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect(pair.told()).toBe('AWAITING_DELETE Deleting');
    for (let pass = 0; pass < 12 && pair.onHub() !== undefined; pass += 1) {
      await pair.remotePass();
      pair.remote.collectGarbage();
      await pair.agent.reconcile();
      await pair.hubController.reconcile(KEY);
    }
    expect([pair.onHub(), pair.copy()]).toEqual([undefined, undefined]);
  });

  it('without the namespaces of its Listeners goes on where it was', async () => {
    await pair.run();
    const isKept = ([, { kind, metadata }]: Backup[number]): boolean =>
      metadata.namespace !== HUB && !(kind === 'Namespace' && metadata.name === HUB);
    const before = JSON.stringify(pair.copy());
    await restore(backUp(pair.hub).filter(isKept));
    pair.remote.clearWrites();
    await pair.run();
    expect([pair.told(), JSON.stringify(pair.copy())]).toEqual(['READY Serving', before]);
    await deploy('2', 2);
    expect([pair.told(), copies()]).toEqual(['READY Serving', ['shop registry.example/app:2']]);
  });
});

describe('a copy of the whole cluster, with the credentials and the id of the original', () => {
  it('deletes nothing, and neither agent reports over the later one', async () => {
    await pair.run();
    const original = pair.agent;
    const clone = makeFakeKube();
    for (const [resource, object] of backUp(pair.remote)) clone.seed(resource, object);
    const cloned = await anAgent(pair.hub, clone);
    expect(cloned.lease.epoch()).toBe(original.lease.epoch() + 1);
    const differs = { status: { state: 'AWAITING_DATABASE' } };
    await clone.mergePatch(APP_DEPLOYMENTS, THERE, differs, { subresource: 'status' });
    await cloned.reconcile();
    const reported = pair.work()?.status;
    expect([reported?.epoch, reported?.deployment?.state]).toEqual([cloned.lease.epoch(), 'AWAITING_DATABASE']);
    await original.reconcile();
    expect(pair.work()?.status).toEqual(reported);
    for (const kube of [pair.remote, clone])
      expect(kube.objects(APP_DEPLOYMENTS).map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined]);
  });
});

describe('clocks that are ten minutes apart', () => {
  it.each([600_000, -600_000])(
    'by %i ms: connected, nothing flaps, and all times on the hub are those of the hub',
    async (ms) => {
      const { clock } = pair.hubController;
      pair.remoteController.clock.ms = clock.ms + ms;
      pair.agent.stop();
      const agentClock = makeFakeClock(clock.ms + ms);
      pair.agent = await anAgent(pair.hub, pair.remote, { clock: agentClock });
      await pair.run();
      await pair.hubController.reconcile(EDGE, 'listeners');
      pair.hub.clearWrites();
      // Six renewals, by a clock that goes as fast as the hub's.
      for (let renewal = 0; renewal < 6; renewal += 1) {
        clock.ms += 10_000;
        pair.remoteController.clock.ms += 10_000;
        await agentClock.advance(10_000);
        await pair.hubController.reconcile(EDGE, 'listeners');
        await pair.run();
        expect(pair.told()).toBe('READY Serving');
      }
      expect(pair.hub.writes.filter(({ kind }) => kind !== 'Lease').map(({ kind }) => kind)).toEqual([]);
      const { status } = pair.onHub() ?? {};
      const times = [
        status?.stateChangedAt,
        ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
        pair.hub.objects<Listener>(LISTENERS)[0]?.status?.lastSeenAt,
      ].map((time) => Date.parse(time ?? ''));
      expect(times.length).toBeGreaterThan(5);
      for (const time of times) expect(Math.abs(time - clock.ms)).toBeLessThanOrEqual(60_000);
      pair.agent.stop();
      clock.ms += 60_000;
      await pair.hubController.reconcile(EDGE, 'listeners');
      await pair.hubController.reconcile(KEY);
      expect(pair.told()).toBe('UNKNOWN ListenerSilent');
    },
  );
});

describe('the versions of hub and cluster differ', () => {
  it('a newer cluster reports what this hub does not know: the rest is shown', async () => {
    await pair.run();
    const { namespace = '', name } = pair.work()?.metadata ?? { name: '' };
    const status = { deployment: { tomorrow: { a: 1 } }, later: true };
    await pair.hub.mergePatch(LISTENER_WORKS, { namespace, name }, { status }, { subresource: 'status' });
    await pair.hubController.reconcile(KEY);
    expect(pair.told()).toBe('READY Serving');
  });

  it('a state that this hub does not know is said to be that, and nothing is invented', async () => {
    await pair.run();
    const { namespace = '', name } = pair.work()?.metadata ?? { name: '' };
    const status = { deployment: { state: 'SLEEPING' } };
    await pair.hub.mergePatch(LISTENER_WORKS, { namespace, name }, { status }, { subresource: 'status' });
    await pair.hubController.reconcile(KEY);
    expect(pair.told()).toMatch(/ ListenerTooOld$/);
  });

  it('a newer hub that has a field which the cluster does not know changes nothing there until the cluster is upgraded', async () => {
    await pair.run();
    const before = JSON.stringify(pair.copy());
    const serverMessage = '.spec.tomorrow: field not declared in schema';
    pair.remote.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'AppDeployment' ? new Invalid('apply', [], { serverMessage }) : undefined,
    );
    await deploy('2', 2);
    expect([pair.told(), JSON.stringify(pair.copy())]).toEqual(['READY ListenerTooOld', before]);
    pair.remote.failOn(undefined);
    await pair.run();
    expect([pair.told(), copies()]).toEqual(['READY Serving', ['shop registry.example/app:2']]);
  });
});
