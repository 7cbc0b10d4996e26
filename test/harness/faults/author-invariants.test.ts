// What the judge of authors lets pass, and what not.

import { expect, it } from 'vitest';
import { misattributed } from './author-invariants.ts';
import type { Seen, Sighting } from './object-history.ts';

type Said = Omit<Sighting, 'version'>;

interface Asked {
  readonly by?: string;
  readonly scales?: string;
  readonly deletionTimestamp?: string;
}

function aRecord(generation: number, { by, scales, deletionTimestamp }: Asked = {}, status?: object): Said {
  const annotations = {
    ...(by !== undefined && { 'example.com/really-by': by }),
    ...(scales !== undefined && { 'example.com/really-scales': scales }),
  };
  const metadata = { name: 'shop', uid: 'u', generation, annotations, ...(deletionTimestamp && { deletionTimestamp }) };
  return { kind: 'AppDeployment', gone: false, at: 0, object: { metadata, ...(status && { status }) } as Seen };
}

function aRevision(generation: number, requestedBy?: string): Said {
  const spec = { deploymentUid: 'u', deploymentGeneration: generation, ...(requestedBy && { requestedBy }) };
  const metadata = { name: `shop--${generation}`, uid: `r${generation}` };
  return { kind: 'AppRevision', gone: false, at: 0, object: { metadata, spec } as Seen };
}

function status(observedGeneration: number, changedBy?: string, ready = 'True', message = ''): object {
  const conditions = [{ type: 'Ready', status: ready, message }];
  return { observedGeneration, conditions, ...(changedBy && { changedBy }) };
}

const DELETED = '2026-01-01T00:00:00Z';

it.each([
  {
    reason: 'one asks after the other',
    history: [aRecord(1), aRevision(1), aRecord(2, { by: 'anna' }), aRevision(2, 'anna')],
  },
  {
    reason: 'the record served in between',
    history: [
      aRevision(1),
      aRecord(2, { by: 'bert' }),
      aRecord(2, { by: 'bert' }, status(2, 'bert')),
      aRecord(3, { by: 'anna' }),
      aRevision(3, 'anna'),
    ],
  },
  {
    reason: 'Davit has seen that the change in between was one of the scale',
    history: [
      aRevision(1),
      aRecord(2, { by: 'bert', scales: 'true' }, status(2, 'bert', 'False')),
      aRecord(3, { by: 'anna', scales: 'false' }),
      aRevision(3, 'anna'),
    ],
  },
  {
    reason: 'Davit has not seen the change of the scale in between, and names nobody',
    history: [
      aRevision(1),
      aRecord(2, { by: 'bert', scales: 'true' }),
      aRecord(3, { by: 'anna', scales: 'false' }),
      aRevision(3),
    ],
  },
  {
    reason: 'two changes are one revision, which is nobody’s',
    history: [aRevision(1), aRecord(2, { by: 'nobody' }), aRecord(3, { by: 'anna' }), aRevision(3)],
  },
  {
    reason: 'a deletion names nobody',
    history: [
      aRecord(2, { by: 'bert' }, status(2, 'bert')),
      aRecord(3, { by: 'bert', deletionTimestamp: DELETED }, status(2, 'bert')),
      aRecord(3, { by: 'bert', deletionTimestamp: DELETED }, status(3, undefined, 'False')),
    ],
  },
])('nothing is said where $reason', ({ history }) => {
  expect(judged(history)).toBeUndefined();
});

it.each([
  {
    reason: 'of another',
    history: [aRevision(1), aRecord(2, { by: 'anna' }), aRevision(2, 'bert')],
    says: 'shop--2: requested by bert, and generation 2 was by anna',
  },
  {
    reason: 'of nobody, and one asked alone',
    history: [aRevision(1), aRecord(2, { by: 'anna' }), aRevision(2)],
    says: 'shop--2: requested by nobody, and generation 2 was by anna',
  },
  {
    reason: 'of one of two',
    history: [aRevision(1), aRecord(2, { by: 'nobody' }), aRecord(3, { by: 'anna' }), aRevision(3, 'anna')],
    says: 'shop--3: requested by anna, and generation 3 was by anna, after changes of others',
  },
  {
    reason: 'of one of two, of whom one has scaled as well',
    history: [
      aRevision(1),
      aRecord(2, { by: 'bert', scales: 'false' }, status(2, 'bert', 'False')),
      aRecord(3, { by: 'bert', scales: 'true' }, status(3, 'bert', 'False')),
      aRecord(4, { by: 'anna', scales: 'false' }),
      aRevision(4, 'anna'),
    ],
    says: 'shop--4: requested by anna, and generation 4 was by anna, after changes of others',
  },
  {
    reason: 'of nobody, after a change of the scale that Davit has seen',
    history: [
      aRevision(1),
      aRecord(2, { by: 'bert', scales: 'true' }, status(2, 'bert', 'False')),
      aRecord(3, { by: 'anna', scales: 'false' }),
      aRevision(3),
    ],
    says: 'shop--3: requested by nobody, and generation 3 was by anna',
  },
  {
    reason: 'a change of who changed before',
    history: [aRecord(2, { by: 'bert' }), aRecord(3, { by: 'anna' }, status(3, 'bert'))],
    says: 'shop: generation 3 is said to be changed by bert, and was by anna',
  },
  {
    reason: 'a deletion of who changed before',
    history: [aRecord(2, { by: 'bert', deletionTimestamp: DELETED }, status(2, 'bert', 'False'))],
    says: 'shop: generation 2 is said to be changed by bert, and was by nobody',
  },
])('a wrong name is seen: $reason', ({ history, says }) => {
  expect(judged(history)).toBe(says);
});

function judged(history: readonly Said[]): string | undefined {
  return misattributed(history.map((sighting, index) => ({ ...sighting, version: BigInt(index) })));
}
