import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, aRevision, aStore, ownLabels, SETTINGS, UID } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { resolve } from '../record/resolve.ts';
import { checkHonored } from './autoscaling.ts';
import {
  isVolumeMissing,
  unfinishedResize,
  usedVolume,
  volumeMissing,
  volumeSizeGi,
  volumeTrouble,
} from './database-volume.ts';
import type { Observed } from './observed.ts';
import { checkStore } from './stores.ts';

const revision = aRevision(aRecord());
const deployed = aRevision(aRecord(), 'DEPLOYED');
const CLAIM_UID = 'uid-claim';

function aClaim(status: object = {}, metadata: object = {}, storage = '10Gi'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'shop--postgres', namespace: 'team', uid: CLAIM_UID, labels: ownLabels('postgres'), ...metadata },
    spec: { resources: { requests: { storage } } },
    status,
  } as KubeObject;
}

interface Given {
  readonly children?: readonly KubeObject[];
  readonly known?: string;
  readonly annotation?: string;
  readonly revisions?: readonly AppRevision[];
}

function seen({ children = [], known, annotation, revisions = [revision] }: Given): Observed {
  const record = aRecord(
    {},
    {
      ...(known !== undefined && { status: { databaseVolumeUid: known } }),
      ...(annotation !== undefined && { annotations: { 'davit.dev/empty-database': annotation } }),
    },
  );
  return anObserved(record, { children, revisions });
}

function withoutOwn(): AppRevision {
  const references = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'theirs', secretKey: 'uri' }];
  const resolved = resolve(aRecord({ secretReferences: references }).spec, SETTINGS);
  return { ...deployed, spec: { ...deployed.spec, resolved } };
}

describe('is the volume missing?', () => {
  it.each([
    { reason: 'it was never made', given: {}, missing: false },
    {
      reason: 'a crash before the first volume leaves StatefulSets of none',
      given: { children: [aStore('redis')] },
      missing: false,
    },
    { reason: 'the database used it', given: { known: CLAIM_UID }, missing: true },
    { reason: 'a version before that uid was kept has deployed it', given: { revisions: [deployed] }, missing: true },
    { reason: 'the deployed one has a database of others', given: { revisions: [withoutOwn()] }, missing: false },
    { reason: 'it is there', given: { known: CLAIM_UID, children: [aClaim()] }, missing: false },
    { reason: 'it is given up', given: { known: CLAIM_UID, annotation: CLAIM_UID }, missing: false },
    { reason: 'an older one was given up', given: { known: CLAIM_UID, annotation: 'older' }, missing: true },
    {
      reason: 'it is given up, without a uid of it',
      given: { revisions: [deployed], annotation: UID },
      missing: false,
    },
    { reason: '"true" names no volume', given: { known: CLAIM_UID, annotation: 'true' }, missing: true },
  ])('$reason: $missing', ({ given, missing }) => {
    expect(isVolumeMissing(seen(given))).toBe(missing);
  });

  it('says how to restore it and how to give it up', () => {
    const { message } = volumeMissing(seen({ known: CLAIM_UID }), undefined);
    expect(message).toContain('If the volume itself is restored, with the labels davit.dev/deployment=shop');
    expect(message).toContain(`kubectl annotate appd shop -n team --overwrite davit.dev/empty-database=${CLAIM_UID}`);
  });
});

describe('a volume that does not stay', () => {
  it.each([
    { reason: 'bound', claim: aClaim({ phase: 'Bound' }), want: undefined },
    { reason: 'not bound yet', claim: aClaim({ phase: 'Pending' }), want: undefined },
    {
      reason: 'being deleted',
      claim: aClaim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      want: 'VolumeTerminating',
    },
    { reason: 'its PersistentVolume has gone', claim: aClaim({ phase: 'Lost' }), want: 'VolumeLost' },
    { reason: "somebody else's", claim: aClaim({ phase: 'Lost' }, { labels: {} }), want: undefined },
  ])('$reason: $want', ({ claim, want }) => {
    const observed = seen({ children: [claim, aStore('postgres')] });
    expect(volumeTrouble(observed)?.reason).toBe(want);
    // Though it answers.
    expect(checkStore('postgres', observed, revision).reason).toBe(want ?? 'Answering');
  });

  it('a missing one is said though the pod that has it still answers', () => {
    const observed = seen({ children: [aStore('postgres')], known: CLAIM_UID });
    const entry = checkStore('postgres', observed, revision, [volumeMissing(observed, undefined)]);
    expect(entry).toMatchObject({ is: 'stalled', reason: 'VolumeMissing' });
  });
});

describe('the size of the volume', () => {
  const capacity = { storage: '1Gi' };
  it.each([
    { reason: 'nothing is said of it', status: {}, want: undefined, size: 10 },
    { reason: 'as asked', status: { capacity: { storage: '10Gi' } }, want: undefined, size: 10 },
    { reason: 'larger than asked', status: { capacity: { storage: '16Gi' } }, want: undefined, size: 10 },
    { reason: 'begun', status: { capacity }, want: 'VolumeResizing', size: 1 },
    {
      reason: 'at the node',
      status: { capacity, conditions: [{ type: 'FileSystemResizePending', status: 'True' }] },
      want: 'VolumeResizing',
      size: 1,
    },
    {
      reason: 'refused',
      status: { capacity, conditions: [{ type: 'ControllerResizeError', status: 'True' }] },
      want: 'VolumeResizeFailed',
      size: 1,
    },
    {
      reason: 'refused by the node',
      status: { capacity, conditions: [{ type: 'NodeResizeError', status: 'True' }] },
      want: 'VolumeResizeFailed',
      size: 1,
    },
    {
      reason: 'impossible',
      status: { capacity, allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } },
      want: 'VolumeResizeFailed',
      size: 1,
    },
  ])('$reason: $want, $size Gi in force', ({ status, want, size }) => {
    const observed = seen({ children: [aClaim(status)] });
    expect([unfinishedResize(observed) !== undefined, volumeSizeGi(observed)]).toEqual([want !== undefined, size]);
    expect(checkHonored(observed, revision).reason).toBe(want ?? 'AsAsked');
  });
});

describe('the size of the volumes of a Cluster', () => {
  const owners = [{ apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'shop--postgres', uid: 'c' }];
  const instance = (serial: number, requested: string, capacity?: string, uid = 'c'): KubeObject =>
    aClaim(
      { ...(capacity !== undefined && { capacity: { storage: capacity } }) },
      { name: `shop--postgres-${serial}`, ownerReferences: owners.map((owner) => ({ ...owner, uid })) },
      requested,
    );
  it.each<[reason: string, claims: KubeObject[], says: string | undefined, size: number]>([
    ['no volume exists', [], undefined, 20],
    ['all have grown', [instance(1, '20Gi', '20Gi'), instance(2, '20Gi', '20Gi')], undefined, 20],
    ['one is being made', [instance(1, '20Gi', '20Gi'), instance(2, '20Gi')], undefined, 20],
    ['one has not grown yet', [instance(1, '20Gi', '20Gi'), instance(2, '20Gi', '10Gi')], 'it is being expanded', 10],
    ['the class does not expand', [instance(1, '10Gi', '10Gi')], 'CloudNativePG has not expanded it', 10],
    ["another Cluster's", [instance(1, '10Gi', '10Gi', 'other')], undefined, 20],
  ])('%s', (_reason, claims, says, size) => {
    const { metadata } = aClaim({}, { uid: 'c' });
    const cluster = { apiVersion: 'v1', kind: 'Cluster', metadata, spec: { storage: { size: '20Gi' } } };
    const observed = seen({ children: [cluster, ...claims] });
    expect(volumeSizeGi(observed)).toBe(size);
    const { reason, message } = checkHonored(observed, revision);
    expect([reason, message]).toEqual(
      says === undefined
        ? ['AsAsked', expect.anything()]
        : ['VolumeResizing', expect.stringContaining(`has 10 Gi of 20 Gi: ${says}`)],
    );
  });
});

describe('the volume that the database uses', () => {
  it.each([
    { reason: 'none', given: {}, answers: false, want: undefined },
    { reason: 'bound', given: { children: [aClaim({ phase: 'Bound' })] }, answers: false, want: CLAIM_UID },
    { reason: 'made, and nothing has used it', given: { children: [aClaim()] }, answers: false, want: undefined },
    { reason: 'its database answers', given: { children: [aClaim()] }, answers: true, want: CLAIM_UID },
    { reason: 'another was used before', given: { children: [aClaim()], known: 'old' }, answers: false, want: 'old' },
    { reason: 'gone', given: { known: 'old' }, answers: true, want: 'old' },
  ])('$reason: $want', ({ given, answers, want }) => {
    expect(usedVolume(seen(given), answers)).toBe(want);
  });
});
