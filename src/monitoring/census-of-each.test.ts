import { expect, it } from 'vitest';
import { aRecord } from '../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../schema/app-deployment.ts';
import { censusOfEach } from './census-of-each.ts';

const AT = '2026-01-01T00:00:00Z';

function record(name: string, ready: 'True' | 'False', reason: string, stalled: 'True' | 'False'): AppDeployment {
  const common = { message: '', lastTransitionTime: AT };
  const conditions = [
    { type: 'Ready', status: ready, reason, ...common },
    { type: 'Stalled', status: stalled, reason: stalled === 'True' ? reason : 'Settled', ...common },
  ];
  const made = aRecord({}, { status: { conditions } as AppDeploymentStatus });
  return { ...made, metadata: { ...made.metadata, name } };
}

const RECORDS = [
  record('a', 'True', 'Serving', 'False'),
  record('b', 'False', 'Progressing', 'False'),
  record('c', 'False', 'PodsRefused', 'True'),
  record('d', 'True', 'Serving', 'False'),
];

it('names each record with its reason, and since when it is stalled', () => {
  const { records, omitted } = censusOfEach(RECORDS, 10);
  expect(omitted).toBe(0);
  expect(records.map(({ name, reason, isReady }) => `${name} ${reason} ${isReady}`)).toEqual([
    'c PodsRefused false',
    'b Progressing false',
    'a Serving true',
    'd Serving true',
  ]);
  expect(records[0]).toMatchObject({
    namespace: 'team',
    stalled: { reason: 'PodsRefused', at: Date.parse(AT) / 1000 },
  });
});

it('leaves out those that need nobody first, and says how many', () => {
  const { records, omitted } = censusOfEach(RECORDS, 2);
  expect([records.map(({ name }) => name), omitted]).toEqual([['c', 'b'], 2]);
});

it('a record without a status is there, and a reason that nobody knows is Other', () => {
  const { records } = censusOfEach([aRecord(), record('x', 'False', 'Invented', 'True')], 10);
  expect(records.map(({ reason }) => reason)).toEqual(['Other', 'NotObserved']);
});
