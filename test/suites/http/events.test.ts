// GET /v2/deployments/{id}/events over an in-memory API server.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeploymentEvents, type DeploymentPod } from '../../../src/deploy/http/events/payloads.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { Forbidden, NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import { EVENTS, POD_METRICS, POD_METRICS_V1BETA1, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, aBody, type Facade, makeFacade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let id: string;
beforeEach(async () => {
  facade = await makeFacade();
  id = (await facade.call('POST', '/v2/deployments', aBody())).body.id;
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(at(59)) });
});
afterEach(() => {
  vi.useRealTimers();
});

const call = (): Promise<Answer> => facade.call('GET', `/v2/deployments/${id}/events`);
const at = (minute: number): string => `2099-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

let events = 0;
function event(regarding: { kind: string; name: string; uid?: string }, more: object = {}): void {
  events += 1;
  facade.kube.seed(EVENTS, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `event-${events}`, namespace: TENANT.namespace, creationTimestamp: at(0) },
    type: 'Normal',
    reason: 'Killing',
    note: `about ${regarding.name}`,
    regarding,
    ...more,
  } as KubeObject);
}
function pod(name: string, status: object, labels: object = {}, uid = id): KubeObject {
  return facade.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: TENANT.namespace,
      creationTimestamp: at(events),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-set`, uid: `${name}-set` }],
      labels: { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': uid, ...labels },
    },
    status,
  } as KubeObject);
}

it('has the pods with their restarts and last exit', async () => {
  const revision = serialRevisionId(id, 1);
  const terminated = { exitCode: 137, reason: 'OOMKilled', finishedAt: at(4) };
  pod(
    'shop-1',
    {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      initContainerStatuses: [
        { name: 'wait', restartCount: 1, state: { terminated: { exitCode: 0, finishedAt: at(9) } } },
      ],
      containerStatuses: [
        { name: 'server', restartCount: 3, lastState: { terminated } },
        { name: 'proxy', restartCount: 1, lastState: { terminated: { exitCode: 1, finishedAt: at(2) } } },
      ],
    },
    { 'davit.dev/component': 'server', 'davit.dev/revision': revision },
  );
  pod('shop--redis-0', { phase: 'Pending' }, { 'davit.dev/component': 'redis' });
  pod('other-1', { phase: 'Running' }, {}, 'another-uid');
  const { status, body } = await call();
  expect(status).toBe(200);
  expect(DeploymentEvents.parse(body)).toEqual(body);
  const { created_at: _time, ...first } = body.pods.find(({ name }: { name: string }) => name === 'shop-1');
  expect(first).toEqual({
    name: 'shop-1',
    part: 'server',
    revision_id: revision,
    started_for_revision_id: revision,
    made_by: null,
    phase: 'Running',
    ending: false,
    ready: true,
    restarts: 5,
    problem: { reason: 'ContainerCrashed', message: expect.stringContaining('more than its memory limit') },
    last_exit: { container: 'server', exit_code: 137, reason: 'OOMKilled', at: at(4) },
    usage: null,
    limits: { cpu: null, memory_mb: null },
  });
  expect(
    body.pods.map(({ name, ready, restarts, last_exit }: Record<string, unknown>) => [
      name,
      ready,
      restarts,
      last_exit,
    ]),
  ).toContainEqual(['shop--redis-0', false, 0, null]);
  expect(body.pods).toHaveLength(2);
});

it('has pods with a problem first, and last those that a person made', async () => {
  const failing = {
    phase: 'Running',
    containerStatuses: [{ name: 'server', lastState: { terminated: { exitCode: 3 } } }],
  };
  const made = (name: string, status: object): void => {
    const { metadata, ...rest } = pod(name, status);
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-5f', uid: 'r', controller: true },
    ];
    facade.kube.seed(PODS, { ...rest, metadata: { ...metadata, ownerReferences } } as KubeObject);
  };
  pod('copy', failing);
  made('fine', { phase: 'Running' });
  made('failing', failing);
  const { body } = await call();
  expect(DeploymentEvents.parse(body)).toEqual(body);
  expect(
    body.pods.map(({ name, made_by, problem }: DeploymentPod) => [name, made_by, problem?.reason ?? null]),
  ).toEqual([
    ['failing', 'ReplicaSet/shop-5f', 'ContainerCrashed'],
    ['fine', 'ReplicaSet/shop-5f', null],
    ['copy', null, 'ContainerCrashed'],
  ]);
});

it('has the revision that runs on a pod, also where the pod was started for an earlier one', async () => {
  const [first, repaired] = [serialRevisionId(id, 1), serialRevisionId(id, 3)];
  const { spec, ...snapshot } = facade.snapshot({ state: 'DEPLOYED', message: 'It serves.' });
  const resolved = { ...spec.resolved, podsOfParts: { server: first } };
  const metadata = { ...snapshot.metadata, name: 'shop--repaired', uid: 'r' };
  facade.revisions.put({ ...snapshot, metadata, spec: { ...spec, id: repaired, deploymentGeneration: 3, resolved } });
  const labels = { 'davit.dev/revision': first };
  for (const component of ['server', 'task', 'queue'])
    pod(`shop-${component}`, { phase: 'Running' }, { ...labels, 'davit.dev/component': component });
  const { body } = await call();
  expect(DeploymentEvents.parse(body)).toEqual(body);
  const shown = body.pods.map((one: Record<string, unknown>) => [
    one['part'],
    one['revision_id'],
    one['started_for_revision_id'],
  ]);
  expect(shown.toSorted()).toEqual([
    ['queue', first, first],
    ['server', repaired, first],
    ['task', repaired, first],
  ]);
});

describe('what pods use', () => {
  const limits = { cpu: '500m', memory: '512Mi' };
  beforeEach(() => {
    const { metadata } = pod('shop-1', { phase: 'Running' });
    facade.kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [{ name: 'server', resources: { limits } }] },
      status: { phase: 'Running' },
    } as KubeObject);
  });
  const measured = (labels: object, kind = POD_METRICS): void => {
    facade.kube.seed(kind, {
      apiVersion: `metrics.k8s.io/${kind.version}`,
      kind: 'PodMetrics',
      metadata: { name: 'shop-1', namespace: TENANT.namespace, labels },
      containers: [{ name: 'server', usage: { cpu: '12345678n', memory: '49152Ki' } }],
    } as KubeObject);
  };
  const shown = async (): Promise<unknown> => {
    const { status, body } = await call();
    expect(DeploymentEvents.parse(body)).toEqual(body);
    return [status, body.pods.map(({ name, usage, limits: most }: Record<string, unknown>) => [name, usage, most])];
  };
  const most = { cpu: 0.5, memory_mb: 512 };

  it('stands beside what they may use', async () => {
    measured({ 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': id });
    expect(await shown()).toEqual([200, [['shop-1', { cpu: 0.012, memory_mb: 48 }, most]]]);
  });

  it('is read from an older metrics server too', async () => {
    measured({ 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': id }, POD_METRICS_V1BETA1);
    const refused = [new NotFound('list pods')];
    facade.kube.failOn(({ kind }) => (kind === 'PodMetrics' ? refused.pop() : undefined));
    expect(await shown()).toEqual([200, [['shop-1', { cpu: 0.012, memory_mb: 48 }, most]]]);
  });

  it('of pods of others is not theirs', async () => {
    measured({ 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'an-earlier-one' });
    expect(await shown()).toEqual([200, [['shop-1', null, most]]]);
  });

  it.each([
    ['the cluster serves no metrics', new NotFound('list pods')],
    ['its metrics server does not answer', new Unavailable('list pods')],
    ['the caller may not list them', new Forbidden('list pods')],
  ])('is not known where %s, and the rest is shown', async (_what, error) => {
    measured({ 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': id });
    facade.kube.failOn(({ kind }) => (kind === 'PodMetrics' ? error : undefined));
    expect(await shown()).toEqual([200, [['shop-1', null, most]]]);
  });
});

it('has the events of the record, its children and its pods, newest first, and no others', async () => {
  const { metadata } = pod('shop-1', { phase: 'Running' });
  event({ kind: 'AppDeployment', name: 'shop', uid: id }, { series: { count: 4, lastObservedTime: at(3) } });
  event(
    { kind: 'Pod', name: 'shop-1', uid: metadata.uid ?? '' },
    { type: 'Warning', reason: 'BackOff', deprecatedCount: 7, deprecatedLastTimestamp: at(5) },
  );
  event({ kind: 'ReplicaSet', name: 'shop-1-set', uid: 'shop-1-set' }, { eventTime: at(2) });
  event({ kind: 'StatefulSet', name: 'shop--postgres', uid: 'x' }, { eventTime: at(1) });
  event({ kind: 'StatefulSet', name: 'shop--postgres', uid: 'earlier' }, { eventTime: '2001-01-01T00:00:00Z' });
  event({ kind: 'AppDeployment', name: 'shop', uid: 'an-earlier-one' });
  event({ kind: 'Pod', name: 'shop-2', uid: 'of-another' });
  event({ kind: 'Deployment', name: 'shop-front', uid: 'y' });
  const { body } = await call();
  expect(body.resources.map(({ object, count, last_at }: Record<string, unknown>) => [object, count, last_at])).toEqual(
    [
      ['Pod/shop-1', 7, at(5)],
      ['AppDeployment/shop', 4, at(3)],
      ['ReplicaSet/shop-1-set', 1, at(2)],
      ['StatefulSet/shop--postgres', 1, at(1)],
    ],
  );
  expect(body.resources[0]).toMatchObject({ type: 'Warning', reason: 'BackOff', message: 'about shop-1' });
  expect(body.truncated).toBe(false);
});

it('puts no event of the future first: it counts from when the API server got it', async () => {
  event({ kind: 'StatefulSet', name: 'shop--postgres', uid: 'x' }, { eventTime: '2999-01-01T00:00:00Z' });
  event({ kind: 'AppDeployment', name: 'shop', uid: id }, { eventTime: at(1) });
  const { body } = await call();
  expect(body.resources.map(({ object, last_at }: Record<string, unknown>) => [object, last_at])).toEqual([
    ['AppDeployment/shop', at(1)],
    ['StatefulSet/shop--postgres', at(0)],
  ]);
});

it('has few events of runs, however many these have, and those of the parts', async () => {
  const run = pod('shop--run-1', { phase: 'Succeeded' }, { 'davit.dev/component': 'task' });
  event({ kind: 'AppDeployment', name: 'shop', uid: id }, { eventTime: at(1) });
  for (let n = 0; n < 60; n += 1) {
    event({ kind: 'Pod', name: 'shop--run-1', uid: run.metadata.uid ?? '' }, { eventTime: at(2) });
    event({ kind: 'Job', name: 'shop--run-1', uid: 'shop--run-1-set' }, { eventTime: at(3) });
    event({ kind: 'CronJob', name: 'shop---backup', uid: 'b' }, { eventTime: at(4) });
    event({ kind: 'StatefulSet', name: 'shop--redis', uid: 'x' }, { eventTime: at(0) });
  }
  const { resources } = (await call()).body;
  const of = (kind: string): number =>
    resources.filter(({ object }: { object: string }) => object.startsWith(`${kind}/`)).length;
  expect([resources.length, of('AppDeployment'), of('StatefulSet')]).toEqual([100, 1, 60]);
  expect(of('Pod') + of('Job') + of('CronJob')).toBe(39);
});

it('says which warnings of a pod are over, because it has become ready since', async () => {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: at(4) }];
  const { metadata } = pod('shop-1', { phase: 'Running', conditions });
  for (const minute of [5, 3])
    event(
      { kind: 'Pod', name: 'shop-1', uid: metadata.uid ?? '' },
      { type: 'Warning', reason: 'Unhealthy', eventTime: at(minute) },
    );
  const { body } = await call();
  expect(body.resources.map(({ last_at, over }: Record<string, unknown>) => [last_at, over])).toEqual([
    [at(5), false],
    [at(3), true],
  ]);
});

describe('rights', () => {
  const listed = (kind: string): void =>
    facade.kube.failOn(({ verb, kind: asked, token }) =>
      verb === 'list' && asked === kind && token === TOKEN
        ? new Forbidden('list', { serverMessage: `may not list ${kind}` })
        : undefined,
    );

  it('are those of the caller: without pods there are events, without events there is nothing', async () => {
    event({ kind: 'AppDeployment', name: 'shop', uid: id });
    listed('Pod');
    expect(await call()).toMatchObject({
      status: 200,
      body: { pods: null, resources: [{ object: 'AppDeployment/shop' }] },
    });
    listed('Event');
    expect(await call()).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('may not list Event') },
    });
  });

  it('end at the tenant', async () => {
    const { uid } = facade.seed({ metadata: { name: 'foreign', namespace: OTHER_TENANT.namespace } }).metadata;
    expect((await facade.call('GET', `/v2/deployments/${uid}/events`)).status).toBe(404);
  });
});

it('is bounded: 100 events of those that are read, and says that there may be more', async () => {
  for (let n = 0; n < 150; n += 1) event({ kind: 'AppDeployment', name: 'shop', uid: id }, { eventTime: at(n % 60) });
  const few = (await call()).body;
  expect([few.resources.length, few.resources[0].last_at, few.truncated]).toEqual([100, at(59), false]);
  for (let n = 0; n < 2000; n += 1) event({ kind: 'Pod', name: 'noise', uid: 'noise' });
  expect((await call()).body.truncated).toBe(true);
});

it('has no events of what made pods before, under the name of what makes them now', async () => {
  pod('shop--postgres-0', { phase: 'Running' }, { 'davit.dev/component': 'postgres' });
  const [made] = facade.kube.objects(PODS);
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop--postgres', uid: 'now' };
  facade.kube.seed(PODS, { ...made, metadata: { ...made?.metadata, ownerReferences: [owner] } } as KubeObject);
  event({ kind: 'StatefulSet', name: 'shop--postgres', uid: 'now' }, { reason: 'OfNow' });
  event({ kind: 'StatefulSet', name: 'shop--postgres', uid: 'before' }, { reason: 'OfBefore' });
  event({ kind: 'PersistentVolumeClaim', name: 'shop--postgres', uid: 'claim' }, { reason: 'OfClaim' });
  const { body } = await call();
  expect(body.resources.map(({ reason }: { reason: string }) => reason).toSorted()).toEqual(['OfClaim', 'OfNow']);
});
