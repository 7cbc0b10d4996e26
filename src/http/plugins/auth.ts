// Who calls, and then for which tenant or for the organization, and with which right: settled before the body is read. A route says which right it
// needs with `onRequest: auth.as(verb)` or `auth.inOrganization(verb, resource)`, its handler asks `auth.admitted(request)`
// or `auth.callerOf(request)`.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Unauthorized } from '../../errors.ts';
import type { Resource } from '../../kube/client.ts';
import type { Authentication, Credentials } from '../core/authentication.ts';
import { type Caller, type Identity, senderOf, type Tenant, type Verb } from '../core/authorization.ts';
import { HttpError } from '../core/http-error.ts';

export interface RequestContext {
  readonly caller: Caller;
  readonly tenant: Tenant;
}

export interface Auth {
  as(verb: Verb): (request: FastifyRequest) => Promise<void>;
  admitted(request: FastifyRequest): RequestContext;
  /** For what belongs to the organization, whichever tenant is chosen. */
  inOrganization(verb: Verb, resource: Resource): (request: FastifyRequest) => Promise<void>;
  callerOf(request: FastifyRequest): Caller;
  /** Refuses with 403 who may not read the logs of the tenant's pods. */
  needLogs(caller: Caller, tenant: Tenant): Promise<void>;
  /** For the log: names the deployment of a request whose path has no id of it. */
  concerns(request: FastifyRequest, deployment: string): void;
  /** For the log: what is known of a request when it is answered. */
  subjectOf(request: FastifyRequest): RequestSubject;
}

/** Who sent a request and what it is about. Each is absent as long as it is not known. */
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
  /** The record of this id in the namespace, by name, as far as it is known. */
  readonly recordName: (namespace: string, id: string) => string | undefined;
  /** Counts a request for a caller who was not known when it came. */
  readonly count: (request: FastifyRequest, username: string) => Promise<void>;
}

export function registerAuth(app: FastifyInstance, { identity, authentication, recordName, count }: AuthOptions): Auth {
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
      note(request, { user });
      if (!isCounted) await count(request, user);
    } else note(request, { user });
    return identity.callerOf(sender);
  }

  /** A token that was good may have ended since. */
  async function stillKnown<T>(caller: Caller, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof Unauthorized) authentication.forget(caller);
      throw error;
    }
  }

  return {
    as: (verb) => async (request) => {
      const caller = await authenticated(request);
      const wanted = headerOf(request.headers['x-tenant-id']);
      const { deployment_id, project_id = '' } = request.params as Readonly<Record<string, string | undefined>>;
      // The routes of logs call a deployment a project.
      const id = deployment_id ?? project_id;
      const nameIn = (namespace: string): string | undefined => recordName(namespace, id);
      const tenant = await stillKnown(caller, () => identity.tenantOf(caller, wanted, { verb, nameIn }));
      request[ADMITTED] = { caller, tenant };
      // Before a handler deletes the record.
      const deployment = nameIn(tenant.namespace);
      note(request, { tenant: tenant.namespace, ...(deployment !== undefined && { deployment }) });
    },
    inOrganization: (verb, resource) => async (request) => {
      const caller = await authenticated(request);
      const { provider_id: name } = request.params as { readonly provider_id?: string };
      const nameIn = (): string | undefined => name;
      await stillKnown(caller, () => identity.needInOrganization(caller, { verb, nameIn }, resource));
      request[CALLER] = caller;
    },
    callerOf(request) {
      const caller = request[CALLER];
      if (caller === undefined)
        throw new TypeError(`${request.routeOptions.url ?? ''} has no onRequest: auth.inOrganization(verb, resource)`);
      return caller;
    },
    needLogs: (caller, tenant) => stillKnown(caller, () => identity.needLogs(caller, tenant)),
    concerns: (request, deployment) => note(request, { deployment }),
    subjectOf: (request) => request[SUBJECT] ?? {},
    admitted(request) {
      const admission = request[ADMITTED];
      if (admission === undefined)
        throw new TypeError(`${request.routeOptions.url ?? ''} has no onRequest: auth.as(verb)`);
      return admission;
    },
  };
}

const HOW = 'Send a Kubernetes token as "Authorization: Bearer <token>" or "X-Api-Key: <token>".';

/** Undefined where no token was sent. Looked at once for each request. */
export function sentBy(request: FastifyRequest): Credentials | undefined {
  if (request[SENDER] === undefined) {
    const token = tokenIn(request.headers);
    if (token !== undefined) request[SENDER] = senderOf(token);
  }
  return request[SENDER];
}

/** Bearer wins over X-Api-Key; another scheme of Authorization, such as a proxy's Basic, is not ours to read. */
function tokenIn(headers: FastifyRequest['headers']): string | undefined {
  const bearer = /^bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim();
  const token = bearer ?? headerOf(headers['x-api-key']);
  return token === '' ? undefined : token;
}

function senderIn(request: FastifyRequest): Credentials {
  const sender = sentBy(request);
  if (sender === undefined) throw unauthenticated(HOW);
  // Node has let through what it would refuse to send on.
  if (!/^[\x21-\x7e]+$/.test(sender.token)) throw unauthenticated(`That is not a token. ${HOW}`);
  return sender;
}

export function unauthenticated(detail: string): HttpError {
  return new HttpError(401, detail, { 'www-authenticate': 'Bearer' });
}

function headerOf(value: string | string[] | undefined): string | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  return text === '' ? undefined : text;
}
