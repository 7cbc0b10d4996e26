// A request that fails is said in the status, in the server's words, before it is tried again: of whatever kind it is.

import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { startController } from '../../../src/runtime/controller/controller.ts';
import { makeWorkQueue } from '../../../src/runtime/controller/work-queue.ts';
import { Conflict, Forbidden, Terminal, Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, KEY, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, deleteRecord, edit, putRecord, putSecret, record } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import type { FakeKube, FakeRequest } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

const WEBHOOK = 'Internal error occurred: failed calling webhook "guard.example": the server says 500';

function failing(kube: FakeKube, which: (request: FakeRequest) => boolean, words = WEBHOOK): void {
  kube.failOn((request) =>
    which(request) ? new Unavailable(`${request.verb} ${request.kind}: ${words}`, { serverMessage: words }) : undefined,
  );
}

function said(kube: FakeKube, type = 'Ready'): { is: string; message: string | undefined; current: boolean } {
  const { status, metadata } = record(kube);
  const condition = conditionOf(status?.conditions, type);
  return {
    is: `${condition?.status} ${condition?.reason}`,
    message: condition?.message,
    current:
      condition?.observedGeneration === metadata.generation && status?.observedGeneration === metadata.generation,
  };
}

const FAILED = { is: 'False RequestFailed', message: expect.stringContaining(WEBHOOK), current: true };

async function started(spec: Partial<AppDeployment['spec']> = {}): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, spec);
  return aController(kube);
}

async function newImage(kube: FakeKube): Promise<void> {
  await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 2 } });
}

describe('a refusal whose words differ each time', () => {
  it.each([
    { what: 'a child that a webhook denies', kind: 'Service', reason: 'ApplyRefused' },
    { what: 'pods that a webhook denies', kind: 'Pod', reason: 'PodsRefused' },
  ])('is written once for each generation: $what', async ({ kind, reason }) => {
    const { kube, reconcile, writes } = await started();
    let requests = 0;
    kube.failOn((request) => {
      if (request.kind !== kind) return undefined;
      requests += 1;
      return new Forbidden('apply', { serverMessage: `denied: request 7f${requests}, ${requests} so far` });
    });
    const pass = (): Promise<unknown> => reconcile().catch(() => undefined);
    for (let passes = 0; passes < 3; passes += 1) await pass();
    expect(said(kube).is).toBe(`False ${reason}`);
    writes();
    const before = requests;
    await pass();
    expect([requests > before, writes().filter((write) => write.includes('/status'))]).toEqual([true, []]);

    await newImage(kube);
    await pass();
    await pass();
    expect(said(kube)).toMatchObject({ is: `False ${reason}`, current: true });
    const [, number] = /, (\d+) so far/.exec(said(kube).message ?? '') ?? [];
    expect(Number(number)).toBeGreaterThan(before);
  });
});

describe('a new record', () => {
  it.each([
    { kind: 'Service', which: ({ kind }: FakeRequest) => kind === 'Service' },
    { kind: 'Deployment', which: ({ kind }: FakeRequest) => kind === 'Deployment' },
    { kind: 'StatefulSet', which: ({ kind }: FakeRequest) => kind === 'StatefulSet' },
    { kind: 'NetworkPolicy', which: ({ kind }: FakeRequest) => kind === 'NetworkPolicy' },
    { kind: 'PersistentVolumeClaim', which: ({ kind }: FakeRequest) => kind === 'PersistentVolumeClaim' },
    { kind: 'Secret (passwords)', which: ({ kind }: FakeRequest) => kind === 'Secret' },
    { kind: 'Pod (dry run)', which: ({ kind }: FakeRequest) => kind === 'Pod' },
    {
      kind: 'TracingProject',
      which: ({ kind, subresource }: FakeRequest) => kind === 'TracingProject' && !subresource,
    },
    { kind: 'AppRevision', which: ({ kind, subresource }: FakeRequest) => kind === 'AppRevision' && !subresource },
    {
      kind: 'status of an AppRevision',
      which: ({ kind, subresource }: FakeRequest) => kind === 'AppRevision' && subresource === 'status',
    },
    {
      kind: 'AppDeployment (finalizer)',
      which: ({ kind, subresource }: FakeRequest) => kind === 'AppDeployment' && !subresource,
    },
  ])(
    'of which requests for a $kind fail says so, is tried again, and becomes ready when they go well',
    async ({ which }) => {
      const controller = await started();
      const { kube } = controller;
      failing(kube, (request) => !['list', 'watch'].includes(request.verb) && which(request));
      await expect(controller.reconcile()).rejects.toThrow(Unavailable);
      expect(said(kube)).toEqual(FAILED);
      expect(said(kube, 'Stalled').is).toBe('False Settled');
      expect(said(kube, 'Reconciling').is).toBe('True RequestFailed');
      // A second try says nothing new.
      await controller.reconcile().catch(() => undefined);
      await controller.reconcile().catch(() => undefined);
      controller.writes();
      await expect(controller.reconcile()).rejects.toThrow(Unavailable);
      expect(controller.writes().filter((write) => write.endsWith('AppDeployment shop/status'))).toEqual([]);
      kube.failOn(undefined);
      await converge(controller);
      expect(said(kube).is).toBe('True Serving');
    },
  );

  it('one child that fails keeps none of the others from being made', async () => {
    const controller = await started();
    failing(controller.kube, ({ kind, ref }) => kind === 'Service' && ref.name === 'shop--redis');
    await expect(controller.reconcile()).rejects.toThrow(Unavailable);
    expect(controller.writes()).toEqual(
      expect.arrayContaining(['apply Deployment shop', 'apply StatefulSet shop--postgres', 'apply Service shop']),
    );
  });
});

describe('a changed record', () => {
  it('is not said to be ready by what was true of the generation before', async () => {
    const controller = await started();
    const { kube } = controller;
    await converge(controller);
    expect(said(kube).is).toBe('True Serving');
    failing(kube, ({ kind, verb }) => kind === 'Deployment' && verb === 'apply');
    await newImage(kube);
    await expect(controller.reconcile()).rejects.toThrow(Unavailable);
    expect(said(kube)).toEqual(FAILED);
    // What runs serves on, and that is said too.
    expect(said(kube, 'Available').is).toBe('True Serving');
  });

  it('whose revision is refused has what serves looked after: a part that is gone, and its scale', async () => {
    const kube = aServer();
    putSecret(kube, 'mine', { A: 'eA==' });
    const secretReferences = [{ name: 'A', secretName: 'mine', secretKey: 'A' }];
    putRecord(kube, { secretReferences, sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 } } });
    const controller = await aController(kube);
    await converge(controller);
    const server = (): Workload['spec'] => kube.objects<Workload>(DEPLOYMENTS)[0]?.spec;
    const before = server();
    kube.failOn(({ kind, verb }) =>
      kind === 'AppRevision' && verb === 'create' ? new Forbidden('create') : undefined,
    );
    await newImage(kube);
    // Only the next revision reads it.
    await edit(kube, { spec: { secretReferences: [...secretReferences, { ...secretReferences[0], name: 'B' }] } });
    await controller.reconcile();
    expect([said(kube).is, server()]).toEqual(['False ApplyRefused', before]);
    kube.erase(DEPLOYMENTS, SHOP);
    await controller.reconcile();
    expect(server()).toMatchObject({ replicas: 3 });
    expect(JSON.stringify(server())).toContain('registry.example/shop:1');
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } } });
    await controller.reconcile();
    expect(server()).toMatchObject({ replicas: 0 });
    await makeReady(kube);
    await controller.reconcile();
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([expect.stringMatching(/^create AppRevision .*Forbidden/)]);
    kube.failOn(undefined);
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: 3, maxScale: 3 } } } });
    await converge(controller);
    expect(said(kube).is).toBe('True Serving');
    expect(JSON.stringify(server())).toContain('registry.example/shop:2');
  });

  it('whose Secret cannot be read says so, and rolls nothing; it is not called missing', async () => {
    const kube = aServer();
    putSecret(kube, 'mine', { A: 'eA==' });
    putRecord(kube, { secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'A' }] });
    const controller = await aController(kube);
    await converge(controller);
    await kube.mergePatch(SECRETS, { namespace: 'team', name: 'mine' }, { data: { A: 'eQ==' } }, { fieldManager: 'p' });
    failing(kube, ({ kind, verb }) => kind === 'Secret' && verb === 'get');
    controller.writes();
    await expect(controller.reconcile()).rejects.toThrow(Unavailable);
    expect(said(kube)).toEqual(FAILED);
    expect(said(kube, 'ReferencesResolved').is).toBe('False RequestFailed');
    expect(
      controller.writes().filter((write) => write.includes('Deployment shop') && !write.includes('/status')),
    ).toEqual([]);
    kube.failOn(undefined);
    await converge(controller);
    expect(said(kube).is).toBe('True Serving');
  });

  it('whose Secret may not be read is tried again automatically, as its message says', async () => {
    const kube = aServer();
    putSecret(kube, 'mine', { A: 'eA==' });
    putRecord(kube, { secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'A' }] });
    const controller = await aController(kube);
    kube.failOn(({ kind, verb, ref }) =>
      kind === 'Secret' && verb === 'get' && ref?.name === 'mine' ? new Forbidden('get secret') : undefined,
    );
    const delays: (number | undefined)[] = [];
    for (let pass = 0; pass < 4; pass += 1) {
      const { requeueAfterMs } = await controller.reconcile();
      delays.push(requeueAfterMs);
      controller.clock.ms += requeueAfterMs ?? 0;
    }
    expect(said(kube, 'ReferencesResolved')).toMatchObject({
      is: 'False ApplyRefused',
      message: expect.stringContaining('continues automatically'),
    });
    expect(delays).toEqual([1000, 1000, 2000, 4000]);
    kube.failOn(undefined);
    await converge(controller);
    expect(said(kube).is).toBe('True Serving');
  });

  it('is told what the controller cannot do without: a broken digest key', async () => {
    const kube = aServer();
    putSecret(kube, 'davit-hmac', { key: 'c2hvcnQ=' }, { namespace: 'davit-system' });
    putSecret(kube, 'mine', { A: '' });
    putRecord(kube, { secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'A' }] });
    const controller = await aController(kube);
    await expect(controller.reconcile()).rejects.toThrow(Terminal);
    expect(said(kube)).toMatchObject({
      is: 'False RequestFailed',
      message: expect.stringContaining('Delete the Secret and restart'),
    });
  });
});

it('words that differ in ports and ids alone are not written again: each write would call for the next try', async () => {
  const controller = await started();
  const { kube } = controller;
  let port = 40_000;
  kube.failOn(({ kind }) => {
    port += 1;
    return kind === 'Service'
      ? new Unavailable('x', { serverMessage: `read tcp 10.0.0.1:${port}->10.0.0.2:443: reset, id f${port}b` })
      : undefined;
  });
  for (let pass = 0; pass < 3; pass += 1) {
    await controller.reconcile().catch(() => undefined);
  }
  controller.writes();
  await expect(controller.reconcile()).rejects.toThrow(Unavailable);
  expect(controller.writes().filter((write) => write.includes('/status'))).toEqual([]);
});

it('a race is not worth a word, one that is lost again and again is', async () => {
  const controller = await started();
  const { kube } = controller;
  kube.failOn(({ kind, verb }) =>
    kind === 'Service' && verb === 'apply' ? new Conflict('changed meanwhile') : undefined,
  );
  for (const pass of [1, 2]) {
    await expect(controller.reconcile(), `pass ${pass}`).rejects.toThrow(Conflict);
    expect(record(kube).status?.conditions).toBeUndefined();
  }
  await expect(controller.reconcile()).rejects.toThrow(Conflict);
  expect(said(kube)).toMatchObject({
    is: 'False RequestFailed',
    message: expect.stringContaining('changed meanwhile'),
  });
});

describe('a deletion', () => {
  it.each([
    { name: 'that fails for now', error: new Unavailable('x', { serverMessage: WEBHOOK }), stalled: 'False Deleting' },
    {
      name: 'that is refused for good',
      error: new Forbidden('x', { serverMessage: WEBHOOK }),
      stalled: 'True Deleting',
    },
  ])('$name names what the API server says', async ({ error, stalled }) => {
    const controller = await started();
    const { kube } = controller;
    await converge(controller);
    await deleteRecord(kube);
    kube.failOn(({ kind, verb }) => (kind === 'Deployment' && verb === 'delete' ? error : undefined));
    await controller.reconcile().catch(() => undefined);
    expect(record(kube).status?.state).toBe('AWAITING_DELETE');
    expect(said(kube)).toMatchObject({ is: 'False Deleting', message: expect.stringContaining(WEBHOOK) });
    expect(said(kube, 'Stalled').is).toBe(stalled);
    controller.writes();
    await controller.reconcile().catch(() => undefined);
    expect(controller.writes().filter((write) => write.includes('/status'))).toEqual([]);
  });
});

it('a reconcile that takes too long is given up, and says so: its requests end with it', async () => {
  const controller = await started();
  const { kube } = controller;
  const clock = makeFakeClock();
  let hanging = 0;
  const apply = kube.apply.bind(kube);
  kube.apply = (resource, object, options) =>
    resource.kind !== 'Service'
      ? apply(resource, object, options)
      : new Promise((_resolve, reject) => {
          hanging += 1;
          options.signal?.addEventListener('abort', () => {
            hanging -= 1;
            reject(options.signal?.reason as Error);
          });
        });
  const queue = makeWorkQueue({ name: 'records', clock });
  const running = startController({
    name: 'records',
    queue,
    clock,
    workers: 1,
    log: pino({ level: 'silent' }),
    reconcile: controller.reconciler(),
  });
  onTestFinished(() => running.stop());
  queue.add(KEY);
  for (let turn = 0; turn < 200 && hanging < 3; turn += 1) {
    await clock.advance(0);
  }
  expect(hanging).toBe(3);
  await clock.advance(119_000);
  expect(record(kube).status?.conditions).toBeUndefined();
  await clock.advance(1000);
  for (let turn = 0; turn < 200 && record(kube).status?.conditions === undefined; turn += 1) {
    await clock.advance(0);
  }
  expect(hanging).toBe(0);
  expect(said(kube)).toMatchObject({
    is: 'False RequestFailed',
    message: expect.stringContaining('took more than 120000 ms'),
  });
  await clock.advance(0);
  expect(queue.failures(KEY)).toBe(1);
});
