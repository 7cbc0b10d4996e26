// Of several replicas, the one that holds the Lease leads. After a loss, leading.ts stands for election again. Built on nothing but the
// Lease's resourceVersion and our own clock; the times that others write down are never compared with ours.

import type { ILease } from 'kubernetes-models/coordination.k8s.io/v1/Lease';
import type { ILeaseSpec } from 'kubernetes-models/coordination.k8s.io/v1/LeaseSpec';
import type { Logger } from 'pino';
import { AlreadyExists, Conflict, NotFound } from '../errors.ts';
import { apiVersionOf, LEASES } from '../kube/api-resources.ts';
import type { KubeClient, Read } from '../kube/client.ts';
import { type Clock, microTime, sleep, systemClock, untilAborted } from './clock.ts';
import type { RuntimeMetrics } from './metrics.ts';

export interface LeaderElectionOptions {
  /** A client of its own, with a request timeout well below the renew deadline: a full pool must not cost the lead. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Unlike that of every other replica, and of this one's earlier life: the pod's name and a random part. */
  readonly identity: string;
  readonly log: Logger;
  /** Not optional: an alert fires where no process says that it leads. */
  readonly metrics: Pick<RuntimeMetrics, 'leading'>;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** How long others wait, after they last saw the lease change, before they take it. */
  readonly leaseDurationMs?: number;
  /** How long the leader leads on without a renewal that succeeded. Must be below the lease's duration. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Ends the candidacy and releases the lease. Abort it when the controllers are drained: nothing is renewed after. */
  readonly signal: AbortSignal;
  /**
   * Called once, when the lease is ours; must not throw. `leading` aborts the moment it can no longer be relied on, by a
   * timer; `holds` looks at the clock, for a process that was frozen may go on before its timers do.
   */
  readonly onStarted: (leading: AbortSignal, holds: () => boolean) => void;
  /** Called once after `onStarted`, when the lead is over; awaited before the lease is released. */
  readonly onStopped: () => void | Promise<void>;
}

/** How a candidacy ended: released on request, lost to time or to another, or on request before it ever led. */
export type ElectionOutcome = 'released' | 'lost' | 'never led';

type Lease = Read<ILease>;

const LEASE_DURATION_MS = 15_000;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_PERIOD_MS = 2_000;

/** So often a candidate looks at the lease while its holder renews it once. */
const LOOKS_IN_A_RENEWAL = 3;

/**
 * Stands as a candidate until it has led and stopped leading, or `signal` aborts. Never rejects.
 *
 * - Another's lease is taken only after it hasn't changed for its whole duration, as measured here.
 * - The lead ends `renewDeadlineMs` after the last renewal that succeeded was *sent*, by a timer, even if a request
 *   still hangs; no write is sent after that, the release included.
 * - Every write of the lease carries the resourceVersion that was read, so of two writers one loses.
 *
 * What a process had handed to the kernel before it was frozen may arrive while it is, or after.
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<ElectionOutcome> {
  const { namespace, name, identity, signal, clock = systemClock } = options;
  const log = options.log.child({ lease: `${namespace}/${name}`, identity });
  const lease = openLease(options, log);
  while (!signal.aborted) {
    const sent = clock.elapsed();
    let answered = true;
    try {
      if (await lease.tryToAcquire()) return await lead(options, log, lease, sent);
    } catch (err) {
      const lostRace = err instanceof Conflict || err instanceof AlreadyExists;
      if (!signal.aborted) log[lostRace ? 'debug' : 'warn']({ err }, 'Lease not acquired, will retry');
      answered = lostRace;
    }
    await sleep(clock, untilNextLookMs(options, lease.heldByAnotherMs(), answered), signal);
  }
  return 'never led';
}

/**
 * A candidate looks often, so that it knows within a fraction of a second when the holder last gave a sign of life, and
 * again in the moment in which the lease runs out. Random, so that candidates don't keep colliding.
 */
function untilNextLookMs(
  { retryPeriodMs = RETRY_PERIOD_MS, random = Math.random }: LeaderElectionOptions,
  heldMs: number,
  answered: boolean,
): number {
  // A server that does not answer is not asked the oftener for it.
  const usualMs = (retryPeriodMs / (answered ? LOOKS_IN_A_RENEWAL : 1)) * (1 + random() * 0.2);
  return heldMs > 0 ? Math.min(usualMs, heldMs) : usualMs;
}

/** Leads until asked to stop or no longer sure. `since` is when the request was sent that made the lease ours. */
async function lead(
  options: LeaderElectionOptions,
  log: Logger,
  lease: OpenLease,
  since: number,
): Promise<ElectionOutcome> {
  const { name, signal, metrics, clock = systemClock } = options;
  const { renewDeadlineMs = RENEW_DEADLINE_MS, retryPeriodMs = RETRY_PERIOD_MS } = options;
  const leading = new AbortController();
  const lose = (): void => leading.abort();
  let deadline = since + renewDeadlineMs;
  let cancelDeadline = clock.schedule(deadline - clock.elapsed(), lose);
  // Ends the sleep between renewals as well.
  const stop = AbortSignal.any([leading.signal, signal]);
  metrics.leading(name, true);
  log.info('Leading');
  options.onStarted(leading.signal, () => !leading.signal.aborted && clock.elapsed() < deadline);
  while (!stop.aborted) {
    await sleep(clock, retryPeriodMs, stop);
    if (stop.aborted) break;
    const sent = clock.elapsed();
    try {
      const outcome = await lease.renew(leading.signal);
      if (outcome !== 'renewed' || leading.signal.aborted) break;
      cancelDeadline();
      deadline = sent + renewDeadlineMs;
      cancelDeadline = clock.schedule(deadline - clock.elapsed(), lose);
    } catch (err) {
      log.warn({ err }, 'Lease not renewed, will retry');
    }
  }
  const lost = !signal.aborted || leading.signal.aborted;
  // On request the lease is still ours until it is released; whatever writes under it must end first.
  if (lost) lose();
  metrics.leading(name, false);
  log.info({ lost }, 'No longer leading');
  const stopped = stopQuietly(options, log);
  if (!lost) await Promise.race([stopped, untilAborted(leading.signal)]);
  const inTime = !lost && !leading.signal.aborted;
  lose();
  if (inTime) await lease.release();
  cancelDeadline();
  await stopped;
  return lost ? 'lost' : 'released';
}

async function stopQuietly({ onStopped }: LeaderElectionOptions, log: Logger): Promise<void> {
  try {
    await onStopped();
  } catch (err) {
    log.error({ err }, 'Cleanup after the loss of leadership failed');
  }
}

/** A candidate's knowledge of the lease, and its writes of it. Each of them may fail as the client does. */
interface OpenLease {
  /** Milliseconds until the lease may be taken; 0 if it is free or ours. */
  heldByAnotherMs(): number;
  /** True: the lease is ours. */
  tryToAcquire(): Promise<boolean>;
  renew(leading: AbortSignal): Promise<'renewed' | 'taken'>;
  /** Lets another lead at once instead of after the lease's duration. Does not fail. */
  release(): Promise<void>;
}

function openLease(options: LeaderElectionOptions, log: Logger): OpenLease {
  const { client, namespace, name, identity, signal, clock = systemClock } = options;
  const { leaseDurationMs = LEASE_DURATION_MS } = options;
  /** The lease as last read or written, and when it last said something new. */
  let seen: { readonly lease: Lease; readonly spec: string; readonly at: number } | undefined;
  let acquireTime = '';

  function see(lease: Lease): void {
    const spec = JSON.stringify(lease.spec ?? {});
    // Only what the holder writes is a sign of life, not somebody's label.
    seen = { lease, spec, at: seen?.spec === spec ? seen.at : clock.elapsed() };
  }

  function nextSpec(current: ILeaseSpec, acquiring: boolean): ILeaseSpec {
    const renewTime = microTime(clock.now());
    if (acquiring) acquireTime = renewTime;
    const another = current.holderIdentity !== undefined && current.holderIdentity !== identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      acquireTime,
      renewTime,
      leaseTransitions: (current.leaseTransitions ?? 0) + (acquiring && another ? 1 : 0),
    };
  }

  function heldByAnotherMs(): number {
    const holder = seen?.lease.spec?.holderIdentity;
    if (seen === undefined || holder === undefined || holder === '' || holder === identity) return 0;
    const theirs = (seen.lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return Math.max(0, seen.at + Math.max(theirs, leaseDurationMs) - clock.elapsed());
  }

  return {
    heldByAnotherMs,
    async tryToAcquire() {
      try {
        see(await client.get<Lease>(LEASES, { namespace, name }, { signal }));
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
        const metadata = { namespace, name };
        const lease = { apiVersion: apiVersionOf(LEASES), kind: 'Lease', metadata, spec: nextSpec({}, true) };
        see(await client.create<Lease>(LEASES, lease, { signal }));
        return true;
      }
      if (heldByAnotherMs() > 0 || seen === undefined) return false;
      const { lease } = seen;
      see(await client.replace<Lease>(LEASES, { ...lease, spec: nextSpec(lease.spec ?? {}, true) }, { signal }));
      return true;
    },
    async renew(leading) {
      if (seen === undefined) throw new Error('renew the lease: it was never read');
      try {
        const spec = nextSpec(seen.lease.spec ?? {}, false);
        see(await client.replace<Lease>(LEASES, { ...seen.lease, spec }, { signal: leading }));
        return 'renewed';
      } catch (error) {
        // Any candidate creates it and leads.
        if (error instanceof NotFound) return 'taken';
        if (!(error instanceof Conflict)) throw error;
        // Somebody else wrote: a label, our own renewal whose answer was lost, or a new holder.
        const current = await client.get<Lease>(LEASES, { namespace, name }, { signal: leading });
        if (current.spec?.holderIdentity !== identity) return 'taken';
        see(current);
        throw error;
      }
    },
    async release() {
      if (seen === undefined) return;
      const freed = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now()) };
      try {
        await client.replace<Lease>(LEASES, { ...seen.lease, spec: { ...seen.lease.spec, ...freed } });
        log.info('Lease released');
      } catch (err) {
        log.warn({ err }, 'Lease not released');
      }
    },
  };
}
