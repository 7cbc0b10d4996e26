// What kubectl says of a record, the HTTP API says too: for every reason that a condition may have.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assess, checkPreconditions, type Preconditions } from '../../../src/deploy/assess/assessment.ts';
import { stalled } from '../../../src/deploy/assess/entry.ts';
import type { ActionFailure } from '../../../src/deploy/assess/observed.ts';
import { latestStatus } from '../../../src/deploy/revision-status.ts';
import { readyEntry, type StatusInputs, statusOf } from '../../../src/deploy/status.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { CONDITION_TYPES, REASONS, type Reason } from '../../../src/kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { anObserved, aRecord, aRevision, aStore, aWorkload, SETTINGS } from '../../support/builders.ts';
import { type Facade, makeFacade, TENANT } from './facade.ts';

const NOW = new Date('2026-02-02T02:02:02Z');
const DEPLOYED = 'The rollout of this revision has finished.';
let facade: Facade;
beforeAll(async () => {
  // Two requests for each reason are more than a minute's.
  facade = await makeFacade({ http: { ...SETTINGS.http, requestsPerMinute: 0 } });
});
afterAll(() => facade.app.close());

const record = aRecord();
const inTenant = { namespace: TENANT.namespace, creationTimestamp: '2026-01-01T00:00:00Z' };

type Inputs = StatusInputs & { readonly latest: AppRevision };

interface Found extends Partial<Preconditions> {
  readonly refusals?: readonly ActionFailure[];
}

/** A record, whole and deployed before, of which the controller now finds this. */
function inputsOf({ refusals = [], ...found }: Found, state?: 'DEPLOYED'): Inputs {
  const latest = aRevision(record, state);
  const workload = aWorkload('server', latest);
  const service = { apiVersion: 'v1', kind: 'Service', metadata: workload.metadata };
  const children = [aStore('postgres'), aStore('redis'), workload, service];
  const observed = anObserved(record, { revisions: [latest], children });
  const address = { is: 'unwanted' } as const;
  const preconditions = { ...checkPreconditions(observed, SETTINGS), ...found };
  return {
    observed,
    latest,
    address,
    refusals,
    assessment: assess(observed, preconditions, { latest, address, failures: refusals }),
  };
}

async function told(inputs: Inputs): Promise<{
  readonly record: AppDeployment;
  readonly deployment: Record<string, unknown>;
  readonly revision: Record<string, unknown>;
}> {
  const { latest, assessment } = inputs;
  const status = latestStatus(latest, assessment.rollout, NOW, readyEntry(inputs));
  const metadata = { ...record.metadata, ...inTenant };
  const reported: AppDeployment = { ...record, metadata, status: statusOf(inputs, NOW) };
  facade.records.put(reported);
  facade.revisions.put({ ...latest, metadata: { ...latest.metadata, ...inTenant }, status });
  const path = `/v2/deployments/${record.metadata.uid}`;
  const [deployment, revision] = await Promise.all([
    facade.call('GET', path),
    facade.call('GET', `${path}/revisions/${latest.spec.id}`),
  ]);
  expect([deployment.status, revision.status]).toEqual([200, 200]);
  return { record: reported, deployment: deployment.body, revision: revision.body };
}

const reasons = Object.keys(REASONS) as Reason[];
const entryOf = (reason: Reason): Preconditions['policy'] => stalled(reason, `What to do about ${reason}.`);
const ways: Record<string, (reason: Reason) => Found> = {
  refusal: (reason) => ({
    refusals: [{ ...entryOf(reason), ref: { kind: 'Deployment', name: 'shop' } } as unknown as ActionFailure],
  }),
  policy: (reason) => ({ policy: entryOf(reason) }),
  reference: (reason) => ({ references: entryOf(reason) }),
};

describe.each(Object.keys(ways))('as a %s', (way) => {
  it.each(reasons)('%s is the same over HTTP and with kubectl', async (reason) => {
    for (const state of [undefined, 'DEPLOYED'] as const) {
      const made = ways[way]?.(reason) ?? {};
      const { record: said, deployment, revision } = await told(inputsOf(made, state));
      const conditions = said.status?.conditions ?? [];
      expect(deployment['conditions']).toEqual(
        conditions.map(({ lastTransitionTime, observedGeneration: _generation, ...rest }) => ({
          ...rest,
          last_transition_time: lastTransitionTime,
        })),
      );
      expect(conditions.map(({ type }) => type).toSorted()).toEqual(
        Object.keys(CONDITION_TYPES)
          .filter((type) => !SOMETIMES.includes(type))
          .toSorted(),
      );
      expect(conditionOf(conditions, 'Ready')).toMatchObject({ status: 'False', reason });
      expect(deployment['status_message']).toBe(`What to do about ${reason}.`);
      if (conditionOf(conditions, 'Stalled')?.status === 'True' || revision['status'] !== 'DEPLOYED')
        expect(revision['status_message']).toBe(`What to do about ${reason}.`);
      expect(revision['status_message'] === DEPLOYED && conditionOf(conditions, 'Stalled')?.status === 'True').toBe(
        false,
      );
    }
  });
});

it('a serving deployment has the message of Ready', async () => {
  const { deployment, revision } = await told(inputsOf({}, 'DEPLOYED'));
  expect([deployment['status'], deployment['status_message'], revision['status_message']]).toEqual([
    'READY',
    'The latest revision is deployed and serving.',
    DEPLOYED,
  ]);
});

it('a revision that is cached before its record does not contradict it', async () => {
  const inputs = inputsOf({ references: entryOf('SecretMissing') }, 'DEPLOYED');
  await told(inputs);
  facade.revisions.put({
    ...(facade.revisions.byUid(inputs.latest.metadata.uid ?? '') as AppRevision),
    status: { state: 'DEPLOYED', message: DEPLOYED } as never,
  });
  const path = `/v2/deployments/${record.metadata.uid}/revisions`;
  expect((await facade.call('GET', path)).body.resources[0]).toMatchObject({
    status: 'DEPLOYED',
    status_message: 'What to do about SecretMissing.',
  });
});

/** Only a record with tasks, with verifications of its backups, with an archive, or that begins with one has it. */
const SOMETIMES = ['TasksReady', 'ArchiveReady', 'BackupVerified', 'DatabaseRestored'];

describe('an outdated status', () => {
  it.each([
    { name: 'nothing yet', change: undefined, want: 'Davit has not processed this deployment yet.' },
    {
      name: 'an earlier generation',
      change: { generation: 99 },
      want: 'Davit has not processed the last change yet.',
    },
    {
      name: 'a deletion that has just begun',
      change: { deletionTimestamp: '2026-02-02T00:00:00Z' },
      want: 'The deployment is being deleted.',
    },
  ])('$name is not reported as current', async ({ change, want }) => {
    const { record: said } = await told(inputsOf({}, 'DEPLOYED'));
    const { status: _status, ...rest } = said;
    facade.records.put(change === undefined ? rest : { ...said, metadata: { ...said.metadata, ...change } });
    const { body } = await facade.call('GET', `/v2/deployments/${record.metadata.uid}`);
    expect(body.status_message).toBe(want);
  });
});
