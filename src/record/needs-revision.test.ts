import { expect, it } from 'vitest';
import { aRecord, aRevision, aSpec, SETTINGS } from '../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { followsUnseen, needsRevision } from './needs-revision.ts';
import { askingForRevision, rollingBack } from './revision-request.ts';
import { requestedOf, wantedRevision } from './wanted-revision.ts';

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
  expect(followsUnseen(aSpec({ revisionSerial: serial }), aSpec({ ...sizes, ...after }), own)).toBe(follows);
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
