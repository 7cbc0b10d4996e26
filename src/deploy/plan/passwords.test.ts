import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, ownLabels, UID } from '../../../test/support/builders.ts';
import type { StorePart } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type PasswordState, passwordLost, passwordState } from './passwords.ts';

const FOREIGN = { 'davit.dev/deployment': 'shop' };

function child(kind: string, store: StorePart, labels: Record<string, string> = ownLabels(store)): KubeObject {
  return { apiVersion: 'v1', kind, metadata: { name: `shop--${store}`, namespace: 'team', labels } };
}

interface Row {
  readonly reason: string;
  readonly store: StorePart;
  readonly children: readonly KubeObject[];
  readonly want: PasswordState;
}

const ROWS: readonly Row[] = [
  { reason: 'the first look', store: 'postgres', children: [], want: 'to make' },
  { reason: 'made once', store: 'postgres', children: [child('Secret', 'postgres')], want: 'there' },
  {
    reason: 'a crash after the password was made',
    store: 'postgres',
    children: [child('Secret', 'postgres'), child('StatefulSet', 'redis')],
    want: 'there',
  },
  { reason: 'of another record', store: 'postgres', children: [child('Secret', 'postgres', FOREIGN)], want: 'foreign' },
  {
    reason: 'it may be the one that opens the volume, without a label',
    store: 'postgres',
    children: [child('Secret', 'postgres', FOREIGN), child('PersistentVolumeClaim', 'postgres')],
    want: 'lost',
  },
  {
    reason: 'another would not open the volume',
    store: 'postgres',
    children: [child('PersistentVolumeClaim', 'postgres')],
    want: 'lost',
  },
  {
    reason: "a StatefulSet alone holds nothing of PostgreSQL's",
    store: 'postgres',
    children: [child('StatefulSet', 'postgres')],
    want: 'to make',
  },
  {
    reason: 'a volume of another record is none of ours',
    store: 'postgres',
    children: [child('PersistentVolumeClaim', 'postgres', FOREIGN)],
    want: 'to make',
  },
  {
    reason: 'Redis runs with it, and so do the pods',
    store: 'redis',
    children: [child('StatefulSet', 'redis')],
    want: 'lost',
  },
  {
    reason: 'the volume is not what a Redis keeps',
    store: 'redis',
    children: [child('PersistentVolumeClaim', 'postgres')],
    want: 'to make',
  },
];

describe('passwordState', () => {
  it.each(ROWS)('$store, $want: $reason', ({ store, children, want }) => {
    expect(passwordState(store, anObserved(aRecord(), { children }))).toBe(want);
  });
});

describe('passwordLost', () => {
  const LABELS = (store: StorePart): string =>
    `davit.dev/deployment=shop davit.dev/component=${store} davit.dev/deployment-uid=${UID}`;

  it.each([
    { store: 'postgres', found: false, says: `with the labels ${LABELS('postgres')}` },
    {
      store: 'postgres',
      found: false,
      says: `kubectl delete statefulset,pvc shop--postgres -n team, then kubectl annotate appd shop -n team --overwrite davit.dev/empty-database=${UID}; then deploy a new revision`,
    },
    {
      store: 'redis',
      found: false,
      says: 'kubectl delete statefulset shop--redis -n team; then deploy a new revision',
    },
    {
      store: 'redis',
      found: false,
      says: 'while it runs: kubectl exec shop--redis-0 -n team -- printenv REDISCLI_AUTH',
    },
    {
      store: 'postgres',
      found: false,
      says: 'while it runs: kubectl exec shop--postgres-0 -n team -- printenv APP_PASSWORD POSTGRES_PASSWORD',
    },
    {
      store: 'postgres',
      found: true,
      says: `kubectl label secret shop--postgres -n team --overwrite ${LABELS('postgres')}`,
    },
  ] as const)('of $store, found: $found', ({ store, found, says }) => {
    const there = found ? child('Secret', store, {}) : undefined;
    expect(passwordLost(store, anObserved(aRecord()), there)).toEqual({
      reason: 'PasswordMissing',
      ref: { kind: 'Secret', name: `shop--${store}` },
      message: expect.stringContaining(says) as string,
    });
  });
});
