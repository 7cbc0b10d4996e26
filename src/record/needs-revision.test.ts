import { expect, it } from 'vitest';
import { aSpec } from '../../test/builders.ts';
import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { askingForRevision, needsRevision } from './needs-revision.ts';

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
