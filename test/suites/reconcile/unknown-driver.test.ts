// A record whose database was made with a driver that this version of Davit does not have: nothing of it is changed, and a person can name
// that database as an external one.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import type { MemoryController } from '../../kit/memory/controller.ts';
import {
  conditionIn,
  deleteRecord,
  edit,
  newestRevision,
  putRecord,
  putSecret,
  record,
  says,
} from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, takeDown } from './harness.ts';

const DATABASE = 'shop--postgres';

/** Serves on a database of such a driver: no pod, volume or Service is Davit's, and the revision names no database that this version knows. */
async function onUnknown(spec: Partial<AppDeployment['spec']> = {}): Promise<MemoryController> {
  const world = await aConverged(spec);
  const { kube } = world;
  for (const resource of [STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS, SERVICES])
    kube.erase(resource, { namespace: 'team', name: DATABASE });
  const { spec: made, ...revision } = newestRevision(kube);
  const { postgres: _known, ...resolved } = made.resolved;
  kube.seed(APP_REVISIONS, { ...revision, spec: { ...made, resolved } });
  const { status = {}, ...served } = record(kube);
  const { databaseVolumeUid: _gone, ...known } = status;
  const sourceConfig = { ...served.spec.sourceConfig, database: { driver: 'shared' } };
  kube.seed(APP_DEPLOYMENTS, { ...served, spec: { ...served.spec, sourceConfig }, status: known } as KubeObject);
  world.writes();
  return world;
}

const named = (kube: FakeKube, resource: Resource): string[] =>
  kube.objects(resource).flatMap(({ metadata }) => (metadata.name === DATABASE ? [metadata.uid ?? ''] : []));

/** Writes to anything but the status. */
function changes({ writes }: MemoryController): string[] {
  return writes().filter((write) => !write.endsWith('/status'));
}

describe('a database of a driver that this version does not have', () => {
  it('is left alone with all that uses it, and the record says what to do', async () => {
    const world = await onUnknown();
    const { kube } = world;
    for (let pass = 0; pass < 3; pass += 1) {
      await world.reconcile();
    }
    expect(changes(world)).toEqual([]);
    expect([says(kube, 'Ready'), says(kube, 'Stalled'), record(kube).status?.state]).toEqual([
      'False DatabaseDriverUnknown',
      'True DatabaseDriverUnknown',
      'READY',
    ]);
    const message = conditionIn(kube, 'Ready')?.message ?? '';
    expect(message).toContain(`copy key uri of Secret ${DATABASE} into a Secret of your own`);
    expect(message).toContain('name that Secret as POSTGRES_URI_CUSTOM in secret_references');
    expect(named(kube, SECRETS)).toHaveLength(1);
    await world.reconcile();
    expect(world.writes()).toEqual([]);
  });

  it.each([
    ['an image', { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } }],
    ['a scale', { sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 } } }],
    ['another driver', { sourceConfig: { database: { driver: 'pod' } } }],
  ])('changes nothing for a record that asks for %s', async (_what, spec) => {
    const world = await onUnknown();
    const { kube } = world;
    const { id } = newestRevision(kube).spec;
    await edit(kube, { spec });
    world.writes();
    await world.reconcile();
    await world.reconcile();
    expect([changes(world), newestRevision(kube).spec.id, says(kube, 'Ready')]).toEqual([
      [],
      id,
      'False DatabaseDriverUnknown',
    ]);
  });

  it('serves again from the same database, once the record names it as an external one', async () => {
    const world = await onUnknown();
    const { kube } = world;
    await world.reconcile();
    putSecret(kube, 'kept', { uri: 'cG9zdGdyZXNxbDovL3U6cEBkYi5leGFtcGxlL2FwcA==' });
    await edit(kube, {
      spec: {
        secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'kept', secretKey: 'uri' }],
        sourceConfig: { database: null },
      },
    });
    await converge(world);
    expect([says(kube, 'PolicyAccepted'), says(kube, 'WorkloadsReady')]).toEqual(['True Accepted', 'True Serving']);
    expect([named(kube, STATEFUL_SETS), named(kube, PERSISTENT_VOLUME_CLAIMS)]).toEqual([[], []]);
  });

  it('keeps its pods while the Secret that the record names is missing', async () => {
    const world = await onUnknown();
    const { kube } = world;
    const pods = (): unknown => kube.objects<KubeObject & { spec: object }>(DEPLOYMENTS).map(({ spec }) => spec);
    const before = pods();
    await edit(kube, {
      spec: {
        secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'kept', secretKey: 'uri' }],
        sourceConfig: { database: null },
      },
    });
    await converge(world);
    expect([says(kube, 'Ready'), record(kube).status?.state, pods()]).toEqual(['False SecretMissing', 'READY', before]);
  });

  it.each([
    ['Delete', 0],
    ['Retain', 1],
  ] as const)('is left where it is by a deletion under %s', async (databaseDeletionPolicy, secrets) => {
    const world = await onUnknown({ databaseDeletionPolicy });
    const { kube } = world;
    await world.reconcile();
    await deleteRecord(kube);
    await takeDown(world);
    expect([kube.objects(APP_DEPLOYMENTS), named(kube, SECRETS).length]).toEqual([[], secrets]);
  });

  it('holds up no other record', async () => {
    const world = await onUnknown();
    const { kube } = world;
    putRecord(kube, {}, { name: 'other' });
    await world.reconcile('team/other');
    await world.reconcile('team/other');
    expect(named(kube, STATEFUL_SETS)).toEqual([]);
    expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toContain('other--postgres');
  });
});
