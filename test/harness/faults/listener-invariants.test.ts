// Each row is a run that breaks one promise; the run that all of them start from breaks none.

import { describe, expect, it } from 'vitest';
import { type Checkpoint, judgeListener, type ListenerRun, OWN, VALUES } from './listener-invariants.ts';
import type { Seen, Sighting } from './object-history.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function seen(kind: string, at: number, object: object, gone = false): Sighting {
  return { kind, at, gone, version: BigInt(at), object: object as Seen };
}

const ready = (status: string): object => ({
  state: status === 'True' ? 'READY' : 'UNKNOWN',
  observedGeneration: 1,
  conditions: [{ type: 'Ready', status, reason: 'Serving' }],
});
const record = (at: number, more: object = {}, gone = false): Sighting =>
  seen(
    'AppDeployment',
    at,
    {
      metadata: { name: 'shop', uid: 'r1', generation: 1, namespace: 't' },
      spec: { sourceConfig: { listenerId: 'l' }, secrets: [{ secretName: 'values-1' }] },
      status: ready('True'),
      ...more,
    },
    gone,
  );
const copy = (at: number, more: object = {}, gone = false): Sighting =>
  seen(
    'AppDeployment',
    at,
    {
      metadata: {
        name: 'shop',
        uid: 'c1',
        generation: 1,
        annotations: { 'davit.dev/origin-id': 'r1', 'davit.dev/origin-generation': '1' },
      },
      status: ready('True'),
      ...more,
    },
    gone,
  );
const secretCopy = (name: string, value: string = VALUES.first, owner = 'r1'): Sighting =>
  seen('Secret', 5, {
    metadata: { name, uid: name, labels: { 'davit.dev/listener-copy': owner } },
    data: { key: base64(value) },
  });
const own = (at: number, more: object = {}, gone = false): Sighting =>
  seen('Secret', at, { metadata: { name: OWN, uid: 'own' }, data: { key: base64(VALUES.remoteOwn) }, ...more }, gone);
const work = (at: number, gone = false): Sighting =>
  seen('ListenerWork', at, { metadata: { name: 'r1', uid: 'w1' } }, gone);
const revision = (id: string, secretName = 'values-1'): Sighting =>
  seen('AppRevision', 6, {
    metadata: { name: `shop--${id}`, ownerReferences: [{ kind: 'AppDeployment', name: 'shop', uid: 'r1' }] },
    spec: { id, requested: { secrets: [{ secretName }] } },
  });
const pods = (id: string): Sighting =>
  seen('Deployment', 7, {
    metadata: { name: 'shop', labels: { 'davit.dev/deployment': 'shop' } },
    spec: { template: { spec: { containers: [{ env: [{ name: 'DAVIT_DEPLOYMENT_ID', value: id }] }] } } },
  });

const there = [copy(9), secretCopy('values-1'), own(1), revision('v1'), pods('r1')];
const here = [record(10), work(8), revision('v1')];

function run(more: Partial<ListenerRun> = {}): ListenerRun {
  return {
    plan: { workload: 'listener-life', side: 'link', fault: { kind: 'none' } },
    tenant: 't',
    hubNamespace: 'davit-lsn-1',
    place: 'p',
    checkpoints: [{ phase: 'create', hub: here, remote: there }],
    hubHistory: here,
    remoteHistory: there,
    cloned: [],
    deletions: new Map(),
    abandoned: new Set(),
    linkWrites: [],
    remoteWrites: [],
    bodies: [],
    log: '',
    stuck: undefined,
    restless: undefined,
    accidents: 0,
    ...more,
  };
}
const at = (hub: readonly Sighting[], remote: readonly Sighting[]): Partial<ListenerRun> => ({
  checkpoints: [{ phase: 'create', hub, remote } satisfies Checkpoint],
});

it('a run that keeps every promise', () => {
  expect(judgeListener(run())).toEqual([]);
});

it('a Secret that an earlier revision names', () => {
  const remote = [...there, revision('v0', 'values-0'), secretCopy('values-0')];
  expect(judgeListener(run(at([...here, revision('v0', 'values-0')], remote)))).toEqual([]);
});

it('a deletion that was asked for', () => {
  const deletion = run({
    // The garbage collection may not have come to the revision yet.
    ...at([revision('v1')], [own(1)]),
    hubHistory: [...here, record(5000, {}, true), work(5100, true)],
    remoteHistory: [...there, copy(4000, {}, true)],
    deletions: new Map([['r1', 3000]]),
  });
  expect(judgeListener(deletion)).toEqual([]);
});

describe('a broken promise', () => {
  it.each<{ reason: string; broken: Partial<ListenerRun>; want: string }>([
    { reason: 'it did not end', broken: { stuck: 'create' }, want: 'I1 converges: create' },
    { reason: 'it goes on writing', broken: { restless: 'still' }, want: 'I2 stable: still' },
    {
      reason: 'no copy',
      broken: at(here, [secretCopy('values-1'), revision('v1')]),
      want: 'I3 counts: create: shop has 0',
    },
    {
      reason: 'a second copy',
      broken: {
        remoteHistory: [...there, copy(20, { metadata: { ...copy(20).object.metadata, uid: 'c2' } })],
      },
      want: 'I3 counts: record r1 was copied twice',
    },
    {
      reason: 'a copy of an earlier generation',
      broken: at([record(10, { metadata: { ...record(1).object.metadata, generation: 2 } }), work(8)], there),
      want: 'I3 counts: create: the copy of shop has generation 1, not 2',
    },
    {
      reason: 'a copy without a record',
      broken: at([], [copy(9)]),
      want: 'I3 counts: create: the copy shop has no record',
    },
    {
      reason: 'an own object is changed',
      broken: { remoteHistory: [...there, own(20, { data: {} })] },
      want: 'I4 no theft: Secret own of the cluster was changed',
    },
    {
      reason: 'an own object is deleted',
      broken: { remoteHistory: [...there, own(20, {}, true)] },
      want: 'I4 no theft: Secret own of the cluster was deleted',
    },
    {
      reason: 'a copy is deleted and its record is not',
      broken: { remoteHistory: [...there, copy(20, {}, true)] },
      want: 'I4 no theft: the copy shop of r1 was deleted',
    },
    {
      reason: 'a copy is deleted before its record',
      broken: { remoteHistory: [...there, copy(20, {}, true)], deletions: new Map([['r1', 30]]) },
      want: 'I4 no theft: the copy shop of r1 was deleted',
    },
    {
      reason: 'a delete without a uid',
      broken: { remoteWrites: [{ label: 'delete x', verb: 'delete', resource: 'secrets', body: {} }] },
      want: 'I4 no theft: delete x has no uid',
    },
    {
      reason: 'a clone works',
      broken: { cloned: [copy(20)] },
      want: 'I4 no theft: a clone of the cluster was given AppDeployment shop',
    },
    {
      reason: 'a work is left',
      broken: at([work(8)], []),
      want: 'I4 no leak: create: ListenerWork r1 is left',
    },
    {
      reason: 'a copy of a Secret is left',
      broken: at([], [secretCopy('values-1')]),
      want: 'I4 no leak: create: Secret values-1 is left',
    },
    { reason: 'children are left', broken: at([], [pods('r1')]), want: 'I4 no leak: create: Deployment shop is left' },
    {
      reason: 'a Secret that is not used any more',
      broken: at(here, [...there, secretCopy('values-0')]),
      want: 'I4 no leak: create: the copy of Secret values-0',
    },
    {
      reason: 'a Secret that was not copied',
      broken: at(here, [copy(9), revision('v1')]),
      want: 'I4 no leak: create: Secret values-1 was not copied',
    },
    {
      reason: 'Ready before the copy',
      broken: { remoteHistory: [copy(9, { status: ready('False') })] },
      want: 'I6 honest: shop was Ready at generation 1 before its copy was',
    },
    {
      reason: 'READY although the cluster is silent',
      broken: { silence: { from: 100, to: 9000, allowedMs: 2000 } },
      want: 'I6 honest: shop is READY 2000 ms after the link was cut',
    },
    {
      reason: 'gone before its copy',
      broken: {
        hubHistory: [...here, record(50, {}, true)],
        remoteHistory: [...there, copy(9000, {}, true)],
        deletions: new Map([['r1', 20]]),
      },
      want: 'I6 honest: shop was gone before its copy',
    },
    {
      reason: 'no tombstone',
      broken: { hubHistory: [...here, record(50, {}, true), work(51, true)], abandoned: new Set(['r1']) },
      want: 'I6 honest: the work of r1 was gone before its copy',
    },
    {
      reason: 'a revision of another id',
      broken: at([...here, revision('v2')], there),
      want: 'I7 exactly once: create: the cluster has no revision v2',
    },
    {
      reason: 'pods are told another id',
      broken: at(here, [copy(9), secretCopy('values-1'), revision('v1'), pods('c1')]),
      want: 'I7 exactly once: create: the pods of shop are told c1, not r1',
    },
    {
      reason: "the cluster's own value on the hub",
      broken: { hubHistory: [...here, secretCopy('own', VALUES.remoteOwn)] },
      want: "I8 no secret elsewhere: a value of the cluster's own Secret is on the hub",
    },
    {
      reason: 'a Secret that nothing of `secrets` names',
      broken: { remoteHistory: [...there, secretCopy('x', VALUES.hubOwn)] },
      want: 'I8 no secret elsewhere: the Secret of the tenant',
    },
    {
      reason: 'a value in a log',
      broken: { log: `KEY=${VALUES.first}` },
      want: 'I8 no secret elsewhere: a value is in a log',
    },
    {
      reason: 'a value in a report',
      broken: { bodies: [{ resource: 'listenerworks/status', body: { status: base64(VALUES.second) } }] },
      want: 'I8 no secret elsewhere: a value was sent to listenerworks/status',
    },
    {
      reason: 'a write by a revoked token',
      broken: { revoked: { at: 100, forgottenAfterMs: 50 }, linkWrites: [{ label: 'report', at: 200, status: 200 }] },
      want: 'S1 revoked: report was accepted',
    },
    { reason: 'a process ends', broken: { accidents: 1 }, want: 'I13 no accident: a process' },
  ])('$reason', ({ broken, want }) => {
    const found = judgeListener(run(broken)).map(({ invariant, what }) => `${invariant}: ${what}`);
    expect(found.find((one) => one.startsWith(want)) ?? found).toEqual(expect.stringContaining(want));
  });
});

describe('no promise is broken by', () => {
  it.each<{ reason: string; fine: Partial<ListenerRun> }>([
    {
      reason: 'UNKNOWN in silence, READY after it',
      fine: {
        hubHistory: [record(10), record(1500, { status: ready('Unknown') }), record(9500)],
        silence: { from: 100, to: 9000, allowedMs: 2000 },
      },
    },
    {
      reason: 'a refused write after the revocation',
      fine: { revoked: { at: 100, forgottenAfterMs: 50 }, linkWrites: [{ label: 'report', at: 200, status: 401 }] },
    },
    {
      reason: 'a record that was given up and is gone before its copy',
      fine: {
        hubHistory: [...here, record(50, {}, true), work(9100, true)],
        remoteHistory: [...there, copy(9000, {}, true)],
        deletions: new Map([['r1', 20]]),
        abandoned: new Set(['r1']),
      },
    },
  ])('$reason', ({ fine }) => {
    expect(judgeListener(run(fine))).toEqual([]);
  });
});
