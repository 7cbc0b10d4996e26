import { describe, expect, it } from 'vitest';
import { aRecord, aRevision, TENANT, UID } from '../../../test/support/builders.ts';
import { Settings } from '../../kinds/settings.ts';
import { makeNetworkPolicies } from './network.ts';
import { makeAddress } from './routing.ts';

const HOST = 'shop.example.com';
const record = aRecord();

function made(address: object): unknown {
  return JSON.parse(JSON.stringify(makeAddress(record, HOST, Settings.parse({ address }).address) ?? null));
}

const metadata = {
  name: 'shop',
  namespace: 'team',
  labels: {
    'app.kubernetes.io/name': 'shop',
    'app.kubernetes.io/instance': 'shop',
    'app.kubernetes.io/part-of': 'davit',
    'app.kubernetes.io/managed-by': 'davit',
    'davit.dev/deployment': 'shop',
    'davit.dev/deployment-uid': UID,
  },
  ownerReferences: [
    { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: UID, controller: true },
  ],
};
const rules = [
  {
    host: HOST,
    http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }] },
  },
];

describe('an address', () => {
  it.each([
    { name: 'is not made where there are none', address: {}, want: null },
    {
      name: "is an Ingress of the cluster's default class",
      address: { kind: 'ingress' },
      want: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata, spec: { rules } },
    },
    {
      name: 'is an Ingress for an issuer of certificates',
      address: {
        kind: 'ingress',
        ingressClassName: 'nginx',
        tls: 'issued',
        annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
      },
      want: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: { ...metadata, annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' } },
        spec: { ingressClassName: 'nginx', rules, tls: [{ hosts: [HOST], secretName: 'shop--tls' }] },
      },
    },
    {
      name: 'is an HTTPRoute of one listener',
      address: {
        kind: 'gateway',
        gateway: { name: 'public', namespace: 'gateways', sectionName: 'https' },
        tls: 'default',
      },
      want: {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata,
        spec: {
          parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
          hostnames: [HOST],
          rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }],
        },
      },
    },
  ])('$name', ({ address, want }) => {
    expect(made(address)).toEqual(want);
  });

  it.each([
    { tls: 'default', want: [{ hosts: [HOST] }] },
    { tls: 'secret', want: [{ hosts: [HOST], secretName: 'wildcard' }] },
  ])('with TLS $tls', ({ tls, want }) => {
    expect(made({ kind: 'ingress', tls, tlsSecretName: 'wildcard' })).toMatchObject({ spec: { tls: want } });
  });
});

describe('the way to the server', () => {
  const labels = { 'kubernetes.io/metadata.name': 'ingress-nginx' };
  function ways(address: object): unknown {
    const settings = Settings.parse({ address });
    return makeNetworkPolicies({ record, revision: aRevision(record), tenantId: TENANT, settings })
      .filter((policy) => policy.metadata.name === 'shop--server')
      .map(({ spec }) => spec);
  }
  it('is open to all where the platform does not say whence addresses lead to it', () => {
    expect(ways({ kind: 'ingress' })).toEqual([]);
    expect(ways({ kind: 'none', controllerNamespaceLabels: labels })).toEqual([]);
  });
  it("is open to the controller's namespace and its own where it does", () => {
    expect(ways({ kind: 'ingress', controllerNamespaceLabels: labels })).toEqual([
      {
        podSelector: { matchLabels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'server' } },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [{ namespaceSelector: { matchLabels: labels } }],
            ports: [{ port: 'http', protocol: 'TCP' }],
          },
          { from: [{ podSelector: {} }] },
        ],
      },
    ]);
  });
});

describe('settings that cannot work are refused', () => {
  it.each([
    { address: { kind: 'gateway' }, says: 'the name and namespace of a Gateway' },
    { address: { kind: 'ingress', tls: 'secret' }, says: 'the name of the Secret' },
    { address: { kind: 'ingress', baseDomain: '10.0.0.1' }, says: 'baseDomain' },
    { address: { kind: 'nginx' }, says: 'kind' },
  ])('$address', ({ address, says }) => {
    const { error } = Settings.safeParse({ address });
    expect(`${error?.message} ${JSON.stringify(error?.issues)}`).toContain(says);
  });
});
