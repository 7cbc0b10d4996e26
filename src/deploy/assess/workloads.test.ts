import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, aWorkload } from '../../../test/support/builders.ts';
import type { ConditionType } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision, RevisionState } from '../../kinds/app-revision.ts';
import { checkBuild } from './build.ts';
import { fail, pass } from './entry.ts';
import type { ActionFailure, ContainerState, Pod, Workload } from './observed.ts';
import { isServing } from './observed.ts';
import type { Patience } from './patience.ts';
import { isRolled } from './rolled-parts.ts';
import { checkWorkloads, replicasOf, runningRevision } from './workloads.ts';

const record = aRecord();
const revision = aRevision(record);
const older = aRevision(record, 'DEPLOYED', 2);
const ANSWER = [pass('Answering', ''), pass('Answering', '')];
const OVERDUE = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
const CRASHED: ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
const ENDED: ContainerState = { terminated: { exitCode: 3, reason: 'Error', message: 'no module named shop' } };
const PATIENT: Patience = {
  maxCrashes: 3,
  unavailableSeconds: 300,
  exhausted: new Set(),
  progressDeadlineSeconds: 600,
  overdue: new Set(),
};
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
    { name: 'its apply refused', failures: [failure('ApplyRefused', 'Deployment')], want: 'stalled ApplyRefused' },
    { name: 'its request failed', failures: [failure('RequestFailed', 'Deployment')], want: 'fail RequestFailed' },
    {
      name: 'its volume lost',
      failures: [failure('VolumeLost', 'PersistentVolumeClaim')],
      want: 'stalled VolumeLost',
    },
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
      says: 'Rolling out',
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
      says: 'Waiting for GET /ok on port 8000',
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
    {
      name: 'waiting for its own answer',
      server: waiting,
      want: 'fail Progressing',
      says: 'Waiting for GET /ok on port 8000',
    },
    {
      name: 'held back by an init container',
      server: waiting,
      pods: [{ ...aPod('server', revision, { init: [{ name: 'setup', state: { running: {} } }] }), longHeld: true }],
      want: 'fail Progressing',
      says: 'Rolling out the server. Pod shop-server-0 waits for its init container setup to end. kubectl logs shop-server-0 -c setup -n team shows what it is doing.',
    },
    {
      name: 'held back until the deadline',
      server: aWorkload('server', revision, { ready: 0, conditions: [OVERDUE] }),
      pods: [{ ...aPod('server', revision, { init: [{ name: 'setup', state: { running: {} } }] }), longHeld: true }],
      want: 'stalled ProgressDeadlineExceeded',
      says: 'made no progress in 600 s. Pod shop-server-0 waits for its init container setup to end.',
    },
  ])('$name: $want', ({ server, pods = [], stores = ANSWER, failures = [], want, says = '' }) => {
    const observed = anObserved(record, { children: server ? [server] : [], pods });
    const { is, reason, message } = checkWorkloads(observed, revision, stores, failures);
    expect(`${is} ${reason}`).toBe(want);
    expect(message).toContain(says);
    expect(isRolled(observed, revision)).toBe(is === 'pass');
  });

  it.each([
    { name: 'its own', at: '2026-01-01T00:00:11Z', want: 'stalled' },
    { name: 'the condition of the previous template', at: '2026-01-01T00:00:01Z', want: 'fail' },
    {
      name: 'the condition of pods that the revision shares',
      at: '2026-01-01T00:00:01Z',
      podsOf: older.spec.id,
      want: 'stalled',
    },
  ])('a deadline that has passed, $name: $want', ({ at, podsOf, want }) => {
    const { metadata, spec } = aRevision(record, undefined, 3);
    const latest: AppRevision = {
      ...revision,
      metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:01Z' },
      spec: { ...spec, resolved: { ...spec.resolved, ...(podsOf && { podsOf }) } },
    };
    const server = aWorkload('server', podsOf ? older : latest, {
      total: 2,
      conditions: [{ ...OVERDUE, lastTransitionTime: at }],
    });
    const observed = anObserved(record, { children: [server], revisions: [latest, older] });
    expect(checkWorkloads(observed, latest, ANSWER).is).toBe(want);
  });

  it.each<{ name: string; words?: string; justStarted?: true; health?: object; says: string }>([
    {
      name: 'nothing listens yet',
      words: 'Startup probe failed: dial tcp 10.0.0.7:8000: connect: connection refused',
      justStarted: true,
      says: 'port 8000; the container has just started: port 8000 refused the connection. See the log',
    },
    {
      name: 'a command that does not succeed yet',
      health: { healthCommand: ['ping'] },
      words: 'Startup probe failed: no',
      justStarted: true,
      says: 'the container has just started: no. See the log',
    },
    { name: 'nothing yet', says: 'Waiting for GET /ok on port 8000. See the log' },
    {
      name: 'nothing listens',
      words: 'Startup probe failed: dial tcp 10.0.0.7:8000: connect: connection refused',
      says: 'port 8000; the last check failed: port 8000 refused the connection. Nothing listens there, or only on 127.0.0.1',
    },
    {
      name: 'another path',
      words: 'Readiness probe failed: HTTP probe failed with statuscode: 404',
      says: '/ok answered with status 404. A status from 200 to 399 is needed: correct health_path',
    },
    {
      name: 'another path, of a program that has just started',
      words: 'Startup probe failed: HTTP probe failed with statuscode: 404',
      justStarted: true,
      says: '; the last check failed: /ok answered with status 404. A status from 200 to 399 is needed: correct health_path',
    },
    {
      name: 'not yet, of a program that has just started',
      words: 'Startup probe failed: HTTP probe failed with statuscode: 503',
      justStarted: true,
      says: '; the container has just started: /ok answered with status 503. See the log',
    },
    {
      name: 'too many requests, of a program that has just started',
      words: 'Startup probe failed: HTTP probe failed with statuscode: 429',
      justStarted: true,
      says: 'the container has just started: /ok answered with status 429. See the log',
    },
    {
      name: 'too slow',
      words:
        'Readiness probe failed: Get "http://10.0.0.7:8000/ok": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
      says: 'no answer came from port 8000 in time',
    },
    {
      name: 'no HTTP',
      words:
        'Readiness probe failed: Get "http://10.0.0.7:8000/ok": net/http: HTTP/1.x transport connection broken: malformed HTTP response',
      says: 'the answer from port 8000 is not HTTP',
    },
    {
      name: 'a command',
      health: { healthCommand: ['ping'] },
      words: 'Readiness probe failed: sh: ping: not found',
      says: 'Waiting for its health command to succeed; the last check failed: sh: ping: not found. See the log',
    },
    {
      name: 'a command that the image lacks',
      health: { heartbeatFile: '/tmp/alive', heartbeatMaxAgeSeconds: 30 },
      words:
        'Readiness probe errored: rpc error: code = Unknown desc = failed to exec in container: failed to start exec "5d8f": OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH: unknown',
      says: 'Waiting for its pods to write /tmp/alive (at least every 30 s); the last check failed: the image has no program sh. Set health_command to a program that the image has',
    },
    {
      name: 'a command that takes too long',
      health: { healthCommand: ['ping'], healthTimeoutSeconds: 4 },
      words: 'Readiness probe failed: command timed out: "ping" timed out after 4s',
      says: 'Waiting for its health command to succeed; the last check failed: it did not end within 4 s. Raise health_timeout_seconds, or',
    },
  ])('says what the health check got: $name', ({ words, justStarted, health, says }) => {
    const asking = aRecord({ sourceConfig: { runtime: { server: health } } });
    const of = aRevision(asking);
    const running = { name: 'server', ready: false, state: { running: {} } };
    const pod = {
      ...aPod('server', of, { main: [running] }),
      ...(words !== undefined && { failedProbe: words }),
      ...(justStarted && { justStarted }),
    };
    const observed = anObserved(asking, { children: [aWorkload('server', of, { ready: 0 })], pods: [pod] });
    expect(checkWorkloads(observed, of, ANSWER).message).toContain(says);
  });

  describe('a container that exits again and again', () => {
    const exits = (restartCount: number, name = 'server', state: ContainerState = CRASHED): Pod =>
      aPod('server', revision, { main: [{ name, image: 'a', restartCount, state, lastState: ENDED }] });
    /** A kubelet reports the epoch as the start of a container that was not started. */
    const neverStarts = (restartCount: number): Pod => {
      const [startedAt, finishedAt] = [new Date(0).toISOString(), new Date(3_600_000).toISOString()];
      const lastState = { terminated: { exitCode: 128, reason: 'StartError', startedAt, finishedAt } };
      return aPod('server', revision, { main: [{ name: 'server', restartCount, state: CRASHED, lastState }] });
    };
    const served: AppRevision = { ...revision, status: { state: 'DEPLOYED' } };
    /** It has exited often in its life. */
    const ran = (minutes: number): Pod => {
      const at = (minute: number): string => new Date(minute * 60_000).toISOString();
      const lastState = { terminated: { exitCode: 3, reason: 'Error', startedAt: at(1), finishedAt: at(minutes + 1) } };
      return aPod('server', revision, { main: [{ name: 'server', restartCount: 9, state: CRASHED, lastState }] });
    };
    it.each<{
      name: string;
      pod: Pod;
      /** Pods of the active revision. */
      before?: readonly Pod[];
      others?: readonly AppRevision[];
      of?: AppRevision;
      stores?: typeof ANSWER;
      want: string;
      says?: string;
    }>([
      { name: 'once less than the limit', pod: exits(1), others: [older], want: 'fail ContainerCrashed' },
      {
        name: 'with an active revision',
        pod: exits(2),
        others: [older],
        want: 'stalled ContainerCrashed final',
        says: `Revision ${revision.spec.id} failed: the server exited at least 3 times. Its pods were removed, and revision ${older.spec.id} runs instead. Container server exited (Error, exit code 3): no module named shop. Read its log, and deploy a corrected revision. Its log: kubectl davit logs shop --revision ${revision.metadata.name} -n team`,
      },
      {
        name: 'without an active revision',
        pod: exits(2),
        want: 'stalled ContainerCrashed',
        says: 'No earlier revision serves, so its pods stay',
      },
      { name: 'that never starts', pod: neverStarts(2), others: [older], want: 'stalled ContainerCrashed final' },
      { name: 'while it runs again', pod: exits(3, 'server', { running: {} }), want: 'stalled ContainerCrashed' },
      { name: 'a sidecar', pod: exits(2, 'proxy'), others: [older], want: 'stalled ContainerCrashed final' },
      { name: "Davit's own, which waits", pod: exits(9, 'wait-for-database'), want: 'fail ContainerCrashed' },
      {
        name: 'while PostgreSQL does not answer',
        pod: exits(9),
        stores: [fail('NotAnswering', 'no'), pass('Answering', '')],
        want: 'fail ContainerCrashed',
      },
      {
        name: 'of a revision that was deployed, once less than the limit',
        pod: exits(1),
        of: served,
        want: 'fail ContainerCrashed',
      },
      {
        name: 'of a revision that was deployed',
        pod: exits(2),
        of: served,
        others: [older],
        want: 'stalled ContainerCrashed',
        says: `The server exited at least 3 times, and Kubernetes restarts it. Container server exited (Error, exit code 3): no module named shop. Read its log, and deploy a corrected revision. Its log: kubectl davit logs shop --revision ${revision.metadata.name} -n team`,
      },
      {
        name: 'of a revision that was deployed, while PostgreSQL does not answer',
        pod: exits(9),
        of: served,
        stores: [fail('NotAnswering', 'no'), pass('Answering', '')],
        want: 'fail ContainerCrashed',
      },
      {
        name: 'of a revision that was deployed, after 9 minutes',
        pod: ran(9),
        of: served,
        want: 'stalled ContainerCrashed',
      },
      {
        name: 'of a revision that was deployed, after 10 minutes',
        pod: ran(10),
        of: served,
        want: 'fail ContainerCrashed',
      },
      {
        name: 'while the pods of the active revision run',
        pod: exits(2),
        before: [aPod('server', older, { main: [{ name: 'server', image: 'a', state: { running: {} } }] })],
        others: [older],
        want: 'stalled ContainerCrashed final',
      },
      {
        name: 'while a pod of the active revision fails as well: an external store may be away',
        pod: exits(2),
        before: [aPod('server', older, { main: [{ name: 'server', image: 'a', state: CRASHED, lastState: ENDED }] })],
        others: [older],
        want: 'fail ContainerCrashed',
      },
    ])('$name: $want', ({ pod, before = [], others = [], of = revision, stores = ANSWER, want, says = '' }) => {
      const children = [aWorkload('server', of, { ready: 0 })];
      const observed = {
        ...anObserved(record, { revisions: [of, ...others], children, pods: [pod, ...before] }),
        patience: PATIENT,
      };
      const entry = checkWorkloads(observed, of, stores);
      expect(`${entry.is} ${entry.reason}${entry.final ? ' final' : ''}`).toBe(want);
      expect(entry.message).toContain(says);
    });

    it('stays failed when its pods are gone', () => {
      const failed: AppRevision = {
        ...revision,
        status: { state: 'DEPLOY_FAILED', failure: { reason: 'ContainerCrashed', message: 'It exited.' } },
      };
      const observed = anObserved(record, { revisions: [failed, older], children: [aWorkload('server', older)] });
      expect(checkWorkloads(observed, failed, ANSWER)).toEqual({
        is: 'stalled',
        reason: 'ContainerCrashed',
        message: 'It exited.',
      });
    });

    it('says at a scale of zero that nothing serves, and the failure as of before', () => {
      const { spec } = revision;
      const server = { ...spec.resolved.server, minScale: 0, maxScale: 0 };
      const failed: AppRevision = {
        ...revision,
        spec: { ...spec, resolved: { ...spec.resolved, server } },
        status: {
          state: 'DEPLOY_FAILED',
          failure: { reason: 'ContainerCrashed', message: `Revision ${older.spec.id} stays active.` },
        },
      };
      const children = [aWorkload('server', older, { wanted: 0 })];
      const observed = anObserved(record, { revisions: [failed, older], children });
      expect(checkWorkloads(observed, failed, ANSWER)).toMatchObject({
        is: 'stalled',
        message: `Scaled to zero, so nothing serves. Before that: Revision ${older.spec.id} stays active.`,
      });
    });
  });

  it.each<{
    name: string;
    ready?: number;
    state?: RevisionState;
    exhausted?: readonly ConditionType[];
    pods?: Pod[];
    want: string;
  }>([
    { name: 'for a while', exhausted: [], want: 'fail Progressing' },
    { name: 'for too long', want: 'stalled NoReadyPod' },
    { name: 'for too long, with a cause', pods: [pulling], want: 'stalled ImagePullFailed' },
    { name: 'for too long, and one of two is ready', ready: 1, want: 'fail Progressing' },
    { name: 'while a newer revision is rolled out', state: 'DEPLOYING', want: 'fail Progressing' },
  ])(
    'a part that served has no ready pod $name: $want',
    ({ ready = 0, state = 'DEPLOYED', exhausted = ['Available'], pods = [], want }) => {
      const of: AppRevision = { ...revision, status: { state } };
      const children = [
        aWorkload('server', of, {
          wanted: 2,
          ready,
          conditions: [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }],
        }),
      ];
      const patience = { ...PATIENT, exhausted: new Set(exhausted) };
      const { is, reason } = checkWorkloads(
        { ...anObserved(record, { revisions: [of], children, pods }), patience },
        of,
        ANSWER,
      );
      expect(`${is} ${reason}`).toBe(want);
    },
  );

  it('calls nothing a rollout that is none', () => {
    const of: AppRevision = { ...revision, status: { state: 'DEPLOYED' } };
    const observed = anObserved(record, { revisions: [of], children: [aWorkload('server', of, { ready: 0 })] });
    expect(checkWorkloads(observed, of, ANSWER).message).toContain('of the server is not ready');
  });

  it('names the pod that is not ready, and not the log of one that never began', () => {
    const of: AppRevision = { ...revision, status: { state: 'DEPLOYED' } };
    const named = (name: string, status: object, isReady: boolean): Pod => {
      const pod = aPod('server', of, {
        conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
        ...status,
      });
      return { ...pod, metadata: { ...pod.metadata, name } };
    };
    const pods = [
      named('shop-a', { main: [{ name: 'server', ready: true, state: { running: {} } }] }, true),
      named('shop-b', {}, false),
    ];
    const children = [aWorkload('server', of, { wanted: 2, ready: 1 })];
    expect(checkWorkloads(anObserved(record, { revisions: [of], children, pods }), of, ANSWER).message).toBe(
      'Pod shop-b of the server is not ready. Pod shop-b is starting, and its program is not running yet. If this persists: kubectl describe pod shop-b -n team.',
    );
  });

  it.each([
    [{ port: 5679, healthPath: '/live' }, 'Waiting for GET /live on port 5679.'],
    [{ healthCommand: ['ping'] }, 'Waiting for its health command to succeed.'],
    [{ heartbeatFile: '/tmp/alive' }, 'Waiting for its pods to write /tmp/alive (at least every 60 s).'],
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

  it.each(['Queued', 'AwaitingBuild', 'Building'] as const)(
    'knows that nobody continues a build that is %s',
    (phase) => {
      const underWay = { ...revision, status: { build: { phase } } } as AppRevision;
      expect(checkBuild({ canBuild: false }, underWay)).toMatchObject({
        is: 'stalled',
        reason: 'BuilderNotConfigured',
      });
      expect(checkBuild({ canBuild: true }, underWay)).toMatchObject({ is: 'fail' });
    },
  );
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

describe('which revision runs, where parts share their pods', () => {
  const parts = aRecord({ sourceConfig: { resourceSpec: { queueCpu: 1 } } });
  const first = aRevision(parts, 'DEPLOYED', 1);
  const sharing = (
    serial: number,
    podsOfParts: AppRevision['spec']['resolved']['podsOfParts'],
    status: AppRevision['status'] = {},
  ): AppRevision => {
    const made = aRevision(parts, status.state, serial);
    return {
      ...made,
      spec: { ...made.spec, resolved: { ...made.spec.resolved, podsOfParts } },
      status,
    };
  };
  const ofFirst = { server: first.spec.id };
  const second = sharing(2, ofFirst);
  const redis = { ...ofFirst, queue: first.spec.id, redis: second.spec.id };
  const set = aStore('redis');
  const marked: Workload = {
    ...set,
    metadata: { ...set.metadata, annotations: { 'davit.dev/store-revision': second.spec.id } },
  };
  const failure = { reason: 'ContainerCrashed', message: 'It exited.' };

  it.each<{ name: string; newest: AppRevision; queue?: AppRevision; others?: readonly Workload[]; runs: AppRevision }>([
    { name: 'the queue is of the one before', newest: second, queue: first, runs: first },
    { name: 'the queue is its own', newest: second, queue: second, runs: second },
    { name: 'the queue was never made', newest: second, runs: first },
    { name: 'somebody deleted the queue', newest: sharing(2, ofFirst, { state: 'DEPLOYED' }), runs: second },
    { name: 'it failed', newest: sharing(2, ofFirst, { failure }), queue: second, runs: first },
    {
      name: 'a part is left that it does not have',
      newest: sharing(2, { ...ofFirst, queue: first.spec.id }),
      queue: first,
      others: [aWorkload('executor', first)],
      runs: first,
    },
    { name: 'a store is not changed yet', newest: sharing(2, redis), queue: first, others: [set], runs: first },
    { name: 'a store is changed', newest: sharing(2, redis), queue: first, others: [marked], runs: second },
    {
      name: 'a store was changed since by one that failed',
      newest: sharing(2, redis, { state: 'DEPLOYED' }),
      queue: first,
      others: [set],
      runs: second,
    },
  ])('$name', ({ newest, queue, others = [], runs }) => {
    const children = [aWorkload('server', first), ...(queue ? [aWorkload('queue', queue)] : []), ...others];
    const observed = anObserved(parts, { revisions: [newest, first], children });
    expect(runningRevision(observed)?.spec.id).toBe(runs.spec.id);
    const isWhole = runs.spec.id === newest.spec.id && queue !== undefined && others.every((one) => one !== set);
    expect(checkWorkloads(observed, newest, ANSWER).is === 'pass').toBe(
      isWhole || (newest.status?.state === 'DEPLOYED' && queue !== undefined),
    );
  });

  it('exits of pods that served before are no failure of it', () => {
    const exits = aPod('server', first, {
      main: [{ name: 'server', restartCount: 9, state: CRASHED, lastState: ENDED }],
    });
    const children = [aWorkload('server', first, { ready: 0 }), aWorkload('queue', second)];
    const observed = {
      ...anObserved(parts, { revisions: [second, first], children, pods: [exits] }),
      patience: PATIENT,
    };
    expect(checkWorkloads(observed, second, ANSWER)).toMatchObject({ is: 'fail', reason: 'ContainerCrashed' });
    const patience = { ...PATIENT, exhausted: new Set<ConditionType>(['Available']) };
    expect(checkWorkloads({ ...observed, patience }, second, ANSWER)).toMatchObject({ is: 'stalled' });
  });
});

describe('a pod that a lost node does not release', () => {
  const workers = { scheduler: { command: ['scheduler'], singleton: true } };
  const singleton = aRecord({ sourceConfig: { runtime: { workers } } });
  const deployed = aRevision(singleton, 'DEPLOYED');
  const none = aRecord();
  const server = aWorkload('server', deployed);
  const labels = (of: AppRevision): object => ({ metadata: { labels: { 'davit.dev/revision': of.spec.id } } });
  function scheduler(kind: string, of = deployed): Workload {
    const { metadata, status } = aWorkload('server', of, { ready: 0 });
    const own = { ...metadata.labels, 'davit.dev/component': 'scheduler' };
    const meta = { ...metadata, name: 'shop--scheduler', labels: own };
    return {
      apiVersion: 'apps/v1',
      kind,
      metadata: meta,
      spec: { replicas: 1, template: labels(of) },
      status,
    } as Workload;
  }
  function lost(overdue: boolean): Pod {
    const pod = aPod('scheduler', deployed, {});
    const metadata = { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    return { ...pod, metadata, spec: { nodeName: 'n1' }, ...(overdue && { overdue }) };
  }
  it.each([
    { what: 'of a singleton', overdue: true, there: scheduler('StatefulSet'), want: 'stalled PodStuckTerminating' },
    { what: 'of a singleton, in its time', overdue: false, there: scheduler('StatefulSet'), want: 'fail Progressing' },
    { what: 'of a worker that becomes a singleton', overdue: true, want: 'stalled PodStuckTerminating' },
    {
      what: 'of a Deployment that gives way',
      overdue: true,
      there: scheduler('Deployment'),
      want: 'stalled PodStuckTerminating',
    },
  ])('$what: $want', ({ overdue, there, want }) => {
    const children = [server, ...(there ? [there] : [])];
    const observed = {
      ...anObserved(singleton, { revisions: [deployed], children, pods: [lost(overdue)] }),
      patience: PATIENT,
    };
    const { is, reason, message } = checkWorkloads(observed, deployed, ANSWER);
    expect(`${is} ${reason}`).toBe(want);
    if (overdue) expect(message).toMatch(/^The scheduler .*shop-scheduler-0.*node n1.*--force --grace-period=0/);
  });

  it('of a worker that is removed, by a revision that waits for that', () => {
    const next = aRevision(none, 'DEPLOYING', 2);
    const resolved = { ...next.spec.resolved, podsOfParts: { server: deployed.spec.id } };
    const sharing: AppRevision = { ...next, spec: { ...next.spec, resolved } };
    const children = [server, scheduler('StatefulSet')];
    const observed = anObserved(none, { revisions: [sharing, deployed], children, pods: [lost(true)] });
    expect(checkWorkloads(observed, sharing, ANSWER)).toMatchObject({ is: 'stalled', reason: 'PodStuckTerminating' });
  });

  it('of a Deployment that stays is no trouble: another one is made', () => {
    const pod = {
      ...lost(true),
      metadata: { ...aPod('server', deployed, {}).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const observed = anObserved(record, { children: [aWorkload('server', revision, { ready: 0 })], pods: [pod] });
    expect(checkWorkloads(observed, revision, ANSWER).is).toBe('fail');
  });

  it('is an outage, and no rollout, while the pod is still to end', () => {
    const overdue = new Set<ConditionType>(['WorkloadsReady']);
    const children = [server, scheduler('StatefulSet')];
    const observed = anObserved(singleton, { revisions: [deployed], children, pods: [lost(false)] });
    const seen = (patience: Patience): string => checkWorkloads({ ...observed, patience }, deployed, ANSWER).message;
    expect(seen({ ...PATIENT, overdue })).not.toContain('made no progress');
    expect(seen({ ...PATIENT, overdue, exhausted: overdue })).toMatch(/^The scheduler has had no ready pod for more/);
  });
});
