import { describe, expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { DatabaseRestore } from '../../kinds/database.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { otherDriver, type Placed, sourceOf } from './backup-consent.ts';

const aPlace = (name: string, uid: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, uid, labels: { 'davit.dev/tenant': 'true' }, ...metadata },
});

function placed(name: string, place: KubeObject, annotations: Readonly<Record<string, string>> = {}): Placed {
  const made = aRecord();
  const metadata = { name, namespace: place.metadata.name, uid: `${name}-uid`, annotations };
  return { place, record: { ...made, metadata, status: { databaseDriver: 'pod' } } };
}

const STAGING = aPlace('staging', 's1');
const TEAM = aPlace('team', 't1');
const FOR_STAGING = { 'davit.dev/backups-for': 'other/x staging/s1' };
const shop = (annotations = {}, place = TEAM): Placed => placed('shop', place, annotations);

const REFUSED = {
  refused:
    'A backup of shop in namespace team cannot be loaded into namespace staging: that deployment does not exist, or does not allow it. A person who may get the volumes of namespace team can allow it: kubectl annotate appd shop -n team davit.dev/backups-for=staging/s1',
};

describe('backups of another namespace', () => {
  const source = (origin: Placed | undefined, place = STAGING): unknown =>
    sourceOf(placed('copy', place), { from: 'shop', namespace: 'team' }, origin);

  it('are those of the present deployment that consents, and no others of its name', () => {
    expect(source(shop(FOR_STAGING))).toEqual({ namespace: 'team', tenants: ['t1/shop-uid'], driver: 'pod' });
  });

  it.each<[string, Placed | undefined]>([
    ['there is no such deployment', undefined],
    ['it does not consent', shop()],
    ['its consent is for others', shop({ 'davit.dev/backups-for': 'other/s1 staging/s0' })],
    ['its consent names no uid', shop({ 'davit.dev/backups-for': 'staging staging/ /s1 staging/s1/x' })],
    ['it is being deleted', { ...shop(FOR_STAGING), record: deleted(shop(FOR_STAGING).record) }],
    ['its namespace is being deleted', shop(FOR_STAGING, deleted(TEAM))],
    ['its namespace is no tenant', shop(FOR_STAGING, aPlace('team', 't1', { labels: {} }))],
    ['its consent is on the deployment that asks', placed('copy', STAGING, FOR_STAGING)],
  ])('are refused with the same words where %s', (what, origin) => {
    const isOther = what.startsWith('its consent is on');
    expect(source(isOther ? shop() : origin)).toEqual(REFUSED);
  });

  it('are refused to a namespace of the same name that was made later', () => {
    expect(source(shop(FOR_STAGING), aPlace('staging', 's2'))).toMatchObject({
      refused: expect.stringContaining('davit.dev/backups-for=staging/s2') as string,
    });
  });

  it('are those of a namespace that is gone, which an administrator allows', () => {
    const allowed = aPlace('staging', 's1', { annotations: { 'davit.dev/backups-of': 'team/t0 team/t9, other/t7' } });
    expect(source(undefined, allowed)).toEqual({ namespace: 'team', tenants: ['t0', 't9'] });
    // A new namespace of its name has a deployment of this name, which does not consent.
    expect(source(shop(), allowed)).toEqual({ namespace: 'team', tenants: ['t0', 't9'] });
    expect(source(shop(FOR_STAGING), allowed)).toMatchObject({ tenants: ['t1/shop-uid', 't0', 't9'] });
  });
});

describe('backups of the own namespace', () => {
  const again = aPlace('team', 't2', { annotations: { 'davit.dev/backups-of': 'team/t1' } });
  it.each<[string, DatabaseRestore, object]>([
    ['are its own', { from: 'shop' }, { tenants: ['t2'] }],
    [
      'are also those of an earlier one that is allowed, where it is named',
      { from: 'shop', namespace: 'team' },
      { tenants: ['t2', 't1'] },
    ],
  ])('%s', (_what, restore, wanted) => {
    expect(sourceOf(placed('copy', again), restore, shop({}, again))).toEqual({
      namespace: 'team',
      driver: 'pod',
      ...wanted,
    });
  });

  it('have the tenant of the hub in a listener’s cluster', () => {
    const copy = placed('copy', again, { 'davit.dev/origin-tenant': 'h1' });
    expect(sourceOf(copy, { from: 'shop' }, undefined)).toMatchObject({ tenants: ['h1'] });
  });
});

it('a database of another driver gets no backup', () => {
  expect(otherDriver('shop', 'pod', 'pod')).toBeUndefined();
  expect(otherDriver('shop', undefined, 'pod')).toBeUndefined();
  expect(otherDriver('shop', 'cloudnative-pg', 'pod')).toMatch(
    /^The database of shop has driver cloudnative-pg, but this one has driver pod\./,
  );
});

function deleted<T extends { readonly metadata: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
}
