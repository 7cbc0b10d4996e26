import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, aWorkload } from '../../../test/support/builders.ts';
import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { CONTROLLER_REVISION_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { ActionFailure, Observed, Pod, Workload } from './observed.ts';
import { checkStore, ownStoreAnswers } from './stores.ts';

const record = aRecord();
const revision = aRevision(record);

function said(type: string, status: 'True' | 'False', reason: string): { status: AppDeploymentStatus } {
  return {
    status: { conditions: [{ type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
  };
}

describe('a store that the record does without', () => {
  const runtime = { database: 'none', redis: 'none' } as const;
  const without = aRecord({ sourceConfig: { runtime } });
  it.each(['postgres', 'redis'] as const)('%s is not needed, whatever runs', (part) => {
    const what = part === 'postgres' ? 'PostgreSQL' : 'Redis';
    const entry = { is: 'pass', reason: 'NotNeeded', message: `The record needs no ${what}.` };
    expect(checkStore(part, anObserved(without), aRevision(without))).toEqual(entry);
    const before = anObserved(without, { children: [aStore(part, 0)], pods: [aPod(part, revision, {})] });
    expect(checkStore(part, before, aRevision(without))).toEqual(entry);
  });
});

describe("the record's own store", () => {
  const silent = aStore('redis', 0);
  const crashed = aPod('redis', revision, {
    main: [{ name: 'redis', state: { terminated: { exitCode: 1, reason: 'Error' } } }],
  });
  const stuck: Pod = {
    ...crashed,
    overdue: true,
    metadata: { ...crashed.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  const failed: ActionFailure = {
    reason: 'ApplyRefused',
    ref: { kind: 'StatefulSet', name: 'shop--redis' },
    message: 'refused',
  };
  const redis = aStore('redis');
  const annotations = { 'davit.dev/resizing': 'true' };
  const resized: Workload = {
    ...redis,
    metadata: { ...redis.metadata, annotations },
    spec: { updateStrategy: { type: 'OnDelete' } },
  };
  const ofSet = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    name: 'shop--redis',
    uid: 'uid-shop--redis',
    controller: true,
  };
  const waiting = (reason: string): Pod => {
    const pod = aPod('redis', revision, {
      conditions: [{ type: 'PodResizePending', status: 'True', reason, message: 'no room' }],
    });
    return { ...pod, metadata: { ...pod.metadata, ownerReferences: [ofSet] } };
  };
  const rolling: Workload = { ...aStore('redis'), status: { ...aStore('redis').status, observedGeneration: 0 } };
  it.each<{
    name: string;
    set?: Workload;
    pods?: readonly Pod[];
    failures?: readonly ActionFailure[];
    before?: { status: AppDeploymentStatus };
    want: string;
  }>([
    { name: 'answers', set: aStore('redis'), want: 'pass Answering' },
    {
      name: 'answers, though its last apply was refused',
      set: aStore('redis'),
      failures: [failed],
      want: 'pass Answering',
    },
    { name: 'refused', set: silent, failures: [failed], want: 'fail ApplyRefused' },
    {
      name: 'another object refused',
      set: silent,
      failures: [{ ...failed, ref: { kind: 'Service', name: 'shop--redis' } }],
      want: 'fail Starting',
    },
    { name: 'not made', want: 'fail NotObserved' },
    { name: 'its pod fails', set: silent, pods: [crashed], want: 'fail ContainerCrashed' },
    { name: 'its pod does not end', set: silent, pods: [stuck], want: 'stalled PodStuckTerminating' },
    { name: 'is being restarted', set: rolling, want: 'fail Starting' },
    { name: 'is being resized', set: resized, want: 'pass Resizing' },
    {
      name: 'waits for room on its node',
      set: resized,
      pods: [waiting('Deferred')],
      want: 'pass ResizeDeferred',
    },
    {
      name: 'is larger than its node',
      set: resized,
      pods: [waiting('Infeasible')],
      want: 'pass ResizeDeferred',
    },
    {
      name: 'is being resized, and does not answer',
      set: { ...resized, status: { ...resized.status, readyReplicas: 0 } },
      want: 'fail Starting',
    },
    { name: 'has not answered yet', set: silent, want: 'fail Starting' },
    {
      name: 'answered before',
      set: silent,
      before: said('RedisReady', 'True', 'Answering'),
      want: 'fail NotAnswering',
    },
    {
      name: 'answered before, and it was said that it does not',
      set: silent,
      before: said('RedisReady', 'False', 'NotAnswering'),
      want: 'fail NotAnswering',
    },
    {
      name: 'was not needed before',
      set: silent,
      before: said('RedisReady', 'True', 'NotNeeded'),
      want: 'fail Starting',
    },
    {
      name: 'only the other one answered before',
      set: silent,
      before: said('DatabaseReady', 'True', 'Answering'),
      want: 'fail Starting',
    },
  ])('$name: $want', ({ set, pods = [], failures = [], before, want }) => {
    const observed = anObserved(aRecord({}, before), { children: set ? [set] : [], pods });
    const { is, reason } = checkStore('redis', observed, revision, failures);
    expect(`${is} ${reason}`).toBe(want);
    expect(ownStoreAnswers('redis', observed)).toBe(reason === 'Answering');
  });

  it.each([
    ['b', 'a', 'Redis is restarting with its new settings.'],
    ['a', 'a', 'Redis is being restarted, because its pod was evicted or deleted; its settings have not changed.'],
  ])('a pod that is started again is of new settings only where they are: %s after %s', (now, before, says) => {
    const store: Workload = aStore('redis');
    const status = { ...store.status, currentRevision: before, updateRevision: now, updatedReplicas: 0 };
    const set: Workload = { ...store, status };
    const pod = aPod('redis', revision, {});
    const labels = { ...pod.metadata.labels, [CONTROLLER_REVISION_LABEL]: now };
    const pods = [{ ...pod, metadata: { ...pod.metadata, labels } }];
    const observed = anObserved(record, { children: [set], pods });
    expect(checkStore('redis', observed, revision)).toMatchObject({ is: 'fail', reason: 'Starting', message: says });
  });

  it('of PostgreSQL with a volume that goes does not count as answering', () => {
    const claim = {
      ...aStore('postgres'),
      kind: 'PersistentVolumeClaim',
      metadata: { ...aStore('postgres').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const observed = anObserved(record, { children: [aStore('postgres'), claim] });
    expect(checkStore('postgres', observed, revision)).toMatchObject({ is: 'stalled', reason: 'VolumeTerminating' });
    expect(ownStoreAnswers('postgres', observed)).toBe(false);
    expect(checkStore('postgres', observed, revision).serving).toBe(true);
    const stopped = anObserved(record, { children: [aStore('postgres', 0), claim] });
    expect(checkStore('postgres', stopped, revision).serving).toBeUndefined();
  });

  it.each([
    { name: 'nothing serves', children: [], serving: undefined, says: /shows the cause\.$/ },
    {
      name: 'old pods serve',
      children: [aWorkload('server', revision)],
      serving: true,
      says: /The running pods connected earlier\.$/,
    },
  ])('that runs and lets no new pod in does not count as answering: $name', ({ children, serving, says }) => {
    const init = [{ name: 'wait-for-database', state: { running: {} } }];
    const late = { ...aPod('server', revision, { init }), longHeld: true };
    const observed = anObserved(record, { children: [aStore('postgres'), ...children], pods: [late] });
    const entry = checkStore('postgres', observed, revision);
    expect([entry.is, entry.reason, entry.serving]).toEqual(['fail', 'NotAnswering', serving]);
    expect(entry.message).toContain(
      'PostgreSQL is running, but pod shop-server-0 cannot connect to it. Check its password, users and network: kubectl logs shop-server-0 -c wait-for-database -n team shows',
    );
    expect(entry.message).toMatch(says);
    expect(
      checkStore('redis', anObserved(record, { children: [aStore('redis')], pods: [late] }), revision),
    ).toMatchObject({
      reason: 'Answering',
    });
  });
});

describe('an external store', () => {
  const external = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'db', secretKey: 'uri' }];
  const theirs = aRecord({ secretReferences: external });
  const of = aRevision(theirs);
  const waiting = aPod('server', of, { init: [{ name: 'wait-for-database', state: { running: {} } }] });
  const passed = aPod('server', of, {
    init: [{ name: 'wait-for-database', state: { terminated: { exitCode: 0 } } }],
  });
  const older = {
    ...passed,
    metadata: { ...passed.metadata, labels: { ...passed.metadata.labels, 'davit.dev/revision': 'b' } },
  };
  const earlier = { ...of, spec: { ...of.spec, id: 'b' } };
  const { postgres } = aRevision(aRecord()).spec.resolved;
  const withOwn = {
    ...earlier,
    spec: { ...earlier.spec, resolved: { ...of.spec.resolved, ...(postgres && { postgres }) } },
  };
  const deployed = (one: AppRevision): AppRevision => ({ ...one, status: { state: 'DEPLOYED' } });
  const withOther = deployed({
    ...earlier,
    spec: {
      ...earlier.spec,
      requested: {
        ...earlier.spec.requested,
        secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'other', secretKey: 'uri' }],
      },
    },
  });
  const answered = said('DatabaseReady', 'True', 'Answering');
  const claim: KubeObject = { ...aStore('postgres'), kind: 'PersistentVolumeClaim' };
  const since = (pod: Pod, startedAt: string): Pod => ({
    ...pod,
    longHeld: true,
    status: {
      ...pod.status,
      initContainerStatuses: [{ name: 'wait-for-database', state: { running: { startedAt } } }],
    },
  });
  const passedAt = (finishedAt: string): Pod => ({
    ...passed,
    metadata: { ...passed.metadata, name: 'shop-server-1' },
    status: {
      ...passed.status,
      initContainerStatuses: [{ name: 'wait-for-database', state: { terminated: { exitCode: 0, finishedAt } } }],
    },
  });
  const [EARLY, LATE] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
  const see = (seen: Parameters<typeof anObserved>[1], before?: { status: AppDeploymentStatus }): Observed =>
    anObserved(aRecord({ secretReferences: external }, before), seen);
  it.each([
    { name: 'no pod has tried', observed: see({}), want: 'fail NotObserved' },
    { name: 'pods wait for it', observed: see({ pods: [waiting] }), want: 'fail NotAnswering' },
    { name: 'a pod has passed', observed: see({ pods: [waiting, passed] }), want: 'pass Answering' },
    { name: 'a pod of another revision has', observed: see({ pods: [older] }), want: 'fail NotObserved' },
    {
      name: 'old pods serve while new ones wait',
      observed: see({ pods: [waiting], children: [aWorkload('server', of)] }, answered),
      want: 'pass Answering',
    },
    {
      name: 'it answered, and nothing serves',
      observed: see({ pods: [waiting], children: [aWorkload('server', of, { ready: 0 })] }, answered),
      want: 'fail NotAnswering',
    },
    {
      name: 'old pods serve while new ones wait for long',
      observed: see({ pods: [since(waiting, LATE), passedAt(EARLY)], children: [aWorkload('server', of)] }, answered),
      want: 'fail NotAnswering serving',
      says: 'The PostgreSQL in POSTGRES_URI_CUSTOM does not answer. Check its address, password and network. Pod shop-server-0 waits for it: kubectl logs shop-server-0 -c wait-for-database -n team shows the cause. The running pods connected earlier.',
    },
    {
      name: 'it was said not to answer, and old pods serve',
      observed: see({ children: [aWorkload('server', of)] }, said('DatabaseReady', 'False', 'NotAnswering')),
      want: 'fail NotObserved serving',
      says: 'No pod of the latest revision has connected to the PostgreSQL in POSTGRES_URI_CUSTOM yet. The running pods connected earlier.',
    },
    {
      name: 'no pod of the revision has tried, and one of an earlier revision waits for long',
      observed: see({ pods: [since(older, LATE)], revisions: [of, earlier] }),
      want: 'fail NotAnswering',
      says: 'Pod shop-server-0 waits for it: kubectl logs shop-server-0 -c wait-for-database -n team shows the cause.',
    },
    {
      name: 'one of an earlier revision waits for long, since a pod of this one got through',
      observed: see({ pods: [since(older, LATE), passedAt(EARLY)], revisions: [of, earlier] }),
      want: 'fail NotAnswering',
    },
    {
      name: 'one of an earlier revision waits for its own store',
      observed: see({ pods: [since(older, LATE)], revisions: [of, withOwn] }),
      want: 'fail NotObserved',
    },
    {
      name: 'another pod has got through since',
      observed: see({ pods: [since(waiting, EARLY), passedAt(LATE)] }),
      want: 'pass Answering',
      says: `The PostgreSQL in POSTGRES_URI_CUSTOM answered when pod shop-server-1 started, at ${LATE}.`,
    },
    {
      name: 'no pod of the revision has tried, and old ones serve',
      observed: see({ children: [aWorkload('server', of)] }, answered),
      want: 'pass Answering',
      says: 'The PostgreSQL in POSTGRES_URI_CUSTOM answered the running pods.',
    },
    {
      name: 'the pods that serve use another external one',
      observed: see({ children: [aWorkload('server', of)], revisions: [of, withOther] }, answered),
      want: 'fail NotObserved serving',
      says: 'No pod of the latest revision has connected to the PostgreSQL in POSTGRES_URI_CUSTOM yet.',
    },
    {
      name: 'the pods that serve use their own one, and the first new one is starting',
      observed: see(
        { pods: [waiting], children: [aWorkload('server', of)], revisions: [of, deployed(withOwn)] },
        answered,
      ),
      want: 'fail NotObserved serving',
    },
    {
      name: 'one of an earlier revision waits for another external one',
      observed: see({ pods: [since(older, LATE)], revisions: [of, withOther] }),
      want: 'fail NotObserved',
    },
  ])('$name: $want', ({ observed, want, says = '' }) => {
    const { is, reason, serving, message } = checkStore('postgres', observed, of);
    expect(`${is} ${reason}${serving ? ' serving' : ''}`).toBe(want);
    expect(message).toContain(says);
  });

  it('is needed by nothing that is scaled to zero', () => {
    const zero = aRecord({ secretReferences: external, sourceConfig: { resourceSpec: { maxScale: 0 } } });
    expect(checkStore('postgres', anObserved(zero), aRevision(zero))).toMatchObject({
      is: 'pass',
      reason: 'NotNeeded',
    });
  });

  it("says that the record's own volume is kept", () => {
    const { message } = checkStore('postgres', see({ pods: [passed], children: [claim] }), of);
    expect(message).toContain("The record's own volume, shop--postgres, is kept");
  });
});

describe('a volume that is full', () => {
  const message =
    'LOG:  database system was shut down\nPANIC:  could not write to file "pg_wal/xlogtemp.31": No space left on device\n';
  const state = { terminated: { exitCode: 1, reason: 'Error', message } };

  it('is said when PostgreSQL ends of it, with what helps', () => {
    const pods = [aPod('postgres', revision, { main: [{ name: 'postgres', state }] })];
    const observed = anObserved(record, { children: [aStore('postgres', 0)], pods });
    const { is, reason, message: words } = checkStore('postgres', observed, revision);
    expect(`${is} ${reason}`).toBe('stalled VolumeFull');
    expect(words).toMatch(
      /^PostgreSQL: Container postgres exited: .*No space left on device. Its volume is full. Raise /,
    );
  });

  it('of Redis is none: it has no volume', () => {
    const pods = [aPod('redis', revision, { main: [{ name: 'redis', state }] })];
    const observed = anObserved(record, { children: [aStore('redis', 0)], pods });
    expect(checkStore('redis', observed, revision)).toMatchObject({ is: 'fail', reason: 'ContainerCrashed' });
  });
});
