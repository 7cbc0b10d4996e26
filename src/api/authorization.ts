// Finds the tenant of a request from its caller and X-Tenant-Id, and checks the caller's right. The API server decides, by a
// SelfSubjectAccessReview with the caller's token. Its answer is cached for ten seconds. A right that is
// missing is a 403; who gets a 404 instead is decided where an object is looked up (deploy/http/reading.ts).

import { hash } from 'node:crypto';
import { APP_DEPLOYMENTS } from '../kinds/app-deployment.ts';
import { TENANT_LABEL } from '../kinds/meta.ts';
import { OAUTH_PROVIDERS } from '../kinds/oauth-provider.ts';
import { DNS_LABEL_PATTERN } from '../kinds/primitives.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Store } from '../runtime/controller/store.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { PODS, SELF_SUBJECT_ACCESS_REVIEWS, SUBJECT_ACCESS_REVIEWS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../runtime/kube/client.ts';
import { makeRemembered } from '../runtime/remembered.ts';
import { synced } from './caches.ts';
import { type Credentials, namespaceOfToken } from './credentials.ts';
import { throwAsOurs } from './organization-secrets.ts';
import { onlyForTokens, type PodUser } from './pod-tokens.ts';

export interface Caller extends Credentials {
  /** A client of the API server with the caller's token. */
  readonly kube: KubeClient;
  /** Absent where the API server does not say it. */
  readonly username?: string | undefined;
  /** Set for a pod's token, with which nothing can be sent to the API server: `kube` throws. */
  readonly pod?: PodUser | undefined;
}

export interface Tenant {
  readonly id: string;
  readonly namespace: string;
}

/** `authenticate`, on OAuth providers: to get people's tokens. */
export type Verb = 'get' | 'list' | 'create' | 'patch' | 'delete' | 'authenticate';

export interface Identity {
  callerOf(sender: Credentials, username?: string, pod?: PodUser): Caller;
  /**
   * The tenant of a request. `wanted` is the value of X-Tenant-Id. Throws HttpError 403 if no tenant is found, and if a caller
   * who may only read requests a write.
   */
  tenantOf(caller: Caller, wanted: string | undefined, asked: Asked): Promise<Tenant>;
  /** Whether the caller may do this in the tenant. */
  may(caller: Caller, tenant: Tenant, asked: Asked): Promise<boolean>;
  /** Throws HttpError 403 if the caller may not read the logs of the tenant's pods. */
  needLogs(caller: Caller, tenant: Tenant): Promise<void>;
  /**
   * The tenant that a request names by X-Tenant-Id (`wanted`) or, without one, by the namespace of the caller's service account. No
   * right is checked. Undefined if there is no such tenant. Throws HttpError 403 if the request names none.
   */
  namedTenant(caller: Caller, wanted: string | undefined): Tenant | undefined;
  /** Whether the caller may get tokens of this OAuth provider in the tenant, or of all if `provider` is absent. */
  mayAuthenticate(caller: Caller, tenant: Tenant, provider?: string): Promise<boolean>;
  /** Throws HttpError 403 if the caller may not do this in the organization's namespace. */
  needInOrganization(caller: Caller, asked: Asked): Promise<void>;
}

/** The right that a request needs. */
export interface Asked {
  readonly verb: Verb;
  /** Kind of the request's objects. */
  readonly resource: Resource;
  /** The name of the request's object, because a role may name single objects. Undefined if there is none, or it is not known. */
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
/** With more tenants than this, reviewing each one would be too expensive: the caller must name one. */
const TRIED_TENANTS = 20;

const DNS_LABEL = new RegExp(DNS_LABEL_PATTERN);
const LONGEST_LABEL = 63;

/** The namespace and resource of a right. */
interface Place {
  readonly namespace: string;
  readonly resource: Resource;
  readonly name?: string;
  readonly subresource?: string;
}
type Standing = 'may' | 'looks' | 'nobody';

export function makeIdentity({ kube, tenants, settings, now }: IdentityOptions): Identity {
  const allowed = makeReviews(kube, now);
  const tenantFrom = (namespace: KubeObject | undefined): Tenant | undefined => tenantIn(namespace, settings);

  /** A caller may have the right to write but not to read. Only a caller who may read learns that the right to write is missing. */
  async function standingOf(caller: Caller, { verb, nameIn }: Asked, place: Place): Promise<Standing> {
    if (await allowed(caller, verb, place)) return 'may';
    const shown = shownIn(place);
    const isRefusedAlready = shown === place && (verb === 'get' || verb === 'list');
    if (isRefusedAlready || !(await allowed(caller, 'list', shown))) return 'nobody';
    const name = nameIn?.(place.namespace);
    return name !== undefined && (await allowed(caller, verb, { ...place, name })) ? 'may' : 'looks';
  }

  /** The tenant of a caller who names none. */
  async function onlyTenantOf(caller: Caller, asked: Asked): Promise<Tenant> {
    const hint = namespaceOfToken(caller.token);
    const own = hint === undefined ? undefined : tenantFrom(tenants.get({ name: hint }));
    if (own !== undefined && (await standingOf(caller, asked, placeOf(asked, own.namespace))) !== 'nobody') return own;

    const all = tenants.list().flatMap((namespace) => tenantFrom(namespace) ?? []);
    if (all.length > TRIED_TENANTS) throw noTenant();
    // The choice does not depend on the verb: it is the tenant whose objects of the kind the caller may list.
    const usable = await Promise.all(
      all.map(async (tenant) =>
        (await allowed(caller, 'list', shownIn(placeOf(asked, tenant.namespace)))) ? tenant : undefined,
      ),
    );
    const [only, another] = usable.filter((tenant) => tenant !== undefined);
    if (only === undefined || another !== undefined) throw noTenant();
    return only;
  }

  return {
    callerOf: callersOver(kube),

    may: async (caller, { namespace }, asked) => (await standingOf(caller, asked, placeOf(asked, namespace))) === 'may',

    async needLogs(caller, { namespace }) {
      if (await allowed(caller, 'get', { namespace, resource: PODS, subresource: 'log' })) return;
      throw new HttpError(
        403,
        `You may not read this log. Ask for the right to get pods/log in namespace ${namespace}, which the role davit-editor has.`,
      );
    },

    ...agentIdentity({ tenants, tenantFrom, allowed }),

    async needInOrganization(caller, asked) {
      const place = { namespace: settings.organizationNamespace, resource: asked.resource };
      if ((await standingOf(caller, asked, place)) !== 'may') throw mayNot(asked.verb, place);
    },

    async tenantOf(caller, wanted, asked) {
      synced(tenants, 'tenants');
      if (wanted !== undefined) {
        const tenant = tenantFrom(tenants.byUid(wanted.toLowerCase()) ?? tenants.get({ name: wanted }));
        // A tenant that does not exist is reviewed too: the response time must not reveal which tenants exist.
        const place = placeOf(asked, tenant?.namespace ?? wanted.toLowerCase());
        if (place.namespace.length > LONGEST_LABEL || !DNS_LABEL.test(place.namespace)) throw notThatTenant();
        const standing = await standingOf(caller, asked, place);
        if (tenant === undefined || standing === 'nobody') throw notThatTenant();
        if (standing === 'looks') throw mayNot(asked.verb, place);
        return tenant;
      }
      const tenant = await onlyTenantOf(caller, asked);
      const place = placeOf(asked, tenant.namespace);
      if ((await standingOf(caller, asked, place)) === 'looks') throw mayNot(asked.verb, place);
      return tenant;
    },
  };
}

function callersOver(kube: KubeClient): Identity['callerOf'] {
  return (sender, username, pod) => {
    let client: KubeClient | undefined;
    return {
      ...sender,
      username,
      pod,
      // Most requests find their answers in the cache.
      get kube() {
        if (pod) throw onlyForTokens();
        client ??= kube.withToken(sender.token);
        return client;
      },
    };
  };
}

interface AgentIdentityNeeds {
  readonly tenants: Store;
  readonly tenantFrom: (namespace: KubeObject | undefined) => Tenant | undefined;
  readonly allowed: (caller: Caller, verb: Verb, place: Place) => Promise<boolean>;
}

function agentIdentity({
  tenants,
  tenantFrom,
  allowed,
}: AgentIdentityNeeds): Pick<Identity, 'namedTenant' | 'mayAuthenticate'> {
  return {
    namedTenant(caller, wanted) {
      const hint = wanted ?? caller.pod?.namespace ?? namespaceOfToken(caller.token);
      if (hint === undefined) throw noTenant();
      synced(tenants, 'tenants');
      return tenantFrom(tenants.byUid(hint.toLowerCase()) ?? tenants.get({ name: hint }));
    },
    mayAuthenticate: (caller, { namespace }, provider) =>
      allowed(caller, 'authenticate', {
        namespace,
        resource: OAUTH_PROVIDERS,
        ...(provider !== undefined && { name: provider }),
      }),
  };
}

/** The API server's answers about rights, each remembered for REMEMBERED_MS. */
function makeReviews(
  kube: KubeClient,
  now: () => Date,
): (caller: Caller, verb: Verb, place: Place) => Promise<boolean> {
  const remembered = makeRemembered<boolean>({ now, forMs: REMEMBERED_MS, most: REMEMBERED_REVIEWS });
  return (caller, verb, place) => {
    const key = `${caller.hash} ${verb} ${place.namespace} ${place.resource.plural} ${place.name ?? ''} ${place.subresource ?? ''}`;
    return remembered(key, () => reviewed(caller, verb, place, kube));
  };
}

/** Undefined for a namespace that is no tenant's, or that this Davit does not serve. */
function tenantIn(namespace: KubeObject | undefined, settings: Settings): Tenant | undefined {
  const { name, uid, labels } = namespace?.metadata ?? { name: '' };
  if (uid === undefined || labels?.[TENANT_LABEL] !== 'true' || name === settings.organizationNamespace)
    return undefined;
  if (name === settings.oauth.namespace) return undefined;
  if (settings.namespaces.length > 0 && !settings.namespaces.includes(name)) return undefined;
  return { id: uid, namespace: name };
}

export function senderOf(token: string): Credentials {
  return { token, hash: hash('sha256', token, 'base64') };
}

function placeOf({ resource }: Asked, namespace: string): Place {
  return { namespace, resource };
}

/** Kinds of Davit that a user of a tenant may list. */
function shownIn(place: Place): Place {
  const isOwn = place.resource.group === APP_DEPLOYMENTS.group;
  return isOwn ? place : { namespace: place.namespace, resource: APP_DEPLOYMENTS };
}

/** The API server's wording. The API server itself would reject the request only after the body was read and validated. */
function mayNot(verb: Verb, { namespace, resource: { plural, group } }: Place): HttpError {
  return new HttpError(
    403,
    `You cannot ${verb} resource "${plural}" in API group "${group}" in the namespace "${namespace}". Ask for a role that allows it.`,
  );
}

/** The same error for every cause: it must not reveal which tenants exist. */
function notThatTenant(): HttpError {
  return new HttpError(
    403,
    'X-Tenant-Id does not name a tenant that you may use. Send the id of a tenant or the name of its namespace, or ask for the role davit-viewer or davit-editor in that namespace.',
  );
}

function noTenant(): HttpError {
  return new HttpError(
    403,
    "This request requires workspace specification: send the header X-Tenant-Id with the id, or the namespace's name, of a tenant that you may use. If you have no role in its namespace, ask for davit-viewer or davit-editor there first.",
  );
}

/** `own`: the facade's account, which asks for a pod. */
async function reviewed(
  caller: Caller,
  verb: Verb,
  { namespace, name, subresource, resource: { group, plural } }: Place,
  own: KubeClient,
): Promise<boolean> {
  const resourceAttributes = {
    group,
    resource: plural,
    verb,
    namespace,
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
  if (caller.pod) return mayAccount(own, caller.pod, resourceAttributes);
  const answer = await caller.kube.create<AccessReview>(
    SELF_SUBJECT_ACCESS_REVIEWS,
    accessReview('SelfSubjectAccessReview', { resourceAttributes }),
  );
  return answer.status?.allowed === true;
}

async function mayAccount(own: KubeClient, { account }: PodUser, resourceAttributes: object): Promise<boolean> {
  const { username: user, ...others } = account;
  const review = accessReview('SubjectAccessReview', { user, ...others, resourceAttributes });
  const { status } = await own.create<AccessReview>(SUBJECT_ACCESS_REVIEWS, review).catch(throwAsOurs);
  return status?.allowed === true;
}

interface AccessReview extends KubeObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

function accessReview(kind: string, spec: object): AccessReview {
  return { apiVersion: 'authorization.k8s.io/v1', kind, metadata: { name: '' }, spec };
}
