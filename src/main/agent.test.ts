import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { type FakeKube, makeFakeKube } from '../../test/support/fake-kube/fake-kube.ts';
import type { Lease } from '../clusters/hub/contact.ts';
import { LISTENER_LABEL } from '../kinds/meta.ts';
import { makeMetrics } from '../runtime/controller/metrics.ts';
import { Forbidden, Unavailable } from '../runtime/errors.ts';
import { LEASES, NAMESPACES, SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { type RunningListener, runListener } from './agent.ts';

const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const HUB = 'davit-lsn-4f1c1a52';

/** The process over two API servers. `forbidden`: namespaces without the Role. */
async function aListener(
  forbidden: readonly string[],
): Promise<{ hub: FakeKube; local: FakeKube; listener: RunningListener }> {
  const [hub, local] = [makeFakeKube(), makeFakeKube()];
  hub.seed(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: HUB, name: 'davit-listener', labels: { [LISTENER_LABEL]: LISTENER } },
  } as Lease);
  local.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'cluster-1' } });
  const data = { server: 'https://hub', namespace: HUB, token: 't' };
  local.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'davit-system', name: 'davit-listener-hub' },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)])),
  } as KubeObject);
  local.failOn(({ verb, ref }) =>
    verb === 'list' && forbidden.includes(ref.namespace ?? '') ? new Forbidden('no Role') : undefined,
  );
  const stopping = new AbortController();
  const listener = await runListener({
    local,
    leaseClient: local,
    hubClient: () => hub,
    namespace: 'davit-system',
    served: ['shops', 'tools'],
    identity: 'agent',
    version: '1.2.3',
    leaseMs: 15_000,
    backoffMs: 10,
    log: pino({ level: 'silent' }),
    metrics: makeMetrics(),
    signal: stopping.signal,
    onRewound: () => undefined,
    onMoved: () => undefined,
  });
  onTestFinished(async () => {
    stopping.abort();
    await listener.done;
  });
  return { hub, local, listener };
}

it('works although one of its namespaces was deleted, with its Role', async () => {
  const { listener, hub } = await aListener(['tools']);
  const holder = (): unknown => hub.objects<Lease>(LEASES)[0]?.spec?.holderIdentity;
  await expect.poll(holder).toContain('agent');
  await expect.poll(() => listener.ready['hub']?.()).toBeUndefined();
});

it('is ready when another replica leads', async () => {
  const { listener, local, hub } = await aListener([]);
  hub.failOn(() => new Unavailable('down'));
  const why = (): unknown => listener.ready['hub']?.();
  await expect.poll(why).toBe('hub https://hub has not answered yet');
  const place = { namespace: 'davit-system', name: 'davit-listener' };
  await local.mergePatch(LEASES, place, { spec: { holderIdentity: 'another', leaseTransitions: 9 } });
  await expect.poll(why).toBeUndefined();
});

it('names what it cannot list as the cause', async () => {
  const { listener, local } = await aListener(['shops', 'tools']);
  for (const name of ['shops', 'tools'])
    local.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await expect.poll(() => listener.ready['hub']?.()).toBe('not listed yet: no Role');
});
