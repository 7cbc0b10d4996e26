// What the judge of I6 lets pass, and what not.

import { describe, expect, it } from 'vitest';
import type { Fault, WorkloadName } from './fault.ts';
import type { Seen, Sighting } from './object-history.ts';
import { dishonest } from './ready-truthfulness.ts';

type Said = Omit<Sighting, 'version'>;

const OLD = 'registry.example/shop:1';
const NEW = 'registry.example/shop:2';
const OUTAGE: Fault = { kind: 'outage', phase: 'image', status: 500 };

function said(kind: string, name: string, rest: Partial<Seen>, at: number): Said {
  const metadata = { name, uid: `${kind}-${name}`, generation: 1, ...rest.metadata };
  return { kind, object: { ...rest, metadata } as Seen, gone: false, at };
}

function aRecord(generation: number, image: string, status: object | undefined, at: number): Said {
  const spec = { sourceRevisionConfig: { imageUri: image } };
  return said('AppDeployment', 'shop', { metadata: { name: 'shop', generation }, spec, ...(status && { status }) }, at);
}

/** With a main service and PostgreSQL. */
function aRevision(generation: number, image: string, at: number, state?: string): Said {
  const spec = {
    id: `r${generation}`,
    deploymentName: 'shop',
    deploymentUid: 'AppDeployment-shop',
    deploymentGeneration: generation,
    requested: { sourceRevisionConfig: { imageUri: image } },
    resolved: { server: { minScale: 1, maxScale: 1 }, postgres: {} },
  };
  return said('AppRevision', `shop--${generation}`, { spec, ...(state && { status: { state } }) }, at);
}

function aServer(revision: number, at: number, status: object = {}): Said {
  const spec = { replicas: 1, template: { metadata: { labels: { 'davit.dev/revision': `r${revision}` } } } };
  const whole = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, ...status };
  return said('Deployment', 'shop', { spec, status: whole }, at);
}

function aDatabase(at: number, status: object = {}): Said {
  const whole = { observedGeneration: 1, readyReplicas: 1, currentRevision: 'a', updateRevision: 'a', ...status };
  return said('StatefulSet', 'shop--postgres', { spec: { replicas: 1 }, status: whole }, at);
}

interface Ready {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

function status(observed: number, latest: number, ready: Ready, image = OLD): object {
  const condition = { type: 'Ready', status: 'False', reason: 'RequestFailed', message: '', ...ready };
  return { observedGeneration: observed, latestRevisionId: `r${latest}`, image, conditions: [condition] };
}

function judged(history: readonly Said[], fault: Fault = OUTAGE, workload: WorkloadName = 'image'): string | undefined {
  const versioned = history.map((sighting, index) => ({ ...sighting, version: BigInt(index) }));
  return dishonest({ plan: { workload, fault }, history: versioned });
}

describe('a generation that is said to be seen, with the revision of an earlier one', () => {
  const CREATE = 'The request to create AppRevision shop--2 failed: no.';
  const before = [aRecord(1, OLD, undefined, 0), aRevision(1, OLD, 10), aRecord(2, NEW, undefined, 1000)];
  const reported = (ready: Ready, at = 2000): Said => aRecord(2, NEW, status(2, 1, ready), at);

  it.each([
    { reason: 'the request for the new one failed', history: [reported({ message: CREATE })] },
    {
      reason: 'it was refused',
      history: [
        reported({ reason: 'ApplyRefused', message: 'The API server refused to create AppRevision shop--2: no.' }),
      ],
    },
    {
      reason: 'the finalizer cannot be put on',
      history: [reported({ message: 'The request to put the finalizer on AppDeployment shop failed: no.' })],
    },
    {
      reason: 'it was made a moment ago, and the answer lost',
      history: [aRevision(2, NEW, 1500), reported({ message: CREATE })],
    },
    { reason: 'the record is paused', history: [reported({ reason: 'Paused', message: 'This record is paused.' })] },
  ])('is accepted where $reason', ({ history }) => {
    expect(judged([...before, ...history])).toBeUndefined();
  });

  it.each([
    { reason: 'nothing failed', history: [reported({ reason: 'Progressing', message: CREATE })] },
    {
      reason: 'something else failed',
      history: [reported({ message: 'The request to apply Service shop failed: no.' })],
    },
    { reason: 'a name is taken', history: [reported({ reason: 'NameConflict', message: CREATE })] },
    { reason: 'it is Ready all the same', history: [reported({ status: 'True', message: CREATE })] },
    { reason: 'nothing is said', history: [aRecord(2, NEW, { observedGeneration: 2, latestRevisionId: 'r1' }, 2000)] },
    {
      reason: 'no request can have failed',
      history: [reported({ message: CREATE })],
      fault: { kind: 'none' } as Fault,
    },
    {
      reason: 'the new one has been there for long',
      history: [aRevision(2, NEW, 1500), reported({ message: CREATE }, 9000)],
    },
    {
      reason: 'a newer one of another image has been there for long',
      history: [aRevision(2, 'registry.example/shop:3', 1500), reported({ message: CREATE }, 9000)],
    },
  ])('is refused where $reason', ({ history, fault }) => {
    expect(judged([...before, ...history], fault)).toContain('generation 2 is said to be seen');
  });

  it('has longer where the fault lasts', () => {
    const history = [...before, aRevision(2, NEW, 1500), reported({ message: CREATE }, 9000)];
    expect(judged(history, { ...OUTAGE, ms: 6000 })).toBeUndefined();
  });
});

describe('Ready and DEPLOYED, held against what is there', () => {
  const ready = (at: number): Said => aRecord(1, OLD, status(1, 1, { status: 'True', reason: 'Serving' }), at);
  const before = [aRecord(1, OLD, undefined, 0), aRevision(1, OLD, 10)];
  const claims = [
    { claim: 'Ready', made: ready },
    { claim: 'DEPLOYED', made: (at: number): Said => aRevision(1, OLD, at, 'DEPLOYED') },
  ];
  const states = [
    { reason: 'every part runs it', parts: [aServer(1, 20), aDatabase(20)], problem: undefined },
    { reason: 'there is no database', parts: [aServer(1, 20)], problem: 'StatefulSet shop--postgres is not there' },
    {
      reason: 'its database has no ready pod',
      parts: [aServer(1, 20), aDatabase(20, { readyReplicas: 0 })],
      problem: 'has no ready pod',
    },
    {
      reason: 'its database is being restarted',
      parts: [aServer(1, 20), aDatabase(20, { updateRevision: 'b' })],
      problem: 'is still being rolled',
    },
    {
      reason: 'its database was not looked at',
      parts: [aServer(1, 20), aDatabase(20, { observedGeneration: 0 })],
      problem: 'has not been looked at',
    },
    {
      reason: 'pods of an older one are left',
      parts: [aServer(1, 20, { replicas: 2 }), aDatabase(20)],
      problem: 'has 2/1/1 of 1 replicas',
    },
    {
      reason: 'the service is of another one',
      parts: [aServer(2, 20), aDatabase(20)],
      problem: 'is of another revision',
    },
    {
      reason: 'the service was whole a moment ago',
      parts: [aServer(1, 20), aDatabase(20), aServer(1, 30, { availableReplicas: 0 })],
      problem: 'has 1/1/0 of 1 replicas',
    },
  ];

  it.each(claims.flatMap((claim) => states.map((state) => ({ ...claim, ...state }))))(
    '$claim, and $reason: $problem',
    ({ made, parts, problem }) => {
      const wrong = judged([...before, ...parts, made(40)]);
      if (problem === undefined) expect(wrong).toBeUndefined();
      else expect(wrong).toContain(problem);
    },
  );

  it.each(claims)('$claim: a moment ago is enough where a person meddles', ({ made }) => {
    const history = [...before, aServer(1, 20), aDatabase(20), aServer(1, 30, { availableReplicas: 0 }), made(40)];
    expect(judged(history, { kind: 'none' }, 'drift')).toBeUndefined();
  });

  it.each([
    { reason: 'it was whole for long', rolledAt: 20, parts: {}, fault: 'none', refused: true },
    { reason: 'it had just become whole', rolledAt: 4500, parts: {}, fault: 'none', refused: false },
    { reason: 'its database was not', rolledAt: 20, parts: { readyReplicas: 0 }, fault: 'none', refused: false },
    { reason: 'its database was changed a moment ago', rolledAt: 20, late: 0, fault: 'none', refused: false },
    { reason: 'a crash was among it', rolledAt: 20, parts: {}, fault: 'crash-loop', refused: false },
  ])('SKIPPED where $reason: refused is $refused', ({ rolledAt, parts, late, fault, refused }) => {
    const changed = late === undefined ? [] : [aDatabase(4800, { readyReplicas: late })];
    const rolled = [aServer(1, rolledAt), aDatabase(rolledAt, parts), ...changed];
    const history = [...before, ...rolled, aRevision(2, NEW, 5000), aRevision(1, OLD, 5100, 'SKIPPED')];
    const wrong = judged(history, { kind: fault } as Fault);
    if (refused) expect(wrong).toContain('though it was rolled out whole');
    else expect(wrong).toBeUndefined();
  });

  it('nothing is asked of a revision that was overtaken, nor of what was DEPLOYED before', () => {
    expect(judged([...before, aRevision(2, NEW, 30), aRevision(1, OLD, 40, 'DEPLOYED')])).toBeUndefined();
    const history = [...before, aServer(1, 20), aDatabase(20), aRevision(1, OLD, 30, 'DEPLOYED')];
    expect(judged([...history, aServer(1, 40, { replicas: 2 }), aRevision(1, OLD, 50, 'DEPLOYED')])).toBeUndefined();
  });
});

it('the PostgreSQL of a revision is that of the number of its database', () => {
  const moved = aRevision(2, OLD, 30);
  moved.object.spec.resolved.movedDatabase = { number: 1 };
  const ready = { type: 'Ready', status: 'True', reason: 'Serving', message: '' };
  const report = { observedGeneration: 2, latestRevisionId: 'r2', image: OLD, conditions: [ready] };
  const begun = [
    aRecord(1, OLD, undefined, 0),
    aRevision(1, OLD, 10),
    aDatabase(20),
    aRecord(2, OLD, undefined, 25),
    moved,
  ];
  const next = {
    ...aDatabase(40),
    object: { ...aDatabase(40).object, metadata: { name: 'shop---pg1', generation: 1 } },
  };
  const end = [aServer(2, 50), aRecord(2, OLD, report, 60)];
  expect(judged([...begun, next, ...end])).toBeUndefined();
  expect(judged([...begun, ...end])).toContain('StatefulSet shop---pg1 is not there');
});
