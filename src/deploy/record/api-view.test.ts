import { expect, it } from 'vitest';
import { aRecord, aRevision, UID } from '../../../test/support/builders.ts';
import { createdAt } from '../../runtime/kube/write-times.ts';
import { apiStatus, imageVersion, imageVersions, internalUrl, shownRevisionIds, updatedAt } from './api-view.ts';
import { generationRevisionId, serialRevisionId } from './revision-id.ts';

const listener = { listenerId: UID, listenerConfig: { k8sNamespace: 'team' } };

it.each([
  {
    name: 'being deleted',
    record: aRecord({}, { deletionTimestamp: '2026-01-02T00:00:00Z', status: { state: 'READY' } }),
    want: 'AWAITING_DELETE',
  },
  { name: 'reported', record: aRecord({}, { status: { state: 'READY' } }), want: 'READY' },
  { name: 'not reported', record: aRecord(), want: 'AWAITING_DATABASE' },
  {
    name: 'not reported, and without stores',
    record: aRecord({ sourceConfig: { runtime: { database: 'none', redis: 'none' } } }),
    want: 'UNKNOWN',
  },
  {
    name: 'not reported, and without a database',
    record: aRecord({ sourceConfig: { runtime: { database: 'none' } } }),
    want: 'AWAITING_DATABASE',
  },
  { name: 'scaled to zero', record: aRecord({ sourceConfig: { resourceSpec: { maxScale: 0 } } }), want: 'UNUSED' },
  {
    name: 'an image to be pushed',
    record: aRecord({ source: 'internal_docker', sourceRevisionConfig: {} }),
    want: 'UNUSED',
  },
  {
    name: 'a source to be uploaded',
    record: aRecord({ source: 'internal_source', sourceRevisionConfig: {} }),
    want: 'UNUSED',
  },
  { name: 'elsewhere', record: aRecord({ sourceConfig: listener }), want: 'UNKNOWN' },
  {
    name: 'elsewhere, scaled to zero',
    record: aRecord({ sourceConfig: { ...listener, resourceSpec: { maxScale: 0 } } }),
    want: 'UNUSED',
  },
] as const)('shows the state of a record: $name', ({ record, want }) => {
  expect(apiStatus(record)).toBe(want);
});

const reported = { status: { image: 'a:1' } };
it.each([
  { name: 'with an image that is rolled out', record: aRecord({}, reported), want: 'http://shop.team.svc' },
  { name: 'before the controller', record: aRecord(), want: null },
  { name: 'without an image', record: aRecord({}, { status: { state: 'UNUSED' } }), want: null },
  {
    name: 'being deleted',
    record: aRecord({}, { ...reported, deletionTimestamp: '2026-01-02T00:00:00Z' }),
    want: null,
  },
  { name: 'on a listener', record: aRecord({ sourceConfig: listener }, reported), want: null },
])('URL in the cluster: $name', ({ record, want }) => {
  expect(internalUrl(record)).toBe(want);
});

const record = aRecord();
it.each([
  { name: 'before the controller', record, revisions: [], want: { latest: serialRevisionId(UID, 1), active: null } },
  {
    name: 'no image yet',
    record: aRecord({ source: 'internal_docker', sourceRevisionConfig: {} }),
    revisions: [],
    want: { latest: null, active: null },
  },
  {
    name: 'rolling',
    record,
    revisions: [aRevision(record, 'DEPLOYING')],
    want: { latest: serialRevisionId(UID, 1), active: null },
  },
  {
    name: 'deployed',
    record,
    revisions: [aRevision(record, 'DEPLOYED')],
    want: { latest: serialRevisionId(UID, 1), active: serialRevisionId(UID, 1) },
  },
  {
    name: 'a failed one after it',
    record: aRecord({ revisionSerial: 2 }),
    revisions: [aRevision(record, 'DEPLOYED'), aRevision(record, 'DEPLOY_FAILED', 2)],
    want: { latest: serialRevisionId(UID, 2), active: serialRevisionId(UID, 1) },
  },
  {
    name: 'a new serial not yet made',
    record: aRecord({ revisionSerial: 2 }),
    revisions: [aRevision(record, 'DEPLOYED')],
    want: { latest: serialRevisionId(UID, 2), active: serialRevisionId(UID, 1) },
  },
  {
    name: 'an edit not yet made',
    record: aRecord({ sourceRevisionConfig: { imageUri: 'b:1' } }, { generation: 3 }),
    revisions: [aRevision(record, 'DEPLOYED')],
    want: { latest: generationRevisionId(UID, 3), active: serialRevisionId(UID, 1) },
  },
  {
    name: 'the active one out of sight',
    record: aRecord({}, { status: { activeRevisionId: UID } }),
    revisions: [],
    want: { latest: serialRevisionId(UID, 1), active: UID },
  },
])('shows the ids of revisions: $name', ({ record: shown, revisions, want }) => {
  expect(shownRevisionIds(shown, revisions)).toEqual(want);
});

const created = '2026-01-01T00:00:00Z';
it.each([
  { name: 'new', managedFields: [], stateChangedAt: undefined, want: created },
  {
    name: 'edited',
    managedFields: [{ time: '2026-01-03T00:00:00Z' }, { time: '2026-01-02T00:00:00Z' }],
    stateChangedAt: undefined,
    want: '2026-01-03T00:00:00Z',
  },
  {
    name: 'only reported on',
    managedFields: [{ time: '2026-01-02T00:00:00Z' }, { time: '2026-02-01T00:00:00Z', subresource: 'status' }],
    stateChangedAt: undefined,
    want: '2026-01-02T00:00:00Z',
  },
  {
    name: 'its state changed',
    managedFields: [{ time: '2026-01-02T00:00:00Z' }],
    stateChangedAt: '2026-01-05T00:00:00Z',
    want: '2026-01-05T00:00:00Z',
  },
  { name: 'without times', managedFields: [{ manager: 'x' }], stateChangedAt: undefined, want: created },
])('shows when a record was updated: $name', ({ managedFields, stateChangedAt, want }) => {
  const base = aRecord({}, stateChangedAt === undefined ? {} : { status: { stateChangedAt } });
  const shown = { ...base, metadata: { ...base.metadata, managedFields } };
  expect(updatedAt(shown)).toBe(want);
  expect(createdAt(shown)).toBe(created);
});

it.each([
  { imageUri: 'r.io:5000/a/b:v1.2', want: 'v1.2' },
  { imageUri: 'r.io:5000/a/b', want: null },
  { imageUri: `a@sha256:${'0'.repeat(64)}`, want: null },
  { imageUri: `r.io:5000/a:v1.2@sha256:${'0'.repeat(64)}`, want: 'v1.2' },
  { imageUri: undefined, want: null },
  { imageUri: null, want: null },
  { imageUri: '', want: null },
])('shows the version of $imageUri', ({ imageUri, want }) => {
  expect(imageVersion(imageUri)).toBe(want);
});

it.each([
  { imageUri: 'r.io:5000/a/b:v1.2', want: ['v1.2'] },
  { imageUri: 'r.io:5000/a/b', want: [] },
  { imageUri: `a@sha256:${'0'.repeat(64)}`, want: [`sha256:${'0'.repeat(64)}`] },
  { imageUri: `a:v1@sha256:${'0'.repeat(64)}`, want: ['v1', `sha256:${'0'.repeat(64)}`] },
  { imageUri: undefined, want: [] },
])('a filter finds $imageUri by its tag and its digest', ({ imageUri, want }) => {
  expect(imageVersions(imageUri)).toEqual(want);
});
