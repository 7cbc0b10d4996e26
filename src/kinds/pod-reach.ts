// Fields of a record's pods with an effect beyond the pods: labels that foreign Services and policies select, labels and
// annotations that other controllers, node agents and runtimes act on, CSI drivers that get the name of another namespace. This
// file lists the rejected keys. The platform's settings can allow more; under the restricted policy only keys in the settings are
// allowed. The list is the only source: the HTTP API and the controller import it, and the chart's admission policy reads it from a
// generated file.

import { z } from 'zod';
import { asArray, asObject, canonicalJson } from '../runtime/json-value.ts';
import { type Breach, type PodPolicy, RESERVED_PREFIXES } from './pod-policy.ts';
import { listOf } from './primitives.ts';

/**
 * Patterns of keys: `team` is that key, `example.com/` and `io.example.` are all keys with that prefix, `*.example.com/` is
 * every key of a subdomain.
 */
const KEY_PATTERN = /^(\*(\.[A-Za-z0-9-]+)+\/|[A-Za-z0-9][-A-Za-z0-9_.]*(\/([A-Za-z0-9][-A-Za-z0-9_.]*)?)?)$/;

const keys = (description: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  listOf(z.string().min(1).max(317).regex(KEY_PATTERN), 100)
    .default([])
    .describe(
      `${description} team is that key, example.com/ all keys with that prefix, *.example.com/ those of every subdomain.`,
    );
const allowedKeys = (of: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  keys(`Keys of ${of} that records may use in addition to those that the policy allows.`);
const refusedKeys = (of: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  keys(`Keys of ${of} that records may not use, in addition to those that the policy rejects. A key in allowed may.`);

export const AllowedReach = z.strictObject({
  labels: allowedKeys('labels'),
  annotations: allowedKeys('annotations'),
  csiDrivers: listOf(z.string().min(1).max(253), 100)
    .default([])
    .describe('CSI drivers that records may use in their volumes under the restricted policy.'),
});
export type AllowedReach = z.output<typeof AllowedReach>;

/** Keys that the platform rejects in addition to those of this file. */
export const RefusedReach = z.strictObject({
  labels: refusedKeys('labels'),
  annotations: refusedKeys('annotations'),
});
export type RefusedReach = z.output<typeof RefusedReach>;

export interface ReachRules {
  readonly policy: PodPolicy;
  readonly allowed: AllowedReach;
  readonly refused: RefusedReach;
}

/** Labels that foreign Services, NetworkPolicies and workloads commonly select. */
const SELECTING_LABELS: readonly string[] = [
  'app',
  'k8s-app',
  'name',
  'run',
  'service',
  'component',
  'tier',
  'role',
  'release',
  'job-name',
  'controller-uid',
  'pod-template-hash',
  'controller-revision-hash',
];

/** Keys of labels or annotations on which software outside of the pod acts. */
const ACTED_ON: readonly string[] = [
  // Networks and addresses.
  'cni.cncf.io/',
  '*.cni.cncf.io/',
  '*.multus-cni.io/',
  'cni.projectcalico.org/',
  '*.projectcalico.org/',
  'projectcalico.org/',
  'cilium.io/',
  '*.cilium.io/',
  'io.cilium.',
  'k8s.ovn.org/',
  'ovn.kubernetes.io/',
  'vpc.amazonaws.com/',
  'networking.gke.io/',
  // Identities of clouds.
  'iam.amazonaws.com/',
  'eks.amazonaws.com/',
  '*.eks.amazonaws.com/',
  'azure.workload.identity/',
  'aadpodidbinding',
  'iam.gke.io/',
  'cloud.google.com/',
  '*.cloud.google.com/',
  '*.gke.io/',
  'gke-gcsfuse/',
  'pod-identity.alibabacloud.com/',
  '*.alibabacloud.com/',
  // Injectors of containers and values.
  'istio.io/',
  '*.istio.io/',
  'istio-injection',
  'linkerd.io/',
  '*.linkerd.io/',
  'consul.hashicorp.com/',
  'vault.hashicorp.com/',
  'vault.security.banzaicloud.io/',
  '*.bank-vaults.io/',
  'conjur.org/',
  'kuma.io/',
  'openservicemesh.io/',
  'appmesh.k8s.aws/',
  'dapr.io/',
  'operator.1password.io/',
  '*.opentelemetry.io/',
  '*.datadoghq.com/',
  // Runtimes and devices of the node.
  'cdi.k8s.io/',
  'io.kubernetes.cri-o.',
  'io.kubernetes.cri.',
  'io.katacontainers.',
  'dev.gvisor.',
  'devices.gvisor.io/',
  'io.containerd.',
  'run.oci.',
  'org.systemd.',
  'org.criu.',
  'module.wasm.image/',
  'nri.io/',
  '*.nri.io/',
  // Scheduling, scaling and workloads of the cluster.
  'cluster-autoscaler.kubernetes.io/',
  'scheduler.alpha.kubernetes.io/',
  'descheduler.alpha.kubernetes.io/',
  'karpenter.sh/',
  'statefulset.kubernetes.io/',
  'apps.kubernetes.io/',
  'batch.kubernetes.io/',
  'endpointslice.kubernetes.io/',
  'service.kubernetes.io/',
  'cnpg.io/',
  'kubevirt.io/',
  '*.kubevirt.io/',
  'volcano.sh/',
  '*.volcano.sh/',
  'yunikorn.apache.org/',
  '*.koordinator.sh/',
  'keel.sh/',
  '*.stakater.com/',
  'velero.io/',
  '*.velero.io/',
  'kyverno.io/',
  '*.kyverno.io/',
  'argoproj.io/',
  '*.argoproj.io/',
  'helm.sh/',
  '*.helm.sh/',
  'chaos-mesh.org/',
  '*.chaos-mesh.org/',
  'litmuschaos.io/',
  'nvidia.com/',
  '*.nvidia.com/',
  // Collectors of logs and metrics, which read addresses, files, parsers and queries from pods.
  'co.elastic.',
  'io.opentelemetry.discovery.',
  'telegraf.influxdata.com/',
  '*.influxdata.com/',
  'prometheus.io/',
  '*.prometheus.io/',
  'fluentbit.io/',
  'fluentd.org/',
  'vector.dev/',
  '*.grafana.com/',
  'grafana.com/',
  'newrelic.com/',
  '*.newrelic.com/',
  'dynatrace.com/',
  '*.dynatrace.com/',
  'splunk.com/',
  '*.splunk.com/',
  '*.sumologic.com/',
  '*.jaegertracing.io/',
  'co.logz/',
  'logging.banzaicloud.io/',
  // Names and routes outside of the cluster.
  'external-dns.alpha.kubernetes.io/',
  'getambassador.io/',
  '*.traefik.io/',
  'haproxy.org/',
  // Every other controller of Kubernetes and its projects; HARMLESS_KEYS has the exceptions.
  '*.kubernetes.io/',
  '*.k8s.io/',
  '*.x-k8s.io/',
];

/** Keys that match a pattern above and that nothing but the pod's own tools and its own ReplicaSet reads. */
const HARMLESS_KEYS = {
  labels: [],
  annotations: [
    'kubectl.kubernetes.io/default-container',
    'kubectl.kubernetes.io/default-logs-container',
    'kubectl.kubernetes.io/restartedAt',
    'controller.kubernetes.io/pod-deletion-cost',
  ],
} as const satisfies Record<'labels' | 'annotations', readonly string[]>;

export const REFUSED_KEYS = { labels: [...SELECTING_LABELS, ...ACTED_ON], annotations: ACTED_ON } as const;

/**
 * Attributes of a CSI volume that name a namespace, as expressions that JavaScript and RE2 read alike: a part of the key in
 * lower case, and `ns` as a word of its own in the key as it stands (`secretNs`, `secret-ns`; `dns` is none).
 */
export const NAMESPACE_ATTRIBUTES = {
  lowerCase: 'name[-_.]?space|(secret|pod|account|claim|pvc|map|ref|object)s?ns$',
  word: '(^|[^A-Za-z])[nN][sS]([^a-z]|$)|[a-z0-9]N[sS]([^a-z]|$)',
} as const;
const [LOWER_CASE, WORD] = [new RegExp(NAMESPACE_ATTRIBUTES.lowerCase), new RegExp(NAMESPACE_ATTRIBUTES.word)];

/** Source of charts/davit/files/pod-reach.json, which the chart's admission policies read. */
export const POD_REACH = {
  ...REFUSED_KEYS,
  harmless: HARMLESS_KEYS,
  namespaceAttributes: NAMESPACE_ATTRIBUTES,
} as const;
type Keyed = keyof typeof REFUSED_KEYS;

export function refusedKeyMessage(field: Keyed, policy: PodPolicy): string {
  return policy === 'restricted'
    ? `the restricted pod policy allows only the ${field} in settings.pods.allowed.${field}`
    : `these ${field} have an effect beyond this deployment; settings.pods.allowed.${field} can allow them`;
}
export const NAMESPACE_ATTRIBUTE_MESSAGE =
  'an attribute that names a namespace is refused: a record may use only its own namespace';
export const CSI_DRIVER_MESSAGE =
  'the restricted pod policy allows only the CSI drivers in settings.pods.allowed.csiDrivers';
export const POD_CERTIFICATE_MESSAGE = 'podCertificate is refused by the restricted pod policy';

/** Whether `pattern` matches a key. In CEL: celMatches in the chart. */
function matches(pattern: string, key: string): boolean {
  if (pattern.startsWith('*')) return key.includes(pattern.slice(1));
  if (pattern.endsWith('/') || pattern.endsWith('.')) return key.startsWith(pattern);
  return key === pattern;
}

type Parts = Readonly<Record<string, unknown>>;

/**
 * Every violation in the values that `spec` adds to `before`. Existing values were checked when they were added, and a
 * narrowed setting must not prevent changes of other fields.
 */
export function* reachBreaches(spec: Parts, rules: ReachRules, before: Parts = {}): Generator<Breach> {
  yield* keyBreaches('labels', spec, rules, before);
  yield* keyBreaches('annotations', spec, rules, before);
  const there = new Set(asArray(before['volumes']).map((volume) => canonicalJson(volume)));
  for (const [index, volume] of asArray(spec['volumes']).map(asObject).entries())
    if (!there.has(canonicalJson(volume))) yield* volumeBreaches(volume, ['volumes', index], rules);
}

function* keyBreaches(field: Keyed, spec: Parts, rules: ReachRules, before: Parts): Generator<Breach> {
  const [asked, had] = [asObject(spec[field]), asObject(before[field])];
  for (const [key, value] of Object.entries(asked)) {
    if (Object.hasOwn(had, key) && had[key] === value) continue;
    if (isRefused(field, key, rules)) yield { at: [field, key], message: refusedKeyMessage(field, rules.policy) };
  }
}

function isRefused(field: Keyed, key: string, { policy, allowed, refused }: ReachRules): boolean {
  const isIn = (patterns: readonly string[]): boolean => patterns.some((pattern) => matches(pattern, key));
  // The schema rejects reserved keys (pod-policy.ts), whatever the settings allow.
  if (isIn(allowed[field]) || isIn(RESERVED_PREFIXES[field])) return false;
  return policy === 'restricted' || isIn(refused[field]) || (isIn(REFUSED_KEYS[field]) && !isIn(HARMLESS_KEYS[field]));
}

function* volumeBreaches(volume: Parts, at: Breach['at'], { policy, allowed }: ReachRules): Generator<Breach> {
  if (volume['csi'] !== undefined && volume['csi'] !== null) {
    const { driver, volumeAttributes } = asObject(volume['csi']);
    for (const key of Object.keys(asObject(volumeAttributes)))
      if (LOWER_CASE.test(key.toLowerCase()) || WORD.test(key))
        yield { at: [...at, 'csi', 'volumeAttributes', key], message: NAMESPACE_ATTRIBUTE_MESSAGE };
    if (policy === 'restricted' && !allowed.csiDrivers.some((name) => name === driver))
      yield { at: [...at, 'csi', 'driver'], message: CSI_DRIVER_MESSAGE };
  }
  if (policy !== 'restricted') return;
  for (const [index, source] of asArray(asObject(volume['projected'])['sources']).map(asObject).entries())
    if (source['podCertificate'] !== undefined)
      yield { at: [...at, 'projected', 'sources', index, 'podCertificate'], message: POD_CERTIFICATE_MESSAGE };
}
