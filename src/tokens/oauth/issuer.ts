// Whether the issuer of a provider is the server that its endpoints belong to, by the server's own metadata (RFC 8414, OpenID Connect
// Discovery). It only informs: servers without metadata work too.

import type { ConditionInput } from '../../kinds/conditions.ts';
import type { Settings } from '../../kinds/settings.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import type { AskIssuer } from '../reconciler.ts';
import { serverMetadata } from './discovery.ts';
import { guardedFetch } from './guarded.ts';
import { GrantFailed, type RequestOptions, requestsOver } from './server.ts';

const ENDPOINTS = [
  ['authUrl', 'authorization_endpoint'],
  ['tokenUrl', 'token_endpoint'],
] as const;

/** Undefined where the settings list no host: then no server is asked. */
export function issuersOf(
  settings: Settings,
): { readonly askIssuer: AskIssuer; readonly close: () => Promise<void> } | undefined {
  if (settings.oauth.hosts.length === 0) return undefined;
  const guarded = guardedFetch(settings);
  return { askIssuer: makeAskIssuer(requestsOver(guarded)), close: guarded.close };
}

export function makeAskIssuer(options: () => RequestOptions): AskIssuer {
  return async ({ spec }) => {
    const { issuer } = spec;
    if (issuer === undefined) return undefined;
    try {
      const metadata = await serverMetadata(new URL(issuer), options);
      const others = ENDPOINTS.filter(([field, name]) => metadata[name] !== spec[field]);
      if (others.length === 0) return known('MetadataFound', `The metadata of ${issuer} names the endpoints.`);
      const named = others.map(([field, name]) => `${field} is not its ${name} ${metadata[name] ?? '(none)'}`);
      return unknown(
        `The metadata of ${issuer} has other endpoints: ${named.join(', ')}. Correct issuer or the endpoints.`,
      );
    } catch (error) {
      if (error instanceof GrantFailed)
        return unknown(
          `${issuer} has no metadata with this issuer (RFC 8414, OpenID Connect Discovery). Correct issuer, or leave it out if the server sends no iss.`,
        );
      if (error instanceof CodeHostFailed) return unknown(`The metadata of ${issuer} cannot be read: ${error.message}`);
      throw error;
    }
  };
}

function known(reason: string, message: string): ConditionInput {
  return { type: 'IssuerKnown', status: 'True', reason, message };
}
function unknown(message: string): ConditionInput {
  return { type: 'IssuerKnown', status: 'False', reason: 'IssuerUnknown', message };
}
