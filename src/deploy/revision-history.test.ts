import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aWorkload } from '../../test/support/builders.ts';
import type { AppRevision, RevisionState } from '../kinds/app-revision.ts';
import type { Observed, Pod, Workload } from './assess/observed.ts';
import { surplusRevisions } from './revision-history.ts';

const record = aRecord();
const external = aRecord({
  secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'db', secretKey: 'uri' }],
});

/**
 * Newest first, serials 12 to 1. Those without a state of their own were skipped; only the newest has a database. `image` by serial: each
 * has another one if it is absent.
 */
function history(
  states: Readonly<Record<number, RevisionState>> = { 12: 'DEPLOYED' },
  image: (serial: number) => string = (serial) => `registry.example/shop:${serial}`,
): AppRevision[] {
  return Array.from({ length: 12 }, (_, n) => 12 - n).map((serial) => {
    const { spec, ...of } = serial === 12 ? record : external;
    const imageUri = image(serial);
    const own = { ...of, spec: { ...spec, sourceRevisionConfig: { ...spec.sourceRevisionConfig, imageUri } } };
    return aRevision(own, states[serial] ?? 'SKIPPED', serial);
  });
}

function anEndedRun(revision: AppRevision): Pod {
  const pod = aPod('server', revision, {});
  return { ...pod, status: { ...pod.status, phase: 'Succeeded' } };
}

function anEndedJob(revision: AppRevision): Workload {
  const job = aWorkload('server', revision, { conditions: [{ type: 'Failed', status: 'True' }] });
  return { ...job, apiVersion: 'batch/v1', kind: 'Job' };
}

describe('what is collected', () => {
  const one = history().find(({ spec }) => spec.revisionSerial === 1) ?? aRevision(record);
  const cases: readonly {
    readonly name: string;
    readonly seen: Observed;
    readonly kept?: number;
    readonly goes: number[];
  }[] = [
    { name: 'all but the newest', seen: anObserved(record, { revisions: history() }), goes: [2, 1] },
    { name: 'nothing while there are few', seen: anObserved(record, { revisions: history() }), kept: 12, goes: [] },
    {
      name: 'not the active one',
      seen: anObserved(record, { revisions: history({ 2: 'DEPLOYED', 12: 'DEPLOY_FAILED' }) }),
      goes: [1],
    },
    {
      name: 'not an older one that was deployed, to which one can go back after many that failed',
      seen: anObserved(record, { revisions: history({ 12: 'DEPLOYED', 1: 'DEPLOYED' }) }),
      goes: [2],
    },
    {
      name: 'not the third newest that was deployed',
      seen: anObserved(record, {
        revisions: history({ 12: 'DEPLOY_FAILED', 7: 'DEPLOYED', 2: 'DEPLOYED', 1: 'DEPLOYED' }),
      }),
      goes: [],
    },
    {
      name: 'the fourth newest that was deployed',
      seen: anObserved(record, {
        revisions: history({ 12: 'DEPLOYED', 7: 'DEPLOYED', 5: 'DEPLOYED', 2: 'DEPLOYED', 1: 'DEPLOYED' }),
      }),
      goes: [2, 1],
    },
    {
      name: 'not the one before two restarts, which are of the same values',
      seen: anObserved(record, {
        revisions: history({ 11: 'DEPLOYED', 10: 'DEPLOYED', 9: 'DEPLOYED', 2: 'DEPLOYED', 1: 'DEPLOYED' }, (serial) =>
          serial > 2 ? 'registry.example/shop:same' : `registry.example/shop:${serial}`,
        ),
      }),
      goes: [],
    },
    {
      name: 'one that failed beside them',
      seen: anObserved(record, { revisions: history({ 12: 'DEPLOYED', 2: 'DEPLOY_FAILED', 1: 'DEPLOYED' }) }),
      goes: [2],
    },
    {
      name: 'not one that a pod still runs',
      seen: anObserved(record, { revisions: history(), pods: [aPod('server', one, {})] }),
      goes: [2],
    },
    {
      name: 'one of which only an ended run of a task is left',
      seen: anObserved(record, { revisions: history(), pods: [anEndedRun(one)] }),
      goes: [2, 1],
    },
    {
      name: 'one of which only an ended Job is left',
      seen: anObserved(record, { revisions: history(), children: [anEndedJob(one)] }),
      goes: [2, 1],
    },
    {
      name: 'not one that a workload is of',
      seen: anObserved(record, { revisions: history(), children: [aWorkload('queue', one)] }),
      goes: [2],
    },
    {
      name: 'not one that the record goes back to',
      seen: anObserved(aRecord({ rollbackTo: one.spec.id.toUpperCase() }), { revisions: history() }),
      goes: [2],
    },
    {
      name: 'not one whose build runs, for whose image the newest may wait',
      seen: anObserved(record, {
        revisions: history().map((revision) =>
          revision.spec.revisionSerial === 1
            ? { ...revision, status: { build: { phase: 'Building' as const } } }
            : revision,
        ),
      }),
      goes: [2],
    },
    {
      name: 'not the last that knows the version of PostgreSQL',
      seen: anObserved(record, {
        revisions: history()
          .map((revision) => (revision.spec.revisionSerial === 12 ? aRevision(external, 'DEPLOYED', 12) : revision))
          .map((revision) => (revision.spec.revisionSerial === 2 ? aRevision(record, 'SKIPPED', 2) : revision)),
      }),
      goes: [1],
    },
    {
      name: 'not one that is going already',
      seen: anObserved(record, {
        revisions: history().map((revision) =>
          revision.spec.revisionSerial === 1
            ? { ...revision, metadata: { ...revision.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
            : revision,
        ),
      }),
      goes: [2],
    },
  ];
  it.each(cases)('$name', ({ seen, kept = 10, goes }) => {
    expect(surplusRevisions(seen, kept).map(({ spec }) => spec.revisionSerial)).toEqual(goes);
  });
});
