// Authorization headers for requests to the registry: either a token that Davit signs with its own keys, or HTTP Basic
// or a token from the registry's token server, with the credential that the settings name.

import { RegistryFailed } from '../../runtime/errors.ts';
import type { RegistryTransport } from '../../runtime/outbound/registry-transport.ts';
import type { KeyRing } from './signing-keys.ts';
import { type Grant, issueToken } from './tokens.ts';

type Header = Readonly<Record<'authorization', string>>;

export interface Authorize {
  /**
   * Returns the header for a request. `challenge` is the WWW-Authenticate header of an earlier 401 response. Returns
   * undefined if a challenge is required but not known yet, or cannot be met. Throws RegistryFailed.
   */
  header(grant: Grant, challenge: string | undefined, signal: AbortSignal): Promise<Header | undefined>;
}

/** Authorizes by tokens that Davit signs. The registry has the public keys. */
export function authorizeByKeys(
  keys: () => Promise<KeyRing>,
  { now, randomId }: { readonly now: () => Date; readonly randomId: () => string },
): Authorize {
  return {
    async header(grant) {
      const { token } = issueToken(await keys(), [grant], { now: now(), id: randomId() });
      return { authorization: `Bearer ${token}` };
    },
  };
}

const LARGEST_TOKEN = 64 * 1024;

/**
 * Authorizes by user name and password, with Basic authentication or Distribution's token protocol, as the challenge
 * requires.
 */
export function authorizeByPassword(
  credential: () => Promise<{ readonly username: string; readonly password: string } | undefined>,
  transport: RegistryTransport,
): Authorize {
  return {
    async header({ type = 'repository', repository, actions }, challenge, signal) {
      if (challenge === undefined) return undefined;
      const known = await credential();
      if (known === undefined) return undefined;
      const basic = `Basic ${Buffer.from(`${known.username}:${known.password}`).toString('base64')}`;
      if (/^basic\b/i.test(challenge)) return { authorization: basic };
      const { realm, service } = bearerChallenge(challenge);
      const url = realm === undefined ? null : URL.parse(realm);
      if (url === null) return undefined;
      if (service !== undefined) url.searchParams.set('service', service);
      url.searchParams.set('scope', `${type}:${repository}:${actions.join(',')}`);
      const answer = await transport.request(url, { headers: { authorization: basic }, signal });
      if (answer.statusCode !== 200) {
        await answer.body.dump({ limit: LARGEST_TOKEN });
        throw new RegistryFailed('refused', "The registry refused the platform's credential.");
      }
      const body = (await answer.body.json().catch(() => undefined)) as
        | { readonly token?: unknown; readonly access_token?: unknown }
        | undefined;
      const token = body?.token ?? body?.access_token;
      if (typeof token !== 'string')
        throw new RegistryFailed('malformed', "The response of the registry's token server has no token.");
      return { authorization: `Bearer ${token}` };
    },
  };
}

function bearerChallenge(challenge: string): { readonly realm?: string; readonly service?: string } {
  if (!/^bearer\b/i.test(challenge)) return {};
  const fields = [...challenge.matchAll(/\b(\w+)="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value] as const,
  );
  return Object.fromEntries(fields) as { realm?: string; service?: string };
}
