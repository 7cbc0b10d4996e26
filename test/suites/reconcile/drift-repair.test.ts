// What a person changed in a child of ours: it is put back, also where a merge alone cannot.

import { afterEach, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, SECRETS, SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord, says } from '../../kit/memory/record.ts';
import { converge } from './harness.ts';

const REF = { namespace: 'team', name: 'shop' };
let controller: MemoryController;
afterEach(() => controller.stop());

async function converged(spec: Partial<AppDeployment['spec']> = {}): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube, spec);
  controller = await aController(kube);
  await converge(controller);
  return controller;
}

interface Child extends KubeObject {
  readonly spec: {
    readonly ports: readonly { readonly port: number }[];
    readonly template: { readonly spec: { readonly initContainers: readonly { readonly name: string }[] } };
  };
}

async function initContainers({
  kube,
}: MemoryController): Promise<Child['spec']['template']['spec']['initContainers']> {
  return (await kube.get<Child>(DEPLOYMENTS, REF)).spec.template.spec.initContainers;
}

it('init containers in another order', async () => {
  const own = ['b', 'a'].map((name) => ({ name, image: 'registry.example/helper:1' }));
  const { kube, reconcile, writes } = await converged({
    sourceConfig: { resourceSpec: { initContainers: own, sidecars: [{ name: 's', image: 'registry.example/s:1' }] } },
  });
  const before = await initContainers(controller);
  expect(before.map(({ name }) => name)).toEqual(['wait-for-database', 'wait-for-redis', 's', 'b', 'a']);
  const theirs = { spec: { template: { spec: { initContainers: before.toReversed() } } } };
  await kube.mergePatch(DEPLOYMENTS, REF, theirs, { fieldManager: 'person' });
  writes();
  await reconcile();
  expect(await initContainers(controller)).toEqual(before);
  expect(writes().filter((write) => write.endsWith('Deployment shop'))).toEqual(['apply Deployment shop']);
  await converge(controller);
  await reconcile();
  expect(writes()).toEqual([]);
});

it('a port with another number: an apply alone would make two of one name', async () => {
  const { kube, reconcile, writes } = await converged();
  const ports = async (): Promise<readonly number[]> =>
    (await kube.get<Child>(SERVICES, REF)).spec.ports.map(({ port }) => port);
  const theirs = { spec: { ports: [{ name: 'http', port: 81, targetPort: 'http' }] } };
  await kube.mergePatch(SERVICES, REF, theirs, { fieldManager: 'person' });
  // As the API server has it, which the in-memory one does not know.
  kube.failOn(async ({ verb, kind }) =>
    verb === 'apply' && kind === 'Service' && (await ports()).includes(81)
      ? new Invalid('apply Service shop', [], { serverMessage: 'spec.ports[1].name: Duplicate value: "http"' })
      : undefined,
  );
  writes();
  await reconcile();
  expect(writes()).toEqual([
    'apply Service shop (Invalid)',
    'patch Service shop',
    'apply Service shop',
    // Ownership: what the patch has set is the applies' own.
    'patch Service shop',
    'apply Service shop',
  ]);
  expect(await ports()).toEqual([80]);
  await reconcile();
  expect(writes()).toEqual([]);
});

it('what was never applied as it is, and is refused, is not forced', async () => {
  const { kube, reconcile, writes } = await converged();
  const record = kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0];
  if (!record) throw new Error('The record is gone.');
  const spec = { ...record.spec, sourceConfig: { resourceSpec: { labels: { team: 'blue' } } } };
  await kube.replace(APP_DEPLOYMENTS, { ...record, spec }, { fieldManager: 'person' });
  kube.failOn(({ verb, kind }) =>
    verb !== 'get' && kind === 'Deployment' ? new Invalid('apply Deployment shop', []) : undefined,
  );
  writes();
  await reconcile();
  expect(writes().filter((write) => write.includes(' Deployment shop'))).toEqual([
    'apply Deployment shop (Invalid)',
    'try Deployment shop (Invalid)',
  ]);
});

it('a value that a new revision takes from a Secret: an apply alone would keep both', async () => {
  const { kube, reconcile } = await converged();
  interface Pods extends KubeObject {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly { env: EnvVar[] }[] } } };
  }
  interface EnvVar {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: object;
  }
  const mode = async (): Promise<EnvVar | undefined> =>
    (await kube.get<Pods>(DEPLOYMENTS, REF)).spec.template.spec.containers[0]?.env.find(({ name }) => name === 'MODE');
  const [own] = (await kube.get<Pods>(DEPLOYMENTS, REF)).spec.template.spec.containers;
  const theirs = [{ ...own, env: [...(own?.env ?? []), { name: 'MODE', value: 'debug' }] }];
  await kube.mergePatch(
    DEPLOYMENTS,
    REF,
    { spec: { template: { spec: { containers: theirs } } } },
    { fieldManager: 'person' },
  );
  await converge(controller);
  expect(await mode()).toEqual({ name: 'MODE', value: 'debug' });
  // As the API server has it, which the in-memory one does not know.
  kube.failOn(async ({ verb, kind }) =>
    verb === 'apply' && kind === 'Deployment' && (await mode())?.value !== undefined
      ? new Invalid('apply Deployment shop', [], { serverMessage: 'may not be specified when `value` is not empty' })
      : undefined,
  );
  kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mode', namespace: 'team' },
    data: { a: 'eA==' },
  } as KubeObject);
  const secretReferences = [{ name: 'MODE', secretName: 'mode', secretKey: 'a' }];
  await edit(kube, { spec: { secretReferences, revisionSerial: 2 } });
  await converge(controller);
  await reconcile();
  expect(await mode()).toMatchObject({ valueFrom: { secretKeyRef: { name: 'mode', key: 'a' } } });
  expect((await mode())?.value).toBeUndefined();
});

it('what is put back leaves an event, and so does a child that was deleted; a change of the record leaves none', async () => {
  const { kube, reconcile, events } = await converged();
  const corrected = (): number => events.filter((event) => event === 'Normal DriftCorrected').length;
  await converge(controller);
  expect(corrected()).toBe(0);
  await kube.mergePatch(DEPLOYMENTS, REF, { spec: { minReadySeconds: 7, replicas: 5 } }, { fieldManager: 'person' });
  await reconcile();
  expect(corrected()).toBe(1);
  kube.erase(SERVICES, REF);
  await reconcile();
  expect(corrected()).toBe(2);
  const patch = { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } } };
  await kube.mergePatch(APP_DEPLOYMENTS, REF, patch, { fieldManager: 'person' });
  await converge(controller);
  expect(corrected()).toBe(2);
});

it('what others have added stays', async () => {
  const { kube, reconcile, writes } = await converged();
  interface Pods extends KubeObject {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly { env: object[] }[] } } };
  }
  const before = await kube.get<Pods>(DEPLOYMENTS, REF);
  const [own] = before.spec.template.spec.containers;
  const theirs = [
    { ...own, env: [...(own?.env ?? []), { name: 'DEBUG', value: 'hidden' }] },
    { name: 'spy', image: 'registry.example/spy:1' },
  ];
  const containers = (list: readonly object[]): object => ({
    spec: { template: { spec: { containers: list, nodeSelector: list === theirs ? { disk: 'fast' } : null } } },
  });
  await kube.mergePatch(DEPLOYMENTS, REF, containers(theirs), { fieldManager: 'person' });
  writes();
  await reconcile();
  expect(writes().filter((write) => !write.endsWith('/status'))).toEqual([]);
  await converge(controller);
  expect(says(kube, 'Ready')).toBe('True Serving');
  const after = await kube.get<Pods>(DEPLOYMENTS, REF);
  expect(after.spec.template.spec).toMatchObject({ containers: theirs, nodeSelector: { disk: 'fast' } });
});
