// Authenticates and authorizes a request before its body is read. A route declares the right that it needs with
// `onRequest: auth.as(verb)` (a tenant's records), `auth.as(verb, resource)` or `auth.inOrganization(verb, resource)`. Its handler gets the result from
// `auth.admitted(request)` or `auth.callerOf(request)`.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { APP_DEPLOYMENTS } from '../kinds/app-deployment.ts';
import { providerNameFor } from '../kinds/provider-id.ts';
import { Unauthorized } from '../runtime/errors.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import type { Resource } from '../runtime/kube/client.ts';
import { type Authentication, nameless, type User } from './authentication.ts';
import { type Caller, type Identity, senderOf, type Tenant, type Verb } from './authorization.ts';
import type { Credentials } from './credentials.ts';
import { onlyForTokens } from './pod-tokens.ts';

export interface RequestContext {
  readonly caller: Caller;
  readonly tenant: Tenant;
}

export interface Auth {
  /** `resource`: kind of the tenant's objects that the route is about; AppDeployments unless given. */
  as(verb: Verb, resource?: Resource): (request: FastifyRequest) => Promise<void>;
  admitted(request: FastifyRequest): RequestContext;
  /** The value of the header Allow: the methods by which the caller may change the request's deployment, or the tenant's. */
  allowed(request: FastifyRequest, methods: Readonly<Record<string, Verb>>, resource?: Resource): Promise<string>;
  /** For objects of the organization's namespace. X-Tenant-Id has no effect. */
  inOrganization(verb: Verb, resource: Resource): (request: FastifyRequest) => Promise<void>;
  /** Authenticates alone, also a pod: the handler checks rights that depend on the body, by `namedTenant` and `mayAuthenticate`. */
  asCaller(request: FastifyRequest): Promise<void>;
  callerOf(request: FastifyRequest): Caller;
  /** The tenant that the request names; undefined if there is none. Throws HttpError 403 if it names none. */
  namedTenant(request: FastifyRequest): Tenant | undefined;
  mayAuthenticate(request: FastifyRequest, tenant: Tenant, provider?: string): Promise<boolean>;
  /** Throws HttpError 403 if the caller may not read the logs of the tenant's pods. */
  needLogs(caller: Caller, tenant: Tenant): Promise<void>;
  /** For the log: sets the deployment of a request whose path does not contain its id. */
  concerns(request: FastifyRequest, deployment: string): void;
  /** For the log: the subject of a request. */
  subjectOf(request: FastifyRequest): RequestSubject;
}

/** Who sent a request, and its tenant and deployment. Each is absent until it is known. */
export interface RequestSubject {
  /** Username of the cluster. */
  readonly user?: string;
  /** Namespace of the tenant. */
  readonly tenant?: string;
  /** Name of the deployment. */
  readonly deployment?: string;
}

const SENDER: unique symbol = Symbol('sender');
const ADMITTED: unique symbol = Symbol('admitted');
const CALLER: unique symbol = Symbol('caller');
const SUBJECT: unique symbol = Symbol('subject');

declare module 'fastify' {
  interface FastifyRequest {
    [SENDER]: Credentials | undefined;
    [ADMITTED]: RequestContext | undefined;
    [CALLER]: Caller | undefined;
    [SUBJECT]: RequestSubject | undefined;
  }
}

export interface AuthOptions {
  readonly identity: Identity;
  readonly authentication: Authentication;
  /** Name of the object of this kind and id in the namespace. Undefined if it is not cached. */
  readonly nameOf: (resource: Resource, namespace: string, id: string) => string | undefined;
  /** Counts a request whose caller was not known when it arrived. */
  readonly count: (request: FastifyRequest, username: string) => Promise<void>;
}

export function registerAuth(app: FastifyInstance, { identity, authentication, nameOf, count }: AuthOptions): Auth {
  app.decorateRequest(SENDER, undefined);
  app.decorateRequest(ADMITTED, undefined);
  app.decorateRequest(CALLER, undefined);
  app.decorateRequest(SUBJECT, undefined);

  function note(request: FastifyRequest, subject: RequestSubject): void {
    request[SUBJECT] = { ...request[SUBJECT], ...subject };
  }

  async function authenticated(request: FastifyRequest): Promise<Caller> {
    const sender = senderIn(request);
    let user = authentication.known(sender);
    if (user === undefined) {
      const isCounted = authentication.remembered(sender) !== undefined;
      user = await authentication.authenticate(sender, request.ip);
      note(request, noteOf(user));
      if (!isCounted) await count(request, user.username);
    } else note(request, noteOf(user));
    const { username, pod } = user;
    return identity.callerOf(sender, username === nameless(sender) ? undefined : username, pod);
  }

  /** A token whose user is cached may have expired. */
  async function stillKnown<T>(caller: Caller, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof Unauthorized) authentication.forget(caller);
      throw error;
    }
  }

  return {
    as:
      (verb, resource = APP_DEPLOYMENTS) =>
      async (request) => {
        const caller = notPod(await authenticated(request));
        const wanted = headerOf(request.headers['x-tenant-id']);
        const { deployment_id, project_id, listener_id } = request.params as Readonly<
          Record<string, string | undefined>
        >;
        // The paths of logs name a deployment's id project_id.
        const id = deployment_id ?? project_id ?? listener_id ?? '';
        const nameIn = (namespace: string): string | undefined => nameOf(resource, namespace, id);
        const tenant = await stillKnown(caller, () => identity.tenantOf(caller, wanted, { verb, resource, nameIn }));
        request[ADMITTED] = { caller, tenant };
        // The handler may delete the record.
        const deployment = resource === APP_DEPLOYMENTS ? nameIn(tenant.namespace) : undefined;
        note(request, { tenant: tenant.namespace, ...(deployment !== undefined && { deployment }) });
      },
    inOrganization: (verb, resource) => async (request) => {
      const caller = notPod(await authenticated(request));
      const { provider_id: id } = request.params as { readonly provider_id?: string };
      const nameIn = (): string | undefined => id && providerNameFor(id);
      await stillKnown(caller, () => identity.needInOrganization(caller, { verb, resource, nameIn }));
      request[CALLER] = caller;
    },
    ...agentAuth({ identity, authenticated, callerOf, stillKnown, note }),
    callerOf,
    needLogs: (caller, tenant) => stillKnown(caller, () => identity.needLogs(caller, tenant)),
    concerns: (request, deployment) => note(request, { deployment }),
    subjectOf: (request) => request[SUBJECT] ?? {},
    admitted,
    async allowed(request, methods, resource = APP_DEPLOYMENTS) {
      const { caller, tenant } = admitted(request);
      const { deployment_id: id = '' } = request.params as { readonly deployment_id?: string };
      const nameIn = (namespace: string): string | undefined => nameOf(APP_DEPLOYMENTS, namespace, id);
      const isAllowed = await Promise.all(
        Object.values(methods).map((verb) =>
          stillKnown(caller, () => identity.may(caller, tenant, { verb, resource, nameIn })),
        ),
      );
      return ['GET', 'HEAD', ...Object.keys(methods).filter((_, place) => isAllowed[place])].join(', ');
    },
  };
}

function callerOf(request: FastifyRequest): Caller {
  const caller = request[CALLER];
  if (caller === undefined)
    throw new TypeError(`${request.routeOptions.url ?? ''} has no onRequest: auth.inOrganization(verb, resource)`);
  return caller;
}

function admitted(request: FastifyRequest): RequestContext {
  const admission = request[ADMITTED];
  if (admission === undefined) throw new TypeError(`${request.routeOptions.url ?? ''} has no onRequest: auth.as(verb)`);
  return admission;
}

interface AgentAuthNeeds {
  readonly identity: Identity;
  readonly authenticated: (request: FastifyRequest) => Promise<Caller>;
  readonly callerOf: Auth['callerOf'];
  readonly stillKnown: <T>(caller: Caller, ask: () => Promise<T>) => Promise<T>;
  readonly note: (request: FastifyRequest, subject: RequestSubject) => void;
}

/** For routes whose rights depend on the body. */
function agentAuth({
  identity,
  authenticated,
  callerOf,
  stillKnown,
  note,
}: AgentAuthNeeds): Pick<Auth, 'asCaller' | 'namedTenant' | 'mayAuthenticate'> {
  return {
    async asCaller(request) {
      request[CALLER] = await authenticated(request);
    },
    namedTenant(request) {
      const tenant = identity.namedTenant(callerOf(request), headerOf(request.headers['x-tenant-id']));
      if (tenant) note(request, { tenant: tenant.namespace });
      return tenant;
    },
    mayAuthenticate(request, tenant, provider) {
      const caller = callerOf(request);
      return stillKnown(caller, () => identity.mayAuthenticate(caller, tenant, provider));
    },
  };
}

/** Throws HttpError 403 for a pod: what follows is asked of the API server with the caller's token. */
function notPod(caller: Caller): Caller {
  if (caller.pod) throw onlyForTokens();
  return caller;
}

function noteOf({ username: user, pod }: User): RequestSubject {
  return pod ? { user, tenant: pod.namespace, deployment: pod.deployment.name } : { user };
}

const HOW = 'Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".';

/** Undefined if no token was sent. Computed once for each request. */
export function sentBy(request: FastifyRequest): Credentials | undefined {
  if (request[SENDER] === undefined) {
    const token = tokenIn(request.headers);
    if (token !== undefined) request[SENDER] = senderOf(token);
  }
  return request[SENDER];
}

/** Bearer takes precedence over X-Api-Key. Other schemes of Authorization, such as a proxy's Basic, are ignored. */
function tokenIn(headers: FastifyRequest['headers']): string | undefined {
  const bearer = /^bearer (.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim();
  const token = bearer ?? headerOf(headers['x-api-key']);
  return token === '' ? undefined : token;
}

function senderIn(request: FastifyRequest): Credentials {
  const sender = sentBy(request);
  if (sender === undefined) throw unauthenticated(HOW);
  // Node's server accepts characters that its client rejects.
  if (!/^[\x21-\x7e]+$/.test(sender.token)) throw unauthenticated(`The credentials are not a token. ${HOW}`);
  return sender;
}

export function unauthenticated(detail: string): HttpError {
  return new HttpError(401, detail, { 'www-authenticate': 'Bearer' });
}

function headerOf(value: string | string[] | undefined): string | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  return text === '' ? undefined : text;
}
