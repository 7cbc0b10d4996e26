// The history of a record: how much of it is kept, whatever happens in between, and going back within it.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PODS, SECRETS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import { aPod } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, crashed } from './harness.ts';

interface WithProbes extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly ports: readonly { readonly containerPort: number }[];
          readonly readinessProbe?: object;
          readonly livenessProbe?: object;
        }[];
      };
    };
  };
}

async function change(kube: FakeKube, spec: object): Promise<void> {
  await edit(kube, { spec });
}
const image = (tag: number): object => ({
  revisionSerial: tag,
  sourceRevisionConfig: { imageUri: `registry.example/shop:${tag}` },
});
function revisions(kube: FakeKube): AppRevision[] {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
}
function serials(kube: FakeKube): (number | undefined)[] {
  return revisions(kube).map(({ spec }) => spec.revisionSerial);
}

it('a revision whose name another one has is made under a longer one', async () => {
  const kube = aServer();
  putRecord(kube, image(1));
  const controller = await aController(kube);
  await converge(controller);
  const [first] = revisions(kube) as [AppRevision];
  const id = serialRevisionId(record(kube).metadata.uid ?? '', 2);
  // Of one id in four billion the first eight digits are those of another.
  await kube.remove(APP_REVISIONS, { namespace: 'team', name: first.metadata.name }, { uid: first.metadata.uid ?? '' });
  kube.seed(APP_REVISIONS, { ...first, metadata: { ...first.metadata, name: `shop--${id.slice(0, 8)}` } });
  await change(kube, image(2));
  await converge(controller);
  expect(revisions(kube).map(({ metadata, spec }) => [metadata.name, spec.id])).toEqual([
    [`shop--${id.slice(0, 8)}`, first.spec.id],
    [`shop--${id.replaceAll('-', '').slice(0, 16)}`, id],
  ]);
  expect(record(kube).status).toMatchObject({ activeRevisionId: id, image: 'registry.example/shop:2' });
  controller.writes();
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

describe('of many revisions', () => {
  it('the newest ten are left, and at rest nothing is written', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    await converge(controller);
    for (let tag = 2; tag <= 25; tag += 1) {
      await change(kube, image(tag));
      await converge(controller);
      expect(serials(kube).length).toBeLessThanOrEqual(11);
    }
    await converge(controller);
    expect(serials(kube)).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('the active one stays while newer ones fail, and also when one of them serves, so that one can go back', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    await converge(controller);
    for (let tag = 2; tag <= 14; tag += 1) {
      await change(kube, image(tag));
      await controller.reconcile();
    }
    await controller.reconcile();
    expect(serials(kube)).toEqual([1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    await converge(controller);
    await controller.reconcile();
    expect(serials(kube)).toEqual([1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    const [first] = revisions(kube) as [AppRevision];
    await change(kube, rollingBack(record(kube).spec, first.spec));
    await converge(controller);
    expect([says(kube, 'Ready'), record(kube).status?.image]).toEqual(['True Serving', 'registry.example/shop:1']);
    for (let tag = 16; tag <= 27; tag += 1) {
      await change(kube, { ...image(tag), rollbackTo: null });
      await converge(controller);
    }
    await controller.reconcile();
    expect(serials(kube)).toEqual([18, 19, 20, 21, 22, 23, 24, 25, 26, 27]);
  });

  it('one that somebody else has deleted meanwhile is no failure', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    for (let tag = 2; tag <= 12; tag += 1) {
      await change(kube, image(tag));
      await controller.reconcile();
    }
    kube.failOn(({ verb, kind, ref }) => {
      if (verb !== 'delete' || kind !== 'AppRevision') return undefined;
      kube.erase(APP_REVISIONS, { namespace: 'team', name: ref.name });
      return undefined;
    });
    const before = serials(kube).length;
    await converge(controller);
    expect([before, serials(kube).length]).toEqual([11, 10]);
  });

  it('a crash before or after any deletion leaves the same ten', async () => {
    for (const when of ['failOn', 'failAfter'] as const) {
      const kube = aServer();
      putRecord(kube);
      const dying = await aController(kube);
      await converge(dying);
      let deletions = 0;
      kube[when](({ verb, kind }) => {
        if (verb !== 'delete' || kind !== 'AppRevision') return undefined;
        deletions += 1;
        return deletions % 2 === 1 ? new Unavailable('gone') : undefined;
      });
      for (let tag = 2; tag <= 15; tag += 1) {
        await change(kube, image(tag));
        await converge(dying).catch(() => undefined);
      }
      expect(deletions).toBeGreaterThan(0);
      dying.stop();
      kube[when](undefined);
      await converge(await aController(kube));
      expect(serials(kube), when).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    }
  });
});

describe('a rollback', () => {
  it('after the platform has changed: the values of then, and their pods', async () => {
    const kube = aServer();
    putRecord(kube);
    const then = await aController(kube);
    await converge(then);
    const [first] = revisions(kube);
    then.stop();
    const settings = defaultSettings();
    const now = await aController(kube, { ...settings, pods: { ...settings.pods, healthPath: '/now' } });
    await change(kube, image(2));
    await converge(now);
    expect(revisions(kube)[1]?.spec.resolved).toMatchObject({ healthPath: '/now' });
    if (!first) throw new Error('There was no revision.');
    await change(kube, rollingBack(record(kube).spec, first.spec));
    now.events.length = 0;
    await converge(now);
    expect(revisions(kube)[2]?.spec).toMatchObject({ revisionSerial: 3, resolved: first.spec.resolved });
    expect(JSON.stringify(kube.objects<Workload>(DEPLOYMENTS)[0]?.spec)).toContain('/ok');
    expect(record(kube).status).toMatchObject({ state: 'READY', image: 'registry.example/shop:1' });
    expect(now.events).not.toContain('Warning RollbackIgnored');
  });

  it('brings back how a part is asked for its health', async () => {
    const resourceSpec = { queueMinScale: 1 };
    const asks = (kube: FakeKube): unknown => {
      const queue = kube.objects<WithProbes>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop--queue');
      const [container] = queue?.spec.template.spec.containers ?? [];
      return [container?.ports[0]?.containerPort, container?.readinessProbe, container?.livenessProbe !== undefined];
    };
    const kube = aServer();
    putRecord(kube, { sourceConfig: { resourceSpec } });
    const controller = await aController(kube);
    await converge(controller);
    const [first] = revisions(kube);
    if (!first) throw new Error('There was no revision.');
    const usual = asks(kube);
    await change(kube, {
      revisionSerial: 2,
      sourceConfig: { runtime: { queue: { port: 5679, healthPath: '/live' } } },
    });
    await converge(controller);
    expect(asks(kube)).toEqual([
      5679,
      expect.objectContaining({ httpGet: expect.objectContaining({ path: '/live' }) }),
      true,
    ]);
    const runtime = { queue: { port: null, healthPath: null, healthCommand: ['ping'] } };
    await change(kube, { revisionSerial: 3, sourceConfig: { runtime } });
    await converge(controller);
    expect(asks(kube)).toEqual([8000, expect.objectContaining({ exec: { command: ['ping'] } }), false]);
    expect(says(kube, 'Ready')).toBe('True Serving');
    const back = rollingBack(record(kube).spec, first.spec);
    // A merge patch takes away only what it names.
    await change(kube, { ...back, sourceConfig: { ...back.sourceConfig, runtime: null } });
    await converge(controller);
    expect(asks(kube)).toEqual(usual);
    expect(revisions(kube).map(({ spec }) => spec.requested.runtime)).toEqual([
      undefined,
      { queue: { port: 5679, healthPath: '/live' } },
      { queue: { healthCommand: ['ping'] } },
      undefined,
    ]);
  });

  it('brings back a heartbeat and the scheme of the database', async () => {
    const seen = (kube: FakeKube): unknown => {
      const queue = kube.objects<WithProbes>(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop--queue');
      const [container] = queue?.spec.template.spec.containers ?? [];
      const isChecked = JSON.stringify(container?.livenessProbe).includes('/tmp/alive');
      return [isChecked, JSON.stringify(container).match(/[a-z+]+:\/\/app:\$\(/g)];
    };
    const kube = aServer();
    const runtime = { queue: { heartbeatFile: '/tmp/alive', healthRestart: true }, postgresUriScheme: 'postgres' };
    putRecord(kube, { sourceConfig: { resourceSpec: { queueMinScale: 1 }, runtime } });
    const controller = await aController(kube);
    await converge(controller);
    const [first] = revisions(kube);
    if (!first) throw new Error('There was no revision.');
    const given = seen(kube);
    expect(given).toEqual([true, ['postgres://app:$(', 'postgres://app:$(']]);
    await change(kube, { revisionSerial: 2, sourceConfig: { runtime: null } });
    await converge(controller);
    expect(seen(kube)).toEqual([false, null]);
    await change(kube, rollingBack(record(kube).spec, first.spec));
    await converge(controller);
    expect([seen(kube), says(kube, 'Ready')]).toEqual([given, 'True Serving']);
    expect(revisions(kube).map(({ spec }) => spec.requested.runtime)).toEqual([runtime, undefined, runtime]);
    // The steady state writes nothing.
    kube.writes.splice(0);
    await converge(controller);
    expect(kube.writes).toEqual([]);
  });

  it("brings back the values given to the API, not what is in Secrets of somebody's own", async () => {
    const kube = aServer();
    const secret = (name: string, value: string): void =>
      void kube.seed(SECRETS, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: 'team' },
        type: 'Opaque',
        ...(name.includes('--vars-') && { immutable: true }),
        data: { K: value },
      } as KubeObject);
    secret('shop--vars-1', 'b25l');
    secret('shop--vars-2', 'dHdv');
    secret('theirs', 'b2xk');
    const given = (suffix: number): Partial<AppDeployment['spec']> => ({
      secrets: [{ name: 'K', secretName: `shop--vars-${suffix}`, secretKey: 'K' }],
    });
    putRecord(kube, { ...given(1), secretReferences: [{ name: 'T', secretName: 'theirs', secretKey: 'K' }] });
    const controller = await aController(kube);
    await converge(controller);
    await change(kube, { ...given(2), revisionSerial: 2 });
    secret('theirs', 'bmV3');
    await converge(controller);
    const digest = (): string | undefined =>
      kube.objects<Workload>(DEPLOYMENTS)[0]?.metadata.annotations?.['davit.dev/secrets'];
    const [first] = revisions(kube);
    if (!first) throw new Error('There was no revision.');
    const withNew = digest();
    await change(kube, rollingBack(record(kube).spec, first.spec));
    await converge(controller);
    const pods = JSON.stringify(kube.objects<Workload>(DEPLOYMENTS)[0]?.spec?.template);
    expect(pods).toContain('shop--vars-1');
    expect(pods).not.toContain('shop--vars-2');
    expect(kube.objects(SECRETS).find(({ metadata }) => metadata.name === 'theirs')).toMatchObject({
      data: { K: 'bmV3' },
    });
    expect(digest()).not.toBe(withNew);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it.each([
    { name: 'whose values are not written back', to: 'first' },
    { name: 'to a revision that is not there', to: '00000000-0000-4000-8000-000000000000' },
  ])('$name is told, and makes a revision of what the record says', async ({ to }) => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    await converge(controller);
    const [first] = revisions(kube);
    await change(kube, image(2));
    await converge(controller);
    await change(kube, { rollbackTo: to === 'first' ? first?.spec.id : to, revisionSerial: 3 });
    await converge(controller);
    expect(controller.events.filter((event) => event === 'Warning RollbackIgnored')).toHaveLength(1);
    expect(record(kube).status).toMatchObject({ state: 'READY', image: 'registry.example/shop:2' });
  });
});

describe('a revision that is rolled out while the controller is away, and then overtaken', () => {
  function states(kube: FakeKube): string[] {
    return revisions(kube).map(({ spec, status }) => `${spec.revisionSerial} ${status?.state}`);
  }
  /** The serial of the revision that the record names as active. */
  function active(kube: FakeKube): number | undefined {
    return revisions(kube).find(({ spec }) => spec.id === record(kube).status?.activeRevisionId)?.spec.revisionSerial;
  }
  /** Its controller dies when revision `last` is being rolled out, and the ones before it serve. */
  async function left(last: number): Promise<FakeKube> {
    const kube = aServer();
    putRecord(kube, { revisionSerial: 1 });
    const controller = await aController(kube);
    if (last > 1) {
      await converge(controller);
      await change(kube, { ...image(last), sourceConfig: { resourceSpec: { dbMemoryMb: 512 } } });
    }
    await controller.reconcile();
    controller.stop();
    return kube;
  }
  /** Its pods serve, as a kubelet says it, and go on to until the next revision's do. */
  async function rollOut(kube: FakeKube): Promise<void> {
    await makeReady(kube);
    const [newest] = revisions(kube).toReversed();
    if (!newest) throw new Error('There was no revision.');
    kube.seed(PODS, aPod('server', newest, { conditions: [{ type: 'Ready', status: 'True' }] }));
  }

  it.each([
    { reason: 'the second one', last: 2, at: ['1 DEPLOYED', '2 DEPLOYED', '3 DEPLOYING'] },
    { reason: 'the first one, before which nothing served', last: 1, at: ['1 DEPLOYED', '3 DEPLOYING'] },
  ])('$reason: DEPLOYED, and active until the newer one is', async ({ last, at }) => {
    const kube = await left(last);
    await rollOut(kube);
    await change(kube, image(3));
    const back = await aController(kube);
    await back.reconcile();
    expect(states(kube)).toEqual(at);
    expect(active(kube)).toBe(last);
    expect(record(kube).status).toMatchObject({ state: 'READY', image: `registry.example/shop:${last}` });
    await converge(back);
    expect(states(kube)).toEqual([...at.slice(0, -1), '3 DEPLOYED']);
    expect(active(kube)).toBe(3);
  });

  it('that got no further before it was overtaken: SKIPPED', async () => {
    const kube = await left(2);
    await change(kube, image(3));
    const back = await aController(kube);
    await back.reconcile();
    expect(states(kube)).toEqual(['1 DEPLOYED', '2 SKIPPED', '3 DEPLOYING']);
    expect(active(kube)).toBe(1);
  });

  it.each([
    { reason: 'PostgreSQL was still being restarted', arrange: makeReady },
    { reason: 'pods were ready, and PostgreSQL was not', arrange: rollOut },
  ])('whose $reason: SKIPPED', async ({ arrange }) => {
    const kube = await left(2);
    await arrange(kube);
    await kube.mergePatch(
      STATEFUL_SETS,
      { namespace: 'team', name: 'shop--postgres' },
      { status: { currentRevision: 'a', updateRevision: 'b', readyReplicas: 0 } },
      { subresource: 'status' },
    );
    await change(kube, image(3));
    const back = await aController(kube);
    await back.reconcile();
    expect(states(kube)).toEqual(['1 DEPLOYED', '2 SKIPPED', '3 DEPLOYING']);
  });

  it('is never SKIPPED, wherever the controller that comes back dies', async () => {
    let crashes = 0;
    for (const when of ['failOn', 'failAfter'] as const) {
      for (let at = 1, tried = at; tried >= at; at += 1) {
        const kube = await left(2);
        await rollOut(kube);
        await change(kube, image(3));
        tried = await crashed(await aController(kube), { when, at });
        crashes += 1;
        expect(states(kube)[1], `${when} ${at}`).not.toBe('2 SKIPPED');
        await converge(await aController(kube));
        expect(states(kube), `${when} ${at}`).toEqual(['1 DEPLOYED', '2 DEPLOYED', '3 DEPLOYED']);
        expect(active(kube), `${when} ${at}`).toBe(3);
      }
    }
    expect(crashes).toBeGreaterThan(10);
  });
});
