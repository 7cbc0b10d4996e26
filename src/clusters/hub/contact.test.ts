import { describe, expect, it } from 'vitest';
import type { Listener } from '../../kinds/listener.ts';
import { ACCEPT_CLUSTER_ANNOTATION, CLUSTER_ID_ANNOTATION } from '../../kinds/meta.ts';
import { contactOf, type Heard, type Lease, listenerStatus } from './contact.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const SILENT_AFTER = 60_000;

function aListener(
  status: Partial<NonNullable<Listener['status']>> = {},
  annotations: Record<string, string> = {},
): Listener {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: 'team', uid: 'u', generation: 1, annotations },
    spec: {},
    status,
  };
}
function connected(status: 'True' | 'False'): Partial<NonNullable<Listener['status']>> {
  return {
    clusterId: 'one',
    conditions: [{ type: 'Connected', status, reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  };
}
function aLease(clusterId?: string, more: object = {}): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: 'davit-listener',
      annotations: {
        ...(clusterId !== undefined && { [CLUSTER_ID_ANNOTATION]: clusterId }),
        'davit.dev/agent-version': '1.2.3',
      },
    },
    // Ten minutes ahead: another clock's time is never compared.
    spec: { renewTime: '2026-01-01T12:10:00Z', leaseTransitions: 3, ...more },
  };
}
function heard(more: Partial<Heard> = {}): Heard {
  return {
    lease: aLease('one'),
    renewedMsAgo: 5000,
    watchedForMs: 100_000,
    silentAfterMs: SILENT_AFTER,
    takenInTurns: false,
    ...more,
  };
}

describe('contactOf', () => {
  it.each<[string, Listener, Heard, string, string | undefined, number | undefined]>([
    ['no Lease', aListener(), heard({ lease: undefined }), 'False NeverConnected', undefined, undefined],
    [
      'a Lease that nobody has used',
      aListener(),
      heard({ lease: aLease() }),
      'False NeverConnected',
      undefined,
      undefined,
    ],
    ['the first contact', aListener(), heard(), 'True Reporting', 'one', 55_000],
    ['renewed in time', aListener(connected('True')), heard(), 'True Reporting', 'one', 55_000],
    [
      'silent by a millisecond',
      aListener(connected('True')),
      heard({ renewedMsAgo: 60_000 }),
      'False Silent',
      'one',
      undefined,
    ],
    ['back again', aListener(connected('False')), heard({ renewedMsAgo: 0 }), 'True Reporting', 'one', 60_000],
    [
      'a restarted controller, connected before',
      aListener(connected('True')),
      heard({ renewedMsAgo: undefined, watchedForMs: 20_000 }),
      'True Reporting',
      'one',
      40_000,
    ],
    [
      'a restarted controller, which hears nothing',
      aListener(connected('True')),
      heard({ renewedMsAgo: undefined, watchedForMs: 60_000 }),
      'False Silent',
      'one',
      undefined,
    ],
    [
      'a restarted controller, silent before',
      aListener(connected('False')),
      heard({ renewedMsAgo: undefined, watchedForMs: 20_000 }),
      'False Silent',
      'one',
      40_000,
    ],
    [
      'a clone',
      aListener(connected('True')),
      heard({ lease: aLease('two') }),
      'False AnotherCluster',
      'one',
      undefined,
    ],
    [
      'a clone with the same id, or a second installation',
      aListener(connected('True')),
      heard({ takenInTurns: true }),
      'False SeveralAgents',
      'one',
      undefined,
    ],
    [
      'a cluster that a person accepts',
      aListener(connected('True'), { [ACCEPT_CLUSTER_ANNOTATION]: 'two' }),
      heard({ lease: aLease('two') }),
      'True Reporting',
      'two',
      55_000,
    ],
    [
      'a third one',
      aListener(connected('True'), { [ACCEPT_CLUSTER_ANNOTATION]: 'two' }),
      heard({ lease: aLease('three') }),
      'False AnotherCluster',
      'one',
      undefined,
    ],
    [
      'a Lease that was made again after enrolment',
      aListener(connected('True')),
      heard({ lease: aLease() }),
      'False Silent',
      'one',
      undefined,
    ],
  ])('%s', (_name, listener, seen, condition, clusterId, silentInMs) => {
    const contact = contactOf(listener, seen);
    expect([`${contact.connected.status} ${contact.connected.reason}`, contact.clusterId, contact.silentInMs]).toEqual([
      condition,
      clusterId,
      silentInMs,
    ]);
  });
});

describe('listenerStatus', () => {
  const status = (listener: Listener, seen: Heard, now = NOW): NonNullable<Listener['status']> =>
    listenerStatus(listener, { contact: contactOf(listener, seen), heard: seen, namespace: 'n', records: 2 }, now);

  it('dates the last sight by the clock of the hub, and latches cluster, version and epoch', () => {
    expect(status(aListener(), heard())).toMatchObject({
      version: '1.2.3',
      lastSeenAt: '2026-01-01T11:59:55Z',
      clusterId: 'one',
      epoch: 3,
      namespace: 'n',
      records: 2,
      conditions: [{ type: 'Connected', status: 'True', lastTransitionTime: '2026-01-01T12:00:00Z' }],
    });
  });

  it('is not written for each renewal, but every five minutes', () => {
    const first = aListener(status(aListener(), heard()));
    const at = (ms: number): unknown => status(first, heard({ renewedMsAgo: 0 }), new Date(NOW.getTime() + ms));
    expect(at(290_000)).toEqual(first.status);
    expect(at(300_000)).toMatchObject({ lastSeenAt: '2026-01-01T12:05:00Z' });
  });

  it('keeps the end of the contact, the version, and the highest epoch', () => {
    const first = aListener(status(aListener(), heard()));
    const lease = aLease('one', { leaseTransitions: 1 });
    const ended = status(first, heard({ lease, renewedMsAgo: 70_000 }), new Date(NOW.getTime() + 100_000));
    expect(ended).toMatchObject({ lastSeenAt: '2026-01-01T12:00:30Z', version: '1.2.3', epoch: 3 });
    const later = status(aListener(ended), heard({ lease, renewedMsAgo: 900_000 }), new Date(NOW.getTime() + 930_000));
    expect(later).toEqual(ended);
  });

  it('a clone changes neither the time nor the version', () => {
    const first = aListener(status(aListener(), heard()));
    const clone = status(first, heard({ lease: aLease('two'), renewedMsAgo: 0 }), new Date(NOW.getTime() + 600_000));
    expect(clone).toMatchObject({ clusterId: 'one', lastSeenAt: '2026-01-01T11:59:55Z' });
  });
});
