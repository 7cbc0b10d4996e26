import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeKube, makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { LISTENER_LABEL } from '../../kinds/meta.ts';
import { Unavailable } from '../../runtime/errors.ts';
import { LEASES } from '../../runtime/kube/api-resources.ts';
import type { Lease } from '../hub/contact.ts';
import { type HubLease, holdHubLease } from './hub-lease.ts';

const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const PLACE = { namespace: 'davit-lsn-4f1c1a52', name: 'davit-listener' };

let hub: FakeKube;
let clock: ReturnType<typeof makeFakeClock>;
let said: string[];
beforeEach(() => {
  hub = makeFakeKube();
  clock = makeFakeClock();
  said = [];
  hub.seed(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...PLACE, labels: { [LISTENER_LABEL]: LISTENER } },
    spec: { leaseTransitions: 4 },
  } as Lease);
});

async function hold(): Promise<HubLease> {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const log = pino({ base: null }, { write: (line: string) => said.push((JSON.parse(line) as { msg: string }).msg) });
  const held = await holdHubLease({
    hub,
    namespace: PLACE.namespace,
    clusterId: 'cluster-1',
    version: '1.2.3',
    identity: 'agent',
    clock,
    log,
    signal: stopping.signal,
  });
  void held.renew(stopping.signal);
  return held;
}
const lease = (): Lease['spec'] => hub.objects<Lease>(LEASES)[0]?.spec;
const renewals = (): number => hub.writes.filter(({ error }) => error === undefined).length;

it('is renewed every ten seconds', async () => {
  const held = await hold();
  expect([held.listenerId, held.epoch(), lease()?.holderIdentity]).toEqual([LISTENER, 5, 'agent']);
  hub.clearWrites();
  await clock.advance(60_000);
  expect(renewals()).toBe(6);
  expect([lease()?.renewTime, lease()?.leaseTransitions]).toEqual(['2026-01-01T00:01:00.000000Z', 5]);
});

it('is renewed again soon after a renewal that failed: the hub waits for less than the time of two', async () => {
  await hold();
  hub.clearWrites();
  hub.failOn(() => new Unavailable('gone'));
  await clock.advance(35_000);
  expect(renewals()).toBe(0);
  hub.failOn(undefined);
  await clock.advance(2000);
  expect(renewals()).toBe(1);
});

it.each([
  [
    'another Listener, whose namespaces the cluster may have labelled',
    { [LISTENER_LABEL]: '5b7d0a60-1c1f-4a3e-8f1d-7f4f3b7a9c22' },
  ],
  ['none', {}],
])('is not taken while it says that it belongs to %s', async (_name, labels) => {
  const { name, namespace } = PLACE;
  hub.seed(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, labels },
    spec: { leaseTransitions: 4 },
  } as Lease);
  let isHeld = false;
  const holding = hold().then((held) => {
    isHeld = true;
    return held;
  });
  await clock.advance(6000);
  expect([isHeld, renewals(), said[0]]).toEqual([false, 0, 'The Lease on the hub was not taken']);
  hub.seed(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, labels: { [LISTENER_LABEL]: LISTENER } },
    spec: { leaseTransitions: 4 },
  } as Lease);
  await clock.advance(6000);
  expect((await holding).listenerId).toBe(LISTENER);
});

describe('a renewal that finds another version', () => {
  it('of its own, whose answer was lost, goes on with the same epoch', async () => {
    const held = await hold();
    hub.failAfter(() => new Unavailable('gone'));
    await clock.advance(10_000);
    hub.failAfter(undefined);
    await clock.advance(20_000);
    expect([held.epoch(), lease()?.renewTime]).toEqual([5, '2026-01-01T00:00:22.000000Z']);
    expect(said.join()).not.toContain('Another agent');
  });

  it('of another agent takes it back with a new epoch, and says so', async () => {
    const held = await hold();
    await hub.mergePatch(LEASES, PLACE, { spec: { holderIdentity: 'clone', leaseTransitions: 6 } });
    await clock.advance(15_000);
    expect([held.epoch(), lease()?.holderIdentity]).toEqual([7, 'agent']);
    expect(said.join()).toContain('Another agent');
  });
});
