import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, assessed, aWorkload } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { latestStatus, overtakenStatus } from '../revision-status.ts';
import type { Entry } from './entry.ts';
import type { ActionFailure, Observed, Workload } from './observed.ts';
import { hasServed } from './rollout.ts';

const NOW = new Date('2026-02-02T02:02:02Z');
const record = aRecord();
const revision = aRevision(record);
const newer = aRevision(record, undefined, 2);

function store(status: object): Workload {
  const set = aStore('postgres');
  return { ...set, status: { ...set.status, ...status } };
}

function seen(database: Workload): Observed {
  return anObserved(record, {
    revisions: [revision],
    children: [database, aStore('redis'), aWorkload('server', revision)],
  });
}

function rolloutIn(observed: Observed, of: AppRevision, refusals?: readonly ActionFailure[]): Entry {
  return assessed(observed, of, refusals && { refusals }).assessment.rollout;
}

describe('DEPLOYED asks for the stores too', () => {
  const refused: ActionFailure = {
    reason: 'ApplyRefused',
    ref: { kind: 'StatefulSet', name: 'shop--postgres' },
    message: 'no',
  };
  it.each([
    { reason: 'all runs', database: store({}), state: 'DEPLOYED' },
    { reason: 'the database does not answer', database: store({ readyReplicas: 0 }), state: 'DEPLOYING' },
    { reason: 'its new template was not seen', database: store({ observedGeneration: 0 }), state: 'DEPLOYING' },
    {
      reason: 'it is of the template before',
      database: store({ currentRevision: 'a', updateRevision: 'b' }),
      state: 'DEPLOYING',
    },
    {
      reason: 'its pod is of a template between',
      database: store({ currentRevision: 'a', updateRevision: 'a', updatedReplicas: 0 }),
      state: 'DEPLOYING',
    },
    {
      reason: 'its pod is of this one',
      database: store({ currentRevision: 'a', updateRevision: 'a', updatedReplicas: 1 }),
      state: 'DEPLOYED',
    },
    { reason: 'what answers is of the settings before', database: store({}), refusals: [refused], state: 'DEPLOYING' },
  ])('$reason: $state', ({ database, refusals, state }) => {
    expect(latestStatus(revision, rolloutIn(seen(database), revision, refusals), NOW).state).toBe(state);
  });

  it('keeps what was DEPLOYED once, whatever becomes of the database', () => {
    const deployed = aRevision(record, 'DEPLOYED');
    const rollout = rolloutIn(seen(store({ readyReplicas: 0 })), deployed);
    expect(latestStatus(deployed, rollout, NOW).state).toBe('DEPLOYED');
  });

  it('asks for no store of others', () => {
    const { postgres: _postgres, redis: _redis, ...resolved } = revision.spec.resolved;
    const external: AppRevision = { ...revision, spec: { ...revision.spec, resolved } };
    const observed = anObserved(record, { revisions: [external], children: [aWorkload('server', external)] });
    expect(rolloutIn(observed, external).is).toBe('pass');
  });
});

describe('a revision that was overtaken', () => {
  const [database, redis] = [aStore('postgres'), aStore('redis')];
  const readyPod = aPod('server', revision, { conditions: [{ type: 'Ready', status: 'True' }] });
  const with_ = (revisions: readonly AppRevision[], more: Partial<Observed>): Observed => ({
    ...anObserved(record, { revisions }),
    ...more,
  });
  const NOTHING = with_([newer, revision], {});

  it.each([
    { reason: 'nothing of it was seen', before: NOTHING, state: 'SKIPPED' },
    {
      reason: 'it was rolled out while nobody looked',
      before: with_([revision], { children: [database, redis, aWorkload('server', revision)] }),
      state: 'DEPLOYED',
    },
    {
      reason: 'its rollout was under way',
      before: with_([revision], { children: [database, redis, aWorkload('server', revision, { ready: 0 })] }),
      state: 'SKIPPED',
    },
    {
      reason: 'its pods are ready and its database does not answer',
      before: with_([revision], {
        children: [store({ readyReplicas: 0 }), redis, aWorkload('server', revision)],
        pods: [readyPod],
      }),
      state: 'SKIPPED',
    },
    {
      reason: 'the workloads are those of the newer one',
      before: with_([newer, revision], {
        children: [database, redis, aWorkload('server', newer)],
        pods: [readyPod],
      }),
      state: 'SKIPPED',
    },
  ])('$reason: $state', ({ before, state }) => {
    expect(overtakenStatus(revision, () => hasServed(before, revision), NOW).state).toBe(state);
  });
});
