// A hub that is taken over writes any work that it likes: what the agent refuses by its own rules. What the API server of the
// cluster refuses is in test/suites/integration/api-server/taken-over-hub.test.ts.

import { beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../../src/kinds/listener-work.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aSpec } from '../../support/builders.ts';
import { anAgent, aPair, HUB, LISTENER, type Pair } from './listener-pair.ts';

const ID = '5b7d0a60-1c1f-4a3e-8f1d-7f4f3b7a9c22';

let pair: Pair;
beforeEach(async () => {
  pair = await aPair();
});

/** Writes the work and has the agent see it. Returns the agent's report. */
async function forge(
  spec: Omit<Partial<ListenerWork['spec']>, 'deployment'> & { readonly deployment?: object } = {},
  more: Partial<ListenerWork['metadata']> = {},
  status?: object,
): Promise<ListenerWork['status']> {
  const { hub, remote, agent } = pair;
  hub.seed(LISTENER_WORKS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'ListenerWork',
    metadata: { name: ID, namespace: HUB, finalizers: ['davit.dev/remote-teardown'], ...more },
    spec: {
      clusterId: 'cluster-1',
      hubId: 'hub-1',
      tenantId: 'team-1',
      name: 'forged',
      namespace: 'shops',
      generation: 1,
      ...spec,
      deployment: { ...aSpec({ secrets: [] }), ...spec.deployment },
    },
    ...(status !== undefined && { status }),
  } as KubeObject);
  remote.clearWrites();
  await agent.reconcile();
  return hub.objects<ListenerWork>(LISTENER_WORKS).find(({ metadata }) => metadata.name === ID)?.status;
}
const forged = (): AppDeployment | undefined =>
  pair.remote.objects<AppDeployment>(APP_DEPLOYMENTS).find(({ metadata }) => metadata.name === 'forged');

/** Somebody else's AppDeployment of that name. */
function occupy(
  annotations: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): void {
  pair.remote.seed<AppDeployment>(APP_DEPLOYMENTS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'forged', namespace: 'shops', annotations, labels },
    spec: aSpec({}),
  });
}

describe('is refused, and nothing is written in the cluster', () => {
  it.each<[string, () => Promise<ListenerWork['status']>, string, RegExp]>([
    ['a namespace that the agent does not serve', () => forge({ namespace: 'vault' }), 'NamespaceNotAllowed', /vault/],
    ['a namespace that does not accept it', () => forge({ namespace: 'tools' }), 'NamespaceNotAllowed', /tools/],
    [
      'a source that the cluster would build, with the ids that the hub says',
      () => forge({ deployment: { source: 'codehost' } }),
      'ApplyRefused',
      /codehost.*external_docker/,
    ],
    [
      'a deployment that the cluster would pass on to a third one',
      () =>
        forge({ deployment: { sourceConfig: { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'shops' } } } }),
      'ApplyRefused',
      /names a listener/,
    ],
    [
      'the deployment of somebody else',
      () => {
        occupy();
        return forge();
      },
      'NameConflict',
      /AppDeployment forged/,
    ],
    [
      'the deployment of another hub, of which it knows the id',
      () => {
        occupy(
          { 'davit.dev/origin-id': ID, 'davit.dev/origin-hub': 'hub-2', 'davit.dev/origin-generation': '1' },
          { 'davit.dev/listener': 'another' },
        );
        return forge();
      },
      'HubChanged',
      /created for hub hub-2/,
    ],
    [
      'an earlier state, where somebody has taken the label off',
      () => {
        occupy({ 'davit.dev/origin-id': ID, 'davit.dev/origin-hub': 'hub-1', 'davit.dev/origin-generation': '7' });
        return forge();
      },
      'HubChanged',
      /generation 7/,
    ],
    [
      'a Secret of somebody else',
      () => forge({ secrets: [{ name: 'theirs', copy: 'bait', version: '1' }] }),
      'NameConflict',
      /Secret theirs/,
    ],
  ])('%s', async (_name, attempt, reason, message) => {
    pair.hub.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bait', namespace: HUB } });
    const status = await attempt();
    expect([status?.rejection?.reason, status?.rejection?.message]).toEqual([reason, expect.stringMatching(message)]);
    expect(pair.remote.writes.filter(({ error }) => error === undefined)).toEqual([]);
  });
});

it('a work passes on its deployment and ids alone: neither annotations, labels, finalizers, owners nor a status', async () => {
  const adopt = { 'davit.dev/adopt-database': 'x', 'davit.dev/abandon-remote': ID };
  await forge(
    {},
    {
      annotations: adopt,
      labels: { 'davit.dev/tenant': 'true' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system', uid: 'u' }],
    },
    { clusterId: 'cluster-1', epoch: 0, generation: 9, deployment: { state: 'READY' }, gone: true },
  );
  expect(forged()).toMatchObject({ metadata: { labels: { 'davit.dev/listener': LISTENER } } });
  const { annotations, finalizers, ownerReferences } = forged()?.metadata ?? {};
  expect(Object.keys(annotations ?? {}).toSorted()).toEqual([
    'davit.dev/applied',
    'davit.dev/origin-generation',
    'davit.dev/origin-hub',
    'davit.dev/origin-id',
    'davit.dev/origin-tenant',
  ]);
  expect([finalizers, ownerReferences, forged()?.status]).toEqual([undefined, undefined, undefined]);
});

it('a deployment without sourceConfig is left to the API server of the cluster to judge', async () => {
  expect((await forge({ deployment: { sourceConfig: undefined } }))?.rejection).toBeUndefined();
  expect(forged()).toBeDefined();
});

it('a status of the hub changes nothing in the cluster, and the agent overwrites it unless it is of a later agent', async () => {
  await forge();
  await pair.remotePass();
  await pair.agent.reconcile();
  const before = JSON.stringify(forged());
  const lie = { clusterId: 'cluster-1', epoch: 1, generation: 1, deployment: { state: 'UNUSED' }, gone: true };
  expect((await forge({}, {}, lie))?.deployment?.state).not.toBe('UNUSED');
  const later = { ...lie, epoch: 1_000_000 };
  expect(await forge({ deployment: { sourceRevisionConfig: { imageUri: 'evil:1' } } }, {}, later)).toEqual(later);
  expect(JSON.stringify(forged())).toBe(before);
});

it('another agent of the cluster, with the same rights, brings the same: nothing depends on what the first has in memory', async () => {
  await forge();
  pair.agent.stop();
  pair.agent = await anAgent(pair.hub, pair.remote);
  pair.remote.clearWrites();
  await pair.agent.reconcile();
  expect(pair.remote.writes).toEqual([]);
});
