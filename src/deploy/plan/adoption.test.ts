import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, ownLabels, UID } from '../../../test/support/builders.ts';
import {
  ADOPT_DATABASE_ANNOTATION,
  DEPLOYMENT_UID_LABEL,
  POSTGRES_IMAGE_ANNOTATION,
  POSTGRES_USER_ANNOTATION,
  USED_LAST_ANNOTATION,
} from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { dataThere, planAdoption } from './adoption.ts';

const EARLIER = '99999999-9999-4999-8999-999999999999';

function data(
  kind: 'Secret' | 'PersistentVolumeClaim' | 'Cluster',
  of: string | undefined,
  more: Partial<KubeObject['metadata']> = {},
): KubeObject {
  const { [DEPLOYMENT_UID_LABEL]: _uid, ...labels } = ownLabels('postgres');
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name: 'shop--postgres',
      namespace: 'team',
      uid: `uid-${kind}`,
      labels: { ...labels, ...(of !== undefined && { [DEPLOYMENT_UID_LABEL]: of }) },
      ...more,
    },
  };
}
const secret = (of?: string, more = {}): KubeObject => data('Secret', of, more);
const claim = (of?: string, more = {}): KubeObject => data('PersistentVolumeClaim', of, more);

function outcome(children: readonly KubeObject[], adopts?: string): string[] {
  const record = aRecord({}, adopts === undefined ? {} : { annotations: { [ADOPT_DATABASE_ANNOTATION]: adopts } });
  const { takeUp, refusals } = planAdoption(anObserved(record, { children }), 'pod');
  return [...takeUp.map(({ kind }) => `take up ${kind}`), ...refusals.map(({ message }) => message)];
}

describe('planAdoption', () => {
  it.each([
    { reason: 'nothing is there', children: [], adopts: undefined, want: [] },
    { reason: 'all is ours', children: [secret(UID), claim(UID)], adopts: undefined, want: [] },
    { reason: "somebody else's: a name conflict, found elsewhere", children: [secret()], adopts: undefined, want: [] },
    {
      reason: 'told to',
      children: [claim(EARLIER), secret(EARLIER)],
      adopts: EARLIER,
      want: ['take up Secret', 'take up PersistentVolumeClaim'],
    },
    {
      reason: 'a crash in between',
      children: [secret(UID), claim(EARLIER)],
      adopts: EARLIER,
      want: ['take up PersistentVolumeClaim'],
    },
    {
      reason: 'the one that was used last',
      children: [secret(EARLIER, { annotations: { [USED_LAST_ANNOTATION]: `${EARLIER} pod` } }), claim(EARLIER)],
      adopts: EARLIER,
      want: ['take up Secret', 'take up PersistentVolumeClaim'],
    },
  ])('$reason', ({ children, adopts, want }) => {
    expect(outcome(children, adopts)).toEqual(want);
  });

  it.each([
    {
      reason: 'not told to',
      children: [secret(EARLIER), claim(EARLIER)],
      adopts: undefined,
      says: 'To adopt it: kubectl davit database adopt shop -n team, or POST /v2/retained-databases/uid-PersistentVolumeClaim/adopt. To delete it and begin with an empty one: kubectl davit database discard shop -n team, or DELETE /v2/retained-databases/uid-PersistentVolumeClaim.',
    },
    {
      reason: "told to take another's",
      children: [secret(EARLIER), claim(EARLIER)],
      adopts: UID,
      says: 'To adopt it: kubectl davit database adopt shop -n team, or POST',
    },
    {
      reason: 'the password is gone',
      children: [claim(EARLIER)],
      adopts: EARLIER,
      says: 'Secret shop--postgres does not exist. Restore the Secret from a backup. To delete it and begin with an empty one: kubectl davit database discard shop -n team, or DELETE',
    },
    {
      reason: 'the volume is gone',
      children: [secret(EARLIER)],
      adopts: EARLIER,
      says: 'Restore PersistentVolumeClaim shop--postgres from a backup. To begin with an empty one: kubectl delete secret/shop--postgres -n team.',
    },
    {
      reason: 'password and volume of two',
      children: [secret('other'), claim(EARLIER)],
      adopts: EARLIER,
      says: 'different deployments, so the password may not open the volume. Restore the matching one. To begin with an empty one: kubectl delete secret/shop--postgres pvc/shop--postgres -n team.',
    },
    {
      reason: 'it is of before an external one',
      children: [
        secret(EARLIER, { annotations: { [USED_LAST_ANNOTATION]: `${EARLIER} pod external` } }),
        claim(EARLIER),
      ],
      adopts: EARLIER,
      says: `--overwrite "davit.dev/used-last=${EARLIER} pod"; then adopt it`,
    },
    {
      reason: 'it is going',
      children: [secret(EARLIER), claim(EARLIER, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      adopts: EARLIER,
      says: 'is being deleted',
    },
  ])('refused: $reason', ({ children, adopts, says }) => {
    expect(outcome(children, adopts)).toEqual([expect.stringContaining(says)]);
  });
});

it('knows by which PostgreSQL the data was last run, and its size, whoever it belongs to', () => {
  const of = (children: readonly KubeObject[]): unknown => dataThere(anObserved(aRecord(), { children }));
  const annotations = { [POSTGRES_IMAGE_ANNOTATION]: 'postgres:16' };
  const sized = { ...claim(EARLIER, { annotations }), spec: { resources: { requests: { storage: '1536Mi' } } } };
  const owned = claim(UID, { annotations: { [POSTGRES_USER_ANNOTATION]: 'app' } });
  const cluster = { ...claim(UID), kind: 'Cluster', spec: { storage: { size: '2Gi' }, postgresUID: 999 } };
  expect([of([]), of([claim(UID)]), of([sized]), of([owned]), of([cluster])]).toEqual([
    {},
    { storageGi: 0, driver: 'pod', made: {} },
    { image: 'postgres:16', storageGi: 2, driver: 'pod', made: {} },
    { storageGi: 0, driver: 'pod', made: { user: 'app' } },
    { storageGi: 2, driver: 'cloudnative-pg', userId: 999, made: {} },
  ]);
});

it('knows the image of a Cluster without the annotation, which CloudNativePG would upgrade in place', () => {
  const cluster = (annotations: Readonly<Record<string, string>>): KubeObject =>
    ({
      ...data('Cluster', EARLIER, { annotations }),
      spec: { imageName: 'cnpg:16', storage: { size: '2Gi' } },
    }) as KubeObject;
  const of = (holder: KubeObject): unknown => dataThere(anObserved(aRecord(), { children: [holder] })).image;
  expect([of(cluster({})), of(cluster({ [POSTGRES_IMAGE_ANNOTATION]: 'cnpg:17' }))]).toEqual(['cnpg:16', 'cnpg:17']);
});
