// Hosts: the one that a record requests, and those that its tenant may claim. Facade and controller share these rules.

import { createHash } from 'node:crypto';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { NAMESPACE_NAME_LABEL } from '../../kinds/meta.ts';
import type { AddressSettings } from '../../kinds/settings.ts';
import { listed } from '../../kinds/text.ts';
import { runsHere } from './listener-assignment.ts';

export interface Place {
  readonly name: string;
  readonly namespace: string;
}

/** Longest DNS label, and longest host. Source: RFC 1035, 2.3.4. */
const LONGEST_LABEL = 63;
const LONGEST_HOST = 253;
const DIGEST_LENGTH = 8;
const ENDS_IN_DIGEST = /(^|-)[0-9a-f]{8}$/;

/** `https://host` or a bare host to the host. */
export function hostOf(url: string): string {
  return url.replace(/^https:\/\//, '');
}

/** The host that a record requests; undefined if neither the record nor the platform names one. */
export function wantedHost(
  spec: Pick<AppDeploymentSpec, 'sourceConfig'>,
  place: Place,
  address: AddressSettings,
): string | undefined {
  if (!runsHere({ spec })) return undefined;
  const { customUrl } = spec.sourceConfig;
  if (!isReached(spec, address)) return undefined;
  if (customUrl !== undefined) return hostOf(customUrl);
  return address.kind === 'none' ? undefined : defaultHost(place, address);
}

/** Whether the record lets the ingress controller in, as far as the platform names its namespace. */
export function isReached(
  { sourceConfig: { access } }: Pick<AppDeploymentSpec, 'sourceConfig'>,
  { controllerNamespaceLabels = {} }: AddressSettings,
): boolean {
  const controller = controllerNamespaceLabels[NAMESPACE_NAME_LABEL];
  return access?.from === undefined || controller === undefined || access.from.includes(controller);
}

/** The default host of a record; no two records have the same. Undefined without a base domain. */
export function defaultHost({ name, namespace }: Place, address: AddressSettings): string | undefined {
  const { baseDomain, hostPattern } = address;
  if (baseDomain === undefined) return undefined;
  if (hostPattern === '{name}.{namespace}') return `${name}.${namespace}.${baseDomain}`;
  return `${hyphenated(name, namespace)}.${baseDomain}`;
}

// `a-b` in `c` and `a` in `b-c` must have different hosts. If the name has no hyphen, the first hyphen separates name and
// namespace. Every other label ends in a digest, which no label of the first kind does.
function hyphenated(name: string, namespace: string): string {
  const label = `${name}-${namespace}`;
  if (isPlain(name, namespace) && label.length <= LONGEST_LABEL) return label;
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, DIGEST_LENGTH);
  return `${label.slice(0, LONGEST_LABEL - DIGEST_LENGTH - 1).replace(/(?<!-)-+$/, '')}-${digest}`;
}

function isPlain(name: string, namespace: string): boolean {
  return !name.includes('-') && !ENDS_IN_DIGEST.test(namespace);
}

/**
 * Whether this record may claim the host. `allowed` is the annotation HOSTS_ANNOTATION of its namespace. Under the base domain
 * it may claim hosts that cannot be another tenant's default host. The platform's own hosts belong to no record.
 */
export function mayClaim(host: string, place: Place, allowed: string | undefined, address: AddressSettings): boolean {
  if (host.length > LONGEST_HOST || address.reservedHosts.includes(host)) return false;
  if (host === defaultHost(place, address)) return true;
  return patternsOf(allowed).some((pattern) => covers(pattern, host)) || isFreeUnderBase(host, place, address);
}

/** The hosts that a tenant may claim, as text for an error message. */
export function claimable({ namespace }: Place, allowed: string | undefined, address: AddressSettings): string {
  const hosts = claimableHosts(namespace, allowed, address);
  if (hosts.length === 0) return 'none';
  return `${listed(hosts)}${address.reservedHosts.length > 0 ? ", except the platform's own hosts" : ''}`;
}

/** The hosts that a tenant may claim: patterns, and NAME for a label without a hyphen. */
export function claimableHosts(
  namespace: string,
  allowed: string | undefined,
  { baseDomain, hostPattern }: AddressSettings,
): string[] {
  const ofBase =
    hostPattern === '{name}.{namespace}'
      ? [`*.${namespace}`]
      : isPlain('', namespace)
        ? ['NAME', `NAME-${namespace}`]
        : ['NAME'];
  return [...(baseDomain === undefined ? [] : ofBase.map((start) => `${start}.${baseDomain}`)), ...patternsOf(allowed)];
}

function patternsOf(annotation = ''): string[] {
  return annotation
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((pattern) => pattern !== '');
}

/** `*.x` stands for one label before `.x`, as in a certificate. */
function covers(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === host;
  const label = labelBefore(pattern.slice(1), host);
  return label !== undefined && !label.includes('.');
}

function labelBefore(suffix: string, host: string): string | undefined {
  return host.endsWith(suffix) && host.length > suffix.length ? host.slice(0, -suffix.length) : undefined;
}

function isFreeUnderBase(host: string, { namespace }: Place, { baseDomain, hostPattern }: AddressSettings): boolean {
  const start = baseDomain === undefined ? undefined : labelBefore(`.${baseDomain}`, host);
  if (start === undefined) return false;
  // A host above or below another tenant's would share cookies with it, so only subdomains of the tenant's own label are allowed.
  if (hostPattern === '{name}.{namespace}') return covers(`*.${namespace}`, start);
  if (start.includes('.')) return false;
  const hyphen = start.indexOf('-');
  return hyphen === -1 || (start.slice(hyphen + 1) === namespace && isPlain('', namespace));
}
