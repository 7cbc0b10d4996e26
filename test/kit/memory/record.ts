// The record `team/shop` on the in-memory API server: how people put, edit and delete it, and what is reported on it.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import type { Condition } from '../../../src/kinds/primitives.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, SecretObject } from '../../../src/runtime/kube/client.ts';
import { aSpec } from '../../support/builders.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { SHOP } from './controller.ts';

/** A server with a tenant namespace `team` in it. */
export function aServer(options: Parameters<typeof makeFakeKube>[0] = {}): FakeKube {
  const kube = makeFakeKube(options);
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team', labels: { 'davit.dev/tenant': 'true' }, finalizers: ['kubernetes'] },
  });
  return kube;
}

export function putRecord(
  kube: FakeKube,
  spec: Partial<AppDeployment['spec']> = {},
  metadata: Partial<KubeObject['metadata']> = {},
): void {
  const record: AppDeployment = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', generation: 1, ...metadata },
    spec: aSpec(spec),
  };
  kube.seed(APP_DEPLOYMENTS, record);
}

export function record(kube: FakeKube, namespace = 'team', name = 'shop'): AppDeployment {
  const found = kube
    .objects<AppDeployment>(APP_DEPLOYMENTS)
    .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (!found) throw new Error(`${namespace}/${name} is gone.`);
  return found;
}

/** The record's condition of this type. */
export function conditionIn(kube: FakeKube, type: string, namespace = 'team', name = 'shop'): Condition | undefined {
  return conditionOf(record(kube, namespace, name).status?.conditions, type);
}

/** Status and reason of the record's condition of this type. */
export function says(kube: FakeKube, type: string, namespace = 'team', name = 'shop'): string {
  const condition = conditionIn(kube, type, namespace, name);
  return `${condition?.status} ${condition?.reason}`;
}

/** The newest revision in the server. */
export function newestRevision(kube: FakeKube): AppRevision {
  const [found] = kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted(
      (a, b) =>
        b.spec.deploymentGeneration - a.spec.deploymentGeneration ||
        (b.spec.pushSerial ?? 0) - (a.spec.pushSerial ?? 0),
    );
  if (!found) throw new Error('There is no revision.');
  return found;
}

/** Patches the record as an editor does. */
export async function edit(kube: FakeKube, patch: object): Promise<void> {
  await kube.mergePatch(APP_DEPLOYMENTS, SHOP, patch, { fieldManager: 'person' });
}

/** Requests the deletion of the record. */
export async function deleteRecord(kube: FakeKube): Promise<void> {
  await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
}

/** Requests the deletion of the record's namespace. */
export async function deleteNamespace(kube: FakeKube): Promise<void> {
  await kube.remove(NAMESPACES, { name: 'team' }, { uid: kube.objects(NAMESPACES)[0]?.metadata.uid ?? '' });
}

/** Puts a Secret into the record's namespace. */
export function putSecret(
  kube: FakeKube,
  name: string,
  data?: Readonly<Record<string, string>>,
  { namespace = 'team', labels }: Partial<KubeObject['metadata']> = {},
): void {
  const metadata = { name, namespace, ...(labels && { labels }) };
  kube.seed<SecretObject>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, ...(data && { data }) });
}

/** Labels of a Secret of values. */
export const OF_VALUES = { 'davit.dev/deployment': 'shop', 'davit.dev/variables': '' };
