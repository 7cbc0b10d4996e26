// Records that do without a database or Redis, over the in-memory API server: nothing waits, and no data is deleted.

import { expect, it } from 'vitest';
import {
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, putRecord, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const NONE = { database: 'none', redis: 'none' } as const;
const set = (kube: FakeKube, runtime: object | null): Promise<void> =>
  edit(kube, { spec: { sourceConfig: { runtime } } });

/** Names of what belongs to stores. */
function ofStores(kube: FakeKube): string[] {
  return [STATEFUL_SETS, SERVICES, PERSISTENT_VOLUME_CLAIMS, SECRETS, NETWORK_POLICIES]
    .flatMap((kind) => kube.objects(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter((name) => /--(postgres|redis)/.test(name));
}

it('a new one has no store at any time, and is never AWAITING_DATABASE', async () => {
  const kube = aServer();
  putRecord(kube, { sourceConfig: { runtime: NONE } });
  const controller = await aController(kube);
  const states = new Set<string | undefined>();
  for (let turn = 0; turn < 6; turn += 1) {
    await controller.reconcile();
    states.add(record(kube).status?.state);
    expect(ofStores(kube)).toEqual([]);
  }
  await converge(controller);
  expect([...states]).not.toContain('AWAITING_DATABASE');
  expect(['Ready', 'DatabaseReady', 'RedisReady'].map((type) => says(kube, type))).toEqual([
    'True Serving',
    'True NotNeeded',
    'True NotNeeded',
  ]);
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

it('one with data keeps its volume and password, says so, and gets them back', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const [claim] = kube.objects(PERSISTENT_VOLUME_CLAIMS);
  const [password] = kube.objects(SECRETS).filter(({ metadata }) => metadata.name === 'shop--postgres');
  await set(kube, NONE);
  await converge(controller);
  expect(ofStores(kube).filter((name) => !name.includes('--redis'))).toEqual([
    'PersistentVolumeClaim shop--postgres',
    'Secret shop--postgres',
  ]);
  expect(kube.objects(STATEFUL_SETS)).toEqual([]);
  expect(says(kube, 'Ready')).toBe('True Serving');
  expect(conditionIn(kube, 'DatabaseReady')?.message).toBe(
    "The record needs no PostgreSQL. The record's own volume, shop--postgres, is kept.",
  );
  await set(kube, null);
  await converge(controller);
  expect(says(kube, 'DatabaseReady')).toBe('True Answering');
  expect(kube.objects(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.uid)).toEqual([claim?.metadata.uid]);
  const now = kube.objects(SECRETS).find(({ metadata }) => metadata.name === 'shop--postgres');
  expect(now?.metadata.uid).toBe(password?.metadata.uid);
});
