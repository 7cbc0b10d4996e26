// A hub and a listener's cluster of which one is put back to an earlier state, cloned, or lives in another time.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/api/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/api/app-revision.ts';
import { LISTENERS } from '../../../src/api/listener.ts';
import { LISTENER_WORKS } from '../../../src/api/listener-work.ts';
import { TRACING_PROJECTS } from '../../../src/api/tracing-project.ts';
import { LEASES, NAMESPACES, ROLE_BINDINGS, SECRETS, SERVICE_ACCOUNTS } from '../../../src/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/kube/client.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aController, putRecord, SHOP } from './harness.ts';
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
  await pair.hubController.reconcileListener(EDGE);
  pair.agent = await anAgent(pair.hub, pair.remote);
  await pair.hubController.reconcileListener(EDGE);
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
const latest = (kube: FakeKube): AppRevision | undefined => {
  const id = pair.onHub()?.status?.latestRevisionId;
  return kube.objects<AppRevision>(APP_REVISIONS).find(({ spec }) => spec.id === id);
};

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
