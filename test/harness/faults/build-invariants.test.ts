// What the judges of builds let pass, and what not; and what the played pods say, read by the controller's own rules.

import { expect, it } from 'vitest';
import { outcomeOf } from '../../../src/build/outcome.ts';
import type { Job } from '../../../src/deploy/assess/jobs.ts';
import type { Pod } from '../../../src/deploy/assess/observed.ts';
import type { BuildStatus } from '../../../src/kinds/build.ts';
import { buildProblems, isCredentialOfBuild, leftOfBuilds } from './build-invariants.ts';
import { endOf, statusOf } from './build-pod-status.ts';
import { digestOf } from './build-world/registry.ts';
import { FILE_VARIABLE, valueAt } from './build-world/sources.ts';
import type { BuildsSeen, Run } from './evidence.ts';
import type { Seen, Sighting } from './object-history.ts';

const COMMIT = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);
const REPOSITORY = 'run-1-12345678/shop';
const DIGEST = digestOf('shop', COMMIT);
const IMAGE = `builds.example/${REPOSITORY}@${DIGEST}`;

function seen(kind: string, name: string, object: object = {}, gone = false): Sighting {
  const whole = { metadata: { name, uid: `${kind}-${name}` }, ...object };
  return { kind, object: whole as Seen, version: 1n, gone, at: 0 };
}

function revision(id: string, build?: Partial<BuildStatus>): Sighting {
  return seen('AppRevision', `shop--${id}`, { spec: { id }, ...(build && { status: { build } }) });
}

/** Of a record that names a file. `given`: the commit whose file its values are of. */
function ofFile(given: string | undefined, more: object = {}, build: Partial<BuildStatus> = BUILT): Sighting {
  const env = given === undefined ? [] : [{ name: FILE_VARIABLE, value: valueAt(given) }];
  const requested = { sourceRevisionConfig: { davitFile: 'davit.yaml' }, env };
  return seen('AppRevision', 'shop--r1', { spec: { id: 'r1', requested, ...more }, status: { build } });
}

function job(uid: string, id = 'r1'): Sighting {
  return seen('Job', `build-${id}`, { metadata: { name: `build-${id}`, uid, labels: { 'davit.dev/build': id } } });
}

function deployment(image: string): Sighting {
  const metadata = { name: 'shop', uid: 'd', labels: { 'davit.dev/deployment': 'shop' } };
  return seen('Deployment', 'shop', { metadata, spec: { template: { spec: { containers: [{ image }] } } } });
}

const BUILT = { phase: 'Built', digest: DIGEST, image: IMAGE, commit: COMMIT } as const;

function said(history: readonly Sighting[], builds: Partial<BuildsSeen> = {}): string[] {
  const made = [{ revision: 'r1', repository: REPOSITORY, source: COMMIT, digest: DIGEST }];
  const limits = { perTenant: 1, total: 1 };
  const run = { history, builds: { history: [], current: [], wrong: [], made, limits, ...builds } } as unknown as Run;
  return buildProblems(run).flatMap(({ invariant, what }) => (what === undefined ? [] : [`${invariant}: ${what}`]));
}

const CREDENTIAL = seen('Secret', 'build-0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10-push');

it.each<{ reason: string; history: readonly Sighting[]; builds?: Partial<BuildsSeen>; violations: number }>([
  {
    reason: 'a build, and what was built is served',
    history: [revision('r1'), revision('r1', { phase: 'Building' }), revision('r1', BUILT), deployment(IMAGE)],
    violations: 0,
  },
  { reason: 'an image taken over', history: [revision('r2', { ...BUILT, builtBy: 'r1' })], violations: 0 },
  { reason: 'the digest of another build', history: [revision('r2', BUILT)], violations: 1 },
  {
    reason: 'an image by its tag',
    history: [revision('r1', { ...BUILT, image: 'registry.example/x:1' })],
    violations: 1,
  },
  { reason: 'an image that nobody has built', history: [deployment('registry.example/x@sha256:0')], violations: 1 },
  {
    reason: 'a build that leaves its end',
    history: [revision('r1', { phase: 'Interrupted' }), revision('r1', { phase: 'Building' })],
    violations: 1,
  },
  {
    reason: 'another commit than it was queued with',
    history: [
      revision('r1', { phase: 'Queued', commit: COMMIT }),
      revision('r1', { phase: 'Building', commit: OTHER }),
    ],
    violations: 1,
  },
  {
    reason: 'two at once',
    history: [revision('r1', { phase: 'Building' }), revision('r2', { phase: 'AwaitingBuild' })],
    violations: 1,
  },
  {
    reason: 'one after the other',
    history: [
      revision('r1', { phase: 'Building' }),
      revision('r1', { phase: 'Failed' }),
      revision('r2', { phase: 'Building' }),
    ],
    violations: 0,
  },
  { reason: 'the file of its commit', history: [ofFile(COMMIT, { file: {} })], violations: 0 },
  { reason: 'the file of another commit', history: [ofFile(OTHER, { file: {} })], violations: 1 },
  { reason: 'a file that was not read', history: [ofFile(undefined)], violations: 1 },
  {
    reason: 'a file that is wrong',
    history: [ofFile(undefined, { file: { failure: {} } }, { phase: 'Failed', commit: COMMIT })],
    violations: 0,
  },
  { reason: 'a wrong file, and built', history: [ofFile(undefined, { file: { failure: {} } })], violations: 1 },
  { reason: 'two Jobs of a build', history: [], builds: { history: [job('1'), job('2')] }, violations: 1 },
  { reason: 'a Job each', history: [], builds: { history: [job('1'), job('2', 'r2')] }, violations: 0 },
  { reason: 'a credential that is left', history: [], builds: { current: [CREDENTIAL] }, violations: 1 },
  { reason: 'a credential for too much', history: [], builds: { wrong: ['push of a with one for b'] }, violations: 1 },
])('$reason: $violations violations', ({ history, builds, violations }) => {
  expect(said(history, builds)).toHaveLength(violations);
});

it('what is left of builds is counted, and their Secrets are known by the names that the trace has', () => {
  expect(leftOfBuilds({ builds: { current: [CREDENTIAL, seen('Secret', 'kube-root')] } } as unknown as Run)).toEqual([
    'Secret of builds × 1',
  ]);
  expect(isCredentialOfBuild('builds/delete secrets build-ID-push#1')).toBe(true);
  expect(isCredentialOfBuild('delete/delete secrets shop--postgres#1')).toBe(false);
});

const NOW = new Date('2026-01-01T00:00:00Z');
const spec = {
  initContainers: [
    { name: 'fetch', image: 'a' },
    { name: 'plan', image: 'b' },
  ],
  containers: [{ name: 'build', image: 'a' }],
};
const fetched = endOf.fetch(200, 'https://git.example/x', COMMIT);
const planned = { exitCode: 0, message: '' };

it.each([
  { outcomes: [], phase: 'Building', reason: 'Fetching' },
  { outcomes: [fetched], phase: 'Building', reason: 'Planning' },
  { outcomes: [fetched, planned], phase: 'Building', reason: 'Running' },
  { outcomes: [fetched, planned, { exitCode: 0, message: DIGEST }], phase: 'Built', reason: 'ImageBuilt' },
  { outcomes: [endOf.fetch(401, 'https://git.example/x', '')], phase: 'Failed', reason: 'CodeHostRefused' },
  { outcomes: [endOf.fetch(0, 'https://git.example/x', '')], phase: 'Failed', reason: 'FetchFailed' },
  { outcomes: [endOf.upload(500)], phase: 'Failed', reason: 'FetchFailed' },
  { outcomes: [fetched, endOf.plan()], phase: 'Failed', reason: 'ConfigurationMissing' },
  { outcomes: [fetched, planned, endOf.step()], phase: 'Failed', reason: 'StepFailed' },
  { outcomes: [fetched, planned, endOf.push(0, 'registry.example/x:1')], phase: 'Failed', reason: 'PushFailed' },
  { outcomes: [fetched, planned, endOf.push(507, 'registry.example/x:1')], phase: 'Failed', reason: 'PushFailed' },
])('a played pod after $outcomes.length containers is read as $phase, $reason', ({ outcomes, phase, reason }) => {
  const metadata = { name: 'build-x', namespace: 'builds' };
  const pod = { metadata, status: statusOf({ spec }, outcomes) } as unknown as Pod;
  const observed = { metadata } as Job;
  expect(outcomeOf(observed, pod, { phase: 'AwaitingBuild' }, NOW)).toMatchObject({ phase, reason });
});
