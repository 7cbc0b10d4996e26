import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
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

it('says since when the data of a record or its service is in trouble, also of one that is Ready', () => {
  const ready = (name: string, conditions: object[], metadata = {}): AppDeployment => {
    const made = record(name, 'True', 'Serving', 'False');
    const all = [...(made.status?.conditions ?? []), ...conditions] as AppDeploymentStatus['conditions'];
    const status = { ...made.status, state: 'UNUSED', activeRevisionId: 'a', conditions: all } as AppDeploymentStatus;
    return { ...made, metadata: { ...made.metadata, ...metadata }, status };
  };
  const condition = (type: string, status: string, reason: string): object => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: AT,
  });
  const at = Date.parse(AT) / 1000;
  const stopped = {
    ...ready('moved', [condition('Available', 'False', 'ScaledToZero')]),
    spec: aRecord({ sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } }).spec,
  };
  const held = ready('moving', [condition('Available', 'False', 'OperationRunning')]);
  const { records } = censusOfEach(
    [
      ready('a-well', [condition('BackupReady', 'True', 'BackedUp'), condition('DatabaseReady', 'True', 'Answering')]),
      ready('a-bare', [condition('BackupReady', 'False', 'NotConfigured')]),
      ready('b-stale', [condition('BackupReady', 'False', 'BackupStale')]),
      ready('c-thin', [condition('DatabaseReady', 'True', 'InstancesMissing')]),
      ready('d-no-password', [condition('DatabaseReady', 'True', 'PasswordMissing')]),
      stopped,
      { ...held, status: { ...held.status, state: 'AWAITING_DATABASE' } },
    ],
    10,
  );
  expect(Object.fromEntries(records.map(({ name, troubles }) => [name, troubles]))).toEqual({
    'b-stale': [{ condition: 'BackupReady', reason: 'BackupStale', at }],
    'c-thin': [{ condition: 'DatabaseReady', reason: 'InstancesMissing', at }],
    'd-no-password': [{ condition: 'DatabaseReady', reason: 'PasswordMissing', at }],
    'a-bare': [{ condition: 'BackupReady', reason: 'NotConfigured', at }],
    moving: [{ condition: 'Available', reason: 'OperationRunning', at }],
    'a-well': [],
    moved: [],
  });
  // Those in trouble come first, and then those without backups.
  expect(records.slice(4).map(({ name }) => name)).toEqual(['a-bare', 'a-well', 'moved']);
});
