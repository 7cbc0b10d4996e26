import { describe, expect, it } from 'vitest';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden, Unavailable } from '../../runtime/errors.ts';
import {
  NAMESPACES,
  VALIDATING_ADMISSION_POLICIES,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  kindsAreServed,
  kubernetesIsNewEnough,
  policiesAreThere,
  rightsAreGranted,
  tenantsHavePodSecurity,
} from './preflight-checks.ts';

const { signal } = new AbortController();

describe('the version of the API server', () => {
  it.each([
    { gitVersion: 'v1.34.0', enough: true },
    { gitVersion: 'v1.37.2', enough: true },
    { gitVersion: 'v1.34.4-eks-2d5f260', enough: true },
    { gitVersion: 'v2.0.0', enough: true },
    { gitVersion: 'v1.33.9', enough: false },
    { gitVersion: 'v1.9.1', enough: false },
    { gitVersion: 'v0.32.0', enough: false },
  ])('$gitVersion', async ({ gitVersion, enough }) => {
    const kube = makeFakeKube();
    kube.texts.set('/version', JSON.stringify({ gitVersion }));
    const said = await kubernetesIsNewEnough(kube, signal);
    expect(said === undefined).toBe(enough);
    if (!enough) expect(said).toMatch(`Kubernetes ${gitVersion} is too old: Davit needs 1.34 or newer`);
  });

  it('is not known where the server does not answer', async () => {
    const kube = makeFakeKube();
    kube.failOn(() => new Unavailable('down'));
    await expect(kubernetesIsNewEnough(kube, signal)).rejects.toThrow('down');
  });
});

describe('the kinds', () => {
  const wanted = [
    { group: 'davit.dev', version: 'v1alpha1', plural: 'appdeployments' },
    { group: 'davit.dev', version: 'v1alpha1', plural: 'apprevisions' },
  ];
  it.each([
    { reason: 'none of the group', resources: undefined, missing: 'appdeployments.davit.dev, apprevisions.davit.dev' },
    {
      reason: 'one of them',
      resources: ['appdeployments', 'appdeployments/status'],
      missing: 'apprevisions.davit.dev',
    },
    { reason: 'all', resources: ['appdeployments', 'apprevisions'], missing: undefined },
  ])('served: $reason', async ({ resources, missing }) => {
    const kube = makeFakeKube();
    if (resources) {
      const list = { resources: resources.map((name) => ({ name })) };
      kube.texts.set('/apis/davit.dev/v1alpha1', JSON.stringify(list));
    }
    const said = await kindsAreServed(kube, wanted, signal);
    expect(said).toEqual(missing && (expect.stringContaining(`not installed: ${missing}. Apply`) as string));
  });
});

describe('the admission policies', () => {
  const names = ['davit-hosting', 'davit-revisions'];
  function object(kind: string, name: string): KubeObject {
    return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name } };
  }
  it('are there with their bindings', async () => {
    const kube = makeFakeKube();
    for (const name of names) {
      await kube.create(VALIDATING_ADMISSION_POLICIES, object('ValidatingAdmissionPolicy', name));
      await kube.create(VALIDATING_ADMISSION_POLICY_BINDINGS, object('ValidatingAdmissionPolicyBinding', name));
    }
    expect(await policiesAreThere(kube, names, signal)).toBeUndefined();
  });
  it('count as missing without their binding', async () => {
    const kube = makeFakeKube();
    await kube.create(VALIDATING_ADMISSION_POLICIES, object('ValidatingAdmissionPolicy', 'davit-hosting'));
    expect(await policiesAreThere(kube, names, signal)).toMatch(
      'not enforced: davit-hosting, davit-revisions. Without',
    );
  });
  it('are not said to be missing by whoever may not look', async () => {
    const kube = makeFakeKube();
    kube.failOn(() => new Forbidden('may not get'));
    await expect(policiesAreThere(kube, names, signal)).rejects.toThrow('may not get');
  });
});

describe('the rights', () => {
  const granted = [
    { rules: [{ apiGroups: ['davit.dev'], resources: ['appdeployments/status'], verbs: ['patch', 'list', 'watch'] }] },
    {
      namespace: 'davit-system',
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['davit-hmac'], verbs: ['get'] }],
    },
  ];
  it('are asked for one by one, lists and watches left to the caches', async () => {
    const kube = makeFakeKube();
    const asked: unknown[] = [];
    kube.allow((right) => {
      asked.push(right);
      return true;
    });
    expect(await rightsAreGranted(kube, granted, signal)).toBeUndefined();
    expect(asked).toEqual([
      { verb: 'patch', group: 'davit.dev', resource: 'appdeployments', subresource: 'status' },
      { verb: 'get', group: '', resource: 'secrets', name: 'davit-hmac', namespace: 'davit-system' },
    ]);
  });
  it('that are missing are named as a person would', async () => {
    const kube = makeFakeKube();
    kube.allow(() => false);
    expect(await rightsAreGranted(kube, granted, signal)).toMatch(
      'not granted: patch appdeployments.davit.dev/status, get secrets davit-hmac in davit-system. Upgrade the chart',
    );
  });
});

describe('tenants without a Pod Security level', () => {
  const enforced = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  it.each([
    { reason: 'none', labelled: enforced, tenants: [], said: undefined },
    { reason: 'two', labelled: {}, tenants: [], said: 'level: one, two. Only Davit' },
    { reason: 'one of those that are listed', labelled: {}, tenants: ['two', 'safe'], said: 'level: two. Only Davit' },
  ])('are named: $reason', async ({ labelled, tenants, said }) => {
    const kube = makeFakeKube();
    const namespace = (name: string, labels: object): KubeObject =>
      ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }) as KubeObject;
    for (const name of ['one', 'two'])
      kube.seed(NAMESPACES, namespace(name, { 'davit.dev/tenant': 'true', ...labelled }));
    kube.seed(NAMESPACES, namespace('safe', { 'davit.dev/tenant': 'true', ...enforced }));
    kube.seed(NAMESPACES, namespace('kube-system', {}));
    const found = await tenantsHavePodSecurity(kube, tenants, signal);
    expect(found).toEqual(said && expect.stringContaining(said));
  });

  it('are counted where they are many', async () => {
    const kube = makeFakeKube();
    for (let n = 10; n < 25; n += 1) {
      const labels = { 'davit.dev/tenant': 'true' };
      kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `team-${n}`, labels } });
    }
    expect(await tenantsHavePodSecurity(kube, [], signal)).toMatch(
      /team-19 and 5 more\. .* kubectl label namespace team-10 pod-security\.kubernetes\.io\/enforce=restricted$/,
    );
  });
});
