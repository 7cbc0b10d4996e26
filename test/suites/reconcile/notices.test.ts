// What a Notifier tells, over the in-memory API server: each event once, again after a failure and after a crash, and nothing at rest.

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { DEPLOYMENT_LABEL } from '../../../src/kinds/meta.ts';
import { MOST_TOLD, NOTIFIERS, type Notifier } from '../../../src/kinds/notifier.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, type Result, SHOP } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import { aRevision } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const KEY = 'team/us';
const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
interface Sent {
  readonly type: string;
  readonly name: string;
  readonly id: string;
}
interface World {
  readonly kube: FakeKube;
  readonly sent: Sent[];
  /** Status that the webhook answers, and how long that takes. */
  answers: number;
  onAnswer(): void;
  controller(): Promise<MemoryController>;
  pass(controller: MemoryController): Promise<Result>;
}

function aWorld(): World {
  const kube = aServer();
  const secret = Buffer.from(`whsec_${Buffer.alloc(32, 7).toString('base64')}`).toString('base64');
  kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'us', namespace: 'team' },
    data: { secret },
  } as KubeObject);
  kube.seed(NOTIFIERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Notifier',
    metadata: { name: 'us', namespace: 'team', uid: 'u-1', generation: 1 },
    spec: { webhook: { url: 'https://hooks.example/a', secretRef: { name: 'us' } } },
  } as Notifier);
  const sent: Sent[] = [];
  const world: World = {
    kube,
    sent,
    answers: 204,
    onAnswer: () => undefined,
    controller: () =>
      aController(kube, defaultSettings(), {
        post: (url, { headers = {}, body = '' }) => {
          const { type, data } = JSON.parse(body) as { type: string; data: { name: string } };
          if (world.answers < 300) sent.push({ type, name: data.name, id: headers['webhook-id'] ?? '' });
          world.onAnswer();
          return Promise.resolve({ status: world.answers, url, headers: new Headers(), body: '' });
        },
      }),
    pass: (controller) => controller.reconcile(KEY, 'notices'),
  };
  return world;
}

/** As the controller of records reports, of every record. */
function report(kube: FakeKube, type: 'Ready' | 'Stalled', reason: string, at = '2026-02-02T01:00:00Z'): void {
  const conditions = [{ type, status: 'True' as const, reason, message: `${reason}.`, lastTransitionTime: at }];
  const latestRevisionId = '11111111-0000-4000-8000-000000000000';
  for (const found of kube.objects<AppDeployment>(APP_DEPLOYMENTS)) {
    const observedGeneration = found.metadata.generation ?? 1;
    kube.seed(APP_DEPLOYMENTS, { ...found, status: { observedGeneration, latestRevisionId, conditions } });
  }
}
const told = (kube: FakeKube): Notifier['status'] => kube.objects<Notifier>(NOTIFIERS)[0]?.status;
const saysSent = (kube: FakeKube): string => {
  const { status, reason } = conditionOf(told(kube)?.conditions, 'WebhookSent') ?? {};
  return `${status} ${reason}`;
};

it('tells each event once, and at rest writes nothing, also as another process', async () => {
  const world = aWorld();
  const { kube, sent } = world;
  putRecord(kube);
  report(kube, 'Ready', 'Serving');
  const first = await world.controller();
  await world.pass(first);
  expect(sent.map(({ type, name }) => `${type} ${name}`)).toEqual(['deployment.ready shop']);
  expect(told(kube)?.told).toEqual({ shop: { state: 'ready 11111111-0000-4000-8000-000000000000' } });
  expect(saysSent(kube)).toBe('True Sent');
  first.writes();
  expect(await world.pass(first)).toEqual({});
  const second = await world.controller();
  await world.pass(second);
  expect([first.writes(), second.writes(), sent.length]).toEqual([[], [], 1]);

  report(kube, 'Stalled', 'CrashLoop');
  await world.pass(second);
  expect(sent.map(({ type }) => type)).toEqual(['deployment.ready', 'deployment.failed']);
  await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: kube.objects(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '' });
  await world.pass(second);
  expect([told(kube)?.told, sent.length]).toEqual([undefined, 2]);
});

it('tries again, later each time, and says why; a changed Secret is tried at once', async () => {
  const world = aWorld();
  const { kube, sent } = world;
  putRecord(kube);
  report(kube, 'Ready', 'Serving');
  world.answers = 500;
  const controller = await world.controller();
  const waits: (number | undefined)[] = [];
  for (let pass = 0; pass < 12; pass += 1) {
    const { requeueAfterMs } = await world.pass(controller);
    waits.push(requeueAfterMs);
    // A change of a record in between does not bring the next attempt forward.
    expect(await world.pass(controller)).toEqual({ requeueAfterMs });
    controller.clock.ms += requeueAfterMs ?? 0;
  }
  expect(waits.slice(0, 4)).toEqual([10_000, 20_000, 40_000, 80_000]);
  expect(waits.at(-1)).toBe(3_600_000);
  expect([saysSent(kube), sent, told(kube)?.told]).toEqual(['False Refused', [], undefined]);
  expect(controller.writes()).toEqual(['apply Notifier us/status']);

  await world.pass(controller);
  world.answers = 200;
  const [secret] = kube.objects(SECRETS).filter(({ metadata }) => metadata.name === 'us');
  kube.seed(SECRETS, { ...secret, metadata: { ...secret?.metadata, annotations: { a: 'b' } } } as KubeObject);
  expect(await world.pass(controller)).toEqual({});
  expect([saysSent(kube), sent.length]).toEqual(['True Sent', 1]);
});

it.each(['failOn', 'failAfter'] as const)(
  'a crash at the write (%s) tells again with the same id, and no event is lost',
  async (when) => {
    const world = aWorld();
    const { kube, sent } = world;
    putRecord(kube);
    report(kube, 'Stalled', 'CrashLoop');
    const dying = await world.controller();
    kube[when](({ verb }) => (verb === 'apply' ? new Unavailable('gone') : undefined));
    await world.pass(dying).catch(() => undefined);
    dying.stop();
    kube[when](undefined);
    const next = await world.controller();
    await world.pass(next);
    await world.pass(next);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(sent.length).toBe(when === 'failOn' ? 2 : 1);
    expect(saysSent(kube)).toBe('True Sent');
  },
);

it('slow answers: a pass remembers what it sent before its time limit, so each event is sent once', async () => {
  const world = aWorld();
  const { kube, sent } = world;
  for (let at = 10; at < 30; at += 1) putRecord(kube, {}, { name: `shop-${at}` });
  report(kube, 'Ready', 'Serving');
  const controller = await world.controller();
  for (let pass = 0; pass < 4; pass += 1) {
    const [limit, begin] = [new AbortController(), controller.clock.ms];
    world.onAnswer = () => {
      controller.clock.ms += 7000;
      if (controller.clock.ms - begin > 120_000) limit.abort(new Unavailable('took more than 120000 ms'));
    };
    await controller
      .reconciler('notices')(KEY, limit.signal, pino({ level: 'silent' }))
      .catch(() => undefined);
  }
  expect([sent.length, new Set(sent.map(({ id }) => id)).size, saysSent(kube)]).toEqual([20, 20, 'True Sent']);
});

it('says that it tells of 1000 deployments, if there are more', async () => {
  const { kube, pass, controller } = aWorld();
  for (let at = 0; at < MOST_TOLD; at += 1) putRecord(kube, {}, { name: `a-${at}` });
  const process = await controller();
  await pass(process);
  expect(saysSent(kube)).toBe('True Sent');
  putRecord(kube);
  await pass(process);
  expect(saysSent(kube)).toBe('False TooManyDeployments');
});

it('a Secret that is missing or no signing secret, and a host that the platform does not list', async () => {
  const world = aWorld();
  const { kube, sent } = world;
  putRecord(kube);
  report(kube, 'Ready', 'Serving');
  const data = { secret: Buffer.from('whsec_short').toString('base64') };
  kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'us', namespace: 'team' },
    data,
  } as KubeObject);
  await world.pass(await world.controller());
  expect([saysSent(kube), sent]).toEqual(['False SecretMissing', []]);
  const other = aWorld();
  putRecord(other.kube);
  report(other.kube, 'Ready', 'Serving');
  await (await aController(other.kube)).reconcile(KEY, 'notices');
  expect(saysSent(other.kube)).toBe('False HostNotAllowed');
});

it('the commit status of one deployment that fails keeps none of the others back', async () => {
  const { kube } = aWorld();
  const [notifier] = kube.objects<Notifier>(NOTIFIERS);
  kube.seed(NOTIFIERS, { ...notifier, spec: { commitStatuses: true } } as Notifier);
  const commit = 'a'.repeat(40);
  for (const name of ['a', 'b']) {
    const sourceConfig = { integrationId: name === 'b' ? INTEGRATION : 'gone', repoUrl: 'https://git.example/team/b' };
    putRecord(kube, { source: 'codehost', sourceConfig }, { name });
    const made = kube.objects<AppDeployment>(APP_DEPLOYMENTS).find(({ metadata }) => metadata.name === name);
    if (!made) throw new Error('there is no record');
    const revision = aRevision(made);
    const metadata = { namespace: 'team', name, uid: name, labels: { [DEPLOYMENT_LABEL]: name } };
    kube.seed(APP_REVISIONS, { ...revision, metadata, spec: { ...revision.spec, commit } });
    kube.seed(APP_DEPLOYMENTS, { ...made, status: { latestRevisionId: revision.spec.id } });
  }
  kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'git', namespace: 'davit-org', uid: INTEGRATION },
    spec: { kind: 'gitea', apiUrl: 'https://git.example/api/v1', credentialsRef: { name: 'git' }, tenants: ['team'] },
  });
  const put: string[] = [];
  const never = (): Promise<never> => Promise.reject(new Error('not asked'));
  const status = (_account: unknown, url: string, { state }: { state: string }): Promise<void> =>
    Promise.resolve(void put.push(`${url} ${state}`));
  const controller = await aController(kube, defaultSettings(), {
    codeHosts: { commit: never, file: never, token: never, status },
  });
  await controller.reconcile(KEY, 'notices');
  expect(put).toEqual(['https://git.example/team/b pending']);
  expect(told(kube)?.told).toEqual({ b: { commit: `${commit} pending` } });
  const { reason, message } = conditionOf(told(kube)?.conditions, 'CommitStatusesSent') ?? {};
  expect([reason, message]).toEqual(['IntegrationNotFound', expect.stringMatching(/^Deployment a: /)]);
});

it('is woken by the records of its namespace, by its Secret, and by a change of its own', async () => {
  const world = aWorld();
  const { kube } = world;
  putRecord(kube);
  const controller = await world.controller();
  const woken = controller.wake('notices');
  expect(await woken.take()).toEqual([KEY]);
  report(kube, 'Ready', 'Serving');
  expect(await woken.take()).toEqual([KEY]);
  const [secret] = kube.objects(SECRETS).filter(({ metadata }) => metadata.name === 'us');
  kube.seed(SECRETS, { ...secret, metadata: { ...secret?.metadata, annotations: { a: 'c' } } } as KubeObject);
  expect(await woken.take()).toEqual([KEY]);
  woken.stop();
});

it('is cached without annotations that Davit does not read', async () => {
  const { kube, controller } = aWorld();
  const [notifier] = kube.objects<Notifier>(NOTIFIERS);
  const annotations = { note: 'x'.repeat(200_000) };
  kube.seed(NOTIFIERS, { ...notifier, metadata: { ...notifier?.metadata, annotations } } as Notifier);
  const { caches } = await controller();
  expect(caches.notifiers.get({ namespace: 'team', name: 'us' })?.metadata.annotations).toEqual({});
});
