// The volume or the password of a database is lost while something else is the reason of Ready, over the in-memory API server:
// DatabaseReady says it all the same, and the metric that pages somebody counts it.

import { describe, expect, it } from 'vitest';
import { censusOf } from '../../../src/main/monitoring/census.ts';
import { NAMESPACES, PERSISTENT_VOLUME_CLAIMS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { edit, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge } from './harness.ts';

const DATABASE = { namespace: 'team', name: 'shop--postgres' };

const BEHIND: Readonly<Record<string, (kube: FakeKube) => Promise<unknown>>> = {
  Paused: (kube) => edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } }),
  NotATenant: (kube) =>
    kube.mergePatch(NAMESPACES, { name: 'team' }, { metadata: { labels: { 'davit.dev/tenant': null } } }),
};

describe.each(Object.entries(BEHIND))('behind %s', (reason, stop) => {
  it.each([
    ['the volume', 'VolumeMissing', 'False', PERSISTENT_VOLUME_CLAIMS],
    ['the password', 'PasswordMissing', 'True', SECRETS],
  ] as const)('%s is lost', async (_what, lost, status, kind) => {
    const controller = await aConverged();
    const { kube } = controller;
    await stop(kube);
    await converge(controller);
    expect(censusOf([record(kube)], []).databases_at_risk).toEqual([]);
    controller.writes();
    kube.erase(kind, DATABASE);
    await converge(controller);
    expect([says(kube, 'Ready'), says(kube, 'DatabaseReady')]).toEqual([`False ${reason}`, `${status} ${lost}`]);
    expect(controller.writes().filter((write) => !write.endsWith('/status'))).toEqual([]);
    expect(censusOf([record(kube)], []).databases_at_risk).toEqual([[{ reason: lost }, 1]]);
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });
});

it('is said without a pause too, and what answers still does', async () => {
  const controller = await aConverged();
  controller.kube.erase(SECRETS, DATABASE);
  await converge(controller);
  expect(says(controller.kube, 'DatabaseReady')).toBe('True PasswordMissing');
  expect(record(controller.kube).status?.state).toBe('READY');
  expect(censusOf([record(controller.kube)], []).databases_at_risk).toEqual([[{ reason: 'PasswordMissing' }, 1]]);
});
