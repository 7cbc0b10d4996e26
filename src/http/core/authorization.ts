// From a known caller and X-Tenant-Id to the tenant that is meant, and whether the caller may: the API server decides,
// asked with the caller's own token (SelfSubjectAccessReview) and believed for ten seconds.

import { hash } from 'node:crypto';
import { LruMap } from 'toad-cache';
import { APP_DEPLOYMENTS } from '../../api/app-deployment.ts';
import { TENANT_LABEL } from '../../api/meta.ts';
import type { Settings } from '../../api/settings.ts';
import { PODS, SELF_SUBJECT_ACCESS_REVIEWS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../../kube/client.ts';
import type { Store } from '../../runtime/store.ts';
import type { Credentials } from './authentication.ts';
import { HttpError } from './http-error.ts';
import { synced } from './synced.ts';

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
  /** The tenant that a request is about. `wanted` is what X-Tenant-Id says. Refuses with 403 where none can be told. */
  tenantOf(caller: Caller, wanted: string | undefined, verb: Verb): Promise<Tenant>;
  /** Refuses with 403 who may not read the logs of the tenant's pods. */
  needLogs(caller: Caller, tenant: Tenant): Promise<void>;
  /** Refuses with 403 who may neither do this in the organization's namespace nor, for a write, look. */
  needInOrganization(caller: Caller, verb: Verb, resource: Resource): Promise<void>;
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

interface Review {
  readonly at: number;
  readonly allowed: Promise<boolean>;
}

export function makeIdentity({ kube, tenants, settings, now }: IdentityOptions): Identity {
  const reviews = new LruMap<Review>(REMEMBERED_REVIEWS);

  function allowed(
    caller: Caller,
    verb: Verb,
    namespace: string,
    resource: Resource,
    subresource = '',
  ): Promise<boolean> {
    const key = `${caller.hash} ${verb} ${namespace} ${resource.plural} ${subresource}`;
    const at = now().getTime();
    const known = reviews.get(key);
    if (known !== undefined && at >= known.at && at - known.at < REMEMBERED_MS) return known.allowed;
    const review = { at, allowed: reviewed(caller, verb, namespace, resource, subresource) };
    reviews.set(key, review);
    // What failed is not an answer: the next request asks again.
    review.allowed.catch(() => {
      if (reviews.get(key) === review) reviews.delete(key);
    });
    return review.allowed;
  }

  /** A writer need not be a reader; and a reader who writes gets the API server's own refusal rather than ours. */
  async function mayUse(
    caller: Caller,
    verb: Verb,
    { namespace }: { readonly namespace: string },
    resource: Resource = APP_DEPLOYMENTS,
  ): Promise<boolean> {
    if (await allowed(caller, verb, namespace, resource)) return true;
    return verb !== 'get' && verb !== 'list' && allowed(caller, 'list', namespace, resource);
  }

  function tenantFrom(namespace: KubeObject | undefined): Tenant | undefined {
    const { name, uid, labels } = namespace?.metadata ?? { name: '' };
    if (uid === undefined || labels?.[TENANT_LABEL] !== 'true' || name === settings.organizationNamespace)
      return undefined;
    if (settings.namespaces.length > 0 && !settings.namespaces.includes(name)) return undefined;
    return { id: uid, namespace: name };
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
      if (await allowed(caller, 'get', namespace, PODS, 'log')) return;
      throw new HttpError(
        403,
        `You may not read this log: it takes the right to get pods/log in namespace ${namespace}, as for the logs of its pods.`,
      );
    },

    async needInOrganization(caller, verb, resource) {
      const namespace = settings.organizationNamespace;
      if (await mayUse(caller, verb, { namespace }, resource)) return;
      throw new HttpError(
        403,
        `You may not do this: it takes the right to ${verb} ${resource.plural}.${resource.group} in namespace ${namespace}.`,
      );
    },

    async tenantOf(caller, wanted, verb) {
      synced(tenants, 'tenants');
      if (wanted !== undefined) {
        const tenant = tenantFrom(tenants.byUid(wanted.toLowerCase()) ?? tenants.get({ name: wanted }));
        if (tenant !== undefined && (await mayUse(caller, verb, tenant))) return tenant;
        throw noTenant();
      }
      const hint = namespaceOfToken(caller.token);
      const own = hint === undefined ? undefined : tenantFrom(tenants.get({ name: hint }));
      if (own !== undefined && (await mayUse(caller, verb, own))) return own;

      const all = tenants.list().flatMap((namespace) => tenantFrom(namespace) ?? []);
      if (all.length > TRIED_TENANTS) throw noTenant();
      // Whatever is to be done, the same tenant is meant: the one whose records the caller may see.
      const usable = await Promise.all(
        all.map(async (tenant) =>
          (await allowed(caller, 'list', tenant.namespace, APP_DEPLOYMENTS)) ? tenant : undefined,
        ),
      );
      const [only, another] = usable.filter((tenant) => tenant !== undefined);
      if (only === undefined || another !== undefined) throw noTenant();
      return only;
    },
  };
}

export function senderOf(token: string): Credentials {
  return { token, hash: hash('sha256', token, 'base64') };
}

/** One answer for every case: it must not tell which tenants there are. */
function noTenant(): HttpError {
  return new HttpError(
    403,
    "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use.",
  );
}

async function reviewed(
  caller: Caller,
  verb: Verb,
  namespace: string,
  { group, plural }: Resource,
  subresource: string,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: { name: '' },
    spec: {
      resourceAttributes: { group, resource: plural, verb, namespace, ...(subresource !== '' && { subresource }) },
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
