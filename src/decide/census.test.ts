import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import type { BuildStatus } from '../api/build.ts';
import { censusOf } from './census.ts';

const at = (minute: number): string => `2026-01-01T00:0${minute}:00Z`;
const seconds = (minute: number): number => Date.parse(at(minute)) / 1000;

function record(state: AppDeploymentStatus['state'], ready: string, stalled: string, minute = 0): AppDeployment {
  const condition = (type: string, text: string): object => {
    const [status, reason] = text.split(' ');
    return { type, status, reason, message: '', lastTransitionTime: at(minute) };
  };
  const conditions = [condition('Ready', ready), condition('Stalled', stalled)];
  return aRecord({}, { status: { state, conditions } as AppDeploymentStatus });
}
function building(build: BuildStatus): AppRevision {
  return { ...aRevision(aRecord()), status: { build } };
}

it('counts records by state, conditions and reason', () => {
  const { deployments } = censusOf(
    [
      record('READY', 'True Serving', 'False Settled'),
      record('READY', 'True Serving', 'False Settled'),
      record('READY', 'False PodsRefused', 'True PodsRefused'),
      aRecord(),
    ],
    [],
  );
  expect(deployments).toEqual([
    { state: 'READY', ready: 'True', stalled: 'False', reason: 'Serving', count: 2 },
    { state: 'READY', ready: 'False', stalled: 'True', reason: 'PodsRefused', count: 1 },
    { state: 'UNKNOWN', ready: 'Unknown', stalled: 'Unknown', reason: 'NotObserved', count: 1 },
  ]);
});

it('says of each reason since when the oldest is stalled', () => {
  const { stalledSince } = censusOf(
    [
      record('READY', 'False PodsRefused', 'True PodsRefused', 5),
      record('READY', 'False PodsRefused', 'True PodsRefused', 2),
      record('READY', 'False VolumeLost', 'True VolumeLost', 7),
      record('READY', 'True Serving', 'False Settled', 1),
    ],
    [],
  );
  expect(stalledSince).toEqual([
    { reason: 'PodsRefused', at: seconds(2) },
    { reason: 'VolumeLost', at: seconds(7) },
  ]);
});

it('counts builds that have not ended, and says since when the oldest waits', () => {
  const revisions = [
    building({ phase: 'Queued', queuedAt: at(4) }),
    building({ phase: 'Queued', queuedAt: at(3) }),
    building({ phase: 'Building', queuedAt: at(1) }),
    building({ phase: 'Built', queuedAt: at(0) }),
    aRevision(aRecord()),
  ];
  expect(censusOf([], revisions)).toEqual({
    deployments: [],
    stalledSince: [],
    builds: [
      { phase: 'Queued', count: 2 },
      { phase: 'Building', count: 1 },
    ],
    queuedSince: seconds(3),
  });
  expect(censusOf([], []).queuedSince).toBeUndefined();
});

it('has as many groups as the tables have entries, whatever the statuses say', () => {
  const records = Array.from({ length: 500 }, (_, i) => record('READY', `False Made${i}`, `True Made${i}`));
  const { deployments, stalledSince } = censusOf(records, []);
  expect(deployments).toEqual([{ state: 'READY', ready: 'False', stalled: 'True', reason: 'Other', count: 500 }]);
  expect(stalledSince).toEqual([{ reason: 'Other', at: seconds(0) }]);
});
