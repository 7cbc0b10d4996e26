// A Secret that a record names changes: its pods are rolled once for it, and for nothing else.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { makeDigestKey } from '../../../src/deploy/controller.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { SECRETS_ANNOTATION } from '../../../src/kinds/meta.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PODS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, newestRevision, putRecord } from '../../kit/memory/record.ts';
import { crashing, makeReady, putPod, removePod } from '../../kit/memory/workloads.ts';
import { CONTROLLER } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed } from './harness.ts';

function putSecret(kube: FakeKube, data: Record<string, string>, name = 'mine'): void {
  const metadata = { name, namespace: 'team' };
  kube.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject);
}

const REFERENCES: Partial<AppDeployment['spec']> = {
  secretReferences: [
    { name: 'TOKEN', secretName: 'mine', secretKey: 'token' },
    { name: 'OTHER', secretName: 'other', secretKey: 'key' },
  ],
};

async function converged(spec: Partial<AppDeployment['spec']> = REFERENCES): Promise<MemoryController> {
  const kube = aServer();
  putSecret(kube, { token: 'b25l', unused: 'eA==' });
  putSecret(kube, { key: 'MQ==' }, 'other');
  return aConverged(spec, kube);
}

function server(kube: FakeKube): Workload {
  const [found] = kube.objects<Workload>(DEPLOYMENTS);
  if (!found) throw new Error('There is no Deployment.');
  return found;
}
/** Changes exactly when the pods are rolled. */
function podsOf(kube: FakeKube): string {
  return JSON.stringify(server(kube).spec?.template);
}
/** Lets the time pass in which more may be rotated, and comes to rest. */
async function later(controller: MemoryController): Promise<void> {
  await controller.reconcile();
  controller.clock.ms += 3000;
  await converge(controller);
}

describe('a rotation', () => {
  it('rolls the pods once, makes no revision, and then writes nothing', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv' });
    controller.writes();
    expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
    expect(controller.writes()).toEqual([]);
    controller.clock.ms += 2000;
    expect(await controller.reconcile()).toEqual({});
    expect(controller.writes()).toContain('apply Deployment shop');
    const after = podsOf(kube);
    expect(after).not.toBe(before);
    expect(conditionIn(kube, 'Reconciling')).toMatchObject({ status: 'True', reason: 'Progressing' });
    expect(conditionIn(kube, 'Ready')).toMatchObject({ status: 'False' });
    const [revision, ...others] = kube.objects<AppRevision>(APP_REVISIONS);
    expect([revision?.status?.state, others]).toEqual(['DEPLOYED', []]);
    await converge(controller);
    expect(conditionIn(kube, 'Ready')).toMatchObject({ status: 'True' });
    const again = await aController(kube);
    expect(await again.reconcile()).toEqual({});
    expect([again.writes(), podsOf(kube)]).toEqual([[], after]);
  });

  it('of two Secrets, one after the other, rolls once for both', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv' });
    await controller.reconcile();
    controller.clock.ms += 1500;
    putSecret(kube, { key: 'Mg==' }, 'other');
    expect(await controller.reconcile()).toEqual({ requeueAfterMs: 2000 });
    expect(podsOf(kube)).toBe(before);
    controller.clock.ms += 2000;
    await controller.reconcile();
    const after = podsOf(kube);
    expect(after).not.toBe(before);
    await later(controller);
    expect(podsOf(kube)).toBe(after);
  });

  it('is not put off by changes of other keys', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv', unused: 'MQ==' });
    await controller.reconcile();
    controller.clock.ms += 1500;
    putSecret(kube, { token: 'dHdv', unused: 'Mg==' });
    expect(await controller.reconcile()).toEqual({ requeueAfterMs: 500 });
    controller.clock.ms += 500;
    await controller.reconcile();
    expect(podsOf(kube)).not.toBe(before);
  });

  it('during a rollout is taken up by it', async () => {
    const controller = await converged();
    const { kube } = controller;
    putSecret(kube, { token: 'dHdv' });
    await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } } });
    await controller.reconcile();
    const after = podsOf(kube);
    expect(after).toContain('registry.example/shop:2');
    await later(controller);
    expect(podsOf(kube)).toBe(after);
  });

  it('while Davit was away is made up for', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    controller.stop();
    putSecret(kube, { token: 'dHdv' });
    await converge(await aController(kube));
    expect(podsOf(kube)).not.toBe(before);
  });

  it('a crash before or after any of its writes leads to the same pods, rolled once', async () => {
    for (const when of ['failOn', 'failAfter'] as const) {
      for (let crash = 1; crash <= 4; crash += 1) {
        const dying = await converged();
        const { kube } = dying;
        const templates = new Set([podsOf(kube)]);
        putSecret(kube, { token: 'dHdv' });
        await dying.reconcile();
        dying.clock.ms += 3000;
        await crashed(dying, { when, at: crash });
        templates.add(podsOf(kube));
        await converge(await aController(kube));
        templates.add(podsOf(kube));
        expect(templates.size, `${when} at write ${crash}`).toBe(2);
      }
    }
  });
});

describe('nothing is rolled', () => {
  it.each([
    { name: 'for a key that the record does not name', change: { token: 'b25l', unused: 'eQ==' } },
    { name: 'for the same content once more', change: { token: 'b25l', unused: 'eA==' } },
  ])('$name', async ({ change }) => {
    const controller = await converged();
    const before = podsOf(controller.kube);
    putSecret(controller.kube, change);
    controller.writes();
    expect(await controller.reconcile()).toEqual({});
    expect(controller.writes()).toEqual([]);
    expect(podsOf(controller.kube)).toBe(before);
  });

  it('for pods of before there were digests; the next rotation rolls them', async () => {
    const controller = await converged();
    const { kube } = controller;
    const old = structuredClone(server(kube)) as KubeObject & { spec: Record<string, unknown> };
    delete (old.metadata.annotations as Record<string, string>)[SECRETS_ANNOTATION];
    const template = old.spec['template'] as { metadata: { annotations?: Record<string, string> } };
    delete template.metadata.annotations?.[SECRETS_ANNOTATION];
    kube.seed(DEPLOYMENTS, old);
    const before = podsOf(kube);
    expect(before).not.toContain(SECRETS_ANNOTATION);
    await converge(controller);
    expect(podsOf(kube)).toBe(before);
    putSecret(kube, { token: 'dHdv' });
    await later(controller);
    expect(podsOf(kube)).not.toBe(before);
  });

  it('when the key is lost: a new one is made', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    controller.stop();
    kube.erase(SECRETS, { namespace: 'davit-system', name: 'davit-hmac' });
    const next = await aController(kube);
    await converge(next);
    expect(podsOf(kube)).toBe(before);
    putSecret(kube, { token: 'dHdv' });
    await later(next);
    expect(podsOf(kube)).not.toBe(before);
  });
});

it('what was rotated while the key was lost restarts no pod, as docs/security.md says; the next rotation does', async () => {
  const controller = await converged();
  const { kube } = controller;
  const before = podsOf(kube);
  controller.stop();
  kube.erase(SECRETS, { namespace: 'davit-system', name: 'davit-hmac' });
  putSecret(kube, { token: 'ZWlucw==' });
  const next = await aController(kube);
  await later(next);
  expect(podsOf(kube)).toBe(before);
  putSecret(kube, { token: 'endlaQ==' });
  await later(next);
  expect(podsOf(kube)).not.toBe(before);
});

describe('a Secret that is deleted', () => {
  it('leaves the pods alone and is named; the same content heals it without a roll', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    kube.erase(SECRETS, { namespace: 'team', name: 'mine' });
    await converge(controller);
    expect(conditionIn(kube, 'ReferencesResolved')).toMatchObject({
      status: 'False',
      reason: 'SecretMissing',
      message: expect.stringContaining('Secret mine') as string,
    });
    expect(podsOf(kube)).toBe(before);
    putSecret(kube, { token: 'b25l' });
    await converge(controller);
    expect(conditionIn(kube, 'Ready')).toMatchObject({ status: 'True' });
    expect(podsOf(kube)).toBe(before);
  });

  it('other content rolls once when it is there again', async () => {
    const controller = await converged();
    const { kube } = controller;
    const before = podsOf(kube);
    putSecret(kube, { unused: 'eA==' });
    await converge(controller);
    expect(conditionIn(kube, 'ReferencesResolved')).toMatchObject({ reason: 'SecretKeyMissing' });
    expect(podsOf(kube)).toBe(before);
    putSecret(kube, { token: 'dHdv' });
    await later(controller);
    const after = podsOf(kube);
    expect(after).not.toBe(before);
    await later(controller);
    expect(podsOf(kube)).toBe(after);
  });
});

describe('what sidecars and init containers read', () => {
  const sidecar = (optional: boolean): Partial<AppDeployment['spec']> => ({
    sourceConfig: {
      resourceSpec: {
        sidecars: [
          {
            name: 'proxy',
            image: 'registry.example/proxy:1',
            env: [{ name: 'T', valueFrom: { secretKeyRef: { name: 'mine', key: 'token', optional } } }],
          },
        ],
        initContainers: [
          {
            name: 'migrate',
            image: 'registry.example/migrate:1',
            envFrom: [{ secretRef: { name: 'other' } }],
          },
        ],
      },
    },
  });

  it.each([
    { name: 'a key', change: () => ({ token: 'dHdv' }), secret: 'mine' },
    { name: 'any key of a whole Secret', change: () => ({ key: 'MQ==', more: 'MQ==' }), secret: 'other' },
  ])('$name: rolls once', async ({ change, secret }) => {
    const controller = await converged(sidecar(false));
    const { kube } = controller;
    const before = podsOf(kube);
    putSecret(kube, change(), secret);
    await later(controller);
    const after = podsOf(kube);
    expect(after).not.toBe(before);
    await later(controller);
    expect(podsOf(kube)).toBe(after);
  });

  it('one that is missing rolls nothing, unless the pods can do without', async () => {
    for (const optional of [false, true]) {
      const controller = await converged(sidecar(optional));
      const { kube } = controller;
      const before = podsOf(kube);
      kube.erase(SECRETS, { namespace: 'team', name: 'mine' });
      await later(controller);
      expect(podsOf(kube) === before, `optional: ${optional}`).toBe(!optional);
    }
  });
});

describe('while the newest revision cannot be rolled out', () => {
  const failed = async (controller: MemoryController, more: object = {}): Promise<void> => {
    const { kube } = controller;
    const sourceRevisionConfig = { imageUri: 'registry.example/shop:2' };
    await edit(kube, { spec: { sourceRevisionConfig, revisionSerial: 1, ...more } });
    await controller.reconcile();
    const status = { observedGeneration: server(kube).metadata.generation, replicas: 2, updatedReplicas: 1 };
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    await kube.mergePatch(DEPLOYMENTS, SHOP, { status: { ...status, availableReplicas: 1 } }, writing);
    putPod(kube, 'server', newestRevision(kube).spec.id, crashing(3));
    await controller.reconcile();
    removePod(kube, 'server');
    await converge(controller);
    expect(newestRevision(kube).status?.state).toBe('DEPLOY_FAILED');
    expect(podsOf(kube)).toContain('registry.example/shop:1');
  };

  it('a rotation rolls the pods that serve, once, in their own image', async () => {
    const controller = await converged();
    const { kube } = controller;
    await failed(controller);
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv' });
    expect((await controller.reconcile()).requeueAfterMs).toBe(2000);
    expect(podsOf(kube)).toBe(before);
    controller.clock.ms += 2000;
    await converge(controller);
    const after = podsOf(kube);
    expect(after).not.toBe(before);
    expect(after).toContain('registry.example/shop:1');
    controller.writes();
    await controller.reconcile();
    expect([controller.writes(), podsOf(kube)]).toEqual([[], after]);
  });

  it.each([
    { what: 'rolls the pods that serve where the API server accepts them', refused: 'registry.example/shop:2' },
    { what: 'rolls no pods that the API server refuses as well', refused: 'registry.example/shop' },
  ])('and its pods are refused, a rotation $what', async ({ refused }) => {
    const controller = await converged();
    const { kube, clock, reconcile, writes } = controller;
    // It tries the pods in each pass.
    const passes = async (): Promise<void> => {
      for (let pass = 0; pass < 4; pass += 1) {
        clock.ms += 3000;
        await reconcile();
        await makeReady(kube);
      }
    };
    kube.failOn(({ kind, body }) =>
      kind === 'Pod' && body !== undefined && JSON.stringify(body).includes(refused)
        ? new Forbidden('create')
        : undefined,
    );
    await edit(kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 1 } });
    await passes();
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv' });
    await passes();
    const after = podsOf(kube);
    expect([after !== before, after.includes('registry.example/shop:1')]).toEqual([refused.endsWith(':2'), true]);
    expect(conditionIn(kube, 'Ready')).toMatchObject({ reason: 'PodsRefused' });
    writes();
    await passes();
    expect(podsOf(kube)).toBe(after);
    expect(writes().filter((write) => write.startsWith('apply Deployment'))).toEqual([]);
  });

  it('values that changed with the failed revision roll the pods that returned without them', async () => {
    const controller = await converged();
    const { kube } = controller;
    const { metadata } = server(kube).spec?.template ?? {};
    const old = { ...metadata, name: 'shop-old', namespace: 'team', ownerReferences: [CONTROLLER] };
    kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: old } as KubeObject);
    const before = podsOf(kube);
    putSecret(kube, { token: 'dHdv' });
    await failed(controller);
    expect(podsOf(kube)).toBe(before);
    await later(controller);
    expect(podsOf(kube)).not.toBe(before);
  });

  it('a Secret that only the newest revision names rolls nothing', async () => {
    const controller = await converged();
    const { kube } = controller;
    putSecret(kube, { key: 'MQ==' }, 'third');
    const [one] = REFERENCES.secretReferences ?? [];
    await failed(controller, { secretReferences: [one, { name: 'THIRD', secretName: 'third', secretKey: 'key' }] });
    const before = podsOf(kube);
    putSecret(kube, { key: 'Mg==' }, 'third');
    await later(controller);
    expect(podsOf(kube)).toBe(before);
  });
});

describe('what is read', () => {
  it('at rest nothing; a Secret once for each of its versions', async () => {
    const controller = await converged();
    const { kube } = controller;
    const reads: string[] = [];
    kube.failOn(({ verb, kind, ref }) => {
      if (verb === 'get' && kind === 'Secret') reads.push(ref.name);
      return undefined;
    });
    await controller.reconcile();
    expect(reads).toEqual([]);
    putSecret(kube, { token: 'dHdv' });
    await later(controller);
    await makeReady(kube);
    await controller.reconcile();
    expect(reads).toEqual(['mine']);
  });

  it('the key is made once, by whichever replica is first', async () => {
    const kube = aServer();
    putSecret(kube, { token: 'b25l' });
    putSecret(kube, { key: 'MQ==' }, 'other');
    putRecord(kube, REFERENCES);
    const controllers = [await aController(kube), await aController(kube)];
    await Promise.allSettled(controllers.map((controller) => controller.reconcile()));
    const made = kube.writes.filter(({ verb, ref }) => verb === 'create' && ref.name === 'davit-hmac');
    expect(made.map(({ error }) => error ?? 'made').toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'AlreadyExists',
      'made',
    ]);
    expect(kube.objects(SECRETS).filter(({ metadata }) => metadata.name === 'davit-hmac')).toHaveLength(1);
  });

  it('replicas that make the key at once have the same, and one that is spoilt is said', async () => {
    const kube = aServer();
    const keys = await Promise.all([makeDigestKey(kube, 'davit-system')(), makeDigestKey(kube, 'davit-system')()]);
    expect(keys[0]).toEqual(keys[1]);
    putSecret(kube, { key: 'c2hvcnQ=' }, 'davit-hmac');
    await expect(makeDigestKey(kube, 'team')()).rejects.toThrow(
      /Secret davit-hmac in team does not have 32 bytes.*Delete the Secret/,
    );
  });

  it('without references no key is made, and nothing is noted', async () => {
    const controller = await converged({});
    expect(controller.kube.objects(SECRETS).map(({ metadata }) => metadata.name)).not.toContain('davit-hmac');
    expect(JSON.stringify(controller.kube.objects(DEPLOYMENTS))).not.toContain(SECRETS_ANNOTATION);
  });
});
