// Tokens for agents, as the HTTP API offers them, over the vault, the flows and the OAuth servers. Callers' rights are checked before.

import { randomUUID } from 'node:crypto';
import { type FacadeCaches, synced } from '../../api/caches.ts';
import { makeOrganizationSecrets, textOf } from '../../api/organization-secrets.ts';
import { OAUTH_VERIFIER_ACCOUNT_ANNOTATION, OAUTH_VERIFIER_ANNOTATION } from '../../kinds/meta.ts';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { providerById, providerIdOf } from '../../kinds/provider-id.ts';
import type { Settings } from '../../kinds/settings.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import type { KubeClient, KubeObject } from '../../runtime/kube/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import { providerVerdict } from '../conditions.ts';
import { type Broker, makeBroker } from './broker.ts';
import { type Clients, makeClients } from './clients.ts';
import { type Collector, makeCollector } from './collector.ts';
import { type Connections, makeConnections } from './connections.ts';
import { type Discovered, type DiscoveryRequest, discoverMcp } from './discovery.ts';
import { type Flows, type FlowsOptions, makeFlows, type OpenFlow } from './flow.ts';
import { guardedFetch } from './guarded.ts';
import { makeKeys } from './keys.ts';
import type { Requester, Subject } from './names.ts';
import { type Client, makeServer, type OAuthServer, requestsOver } from './server.ts';
import { makeTokenStore, type TokenEntry } from './token-store.ts';
import { makeTokens, type Tokens } from './tokens.ts';
import { makeTrail, type Noted, type Trail } from './trail.ts';
import { makeVault } from './vault.ts';
import { makeWaiting } from './waiting.ts';

export interface OAuth extends Broker, Connections {
  readonly flows: Flows;
  readonly server: OAuthServer;
  readonly tokens: Pick<Tokens, 'describe'>;
  /** The page that confirms who the people of a tenant are. Undefined if it has none. Throws HttpError 424 if its annotations are wrong. */
  verifierOf(tenant: string): Verifier | undefined;
  /** Undefined if there is none. */
  provider(id: string): OAuthProvider | undefined;
  /** The token of a flow of this tenant. `ms`: how long to wait for it. */
  wait(
    flow: OpenFlow,
    ms: number,
    signal: AbortSignal,
  ): Promise<{ status: 'completed'; token: string } | { status: 'timeout' | 'not_found' | 'connection_required' }>;
  /** `requester`: who revokes it. */
  end(entry: TokenEntry, requester: Requester): Promise<void>;
  readonly events: Trail['events'];
  clientOf(provider: OAuthProvider): Promise<Client>;
  /** Finds the OAuth server of an MCP server, and registers a client. Throws GrantFailed or CodeHostFailed. */
  discover(request: DiscoveryRequest): Promise<Discovered>;
  readonly clients: Pick<Clients, 'keep'>;
  readonly collector: Collector;
  /** Ends all requests that wait, because the process stops. */
  endWaits(): void;
  close(): Promise<void>;
}

export interface OAuthOptions {
  readonly kube: KubeClient;
  readonly settings: Settings;
  readonly caches: Pick<FacadeCaches, 'providers' | 'tenants' | 'records'>;
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly now: () => Date;
  readonly log: Logger;
}

/** Undefined where the settings list no host: then nothing can be asked of an OAuth server. */
export function makeOAuth(options: OAuthOptions): OAuth | undefined {
  const { kube, settings, caches, namespace, now, log } = options;
  const { organizationNamespace } = settings;
  const { hosts, namespace: vaultNamespace } = settings.oauth;
  if (hosts.length === 0) return undefined;
  const guarded = guardedFetch(settings);
  const keys = makeKeys({ kube, namespace, now, log });
  const vault = makeVault({ kube, namespace: vaultNamespace, keys });
  const requests = requestsOver(guarded);
  const server = makeServer(requests);
  const provider = (id: string): OAuthProvider | undefined =>
    providerById(id, (name) =>
      synced(caches.providers, 'OAuth providers').get({ namespace: organizationNamespace, name }),
    );
  const hasTenant = ({ tenant, tenantId }: Pick<Subject, 'tenant' | 'tenantId'>): boolean =>
    synced(caches.tenants, 'tenants').get({ name: tenant })?.metadata.uid === tenantId;
  const providerOf = (subject: Subject): OAuthProvider | undefined =>
    hasTenant(subject) ? provider(subject.provider) : undefined;
  const clientOf = clientReader(kube, settings);
  const trail = makeTrail({ vault, keys, hasTenant, now, log });
  const noteOf = (
    event: Noted['event'],
    { id: tokenId, subject, about: { agentId } }: TokenEntry,
    requester?: Requester,
  ): Promise<void> => trail.note({ event, subject, agentId, requester, tokenId });
  const onRefused: FlowsOptions['onRefused'] = (subject, request) =>
    trail.note({ event: 'refused', subject, agentId: request?.agentId, requester: request?.requester });
  const flows = makeFlows({ vault, keys, providerOf, now, onRefused });
  const store = makeTokenStore(vault);
  const tokens = makeTokens({ store, server, clientOf, holder: randomUUID(), now, note: noteOf });
  const endOfGone: Tokens['end'] = async (entry, ...providers) => {
    await tokens.end(entry, ...providers);
    await noteOf('revoked', entry);
  };
  const waiting = makeWaiting(vault, log);
  const connections = makeConnections({ vault, keys, now });
  const clients = makeClients({ vault, keys, server });
  const broker = makeBroker({ vault, keys, flows, tokens, connections, trail, now });
  return {
    ...broker,
    ...connections,
    flows,
    server,
    tokens,
    verifierOf: (name) => verifierOf(synced(caches.tenants, 'tenants').get({ name })),
    provider,
    clientOf,
    async wait(flow, ms, signal) {
      const ended = flow.entry.about.tokenId !== undefined || (await waiting.untilEnded(flow.entry, ms, signal));
      if (!ended) return { status: 'timeout' };
      const present = await flows.find(flow.authId);
      const { tokenId } = present?.entry.about ?? {};
      const entry = tokenId === undefined ? undefined : await tokens.read(tokenId);
      const obtained = entry && (await tokens.obtain(entry, flow.provider, flow.request.scopes));
      if (obtained?.kind !== 'token')
        return { status: obtained?.kind === 'narrow' ? 'connection_required' : 'not_found' };
      await broker.give(obtained.entry, flow.request.requester, flow.request.agentId);
      return { status: 'completed', token: obtained.token };
    },
    events: trail.events,
    async end(entry, requester) {
      const present = providerOf(entry.subject);
      await tokens.end(entry, ...(present ? [present] : []));
      await noteOf('revoked', entry, requester);
    },
    clients,
    collector: makeCollector({
      ...options,
      vault,
      tokens: { ...tokens, end: endOfGone },
      clients,
      organizationNamespace,
    }),
    discover: (request) => discoverMcp(request, requests),
    endWaits: waiting.endAll,
    close: guarded.close,
  };
}

/** Reads client secrets with the facade's own account. Throws HttpError 424 if the provider cannot be used. */
function clientReader(
  kube: KubeClient,
  { organizationNamespace, codeHosts, oauth }: Settings,
): (provider: OAuthProvider) => Promise<Client> {
  const secrets = makeOrganizationSecrets(kube, organizationNamespace);
  return async (provider) => {
    const { clientSecretRef } = provider.spec;
    const secret = clientSecretRef && (await secrets.read(clientSecretRef.name));
    const { status, message } = providerVerdict(provider, { secret: () => secret, codeHosts, oauth });
    const value = clientSecretRef && textOf(secret, clientSecretRef.key);
    if (status !== 'True') throw new HttpError(424, `OAuth provider "${providerIdOf(provider)}": ${message}`);
    if (clientSecretRef !== undefined && value === undefined)
      throw new HttpError(424, `Secret ${clientSecretRef.name} has no key ${clientSecretRef.key}.`);
    return { provider, secret: value };
  };
}

// The page of a tenant that confirms who a person is, before a token is stored. Annotations of the tenant's namespace, which editors of the
// tenant cannot change, name it and its account. Pure.

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

interface Verifier {
  readonly url: URL;
  /** Username of the only account that may confirm. */
  readonly account: string;
}

/** Undefined if the tenant has none. Throws HttpError 424 if it is not an address for browsers or has no account: the tenant then gets no tokens. */
function verifierOf(namespace: KubeObject | undefined): Verifier | undefined {
  const { [OAUTH_VERIFIER_ANNOTATION]: text, [OAUTH_VERIFIER_ACCOUNT_ANNOTATION]: account } =
    namespace?.metadata.annotations ?? {};
  if (text === undefined) return undefined;
  const name = namespace?.metadata.name;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOCAL_HOSTS.includes(url.hostname));
  if (url === null || !isSafe || url.username !== '' || url.password !== '' || url.hash !== '')
    throw new HttpError(
      424,
      `Annotation ${OAUTH_VERIFIER_ANNOTATION} of namespace ${name} must be an https URL without credentials or fragment. Until then, nobody can give a token to this tenant.`,
    );
  // Any account with the right of an agent would do otherwise, and each agent has one.
  if (!account)
    throw new HttpError(
      424,
      `Namespace ${name} has annotation ${OAUTH_VERIFIER_ANNOTATION}, but not ${OAUTH_VERIFIER_ACCOUNT_ANNOTATION}. Until it names the account of the page, nobody can give a token to this tenant: kubectl annotate namespace ${name} ${OAUTH_VERIFIER_ACCOUNT_ANNOTATION}=system:serviceaccount:NAMESPACE:NAME`,
    );
  return { url, account };
}
