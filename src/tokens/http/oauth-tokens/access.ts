// Who asks for tokens, for whom, and whether he may: the right to `authenticate` oauthproviders in the tenant's namespace, of which a
// role may name single ones.

import type { FastifyRequest } from 'fastify';
import type { Auth } from '../../../api/auth.ts';
import type { Tenant } from '../../../api/authorization.ts';
import type { FacadeContext } from '../../../api/collection.ts';
import { providerNameFor } from '../../../kinds/provider-id.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import type { OpenConfirmation, OpenFlow } from '../../oauth/flow.ts';
import { isFor, type Requester } from '../../oauth/names.ts';
import type { OAuth } from '../../oauth/oauth.ts';
import type { Person } from '../../oauth/people.ts';
import type { TokenEntry } from '../../oauth/token-store.ts';

/** What the routes of tokens need. */
export interface TokenNeeds extends FacadeContext {
  readonly oauth: OAuth | undefined;
}

export interface Access {
  /** Throws HttpError 424 that names the setting where the platform gives no tokens. */
  ready(): { readonly oauth: OAuth; readonly publicUrl: string };
  /** Throws HttpError 403 if the cluster does not say the caller's username. */
  requester(request: FastifyRequest): Requester;
  /** Throws HttpError 403 without the right; unknown tenants get the same answer. */
  person(
    request: FastifyRequest,
    asked: { readonly user?: string | undefined; readonly provider?: string | undefined },
  ): Promise<Person>;
  /** A token of the person by its id. Throws HttpError 404 also without the right. */
  token(
    request: FastifyRequest,
    user: string | undefined,
    id: string,
  ): Promise<{ readonly person: Person; readonly entry: TokenEntry }>;
  /** As `token`, and HttpError 404 also for what was given to an agent of another account or deployment. */
  tokenToDescribe(request: FastifyRequest, user: string | undefined, id: string): Promise<TokenEntry>;
  /** What the tenant's verifier confirms. Undefined for every account but the verifier's, and without the right. */
  confirmation(request: FastifyRequest, confirmation: string): Promise<OpenConfirmation | undefined>;
  /** The unfinished authorization that the caller has asked for, or could have: undefined for an agent of others, and without the right. */
  flow(request: FastifyRequest, authId: string): Promise<OpenFlow | undefined>;
}

export function makeAccess(auth: Auth, oauth: OAuth | undefined, publicUrl: string | undefined): Access {
  function ready(): { readonly oauth: OAuth; readonly publicUrl: string } {
    if (oauth === undefined)
      throw new HttpError(424, 'This platform issues no tokens: setting oauth.hosts lists no host of an OAuth server.');
    if (publicUrl === undefined)
      throw new HttpError(424, 'This platform has no address for consent pages: set http.publicUrl.');
    return { oauth, publicUrl };
  }

  function requester(request: FastifyRequest): Requester {
    const { username, pod } = auth.callerOf(request);
    if (username !== undefined) return { username, ...(pod && { deployment: pod.deployment }) };
    throw new HttpError(403, 'The cluster does not identify you: you need the right to create selfsubjectreviews.');
  }

  async function tenant(request: FastifyRequest, provider?: string): Promise<Tenant | undefined> {
    const named = auth.namedTenant(request);
    return named && (await auth.mayAuthenticate(request, named, provider && providerNameFor(provider)))
      ? named
      : undefined;
  }

  async function token(
    request: FastifyRequest,
    user: string | undefined,
    id: string,
  ): Promise<{ readonly person: Person; readonly entry: TokenEntry }> {
    const own = user ?? requester(request).username;
    const named = auth.namedTenant(request);
    const person = named && { tenant: named, user: own };
    const entry = person && (await ready().oauth.find(person, id.toLowerCase()));
    if (person === undefined || entry === undefined || !(await tenant(request, entry.subject.provider)))
      throw noToken(id);
    return { person, entry };
  }

  return {
    ready,
    requester,
    token,
    async person(request, { user, provider }) {
      const own = user ?? requester(request).username;
      const found = await tenant(request, provider);
      if (found === undefined) throw mayNot(provider);
      return { tenant: found, user: own };
    },
    async tokenToDescribe(request, user, id) {
      const { entry } = await token(request, user, id);
      // Its agent gets the metadata with the token, such as the address to send it to.
      if (!isFor(requester(request), entry.subject, entry.about.agentId)) throw noToken(id);
      return entry;
    },
    async confirmation(request, confirmation) {
      const { oauth: tokens } = ready();
      const found = await tokens.flows.findConfirmation(confirmation, 'asked');
      const named = found && (await tenant(request, found.subject.provider));
      if (named === undefined || named.namespace !== found?.subject.tenant) return undefined;
      // An agent could consent as itself, and confirm that it is somebody else.
      return tokens.verifierOf(named.namespace)?.account === requester(request).username ? found : undefined;
    },
    async flow(request, authId) {
      const found = await ready().oauth.flows.find(authId);
      if (found === undefined) return undefined;
      const { subject } = found.entry;
      const named = await tenant(request, subject.provider);
      // The link goes through chats: auth_id alone proves nothing.
      const isTheirs = named?.namespace === subject.tenant && isFor(requester(request), subject, found.request.agentId);
      return isTheirs ? found : undefined;
    },
  };
}

function noToken(id: string): HttpError {
  return new HttpError(404, `Token ID ${id} not found.`);
}

function mayNot(provider: string | undefined): HttpError {
  const which =
    provider === undefined
      ? 'all OAuth providers; name one with provider_id if your role names them'
      : `OAuth provider "${provider}"`;
  return new HttpError(
    403,
    `You may not get tokens of ${which}. It needs the right to authenticate oauthproviders in a tenant's namespace (role davit-agent), and X-Tenant-Id if that is not the namespace of your service account.`,
  );
}
