// What some of the judges let pass, and what not; ready-truthfulness.test.ts has those of I6.

import { expect, it } from 'vitest';
import type { Run } from './evidence.ts';
import { judge, type Reference } from './invariants.ts';
import type { Seen, Sighting } from './object-history.ts';
import { emptyTrace, type Trace } from './proxy/trace.ts';

const REFERENCE: Reference = { end: [], counts: new Map(), requests: 100, seconds: 1, labels: [], children: [] };

function aTrace(trace: Partial<Trace>): Trace {
  return { ...emptyTrace(), holders: [{ actor: 'a', at: 0 }], fired: true, ...trace };
}

/** What is said of a run in which nothing else was wrong. */
function said(run: Partial<Run>): string[] {
  const whole: Run = {
    plan: { workload: 'create', fault: { kind: 'none' } },
    namespace: 'run-1',
    trace: aTrace({}),
    history: [],
    current: [],
    stuck: undefined,
    restless: false,
    accidents: 0,
    meddled: undefined,
    kills: 0,
    said: [],
    stopMs: 0,
    seconds: 1,
    log: '',
    ...run,
  };
  return judge(whole, REFERENCE).map(({ invariant, what }) => `${invariant}: ${what}`);
}

function times<T>(count: number, everyMs: number, what: T): (T & { readonly at: number })[] {
  return Array.from({ length: count }, (_, index) => ({ ...what, at: index * everyMs }));
}

it.each([
  { reason: 'pauses that double', at: [0, 20, 60, 140, 300, 620, 1260, 2540, 5100], violations: [] },
  {
    reason: 'no pauses, at 100 ms a try',
    at: times(60, 100, {}).map(({ at }) => at),
    violations: ['I9 no storm: create/patch appdeployments shop was tried 29 times in 2.9 s'],
  },
])('an outage with $reason', ({ at, violations }) => {
  const refused = at.map((one) => ({ what: 'create/patch appdeployments shop', at: one }));
  expect(said({ trace: aTrace({ refused }) })).toEqual(violations);
});

it.each([
  { reason: 'seldom', lists: times(3, 5000, { of: 'pod 1' }), kills: 0, storms: false },
  { reason: 'of several pods at once', lists: ['1', '2', '3'].map((of) => ({ of, at: 0 })), kills: 0, storms: false },
  { reason: 'at every look', lists: times(8, 200, { of: 'pod 1' }), kills: 0, storms: true },
  { reason: 'after each of two restarts', lists: times(3, 200, { of: 'pod 1' }), kills: 2, storms: false },
])('events that are listed $reason: a storm is $storms', ({ lists: eventLists, kills, storms }) => {
  expect(said({ kills, trace: aTrace({ eventLists }) })).toHaveLength(storms ? 1 : 0);
});

const LEADER_STOPPED = {
  workload: 'create',
  fault: { kind: 'leader-stopped', at: 'create/apply services shop#1' },
} as const;

it.each([
  { reason: 'at once', releases: [1300], nextAt: 1500, log: '', violations: [] },
  { reason: 'after a long drain', releases: [3000], nextAt: 3200, log: '', violations: [] },
  {
    reason: 'that nobody takes for long',
    releases: [1300],
    nextAt: 2900,
    log: '',
    violations: ['I5 one writer: took 1600 ms from the release until another held the lease'],
  },
  {
    reason: 'never',
    releases: [],
    nextAt: 2000,
    log: '{"lost":false,"msg":"No longer leading"}',
    violations: ['I5 one writer: the leader that was asked to stop did not give its lease back'],
  },
  {
    reason: 'never, since it was lost to time',
    releases: [],
    nextAt: 3900,
    log: '{"lost":true,"msg":"No longer leading"}',
    violations: [],
  },
  {
    reason: 'after the longest takeover',
    releases: [5900],
    nextAt: 6000,
    log: '',
    violations: ['I5 one writer: took 5000 ms until another held the lease'],
  },
])('a leader that is stopped gives its lease back $reason', ({ releases, nextAt, log, violations }) => {
  const holders = [
    { actor: 'a', at: 0 },
    { actor: 'b', at: nextAt },
  ] as const;
  const trace = aTrace({ firedAt: 1000, holders: [...holders], releases });
  expect(said({ plan: LEADER_STOPPED, trace, said: [{ where: 'the log', text: log }] })).toEqual(violations);
});

function sighting(kind: string, name: string, rest: Partial<Sighting> & { readonly object?: Partial<Seen> }): Sighting {
  const metadata = { name, uid: `${kind}-${name}`, ...rest.object?.metadata };
  return { kind, version: 1n, gone: false, at: 0, ...rest, object: { ...rest.object, metadata } as Seen };
}

it.each([
  {
    reason: 'another record names them',
    deletionTimestamp: undefined,
    gone: false,
    secretName: 'other--vars-1',
    lost: true,
  },
  {
    reason: 'the record that names them is going',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    gone: false,
    secretName: 'other--vars-1',
    lost: false,
  },
  {
    reason: 'the record that named them is gone',
    deletionTimestamp: undefined,
    gone: true,
    secretName: 'other--vars-1',
    lost: false,
  },
  {
    reason: 'the record names others',
    deletionTimestamp: undefined,
    gone: false,
    secretName: 'other--vars-2',
    lost: false,
  },
])('values that are deleted while $reason: lost is $lost', ({ deletionTimestamp, gone, secretName, lost }) => {
  const metadata = { name: 'calm', ...(deletionTimestamp && { deletionTimestamp }) };
  const record = { metadata, spec: { secrets: [{ name: 'A', secretName, secretKey: 'A' }] } };
  const history = [
    sighting('AppDeployment', 'calm', { object: record, gone }),
    sighting('Secret', 'other--vars-1', { version: 2n, gone: true }),
  ];
  const words = 'I11 data: Secret other--vars-1 was deleted while calm names it';
  expect(said({ history })).toEqual(lost ? [words] : []);
});

/** What is said of data. */
function lostIn(history: readonly Sighting[]): string[] {
  const violations = said({ plan: { workload: 'moves', fault: { kind: 'none' } }, history });
  return violations.filter((violation) => violation.startsWith('I11'));
}

function aRevision(number: number, version: bigint, backup?: string): Sighting {
  const movedDatabase = { number, ...(backup !== undefined && { backup }) };
  const spec = {
    id: `r${number}`,
    deploymentGeneration: number,
    requested: { sourceRevisionConfig: {} },
    resolved: { postgres: {}, ...(number > 0 && { movedDatabase }) },
  };
  const name = `shop--${number}`;
  return sighting('AppRevision', name, { version, object: { metadata: { name }, spec } });
}

function aPodOf(number: number, version: bigint, gone = false): Sighting {
  const labels = {
    'davit.dev/component': 'server',
    'davit.dev/revision': `r${number}`,
    'davit.dev/deployment': 'shop',
  };
  return sighting('Pod', `shop-${number}`, { version, gone, object: { metadata: { name: `shop-${number}`, labels } } });
}

/** The Job of the next database has loaded its backup. */
function loaded(version: bigint, exitCode = 0): Sighting {
  const labels = { 'davit.dev/component': 'restore', 'batch.kubernetes.io/job-name': 'shop---pg1-restore' };
  const containerStatuses = [{ name: 'davit-restore', state: { terminated: { exitCode } } }];
  return sighting('Pod', 'shop---pg1-restore-x', {
    version,
    object: { metadata: { name: 'shop---pg1-restore-x', labels }, status: { containerStatuses } },
  });
}

/** What runs the first database is deleted. */
function letGo(version: bigint): Sighting {
  const labels = { 'davit.dev/component': 'postgres', 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'u' };
  const metadata = { name: 'shop--postgres', labels, deletionTimestamp: '2026-01-01T00:00:00Z' };
  return sighting('StatefulSet', 'shop--postgres', { version, object: { metadata } });
}

const BACKUP = '20260202T020000Z-0000000a';

it.each([
  {
    reason: 'the pods use the next one',
    history: [aRevision(0, 1n), aRevision(1, 2n, BACKUP), loaded(3n), aPodOf(1, 4n), letGo(5n)],
    violations: [],
  },
  {
    reason: 'a pod uses it',
    history: [aRevision(0, 1n), aRevision(1, 2n, BACKUP), aPodOf(0, 3n), letGo(4n)],
    violations: ['I11 data: StatefulSet shop--postgres was deleted while pod shop-0 used it'],
  },
  {
    reason: 'the pods on it and on the next one overlap',
    history: [aRevision(0, 1n), aRevision(1, 2n, BACKUP), aPodOf(0, 3n), loaded(4n), aPodOf(1, 5n)],
    violations: ['I11 data: pod shop-1 uses database 1 while pod shop-0 uses database 0'],
  },
  {
    reason: 'its pods have gone before',
    history: [
      aRevision(0, 1n),
      aRevision(1, 2n, BACKUP),
      aPodOf(0, 3n),
      loaded(4n),
      aPodOf(0, 5n, true),
      aPodOf(1, 6n),
    ],
    violations: [],
  },
  {
    reason: 'the next one is used before it is loaded',
    history: [aRevision(0, 1n), aRevision(1, 2n, BACKUP), loaded(3n, 4), aPodOf(1, 4n)],
    violations: [`I11 data: pod shop-1 uses database 1, into which backup ${BACKUP} was not loaded`],
  },
])('a database that was moved from, where $reason', ({ history, violations }) => {
  expect(lostIn(history)).toEqual(violations);
});

it.each([
  { reason: 'by the operation of a person', number: 1, violations: [] },
  {
    reason: 'by an operation that names another one',
    number: 0,
    violations: ['I11 data: PersistentVolumeClaim shop---pg1 was deleted, and nobody asked'],
  },
])('a volume that is deleted $reason', ({ number, violations }) => {
  const labels = { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'u' };
  const spec = { deployment: 'shop', action: 'DeletePrevious', deletePrevious: { number } };
  const history = [
    sighting('DatastoreOperation', 'shop-x', { version: 1n, object: { metadata: { name: 'shop-x' }, spec } }),
    sighting('PersistentVolumeClaim', 'shop---pg1', {
      version: 2n,
      gone: true,
      object: { metadata: { name: 'shop---pg1', labels } },
    }),
  ];
  expect(lostIn(history)).toEqual(violations);
});
