// Presents tokens and connections as the API returns them. Pure. No answer but that of `authenticate` and `wait` has a token's value.

import type { ConnectionEntry } from '../../oauth/connections.ts';
import type { TokenEntry } from '../../oauth/token-store.ts';
import type { Connection, TokenInfo } from './payloads.ts';

export function presentToken({ id, subject, about }: TokenEntry): TokenInfo {
  return {
    id,
    provider_id: subject.provider,
    user_id: subject.user,
    agent_id: about.agentId ?? null,
    scopes: about.scopes,
    is_default: about.isDefault,
    metadata: about.metadata,
    created_at: about.createdAt,
    updated_at: about.updatedAt,
    expires_at: about.expiresAt ?? null,
    last_used_at: about.usedAt ?? null,
  };
}

export function presentConnection({ id, subject, about }: ConnectionEntry): Connection {
  return {
    id,
    agent_id: about.agentId,
    oauth_token_id: about.tokenId,
    provider_id: subject.provider,
    user_id: subject.user,
    created_at: about.createdAt,
  };
}
