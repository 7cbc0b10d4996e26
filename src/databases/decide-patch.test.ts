// Whether a datastore can be patched, with the sentence that says why not.

import { expect, it } from 'vitest';
import { aRecord } from '../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../kinds/app-deployment.ts';
import type { DatastoreOperationSpec } from '../kinds/datastore-operation.ts';
import { decidePatch } from './decide-patch.ts';

const NOW = new Date('2026-02-02T12:00:00Z');
const POSTGRES = { image: 'postgres:17.5-trixie', available: 'postgres:17.6-trixie' };
const REDIS = { image: 'valkey:8.1.9-trixie', available: 'valkey:8.1.10-trixie' };
const VERIFIED = { takenAt: '2026-02-02T01:00:00Z', verifiedAt: '2026-02-02T07:00:00Z' };

function decided(
  spec: Partial<Pick<DatastoreOperationSpec, 'patch' | 'accept'>>,
  status: AppDeploymentStatus = {},
  record: Partial<AppDeployment['spec']> = {},
): ReturnType<typeof decidePatch> {
  const datastores = { postgres: POSTGRES, redis: REDIS };
  const made = aRecord(record, { status: { datastores, databaseVerification: VERIFIED, ...status } });
  return decidePatch(made, { patch: { datastore: 'postgres' }, ...spec }, NOW);
}

it.each<[Parameters<typeof decided>[0], string, typeof REDIS]>([
  [{}, 'postgres', POSTGRES],
  [{ patch: { datastore: 'redis' }, accept: ['QueueLost'] }, 'redis', REDIS],
])('%j takes the image of the platform', (spec, datastore, { image: from, available: to }) => {
  expect(decided(spec)).toEqual({ patch: { datastore, from, to } });
});

function listing(backup: object): AppDeploymentStatus {
  const stored = { name: '20260202T010000Z-0000000a', takenAt: VERIFIED.takenAt, sizeBytes: 1, ...backup };
  return { databaseVerification: {}, databaseBackups: { listedAt: VERIFIED.takenAt, count: 1, newest: [stored] } };
}

it.each<[what: string, status: AppDeploymentStatus, verified: boolean]>([
  ['is of today', {}, true],
  ['is of yesterday', { databaseVerification: { ...VERIFIED, takenAt: '2026-02-01T11:59:59Z' } }, false],
  ['is not verified', { databaseVerification: { takenAt: VERIFIED.takenAt } }, false],
  ['is missing', { databaseVerification: {} }, false],
  ['is in the list', listing({ verified: true }), true],
  ['is in the list, not verified', listing({}), false],
  ['is in the list, and of another database', listing({ verified: true, number: 3 }), false],
  [
    'is verified, and of another database',
    {
      ...listing({ number: 3 }),
      databaseVerification: { ...VERIFIED, name: '20260202T010000Z-0000000a' },
    },
    false,
  ],
  ['is in the list, and of an earlier deployment', listing({ verified: true, earlier: true }), false],
])('a backup that %s counts, unless a person does without one', (_what, status, verified) => {
  expect('patch' in decided({}, status)).toBe(verified);
  expect('patch' in decided({ accept: ['NoBackup'] }, status)).toBe(true);
  if (!verified) expect(decided({ accept: ['QueueLost'] }, status)).toMatchObject({ reason: 'NotAccepted' });
});

it.each<[Parameters<typeof decided>, RegExp]>([
  [[{ patch: { datastore: 'redis' } }], /loses its queue\. .* --datastore redis --accept QueueLost$/],
  [
    [{}, { databaseVerification: {} }],
    /was verified in the last 24 hours\. .* --datastore postgres --accept NoBackup$/,
  ],
  [[{}, { datastores: {} }], /^shop has no PostgreSQL of Davit\./],
  [
    [{}, { datastores: { postgres: { image: 'postgres:17.6' } } }],
    /^PostgreSQL of shop has image postgres:17\.6\..* kubectl davit database upgrade shop$/,
  ],
  [
    [{ patch: { datastore: 'redis' } }, { datastores: { redis: { image: 'valkey:9.0' } } }],
    /^Redis of shop has image valkey:9\.0\..* The next revision brings another major version or base\.$/,
  ],
])('%j is refused with what to do', (args, words) => {
  expect(decided(...args)).toMatchObject({ refused: expect.stringMatching(words) as string });
});

it('is refused for a deployment that is being deleted', () => {
  const record = aRecord({}, { deletionTimestamp: '2026-02-02T00:00:00Z' });
  expect(decidePatch(record, { patch: { datastore: 'redis' }, accept: ['QueueLost'] }, NOW)).toEqual({
    refused: 'shop is being deleted.',
    reason: 'NotPossible',
  });
});
