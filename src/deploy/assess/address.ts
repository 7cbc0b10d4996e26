// The address of a record: which host it asks for, whether it may have it, and how the address is.

import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { rfc3339 } from '../../kinds/conditions.ts';
import type { AddressSettings } from '../../kinds/settings.ts';
import { quoted } from '../../kinds/text.ts';
import type { KubeObject, Read } from '../../runtime/kube/client.ts';
import { claimable, hostOf, mayClaim, type Place, wantedHost } from '../record/hostnames.ts';
import { namespaceOf } from '../record/metadata.ts';
import { type Entry, fail, pass, stalled, unknown } from './entry.ts';
import {
  type ActionFailure,
  isOurs,
  type Observed,
  type ObservedChildren,
  type ObservedCondition,
} from './observed.ts';

/** Kinds that an address is made of. */
export const ADDRESS_KINDS: ReadonlySet<string> = new Set(['Ingress', 'HTTPRoute']);

/** What a record asks for, before others are looked at. */
export type AskedAddress =
  | { readonly is: 'unwanted' }
  | { readonly is: 'unconfigured'; readonly host: string }
  | { readonly is: 'not allowed'; readonly host: string; readonly allowed: string }
  | { readonly is: 'allowed'; readonly host: string };

/** What became of it. */
export type AddressOutcome =
  | Exclude<AskedAddress, { is: 'allowed' }>
  | { readonly is: 'held'; readonly host: string }
  /** `by`: the other deployment, where it is one of the same tenant. */
  | { readonly is: 'taken'; readonly host: string; readonly by?: string }
  /** Nothing may be changed now; what is there stays. */
  | { readonly is: 'undecided'; readonly host: string };

type Ingress = Read<IIngress>;

interface HttpRoute extends KubeObject {
  readonly spec?: { readonly hostnames?: readonly string[] };
  readonly status?: { readonly parents?: readonly RouteParent[] };
}

interface RouteParent {
  readonly conditions?: readonly (ObservedCondition & { readonly observedGeneration?: number })[];
}

/** Which host the record asks for, and whether its tenant may claim it. */
export function requestedAddress(
  { record, tenantHosts }: Pick<Observed, 'record' | 'tenantHosts'>,
  address: AddressSettings,
): AskedAddress {
  const place: Place = { name: record.metadata.name, namespace: namespaceOf(record) };
  const host = wantedHost(record.spec, place, address);
  if (host === undefined) return { is: 'unwanted' };
  if (address.kind === 'none') return { is: 'unconfigured', host };
  if (!mayClaim(host, place, tenantHosts, address))
    return { is: 'not allowed', host, allowed: claimable(place, tenantHosts, address) };
  return { is: 'allowed', host };
}

/** The outcome of a look at a record that may not be changed now. */
export function undecided(observed: ObservedChildren, asked: AskedAddress): AddressOutcome {
  if (asked.is !== 'allowed') return asked;
  const { host } = asked;
  return { is: hasAddress(observed, host) ? 'held' : 'undecided', host };
}

/** Whether an address that there is may stay for now. */
export function keepsAddress({ is }: AddressOutcome): boolean {
  return is === 'held' || is === 'undecided';
}

/** The hosts of an Ingress or an HTTPRoute. */
export function hostsOf(object: KubeObject): string[] {
  const { rules = [] } = (object as Ingress).spec ?? {};
  const { hostnames = [] } = (object as HttpRoute).spec ?? {};
  return [...hostnames, ...rules.flatMap(({ host }) => host ?? [])];
}

/** Ingress or HTTPRoute of the record; undefined where it has none. */
export function addressOf(observed: ObservedChildren): KubeObject | undefined {
  const name = observed.names.address;
  return observed.children.find(
    (child) => ADDRESS_KINDS.has(child.kind) && child.metadata.name === name && isOurs(child, observed),
  );
}

function hasAddress(observed: ObservedChildren, host: string): boolean {
  const object = addressOf(observed);
  return object !== undefined && hostsOf(object).includes(host);
}

/** What the status says of the address. `since` stays from the first report of this claim. */
export function reportedAddress(
  observed: ObservedChildren,
  outcome: AddressOutcome,
  now: Date,
): Pick<AppDeploymentStatus, 'url' | 'hostClaim'> {
  const { url, hostClaim: before } = observed.record.status ?? {};
  // The address is in force until its object is deleted. While it is reported, no other record gets the host (host-registry.ts).
  if (outcome.is === 'not allowed') return url !== undefined && hasAddress(observed, hostOf(url)) ? { url } : {};
  if (outcome.is !== 'held' && outcome.is !== 'taken') return {};
  const { host } = outcome;
  const since = before?.host === host ? before.since : rfc3339(now);
  const inForce = outcome.is === 'held' && hasAddress(observed, host);
  return { ...(inForce && { url: `https://${host}` }), hostClaim: { host, since } };
}

/** Is the address routed to the main service? Only what is Stalled holds Ready back. */
export function checkAddress(observed: Observed, outcome: AddressOutcome, refusals: readonly ActionFailure[]): Entry {
  switch (outcome.is) {
    case 'unwanted':
      return pass(
        'NotNeeded',
        observed.record.spec.sourceConfig.access?.from === undefined
          ? 'No address is requested.'
          : "No address is requested, or access.from does not list the ingress controller's namespace.",
      );
    case 'unconfigured':
      return fail(
        'NoAddressConfigured',
        `${outcome.host} is requested, but this platform provides no addresses. Remove custom_url, or ask the platform team to set settings.address.kind.`,
      );
    case 'not allowed':
      return stalled(
        'HostNotAllowed',
        `This tenant may not claim ${outcome.host}. It may claim ${outcome.allowed}. Change custom_url, or ask the platform team to add the host to the namespace's annotation.`,
      );
    case 'taken':
      return stalled(
        'HostTaken',
        `${outcome.host} belongs to ${outcome.by === undefined ? 'a deployment of another tenant' : `deployment ${outcome.by}`}. Choose another host. If the host is released, this deployment gets it automatically.`,
      );
    case 'undecided':
      return notObserved(outcome.host);
    case 'held':
      return checkHeldAddress(observed, outcome.host, refusals);
  }
}

function checkHeldAddress(observed: Observed, host: string, refusals: readonly ActionFailure[]): Entry {
  const { address } = observed.names;
  const refusal = refusals.find(({ ref }) => ADDRESS_KINDS.has(ref.kind) && ref.name === address);
  if (refusal) return stalled(refusal.reason, refusal.message);
  const object = addressOf(observed);
  if (!object && observed.addressKindMissing)
    return stalled(
      'GatewayApiMissing',
      `The cluster has no HTTPRoutes, which ${host} needs. Ask the platform team to install the Gateway API.`,
    );
  if (!object) return notObserved(host);
  const { lock } = observed.record.spec.sourceConfig.access ?? {};
  return object.kind === 'Ingress' ? checkIngress(object, host, lock) : checkRoute(object, host, lock);
}

function checkIngress(ingress: Ingress, host: string, lock: string | undefined): Entry {
  const taken = (ingress.status?.loadBalancer?.ingress ?? []).length > 0;
  return taken ? routed(host, lock) : pending(`No ingress controller has reported that it serves ${host}.`);
}

function checkRoute(route: HttpRoute, host: string, lock: string | undefined): Entry {
  const generation = route.metadata.generation ?? 1;
  const parents = route.status?.parents ?? [];
  const current = parents.map(({ conditions = [] }) =>
    conditions.filter(({ observedGeneration }) => (observedGeneration ?? generation) >= generation),
  );
  const accepted = current.some((conditions) => isTrue(conditions, 'Accepted') && isTrue(conditions, 'ResolvedRefs'));
  if (accepted) return routed(host, lock);
  const refused = current
    .flat()
    .find(({ type, status }) => (type === 'Accepted' || type === 'ResolvedRefs') && status === 'False');
  if (refused)
    return stalled(
      'GatewayRefused',
      `The Gateway does not accept ${host}: ${quoted(refused.reason, 128)}: ${quoted(refused.message)}`,
    );
  return pending(`No Gateway has accepted the route of ${host} yet.`);
}

function isTrue(conditions: readonly ObservedCondition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function routed(host: string, lock: string | undefined): Entry {
  const to =
    lock === undefined
      ? 'Everybody who reaches its address has access.'
      : `By access.lock, sidecar ${lock} requires a key; Davit does not check it.`;
  return pass('Routed', `${host} is routed to the main service. ${to}`);
}

function pending(message: string): Entry {
  return unknown('AddressPending', message);
}

function notObserved(host: string): Entry {
  return unknown('NotObserved', `The address object for ${host} does not exist yet.`);
}
