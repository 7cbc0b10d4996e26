// A client that writes only while this process leads: writes that were in flight when leadership was lost must not reach the
// server.

import { Unavailable } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { wrapClient } from './wrap-client.ts';

/**
 * The same client, whose writes throw Unavailable once `leading` has aborted or the lease no longer `holds`. Writes in
 * flight are aborted at that moment: a write that waits for a connection or for a retry is not sent. Reads continue.
 */
export function leaderOnly(client: KubeClient, leading: AbortSignal, holds: () => boolean): KubeClient {
  /** The combined signal of all writes of a reconcile, which share a signal. */
  const together = new WeakMap<AbortSignal, AbortSignal>();

  function either(signal: AbortSignal): AbortSignal {
    const known = together.get(signal);
    if (known) return known;
    const any = AbortSignal.any([leading, signal]);
    together.set(signal, any);
    return any;
  }

  return wrapClient(client, async ({ writes, signal }, send) => {
    if (!writes) return send();
    if (!holds()) throw new Unavailable('write: this process no longer leads');
    return send({ signal: signal === undefined ? leading : either(signal), isStillWanted: holds });
  });
}
