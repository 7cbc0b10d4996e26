// What single OAuth servers do otherwise than RFC 6749 says, as data. From the documentation of each.

import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { asObject, ownValue } from '../../runtime/json-value.ts';

/** How a server differs. Whatever is absent is as the RFC says. */
export interface Quirks {
  /** Hosts of its token endpoint; with a leading dot, also those under it. */
  readonly hosts: readonly string[];
  /** How scopes of a person are asked for. */
  readonly scopes?: { readonly parameter: string; readonly separator: string };
  /** The member of a token answer that has the person's token, where others have another one. */
  readonly personsMember?: string;
  /** What it calls its bearer tokens. */
  readonly tokenTypes?: readonly string[];
  /** Seconds after which a token is refreshed although the answer names no time. */
  readonly lifetimeSeconds?: number;
  /** Members of a token answer that agents need; they become metadata of the token. */
  readonly metadata?: readonly string[];
  /** Errors that mean `invalid_grant`. */
  readonly denials?: readonly string[];
  /** One name of several for a scope. */
  readonly canonical?: (scope: string) => string;
  /** Scopes that answers leave out, because another one contains them. */
  readonly contained?: Readonly<Record<string, readonly string[]>>;
  /** The end of a scope that stands for all that a resource has granted. */
  readonly all?: string;
}

const GRAPH = 'https://graph.microsoft.com/';
const GOOGLE_NAMES = new Map(
  ['email', 'profile'].map((name) => [name, `https://www.googleapis.com/auth/userinfo.${name}`]),
);

const NONE: Quirks = { hosts: [] };

/** By `provider_type`. */
const QUIRKS: ReadonlyMap<string, Quirks> = new Map<string, Quirks>([
  [
    'slack',
    {
      hosts: ['slack.com'],
      // `scope` asks for a bot.
      scopes: { parameter: 'user_scope', separator: ',' },
      personsMember: 'authed_user',
      tokenTypes: ['user'],
      denials: ['invalid_refresh_token', 'token_revoked', 'token_expired'],
    },
  ],
  [
    'github',
    {
      hosts: ['github.com'],
      denials: ['bad_refresh_token'],
      contained: {
        repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
        'admin:repo_hook': ['write:repo_hook', 'read:repo_hook'],
        'write:repo_hook': ['read:repo_hook'],
        'admin:org': ['write:org', 'read:org', 'manage_runners:org'],
        'write:org': ['read:org'],
        'admin:public_key': ['write:public_key', 'read:public_key'],
        'write:public_key': ['read:public_key'],
        'admin:gpg_key': ['write:gpg_key', 'read:gpg_key'],
        'write:gpg_key': ['read:gpg_key'],
        'write:packages': ['read:packages'],
        'write:discussion': ['read:discussion'],
        user: ['read:user', 'user:email', 'user:follow'],
        project: ['read:project'],
        codespace: ['codespace:secrets'],
      },
    },
  ],
  ['google', { hosts: ['oauth2.googleapis.com'], canonical: (scope) => GOOGLE_NAMES.get(scope) ?? scope }],
  [
    'microsoft',
    {
      hosts: ['login.microsoftonline.com', 'login.microsoftonline.us', 'login.partner.microsoftonline.cn'],
      denials: ['interaction_required', 'login_required', 'consent_required'],
      all: '.default',
      canonical(scope) {
        const name = scope.toLowerCase();
        return name.startsWith(GRAPH) ? name.slice(GRAPH.length) : name;
      },
    },
  ],
  [
    'salesforce',
    {
      hosts: ['.salesforce.com'],
      // The shortest time that an administrator can set for a session.
      lifetimeSeconds: 900,
      metadata: ['instance_url'],
    },
  ],
]);

/** The quirks of the `provider_type` or, without any, of the host of the token endpoint. */
export function quirksOf({ spec: { providerType = '', tokenUrl } }: Pick<OAuthProvider, 'spec'>): Quirks {
  const { hostname } = new URL(tokenUrl);
  const isOf = ({ hosts }: Quirks): boolean =>
    hosts.some((host) => (host.startsWith('.') ? hostname.endsWith(host) : hostname === host));
  return QUIRKS.get(providerType.toLowerCase()) ?? [...QUIRKS.values()].find(isOf) ?? NONE;
}

/** The answer of a token endpoint as the RFC has it, without its ID token: Davit takes nothing from one. */
export function standardAnswer(status: number, json: object, quirks: Quirks): { status: number; json: object } {
  const { id_token: _dropped, ...all } = json as Record<string, unknown>;
  const { personsMember, tokenTypes = [] } = quirks;
  const answer = personsMember !== undefined && personsMember in all ? { ...asObject(all[personsMember]) } : all;
  if (tokenTypes.includes(String(answer['token_type']))) answer['token_type'] = 'bearer';
  // Several servers tell an error with status 200; whatever stands beside it is no token.
  const error = status === 200 ? all['error'] : undefined;
  return typeof error === 'string' ? { status: 400, json: { error } } : { status, json: answer };
}

/** What an agent may know of a token answer. */
export function metadataOf(json: object, { metadata = [] }: Quirks): Record<string, string> {
  const named = Object.entries(json).filter(([name, value]) => metadata.includes(name) && typeof value === 'string');
  return Object.fromEntries(named as [string, string][]);
}

/** Whether a token with these scopes has the wanted one. */
export function isCovered(wanted: string, granted: readonly string[], quirks: Quirks): boolean {
  const { canonical = (scope: string) => scope, contained = {}, all } = quirks;
  const name = canonical(wanted);
  const resource = all !== undefined && name.endsWith(all) ? name.slice(0, -all.length) : undefined;
  return granted.map(canonical).some((one) => {
    if (one === name || ownValue(contained, one)?.includes(name)) return true;
    return resource !== undefined && one.startsWith(resource);
  });
}
