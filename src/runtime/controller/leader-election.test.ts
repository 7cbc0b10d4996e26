import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeClock, makeFakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeKube, makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Unavailable } from '../errors.ts';
import { LEASES } from '../kube/api-resources.ts';
import type { KubeObject } from '../kube/client.ts';
import { type ElectionOutcome, runLeaderElection } from './leader-election.ts';

const log = pino({ level: 'silent' });
const ref = { namespace: 'davit-system', name: 'davit' };
const running: AbortController[] = [];
afterEach(() => {
  for (const one of running.splice(0)) one.abort();
});

interface Candidate {
  readonly ask: AbortController;
  readonly told: string[];
  /** What its metrics say. */
  readonly measured: string[];
  leading: AbortSignal | undefined;
  outcome: ElectionOutcome | undefined;
}

function aCandidate(
  kube: FakeKube,
  clock: FakeClock,
  identity: string,
  onStopped = async () => {},
  random = () => 0,
): Candidate {
  const ask = new AbortController();
  running.push(ask);
  const candidate: Candidate = { ask, told: [], measured: [], leading: undefined, outcome: undefined };
  void runLeaderElection({
    // The token tells the candidates' writes apart.
    client: kube.withToken(identity),
    ...ref,
    identity,
    log,
    metrics: { leading: (lease, isLeading) => void candidate.measured.push(`${lease} ${isLeading}`) },
    clock,
    random,
    signal: ask.signal,
    onStarted(signal) {
      candidate.leading = signal;
      candidate.told.push(`started ${clock.elapsed()}`);
    },
    async onStopped() {
      candidate.told.push(`stopped ${clock.elapsed()}`);
      await onStopped();
    },
  }).then((outcome) => {
    candidate.outcome = outcome;
  });
  return candidate;
}

function lease(kube: FakeKube): Record<string, unknown> {
  const [object] = kube.objects<KubeObject & { spec: Record<string, unknown> }>(LEASES);
  return object?.spec ?? {};
}

describe('leader election', () => {
  it('makes the lease, leads, renews and releases it', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(0);
    expect(lease(kube)).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
    await clock.advance(60_000);
    expect(kube.writes.filter(({ verb }) => verb === 'update')).toHaveLength(30);
    expect(a.leading?.aborted).toBe(false);
    a.ask.abort();
    await clock.advance(0);
    expect(a.outcome).toBe('released');
    expect(lease(kube)['holderIdentity']).toBe('');
    expect(a.leading?.aborted).toBe(true);
    expect(a.measured).toEqual(['davit true', 'davit false']);
    expect(clock.pending).toBe(0);
  });

  it('does not hold the lease by the clock, before any timer says so', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    let frozenMs = 0;
    let holds: (() => boolean) | undefined;
    const ask = new AbortController();
    running.push(ask);
    void runLeaderElection({
      client: kube,
      ...ref,
      identity: 'a',
      log,
      metrics: { leading: () => undefined },
      clock: { ...clock, elapsed: () => clock.elapsed() + frozenMs },
      signal: ask.signal,
      onStarted: (_, asked) => {
        holds = asked;
      },
      onStopped: () => undefined,
    });
    await clock.advance(60_000);
    expect(holds?.()).toBe(true);
    frozenMs = 30_000;
    expect(holds?.()).toBe(false);
  });

  it('has one leader; another follows at once after a release', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    const b = aCandidate(kube, clock, 'b');
    await clock.advance(120_000);
    expect([a.told, b.told]).toEqual([['started 0'], []]);
    a.ask.abort();
    await clock.advance(2000);
    expect(b.told).toHaveLength(1);
  });

  it('takes a lease only after it has not changed for its duration on our own clock', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    // A holder whose clock is years behind, and who is dead.
    const spec = { holderIdentity: 'x', leaseDurationSeconds: 30, renewTime: '2001-01-01T00:00:00.000000Z' };
    kube.seed(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: ref, spec } as KubeObject);
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(29_000);
    // Somebody's label is no sign of life.
    await kube.mergePatch(LEASES, ref, { metadata: { labels: { seen: 'yes' } } });
    expect(a.told).toEqual([]);
    await clock.advance(3000);
    expect(a.told).toEqual(['started 30000']);
  });

  it.each([0, 0.999])(
    'follows a leader that is killed within its lease and a second, whenever: random %d',
    async (random) => {
      for (let dyingMs = 30_000; dyingMs < 32_000; dyingMs += 250) {
        const [kube, clock] = [makeFakeKube(), makeFakeClock()];
        let isDead = false;
        aCandidate(kube, clock, 'a');
        kube.failOn(({ token }) => (isDead && token === 'a' ? new Unavailable('dead') : undefined));
        await clock.advance(700);
        const b = aCandidate(kube, clock, 'b', undefined, () => random);
        await clock.advance(dyingMs - 700);
        expect(b.told).toEqual([]);
        isDead = true;
        await clock.advance(16_000);
        expect(b.told, `killed at ${dyingMs}`).toHaveLength(1);
      }
    },
  );

  it('stops leading at the deadline when nothing can be renewed, and writes nothing after', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(4000);
    kube.failOn(() => new Unavailable('down'));
    await clock.advance(9999);
    expect(a.leading?.aborted).toBe(false);
    const before = kube.writes.length;
    await clock.advance(1);
    expect(a.leading?.aborted).toBe(true);
    await clock.advance(60_000);
    expect(a.outcome).toBe('lost');
    expect(a.told).toEqual(['started 0', 'stopped 14000']);
    expect(kube.writes.length).toBe(before);
  });

  it('stops leading at the deadline while a renewal hangs', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(0);
    kube.failOn(() => new Promise(() => {}));
    await clock.advance(10_000);
    expect(a.leading?.aborted).toBe(true);
    expect(a.told).toEqual(['started 0', 'stopped 10000']);
  });

  it('goes on after a renewal whose answer was lost', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(0);
    let lost = 0;
    kube.failAfter(({ verb }) => (verb === 'update' && lost++ === 0 ? new Unavailable('reset') : undefined));
    await clock.advance(30_000);
    expect(a.told).toEqual(['started 0']);
  });

  it('stops at once when another has taken the lease', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(0);
    await kube.mergePatch(LEASES, ref, { spec: { holderIdentity: 'thief' } });
    await clock.advance(2000);
    expect(a.outcome).toBe('lost');
    expect(lease(kube)['holderIdentity']).toBe('thief');
  });

  it('stops at once when the lease was deleted, which any candidate may create', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const a = aCandidate(kube, clock, 'a');
    await clock.advance(0);
    kube.erase(LEASES, ref);
    await clock.advance(2000);
    expect(a.outcome).toBe('lost');
  });

  it('does not release a lease that ran out while it was stopping', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    let finish = (): void => {};
    const a = aCandidate(kube, clock, 'a', () => new Promise<void>((resolve) => (finish = resolve)));
    await clock.advance(0);
    a.ask.abort();
    await clock.advance(10_001);
    finish();
    await clock.advance(0);
    expect(a.outcome).toBe('released');
    expect(lease(kube)['holderIdentity']).toBe('a');
  });

  it('never has two leaders, whatever fails', async () => {
    const [kube, clock] = [makeFakeKube(), makeFakeClock()];
    const candidates = ['a', 'b', 'c'].map((identity) => aCandidate(kube, clock, identity));
    let turn = 0;
    kube.failOn(({ token }) => (token === 'abc'[Math.floor(turn / 40) % 3] ? new Unavailable('cut off') : undefined));
    for (; turn < 240; turn++) {
      await clock.advance(500);
      const leaders = candidates.filter(({ leading }) => leading !== undefined && !leading.aborted);
      expect(leaders.length).toBeLessThanOrEqual(1);
    }
    expect(candidates.some(({ outcome }) => outcome === 'lost')).toBe(true);
  });
});
