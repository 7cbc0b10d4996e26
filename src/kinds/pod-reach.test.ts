import { describe, expect, it } from 'vitest';
import { AllowedReach, type ReachRules, RefusedReach, reachBreaches } from './pod-reach.ts';

function rules(policy: ReachRules['policy'], allowed: object = {}): ReachRules {
  return { policy, allowed: AllowedReach.parse(allowed), refused: RefusedReach.parse({}) };
}
function places(spec: object, given: ReachRules, before: object = {}): string[] {
  return Array.from(reachBreaches({ ...spec }, given, { ...before }), ({ at }) => at.join('.'));
}
const csi = (parts: object): object => ({ volumes: [{ name: 'v', csi: parts }] });
const NAMES_NAMESPACE = [
  'secretNs',
  'SecretNS',
  'secretns',
  'secret_ns',
  'secret-ns',
  'secret.ns',
  'nsName',
  'ns',
  'NS',
  'podNsOverride',
  'name_space',
  'pvcNameSpace',
  'csi.storage.k8s.io/node-publish-secret-namespace',
];
const NAMES_NONE = [
  'dns',
  'DNS',
  'dnsNames',
  'useDNS',
  'columns',
  'instance',
  'answers',
  'nsec',
  'transport',
  'namespec',
];

describe('what reaches beyond the pods', () => {
  it.each<{ reason: string; spec: object; baseline: string[]; restricted: string[] }>([
    { reason: 'a label of the team', spec: { labels: { team: 'x' } }, baseline: [], restricted: ['labels.team'] },
    {
      reason: "one of the company's domain",
      spec: { labels: { 'example.com/team': 'x' }, annotations: { 'example.com/note': 'x' } },
      baseline: [],
      restricted: ['labels.example.com/team', 'annotations.example.com/note'],
    },
    {
      reason: 'a label by which Services select',
      spec: { labels: { app: 'shop', apple: 'x', 'k8s-app': 'dns' } },
      baseline: ['labels.app', 'labels.k8s-app'],
      restricted: ['labels.app', 'labels.apple', 'labels.k8s-app'],
    },
    {
      reason: 'which annotations do not',
      spec: { annotations: { app: 'shop' } },
      baseline: [],
      restricted: ['annotations.app'],
    },
    ...[
      'k8s.v1.cni.cncf.io/networks',
      'v1.multus-cni.io/default-network',
      'secrets-webhook.security.bank-vaults.io/vault-serviceaccount',
      'cnpg.io/cluster',
      'sidecar.istio.io/inject',
      'linkerd.io/inject',
      'config.linkerd.io/skip-inbound-ports',
      'iam.amazonaws.com/role',
      'eks.amazonaws.com/role-arn',
      'azure.workload.identity/use',
      'aadpodidbinding',
      'workload.cloud.google.com/identity',
      'vault.hashicorp.com/agent-inject',
      'cluster-autoscaler.kubernetes.io/safe-to-evict',
      'io.katacontainers.config.hypervisor.path',
      'org.systemd.property.CPUQuota',
      'cdi.k8s.io/gpu',
      'co.elastic.logs/processors',
      'io.opentelemetry.discovery.metrics/config',
      'telegraf.influxdata.com/inputs',
      'external-dns.alpha.kubernetes.io/hostname',
      'prometheus.io/scrape',
      'prometheus.io/port',
      'fluentbit.io/parser',
      'nginx.ingress.kubernetes.io/server-snippet',
      'topology.kubernetes.io/zone',
      'kueue.x-k8s.io/queue-name',
      'node.k8s.io/x',
      'profiles.grafana.com/cpu.scrape',
      'pre.hook.backup.velero.io/command',
    ].map((key) => ({
      reason: key,
      spec: { labels: { [key]: 'x' }, annotations: { [key]: 'x' } },
      baseline: [`labels.${key}`, `annotations.${key}`],
      restricted: [`labels.${key}`, `annotations.${key}`],
    })),
    {
      reason: 'a CSI driver',
      spec: csi({ driver: 'files.example', volumeAttributes: { share: 'a' } }),
      baseline: [],
      restricted: ['volumes.0.csi.driver'],
    },
    {
      reason: 'an attribute that names a namespace',
      spec: csi({ driver: 'smb.csi.k8s.io', volumeAttributes: { secretNamespace: 'other', share: 'a' } }),
      baseline: ['volumes.0.csi.volumeAttributes.secretNamespace'],
      restricted: ['volumes.0.csi.volumeAttributes.secretNamespace', 'volumes.0.csi.driver'],
    },
    {
      reason: 'attributes that name one in fewer letters, and others that only look alike',
      spec: csi({
        driver: 'd',
        volumeAttributes: Object.fromEntries(
          [...NAMES_NAMESPACE, ...NAMES_NONE].map((key, index) => [key, String(index)]),
        ),
      }),
      baseline: NAMES_NAMESPACE.map((key) => `volumes.0.csi.volumeAttributes.${key}`),
      restricted: [...NAMES_NAMESPACE.map((key) => `volumes.0.csi.volumeAttributes.${key}`), 'volumes.0.csi.driver'],
    },
    {
      reason: 'a certificate of the pod',
      spec: { volumes: [{ name: 'v', projected: { sources: [{ podCertificate: { signerName: 'a/b' } }] } }] },
      baseline: [],
      restricted: ['volumes.0.projected.sources.0.podCertificate'],
    },
    { reason: 'what is no map at all', spec: { labels: 5, volumes: 'a' }, baseline: [], restricted: [] },
  ])('$reason', ({ spec, baseline, restricted }) => {
    expect(places(spec, rules('baseline'))).toEqual(baseline);
    expect(places(spec, rules('restricted'))).toEqual(restricted);
    // What a record has already is not judged again.
    expect(places(spec, rules('restricted'), spec)).toEqual([]);
  });

  it('is let through where the settings name it', () => {
    const spec = {
      labels: { app: 'a', 'sidecar.istio.io/inject': 'x', 'iam.amazonaws.com/role': 'x' },
      annotations: { 'example.com/a': 'x', 'other.example/a': 'x' },
      volumes: [{ name: 'v', csi: { driver: 'files.example' } }],
    };
    const allowed = {
      labels: ['app', '*.istio.io/'],
      annotations: ['example.com/'],
      csiDrivers: ['files.example'],
    };
    expect(places(spec, rules('baseline', allowed))).toEqual(['labels.iam.amazonaws.com/role']);
    expect(places(spec, rules('restricted', allowed))).toEqual([
      'labels.iam.amazonaws.com/role',
      'annotations.other.example/a',
    ]);
  });

  it('what a change gives another value is judged', () => {
    const before = { labels: { app: 'a', role: 'b' } };
    expect(places({ labels: { app: 'b', role: 'b' } }, rules('baseline'), before)).toEqual(['labels.app']);
  });

  it.each(['*', '*/', '/a', 'a b', ''])('%j is no pattern of keys', (pattern) => {
    expect(AllowedReach.safeParse({ labels: [pattern] }).success).toBe(false);
  });

  it('the platform may reject more keys, and allow some of them', () => {
    const refused = { labels: ['billing.example/'], annotations: ['agent.example/'] };
    const spec = {
      labels: { 'billing.example/team': 'x', 'agent.example/a': 'x' },
      annotations: { 'agent.example/a': 'x', 'agent.example/b': 'x' },
    };
    const given = { ...rules('baseline', { annotations: ['agent.example/b'] }), refused };
    expect(places(spec, given)).toEqual(['labels.billing.example/team', 'annotations.agent.example/a']);
  });

  it("annotations of Kubernetes' own tools are harmless", () => {
    const annotations = {
      'kubectl.kubernetes.io/default-container': 'server',
      'kubectl.kubernetes.io/restartedAt': '2026-02-02',
    };
    expect(places({ annotations, labels: annotations }, rules('baseline'))).toEqual(
      Object.keys(annotations).map((key) => `labels.${key}`),
    );
    expect(places({ annotations }, rules('restricted'))).toHaveLength(2);
  });
});
