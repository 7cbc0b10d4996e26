// From a known caller and X-Tenant-Id to the tenant that is meant, and whether the caller may: the API server decides,
// asked with the caller's own token (SelfSubjectAccessReview) and believed for ten seconds.

import { hash } from 'node:crypto';
import { LruMap } from 'toad-cache';
import { APP_DEPLOYMENTS } from '../../api/app-deployment.ts';
import { TENANT_LABEL } from '../../api/meta.ts';
import { DNS_LABEL_PATTERN } from '../../api/primitives.ts';
import type { Settings } from '../../api/settings.ts';
import { PODS, SELF_SUBJECT_ACCESS_REVIEWS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../../kube/client.ts';
import type { Store } from '../../runtime/store.ts';
import type { Credentials } from './authentication.ts';
import { synced } from './caches.ts';
import { HttpError } from './http-error.ts';

export interface Caller extends Credentials {
  /** The API server, as the caller. */
  readonly kube: KubeClient;
}

export interface Tenant {
  readonly id: string;
  readonly namespace: string;
}

export type Verb = 'get' | 'list' | 'create' | 'patch' | 'delete';

export interface Identity {
  callerOf(sender: Credentials): Caller;
  /**
   * The tenant that a request is about. `wanted` is what X-Tenant-Id says. Refuses with 403 where none can be told, and who may
   * only look where something is to be written.
   */
  tenantOf(caller: Caller, wanted: string | undefined, asked: Asked): Promise<Tenant>;
  /** Refuses with 403 who may not read the logs of the tenant's pods. */
  needLogs(caller: Caller, tenant: Tenant): Promise<void>;
  /** Refuses with 403 who may not do this in the organization's namespace. */
  needInOrganization(caller: Caller, asked: Asked, resource: Resource): Promise<void>;
}

/** What a request is going to do. */
export interface Asked {
  readonly verb: Verb;
  /** The name of the one object that it is about: a right may be for that alone. Undefined where there is none, or none known. */
  readonly nameIn?: (namespace: string) => string | undefined;
}

export interface IdentityOptions {
  readonly kube: KubeClient;
  readonly tenants: Store;
  readonly settings: Settings;
  readonly now: () => Date;
}

const REMEMBERED_MS = 10_000;
const REMEMBERED_REVIEWS = 10_000;
/** With more tenants than this, trying each would cost more than saying which. */
const TRIED_TENANTS = 20;

const DNS_LABEL = new RegExp(DNS_LABEL_PATTERN);
const LONGEST_LABEL = 63;

/** Where, and to what, a right is. */
interface Place {
  readonly namespace: string;
  readonly resource: Resource;
  readonly name?: string;
  readonly subresource?: string;
}
type Standing = 'may' | 'looks' | 'nobody';

interface Review {
  readonly at: number;
  readonly allowed: Promise<boolean>;
}

export function makeIdentity({ kube, tenants, settings, now }: IdentityOptions): Identity {
  const reviews = new LruMap<Review>(REMEMBERED_REVIEWS);

  function allowed(caller: Caller, verb: Verb, place: Place): Promise<boolean> {
    const key = `${caller.hash} ${verb} ${place.namespace} ${place.resource.plural} ${place.name ?? ''} ${place.subresource ?? ''}`;
    const at = now().getTime();
    const known = reviews.get(key);
    if (known !== undefined && at >= known.at && at - known.at < REMEMBERED_MS) return known.allowed;
    const review = { at, allowed: reviewed(caller, verb, place) };
    reviews.set(key, review);
    // What failed is not an answer: the next request asks again.
    review.allowed.catch(() => {
      if (reviews.get(key) === review) reviews.delete(key);
    });
    return review.allowed;
  }

  /** A writer need not be a reader; a reader who cannot write is told so, and anybody else nothing. */
  async function standingOf(caller: Caller, { verb, nameIn }: Asked, place: Place): Promise<Standing> {
    if (await allowed(caller, verb, place)) return 'may';
    if (verb === 'get' || verb === 'list' || !(await allowed(caller, 'list', place))) return 'nobody';
    const name = nameIn?.(place.namespace);
    return name !== undefined && (await allowed(caller, verb, { ...place, name })) ? 'may' : 'looks';
  }

  function tenantFrom(namespace: KubeObject | undefined): Tenant | undefined {
    const { name, uid, labels } = namespace?.metadata ?? { name: '' };
    if (uid === undefined || labels?.[TENANT_LABEL] !== 'true' || name === settings.organizationNamespace)
      return undefined;
    if (settings.namespaces.length > 0 && !settings.namespaces.includes(name)) return undefined;
    return { id: uid, namespace: name };
  }

  /** For a caller who names no tenant. */
  async function onlyTenantOf(caller: Caller, asked: Asked): Promise<Tenant> {
    const hint = namespaceOfToken(caller.token);
    const own = hint === undefined ? undefined : tenantFrom(tenants.get({ name: hint }));
    if (own !== undefined && (await standingOf(caller, asked, placeOf(own.namespace))) !== 'nobody') return own;

    const all = tenants.list().flatMap((namespace) => tenantFrom(namespace) ?? []);
    if (all.length > TRIED_TENANTS) throw noTenant();
    // Whatever is to be done, the same tenant is meant: the one whose records the caller may see.
    const usable = await Promise.all(
      all.map(async (tenant) => ((await allowed(caller, 'list', placeOf(tenant.namespace))) ? tenant : undefined)),
    );
    const [only, another] = usable.filter((tenant) => tenant !== undefined);
    if (only === undefined || another !== undefined) throw noTenant();
    return only;
  }

  return {
    callerOf(sender) {
      let client: KubeClient | undefined;
      return {
        ...sender,
        // Most requests are answered from the caches.
        get kube() {
          client ??= kube.withToken(sender.token);
          return client;
        },
      };
    },

    async needLogs(caller, { namespace }) {
      if (await allowed(caller, 'get', { namespace, resource: PODS, subresource: 'log' })) return;
      throw new HttpError(
        403,
        `You may not read this log: it takes the right to get pods/log in namespace ${namespace}, as for the logs of its pods.`,
      );
    },

    async needInOrganization(caller, asked, resource) {
      const place = { namespace: settings.organizationNamespace, resource };
      if ((await standingOf(caller, asked, place)) !== 'may') throw mayNot(asked.verb, place);
    },

    async tenantOf(caller, wanted, asked) {
      synced(tenants, 'tenants');
      if (wanted !== undefined) {
        const tenant = tenantFrom(tenants.byUid(wanted.toLowerCase()) ?? tenants.get({ name: wanted }));
        // What is not there is asked about too: the time of the answer must not tell which tenants there are.
        const place = placeOf(tenant?.namespace ?? wanted.toLowerCase());
        if (place.namespace.length > LONGEST_LABEL || !DNS_LABEL.test(place.namespace)) throw notThatTenant();
        const standing = await standingOf(caller, asked, place);
        if (tenant === undefined || standing === 'nobody') throw notThatTenant();
        if (standing === 'looks') throw mayNot(asked.verb, place);
        return tenant;
      }
      const tenant = await onlyTenantOf(caller, asked);
      const place = placeOf(tenant.namespace);
      if ((await standingOf(caller, asked, place)) === 'looks') throw mayNot(asked.verb, place);
      return tenant;
    },
  };
}

export function senderOf(token: string): Credentials {
  return { token, hash: hash('sha256', token, 'base64') };
}

function placeOf(namespace: string): Place {
  return { namespace, resource: APP_DEPLOYMENTS };
}

/** As the API server says it, which would say it too late: when the body has been read and looked at. */
function mayNot(verb: Verb, { namespace, resource: { plural, group } }: Place): HttpError {
  return new HttpError(
    403,
    `You cannot ${verb} resource "${plural}" in API group "${group}" in the namespace "${namespace}". Ask for a role that allows it.`,
  );
}

/** One answer for every case: it must not tell which tenants there are. */
function notThatTenant(): HttpError {
  return new HttpError(
    403,
    "X-Tenant-Id names no tenant that you may use: correct it to the id, or the namespace's name, of one that you may, or ask for a role in its namespace.",
  );
}

function noTenant(): HttpError {
  return new HttpError(
    403,
    "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use.",
  );
}

async function reviewed(
  caller: Caller,
  verb: Verb,
  { namespace, name, subresource, resource: { group, plural } }: Place,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: { name: '' },
    spec: {
      resourceAttributes: {
        group,
        resource: plural,
        verb,
        namespace,
        ...(name !== undefined && { name }),
        ...(subresource !== undefined && { subresource }),
      },
    },
  };
  const answer: typeof review & { readonly status?: { readonly allowed?: boolean } } = await caller.kube.create(
    SELF_SUBJECT_ACCESS_REVIEWS,
    review,
  );
  return answer.status?.allowed === true;
}

/** The namespace that a service account's token names. Nobody has verified it: a hint of where to ask, no more. */
export function namespaceOfToken(token: string): string | undefined {
  const [, claims, signature] = token.split('.');
  if (claims === undefined || signature === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
    const namespace = (parsed as { 'kubernetes.io'?: { namespace?: unknown } } | null)?.['kubernetes.io']?.namespace;
    return typeof namespace === 'string' ? namespace : undefined;
  } catch {
    return undefined;
  }
}
