// The repositories of an integration, for all kinds of code hosts. Nothing is cached, but concurrent requests for the same list
// share one listing.

import type { CodeHostIntegrationSpec } from '../api/code-host-integration.ts';
import { PRIVATE_KEY_KEY, TOKEN_KEY } from '../api/code-host-integration.ts';
import { CodeHostFailed } from '../errors.ts';
import { type GuardedFetchOptions, makeGuardedFetch } from '../outbound/guarded-fetch.ts';
import { listGitea } from './gitea.ts';
import { listGitHub } from './github.ts';
import { makeSession, type Session, type SessionOptions } from './listing-session.ts';
import { deployable, type Listed, type Repository } from './repositories.ts';

export interface Account {
  /** Identifies this integration and the version of its credentials. */
  readonly key: string;
  readonly spec: CodeHostIntegrationSpec;
  /** A value of the Secret with the credentials; undefined if it is missing. */
  readonly credential: (key: string) => string | undefined;
}

export interface CodeHosts {
  /** The repositories that can be deployed, by owner and name. Throws CodeHostFailed. */
  repositories(account: Account): Promise<readonly Repository[]>;
  close(): Promise<void>;
}

export interface CodeHostsOptions extends GuardedFetchOptions, Pick<SessionOptions, 'pausesMs' | 'onRequest'> {
  /** Time limit of a complete list. */
  readonly deadlineMs?: number;
}

/** Less than clients wait. */
const DEADLINE_MS = 25_000;

export function makeCodeHosts(options: CodeHostsOptions): CodeHosts {
  const { deadlineMs = DEADLINE_MS, pausesMs, onRequest, ...guarding } = options;
  const guarded = makeGuardedFetch(guarding);
  const underWay = new Map<string, Promise<readonly Repository[]>>();

  async function list({ spec, credential }: Account): Promise<readonly Repository[]> {
    const signal = AbortSignal.timeout(deadlineMs);
    const apiUrl = spec.apiUrl.replace(/\/+$/, '');
    const origin = new URL(apiUrl).origin;
    const session = makeSession({
      guarded,
      kind: spec.kind,
      origin,
      signal,
      ...(pausesMs && { pausesMs }),
      ...(onRequest && { onRequest }),
    });
    return deployable(await listed(spec, apiUrl, credential, session));
  }

  return {
    repositories(account) {
      const before = underWay.get(account.key);
      if (before !== undefined) return before;
      const listing = list(account).finally(() => underWay.delete(account.key));
      underWay.set(account.key, listing);
      return listing;
    },
    close: guarded.close,
  };
}

function listed(
  { kind, app }: CodeHostIntegrationSpec,
  apiUrl: string,
  credential: Account['credential'],
  session: Session,
): Promise<Listed> {
  const key = app === undefined ? TOKEN_KEY : PRIVATE_KEY_KEY;
  const value = credential(key)?.trim();
  if (value === undefined || value === '')
    throw new CodeHostFailed('refused', `The integration's Secret does not exist or has no key ${key}.`);
  // A token must be a valid header value.
  if (key === TOKEN_KEY && !/^[\x21-\x7e]+$/.test(value))
    throw new CodeHostFailed('refused', `Key ${key} of the integration's Secret contains no token.`);
  if (kind === 'gitea') return listGitea({ apiUrl, token: value }, session);
  const credentials =
    app === undefined ? { token: value } : { appId: app.id, installationId: app.installationId, privateKey: value };
  return listGitHub({ apiUrl, credentials }, session);
}
