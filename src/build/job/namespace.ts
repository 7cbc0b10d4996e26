// The NetworkPolicy and the ResourceQuota of the builds' namespace.

import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IResourceQuota } from 'kubernetes-models/v1/ResourceQuota';
import { cpuQuantity, memoryQuantity } from '../../deploy/children/quantity.ts';
import { BUILD_LABEL, NAMESPACE_NAME_LABEL, TENANT_LABEL } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { KubeObject, Manifest } from '../../runtime/kube/client.ts';

/** Label of the pods of a registry in the cluster. Builds may connect to them. */
const REGISTRY_POD_LABEL = 'davit.dev/registry';
/** Labels of the pods of Davit's API. */
const API_LABELS = { 'app.kubernetes.io/name': 'davit', 'app.kubernetes.io/component': 'api' };
/** A tenant gives its own pods any labels. */
const NO_TENANTS = { matchExpressions: [{ key: TENANT_LABEL, operator: 'DoesNotExist' as const }] };
/** The cluster's DNS, under the labels that every distribution of CoreDNS keeps, and caches on the node itself. */
const DNS = [
  {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: 'kube-system' } },
    podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
  },
  { ipBlock: { cidr: '169.254.0.0/16' } },
];
const LABELS = { 'app.kubernetes.io/part-of': 'davit', 'app.kubernetes.io/managed-by': 'davit' };

/** Ranges of private networks, clusters, loopback and cloud metadata services. */
const PRIVATE_V4 = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'];
const PRIVATE_V6 = ['fc00::/7', 'fe80::/10', '::1/128'];

/**
 * Denies all connections to build pods. Build pods may connect to the internet on web ports, to the cluster's DNS, to the registry,
 * to Davit's API and to the addresses that the settings name, but not to the API server: where that or the nodes have public
 * addresses, the settings name them (`egressExcept`).
 */
export function makeBuildNetworkPolicy({ builds, codeHosts, proxy }: Settings): Manifest<INetworkPolicy> {
  const excepted = builds.egressExcept.map(asRange);
  const block = (cidr: string, always: readonly string[] = []): { ipBlock: { cidr: string; except?: string[] } } => {
    // The API server rejects an exception that is not a part of its range.
    const except = [...new Set([...always, ...excepted.filter((range) => isWithin(range, cidr))])];
    return { ipBlock: { cidr, ...(except.length > 0 && { except }) } };
  };
  const named = [...builds.egress, ...codeHosts.flatMap(({ addresses }) => addresses)].map(asRange);
  const proxies = [proxy.httpProxy, proxy.httpsProxy].filter((url) => url !== undefined).map((url) => new URL(url));
  const proxyRanges = proxies.length === 0 ? [] : [...proxies.flatMap(literalAddress), ...proxy.addresses].map(asRange);
  // One that is given by name alone may have any public address.
  const publicProxies = proxies.filter((url) => proxy.addresses.length === 0 && literalAddress(url).length === 0);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'davit-builds', namespace: builds.namespace, labels: LABELS },
    spec: {
      podSelector: { matchExpressions: [{ key: BUILD_LABEL, operator: 'Exists' }] },
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        {
          to: [block('0.0.0.0/0', PRIVATE_V4), block('::/0', PRIVATE_V6)],
          ports: webPorts(publicProxies.map(portOf), builds.registry?.host, ...codeHosts.map(({ host }) => host)),
        },
        ...(named.length > 0 ? [{ to: [...new Set(named)].map((cidr) => block(cidr)) }] : []),
        ...(proxyRanges.length > 0
          ? [
              {
                to: [...new Set(proxyRanges)].map((cidr) => block(cidr)),
                ports: distinct(proxies.map(portOf)).map(tcp),
              },
            ]
          : []),
        {
          to: DNS,
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        // A registry in the cluster and its token server. A NetworkPolicy can select pods only by labels.
        { to: [{ namespaceSelector: NO_TENANTS, podSelector: { matchLabels: { [REGISTRY_POD_LABEL]: 'true' } } }] },
        { to: [{ namespaceSelector: NO_TENANTS, podSelector: { matchLabels: API_LABELS } }] },
      ],
    },
  };
}

/** Ports 80 and 443, those of proxies that are somewhere outside, and the ports that the hosts name. */
function webPorts(
  ofProxies: readonly number[],
  ...hosts: readonly (string | undefined)[]
): { port: number; protocol: 'TCP' }[] {
  const named = hosts.map((host) => Number(/:(\d+)$/.exec(host ?? '')?.[1] ?? 443));
  return distinct([80, 443, ...ofProxies, ...named]).map(tcp);
}

function tcp(port: number): { port: number; protocol: 'TCP' } {
  return { port, protocol: 'TCP' };
}

function distinct(ports: readonly number[]): number[] {
  return [...new Set(ports)].toSorted((a, b) => a - b);
}

/** The port of a proxy: http:// without one is 80. */
function portOf({ port }: URL): number {
  return Number(port || 80);
}

/** The address of a proxy that is given by one. */
function literalAddress({ hostname }: URL): string[] {
  const address = hostname.replace(/^\[|\]$/g, '');
  return /^[0-9.]+$/.test(address) || address.includes(':') ? [address] : [];
}

function asRange(address: string): string {
  if (address.includes('/')) return address;
  return `${address}/${address.includes(':') ? 128 : 32}`;
}

/** Limits the namespace to twice the number of concurrent builds, since pods that are terminating count too. */
export function makeBuildQuota({ builds: { namespace, concurrency, resources } }: Settings): Manifest<IResourceQuota> {
  const most = concurrency.total * 2;
  const { cpu, cpuLimit, memoryMb, memoryLimitMb } = resources;
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'davit-builds', namespace, labels: LABELS },
    spec: {
      hard: {
        pods: String(most),
        'limits.cpu': cpuQuantity(most * Math.max(cpu, cpuLimit, 1)),
        'limits.memory': memoryQuantity(most * Math.max(memoryMb, memoryLimitMb, 512)),
      },
    },
  };
}

/** The namespace's objects, in the order in which they are applied. */
export function buildNamespaceObjects(settings: Settings): KubeObject[] {
  return [makeBuildNetworkPolicy(settings), makeBuildQuota(settings)];
}

interface Range {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly prefix: number;
}

/** Whether `inner` is a part of `outer` and smaller. Both are ranges in CIDR notation. False for ranges of two families. */
export function isWithin(inner: string, outer: string): boolean {
  const [small, large] = [rangeOf(inner), rangeOf(outer)];
  if (small.bits !== large.bits || small.prefix <= large.prefix) return false;
  const shift = BigInt(large.bits - large.prefix);
  return small.first >> shift === large.first >> shift;
}

function rangeOf(range: string): Range {
  const [address = '', prefix] = range.split('/');
  const isV6 = address.includes(':');
  const bits = isV6 ? 128 : 32;
  return { bits, prefix: Number(prefix ?? bits), first: isV6 ? v6(address) : v4(address) };
}

function v4(address: string): bigint {
  return BigInt(address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0));
}

function v6(address: string): bigint {
  // The URL parser writes eight groups of hexadecimal digits, of which `::` stands for zeros.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}
