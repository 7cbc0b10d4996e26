// What a sealed value is bound to: whose it is, and the client and addresses for which it was given. A change of one of them, or a
// provider that was deleted and made again under its name, leaves the value closed, so it is sent nowhere.

import type { OAuthProvider } from '../../schema/oauth-provider.ts';
import type { EntryKind, Subject } from './names.ts';

/** Additional data of the seal of one entry. */
export function boundTo(kind: EntryKind, id: string, subject: Subject, { metadata, spec }: OAuthProvider): string {
  const { tenant, tenantId, provider, user, slot } = subject;
  const { clientId, issuer, authUrl, tokenUrl, revocationUrl, mcpServerUrl } = spec;
  const whose = [tenant, tenantId, provider, user, slot];
  const from = [
    metadata.name,
    metadata.uid ?? '',
    clientId,
    issuer ?? '',
    authUrl,
    tokenUrl,
    revocationUrl ?? '',
    mcpServerUrl ?? '',
  ];
  return JSON.stringify([kind, id, whose, from]);
}
