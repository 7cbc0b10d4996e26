import { expect, it } from 'vitest';
import { aRecord, aRevision, aSpec, SETTINGS } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { needsRevision, withRequest } from './needs-revision.ts';
import { requestedOf } from './requested.ts';
import { resolve } from './resolve.ts';
import { askingForRevision, rollingBack } from './revision-request.ts';
import { wantedRevision } from './wanted-revision.ts';

const KEY = { name: 'KEY', secretName: 'shop--vars-a', secretKey: 'KEY' };
const cloud = { source: 'internal_docker', sourceRevisionConfig: {} } as const;

it.each<{ name: string; before?: Partial<AppDeploymentSpec>; after: Partial<AppDeploymentSpec>; needed: boolean }>([
  { name: 'nothing', after: {}, needed: false },
  { name: 'the image', after: { sourceRevisionConfig: { imageUri: 'a:2' } }, needed: true },
  { name: 'a size', after: { sourceConfig: { resourceSpec: { cpu: 2 } } }, needed: true },
  { name: 'an empty resourceSpec', after: { sourceConfig: { resourceSpec: {} } }, needed: false },
  { name: 'a secret', after: { secrets: [KEY] }, needed: true },
  {
    name: 'the Secret that a value is in',
    before: { secrets: [KEY] },
    after: { secrets: [{ ...KEY, secretName: 'shop--vars-b' }] },
    needed: true,
  },
  { name: 'the last secret taken away', before: { secrets: [KEY] }, after: {}, needed: true },
  { name: 'a reference', after: { secretReferences: [{ ...KEY, secretName: 'mine' }] }, needed: true },
  { name: 'no references instead of none', after: { secretReferences: [] }, needed: false },
  { name: 'the install command', after: { sourceConfig: { installCommand: 'npm ci' } }, needed: true },
  { name: 'the build command', after: { sourceConfig: { buildCommand: 'make' } }, needed: true },
  { name: 'the deployment type', after: { sourceConfig: { deploymentType: 'dev' } }, needed: true },
  { name: 'a plain variable', after: { sourceConfig: { env: [{ name: 'A', value: '' }] } }, needed: true },
  {
    name: 'the value of a plain variable',
    before: { sourceConfig: { env: [{ name: 'A', value: '1' }] } },
    after: { sourceConfig: { env: [{ name: 'A', value: '2' }] } },
    needed: true,
  },
  {
    name: 'the order of plain variables, which may refer to earlier ones',
    before: { sourceConfig: { env: ['A', 'B'].map((name) => ({ name, value: '1' })) } },
    after: { sourceConfig: { env: ['B', 'A'].map((name) => ({ name, value: '1' })) } },
    needed: true,
  },
  { name: 'no plain variables instead of none', after: { sourceConfig: { env: [] } }, needed: false },
  {
    name: 'a worker',
    after: { sourceConfig: { runtime: { workers: { constructor: { command: ['work'] } } } } },
    needed: true,
  },
  {
    name: 'the scale of a worker',
    before: { sourceConfig: { runtime: { workers: { mailer: { command: ['work'] } } } } },
    after: { sourceConfig: { runtime: { workers: { mailer: { command: ['work'], minScale: 2, maxScale: 3 } } } } },
    needed: false,
  },
  {
    name: 'the size of a worker',
    before: { sourceConfig: { runtime: { workers: { mailer: { command: ['work'] } } } } },
    after: { sourceConfig: { runtime: { workers: { mailer: { command: ['work'], cpu: 2 } } } } },
    needed: true,
  },
  { name: 'the minimum', after: { sourceConfig: { resourceSpec: { minScale: 2 } } }, needed: false },
  { name: 'the maximum', after: { sourceConfig: { resourceSpec: { maxScale: 5 } } }, needed: false },
  { name: 'a scale of zero', after: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } }, needed: false },
  ...[
    {
      name: 'more queue workers',
      before: { queueMinScale: 1, queueMaxScale: 1 },
      after: { queueMinScale: 2, queueMaxScale: 4 },
    },
    {
      name: 'the same queue workers by another number',
      before: { queueMinScale: 1 },
      after: { queueCpu: 1 },
      needed: true,
    },
    { name: 'the first queue worker', before: {}, after: { queueMaxScale: 1 }, needed: true },
    {
      name: 'no queue workers any more',
      before: { queueMinScale: 1 },
      after: { queueMinScale: 0, queueMaxScale: 0 },
      needed: true,
    },
    { name: 'still no queue workers', before: {}, after: { queueMinScale: 0, queueMaxScale: 0 } },
    { name: 'an orchestrator', before: {}, after: { orchestratorMaxScale: 1 }, needed: true },
    { name: 'an orchestrator of no pods', before: { orchestratorMaxScale: 1 }, after: { orchestratorMaxScale: 0 } },
    { name: 'scale and size', before: {}, after: { maxScale: 2, cpu: 1 }, needed: true },
  ].map(({ name, before, after, needed = false }) => ({
    name,
    before: { sourceConfig: { resourceSpec: before } },
    after: { sourceConfig: { resourceSpec: after } },
    needed,
  })),
  ...[
    { name: 'jobs of a worker', perPod: 3, needed: false },
    { name: 'the query of the queue', query: 'SELECT 2', needed: true },
  ].map(({ name, needed, ...depth }) => ({
    name,
    before: { sourceConfig: { runtime: { queueDepth: { query: 'SELECT 1' } } } },
    after: { sourceConfig: { runtime: { queueDepth: { query: 'SELECT 1', ...depth } } } },
    needed,
  })),
  { name: 'the address', after: { sourceConfig: { customUrl: 'a.example' } }, needed: false },
  { name: 'build on push', after: { sourceConfig: { buildOnPush: true } }, needed: false },
  { name: 'what becomes of the volume', after: { databaseDeletionPolicy: 'Retain' }, needed: false },
  {
    name: 'the first image',
    before: cloud,
    after: { ...cloud, sourceRevisionConfig: { imageUri: 'a:1' } },
    needed: true,
  },
  {
    name: 'a size before there is an image',
    before: cloud,
    after: { ...cloud, sourceConfig: { resourceSpec: { cpu: 2 } } },
    needed: false,
  },
])('$name: $needed', ({ before, after, needed }) => {
  expect(needsRevision(aSpec(before), aSpec(after))).toBe(needed);
});

it.each([
  { name: 'the next', serial: 7, want: 8 },
  { name: 'the first, of a record made with kubectl', serial: undefined, want: 1 },
  { name: 'the first, of a record that waited for its image', serial: 0, want: 1 },
])('asks for $name', ({ serial, want }) => {
  const { revisionSerial: _, ...rest } = aSpec();
  const before = { ...rest, ...(serial !== undefined && { revisionSerial: serial }) };
  expect(askingForRevision(before, { ...before, rollbackTo: 'x' })).toEqual({ ...before, revisionSerial: want });
  expect(withRequest(before, before, [], true)).toEqual({ ...before, revisionSerial: want, rebuildSerial: want });
});

const everything: Partial<AppDeploymentSpec> = {
  sourceConfig: { resourceSpec: { cpu: 2, labels: { a: '1' } }, deploymentType: 'prod', customUrl: 'old.example' },
  sourceRevisionConfig: { imageUri: 'a:1' },
  secrets: [KEY],
  secretReferences: [{ ...KEY, name: 'T' }],
};
const address = { customUrl: 'new.example' };
it.each<{ name: string; after: Partial<AppDeploymentSpec>; serial: number; follows: boolean }>([
  { name: 'sizes, and the last request is seen', after: {}, serial: 1, follows: false },
  { name: 'sizes, and it is not', after: {}, serial: 2, follows: true },
  { name: 'another image', after: { sourceRevisionConfig: { imageUri: 'a:2' } }, serial: 2, follows: false },
])('a change that leaves what an earlier one asks for: $name', ({ after, serial, follows }) => {
  const own = [aRevision(aRecord({ revisionSerial: 1 }))];
  const sizes = { sourceConfig: { resourceSpec: { cpu: 2 } } };
  const rollbackTo = '11111111-1111-5111-8111-111111111111';
  const before = aSpec({ revisionSerial: serial, rollbackTo });
  const { rollbackTo: kept, revisionSerial } = withRequest(before, { ...before, ...sizes, ...after }, own);
  expect([kept, revisionSerial]).toEqual([follows ? rollbackTo : undefined, serial + 1]);
});

/** Writes by the HTTP API, one after the other, before the controller has seen the first. */
function written(first: Partial<AppDeploymentSpec>, ...writes: readonly (Partial<AppDeploymentSpec> | 'again')[]) {
  const record = aRecord({ revisionSerial: 1, ...first });
  const own = [aRevision(record)];
  let { spec } = record;
  for (const one of writes)
    spec = one === 'again' ? withRequest(spec, spec, own, true) : withRequest(spec, { ...spec, ...one }, own);
  return { spec, own };
}
const memory = (memoryMb: number): Partial<AppDeploymentSpec> => ({ sourceConfig: { resourceSpec: { memoryMb } } });

it.each([
  { name: 'again', writes: ['again'], serials: [2, 2] },
  { name: 'again, then sizes', writes: ['again', memory(1024)], serials: [3, 2] },
  { name: 'sizes, then again', writes: [memory(1024), 'again'], serials: [3, 3] },
  { name: 'again, then sizes to and fro', writes: ['again', memory(1024), memory(512)], serials: [4, 2] },
] as const)('a request to rebuild is kept: $name', ({ writes, serials }) => {
  const { spec } = written(memory(512), ...writes);
  expect([spec.revisionSerial, spec.rebuildSerial, spec.rollbackTo]).toEqual([...serials, undefined]);
});

it('a rollback takes the place of a request to rebuild, and the other way round', () => {
  const { spec, own } = written(memory(512), 'again');
  const back = rollingBack(spec, aRevision(aRecord(memory(512))).spec);
  expect(back).not.toHaveProperty('rebuildSerial');
  const again = withRequest(back, back, own, true);
  expect([again.rollbackTo, again.rebuildSerial]).toEqual([undefined, 4]);
});

it('a change that is taken back before the controller has seen it goes back to the newest revision', () => {
  const { spec, own } = written(memory(512), memory(1024), memory(512));
  expect(spec).toMatchObject({ rollbackTo: own[0]?.spec.id, revisionSerial: 3 });
  expect(wantedRevision(aRecord(spec, { generation: 9 }), own, SETTINGS)).toMatchObject({
    create: { resolved: own[0]?.spec.resolved },
  });
  // Another change leaves nothing of that.
  expect(withRequest(spec, { ...spec, ...memory(2048) }, own)).not.toHaveProperty('rollbackTo');
  // Also where the change did not come through the API.
  const edited = { ...spec, ...memory(1024), revisionSerial: 1 };
  expect(withRequest(edited, { ...edited, ...memory(512) }, own)).toMatchObject({ rollbackTo: own[0]?.spec.id });
  // With the first change seen, the second is a change as any other.
  const seen = aRevision(aRecord({ revisionSerial: 2, ...memory(1024) }, { generation: 2 }));
  const { rollbackTo } = withRequest({ ...spec, ...memory(1024), revisionSerial: 2 }, { ...spec, ...memory(512) }, [
    seen,
    ...own,
  ]);
  expect(rollbackTo).toBeUndefined();
});

it.each([
  { name: 'much to little', old: aSpec(everything), now: aSpec({ sourceConfig: address, revisionSerial: 4 }) },
  {
    name: 'little to much',
    old: aSpec(),
    now: aSpec({ ...everything, sourceConfig: { ...everything.sourceConfig, ...address }, revisionSerial: 4 }),
  },
  { name: 'the same', old: aSpec(), now: aSpec({ sourceConfig: address, revisionSerial: 4, rollbackTo: 'x' }) },
])('rolls back from $name: what it was made of, its resolved values, and the address of today', ({ old, now }) => {
  const revision = aRevision(aRecord(old));
  const spec = rollingBack(now, revision.spec);
  expect(requestedOf(spec)).toEqual(requestedOf(old));
  expect(spec).toMatchObject({ rollbackTo: revision.spec.id, revisionSerial: 5, sourceConfig: address });
  const settings = { ...SETTINGS, pods: { ...SETTINGS.pods, port: 9000 } };
  expect(wantedRevision(aRecord(spec, { generation: 9 }), [revision], settings)).toMatchObject({
    create: { revisionSerial: 5, resolved: revision.spec.resolved },
  });
});

type Config = AppDeploymentSpec['sourceConfig'];
const depth = (perPod?: number): Config => ({
  runtime: { queueDepth: { query: 'SELECT 1', ...(perPod && { perPod }) } },
});
it.each<{ name: string; old: Config; now: Config; want: Config }>([
  {
    name: 'the scale of today',
    old: { resourceSpec: { cpu: 1, minScale: 3, maxScale: 3 } },
    now: { resourceSpec: { cpu: 2, maxScale: 5 } },
    want: { resourceSpec: { cpu: 1, maxScale: 5 } },
  },
  {
    name: 'the default of today',
    old: { resourceSpec: { minScale: 3 } },
    now: {},
    want: {},
  },
  { name: 'zero of today', old: {}, now: { resourceSpec: { maxScale: 0 } }, want: { resourceSpec: { maxScale: 0 } } },
  {
    name: 'the scale of a part that is in both',
    old: { resourceSpec: { queueMinScale: 1 } },
    now: { resourceSpec: { queueCpu: 1, queueMinScale: 2, queueMaxScale: 4 } },
    want: { resourceSpec: { queueMinScale: 2, queueMaxScale: 4 } },
  },
  {
    name: 'a part that went meanwhile, as it was',
    old: { resourceSpec: { queueMinScale: 1, queueMaxScale: 2 } },
    now: { resourceSpec: { queueMaxScale: 0, minScale: 2 } },
    want: { resourceSpec: { minScale: 2, queueMinScale: 1, queueMaxScale: 2 } },
  },
  {
    name: 'no part that came meanwhile',
    old: { resourceSpec: { queueMaxScale: 0 } },
    now: { resourceSpec: { queueMinScale: 3, orchestratorMinScale: 1 } },
    want: { resourceSpec: { queueMaxScale: 0 } },
  },
  { name: 'jobs of a worker of today', old: depth(3), now: depth(7), want: depth(7) },
  { name: 'a query with its own, where there is none now', old: depth(3), now: {}, want: depth(3) },
])('a rollback takes $name, and is one', ({ old, now, want }) => {
  const revision = aRevision(aRecord({ sourceConfig: old }));
  const spec = rollingBack(aSpec({ sourceConfig: now, revisionSerial: 4 }), revision.spec);
  expect(spec.sourceConfig).toEqual(want);
  const port = 9000;
  const wanted = wantedRevision(aRecord(spec, { generation: 9 }), [revision], {
    ...SETTINGS,
    pods: { ...SETTINGS.pods, port },
  });
  // Its resolved values are the old ones, but for the scale.
  const { minScale, maxScale } = resolve(spec, SETTINGS).server;
  expect(wanted).toMatchObject({ create: { resolved: { port: SETTINGS.pods.port, server: { minScale, maxScale } } } });
  expect(wanted).not.toHaveProperty('ignoredRollback');
});
