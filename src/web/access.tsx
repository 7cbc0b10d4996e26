// The tab Access of a deployment, and the view of a tenant's providers, one's own tokens and what became of tokens.

import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ListenerResponse } from '../clusters/http/payloads.ts';
import type { Deployment } from '../deploy/http/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { OAuthProviderResponse } from '../tokens/http/oauth-providers/payloads.ts';
import type { Connection, TokenInfo } from '../tokens/http/oauth-tokens/payloads.ts';
import type { TokenEvent } from '../tokens/oauth/trail.ts';
import type { TabProps } from './actions.tsx';
import type { Api } from './api.ts';
import { Retained } from './data.tsx';
import { type Question, useQuestion } from './dialog.tsx';
import { toneOfCondition } from './health.ts';
import { Address, Age } from './parts.tsx';
import { linkOf } from './route.ts';
import { Card, Rows, useRead } from './rows.tsx';
import { commandOf, plain } from './text.ts';

export function Access({ api, deployment, namespace, say }: TabProps): VNode {
  const { conditions, source_config: config, internal_url: internal } = deployment;
  const { access, listener_id: listenerId, listener_config: place } = config;
  const address = conditionOf(conditions, 'AddressReady');
  const from = access?.from?.length ? `the deployment's own, ${access.from.join(', ')}` : "only the deployment's own";
  const path = listenerId === null ? undefined : `v2/listeners/${listenerId}`;
  const { found: listener, failure } = useRead<ListenerResponse>(api, path);
  return (
    <>
      <Card title="Addresses and callers" failure={failure}>
        <Rows
          rows={[
            {
              key: 'address',
              tone: address ? toneOfCondition(address) : 'off',
              title: 'Address',
              says: <Reach deployment={deployment} namespace={namespace} />,
              sub: [address && plain(address.message)],
            },
            internal !== null && { key: 'internal', title: 'In the cluster', says: <code>{plain(internal)}</code> },
            {
              key: 'callers',
              title: 'Callers',
              says: access?.lock
                ? `need a key, which sidecar ${access.lock} checks`
                : `anyone who can reach its ${config.custom_url === null ? 'Service' : 'address'}`,
            },
            {
              key: 'namespaces',
              title: 'Namespaces whose pods reach it',
              says: access?.from ? from : "the platform's default",
            },
            listener && {
              key: 'listener',
              tone: listener.connected ? 'good' : 'bad',
              title: `Listener ${listener.compute_id}`,
              says: listener.connected ? 'reports' : 'has stopped reporting',
              sub: [
                place?.k8s_namespace && `namespace ${place.k8s_namespace}`,
                listener.version && `Davit ${plain(listener.version)}`,
                listener.last_seen_at && <Age then={listener.last_seen_at} after=" since it was seen" />,
              ],
            },
          ]}
        />
      </Card>
      <Tokens api={api} say={say} of={deployment} />
    </>
  );
}

/** Its address; without one, how it is reached from a person's machine. Nothing while it has no Service. */
export function Reach({ deployment, namespace }: Pick<TabProps, 'deployment' | 'namespace'>): VNode | null {
  const { internal_url: internal, source_config: config } = deployment;
  if (config.custom_url !== null || internal === null) return <Address url={config.custom_url} />;
  return (
    <span class="sub">
      No address. From your machine: <code>{commandOf('open', deployment, namespace)}</code>
    </span>
  );
}

interface TokensProps {
  readonly api: Api;
  readonly say: (sentence: string) => void;
  /** Those of this deployment; absent for all of the tenant. */
  readonly of?: Deployment | undefined;
}

/** One's own tokens, and what became of everybody's. */
function Tokens({ api, say, of }: TokensProps): VNode {
  const tokens = useRead<TokenInfo[]>(api, 'v2/auth/tokens');
  const trail = useRead<TokenEvent[]>(api, 'v2/auth/token-events');
  const [dialog, ask] = useQuestion(say, () => {
    tokens.again();
    trail.again();
  });
  const events = trail.found?.filter((event) => of === undefined || event.deployment_id === of.id);
  const own = tokens.found?.filter(({ id }) => of === undefined || events?.some((event) => event.token_id === id));
  const agents = [...new Set(own?.flatMap(({ agent_id: agent }) => agent ?? []))];
  return (
    <>
      <Card title={of ? 'Your tokens that it received' : 'Your tokens'} failure={tokens.failure}>
        <Rows
          rows={own?.map((token) => ({
            key: token.id,
            title: token.provider_id,
            says: token.scopes.map(plain).join(' '),
            sub: [
              token.agent_id !== null && `for agent ${plain(token.agent_id)}`,
              ['given ', <Age then={token.created_at} after=" ago" />],
              token.last_used_at === null
                ? 'never used'
                : ['last used ', <Age then={token.last_used_at} after=" ago" />],
            ],
            acts: [
              {
                label: 'Revoke…',
                of: `the token of ${token.provider_id}`,
                onClick: () =>
                  ask({
                    title: `Revoke the token of ${token.provider_id}`,
                    action: 'Revoke',
                    isDangerous: true,
                    says: ['It is revoked at the provider and deleted. Agents that used it have to ask you again.'],
                    send: () => api.ask('DELETE', `v2/auth/tokens/${token.id}`),
                    done: `The token of ${token.provider_id} is revoked.`,
                  }),
              },
            ],
          }))}
        />
        {agents.map((agent) => (
          <Connections key={`${agent} ${dialog === undefined}`} api={api} agent={agent} onAsk={ask} />
        ))}
      </Card>
      {events && (
        <Card title="Token history" sub={of ? 'of this deployment' : 'of all people, newest first'}>
          <Rows
            none="No events yet."
            rows={events.map((event, key) => ({
              key,
              title: event.event,
              says: plain(`${event.provider_id} of ${event.user_id}`),
              sub: [
                <Age then={event.at} after=" ago" />,
                event.agent_id !== null && `agent ${plain(event.agent_id)}`,
                event.deployment_id !== null && of === undefined && (
                  <a href={linkOf(event.deployment_id)}>{plain(event.deployment ?? event.deployment_id)}</a>
                ),
                event.account && plain(event.account),
              ],
            }))}
          />
        </Card>
      )}
      {dialog}
    </>
  );
}

interface ConnectionsProps {
  readonly api: Api;
  readonly agent: string;
  readonly onAsk: (question: Question) => void;
}

/** Tokens that an agent of this caller may use. */
function Connections({ api, agent, onAsk }: ConnectionsProps): VNode | null {
  const path = `v2/auth/agents/${encodeURIComponent(agent)}/connections`;
  const { found } = useRead<{ readonly data: readonly Connection[] }>(api, path);
  if (!found?.data.length) return null;
  return (
    <Rows
      rows={found.data.map(({ id, provider_id: provider }) => ({
        key: id,
        title: agent,
        says: `may use the token of ${plain(provider)}`,
        acts: [
          {
            label: 'Take away…',
            of: `the token of ${provider} from ${agent}`,
            onClick: () =>
              onAsk({
                title: `Take the token of ${provider} away from ${agent}`,
                action: 'Take away',
                isDangerous: true,
                says: ['The agent has to ask you again. The token itself stays.'],
                send: () => api.ask('DELETE', `${path}/${id}`),
                done: `${agent} may no longer use the token of ${provider}.`,
              }),
          },
        ],
      }))}
    />
  );
}

interface TenantAccessProps extends Pick<TokensProps, 'api' | 'say'> {
  /** The list as it was left. */
  readonly list: string;
}

export function TenantAccess({ api, say, list }: TenantAccessProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const providers = useRead<readonly OAuthProviderResponse[]>(api, 'v2/auth/providers');
  useEffect(() => {
    document.title = 'Access – Davit';
    heading.current?.focus();
  }, []);
  return (
    <article aria-labelledby="access">
      <nav class="crumb" aria-label="Back">
        <a href={list}>← All deployments</a>
      </nav>
      <div class="head">
        <h1 id="access" ref={heading} tabIndex={-1}>
          Access
        </h1>
      </div>
      <Card title="Providers" sub="whose tokens people give to agents" failure={providers.failure}>
        <Rows
          rows={providers.found?.map((provider) => ({
            key: provider.id,
            title: provider.name,
            says: <code>{plain(provider.provider_id)}</code>,
            sub: [plain(provider.mcp_server_url ?? provider.auth_url)],
          }))}
        />
      </Card>
      <Tokens api={api} say={say} />
      <Retained api={api} say={say} />
    </article>
  );
}
