import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aWorkload } from '../../../test/support/builders.ts';
import type { ActionFailure, Pod, Workload } from '../observed.ts';
import { fail, pass } from './entry.ts';
import { checkWorkloads, isRolled, isServing, replicasOf, runningRevision } from './workloads.ts';

const record = aRecord();
const revision = aRevision(record);
const older = aRevision(record, 'DEPLOYED', 2);
const ANSWER = [pass('Answering', ''), pass('Answering', '')];
const OVERDUE = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
const REFUSED = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' };

function failure(reason: ActionFailure['reason'], kind: string): ActionFailure {
  return { reason, ref: { kind, name: 'shop' }, message: 'what failed' };
}

function paused(workload: Workload): Workload {
  return { ...workload, spec: { ...workload.spec, paused: true } };
}

describe('checkWorkloads', () => {
  const waiting = aWorkload('server', revision, { ready: 0 });
  const pulling = aPod('server', revision, {
    main: [{ name: 'server', image: 'a', state: { waiting: { reason: 'ImagePullBackOff' } } }],
  });
  it.each<{
    name: string;
    server?: Workload;
    pods?: readonly Pod[];
    stores?: typeof ANSWER;
    failures?: readonly ActionFailure[];
    want: string;
    says?: string;
  }>([
    { name: 'not made', want: 'fail Progressing', says: 'is waiting for the rollout' },
    {
      name: 'of another revision',
      server: aWorkload('server', older),
      want: 'fail Progressing',
      says: 'is waiting for the rollout',
    },
    { name: 'its pods refused', failures: [failure('PodsRefused', 'Pod')], want: 'stalled PodsRefused' },
    { name: 'no node fits', failures: [failure('NoNodeFits', 'StatefulSet')], want: 'stalled NoNodeFits' },
    { name: 'its apply refused', failures: [failure('ApplyRefused', 'Deployment')], want: 'stalled ApplyRefused' },
    { name: 'its request failed', failures: [failure('RequestFailed', 'Deployment')], want: 'fail RequestFailed' },
    { name: 'another apply refused', failures: [failure('ApplyRefused', 'Service')], want: 'fail Progressing' },
    {
      name: 'an apply refused of what runs this revision already',
      server: aWorkload('server', revision),
      failures: [failure('ApplyRefused', 'Deployment')],
      want: 'pass Serving',
    },
    {
      name: 'its controller has not looked yet',
      server: aWorkload('server', revision, { behind: true }),
      want: 'fail Progressing',
      says: 'The rollout of the server is starting.',
    },
    { name: 'whole', server: aWorkload('server', revision), want: 'pass Serving' },
    { name: 'whole, and paused', server: paused(aWorkload('server', revision)), want: 'pass Serving' },
    { name: 'paused on its way', server: paused(waiting), want: 'stalled RolloutPaused' },
    {
      name: 'an old pod is left',
      server: aWorkload('server', revision, { total: 2 }),
      want: 'fail Progressing',
      says: 'is being rolled',
    },
    { name: 'its pods fail', server: waiting, pods: [pulling], want: 'fail ImagePullFailed' },
    {
      name: 'no pod can be made',
      server: aWorkload('server', revision, { ready: 0, conditions: [REFUSED] }),
      pods: [pulling],
      want: 'fail PodsRefused',
      says: 'exceeded quota. Correct the cause; the pods are then created automatically',
    },
    {
      name: 'too late, and nobody knows why',
      server: aWorkload('server', revision, { ready: 0, conditions: [OVERDUE] }),
      want: 'stalled ProgressDeadlineExceeded',
      says: 'answer /ok on port 8000',
    },
    {
      name: 'too late, because its pods fail',
      server: aWorkload('server', revision, { ready: 0, conditions: [OVERDUE] }),
      pods: [pulling],
      want: 'stalled ImagePullFailed',
    },
    {
      name: 'waiting for its database',
      server: waiting,
      stores: [fail('Starting', 'PostgreSQL was started.'), pass('Answering', '')],
      want: 'fail Progressing',
      says: 'PostgreSQL was started.',
    },
    { name: 'waiting for its own answer', server: waiting, want: 'fail Progressing', says: 'answer /ok on port 8000' },
  ])('$name: $want', ({ server, pods = [], stores = ANSWER, failures = [], want, says = '' }) => {
    const observed = anObserved(record, { children: server ? [server] : [], pods });
    const { is, reason, message } = checkWorkloads(observed, revision, stores, failures);
    expect(`${is} ${reason}`).toBe(want);
    expect(message).toContain(says);
    expect(isRolled(observed, revision)).toBe(is === 'pass');
  });

  it.each([
    [{ port: 5679, healthPath: '/live' }, 'Its pods must answer /live on port 5679.'],
    [{ healthCommand: ['ping'] }, 'Its health command must succeed in its pods.'],
  ])('says what a part with the health %j waits for', (queue, says) => {
    const two = aRecord({ sourceConfig: { resourceSpec: { queueCpu: 1 }, runtime: { queue } } });
    const of = aRevision(two);
    const children = [aWorkload('server', of), aWorkload('queue', of, { ready: 0 })];
    expect(checkWorkloads(anObserved(two, { children }), of, ANSWER).message).toContain(says);
  });

  it('asks for every part, and names the first that is not there', () => {
    const two = aRecord({ sourceConfig: { resourceSpec: { queueCpu: 1 } } });
    const of = aRevision(two);
    const observed = anObserved(two, { children: [aWorkload('server', of)] });
    expect(checkWorkloads(observed, of, ANSWER).message).toContain('The queue is waiting for the rollout');
    expect(isRolled(observed, of)).toBe(false);
  });

  it('knows that a source has to be built', () => {
    const unbuilt = { ...revision, spec: { ...revision.spec, resolved: { ...revision.spec.resolved } } };
    delete (unbuilt.spec.resolved as { image?: string }).image;
    expect(checkWorkloads(anObserved(record), unbuilt, ANSWER)).toMatchObject({
      is: 'stalled',
      reason: 'BuilderNotConfigured',
    });
  });
});

describe('the main service', () => {
  const see = (server?: Workload): ReturnType<typeof anObserved> =>
    anObserved(record, { revisions: [revision, older], children: server ? [server] : [] });
  it.each([
    { name: 'not made', server: undefined, running: undefined, serving: false, replicas: undefined },
    { name: 'runs', server: aWorkload('server', older), running: older, serving: true, replicas: '1/1' },
    {
      name: 'starts',
      server: aWorkload('server', revision, { wanted: 2, ready: 0 }),
      running: revision,
      serving: false,
      replicas: '0/2',
    },
  ])('$name', ({ server, running, serving, replicas }) => {
    const observed = see(server);
    expect(runningRevision(observed)?.spec.id).toBe(running?.spec.id);
    expect([isServing(observed), replicasOf(observed)]).toEqual([serving, replicas]);
  });
});
